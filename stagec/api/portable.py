"""Traced functions as portable artifacts of StableHLO, for compilers that are not stagec's."""

from __future__ import annotations

import numpy as np

from stagec.api.traces import TracedSignature
from stagec.compiler import build
from stagec.control.expansion import expanded
from stagec.core import errors, location
from stagec.core.aval import ShapedArray
from stagec.core.graph import Graph, Var, host_callbacks, prune


def serialize(trace: TracedSignature, version: str | None, locations: bool, for_platforms: bool = False) -> bytes:
    """A trace as a portable artifact, in which closed-over arrays are constants.

    Args:
      for_platforms: let `main` take a number first, which says on which of several platforms it runs.

    Raises:
      UnsupportedError: the program calls Python, or takes or returns elements of small dtypes, which stagec passes as
        bytes.
    """
    graph = expanded(trace.graph)
    for callback in host_callbacks(graph):
        raise location.error(
            errors.UnsupportedError,
            f"{trace.name} cannot be serialized: it calls a Python function, which StableHLO does not hold",
            [(callback.name, "", f"from {callback.location}")],
            "leave stagec.debug.print and the callbacks out of what is serialized, and call them around it",
        )
    given = zip(trace.leaf_names, graph.in_avals[len(trace.captured) :])
    made = ((f"result {i}", aval) for i, aval in enumerate(graph.out_avals))
    for name, aval in (*given, *made):
        if aval.small:
            raise location.error(
                errors.UnsupportedError,
                f"{trace.name} cannot be serialized: stagec passes {aval.dtype.name} as bytes, and others do not",
                [(name, aval.long(), "")],
                "convert it outside, and take and return a wider dtype",
            )
    kept, _ = prune(graph, keep_inputs=True)
    names = trace.leaf_names
    if for_platforms:
        at = len(trace.captured)
        number = Var(ShapedArray.of((), np.dtype(np.int32)), None)
        kept = Graph([*kept.inputs[:at], number, *kept.inputs[at:]], kept.equations, kept.outputs)
        names = ["the platform", *names]
    return build.portable_artifact(kept, trace.captured, trace.name, names, version, locations)

"""Proofs that the passes' laws keep all results of one program."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from stagec.compiler import build, ready
from stagec.core import errors, location
from stagec.core.graph import Graph
from stagec.runtime import interruptible

# How long the solver may take for a program.
SECONDS = 20.0


@dataclasses.dataclass(frozen=True)
class Proof:
    """What a solver says of a program before and after the passes' laws.

    Attributes:
      word: `"proven"`: no arguments of these shapes tell the two apart, in any bit; `"refuted"`; or why neither is
        known.
      arguments: those that tell the two apart, if there are any; captured arrays are among them.
    """

    word: str
    arguments: tuple[np.ndarray[Any, Any], ...] = ()

    def __str__(self) -> str:
        if self.word == "proven":
            return "the laws keep every bit of the results, for all arguments of these shapes: proven"
        if self.arguments:
            shown = ", ".join(np.array2string(a, threshold=12).replace("\n", "") for a in self.arguments)
            return f"the laws change a result: REFUTED by arguments {shown}"
        return f"the laws: neither proven nor refuted: {self.word}"


def prove(graph: Graph, options: build.ProgramOptions, name: str) -> Proof:
    """Whether the laws, and the user's passes, keep the results of a graph for all arguments.

    Raises:
      UnsupportedError: Bitwuzla, the solver, is not installed.
    """
    try:
        from passes.proving.verdict import verdict  # takes the solver
    except ImportError:
        fix = "install it: pip install bitwuzla"
        raise location.error(errors.UnsupportedError, "check: prove=True takes Bitwuzla", fix=fix) from None
    import passes

    settings = ready.pass_options(options.target, fast_math=options.fast_math, reproducible=options.reproducible)
    plain = dataclasses.replace(options, donated=(), kernels=False)

    def work() -> Any:
        modules = []
        for pipeline, extra in (("inline, forms", ()), ("inline, forms, simplify", options.passes)):
            module = build.lower_graph(graph, plain, name)
            passes.run(module, pipeline, options=settings, extra=extra)
            modules.append(module)
        before, after = modules
        return verdict(before, after, SECONDS)

    word, arrays = interruptible.call(work)
    return Proof(word, tuple(arrays or ()))

"""Every primitive as a portable artifact: JAX runs it, and stagec reads it back, whatever its version."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from cases import Case
from test_read_back import FAMILIES, compare
from test_registry import CASES, evaluate

import stagec
from stagec.core.primitive import Primitive

pytestmark = pytest.mark.usefixtures("untried")

# Rows with an operation, or a form of it, that came after the first versions of StableHLO.
NEWER = {"gather", "tan"}


def run_by_jax(artifact: bytes, arrays: list[np.ndarray], results: list[np.ndarray]) -> list[np.ndarray]:
    """What JAX makes of an artifact: the module of a function that it exported itself is replaced."""
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        jitted = jax.jit(lambda *_: [jax.numpy.zeros(r.shape, r.dtype) for r in results], keep_unused=True)
        exported = jax.export.export(jitted, platforms=["cpu"])(*arrays)
        replaced = dataclasses.replace(exported, mlir_module_serialized=artifact)
        return [np.asarray(r) for r in replaced.call(*arrays)]


def is_small(case: Case, results: list[np.ndarray]) -> bool:
    """Whether something is passed in eight bits or less, as no integers of eight."""
    return any(np.asarray(a).dtype in stagec.core.dtypes.SMALL for a in (*case.args, *results))


def serialized(cases: list[Case], version: str | None = None) -> bytes:
    def program(arguments: list[list[np.ndarray]]) -> list[list[stagec.Array]]:
        return [stagec.tree.leaves(Primitive.registry[c.name](*xs, **c.params)) for c, xs in zip(cases, arguments)]

    return stagec.jit(program).lower([list(map(np.asarray, c.args)) for c in cases]).serialize(version)


def samples(name: str) -> list[tuple[Case, list[np.ndarray]]]:
    """Three cases of a row, from its whole list, so that their dtypes and forms differ."""
    found = [c for c in CASES if c.name == name]
    found = found[:: max(1, len(found) // 3)][:3]
    with_results = [(c, [np.asarray(r) for r in evaluate(c)]) for c in found]
    return [(c, results) for c, results in with_results if not is_small(c, results)]


def parts(names: list[str]) -> list[Any]:
    """Rows whose cases are one artifact: a program of many operations costs little more than one of a few."""
    chosen = [names[i : i + 12] for i in range(0, len(names), 12)]
    return [pytest.param(part, id=f"{part[0]}..{part[-1]}") for part in chosen]


def compare_all(found: list[np.ndarray], chosen: list[tuple[Case, list[np.ndarray]]]) -> None:
    wanted = [(result, case) for case, results in chosen for result in results]
    for result, (expected, case) in zip(found, wanted, strict=True):
        compare(np.asarray(result), expected, case)


# XLA counts an initial value that is no identity as often as it likes, and each case of this row has such a one.
@pytest.mark.parametrize("names", parts([name for name in FAMILIES if name != "reduce_window"]))
def test_jax_computes_the_same(names: list[str]) -> None:
    with stagec.config.override(enable_x64=True):
        chosen = [sample for name in names for sample in samples(name)]
        arrays = [np.asarray(a) for case, _ in chosen for a in case.args]
        artifact = serialized([case for case, _ in chosen])
        compare_all(run_by_jax(artifact, arrays, [r for _, results in chosen for r in results]), chosen)


@pytest.mark.parametrize("turn", range(3))
@pytest.mark.parametrize("names", parts([n for n in FAMILIES if n not in NEWER]) + parts(sorted(NEWER)))
def test_read_back_computes_the_same(names: list[str], turn: int) -> None:
    with stagec.config.override(enable_x64=True):
        chosen = [sample for name in names for sample in samples(name)[turn : turn + 1]]
        arrays = [np.asarray(a) for case, _ in chosen for a in case.args]
        version = None if NEWER.issuperset(names) else ("0.9.0", "0.14.0", None)[turn]
        artifact = serialized([case for case, _ in chosen], version)
        with stagec.disable_jit(), np.errstate(all="ignore"):
            compare_all(stagec.tree.leaves(stagec.from_stablehlo(artifact)(*arrays)), chosen)

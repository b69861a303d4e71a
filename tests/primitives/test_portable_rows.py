"""Every primitive as a portable artifact: JAX runs it, and stagec reads it back, whatever its version."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from cases import Case
from test_read_back import FAMILIES, compare
from test_registry import CASES, evaluate

import stagec
from stagec.core.primitive import Primitive
from stagec.foreign import trial

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


def serialized(case: Case, version: str | None = None) -> bytes:
    row = Primitive.registry[case.name]
    arrays = [np.asarray(a) for a in case.args]
    return stagec.jit(lambda *xs: row(*xs, **case.params)).lower(*arrays).serialize(version)


def samples(name: str) -> list[tuple[Case, list[np.ndarray], list[np.ndarray]]]:
    """Three cases of a row, from its whole list, so that their dtypes and forms differ."""
    found = [c for c in CASES if c.name == name]
    found = found[:: max(1, len(found) // 3)][:3]
    with_results = [(c, [np.asarray(a) for a in c.args], [np.asarray(r) for r in evaluate(c)]) for c in found]
    return [(c, arrays, results) for c, arrays, results in with_results if not is_small(c, results)]


# XLA counts an initial value that is no identity as often as it likes, and each case of this row has such a one.
@pytest.mark.parametrize("name", [name for name in FAMILIES if name != "reduce_window"])
def test_jax_computes_the_same(name: str) -> None:
    with stagec.config.override(enable_x64=True):
        for case, arrays, results in samples(name):
            found = run_by_jax(serialized(case), arrays, results)
            assert len(found) == len(results)
            for result, wanted in zip(found, results):
                compare(result, wanted, case)


@pytest.mark.parametrize("name", FAMILIES)
def test_read_back_computes_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # The process that parses foreign bytecode first takes longer than all else here.
    monkeypatch.setattr(trial, "fault", lambda _: "")
    with stagec.config.override(enable_x64=True):
        for version, (case, arrays, results) in zip(("0.9.0", "0.14.0", None), samples(name)):
            artifact = serialized(case, None if name in NEWER else version)
            with stagec.disable_jit(), np.errstate(all="ignore"):
                found = stagec.tree.leaves(stagec.from_stablehlo(artifact)(*arrays))
            assert len(found) == len(results)
            for result, wanted in zip(found, results):
                compare(np.asarray(result), wanted, case)

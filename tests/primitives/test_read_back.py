"""stagec's own StableHLO, read back: the evaluated results are those of the operation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import Case
from test_registry import CASES, evaluate

import stagec
from stagec.core.primitive import Primitive

pytestmark = pytest.mark.usefixtures("untried")

# Functions of Python, which no module holds, and what no module says.
ELSEWHERE = {"pure_callback", "debug_callback", "io_callback", "sharding_constraint"}
FAMILIES = sorted({case.name for case in CASES} - ELSEWHERE)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_primitive_read_back_computes_the_same(name: str) -> None:
    row = Primitive.registry[name]
    checked = 0
    with stagec.config.override(enable_x64=True):
        for case in [c for c in CASES if c.name == name][:3]:
            arrays = [np.asarray(a) for a in case.args]
            expected = evaluate(case)
            jitted = stagec.jit(lambda *xs, case=case: row(*xs, **case.params))
            text = jitted.lower(*arrays).as_text("stablehlo")
            with stagec.disable_jit(), np.errstate(all="ignore"):
                read = stagec.tree.leaves(stagec.from_stablehlo(text)(*arrays))
            assert len(read) == len(expected)
            for result, wanted in zip(read, expected):
                compare(np.asarray(result), np.asarray(wanted), case)
            checked += 1
    assert checked


def compare(result: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any], case: Case) -> None:
    assert result.dtype == wanted.dtype, case
    assert result.shape == wanted.shape, case
    kind = np.complex128 if wanted.dtype.kind == "c" else np.float64
    resolution = np.finfo(np.float32).eps if wanted.dtype.itemsize >= 4 else 0.02
    np.testing.assert_allclose(result.astype(kind), wanted.astype(kind), rtol=200 * resolution, atol=200 * resolution)

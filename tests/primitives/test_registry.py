"""Every row of the primitive table: it has a case, its rules agree, and the compiled result is the evaluated one.

STAGEC_ALL_CASES=1 compiles every case instead of up to eight of each row.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
from typing import Any

import cases as case_package
import ml_dtypes
import numpy as np
import pytest
from cases import BFLOAT16, Case
from comparison import (
    ACCUMULATED,
    HALF,
    UPDATED,
    accumulation_error,
    differences,
    evaluate,
    has_half,
    mismatch,
    off,
    steps_apart,
)

import stagec
import stagec.primitives
from stagec.core.aval import ShapedArray
from stagec.core.primitive import Primitive

for module in pkgutil.iter_modules(stagec.primitives.__path__):
    importlib.import_module(f"stagec.primitives.{module.name}")
# Rows with graphs of scalars.
GENERAL = ("stagec.control.reduce", "stagec.control.windows")
for name in GENERAL:
    importlib.import_module(name)

# Rows that transformations and control flow introduce have tests of their own, beside them; so have those of random
# keys, which NumPy's arrays cannot hold as numbers (`tests/random/test_key_rows.py`).
TABLE = {
    name: row
    for name, row in Primitive.registry.items()
    if getattr(row.shape, "__module__", "").startswith(("stagec.primitives", *GENERAL))
    and row.shape.__module__ != "stagec.primitives.keys"
}

CASES: list[Case] = []
for module in sorted(pkgutil.iter_modules(case_package.__path__), key=lambda m: m.name):
    CASES += importlib.import_module(f"cases.{module.name}").CASES

BUNDLE = 25


def shapes(case: Case) -> list[ShapedArray]:
    row = Primitive.registry[case.name]
    out = row.shape(*[ShapedArray(np.shape(a), np.asarray(a).dtype) for a in case.args], **case.params)
    return list(out) if row.multiple else [out]


def test_every_row_has_a_case() -> None:
    assert sorted(set(TABLE) - {c.name for c in CASES}) == []


def test_every_case_names_a_row() -> None:
    assert sorted({c.name for c in CASES} - set(Primitive.registry)) == []


@pytest.mark.parametrize("name", sorted({c.name for c in CASES}))
def test_evaluation_agrees_with_the_shape_rule(name: str) -> None:
    with stagec.enable_x64():
        for case in (c for c in CASES if c.name == name):
            found = [(np.asarray(v).shape, np.asarray(v).dtype) for v in evaluate(case)]
            assert [(a.shape, a.dtype) for a in shapes(case)] == found, str(case)


def test_half_precision_is_evaluated_within_half_a_step_of_the_exact_result() -> None:
    chosen = [c for c in CASES if has_half(c)]
    assert {c.name for c in chosen} >= {"exp", "dot_general", "conv_general_dilated", "scatter_add", "zeta"}
    assert [text for case in chosen for text in differences(case, [np.asarray(v) for v in evaluate(case)])] == []


@pytest.mark.parametrize("name", sorted({c.name for c in CASES}))
def test_evaluation_leaves_its_operands_alone(name: str) -> None:
    case = next(c for c in CASES if c.name == name)
    args = [np.array(a) for a in case.args]
    for a in args:
        a.flags.writeable = False
    evaluate(Case(name, args, case.params))


def bundles(limit: int, size: int) -> list[list[Case]]:
    """Up to `limit` cases of each row that have a program, in parts; with STAGEC_ALL_CASES=1, all."""
    rows: dict[str, list[Case]] = {}
    for case in CASES:
        # A sharding is of the CPU, and nothing of it is compiled.
        bundled = not case.compiled and case.name != "sharding_constraint"
        if bundled and all(np.size(a) for a in case.args):
            rows.setdefault(case.name, []).append(case)
    if os.environ.get("STAGEC_ALL_CASES"):
        limit = len(CASES)
    # Not the same places in every row, so that all dtypes have their turn.
    chosen = [
        cases[i]
        for turn, cases in enumerate(rows.values())
        for i in sorted({(turn + k * len(cases) // limit) % len(cases) for k in range(limit)})
    ]
    return [chosen[i : i + size] for i in range(0, len(chosen), size)]


def half_sums() -> list[list[Case]]:
    """The cases in half precision that add or multiply many terms, which `bundles` leaves out for the most part."""
    chosen = [c for c in CASES if c.name in ACCUMULATED | UPDATED and has_half(c)]
    return [chosen[i : i + BUNDLE] for i in range(0, len(chosen), BUNDLE)]


@pytest.mark.parametrize("bundle", bundles(8, BUNDLE) + half_sums(), ids=lambda b: f"{b[0].name}..{b[-1].name}")
def test_compiled_results_are_the_evaluated_ones(bundle: list[Case]) -> None:
    @stagec.jit
    def run(arguments: list[list[Any]]) -> list[Any]:
        return [Primitive.registry[c.name](*args, **c.params) for c, args in zip(bundle, arguments)]

    with stagec.enable_x64():
        results = run([list(c.args) for c in bundle])
        wrong = []
        for case, result in zip(bundle, results):
            actual = list(result) if Primitive.registry[case.name].multiple else [result]
            wrong += differences(case, [a.numpy() for a in actual])
    assert wrong == []


def test_mismatch_sees_small_and_large_differences() -> None:
    x = np.array([1.0, np.nan, np.inf], np.float32)
    off = np.nextafter(x, np.float32(2))
    assert mismatch(x, x, 0, 0) == ""
    assert mismatch(x, off, 1, 0).startswith("1 of 3")  # the infinity became finite
    assert mismatch(x[:2], off[:2], 0, 0).startswith("1 of 2")
    assert mismatch(x[:2], off[:2], 1, 0) == ""
    assert mismatch(np.float32([1]), np.array([1], ml_dtypes.bfloat16), 1, 1) != ""


def test_steps_of_float64_are_counted_one_by_one() -> None:
    x = np.array([1.0, -1.0, 1.0])
    assert steps_apart(x, np.array([np.nextafter(1.0, 2.0), -1.0, -1.0])).tolist() == [1, 0, 2 * float(0x3FF << 52)]


def test_mismatch_takes_zero_for_a_subnormal_number_and_nothing_else_that_is_small() -> None:
    subnormal, zero = np.float16([1e-5]), np.float16([0])
    assert mismatch(subnormal, zero, 0, 0) == ""
    assert mismatch(zero, subnormal, 0, 0) != ""
    assert mismatch(subnormal, 2 * subnormal, 0, 0) != ""


@pytest.mark.parametrize("dtype", HALF, ids=str)
@pytest.mark.parametrize(
    "name", ["dot_general", "conv_general_dilated", "reduce_window_sum", "exp", "cumsum", "scatter_add"]
)
def test_a_step_of_half_precision_is_seen(name: str, dtype: Any) -> None:
    for case in (c for c in CASES if c.name == name and c.args[0].dtype == dtype):
        (right,) = map(np.asarray, evaluate(case))
        if right.dtype == dtype:
            next_but_one = np.nextafter(np.nextafter(right, dtype.type(np.inf)), dtype.type(np.inf))
            assert differences(case, [right]) == []
            assert differences(case, [next_but_one]) != []


def test_five_is_not_four_in_bfloat16() -> None:
    numbers = {"dimension_numbers": (((0,), (0,)), ((), ())), "precision": None, "preferred_element_type": None}
    twos = np.full(1, 2, BFLOAT16)
    case = Case("dot_general", [twos, twos], numbers)
    assert differences(case, [np.asarray(4, BFLOAT16)]) == []
    (text,) = differences(case, [np.asarray(5, BFLOAT16)])
    assert text.endswith("1 of 1 differ, first at (): 4.0 against 5.0")


def test_a_float32_sum_of_half_precision_is_allowed_its_roundings_and_no_more() -> None:
    case = Case("reduce_sum", [np.float16([2048, 1, -2048])], {"axes": (0,)})
    assert off(np.float64(1), np.float16(1.002), 0.51, accumulation_error(case)).item() is True
    assert accumulation_error(case) == 3 * 2.0**-24 * 4097


@pytest.mark.parametrize(
    ("exact", "near", "far"),
    [(1.0, 1.0, 1 + 2**-10), (1 + 2**-11, 1.0, 1 + 2**-9), (65519.0, 65504, np.inf), (np.inf, np.inf, 65504)],
)
def test_half_precision_is_measured_from_the_exact_value(exact: float, near: float, far: float) -> None:
    assert not off(np.float64(exact), np.float16(near), 0.51)
    assert off(np.float64(exact), np.float16(far), 0.51)

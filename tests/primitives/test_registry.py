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
from cases import Case

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

# Rows that transformations and control flow introduce have tests of their own, beside them.
TABLE = {
    name: row
    for name, row in Primitive.registry.items()
    if getattr(row.shape, "__module__", "").startswith(("stagec.primitives", *GENERAL))
}

CASES: list[Case] = []
for module in sorted(pkgutil.iter_modules(case_package.__path__), key=lambda m: m.name):
    CASES += importlib.import_module(f"cases.{module.name}").CASES

BUNDLE = 25


def evaluate(case: Case) -> list[Any]:
    row = Primitive.registry[case.name]
    with np.errstate(all="ignore"):
        out = row.eval(*[np.asarray(a) for a in case.args], **case.params)
    return list(out) if row.multiple else [out]


def shapes(case: Case) -> list[ShapedArray]:
    row = Primitive.registry[case.name]
    out = row.shape(*[ShapedArray(np.shape(a), np.asarray(a).dtype) for a in case.args], **case.params)
    return list(out) if row.multiple else [out]


def steps_apart(x: Any, y: Any) -> Any:
    """How many representable numbers lie between two float arrays."""
    kind = np.dtype(f"int{8 * x.dtype.itemsize}")

    def ordered(v: Any) -> Any:
        bits = np.ascontiguousarray(v).reshape(v.shape).view(kind).astype(np.int64)
        low = np.int64(np.iinfo(kind).min)
        return np.where(bits < 0, low - bits, bits)

    left, right = ordered(x), ordered(y)
    # In whole numbers, unless zero lies between: float64 holds 53 bits.
    apart = np.abs(left.astype(np.float64) - right.astype(np.float64))
    return np.where((left < 0) == (right < 0), np.abs(left - right), apart)


def mismatch(expected: Any, actual: Any, ulps: float, atol: float) -> str:
    """What differs, or nothing."""
    if expected.dtype != actual.dtype or expected.shape != actual.shape:
        return f"{expected.dtype}{expected.shape} against {actual.dtype}{actual.shape}"
    if expected.dtype.kind == "c":
        parts = [mismatch(np.real(expected), np.real(actual), ulps, atol)]
        parts.append(mismatch(np.imag(expected), np.imag(actual), ulps, atol))
        return "; ".join(p for p in parts if p)
    if expected.dtype.kind in "biu":
        wrong = expected != actual
    else:
        wide = [v.astype(np.float64) for v in (expected, actual)]
        nan = np.isnan(wide[0]) & np.isnan(wide[1])
        with np.errstate(all="ignore"):
            # Compiled code flushes subnormal results to zero.
            tiny = float(ml_dtypes.finfo(expected.dtype).tiny)
            near = (wide[0] == wide[1]) | (np.abs(wide[0] - wide[1]) <= max(atol, tiny))
        near |= (steps_apart(expected, actual) <= ulps) & np.isfinite(wide[0]) & np.isfinite(wide[1])
        wrong = ~(nan | near)
    if not wrong.any():
        return ""
    at = tuple(int(i[0]) for i in np.nonzero(wrong)) if expected.ndim else ()
    return f"{int(wrong.sum())} of {expected.size} differ, first at {at}: {expected[at]} against {actual[at]}"


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
        if not case.compiled and all(np.size(a) for a in case.args):
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


@pytest.mark.parametrize("bundle", bundles(8, BUNDLE), ids=lambda b: f"{b[0].name}..{b[-1].name}")
def test_compiled_results_are_the_evaluated_ones(bundle: list[Case]) -> None:
    @stagec.jit
    def run(arguments: list[list[Any]]) -> list[Any]:
        return [Primitive.registry[c.name](*args, **c.params) for c, args in zip(bundle, arguments)]

    with stagec.enable_x64():
        results = run([list(c.args) for c in bundle])
        wrong = []
        for case, result in zip(bundle, results):
            actual = list(result) if Primitive.registry[case.name].multiple else [result]
            for i, (e, a) in enumerate(zip(evaluate(case), actual)):
                text = mismatch(np.asarray(e), a.numpy(), case.ulps, case.atol)
                if text:
                    wrong.append(f"{case} result {i}: {text}")
    assert wrong == []


def test_mismatch_sees_small_and_large_differences() -> None:
    x = np.array([1.0, np.nan, np.inf], np.float32)
    off = np.nextafter(x, np.float32(2))
    assert mismatch(x, x, 0, 0) == ""
    assert mismatch(x, off, 1, 0).startswith("1 of 3")  # the infinity became finite
    assert mismatch(x[:2], off[:2], 0, 0).startswith("1 of 2")
    assert mismatch(x[:2], off[:2], 1, 0) == ""
    assert mismatch(np.float32([1]), np.array([1], ml_dtypes.bfloat16), 1, 1) != ""

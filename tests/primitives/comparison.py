"""How results are compared with a row's evaluation.

Results in half precision are compared with the row's evaluation in float64, in steps of their dtype at the exact value,
as in docs/reference/accuracy.md. Other results are compared with the row's evaluation in their own dtype, within the
tolerances of the case.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
from cases import BFLOAT16, Case

from stagec.core.primitive import Primitive

HALF = (BFLOAT16, np.dtype(np.float16))
WIDE = np.dtype(np.float64)

# Rows whose results depend on how a dtype represents its numbers.
OF_REPRESENTATION = frozenset({"bitcast_convert_type", "nextafter"})
# Rows that add or multiply in float32 and round the result once.
ACCUMULATED = frozenset(
    f"{prefix}{kind}" for prefix in ("reduce_", "reduce_window_", "cum") for kind in ("sum", "prod")
) | {"dot_general", "conv_general_dilated"}
# Rows that round after each update.
UPDATED = frozenset({"scatter_add", "scatter_sub", "scatter_mul"})
# The steps that half precision may be off: one rounding of a value that is computed in float32. A row that promises
# less has its name in PROMISED.
ROUNDED = 0.51
PROMISED: dict[str, float] = {}


def evaluate(case: Case) -> list[Any]:
    """The results of a case, by NumPy."""
    row = Primitive.registry[case.name]
    with np.errstate(all="ignore"):
        out = row.eval(*[np.asarray(a) for a in case.args], **case.params)
    return list(out) if row.multiple else [out]


def has_half(case: Case) -> bool:
    """Whether half precision is among a case's dtypes, and float64 can take its place."""
    dtypes = [np.asarray(a).dtype for a in case.args] + [p for p in case.params.values() if isinstance(p, np.dtype)]
    return case.name not in OF_REPRESENTATION and any(d in HALF for d in dtypes)


def in_float64(case: Case) -> Case:
    """The case with float64 in place of half precision, and of float32 where that is the dtype asked for."""
    args = [a.astype(WIDE) if (a := np.asarray(v)).dtype in HALF else a for v in case.args]
    params = {k: WIDE if isinstance(v, np.dtype) and v in (*HALF, np.float32) else v for k, v in case.params.items()}
    return dataclasses.replace(case, args=args, params=params)


def accumulation_error(case: Case) -> Any:
    """How far half precision's sums and products may be off before they are rounded to the result's dtype.

    A sum in float32 may be off by a rounding of float32 for each term, of the sum of the terms' magnitudes; a scatter
    by a rounding of its dtype for each update of an element but the last.
    """
    wide = in_float64(case)
    absolute = dataclasses.replace(wide, args=[np.abs(a) if a.dtype == WIDE else a for a in wide.args])
    if case.name in ACCUMULATED:
        return max(np.size(a) for a in case.args) * 2.0**-24 * evaluate(absolute)[0]
    if case.name in UPDATED:
        operand, indices, updates = wide.args
        ones = [np.zeros_like(operand), indices, np.ones_like(updates)]
        counts = evaluate(dataclasses.replace(wide, name="scatter_add", args=ones))[0]
        name = "scatter_mul" if case.name == "scatter_mul" else "scatter_add"
        rounding = float(ml_dtypes.finfo(np.asarray(case.args[0]).dtype).eps) / 2
        return np.maximum(counts - 1, 0) * rounding * evaluate(dataclasses.replace(absolute, name=name))[0]
    return 0.0


def step(exact: Any, dtype: Any) -> Any:
    """The distance between the numbers of a dtype around float64 values."""
    info = ml_dtypes.finfo(dtype)
    exponent = np.frexp(np.where(np.isfinite(exact), exact, 1.0))[1] - 1
    return np.ldexp(1.0, np.maximum(exponent, int(info.minexp)) - int(info.nmant))


def off(exact: Any, actual: Any, steps: float, slack: Any = 0.0) -> Any:
    """Where results are further from float64 values than `steps` of their dtype and `slack` together."""
    found = actual.astype(WIDE)
    with np.errstate(all="ignore"):
        near = (exact.astype(actual.dtype).astype(WIDE) == found) | (np.isnan(exact) & np.isnan(found))
        near |= np.isfinite(exact) & (np.abs(found - exact) <= steps * step(exact, actual.dtype) + slack)
    return ~(near | _flushed(exact, found, actual.dtype))


def _flushed(expected: Any, actual: Any, dtype: Any) -> Any:
    """Where a compiled result is zero because the expected one is subnormal."""
    return (actual == 0) & (np.abs(expected) < float(ml_dtypes.finfo(dtype).tiny))


def steps_apart(x: Any, y: Any) -> Any:
    """How many representable numbers lie between two float arrays."""
    kind = np.dtype(f"int{8 * x.dtype.itemsize}")

    def ordered(v: Any) -> Any:
        bits = np.ascontiguousarray(v).reshape(v.shape).view(kind).astype(np.int64)
        low = np.int64(np.iinfo(kind).min)
        return np.where(bits < 0, low - bits, bits)

    # float64 has fewer bits than the numbers of steps, and int64 not enough for the greatest differences.
    first, second = ordered(x), ordered(y)
    return (np.maximum(first, second).view(np.uint64) - np.minimum(first, second).view(np.uint64)).astype(WIDE)


def mismatch(expected: Any, actual: Any, ulps: float, atol: float) -> str:
    """What differs, or nothing."""
    if text := _other_type(expected, actual):
        return text
    if expected.dtype.kind == "c":
        parts = [mismatch(np.real(expected), np.real(actual), ulps, atol)]
        parts.append(mismatch(np.imag(expected), np.imag(actual), ulps, atol))
        return "; ".join(p for p in parts if p)
    if expected.dtype.kind in "biu":
        wrong = expected != actual
    else:
        wide = [v.astype(WIDE) for v in (expected, actual)]
        nan = np.isnan(wide[0]) & np.isnan(wide[1])
        with np.errstate(all="ignore"):
            near = (wide[0] == wide[1]) | (np.abs(wide[0] - wide[1]) <= atol)
        near |= (steps_apart(expected, actual) <= ulps) & np.isfinite(wide[0]) & np.isfinite(wide[1])
        wrong = ~(nan | near | _flushed(*wide, expected.dtype))
    return _said(expected, actual, wrong)


def differences(case: Case, results: Sequence[Any], slack: Any = None) -> list[str]:
    """What differs between results of a case and its evaluation.

    `slack` gives for the case and an expected result the absolute difference that is accepted, instead of the case's.
    """
    found = []
    exact = evaluate(in_float64(case)) if has_half(case) else None
    for i, (expected, actual) in enumerate(zip(map(np.asarray, evaluate(case)), results, strict=True)):
        if exact is None or expected.dtype.kind in "biuc":
            text = mismatch(expected, actual, case.ulps, slack(case, expected) if slack else case.atol)
        else:
            text = _other_type(expected, actual)
            if not text:
                wide, steps = np.asarray(exact[i]).astype(WIDE), PROMISED.get(case.name, ROUNDED)
                text = _said(wide, actual, off(wide, actual, steps, accumulation_error(case)))
        if text:
            found.append(f"{case} result {i}: {text}")
    return found


def _other_type(expected: Any, actual: Any) -> str:
    if expected.dtype == actual.dtype and expected.shape == actual.shape:
        return ""
    return f"{expected.dtype}{expected.shape} against {actual.dtype}{actual.shape}"


def _said(expected: Any, actual: Any, wrong: Any) -> str:
    if not np.any(wrong):
        return ""
    at = tuple(int(i[0]) for i in np.nonzero(wrong)) if expected.ndim else ()
    return f"{int(np.sum(wrong))} of {expected.size} differ, first at {at}: {expected[at]} against {actual[at]}"

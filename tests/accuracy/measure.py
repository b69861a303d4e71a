"""Errors of functions, in units in the last place of the exact value."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import mpmath
import numpy as np
from functions import Row

import stagec
import stagec.numpy as snp

DTYPES = {t.__name__: np.dtype(t) for t in (np.float32, np.float64, np.float16, ml_dtypes.bfloat16)}


def operands(row: Row, dtype: Any, points: int) -> list[Any]:
    """The first of a row's points, rounded to a dtype; those that are out of its range are left out."""
    rng = np.random.default_rng(7)
    with np.errstate(all="ignore"):
        made = [np.array(make(rng, row.points)[:points]).astype(dtype) for make in row.operands]
    wide = np.array([m.astype(np.float64) for m in made])
    limits = ml_dtypes.finfo(dtype)
    kept = (np.isfinite(wide) & ((wide == 0) | (abs(wide) >= float(limits.tiny)))).all(axis=0)
    return [m[kept] for m in made]


def exact(row: Row, args: Sequence[Any]) -> list[Any]:
    with mpmath.workdps(30):
        found = []
        for point in zip(*args):
            try:
                found.append(mpmath.mpf(row.exact(*[mpmath.mpf(float(v)) for v in point])))
            except (ValueError, ZeroDivisionError, OverflowError):  # a pole
                found.append(mpmath.nan)
        return found


def unit(value: Any, dtype: Any) -> Any:
    """The distance of the numbers of a dtype around a value; nothing where it overflows or is subnormal."""
    info = ml_dtypes.finfo(dtype)
    if not mpmath.isfinite(value) or abs(value) > float(info.max) or abs(value) < float(info.tiny):
        return None
    return mpmath.ldexp(1, int(mpmath.floor(mpmath.log(abs(value), 2))) - int(info.nmant))


def worst(values: Any, expected: Sequence[Any], dtype: Any) -> float:
    """The largest error in units; NaN where a usual value should be is infinitely wrong."""
    largest = 0.0
    with mpmath.workdps(30):
        for found, value in zip(np.asarray(values).astype(np.float64).tolist(), expected):
            step = unit(value, dtype)
            if step is not None:
                error = abs(mpmath.mpf(found) - value) / step if math.isfinite(found) else mpmath.inf
                largest = max(largest, float(error))
    return largest


def compiled(rows: Sequence[Row]) -> Callable[[Any], Any]:
    """One program for many functions, with each once: rows of the same one follow each other in its operands."""
    places: dict[str, list[int]] = {}
    for i, row in enumerate(rows):
        places.setdefault(row.name, []).append(i)

    def run(groups: Sequence[Sequence[Any]]) -> list[Any]:
        outs: list[Any] = [None] * len(rows)
        for same in places.values():
            out = rows[same[0]].ours(*map(snp.concatenate, zip(*[groups[i] for i in same])))
            ends = np.cumsum([len(groups[i][0]) for i in same])
            for i, part in zip(same, snp.split(out, ends[:-1])):
                outs[i] = part
        return outs

    return stagec.jit(run)


def bound(error: float) -> float:
    """The next number of 0.5, 1, 2, 5, 10, 20, ... that is above an error with a fifth to spare."""
    if not math.isfinite(error):
        return math.inf
    for limit in (0.5, 0.51):  # rounded correctly
        if error <= limit:
            return limit if limit == 0.5 else 1.0
    digits = 0
    while True:
        for step in (1.0, 2.0, 5.0):
            if 1.2 * error <= step * 10**digits:
                return step * 10**digits
        digits += 1

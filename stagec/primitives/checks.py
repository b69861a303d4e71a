"""Checks of operands' dtypes and shapes, and the syntax of StableHLO's lists."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from stagec.core import dtypes, location
from stagec.core.aval import ShapedArray
from stagec.core.dims import is_open
from stagec.core.errors import DtypeError, ShapeError

# The floats that NumPy does not compute with in their own precision.
HALF = frozenset({dtypes.bfloat16, dtypes.float16})


def check_dtype(name: str, dtype: np.dtype[Any], accepts: frozenset[np.dtype[Any]]) -> None:
    """Raise `DtypeError` unless the operation accepts the dtype."""
    if dtype not in accepts:
        known = ", ".join(sorted(d.name for d in accepts - dtypes.SMALL))  # there are too many small ones
        raise location.error(
            DtypeError,
            f"{name} does not accept {dtype.name}",
            fix=dtypes.NO_NUMBERS if dtype == dtypes.KEY else f"convert with astype; {name} accepts {known}",
        )


def same_dtype(name: str, avals: tuple[ShapedArray, ...]) -> np.dtype[Any]:
    """The common dtype of the operands; raises `DtypeError` if they differ."""
    first = avals[0].dtype
    for a in avals[1:]:
        if a.dtype != first:
            raise location.error(
                DtypeError,
                f"{name}: operands have different dtypes: {', '.join(x.long() for x in avals)}",
                fix=dtypes.NO_NUMBERS
                if dtypes.KEY in (a.dtype, first)
                else "stagec.lax does not promote; convert with astype, or use the stagec.numpy function",
            )
    return first


def elementwise_shape(name: str, avals: tuple[ShapedArray, ...]) -> tuple[int, ...]:
    """The common shape of the operands; rank-0 operands fit any."""
    shape: tuple[int, ...] = ()
    for a in avals:
        if a.shape and a.shape != shape:
            if shape:
                raise location.error(
                    ShapeError,
                    f"{name}: shapes differ: {', '.join(x.long() for x in avals)}",
                    fix="stagec.lax does not broadcast (rank 0 excepted); use stagec.numpy, or broadcast_in_dim",
                )
            shape = a.shape
    return shape


class OpenInts(tuple[Any, ...]):
    """A list of numbers for an operation, of which some are sizes of open dimensions."""


def i64_array(values: Iterable[int]) -> Any:
    """`array<i64: 1, 2>`, the form that StableHLO's dimension lists have; the sizes themselves if one is open."""
    values = tuple(values)
    if any(is_open(v) for v in values):
        return OpenInts(values)
    text = ", ".join([str(int(v)) for v in values])
    return f"array<i64: {text}>" if text else "array<i64>"


def numbers_of(attribute: Any) -> tuple[Any, ...]:
    """The numbers in what `i64_array` or `i64_pairs` returned."""
    if isinstance(attribute, OpenInts):
        return tuple(attribute)
    return tuple(map(int, re.findall(r"(?<![a-z])-?\b\d+", attribute.partition(">")[0])))


def i64_pairs(pairs: Iterable[Iterable[int]]) -> Any:
    """`dense<[[1, 0], [0, 2]]> : tensor<2x2xi64>`, the form that padding has; the sizes in one row if one is open."""
    rows = [list(pair) for pair in pairs]
    if any(is_open(v) for row in rows for v in row):
        return OpenInts([v for row in rows for v in row])
    return f"dense<{rows}> : tensor<{len(rows)}x2xi64>"

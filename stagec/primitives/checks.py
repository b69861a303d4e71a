"""What rows ask of their operands' dtypes and shapes, and the form of StableHLO's lists."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from stagec.core import dtypes, location
from stagec.core.aval import ShapedArray
from stagec.core.errors import DtypeError, ShapeError

# The floats that NumPy does not compute with in a precision of their own.
HALF = frozenset({dtypes.bfloat16, dtypes.float16})


def check_dtype(name: str, dtype: np.dtype[Any], accepts: frozenset[np.dtype[Any]]) -> None:
    """Raise `DtypeError` unless the operation accepts the dtype."""
    if dtype not in accepts:
        known = ", ".join(sorted(d.name for d in accepts - dtypes.SMALL))  # of the small ones there are many
        raise location.error(
            DtypeError,
            f"{name} does not accept {dtype.name}",
            fix=f"convert with astype; {name} accepts {known}",
        )


def same_dtype(name: str, avals: tuple[ShapedArray, ...]) -> np.dtype[Any]:
    """The operands' one dtype; `DtypeError` where they differ."""
    first = avals[0].dtype
    for a in avals[1:]:
        if a.dtype != first:
            raise location.error(
                DtypeError,
                f"{name}: operands have different dtypes: {', '.join(x.long() for x in avals)}",
                fix="stagec.lax does not promote; convert with astype, or use the stagec.numpy function",
            )
    return first


def elementwise_shape(name: str, avals: tuple[ShapedArray, ...]) -> tuple[int, ...]:
    """The operands' one shape; rank-0 operands go with any."""
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


def i64_array(values: Iterable[int]) -> str:
    """`array<i64: 1, 2>`, the form that StableHLO's dimension lists have."""
    text = ", ".join([str(int(v)) for v in values])
    return f"array<i64: {text}>" if text else "array<i64>"

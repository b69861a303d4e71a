"""Concatenation and padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stagec.core import errors, location
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.operators import ArrayOperators
from stagec.core.primitive import SinglePrimitive
from stagec.core.zero import is_linear
from stagec.primitives.axes import as_int, canonical_axis, shape_error
from stagec.primitives.broadcast import in_front, linear, next_axis
from stagec.primitives.checks import same_dtype
from stagec.primitives.operand import aval_of, is_own_array, promote_weak_scalars
from stagec.primitives.padding import pad_p, slice_p
from stagec.typing import ArrayLike

__all__ = ["concatenate", "concatenate_p", "pad"]


def _concatenate_shape(*avals: ShapedArray, dimension: int) -> ShapedArray:
    same_dtype("concatenate", avals)
    first = avals[0]
    for a in avals[1:]:
        if a.ndim != first.ndim or any(m != n for i, (m, n) in enumerate(zip(a.shape, first.shape)) if i != dimension):
            raise shape_error(
                "concatenate",
                f"shapes differ outside of axis {dimension}: {', '.join(v.long() for v in avals)}",
                f"all sizes but that of axis {dimension} must agree; slice or pad one of them",
            )
    shape = list(first.shape)
    shape[dimension] = sum(a.shape[dimension] for a in avals)
    return ShapedArray.of(tuple(shape), first.dtype, all(a.weak_type for a in avals))


def _concatenate_transpose(ct: Any, *xs: Any, dimension: int) -> list[Any]:
    cts, start = [], 0
    for x in xs:
        shape = aval_of(x).shape if not is_linear(x) else x.aval.shape
        stop = start + shape[dimension]
        low = [start if i == dimension else 0 for i in range(len(shape))]
        high = [stop if i == dimension else n for i, n in enumerate(shape)]
        cts.append(
            slice_p(ct, start_indices=tuple(low), limit_indices=tuple(high), strides=(1,) * len(shape))
            if is_linear(x)
            else None
        )
        start = stop
    return cts


concatenate_p = SinglePrimitive(
    "concatenate",
    shape=_concatenate_shape,
    eval=lambda *xs, dimension: np.concatenate(xs, dimension),
    lower=lambda cx, *xs, dimension: cx.emit("stablehlo.concatenate", xs, {"dimension": f"{dimension} : i64"}),
    jvp=linear(),
    transpose=_concatenate_transpose,
    batch=in_front(dimension=next_axis),
)


def refuse_arrays(name: str, *options: Any) -> None:
    """Raise for arrays among the arguments that follow a sequence of arrays: they are meant to be parts of it."""
    if any(isinstance(value, (ArrayOperators, np.ndarray)) and value.ndim for value in options):
        raise location.error(
            errors.ArgumentTypeError,
            f"{name} takes one sequence of arrays, and got another array after it",
            fix=f"put the arrays into brackets, as in {name}([a, b])",
        )


def concatenate(operands: Sequence[Any], dimension: int) -> Array:
    """Join arrays of one dtype along an axis.

    Raises:
      ShapeError: the sizes of other axes differ, or there is nothing to join.
      DtypeError: the dtypes differ.

    >>> import stagec.numpy as snp
    >>> concatenate([snp.arange(2), snp.arange(3)], 0)
    Array([0, 1, 0, 1, 2], dtype=int32)
    """
    refuse_arrays("concatenate", dimension)
    if operands is None or not len(operands):
        raise shape_error("concatenate", "need at least one array to concatenate", "pass one or more arrays")
    values = promote_weak_scalars(*operands)
    axis = canonical_axis(dimension, aval_of(values[0]).ndim, "concatenate")
    return values[0] if len(values) == 1 and is_own_array(values[0]) else concatenate_p(*values, dimension=axis)


def pad(operand: ArrayLike, padding_value: ArrayLike, padding_config: Sequence[tuple[int, int, int]]) -> Array:
    """Surround and interleave with a value; negative edges cut off.

    Args:
      operand: an array.
      padding_value: a scalar of the same dtype.
      padding_config: `(low, high, interior)` for each axis.

    >>> import stagec.numpy as snp
    >>> pad(snp.array([1, 2, 3]), 0, [(1, -1, 1)])
    Array([0, 1, 0, 2, 0], dtype=int32)
    """
    if any(not isinstance(axis, (tuple, list)) or len(axis) != 3 for axis in padding_config):
        text = f"padding_config is {list(padding_config)}"
        raise shape_error("pad", text, "give (low, high, interior) for each axis")
    config = tuple([tuple([as_int(n, "pad", "a padding") for n in axis]) for axis in padding_config])
    x, value = promote_weak_scalars(operand, padding_value)
    return pad_p(x, value, padding_config=config)

"""unwrap: angles modulo a period."""

from __future__ import annotations

import math

from stagec.core import dtypes
from stagec.core.array import Array
from stagec.numpy.arguments import array_argument
from stagec.numpy.arithmetic import dtype_of, real_only
from stagec.numpy.conditionals import where
from stagec.numpy.joining import concatenate
from stagec.numpy.promotion import promote_dtypes, promote_inexact
from stagec.numpy.running import cumsum, diff
from stagec.primitives.axes import canonical_axis
from stagec.primitives.slicing import slice_in_dim
from stagec.typing import ArrayLike


def unwrap(p: ArrayLike, discont: ArrayLike | None = None, axis: int = -1, period: ArrayLike = 2 * math.pi) -> Array:
    """Angles without jumps: multiples of the period are added, so that no step is larger than half of it.

    Args:
      p: angles.
      discont: only steps of this size or larger are changed; by default, and at least, half of the period.
      axis: the axis of the sequence.
      period: angles that differ by a multiple of it are equal.

    >>> import stagec.numpy as snp
    >>> snp.unwrap(snp.array([0, 3, 5, 1, 4]), period=6)
    Array([ 0,  3,  5,  7, 10], dtype=int32)
    """
    x, size = promote_dtypes(array_argument(p, "unwrap"), array_argument(period, "unwrap's period"))
    if not dtypes.is_integer(dtype_of(x)):
        x, size = promote_inexact(x, size)
    real_only("unwrap", x)
    axis = canonical_axis(axis, x.ndim, "unwrap")
    if x.shape[axis] < 2:
        return x
    whole = dtypes.is_integer(dtype_of(x))
    half = size // 2 if whole else size / 2
    step = diff(x, axis=axis)
    short = (step + half) % size - half
    # A step of exactly half a period keeps its direction.
    edge = (short == -half) & (step > 0) & (size % 2 == 0 if whole else True)
    short = where(edge, half, short)
    change = where(abs(step) < (half if discont is None else discont), 0, short - step)
    first = slice_in_dim(x, 0, 1, 1, axis)
    unwrapped = slice_in_dim(x, 1, x.shape[axis], 1, axis) + cumsum(change, axis)
    return concatenate([first, unwrapped.astype(x.dtype)], axis)

"""tile and repeat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stagec.core import dtypes, errors, location
from stagec.core.array import Array
from stagec.core.trace import Tracer
from stagec.numpy import promotion
from stagec.numpy.arguments import array_argument, concrete
from stagec.numpy.indexing import getitem
from stagec.numpy.manipulation import ravel
from stagec.primitives import arithmetic, shape as _shape
from stagec.primitives.axes import as_int, as_shape, canonical_axis, shape_error
from stagec.primitives.convert import convert_element_type
from stagec.primitives.iota import full_like, iota
from stagec.typing import ArrayLike

__all__ = ["repeat", "tile"]


def tile(A: ArrayLike, reps: int | Sequence[int]) -> Array:
    """Lay copies of an array side by side.

    Args:
      A: an array.
      reps: how many along each axis; missing axes are added in front.

    >>> import stagec.numpy as snp
    >>> tile(snp.arange(2), (2, 2))
    Array([[0, 1, 0, 1],
           [0, 1, 0, 1]], dtype=int32)
    """
    A = array_argument(A, "A")
    counts = as_shape(reps, "tile")
    rank = max(A.ndim, len(counts))
    sizes = (1,) * (rank - A.ndim) + A.shape
    counts = (1,) * (rank - len(counts)) + counts
    interleaved = [n for pair in zip(counts, sizes) for n in pair]
    x = _shape.broadcast_in_dim(_shape.reshape(A, sizes), interleaved, tuple(range(1, 2 * rank, 2)))
    return _shape.reshape(x, tuple([c * n for c, n in zip(counts, sizes)]))


def repeat(
    a: ArrayLike, repeats: ArrayLike | Sequence[int], axis: int | None = None, *, total_repeat_length: int | None = None
) -> Array:
    """Repeat each element of an axis.

    Args:
      a: an array.
      repeats: how often; one number, or one for each element.
      axis: which; `None` repeats the elements of the whole as a vector.
      total_repeat_length: the size of the result, required if `repeats` is traced;
        it is padded with the last element.

    Raises:
      ConcretizationError: `repeats` is traced and there is no `total_repeat_length`.

    >>> import stagec.numpy as snp
    >>> repeat(snp.array([1, 2]), snp.array([2, 1]))
    Array([1, 1, 2], dtype=int32)
    """
    a = array_argument(a, "a")
    if axis is None:
        a, axis = ravel(a), 0
    axis = canonical_axis(axis, a.ndim, "repeat")
    size = a.shape[axis]
    if isinstance(repeats, Tracer) and total_repeat_length is not None:
        return _repeat_traced(a, repeats, axis, as_int(total_repeat_length, "repeat", "total_repeat_length"))
    counts = _counts(concrete(repeats, "repeat", "repeats", "give the size of the result, total_repeat_length="))
    if counts.ndim == 0 or counts.size == 1:
        n = as_int(counts.reshape(())[()], "repeat", "repeats")
        if total_repeat_length is None:
            shape = [*a.shape[: axis + 1], n, *a.shape[axis + 1 :]]
            spread = [i for i in range(a.ndim + 1) if i != axis + 1]
            x = _shape.broadcast_in_dim(a, shape, tuple(spread))
            return _shape.reshape(x, (*a.shape[:axis], size * n, *a.shape[axis + 1 :]))
        counts = np.full(size, n)
    if counts.shape != (size,):
        raise shape_error(
            "repeat",
            f"repeats of shape {counts.shape} do not fit axis {axis} of {a.aval.long()}",
            "give one number, or one for each entry of the axis",
        )
    source = np.repeat(np.arange(size), counts)
    if total_repeat_length is not None:
        total = as_int(total_repeat_length, "repeat", "total_repeat_length")
        source = np.concatenate([source, np.full(max(total - len(source), 0), size - 1)])[:total]
    return getitem(a, (*[slice(None)] * axis, source.astype(np.int32)))


def _counts(repeats: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if not np.can_cast(repeats.dtype, np.int64, "same_kind"):
        fix = "convert them with astype(int)"
        raise location.error(errors.DtypeError, f"repeat: repeats must be integers, got {repeats.dtype}", fix=fix)
    if (repeats < 0).any():
        raise shape_error("repeat", f"repeats has a negative number, {repeats.min()}", "give numbers of 0 or more")
    return repeats.astype(np.int64)


def _repeat_traced(a: Array, repeats: Array, axis: int, total: int) -> Array:
    size = a.shape[axis]
    counts = promotion.broadcast_to_shape(convert_element_type(repeats, dtypes.int32), (size,))
    # Element i starts at the sum of the counts before it. The running sum of marks at these starts is the source index.
    starts = getitem(counts.cumsum(), slice(0, size - 1))
    marks = full_like(iota(dtypes.int32, total), 0).at[starts].add(1, mode="drop")
    source = arithmetic.min(marks.cumsum(), size - 1)
    return getitem(a, (*[slice(None)] * axis, source))

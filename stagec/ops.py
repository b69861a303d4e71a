"""Sums, products and extremes of segments, by the names of `jax.ops`."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from stagec import numpy as snp
from stagec.core import dtypes, errors, location
from stagec.core.array import Array
from stagec.core.boundary import publish as _publish
from stagec.core.dtype_info import iinfo
from stagec.numpy.arguments import array_argument, concrete
from stagec.primitives.axes import as_shape
from stagec.primitives.gather_parts import GatherScatterMode
from stagec.primitives.operand import aval_of
from stagec.runtime.plans import cover as _cover
from stagec.typing import ArrayLike

__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]


def segment_sum(
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: str | None = None,
) -> Array:
    """The sum of the rows of `data` that belong to each segment.

    Args:
      data: the first axes are those of `segment_ids`.
      segment_ids: integers; rows of a segment outside of `0 ... num_segments - 1` are left out.
      num_segments: by default one more than the largest id, which must then be known while tracing.
      indices_are_sorted, unique_indices: promises about the ids.
      bucket_size: first add groups of this many rows, which rounds less; for ids with one axis.
      mode: `"clip"` moves ids to the nearest segment instead of leaving them out.

    >>> import stagec.numpy as snp
    >>> segment_sum(snp.array([1.0, 2.0, 3.0]), snp.array([0, 1, 0]), 3)
    Array([4., 2., 0.], dtype=float32)
    """
    return _segments(
        "segment_sum", "add", snp.sum, data, segment_ids, num_segments, indices_are_sorted, unique_indices,
        bucket_size, mode,
    )  # fmt: skip


def segment_prod(
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: str | None = None,
) -> Array:
    """The product of the rows of each segment, 1 for a segment without rows; as `segment_sum`.

    >>> import stagec.numpy as snp
    >>> segment_prod(snp.array([1.0, 2.0, 3.0]), snp.array([0, 1, 0]), 3)
    Array([3., 2., 1.], dtype=float32)
    """
    return _segments(
        "segment_prod", "multiply", snp.prod, data, segment_ids, num_segments, indices_are_sorted, unique_indices,
        bucket_size, mode,
    )  # fmt: skip


def segment_max(
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: str | None = None,
) -> Array:
    """The largest of the rows of each segment, the dtype's smallest value for a segment without; as `segment_sum`.

    >>> import stagec.numpy as snp
    >>> segment_max(snp.array([1.0, 2.0, 3.0]), snp.array([0, 1, 0]), 3)
    Array([  3.,   2., -inf], dtype=float32)
    """
    return _segments(
        "segment_max", "max", snp.max, data, segment_ids, num_segments, indices_are_sorted, unique_indices,
        bucket_size, mode,
    )  # fmt: skip


def segment_min(
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: str | None = None,
) -> Array:
    """The smallest of the rows of each segment, the dtype's largest value for a segment without; as `segment_sum`.

    >>> import stagec.numpy as snp
    >>> segment_min(snp.array([1.0, 2.0, 3.0]), snp.array([0, 1, 0]), 3)
    Array([ 1.,  2., inf], dtype=float32)
    """
    return _segments(
        "segment_min", "min", snp.min, data, segment_ids, num_segments, indices_are_sorted, unique_indices,
        bucket_size, mode,
    )  # fmt: skip


def _neutral(update: str, dtype: np.dtype[Any]) -> Any:
    """The neutral element of an update."""
    if update in ("add", "multiply"):
        return int(update == "multiply")
    if dtype == dtypes.bool_:
        return update == "min"
    if dtypes.is_integer(dtype):
        return iinfo(dtype).max if update == "min" else iinfo(dtype).min
    return np.inf if update == "min" else -np.inf


def _segments(
    name: str, update: str, reduce: Any, data: Any, segment_ids: Any, num_segments: Any, are_sorted: bool,
    unique: bool, bucket_size: int | None, mode: Any,
) -> Array:  # fmt: skip
    rows, ids = array_argument(data, name), array_argument(segment_ids, name)
    aval, index = aval_of(rows), aval_of(ids)
    if not dtypes.is_integer(index.dtype):
        raise location.error(
            errors.DtypeError, f"{name}: segment_ids is {index.long()}", fix="give integers as segment_ids"
        )
    if aval.shape[: index.ndim] != index.shape:
        raise location.error(
            errors.ShapeError,
            f"{name}: data is {aval.long()}, segment_ids {index.long()}",
            fix="give data the axes of segment_ids first",
        )
    clips = GatherScatterMode.from_any(mode) == GatherScatterMode.CLIP
    if bucket_size is not None and (not isinstance(bucket_size, numbers.Integral) or bucket_size < 1):
        raise location.error(
            ValueError, f"{name}: bucket_size is {bucket_size!r}", fix="give a bucket_size of at least 1, or None"
        )
    if num_segments is None:
        known = concrete(ids, name, "segment_ids", "give num_segments")
        count = int(known.max(initial=-1)) + 1
    else:
        (count,) = as_shape((num_segments,), name)
    neutral = _neutral(update, aval.dtype)
    # Negative ids become `count`, which is out of bounds: a negative index would count from the end.
    ids = snp.clip(ids, 0, max(count - 1, 0)) if clips else snp.where(ids < 0, count, ids)
    if bucket_size is None:
        out = snp.full((count, *aval.shape[index.ndim :]), neutral, aval.dtype)
        found: Array = getattr(out.at[ids], update)(rows, indices_are_sorted=are_sorted, unique_indices=unique)
        return found
    buckets = -(-index.size // bucket_size)
    out = snp.full((buckets, count, *aval.shape[1:]), neutral, aval.dtype)
    out = getattr(out.at[snp.arange(index.size) // bucket_size, ids], update)(rows)
    whole: Array = reduce(out, axis=0)
    return whole.astype(aval.dtype)


_cover(globals())
_publish(globals())

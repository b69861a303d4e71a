"""Sparse arrays with their axes or elements in another order: transposed, joined, sliced, repeated, reshaped."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import stagec.numpy as snp
from stagec.core import errors, location
from stagec.experimental.sparse.common import inside, outside, unsupported
from stagec.experimental.sparse.layout import bcoo_update_layout
from stagec.primitives.axes import canonical_axes, canonical_axis

__all__ = [
    "bcoo_broadcast_in_dim", "bcoo_concatenate", "bcoo_reshape", "bcoo_rev", "bcoo_slice", "bcoo_squeeze",
    "bcoo_transpose",
]  # fmt: skip


def _within(name: str, mat: Any, axes: Sequence[int]) -> tuple[list[int], list[int], list[int]]:
    """Batch, sparse and dense axes among `axes`, which have to follow one another."""
    n, end = mat.n_batch, mat.n_batch + mat.n_sparse
    kinds = [0 if a < n else 1 if a < end else 2 for a in axes]
    if kinds != sorted(kinds):
        raise unsupported(
            f"{name} mixes batch, sparse and dense axes",
            "make them one kind first, as with m.update_layout(n_batch=0, n_dense=0)",
        )
    return [a for a in axes if a < n], [a - n for a in axes if n <= a < end], [a - end for a in axes if a >= end]


def bcoo_transpose(mat: Any, *, permutation: Sequence[int]) -> Any:
    """The array with its axes permuted; batch, sparse and dense axes stay what they are."""
    order = [canonical_axis(a, mat.ndim, "bcoo_transpose") for a in permutation]
    if sorted(order) != list(range(mat.ndim)):
        raise location.error(
            errors.ShapeError,
            f"bcoo_transpose: {order} is no permutation of {mat.ndim} axes",
            fix="name each axis once",
        )
    batch, sparse, dense = _within("bcoo_transpose", mat, order)
    n = mat.n_batch
    data = snp.transpose(mat.data, [*batch, n, *[n + 1 + a for a in dense]])
    indices = snp.transpose(mat.indices, [*batch, n, n + 1])[..., np.asarray(sparse, int)]
    return mat._made(data, indices, [mat.shape[a] for a in order], unique=mat.unique_indices)


def bcoo_concatenate(operands: Sequence[Any], *, dimension: int) -> Any:
    """Arrays joined along an axis."""
    first = operands[0]
    axis = canonical_axis(dimension, first.ndim, "bcoo_concatenate")
    shapes = {m.shape[:axis] + m.shape[axis + 1 :] for m in operands}
    if len(shapes) > 1:
        raise location.error(
            errors.ShapeError,
            f"bcoo_concatenate: arrays of shapes {', '.join(str(m.shape) for m in operands)}",
            fix=f"give arrays that differ in axis {axis} alone",
        )
    n_batch, n_dense = (min(getattr(m, name) for m in operands) for name in ("n_batch", "n_dense"))
    mats = [bcoo_update_layout(m, n_batch=n_batch, n_dense=n_dense) for m in operands]
    shape = (*first.shape[:axis], sum(m.shape[axis] for m in mats), *first.shape[axis + 1 :])
    starts = np.cumsum([0, *[m.shape[axis] for m in mats[:-1]]])
    n, place = n_batch, axis - n_batch
    if axis < n:
        # The elements of a batch have as many entries as the largest.
        nse = max(m.nse for m in mats)
        mats = [_padded(m, nse) for m in mats]
        return first._made(
            snp.concatenate([m.data for m in mats], axis), snp.concatenate([m.indices for m in mats], axis), shape
        )
    data = [m.data for m in mats]
    if place >= mats[0].n_sparse:
        along = n + 1 + place - mats[0].n_sparse
        widths = [[(0, 0)] * along + [(int(s), shape[axis] - int(s) - m.shape[axis])] for s, m in zip(starts, mats)]
        data = [snp.pad(d, w + [(0, 0)] * (d.ndim - len(w))) for d, w in zip(data, widths)]
        indices = [m.indices for m in mats]
    else:
        # What was beyond the axis stays beyond it.
        moved = [
            snp.where(m.indices[..., place] < m.shape[axis], m.indices[..., place] + int(s), shape[axis])
            for s, m in zip(starts, mats)
        ]
        indices = [m.indices.at[..., place].set(i.astype(m.indices.dtype)) for m, i in zip(mats, moved)]
    return first._made(snp.concatenate(data, n), snp.concatenate(indices, n), shape)


def _padded(mat: Any, nse: int) -> Any:
    """The array with more entries, which are no elements."""
    n, more = mat.n_batch, nse - mat.nse
    data = snp.pad(mat.data, [(0, more if a == n else 0) for a in range(mat.data.ndim)])
    none = snp.broadcast_to(snp.asarray(mat.sparse_shape, mat.indices.dtype), (*mat.shape[:n], more, mat.n_sparse))
    return mat._made(data, snp.concatenate([mat.indices, none], n), mat.shape)


def bcoo_broadcast_in_dim(
    mat: Any, *, shape: Sequence[int], broadcast_dimensions: Sequence[int], sharding: None = None
) -> Any:
    """The array repeated along new axes, and along axes of size 1: `lax.broadcast_in_dim`.

    New axes before all sparse ones are batch axes if the array has batch axes after them, those after the first dense
    axis are dense, and all others sparse.
    """
    sizes, places = tuple(shape), [canonical_axis(a, len(shape), "bcoo_broadcast_in_dim") for a in broadcast_dimensions]
    batch, sparse, dense = (list(p) for p in _parts(places, mat))
    n_batch = batch[-1] + 1 if batch else 0
    n_dense = len(sizes) - dense[0] if dense else 0
    if sorted(places) != places or any(not n_batch <= p < len(sizes) - n_dense for p in sparse):
        raise unsupported("bcoo_broadcast_in_dim: axes in another order", "transpose the array first")
    n, end = mat.n_batch, len(sizes) - n_dense
    batch_ones = _with_ones(mat.shape[:n], batch, n_batch)
    dense_ones = _with_ones(mat.data.shape[n + 1 :], [p - end for p in dense], n_dense)
    data = mat.data.reshape(*batch_ones, mat.nse, *dense_ones)
    data = snp.broadcast_to(data, (*sizes[:n_batch], mat.nse, *sizes[end:]))
    indices = outside(mat).reshape(*batch_ones, mat.nse, mat.n_sparse)
    indices = snp.broadcast_to(indices, (*sizes[:n_batch], mat.nse, mat.n_sparse))
    exists = snp.broadcast_to(inside(mat).reshape(*batch_ones, mat.nse), (*sizes[:n_batch], mat.nse))
    # Each entry is repeated for all places along new sparse axes, and along those that grow.
    old = dict(zip([p - n_batch for p in sparse], range(mat.n_sparse)))
    wide = sizes[n_batch:end]
    repeated = [i for i, size in enumerate(wide) if i not in old or mat.sparse_shape[old[i]] != size]
    counts = [wide[i] for i in repeated]
    total = math.prod(counts)
    grid = dict(zip(repeated, np.indices(counts).reshape(len(counts), total)))
    columns = []
    for i, size in enumerate(wide):
        if i in grid:
            repeated_places = snp.tile(snp.asarray(grid[i], indices.dtype), mat.nse)
            columns.append(snp.where(snp.repeat(exists, total, -1), repeated_places, size))
        else:
            columns.append(snp.repeat(indices[..., old[i]], total, -1))
    found = snp.stack(columns, -1) if columns else indices
    return mat._made(snp.repeat(data, total, n_batch), found.astype(indices.dtype), sizes, unique=mat.unique_indices)


def _parts(places: Sequence[int], mat: Any) -> tuple[Sequence[int], Sequence[int], Sequence[int]]:
    n, end = mat.n_batch, mat.n_batch + mat.n_sparse
    return places[:n], places[n:end], places[end:]


def _with_ones(sizes: Sequence[int], places: Sequence[int], count: int) -> list[int]:
    """Sizes at their places among `count` axes, of which the others have size 1."""
    found = dict(zip(places, sizes))
    return [found.get(i, 1) for i in range(count)]


def bcoo_reshape(
    mat: Any, *, new_sizes: Sequence[int], dimensions: Sequence[int] | None = None, sharding: None = None
) -> Any:
    """The array in another shape. Batch axes stay batch axes, and dense axes dense ones.

    Raises:
      UnsupportedError: a new axis takes elements of two kinds of axes.
    """
    if dimensions is not None:
        mat = bcoo_transpose(mat, permutation=dimensions)
    sizes, n, end = tuple(new_sizes), mat.n_batch, mat.n_batch + mat.n_sparse
    if math.prod(sizes) != mat.size:
        raise location.error(
            errors.ShapeError, f"bcoo_reshape: {mat.shape} does not fit {sizes}", fix="give as many elements"
        )
    first = _prefix(sizes, math.prod(mat.shape[:n]), n > 0)
    last = _prefix(sizes[::-1], math.prod(mat.shape[end:]), mat.n_dense > 0)
    if first is None or last is None or first + last > len(sizes):
        raise unsupported(
            f"bcoo_reshape from {mat.shape} to {sizes} mixes batch, sparse and dense axes",
            "make them one kind first, as with m.update_layout(n_batch=0, n_dense=0)",
        )
    batch, sparse, dense = sizes[:first], sizes[first : len(sizes) - last], sizes[len(sizes) - last :]
    data = mat.data.reshape(*batch, mat.nse, *dense)
    indices = mat.indices.reshape(*batch, mat.nse, mat.n_sparse)
    exists = inside(mat).reshape(*batch, mat.nse)
    flat = snp.zeros(exists.shape, indices.dtype)
    for i, size in enumerate(mat.sparse_shape):
        flat = flat * size + indices[..., i]
    columns: list[Any] = []
    for size in sparse[::-1]:
        columns.insert(0, snp.where(exists, flat % max(size, 1), size))
        flat = flat // max(size, 1)
    found = snp.stack(columns, -1) if columns else snp.zeros((*exists.shape, 0), indices.dtype)
    return mat._made(data, found, sizes, unique=mat.unique_indices)


def _prefix(sizes: Sequence[int], total: int, has_axes: bool) -> int | None:
    """How many of the first axes have `total` elements."""
    product, count = 1, 0
    while has_axes and (product != total or count == 0):
        if count == len(sizes):
            return None
        product, count = product * sizes[count], count + 1
    return count


def bcoo_squeeze(arr: Any, *, dimensions: Sequence[int]) -> Any:
    """The array without some axes of size 1."""
    axes = canonical_axes(tuple(dimensions), arr.ndim, "bcoo_squeeze")
    if any(arr.shape[a] != 1 for a in axes):
        raise location.error(
            errors.ShapeError, f"bcoo_squeeze: {axes} of {arr.shape} have not size 1", fix="name axes of size 1"
        )
    n, end = arr.n_batch, arr.n_batch + arr.n_sparse
    data = snp.squeeze(arr.data, tuple([a if a < n else a - arr.n_sparse + 1 for a in axes if not n <= a < end]))
    kept = [i for i in range(arr.n_sparse) if n + i not in axes]
    gone = tuple(a for a in axes if a < n)
    indices = snp.squeeze(outside(arr), gone)[..., np.asarray(kept, int)]
    if not kept:
        exists = snp.squeeze(inside(arr), gone)
        data = snp.where(exists.reshape(*exists.shape, *(1,) * (data.ndim - exists.ndim)), data, 0)
    return arr._made(data, indices, [s for a, s in enumerate(arr.shape) if a not in axes], unique=arr.unique_indices)


def bcoo_slice(
    mat: Any, *, start_indices: Sequence[int], limit_indices: Sequence[int], strides: Sequence[int] | None = None
) -> Any:
    """The elements from `start_indices` to `limit_indices`, in steps: `lax.slice`."""
    steps = [1] * mat.ndim if strides is None else list(strides)
    cuts = [slice(a, b, s) for a, b, s in zip(start_indices, limit_indices, steps, strict=True)]
    shape = [len(range(mat.shape[i])[cut]) for i, cut in enumerate(cuts)]
    n, end = mat.n_batch, mat.n_batch + mat.n_sparse
    of_data = (*cuts[:n], slice(None), *cuts[end:])
    data, indices = mat.data[of_data], mat.indices[tuple(cuts[:n])]
    columns, kept = [], snp.ones(indices.shape[:-1], bool)
    for i, (cut, size) in enumerate(zip(cuts[n:end], shape[n:end])):
        offset = indices[..., i] - cut.start
        kept = kept & (offset >= 0) & (indices[..., i] < cut.stop) & (offset % cut.step == 0)
        columns.append((offset // cut.step, size))
    found = [snp.where(kept, column, size).astype(indices.dtype) for column, size in columns]
    return mat._made(data, snp.stack(found, -1) if found else indices, shape, unique=mat.unique_indices)


def bcoo_rev(operand: Any, dimensions: Sequence[int]) -> Any:
    """The array with its elements in reverse order along axes."""
    axes = canonical_axes(tuple(dimensions), operand.ndim, "bcoo_rev")
    n, end = operand.n_batch, operand.n_batch + operand.n_sparse
    data = snp.flip(operand.data, [a if a < n else a - operand.n_sparse + 1 for a in axes if not n <= a < end])
    indices = snp.flip(operand.indices, [a for a in axes if a < n])
    for i, size in enumerate(operand.sparse_shape):
        if n + i in axes:
            column = indices[..., i]
            turned = snp.where(column < size, size - 1 - column, column)
            indices = indices.at[..., i].set(turned)
    return operand._made(data, indices, operand.shape, unique=operand.unique_indices)


def getitem(mat: Any, index: Any) -> Any:
    """The array at an index of integers, slices, `None` and `...`."""
    parts = list(index) if isinstance(index, tuple) else [index]
    if not all(p is None or p is ... or isinstance(p, slice | int | np.integer) for p in parts):
        raise unsupported(
            "an index of a sparse array is no integer, slice, None or ...", "index m.todense(), or m.data and m.indices"
        )
    named = sum(p is not None and p is not ... for p in parts)
    if named > mat.ndim or sum(p is ... for p in parts) > 1:
        raise location.error(
            errors.IndexingError,
            f"an index of {named} axes for a sparse array with {mat.ndim}",
            fix="give at most one part for each axis, and ... once",
        )
    parts = parts if any(p is ... for p in parts) else [*parts, ...]
    place = next(i for i, p in enumerate(parts) if p is ...)
    parts[place : place + 1] = [slice(None)] * (mat.ndim - named)
    cuts: list[range] = []
    turned: list[int] = []
    gone: list[int] = []
    shape: list[int] = []
    for part in parts:
        if part is None:
            shape.append(1)
            continue
        size = mat.shape[len(cuts)]
        if isinstance(part, slice):
            taken = range(size)[part]
            turned += [len(cuts)] if taken.step < 0 else []
            shape.append(-1)
        else:
            if not -size <= part < size:
                raise location.error(
                    errors.IndexingError,
                    f"index {part} is outside of axis {len(cuts)}, of size {size}",
                    fix="give an index that the axis has",
                )
            gone.append(len(cuts))
            taken = range(int(part) % size, int(part) % size + 1)
        cuts.append(taken if taken.step > 0 else taken[::-1])
    found = bcoo_slice(
        mat,
        start_indices=[c.start for c in cuts],
        limit_indices=[max(c.stop, c.start) for c in cuts],
        strides=[c.step for c in cuts],
    )
    found = bcoo_squeeze(bcoo_rev(found, turned), dimensions=gone)
    kept = [i for i, size in enumerate(shape) if size < 0]
    sizes = list(shape)
    for i, size in zip(kept, found.shape):
        sizes[i] = size
    return found if len(kept) == len(sizes) else bcoo_broadcast_in_dim(found, shape=sizes, broadcast_dimensions=kept)

"""Sparse arrays as values and the indices where they are: functions of one element of a batch.

`data` has the shape `(nse, *dense)`, and `indices` the shape `(nse, n_sparse)`. An index beyond its axis stands for no
element. Several entries may have the same indices; their values are added.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import stagec.numpy as snp
from stagec.api.batching import vmap
from stagec.primitives.dot import DotDimensionNumbers

Part: TypeAlias = tuple[Any, Any]  # data and indices


def for_each(count: int, function: Callable[..., Any], in_axes: Any = 0) -> Callable[..., Any]:
    """A function of the elements of `count` leading axes."""
    for _ in range(count):
        function = vmap(function, in_axes)
    return function


def columns(indices: Any, chosen: Sequence[int] | None = None) -> tuple[Any, ...]:
    """The indices along each axis, or along chosen ones."""
    return tuple([indices[..., i] for i in (range(indices.shape[-1]) if chosen is None else chosen)])


def is_inside(indices: Any, shape: Sequence[int]) -> Any:
    """Whether each entry is an element."""
    return (indices < snp.asarray(shape, indices.dtype)).all(-1)


def masked(data: Any, indices: Any, shape: Sequence[int]) -> Any:
    """The values, with zeros where an entry is no element."""
    inside = is_inside(indices, shape[: indices.shape[-1]])
    return snp.where(inside.reshape(-1, *(1,) * (data.ndim - 1)), data, 0)


def added_at(shape: Sequence[int], places: tuple[Any, ...], data: Any) -> Any:
    """An array of zeros, to which values are added at places along the first axes."""
    if not places:
        return data.any(0) if data.dtype == bool else data.sum(0, dtype=data.dtype)
    zeros = snp.zeros((*shape, *data.shape[1:]), data.dtype)
    at = zeros.at[places]
    return at.max(data, mode="drop") if data.dtype == bool else at.add(data, mode="drop")


def todense(data: Any, indices: Any, shape: Sequence[int]) -> Any:
    """All elements; `shape` is that of the sparse axes."""
    return added_at(shape, columns(indices), data)


def extract(indices: Any, dense: Any) -> Any:
    """The elements of a dense array at the indices, zeros beyond its axes."""
    if not indices.shape[-1]:
        return snp.broadcast_to(dense, (indices.shape[0], *dense.shape))
    return dense.at[columns(indices)].get(mode="fill", fill_value=0)


def nonzero_mask(dense: Any, n_dense: int) -> Any:
    """Where an element, or any of its dense part, is not zero."""
    return (dense != 0).any(tuple(range(dense.ndim - n_dense, dense.ndim)))


def fromdense(dense: Any, nse: int, n_dense: int, index_dtype: Any) -> Part:
    """The first `nse` elements that are not zero."""
    mask = nonzero_mask(dense, n_dense)
    if not mask.ndim:
        indices = snp.zeros((nse, 0), index_dtype)
        return snp.where(snp.arange(nse).reshape(nse, *(1,) * n_dense) == 0, dense, 0), indices
    found = snp.nonzero(mask, size=nse, fill_value=mask.shape)
    indices = snp.stack(found, -1).astype(index_dtype)
    return extract(indices, dense), indices


def sort(data: Any, indices: Any) -> Part:
    """The entries in the order of their indices."""
    if not indices.shape[-1]:
        return data, indices
    order = snp.lexsort(columns(indices)[::-1])
    return data[order], indices[order]


def first_of_each(data: Any, indices: Any, shape: Sequence[int]) -> tuple[Any, Any, Any]:
    """Sorted entries, those beyond an axis last, and which of them have other indices than the one before."""
    inside = is_inside(indices, shape)
    data, indices = sort(data, snp.where(inside[:, None], indices, snp.asarray(shape, indices.dtype)))
    same = (indices[1:] == indices[:-1]).all(-1)
    is_first = snp.concatenate([snp.ones(min(len(indices), 1), bool), ~same])
    return data, indices, is_first & is_inside(indices, shape)


def count(data: Any, indices: Any, shape: Sequence[int]) -> Any:
    """The number of different elements."""
    return first_of_each(data, indices, shape)[2].sum()


def sum_duplicates(data: Any, indices: Any, shape: Sequence[int], nse: int) -> Part:
    """One entry for each element, in order; `nse` of them, with entries beyond the axes at the end."""
    data, indices, is_first = first_of_each(data, indices, shape)
    group = snp.where(is_inside(indices, shape), snp.cumsum(is_first) - 1, nse)
    outside = snp.broadcast_to(snp.asarray(shape, indices.dtype), (nse, len(shape)))
    return added_at((nse,), (group,), data), outside.at[group].set(indices, mode="drop")


def dot_dense(
    data: Any, indices: Any, rhs: Any, shape: Sequence[int], numbers: DotDimensionNumbers, **options: Any
) -> Any:
    """`lax.dot_general` of a sparse array, whose shape is given, and a dense one."""
    (left, right), (left_batch, right_batch) = numbers
    n_sparse = indices.shape[-1]
    data = masked(data, indices, shape)
    partner = dict(zip([*left, *left_batch], [*right, *right_batch]))
    indexed = [i for i in range(n_sparse) if i in partner]
    # Axes have names: numbers of the left array's, of the right one's after them, and one for the entries.
    rank, entry = len(shape), -1
    of_right = {partner[i]: i for i in partner}
    names = [of_right.get(j, rank + j) for j in range(rhs.ndim)]
    met = snp.moveaxis(rhs, [partner[i] for i in indexed], list(range(len(indexed))))
    met_names = [n for n in names if n not in indexed]
    if indexed:
        met, met_names = extract(indices[:, snp.asarray(indexed)], met), [entry, *met_names]
    kept = [i for i in range(rank) if i not in left]
    placed = [i for i in kept if i < n_sparse]
    others = [i for i in kept if i >= n_sparse] + [n for n in names if n >= rank]
    given_names = [entry, *range(n_sparse, rank)]
    if not set(given_names[1:]) & set(met_names):
        # Nothing is contracted but entries: the product is one of elements.
        wide = data.reshape(*data.shape, *(1,) * (met.ndim - (entry in met_names)))
        met = met.reshape(met.shape[:1] + (1,) * (data.ndim - 1) + met.shape[1:]) if entry in met_names else met
        product = wide * met
        product = product.astype(options["preferred_element_type"] or product.dtype)
    else:
        product = snp.einsum(data, given_names, met, met_names, [entry, *others], **options)
    found = added_at([shape[i] for i in placed], columns(indices, placed), product)
    wanted = [*left_batch, *[i for i in kept if i not in left_batch], *[n for n in names if n >= rank]]
    have = [*placed, *others]
    return snp.transpose(found, [have.index(n) for n in wanted])


def dot_sparse(
    one: Part, other: Part, shapes: tuple[Sequence[int], Sequence[int]], numbers: DotDimensionNumbers
) -> Part:
    """The same of two sparse arrays without dense parts: an entry for each pair of entries."""
    (data, indices), (others, other_indices) = one, other
    (left, right), (left_batch, right_batch) = numbers
    pairs = [
        indices[:, None, i] == other_indices[None, :, j] for i, j in zip([*left, *left_batch], [*right, *right_batch])
    ]
    meets = is_inside(indices, shapes[0])[:, None] & is_inside(other_indices, shapes[1])[None]
    for pair in pairs:
        meets = meets & pair
    free = [i for i in range(indices.shape[1]) if i not in (*left, *left_batch)]
    other_free = [j for j in range(other_indices.shape[1]) if j not in (*right, *right_batch)]
    kept = [*[indices[:, None, i] for i in (*left_batch, *free)], *[other_indices[None, :, j] for j in other_free]]
    sizes = [*[shapes[0][i] for i in (*left_batch, *free)], *[shapes[1][j] for j in other_free]]
    places = [snp.where(meets, i, size).ravel() for i, size in zip(kept, sizes)]
    product = snp.where(meets, data[:, None] * others[None], 0).ravel()
    where = snp.stack(places, -1) if places else snp.zeros((product.size, 0), indices.dtype)
    return product, where.astype(indices.dtype)


def at_other(indices: Any, data: Any, other_indices: Any) -> Any:
    """The values of a sparse array at other indices."""
    same = (indices[:, None] == other_indices[None]).all(-1)
    return snp.where(same, data[None], 0).sum(1, dtype=data.dtype)

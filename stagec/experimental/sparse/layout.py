"""Sparse arrays in other layouts: dense, in order, without duplicates, with other batch and dense axes."""

from __future__ import annotations

import warnings
from typing import Any

import stagec.numpy as snp
from stagec.core import errors, location
from stagec.experimental.sparse import coordinates
from stagec.experimental.sparse.common import SparseEfficiencyError, SparseEfficiencyWarning, each

__all__ = ["bcoo_extract", "bcoo_sort_indices", "bcoo_sum_duplicates", "bcoo_todense", "bcoo_update_layout"]


def bcoo_todense(mat: Any) -> Any:
    """The array with all of its elements."""
    return each(mat, lambda data, indices: coordinates.todense(data, indices, mat.sparse_shape))


def bcoo_extract(sparr: Any, arr: Any, *, assume_unique: bool | None = None) -> Any:
    """The elements of a dense array where a sparse one has entries."""
    unique = sparr if (sparr.unique_indices if assume_unique is None else assume_unique) else _first_entries(sparr)
    found = each(unique, lambda data, indices, dense: coordinates.extract(indices, dense), snp.asarray(arr))
    return unique._with(found)


def _first_entries(mat: Any) -> Any:
    """The array with one entry for each element, and the same number of entries."""
    return bcoo_sum_duplicates(mat, mat.nse)


def bcoo_sort_indices(mat: Any) -> Any:
    """The array with its entries in order."""
    return mat._made(*each(mat, coordinates.sort), mat.shape, True, mat.unique_indices)


def bcoo_sum_duplicates(mat: Any, nse: int | None = None) -> Any:
    """The array with one entry for each element.

    Args:
      nse: the number of entries; by default as many as there are elements with entries, in a traced function as many as
        before.
    """
    if nse is None:
        found = each(mat, lambda data, indices: coordinates.count(data, indices, mat.sparse_shape))
        try:
            nse = int(found.max()) if found.size else 0
        except errors.ConcretizationError:
            nse = mat.nse
    number = nse
    parts = each(mat, lambda data, indices: coordinates.sum_duplicates(data, indices, mat.sparse_shape, number))
    return mat._made(*parts, mat.shape, True, True)


def bcoo_update_layout(
    mat: Any, *, n_batch: int | None = None, n_dense: int | None = None, on_inefficient: str | None = "error"
) -> Any:
    """The array with other numbers of batch axes and of dense axes.

    Args:
      on_inefficient: what happens where this stores many zeros: `"error"`, `"warn"`, or None.

    Raises:
      SparseEfficiencyError: more batch or dense axes store many zeros.
    """
    n_batch = mat.n_batch if n_batch is None else n_batch
    n_dense = mat.n_dense if n_dense is None else n_dense
    if min(n_batch, n_dense, mat.ndim - n_batch - n_dense) < 0:
        raise location.error(
            errors.ShapeError,
            f"bcoo_update_layout: n_batch={n_batch} and n_dense={n_dense} for an array of {mat.ndim} axes",
            fix="give numbers of 0 or more, whose sum is at most the number of axes",
        )
    grown = mat.shape[mat.n_batch : n_batch] + mat.shape[mat.ndim - n_dense : mat.ndim - mat.n_dense]
    if on_inefficient and any(n > 1 for n in grown):
        text = f"bcoo_update_layout of shape {mat.shape}: more batch or dense axes store many zeros"
        if on_inefficient == "error":
            raise location.error(SparseEfficiencyError, text, fix="pass on_inefficient='warn' or None")
        warnings.warn(text, SparseEfficiencyWarning, stacklevel=2)
    while mat.n_dense > n_dense:
        mat = _dense_to_sparse(mat)
    while mat.n_batch > n_batch:
        mat = _batch_to_sparse(mat)
    while mat.n_dense < n_dense:
        mat = _sparse_to_dense(mat)
    while mat.n_batch < n_batch:
        mat = _sparse_to_batch(mat)
    return mat


def _dense_to_sparse(mat: Any) -> Any:
    n, size = mat.n_batch, mat.data.shape[mat.n_batch + 1]
    data = mat.data.reshape(*mat.data.shape[:n], mat.nse * size, *mat.data.shape[n + 2 :])
    last = snp.tile(snp.arange(size, dtype=mat.indices.dtype), mat.nse)
    last = snp.broadcast_to(last, (*mat.shape[:n], mat.nse * size))[..., None]
    return mat._made(data, snp.concatenate([snp.repeat(mat.indices, size, n), last], -1), mat.shape)


def _batch_to_sparse(mat: Any) -> Any:
    n, size = mat.n_batch - 1, mat.shape[mat.n_batch - 1]
    batch = mat.shape[:n]
    data = mat.data.reshape(*batch, size * mat.nse, *mat.data.shape[n + 2 :])
    first = snp.repeat(snp.arange(size, dtype=mat.indices.dtype), mat.nse)
    first = snp.broadcast_to(first, (*batch, size * mat.nse))[..., None]
    indices = mat.indices.reshape(*batch, size * mat.nse, mat.n_sparse)
    return mat._made(data, snp.concatenate([first, indices], -1), mat.shape)


def _sparse_to_dense(mat: Any) -> Any:
    size = mat.sparse_shape[-1]

    def spread(data: Any, indices: Any) -> tuple[Any, Any]:
        places = (snp.arange(mat.nse), indices[:, -1])
        return coordinates.added_at((mat.nse, size), places, data), indices[:, :-1]

    return mat._made(*each(mat, spread), mat.shape)


def _sparse_to_batch(mat: Any) -> Any:
    size, *rest = mat.sparse_shape

    def split(data: Any, indices: Any) -> tuple[Any, Any]:
        mine = indices[:, 0] == snp.arange(size)[:, None]
        none = snp.asarray(rest, indices.dtype)
        kept = snp.where(mine.reshape(*mine.shape, *(1,) * (data.ndim - 1)), data, 0)
        return kept, snp.where(mine[..., None], indices[:, 1:], none)

    return mat._made(*each(mat, split), mat.shape)

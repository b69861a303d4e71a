"""`BCSR`: sparse matrices by rows, with batch axes before and dense axes after."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import stagec.numpy as snp
from stagec.core import errors, location
from stagec.core.containers import register_pytree_node
from stagec.experimental.sparse import arithmetic, arrangement, layout
from stagec.experimental.sparse.bcoo import BCOO, JAXSparse, bcoo_fromdense
from stagec.experimental.sparse.common import unsupported
from stagec.experimental.sparse.coordinates import for_each

__all__ = [
    "BCSR", "bcsr_broadcast_in_dim", "bcsr_concatenate", "bcsr_dot_general", "bcsr_extract", "bcsr_fromdense",
    "bcsr_sum_duplicates", "bcsr_todense",
]  # fmt: skip


class BCSR(JAXSparse):
    """A sparse matrix by rows: values, their columns, and where each row begins.

    Args:
      args: `data`, of shape `(*batch, nse, *dense)`, `indices`, the columns, of shape `(*batch, nse)`, and `indptr`, of
        shape `(*batch, rows + 1)`: row i has the entries from `indptr[i]` to `indptr[i + 1]`.
      shape: of the array: batch axes, two sparse axes, and dense axes.
      indices_sorted, unique_indices: what is known of the columns of each row.

    >>> import stagec.numpy as snp
    >>> from stagec.experimental import sparse
    >>> m = sparse.BCSR.fromdense(snp.array([[0.0, 2.0], [3.0, 4.0]]))
    >>> m.indptr, m @ snp.array([1.0, 10.0])
    (Array([0, 1, 3], dtype=int32), Array([20., 43.], dtype=float32))
    """

    def __init__(
        self, args: Sequence[Any], *, shape: Sequence[int], indices_sorted: bool = False, unique_indices: bool = False
    ) -> None:
        self.data, self.indices, self.indptr = map(snp.asarray, args)
        self.indices_sorted, self.unique_indices = indices_sorted, unique_indices
        self._columns = tuple(shape)[self.n_batch + 1] if len(shape) > self.n_batch + 1 else -1
        fits = self.data.shape[: self.n_batch + 1] == self.indices.shape
        if self.shape != tuple(shape) or not fits or self.indptr.shape[:-1] != self.indices.shape[:-1]:
            parts = ", ".join(x.aval.long() for x in (self.data, self.indices, self.indptr))
            raise location.error(
                errors.ShapeError,
                f"BCSR: data, indices and indptr {parts} do not fit the shape {tuple(shape)}",
                fix="data is (*batch, nse, *dense), indices (*batch, nse), indptr (*batch, rows + 1)",
            )

    @property
    def n_batch(self) -> int:  # type: ignore[override]
        return self.indices.ndim - 1

    n_sparse = 2

    @property
    def n_dense(self) -> int:  # type: ignore[override]
        return self.data.ndim - 1 - self.n_batch  # type: ignore[no-any-return]

    @property
    def nse(self) -> int:  # type: ignore[override]
        """The number of entries."""
        return self.indices.shape[-1]

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        n = self.n_batch
        return (*self.indices.shape[:n], self.indptr.shape[-1] - 1, self._columns, *self.data.shape[n + 1 :])

    def _with(self, data: Any) -> BCSR:
        return _unflatten((self._columns, self.indices_sorted, self.unique_indices), (data, self.indices, self.indptr))

    def _of_bcoo(self) -> BCOO:
        return self.to_bcoo()

    def _like(self, found: Any) -> Any:
        is_matrix = isinstance(found, BCOO) and found.n_sparse == 2
        return BCSR.from_bcoo(found) if is_matrix else found

    @classmethod
    def fromdense(
        cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32, n_dense: int = 0, n_batch: int = 0
    ) -> BCSR:
        """A sparse matrix of the elements that are not zero; see `bcoo_fromdense`."""
        return bcsr_fromdense(mat, nse=nse, n_batch=n_batch, n_dense=n_dense, index_dtype=index_dtype)

    @classmethod
    def from_scipy_sparse(cls, mat: Any, *, index_dtype: Any = None, n_dense: int = 0, n_batch: int = 0) -> BCSR:
        """A matrix of SciPy's."""
        return cls.from_bcoo(BCOO.from_scipy_sparse(mat, index_dtype=index_dtype, n_dense=n_dense, n_batch=n_batch))

    @classmethod
    def from_bcoo(cls, arr: BCOO) -> BCSR:
        """A matrix with two sparse axes by its rows."""
        if arr.n_sparse != 2:
            raise unsupported(f"BCSR: an array with {arr.n_sparse} sparse axes", "give one with two of them")
        ordered = arr if arr.indices_sorted else layout.bcoo_sort_indices(arr)
        rows, columns = ordered.sparse_shape

        def starts(indices: Any) -> Any:
            return snp.searchsorted(indices[:, 0], snp.arange(rows + 1, dtype=indices.dtype)).astype(indices.dtype)

        indptr = for_each(arr.n_batch, starts)(ordered.indices)
        parts = ordered.data, ordered.indices[..., 1], indptr
        return _unflatten((columns, True, arr.unique_indices), parts)

    def to_bcoo(self) -> BCOO:
        """The matrix by coordinates."""
        rows = self.indptr.shape[-1] - 1

        def coordinates(indices: Any, indptr: Any) -> Any:
            places = snp.arange(self.nse, dtype=indptr.dtype)
            row = snp.searchsorted(indptr[1:], places, side="right").astype(indices.dtype)
            # Entries after those of the last row are no elements.
            return snp.stack([row, snp.where(row < rows, indices, self._columns)], -1)

        found = for_each(self.n_batch, coordinates)(self.indices, self.indptr)
        flags = dict(indices_sorted=self.indices_sorted, unique_indices=self.unique_indices)
        return BCOO((self.data, found), shape=self.shape, **flags)

    def todense(self) -> Any:
        return layout.bcoo_todense(self.to_bcoo())

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> BCSR:
        """The matrix with one entry for each element."""
        return BCSR.from_bcoo(self.to_bcoo().sum_duplicates(nse, remove_zeros))


def _unflatten(fixed: Any, parts: Any) -> BCSR:
    found = object.__new__(BCSR)
    found.data, found.indices, found.indptr = parts
    found._columns, found.indices_sorted, found.unique_indices = fixed
    return found


register_pytree_node(
    BCSR, lambda m: ((m.data, m.indices, m.indptr), (m._columns, m.indices_sorted, m.unique_indices)), _unflatten
)


def bcsr_fromdense(
    mat: Any, *, nse: int | None = None, n_batch: int = 0, n_dense: int = 0, index_dtype: Any = np.int32
) -> BCSR:
    """A sparse matrix of the elements that are not zero; see `bcoo_fromdense`."""
    return BCSR.from_bcoo(bcoo_fromdense(mat, nse=nse, n_batch=n_batch, n_dense=n_dense, index_dtype=index_dtype))


def bcsr_todense(mat: BCSR) -> Any:
    """The matrix with all of its elements."""
    return mat.todense()


def bcsr_extract(indices: Any, indptr: Any, mat: Any) -> Any:
    """The elements of a dense array where a sparse matrix has entries."""
    dense = snp.asarray(mat)
    indices = snp.asarray(indices)
    n = indices.ndim - 1
    data = snp.zeros((*indices.shape, *dense.shape[n + 2 :]), dense.dtype)
    where = BCSR((data, indices, indptr), shape=dense.shape).to_bcoo()
    return layout.bcoo_extract(where, dense, assume_unique=True).data


def bcsr_dot_general(
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: None = None,
) -> Any:
    """`lax.dot_general` of a sparse matrix and a dense array."""
    given = [x.to_bcoo() if isinstance(x, BCSR) else x for x in (lhs, rhs)]
    return arithmetic.bcoo_dot_general(
        *given,
        dimension_numbers=dimension_numbers,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def bcsr_sum_duplicates(mat: BCSR, nse: int | None = None) -> BCSR:
    """The matrix with one entry for each element; see `bcoo_sum_duplicates`."""
    return BCSR.from_bcoo(layout.bcoo_sum_duplicates(mat.to_bcoo(), nse))


def bcsr_concatenate(operands: Sequence[BCSR], *, dimension: int) -> BCSR:
    """Matrices joined along an axis."""
    return BCSR.from_bcoo(arrangement.bcoo_concatenate([m.to_bcoo() for m in operands], dimension=dimension))


def bcsr_broadcast_in_dim(
    mat: BCSR, *, shape: Sequence[int], broadcast_dimensions: Sequence[int], sharding: None = None
) -> BCSR:
    """The matrix repeated along axes; see `bcoo_broadcast_in_dim`."""
    found = arrangement.bcoo_broadcast_in_dim(mat.to_bcoo(), shape=shape, broadcast_dimensions=broadcast_dimensions)
    return BCSR.from_bcoo(layout.bcoo_update_layout(found, n_batch=found.ndim - 2 - found.n_dense, on_inefficient=None))

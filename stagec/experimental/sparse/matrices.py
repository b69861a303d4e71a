"""`COO`, `CSR` and `CSC`: sparse matrices without batch and dense axes, whose operations are those of `BCOO`."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import stagec.numpy as snp
from stagec.core import errors, location
from stagec.core.containers import register_pytree_node
from stagec.experimental.sparse.bcoo import BCOO, JAXSparse, bcoo_fromdense
from stagec.experimental.sparse.bcsr import BCSR
from stagec.experimental.sparse.common import inside
from stagec.primitives.axes import as_shape

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "COO", "CSC", "CSR", "coo_fromdense", "coo_matmat", "coo_matvec", "coo_todense", "csr_fromdense", "csr_matmat",
    "csr_matvec", "csr_todense",
]  # fmt: skip


class _Matrix(JAXSparse):
    """A matrix of three arrays with one axis, which are attributes of the names `_names`."""

    n_batch, n_sparse, n_dense = 0, 2, 0
    _names: tuple[str, str, str]

    def __init__(self, args: Sequence[Any], *, shape: Sequence[int]) -> None:
        name, parts = type(self).__name__, tuple(map(snp.asarray, args))
        self.shape = as_shape(shape, name)
        if {x.ndim for x in parts} != {1} or len(self.shape) != 2 or not self._fits(*[x.size for x in parts]):
            described = ", ".join(f"{part} {x.aval.long()}" for part, x in zip(self._names, parts))
            raise location.error(
                errors.ShapeError,
                f"{name}: {described} do not fit the shape {tuple(shape)}",
                fix="give (rows, columns) as the shape, an array with a row and one with a column for each value; "
                "in CSR, indptr has rows + 1 elements in place of the rows, in CSC columns + 1 in place of the columns",
            )
        self._set(parts)

    @abc.abstractmethod
    def _fits(self, values: int, one: int, other: int) -> bool:
        """Whether the sizes of the parts belong to one matrix."""

    @classmethod
    @abc.abstractmethod
    def _from_bcoo(cls, mat: BCOO) -> Self:
        """A matrix in this format."""

    @property
    def _parts(self) -> tuple[Any, ...]:
        return tuple([getattr(self, name) for name in self._names])

    def _set(self, parts: Sequence[Any]) -> None:
        self.__dict__.update(zip(self._names, parts))

    def _with(self, data: Any) -> Any:
        return _unflatten(type(self))(_flatten(self)[1], (data, *self._parts[1:]))

    def _like(self, found: Any) -> Any:
        is_matrix = isinstance(found, BCOO) and (found.n_batch, found.n_sparse, found.n_dense) == (0, 2, 0)
        return self._from_bcoo(found) if is_matrix else found

    @property
    def nse(self) -> int:  # type: ignore[override]
        """The number of entries."""
        return self.data.size  # type: ignore[no-any-return]

    def todense(self) -> Any:
        return self._of_bcoo().todense()

    @abc.abstractmethod
    def _transposed(self) -> Any:
        """The transpose, which is made of the same arrays."""

    def transpose(self, axes: Sequence[int] | None = None) -> Any:
        return self._transposed() if axes is None else super().transpose(axes)


class COO(_Matrix):
    """A sparse matrix: values, and the row and the column of each.

    Args:
      args: `data`, `row` and `col`, of the same size. Values at the same place are added.
      shape: of the matrix.
      rows_sorted, cols_sorted: what is known of the order.

    Raises:
      ShapeError: the arrays do not fit.

    >>> import stagec.numpy as snp
    >>> from stagec.experimental import sparse
    >>> m = sparse.COO.fromdense(snp.array([[0.0, 2.0], [3.0, 0.0]]))
    >>> m.row, m @ snp.array([1.0, 10.0])
    (Array([0, 1], dtype=int32), Array([20.,  3.], dtype=float32))
    """

    row: Any
    col: Any
    _names = ("data", "row", "col")

    def __init__(
        self, args: Sequence[Any], *, shape: Sequence[int], rows_sorted: bool = False, cols_sorted: bool = False
    ) -> None:
        super().__init__(args, shape=shape)
        self._rows_sorted, self._cols_sorted = rows_sorted, cols_sorted

    def _fits(self, values: int, one: int, other: int) -> bool:
        return values == one == other

    def _of_bcoo(self) -> BCOO:
        return BCOO((self.data, snp.stack([self.row, self.col], -1)), shape=self.shape)

    @classmethod
    def _from_bcoo(cls, mat: BCOO) -> Self:
        return cls((mat.data, *snp.moveaxis(mat.indices, 1, 0)), shape=mat.shape, rows_sorted=mat.indices_sorted)

    @classmethod
    def fromdense(cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> COO:
        """A matrix of the elements that are not zero; see `bcoo_fromdense`."""
        return coo_fromdense(mat, nse=nse, index_dtype=index_dtype)

    def _transposed(self) -> Any:
        order = dict(rows_sorted=self._cols_sorted, cols_sorted=self._rows_sorted)
        return COO((self.data, self.col, self.row), shape=self.shape[::-1], **order)


class _Compressed(_Matrix):
    indices: Any
    indptr: Any
    _names = ("data", "indices", "indptr")
    # The axis whose indices `indptr` has.
    _axis: int

    def _fits(self, values: int, one: int, other: int) -> bool:
        return values == one and other == self.shape[self._axis] + 1


class CSR(_Compressed):
    """A sparse matrix by rows: values, their columns, and where each row begins.

    Args:
      args: `data` and `indices`, the columns, of the same size, and `indptr`: row i has the entries from `indptr[i]` to
        `indptr[i + 1]`.
      shape: of the matrix.

    Raises:
      ShapeError: the arrays do not fit.

    >>> import stagec.numpy as snp
    >>> from stagec.experimental import sparse
    >>> m = sparse.CSR.fromdense(snp.array([[0.0, 2.0], [3.0, 4.0]]))
    >>> m.indptr, m @ snp.array([1.0, 10.0])
    (Array([0, 1, 3], dtype=int32), Array([20., 43.], dtype=float32))
    """

    _axis = 0

    def _of_bcoo(self) -> BCOO:
        return BCSR(self._parts, shape=self.shape).to_bcoo()

    @classmethod
    def _from_bcoo(cls, mat: BCOO) -> Self:
        found = BCSR.from_bcoo(mat)
        return cls((found.data, found.indices, found.indptr), shape=mat.shape)

    @classmethod
    def fromdense(cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> CSR:
        """A matrix of the elements that are not zero; see `bcoo_fromdense`."""
        return csr_fromdense(mat, nse=nse, index_dtype=index_dtype)

    def _transposed(self) -> Any:
        return CSC(self._parts, shape=self.shape[::-1])


class CSC(_Compressed):
    """A sparse matrix by columns: values, their rows, and where each column begins; the transpose of a `CSR`.

    Args:
      args: `data` and `indices`, the rows, of the same size, and `indptr`: column i has the entries from `indptr[i]` to
        `indptr[i + 1]`.
      shape: of the matrix.

    Raises:
      ShapeError: the arrays do not fit.

    >>> import stagec.numpy as snp
    >>> from stagec.experimental import sparse
    >>> m = sparse.CSC.fromdense(snp.array([[0.0, 2.0], [3.0, 4.0]]))
    >>> m.indptr, m.T
    (Array([0, 1, 3], dtype=int32), CSR(float32[2, 2], nse=3))
    """

    _axis = 1

    def _of_bcoo(self) -> BCOO:
        found: BCOO = self.T._of_bcoo().T
        return found

    @classmethod
    def _from_bcoo(cls, mat: BCOO) -> Self:
        return cls(CSR._from_bcoo(mat.T)._parts, shape=mat.shape)

    @classmethod
    def fromdense(cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> CSC:
        """A matrix of the elements that are not zero; see `bcoo_fromdense`."""
        found: CSC = csr_fromdense(snp.asarray(mat).T, nse=nse, index_dtype=index_dtype).T
        return found

    def _transposed(self) -> Any:
        return CSR(self._parts, shape=self.shape[::-1])


def _flatten(mat: _Matrix) -> tuple[tuple[Any, ...], Any]:
    return mat._parts, tuple([(name, value) for name, value in vars(mat).items() if name not in mat._names])


def _unflatten(kind: type[_Matrix]) -> Any:
    def unflatten(fixed: Any, parts: Any) -> _Matrix:
        found = object.__new__(kind)
        found.__dict__.update(fixed)
        found._set(parts)
        return found

    return unflatten


for _kind in (COO, CSR, CSC):
    register_pytree_node(_kind, _flatten, _unflatten(_kind))


def coo_fromdense(mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> COO:
    """A `COO` of the elements that are not zero; where `nse` is larger than their number, zeros at (0, 0) follow."""
    found = bcoo_fromdense(mat, nse=nse, index_dtype=index_dtype)
    indices = snp.where(inside(found)[:, None], found.indices, 0)
    return COO._from_bcoo(BCOO((found.data, indices), shape=found.shape, indices_sorted=True))


def coo_todense(mat: COO) -> Any:
    """The matrix with all of its elements."""
    return mat.todense()


def coo_matvec(mat: Any, v: Any, transpose: bool = False) -> Any:
    """The product of a matrix, or of its transpose, and a dense vector."""
    return (mat.T if transpose else mat) @ v


def coo_matmat(mat: Any, B: Any, *, transpose: bool = False) -> Any:
    """The product of a matrix, or of its transpose, and a dense matrix."""
    return (mat.T if transpose else mat) @ B


def csr_fromdense(mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> CSR:
    """A `CSR` of the elements that are not zero; where `nse` is larger than their number, entries of no row follow."""
    found = CSR._from_bcoo(bcoo_fromdense(mat, nse=nse, index_dtype=index_dtype))
    found.indices = snp.where(snp.arange(found.nse) < found.indptr[-1], found.indices, 0)
    return found


csr_todense, csr_matvec, csr_matmat = coo_todense, coo_matvec, coo_matmat

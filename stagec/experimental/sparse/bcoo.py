"""`BCOO`: sparse arrays as values and coordinates, with batch axes before and dense axes after the sparse ones."""

from __future__ import annotations

import abc
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import stagec.numpy as snp
from stagec.core import dtypes, errors, location
from stagec.core.containers import register_pytree_node
from stagec.experimental.sparse import arithmetic, arrangement, coordinates, layout
from stagec.experimental.sparse.common import unsupported
from stagec.experimental.sparse.coordinates import for_each
from stagec.primitives.axes import as_shape, canonical_axes

__all__ = ["BCOO", "JAXSparse", "bcoo_fromdense"]


class JAXSparse(abc.ABC):
    """The base of sparse arrays."""

    # NumPy's arrays leave operators to the methods here.
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]
    data: Any
    shape: tuple[int, ...]
    n_batch: int
    n_sparse: int
    n_dense: int
    nse: int

    @abc.abstractmethod
    def todense(self) -> Any:
        """The array with all of its elements."""

    @abc.abstractmethod
    def _of_bcoo(self) -> BCOO:
        """The same array as a `BCOO`."""

    def _like(self, found: Any) -> Any:
        """A result in this array's format."""
        return found

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.data.dtype  # type: ignore[no-any-return]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def T(self) -> Any:
        return self.transpose()

    def transpose(self, axes: Sequence[int] | None = None) -> Any:
        """The array with its axes permuted; batch, sparse and dense axes stay what they are."""
        chosen = tuple(range(self.ndim))[::-1] if axes is None else tuple(axes)
        return self._like(arrangement.bcoo_transpose(self._of_bcoo(), permutation=chosen))

    def sum(self, axis: Any = None) -> Any:
        """A sum over axes: sparse where axes remain, else dense."""
        axes = canonical_axes(axis, self.ndim, "sum")
        found = arithmetic.bcoo_reduce_sum(self._of_bcoo(), axes=axes)
        return self._like(found) if found.ndim else found.todense()

    def block_until_ready(self) -> Any:
        """Wait until the array is computed."""
        self.data.block_until_ready()
        return self

    @abc.abstractmethod
    def _with(self, data: Any) -> Any:
        """An array with other values at the same places."""

    def __neg__(self) -> Any:
        return self._with(-self.data)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return self._with(abs(self.data))

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, JAXSparse):
            return self._like(arithmetic.bcoo_multiply_sparse(self._of_bcoo(), other._of_bcoo()))
        if snp.ndim(other) == 0:
            return self._with(self.data * other)
        one = self._of_bcoo()
        return self._like(one._with(arithmetic.bcoo_multiply_dense(one, other)))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, JAXSparse):
            raise unsupported("a quotient of two sparse arrays would be dense", "divide by other.todense()")
        return self * (1 / snp.asarray(other))

    def __matmul__(self, other: Any) -> Any:
        return self._like(arithmetic.matmul(self._of_bcoo(), _operand(other)))

    def __rmatmul__(self, other: Any) -> Any:
        return self._like(arithmetic.matmul(_operand(other), self._of_bcoo()))

    def __add__(self, other: Any) -> Any:
        """A sum: dense if the other array is."""
        if not isinstance(other, JAXSparse):
            return self.todense() + other
        return self._like(arithmetic.add(self._of_bcoo(), other._of_bcoo()))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self + -other

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a sparse array without axes")
        return self.shape[0]

    def __iter__(self) -> Any:
        return iter([self[i] for i in range(len(self))])

    def __getitem__(self, index: Any) -> Any:
        """Elements at integers, slices, `None` and `...`; a sparse array."""
        return self._like(arrangement.getitem(self._of_bcoo(), index))

    def __repr__(self) -> str:
        if not hasattr(self.data, "ndim"):  # what a function of leaves has made of it
            return f"{type(self).__name__}(<invalid>)"
        parts = "".join(f", {name}={n}" for name in ("n_batch", "n_dense") if (n := getattr(self, name)))
        return f"{type(self).__name__}({self.dtype.name}{list(self.shape)}, nse={self.nse}{parts})"


def _operand(x: Any) -> Any:
    """An operand of a product: a `BCOO`, or a dense array."""
    return x._of_bcoo() if isinstance(x, JAXSparse) else snp.asarray(x)


class BCOO(JAXSparse):
    """A sparse array: values, and the indices where they are.

    Args:
      args: `data`, of shape `(*batch, nse, *dense)`, and `indices`, of shape `(*batch, nse, n_sparse)`. Values with the
        same indices are added; an index beyond its axis stands for no element.
      shape: of the array: batch axes, sparse axes, and dense axes.
      indices_sorted, unique_indices: what is known of the indices.

    >>> import stagec.numpy as snp
    >>> from stagec.experimental import sparse
    >>> m = sparse.BCOO.fromdense(snp.array([[0.0, 2.0], [3.0, 0.0]]))
    >>> m
    BCOO(float32[2, 2], nse=2)
    >>> m @ snp.array([1.0, 10.0])
    Array([20.,  3.], dtype=float32)
    """

    def __init__(
        self, args: Sequence[Any], *, shape: Sequence[int], indices_sorted: bool = False, unique_indices: bool = False
    ) -> None:
        data, indices = map(snp.asarray, args)
        self.indices_sorted, self.unique_indices = indices_sorted, unique_indices
        n_batch = indices.ndim - 2
        # A batch may share what is the same for all of its elements.
        batch = tuple(shape)[:n_batch]
        self.data = snp.broadcast_to(data, (*batch, *data.shape[n_batch:])) if data.shape[:n_batch] != batch else data
        same = indices.shape[:n_batch] == batch
        self.indices = indices if same else snp.broadcast_to(indices, (*batch, *indices.shape[n_batch:]))
        self.sparse_shape = as_shape(tuple(shape)[n_batch : n_batch + indices.shape[-1]], "BCOO")
        if self.shape != tuple(shape) or self.data.shape[: n_batch + 1] != self.indices.shape[:-1]:
            raise location.error(
                errors.ShapeError,
                f"BCOO: data {data.aval.long()} and indices {indices.aval.long()} do not fit the shape {tuple(shape)}",
                fix="data is (*batch, nse, *dense), indices (*batch, nse, n_sparse), shape (*batch, *sparse, *dense)",
            )

    # Of the arrays' shapes, so that a mapped array is one without its first batch axis.

    @property
    def n_batch(self) -> int:  # type: ignore[override]
        return self.indices.ndim - 2

    @property
    def n_sparse(self) -> int:  # type: ignore[override]
        return len(self.sparse_shape)

    @property
    def n_dense(self) -> int:  # type: ignore[override]
        return self.data.ndim - 1 - self.n_batch  # type: ignore[no-any-return]

    @property
    def nse(self) -> int:  # type: ignore[override]
        """The number of entries."""
        return self.indices.shape[-2]

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        n_batch = self.n_batch
        return (*self.data.shape[:n_batch], *self.sparse_shape, *self.data.shape[n_batch + 1 :])

    def _of_bcoo(self) -> BCOO:
        return self

    def _made(
        self, data: Any, indices: Any, shape: Sequence[int], is_sorted: bool = False, unique: bool = False
    ) -> BCOO:
        """Another array of its parts."""
        return BCOO((data, indices), shape=shape, indices_sorted=is_sorted, unique_indices=unique)

    def _with(self, data: Any) -> BCOO:
        return self._made(data, self.indices, self.shape, self.indices_sorted, self.unique_indices)

    @classmethod
    def fromdense(
        cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32, n_dense: int = 0, n_batch: int = 0
    ) -> BCOO:
        """A sparse array of the elements that are not zero; see `bcoo_fromdense`."""
        return bcoo_fromdense(mat, nse=nse, n_batch=n_batch, n_dense=n_dense, index_dtype=index_dtype)

    @classmethod
    def from_scipy_sparse(cls, mat: Any, *, index_dtype: Any = None, n_dense: int = 0, n_batch: int = 0) -> BCOO:
        """A matrix of SciPy's."""
        if n_dense or n_batch:
            raise unsupported("from_scipy_sparse: a matrix has no batch and no dense axes", "use update_layout")
        found = mat.tocoo()
        indices = np.stack([found.row, found.col], -1).astype(index_dtype or np.int32)
        return cls((found.data, indices), shape=found.shape)

    def todense(self) -> Any:
        return layout.bcoo_todense(self)

    def astype(self, dtype: Any) -> BCOO:
        """The array with another dtype."""
        return self._with(self.data.astype(dtype))

    def reshape(self, *shape: Any) -> Any:
        """The array in another shape."""
        wanted = shape[0] if len(shape) == 1 else shape
        sizes = np.empty(self.shape, dtypes.bool_).reshape(wanted).shape if -1 in np.ravel(wanted) else wanted
        return arrangement.bcoo_reshape(self, new_sizes=as_shape(sizes, "reshape"))

    def sort_indices(self) -> Any:
        """The array with its entries in order."""
        return layout.bcoo_sort_indices(self)

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> Any:
        """The array with one entry for each element; see `bcoo_sum_duplicates`."""
        if not remove_zeros:
            return layout.bcoo_sum_duplicates(self, nse)
        zero = (self.data == 0).all(tuple(range(self.n_batch + 1, self.data.ndim)))
        none = snp.asarray(self.sparse_shape, self.indices.dtype)
        indices = snp.where(zero[..., None], none, self.indices)
        return layout.bcoo_sum_duplicates(self._made(self.data, indices, self.shape), nse)

    def update_layout(
        self, *, n_batch: int | None = None, n_dense: int | None = None, on_inefficient: str | None = "error"
    ) -> Any:
        """The array with other batch and dense axes; see `bcoo_update_layout`."""
        return layout.bcoo_update_layout(self, n_batch=n_batch, n_dense=n_dense, on_inefficient=on_inefficient)


def _unflatten(fixed: Any, parts: Any) -> BCOO:
    found = object.__new__(BCOO)
    found.data, found.indices = parts
    found.sparse_shape, found.indices_sorted, found.unique_indices = fixed
    return found


register_pytree_node(
    BCOO, lambda m: ((m.data, m.indices), (m.sparse_shape, m.indices_sorted, m.unique_indices)), _unflatten
)


def bcoo_fromdense(
    mat: Any, *, nse: int | None = None, n_batch: int = 0, n_dense: int = 0, index_dtype: Any = np.int32
) -> BCOO:
    """A sparse array of the elements that are not zero.

    Args:
      nse: how many entries there are for each element of the batch; by default as many as the largest has, which is
        known outside of traced functions only. Beyond that number, elements are dropped.
    """
    dense = snp.asarray(mat)
    if nse is None:
        mask = for_each(n_batch, lambda x: coordinates.nonzero_mask(x, n_dense).sum())(dense)
        nse = int(mask.max()) if mask.size else 0
    number = nse
    data, indices = for_each(n_batch, lambda x: coordinates.fromdense(x, number, n_dense, index_dtype))(dense)
    return BCOO((data, indices), shape=dense.shape, indices_sorted=True, unique_indices=True)

"""NumPy's sorting and searching."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stagec.control.loops import fori_loop
from stagec.core import dtypes, errors, location
from stagec.core.array import Array
from stagec.core.dims import LARGEST, bounds
from stagec.numpy.arguments import array_argument, requested_dtype_of
from stagec.numpy.promotion import promote_dtypes
from stagec.numpy.reductions import strong
from stagec.primitives import arithmetic as ar, sort as so
from stagec.primitives.axes import as_int, canonical_axis, shape_error
from stagec.primitives.checks import check_dtype
from stagec.primitives.complex_order import sorts_before
from stagec.primitives.cumulative import cumsum
from stagec.primitives.gather import gather
from stagec.primitives.gather_parts import GatherDimensionNumbers
from stagec.primitives.iota import broadcasted_iota, full
from stagec.primitives.joining import concatenate
from stagec.primitives.logic import (
    ORDERED,
    bitwise_and,
    bitwise_not,
    bitwise_or,
    eq,
    ne,
    select,
    shift_right_logical,
)
from stagec.primitives.operand import aval_of, literal
from stagec.primitives.reduce import reduce_sum
from stagec.primitives.shape import broadcast_in_dim, reshape, rev
from stagec.primitives.slicing import index_in_dim, slice_in_dim
from stagec.typing import ArrayLike, Arrays, DTypeLike

__all__ = [
    "argpartition", "argsort", "digitize", "lexsort", "partition", "searchsorted", "sort", "sort_complex", "top_k",
]  # fmt: skip


def _order_refused(name: str, kind: Any, order: Any) -> None:
    if kind is not None or order is not None:
        # A TypeError, after which NumPy's function of this name sorts with its own.
        raise location.error(
            errors.ArgumentTypeError,
            f"{name}: kind= and order= are not supported",
            fix="leave them out; every sort is stable",
        )


def _axis_or_flat(name: str, a: Any, axis: int | None) -> tuple[Any, int]:
    x = array_argument(a, name)
    if axis is None:
        return reshape(x, (aval_of(x).size,)), 0
    return x, canonical_axis(axis, aval_of(x).ndim, name)


def sort(
    a: ArrayLike,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
) -> Array:
    """Sort along `axis`, or the flat array with `axis=None`; NaN comes last.

    Args:
      a: an array; complex numbers are sorted by their real, then their imaginary part.
      axis: the axis to sort along.
      stable: accepted; every sort is stable.
      descending: reverse the result.

    >>> import stagec.numpy as snp
    >>> snp.sort(snp.array([3, 1, 2]))
    Array([1, 2, 3], dtype=int32)
    """
    _order_refused("sort", kind, order)
    x, axis = _axis_or_flat("sort", a, axis)
    out = so.sort(x, axis)
    return rev(out, (axis,)) if descending else out


def argsort(
    a: ArrayLike,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
    dtype: DTypeLike = None,
) -> Array:
    """The indices that sort an array; equal elements keep their order.

    Args:
      a: an array.
      axis: the axis to sort along; `None` for the flat array.
      stable: accepted; every sort is stable.
      descending: largest first (NaN before all).
      dtype: dtype of the indices.

    >>> import stagec.numpy as snp
    >>> snp.argsort(snp.array([3, 1, 2]))
    Array([1, 2, 0], dtype=int32)
    """
    _order_refused("argsort", kind, order)
    x, axis = _axis_or_flat("argsort", a, axis)
    positions = _positions(aval_of(x).shape, axis)
    # With the positions as last key, no two keys are equal, so an unstable sort gives the stable order.
    # A descending sort reverses twice, so that equal elements keep their order.
    out = so.sort([rev(x, (axis,)) if descending else x, positions], axis, is_stable=False, num_keys=2)[1]
    if descending:
        out = rev(out, (axis,))
        last = literal(aval_of(x).shape[axis] - 1, aval_of(out).dtype)
        out = ar.sub(broadcast_in_dim(last, aval_of(out).shape, ()), out)
    return strong(out, dtypes.default_int() if dtype is None else requested_dtype_of("an integer", dtype, "argsort"))


def _positions(shape: Sequence[int], axis: int) -> Array:
    return broadcasted_iota(dtypes.int32, shape, axis)


def top_k(
    a: ArrayLike, k: int, /, *, axis: int = -1, mode: str = "largest", sorted: bool = True
) -> tuple[Array, Array]:
    """The `k` largest or smallest elements along an axis, in this order, and their indices.

    Args:
      a: a real array; NaN counts as larger than all numbers, and of equal elements the first come first.
      k: how many, at most the size of the axis.
      axis: which.
      mode: `"largest"` or `"smallest"`.
      sorted: accepted; the elements are always in order.

    Raises:
      DtypeError: `a` is complex.
      ShapeError: `k` is negative, or larger than the axis.
      ValueError: `mode` is neither of the two.

    >>> import stagec.numpy as snp
    >>> snp.top_k(snp.array([3, 1, 4, 1]), 2, mode="smallest")
    (Array([1, 1], dtype=int32), Array([1, 3], dtype=int32))
    """
    if mode not in ("largest", "smallest"):
        raise location.error(ValueError, f"top_k: mode={mode!r}", fix="use 'largest' or 'smallest'")
    x = array_argument(a, "top_k")
    if mode == "largest":
        values, positions = so.top_k(x, k, axis=axis)
        return values, positions
    check_dtype("top_k", aval_of(x).dtype, ORDERED)
    axis, count = canonical_axis(axis, aval_of(x).ndim, "top_k"), as_int(k, "top_k", "k")
    if not 0 <= count <= aval_of(x).shape[axis]:
        raise shape_error("top_k", f"k={count} of {aval_of(x).long()}", "give k from 0 to the size of the axis")
    parts = so.sort([x, _positions(aval_of(x).shape, axis)], axis, is_stable=False, num_keys=2)
    values, positions = (slice_in_dim(strong(part), 0, count, axis=axis) for part in parts)
    return values, positions


def lexsort(keys: Arrays, axis: int = -1, *, batch_size: int = 16) -> Array:
    """The indices that sort by several keys, the last one most significant.

    Args:
      keys: a sequence of arrays of one shape, or an array whose rows are the keys.
      axis: the axis to sort along.
      batch_size: accepted; all keys are compared in one sort.

    Raises:
      ShapeError: there are no keys.

    >>> import stagec.numpy as snp
    >>> snp.lexsort((snp.array([3, 1, 2]), snp.array([1, 1, 0])))
    Array([2, 1, 0], dtype=int32)
    """
    parts = [array_argument(k, f"lexsort's key {i}") for i, k in enumerate(keys)]
    if not parts:
        raise location.error(errors.ShapeError, "lexsort: there are no keys", fix="pass at least one key")
    shape = aval_of(parts[0]).shape
    if shape == ():
        return _only_position()
    axis = canonical_axis(axis, len(shape), "lexsort")
    out = so.sort([*parts[::-1], _positions(shape, axis)], axis, is_stable=False, num_keys=len(parts) + 1)
    return strong(out[-1], dtypes.default_int())


def _only_position() -> Array:
    """Return the index of the only element, 0."""
    return full((), 0, dtypes.default_int())


def _kth(name: str, a: Any, kth: Any, axis: int) -> tuple[Array, int]:
    x = array_argument(a, name)
    axis = canonical_axis(axis, aval_of(x).ndim, name)
    n = aval_of(x).shape[axis]
    for k in kth if isinstance(kth, (tuple, list)) else (kth,):
        if not -n <= as_int(k, name, "kth") < n:
            raise location.error(
                errors.AxisError,
                f"{name}: kth={k} is out of bounds for axis {axis} of {aval_of(x).long()}",
                fix=f"give kth from {-n} to {n - 1}",
            )
    return x, axis


def partition(a: ArrayLike, kth: int, axis: int = -1) -> Array:
    """An order in which element `kth` is at its sorted position; here, all elements are sorted.

    Raises:
      AxisError: there is no element `kth`.

    >>> import stagec.numpy as snp
    >>> int(snp.partition(snp.array([3, 1, 2]), 1)[1])
    2
    """
    x, axis = _kth("partition", a, kth, axis)
    return so.sort(x, axis)


def argpartition(a: ArrayLike, kth: int, axis: int = -1) -> Array:
    """The indices that `partition` an array.

    Raises:
      AxisError: there is no element `kth`.

    >>> import stagec.numpy as snp
    >>> int(snp.argpartition(snp.array([3, 1, 2]), 1)[1])
    2
    """
    x, axis = _kth("argpartition", a, kth, axis)
    return argsort(x, axis)


def sort_complex(a: ArrayLike) -> Array:
    """Sort by real part, then by imaginary part; the result is complex.

    >>> import stagec.numpy as snp
    >>> snp.sort_complex(snp.array([2, 1]))
    Array([1.+0.j, 2.+0.j], dtype=complex64)
    """
    out = sort(a)
    return strong(out, dtypes.complex_dtype(aval_of(out).dtype))


def take_flat(x: Any, index: Any) -> Array:
    """Return `x[index]` for `x` of rank 1; indices out of range are clamped."""
    shape = aval_of(index).shape
    numbers = GatherDimensionNumbers(offset_dims=(), collapsed_slice_dims=(0,), start_index_map=(0,))
    return gather(x, broadcast_in_dim(index, (*shape, 1), tuple(range(len(shape)))), numbers, (1,), mode="clip")


# Up to this many comparisons, comparing all pairs is faster than a binary search with gathers.
_ALL_AT_ONCE = 1 << 16


# The names of JAX's algorithms.
_METHODS = ("scan", "scan_unrolled", "sort", "compare_all")


def searchsorted(
    a: ArrayLike, v: ArrayLike, side: str = "left", sorter: ArrayLike | None = None, *, method: str = "scan"
) -> Array:
    """The indices at which to insert `v` into sorted `a`, so that it stays sorted.

    Args:
      a: a sorted array of rank 1.
      v: values to insert.
      side: `"left"` to insert before equal elements, `"right"` after them.
      sorter: indices that sort `a`.
      method: one of JAX's names; the algorithm is chosen by size.

    Raises:
      ShapeError: `a` does not have rank 1, or `side` is neither of the two.
      ValueError: `method` is not one of JAX's.

    >>> import stagec.numpy as snp
    >>> snp.searchsorted(snp.array([1, 3, 5]), snp.array([3, 4]))
    Array([1, 2], dtype=int32)
    """
    table, values = promote_dtypes(array_argument(a, "searchsorted"), array_argument(v, "searchsorted's v"))
    if aval_of(table).ndim != 1 or side not in ("left", "right"):
        raise location.error(
            errors.ShapeError,
            f"searchsorted: a is {aval_of(table).long()}, side is {side!r}",
            fix="pass a sorted vector, and side='left' or 'right'",
        )
    if method not in _METHODS:
        fix = f"use one of {', '.join(map(repr, _METHODS))}, or leave method out"
        raise location.error(ValueError, f"searchsorted: method={method!r}", fix=fix)
    if sorter is not None:
        table = take_flat(table, array_argument(sorter, "searchsorted's sorter"))
    n, shape = aval_of(table).size, aval_of(values).shape
    out = dtypes.default_int()
    if n == 0 or 0 in shape:
        return full(shape, 0, out)

    def goes_after(element: Array, value: Any) -> Array:
        return sorts_before([element], [value]) if side == "left" else bitwise_not(sorts_before([value], [element]))

    rank = len(shape)
    most = int(min(bounds(n)[1], LARGEST))
    if most <= 32 or bounds(n * aval_of(values).size)[1] <= _ALL_AT_ONCE:
        grid = (*shape, n)
        spread = broadcast_in_dim(values, grid, tuple(range(rank)))
        below = goes_after(broadcast_in_dim(table, grid, (rank,)), spread)
        return strong(reduce_sum(strong(below, dtypes.int32), (rank,)), out)
    # The result is among the `size` positions from `low` on, or after them; each round halves these.

    def halve(_: Any, state: tuple[Array, Array]) -> tuple[Array, Array]:
        low, size = state
        half = shift_right_logical(size, literal(1, dtypes.int32))
        middle = ar.add(low, half)
        return select(goes_after(take_flat(table, ar.sub(middle, 1)), values), middle, low), ar.sub(size, half)

    start = full(shape, 0, dtypes.int32), full((), n, dtypes.int32)
    low, _ = fori_loop(0, (most - 1).bit_length(), halve, start)
    return strong(ar.add(low, strong(goes_after(take_flat(table, low), values), dtypes.int32)), out)


def digitize(x: ArrayLike, bins: ArrayLike, right: bool = False, *, method: str | None = None) -> Array:
    """The index i of the bin of each element of `x`: `bins[i - 1] <= x < bins[i]`.

    Args:
      x: an array.
      bins: monotonic edges, of rank 1; increasing or decreasing.
      right: close the bins on the right instead.
      method: accepted; see `searchsorted`.

    >>> import stagec.numpy as snp
    >>> snp.digitize(snp.array([0.5, 2.5]), snp.array([0.0, 1.0, 2.0]))
    Array([1, 3], dtype=int32)
    """
    edges = array_argument(bins, "digitize's bins")
    side = "left" if right else "right"
    n = aval_of(edges).size
    if aval_of(edges).ndim != 1:
        raise location.error(
            errors.ShapeError,
            f"digitize: bins is {aval_of(edges).long()}",
            fix="pass a vector of edges; stagec.vmap maps over several",
        )
    if n in (0, 1):
        return searchsorted(edges, x, side)
    first, last = slice_in_dim(edges, 0, 1), slice_in_dim(edges, n - 1, n)
    down = reshape(sorts_before([last], [first]), ())
    found = searchsorted(select(down, rev(edges, (0,)), edges), x, side)
    return select(down, ar.sub(literal(n, aval_of(found).dtype), found), found)


def unique_sorted(flat: Any, size: int, fill_value: Any, equal_nan: bool) -> tuple[Any, Any, Any, Any]:
    """Return the distinct elements of a rank-1 array, padded to `size`: values, first indices, inverse, counts."""
    n = aval_of(flat).size
    ordered, order = so.sort([flat, _positions((n,), 0)], 0, is_stable=False, num_keys=2)
    before, after = slice_in_dim(ordered, 0, n - 1), slice_in_dim(ordered, 1, n)
    differ = ne(before, after)
    if equal_nan and dtypes.is_inexact(aval_of(flat).dtype):
        differ = bitwise_and(differ, bitwise_or(eq(before, before), eq(after, after)))
    first_indices, inverse, counts = _runs(order, differ, size)
    values = take_flat(flat, first_indices)
    if fill_value is not None:
        fill = strong(array_argument(fill_value, "unique's fill_value"), aval_of(flat).dtype)
        present = ne(counts, literal(0, np.dtype(np.int32)))
        values = select(present, values, broadcast_in_dim(fill, (size,), ()))
    return values, first_indices, inverse, counts


def unique_rows(rows: Any, size: int) -> tuple[Any, Any, Any]:
    """Return first indices, inverse and counts of the distinct rows of a matrix, in lexicographic order.

    They are padded to `size`.
    """
    n, width = aval_of(rows).shape
    columns = [index_in_dim(rows, i, 1, False) for i in range(width)]
    *ordered, order = so.sort([*columns, _positions((n,), 0)], 0, is_stable=False, num_keys=width + 1)
    differ = full((n - 1,), False, dtypes.bool_)
    for column in ordered:
        differ = bitwise_or(differ, ne(slice_in_dim(column, 0, n - 1), slice_in_dim(column, 1, n)))
    return _runs(order, differ, size)


def _runs(order: Array, differ: Array, size: int) -> tuple[Any, Any, Any]:
    """Return first indices, inverse and counts of the runs of a sorted array.

    Args:
      order: the indices that sorted the array.
      differ: whether each sorted element, after the first, begins a run.
      size: the number of runs; missing ones have the first index of the first run, and a count of 0.
    """
    starts = concatenate([full((1,), 1, dtypes.int32), strong(differ, dtypes.int32)], 0)
    ranks = ar.sub(cumsum(starts), literal(1, np.dtype(np.int32)))
    wanted = broadcasted_iota(dtypes.int32, (size,), 0)
    firsts = strong(searchsorted(ranks, wanted), dtypes.int32)
    ends = strong(searchsorted(ranks, wanted, "right"), dtypes.int32)
    counts = ar.sub(ends, firsts)
    present = ne(counts, literal(0, np.dtype(np.int32)))
    first_indices = take_flat(order, firsts)
    first_indices = select(present, first_indices, broadcast_in_dim(slice_in_dim(order, 0, 1), (size,), (0,)))
    return first_indices, so.sort([order, ranks], 0, is_stable=False)[1], counts

"""Indices of elements: nonzero elements, diagonals, triangles; conversion between flat indices and indices by axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stagec.core import dtypes, errors, location
from stagec.core.array import Array, Shape
from stagec.core.trace import Tracer
from stagec.numpy.arguments import array_argument, concrete, from_numpy, requested_dtype_of
from stagec.numpy.index_syntax import wrap_negative
from stagec.numpy.joining import stack
from stagec.numpy.manipulation import ravel, reshape
from stagec.numpy.promotion import broadcast_shapes, broadcast_to_shape
from stagec.primitives import arithmetic, logic
from stagec.primitives.axes import as_int, as_shape, shape_error
from stagec.primitives.checks import check_dtype
from stagec.primitives.convert import convert_element_type
from stagec.primitives.iota import full, full_like, iota
from stagec.runtime.plans import planned
from stagec.typing import ArrayLike, DTypeLike

__all__ = [
    "argwhere", "diag_indices", "diag_indices_from", "flatnonzero", "ix_", "mask_indices", "nonzero",
    "ravel_multi_index", "tril_indices", "tril_indices_from", "triu_indices", "triu_indices_from", "unravel_index",
]  # fmt: skip


def check_mode(mode: str | None, name: str) -> str:
    """Return a mode for indices out of range, after checking it; `"fill"` for None."""
    if mode == "raise":
        raise location.error(
            errors.UnsupportedError,
            f"{name}: mode='raise' is not supported, compiled code cannot raise",
            fix="use mode='clip', 'wrap' or 'fill'",
        )
    if mode not in (None, "clip", "wrap", "fill", "drop", "promise_in_bounds"):
        raise location.error(ValueError, f"{name}: mode is {mode!r}", fix="use mode='clip', 'wrap' or 'fill'")
    return mode or "fill"


def integers(indices: Any, name: str, bools: bool = True) -> Array:
    """Convert indices to an array of integers; bools count as 0 and 1, or are refused."""
    found = array_argument(indices, "indices")
    if bools and dtypes.is_bool(found.dtype):
        found = convert_element_type(found, dtypes.int32)
    check_dtype(name, found.dtype, dtypes.INTEGER)
    return found


def wrapped(indices: Any, size: int) -> Array:
    """Return indices modulo the size of an axis, with the sign rule of Python's `%`."""
    if not dtypes.is_signed(indices.dtype):
        fits = size <= dtypes.integer_range(indices.dtype)[1]
        return arithmetic.rem(indices, np.asarray(size, indices.dtype)) if fits else indices
    indices = convert_element_type(indices, dtypes.int32) if indices.dtype.itemsize < 4 else indices
    remainder = arithmetic.rem(indices, size)
    return logic.select(logic.lt(remainder, 0), arithmetic.add(remainder, size), remainder)


def nonzero(a: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None) -> tuple[Array, ...]:
    """The positions of the elements that are not zero, an array for each axis.

    Args:
      a: an array.
      size: the number of results; required if `a` is traced. `fill_value` pads them.
      fill_value: a number, which may be traced, or one for each axis; 0 by default.

    Raises:
      ConcretizationError: `a` is traced and `size` is not given.

    >>> import stagec.numpy as snp
    >>> nonzero(snp.array([0, 3, 0, 4]))
    (Array([1, 3], dtype=int32),)
    """
    a = array_argument(a, "a")
    if not a.ndim:
        raise shape_error("nonzero", "an array of rank 0 has no positions", "use stagec.numpy.atleast_1d(x)")
    fill_value = 0 if fill_value is None else fill_value
    fills = fill_value if isinstance(fill_value, (tuple, list)) else [fill_value] * a.ndim
    kind = dtypes.default_int()
    if not isinstance(a, Tracer) and (size is None or not any(isinstance(f, Tracer) for f in fills)):
        found = np.nonzero(np.asarray(a))
        if size is not None:
            (count,) = as_shape((size,), "nonzero")
            found = tuple(
                np.concatenate([f[:count], np.full(max(count - len(f), 0), int(v))]) for f, v in zip(found, fills)
            )
        return tuple(from_numpy(f, kind) for f in found)
    if size is None:
        concrete(a, "nonzero", "the array", "give the size of the result, size=")
    (count,) = as_shape((size,), "nonzero")
    if not a.size or not count:
        return tuple(full_like(iota(kind, count), v) for v in fills)
    flat = convert_element_type(logic.ne(ravel(a), full_like(ravel(a), 0)), dtypes.int32)
    # Each nonzero element writes its flat index at its rank among them. For the others, the rank is out of range.
    rank = logic.select(logic.gt(flat, 0), arithmetic.sub(flat.cumsum(), 1), full_like(flat, count))
    flat_indices = full_like(iota(dtypes.int32, count), a.size).at[rank].set(iota(dtypes.int32, a.size), mode="drop")
    missing = logic.ge(flat_indices, a.size)
    out = []
    for coordinate, v in zip(unravel_index(arithmetic.min(flat_indices, a.size - 1), a.shape), fills):
        coordinate = convert_element_type(coordinate, kind)
        out.append(logic.select(missing, broadcast_to_shape(convert_element_type(v, kind), (count,)), coordinate))
    return tuple(out)


def flatnonzero(a: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None) -> Array:
    """The flat positions of the elements that are not zero.

    >>> import stagec.numpy as snp
    >>> flatnonzero(snp.array([[0, 3], [0, 4]]))
    Array([1, 3], dtype=int32)
    """
    return nonzero(ravel(a), size=size, fill_value=fill_value)[0]


def argwhere(a: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None) -> Array:
    """The positions of the elements that are not zero, a row for each.

    >>> import stagec.numpy as snp
    >>> argwhere(snp.array([[0, 3], [0, 4]]))
    Array([[0, 1],
           [1, 1]], dtype=int32)
    """
    a = array_argument(a, "a")
    if not a.ndim:
        return full_like(a, 0, dtypes.default_int(), (int(bool(concrete(a, "argwhere", "a"))), 0))
    found = nonzero(a, size=size, fill_value=fill_value)
    return stack(list(found), 1)


def unravel_index(indices: ArrayLike, shape: Shape) -> tuple[Array, ...]:
    """The position along each axis of elements given by their flat positions.

    >>> import stagec.numpy as snp
    >>> unravel_index(snp.array(5), (2, 3))
    (Array(1, dtype=int32), Array(2, dtype=int32))
    """
    sizes = as_shape(shape, "unravel_index")
    remaining = wrap_negative(integers(indices, "unravel_index"), math.prod(sizes))
    # Indices out of range are clamped to the nearest end.
    remaining = arithmetic.max(arithmetic.min(remaining, max(math.prod(sizes) - 1, 0)), 0)
    out: list[Any] = []
    for n in reversed(sizes):
        out.append(arithmetic.rem(remaining, max(n, 1)))
        remaining = arithmetic.div(remaining, max(n, 1))
    return tuple(out[::-1])


def ravel_multi_index(
    multi_index: Sequence[ArrayLike],
    dims: Sequence[int],
    mode: str = "raise",
    order: str = "C",
    *,
    dtype: DTypeLike = None,
) -> Array:
    """The flat positions of elements given by their position along each axis, of dtype int32 unless another is given.

    >>> import stagec.numpy as snp
    >>> ravel_multi_index((snp.array([1, 0]), snp.array([2, 1])), (2, 3), mode="clip")
    Array([5, 1], dtype=int32)
    """
    sizes = as_shape(dims, "ravel_multi_index")
    parts = [integers(m, "ravel_multi_index") for m in multi_index]
    if len(parts) != len(sizes):
        raise shape_error(
            "ravel_multi_index",
            f"{len(parts)} index arrays for {len(sizes)} axes",
            "give one array of indices for each size in dims",
        )
    if mode == "raise":
        for part, n in zip(parts, sizes):
            values = concrete(
                part, "ravel_multi_index", "multi_index (for mode='raise')", "use mode='clip' or mode='wrap'"
            )
            if values.size and (values.min() < 0 or values.max() >= n):
                raise location.error(
                    ValueError, "ravel_multi_index: an index is out of range", fix="use mode='clip' or mode='wrap'"
                )
    elif mode == "clip":
        parts = [arithmetic.max(arithmetic.min(p, n - 1), 0) for p, n in zip(parts, sizes)]
    elif mode == "wrap":
        parts = [wrapped(p, n) for p, n in zip(parts, sizes)]
    else:
        raise location.error(
            ValueError, f"ravel_multi_index: mode is {mode!r}", fix="use mode='raise', 'clip' or 'wrap'"
        )
    if order not in ("C", "F"):
        raise location.error(ValueError, f"ravel_multi_index: order is {order!r}", fix="use order='C' or order='F'")
    pairs = list(zip(parts, sizes))
    if order == "F":
        pairs = pairs[::-1]
    shape = broadcast_shapes(*[p.shape for p in parts])
    total = full_like(parts[0], 0, dtypes.default_int(), shape)
    for part, n in pairs:
        wide = broadcast_to_shape(convert_element_type(part, dtypes.default_int()), shape)
        total = arithmetic.add(arithmetic.mul(total, n), wide)
    if dtype is None:
        return total
    return convert_element_type(total, requested_dtype_of("an integer", dtype, "ravel_multi_index"))


def ix_(*args: ArrayLike | Sequence[Any]) -> tuple[Array, ...]:
    """Vectors as index arrays that span a grid; masks become positions.

    >>> import stagec.numpy as snp
    >>> [x.shape for x in ix_(snp.arange(2), snp.arange(3))]
    [(2, 1), (1, 3)]
    """
    out = []
    for i, arg in enumerate(args):
        x = array_argument(arg, "args")
        if x.ndim != 1:
            raise shape_error("ix_", f"vectors are needed, got {x.aval.long()}", "flatten it with x.ravel()")
        if dtypes.is_bool(x.dtype):
            x = nonzero(x)[0]
        out.append(
            reshape(
                x,
                [-1 if i == j else 1 for j in range(len(args))]
                if x.size
                else [x.size if i == j else 1 for j in range(len(args))],
            )
        )
    return tuple(out)


# Not `diag_indices` itself, whose program would write the same positions for each axis.
_iota = planned(iota)


def diag_indices(n: int, ndim: int = 2) -> tuple[Array, ...]:
    """The positions of the main diagonal of an array with `ndim` axes of size `n`.

    >>> diag_indices(2)
    (Array([0, 1], dtype=int32), Array([0, 1], dtype=int32))
    """
    flat_indices = _iota(dtypes.default_int(), as_int(n, "diag_indices", "n"))
    return (flat_indices,) * as_int(ndim, "diag_indices", "ndim")


def diag_indices_from(arr: ArrayLike) -> tuple[Array, ...]:
    """The positions of the main diagonal of an array whose axes have one size."""
    arr = array_argument(arr, "arr")
    if arr.ndim < 2 or len(set(arr.shape)) > 1:
        raise shape_error(
            "diag_indices_from",
            f"{arr.aval.long()} is not square",
            "use stagec.numpy.diag_indices(n), with the smallest size",
        )
    return diag_indices(arr.shape[0], arr.ndim)


def _triangle_indices(keep: np.ndarray[Any, Any]) -> tuple[Any, Any]:
    rows, columns = np.nonzero(keep)
    kind = dtypes.default_int()
    return from_numpy(rows, kind), from_numpy(columns, kind)


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, Array]:
    """The positions on and below a diagonal of an `n` by `m` matrix.

    >>> tril_indices(2)
    (Array([0, 1, 1], dtype=int32), Array([0, 0, 1], dtype=int32))
    """
    rows, columns = as_shape((n, n if m is None else m), "tril_indices")
    return _triangle_indices(np.tri(rows, columns, k, dtype=bool))


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, Array]:
    """The positions on and above a diagonal of an `n` by `m` matrix.

    >>> triu_indices(2)
    (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))
    """
    rows, columns = as_shape((n, n if m is None else m), "triu_indices")
    return _triangle_indices(~np.tri(rows, columns, k - 1, dtype=bool))


def tril_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Array, Array]:
    """`tril_indices` for the shape of a matrix."""
    rows, columns = _matrix_shape(arr, "tril_indices_from")
    return tril_indices(rows, k, columns)


def triu_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Array, Array]:
    """`triu_indices` for the shape of a matrix."""
    rows, columns = _matrix_shape(arr, "triu_indices_from")
    return triu_indices(rows, k, columns)


def _matrix_shape(arr: ArrayLike, name: str) -> tuple[int, ...]:
    x = array_argument(arr, "arr")
    if x.ndim != 2:
        fix = f"use stagec.numpy.{name.removesuffix('_from')}(n, k, m), with the sizes of two axes"
        raise shape_error(name, f"a matrix is needed, got {x.aval.long()}", fix)
    return x.shape


def mask_indices(
    n: int, mask_func: Callable[[Any, int], Any], k: int = 0, *, size: int | None = None
) -> tuple[Array, ...]:
    """The positions of an `n` by `n` matrix that a function such as `triu` keeps.

    Args:
      n: the size.
      mask_func: a function of a matrix and `k`, which sets the other elements to 0.
      k: the diagonal, passed to `mask_func`.
      size: how many positions; needed where the function's result is traced.

    >>> import stagec.numpy as snp
    >>> snp.mask_indices(2, snp.triu)
    (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))
    """
    count = as_int(n, "mask_indices", "n")
    return nonzero(mask_func(full((count, count), 1, dtypes.default_float()), k), size=size)

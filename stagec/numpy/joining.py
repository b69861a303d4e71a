"""Concatenating and splitting arrays."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stagec.core import location
from stagec.core.array import Array
from stagec.core.config import state
from stagec.core.operators import ArrayOperators
from stagec.numpy import promotion
from stagec.numpy.arguments import array_argument, concrete, refuse_out, requested_dtype, to_array
from stagec.numpy.manipulation import moveaxis, ravel
from stagec.primitives import joining as _joining, shape as _shape
from stagec.primitives.axes import as_int, canonical_axis, shape_error
from stagec.primitives.convert import convert_element_type
from stagec.primitives.operand import is_array_like
from stagec.primitives.slicing import slice_in_dim, split as _split_sizes
from stagec.typing import ArrayLike, Arrays, DTypeLike

__all__ = [
    "append", "array_split", "block", "column_stack", "concat", "concatenate", "dsplit", "dstack", "hsplit",
    "hstack", "split", "stack", "unstack", "vsplit", "vstack",
]  # fmt: skip


def _concatenated(
    arrays: Any, axis: Callable[[int], int], dtype: Any, name: str, new: Callable[[int], Sequence[int]] = lambda _: ()
) -> Array:
    """Join arrays, or the parts of one array, which is not taken apart for it.

    Args:
      axis: the axis to join along, by the rank of the first array with its new axes.
      new: the axes that an array of a rank gets first.
    """
    whole = is_array_like(arrays)
    parts = [array_argument(arrays, "arrays")] if whole else list(arrays)
    if whole and not parts[0].ndim:
        raise shape_error(name, "an array of rank 0 is not a sequence of arrays", "pass a list of arrays")
    if not parts or (whole and parts[0].shape[0] == 0):
        raise location.error(ValueError, f"{name}: need at least one array to join", fix="pass one or more arrays")
    # The axes of the parts of one array follow its first.
    parts = _joined(parts, dtype, name)
    added = [[i + whole for i in new(p.ndim - whole)] for p in parts]
    parts = [_shape.expand_dims(p, axes) if axes else p for p, axes in zip(parts, added)]
    rank = parts[0].ndim - whole
    if rank == 0 or any(not p.ndim for p in parts):
        fix = "use stagec.numpy.stack, or reshape them with x.reshape(1)"
        raise shape_error(name, "arrays of rank 0 cannot be joined", fix, parts)
    along = canonical_axis(axis(rank), rank, name)
    if not whole:
        return _joining.concatenate(parts, along)
    count, *sizes = parts[0].shape
    sizes[along] *= count
    return _shape.reshape(moveaxis(parts[0], 0, along), sizes)


def _joined(arrays: list[Any], dtype: Any, name: str) -> list[Any]:
    if dtype is None:
        return [to_array(a) for a in promotion.promote_dtypes(*arrays)]
    wanted = requested_dtype(dtype, name)
    return [convert_element_type(array_argument(a, "arrays"), wanted) for a in arrays]


def concatenate(arrays: Arrays, axis: int | None = 0, dtype: DTypeLike = None) -> Array:
    """Join arrays along an axis that they have.

    Args:
      arrays: a sequence of arrays whose other sizes agree.
      axis: which; `None` joins the elements of all as vectors.
      dtype: of the result; by default what the arrays promote to.

    Raises:
      ShapeError: other sizes differ.

    >>> import stagec.numpy as snp
    >>> concatenate([snp.arange(2), snp.ones(1)])
    Array([0., 1., 1.], dtype=float32)
    """
    _joining.refuse_arrays("concatenate", axis, dtype)
    if axis is None:
        axis, arrays = 0, [ravel(a) for a in ([arrays] if is_array_like(arrays) else arrays)]
    return _concatenated(arrays, lambda rank: axis, dtype, "concatenate")


concat = concatenate


def stack(arrays: Arrays, axis: int = 0, out: None = None, dtype: DTypeLike = None) -> Array:
    """Join arrays of one shape along a new axis.

    >>> import stagec.numpy as snp
    >>> stack([snp.arange(2), snp.arange(2)], axis=1)
    Array([[0, 0],
           [1, 1]], dtype=int32)
    """
    _joining.refuse_arrays("stack", axis, out, dtype)
    refuse_out(out, "stack")

    def at(rank: int) -> int:
        return canonical_axis(axis, rank, "stack")

    given: Any = arrays if is_array_like(arrays) else list(arrays)
    parts = [] if given is arrays or not given else _joined(given, dtype, "stack")
    shapes = {p.shape for p in parts}
    if len(shapes) > 1:
        raise shape_error(
            "stack",
            f"all input arrays must have the same shape, got {', '.join(p.aval.long() for p in parts)}",
            "use stagec.numpy.concatenate for arrays whose sizes differ along one axis",
            parts,
        )
    sizes = parts[0].shape if parts else ()
    is_explicit = state.mesh is not None and state.mesh.explicit_axes
    if not sizes or at(len(sizes) + 1) == len(sizes) or is_explicit:
        return _concatenated(parts or given, at, None if parts else dtype, "stack", lambda rank: [at(rank + 1)])
    # One operation adds the axis of all parts. How they are split, it would hide.
    position = at(len(sizes) + 1)
    joined = _joining.concatenate(parts, position)
    return _shape.reshape(joined, (*sizes[:position], len(parts), *sizes[position:]))


def unstack(x: ArrayLike, /, *, axis: int = 0) -> tuple[Array, ...]:
    """The parts of an array along an axis, which is removed.

    >>> import stagec.numpy as snp
    >>> unstack(snp.arange(2))
    (Array(0, dtype=int32), Array(1, dtype=int32))
    """
    x = array_argument(x, "x")
    axis = canonical_axis(axis, x.ndim, "unstack")
    parts = _split_sizes(x, [1] * x.shape[axis], axis)
    return tuple([_shape.squeeze(p, (axis,)) for p in parts])


def vstack(tup: Arrays, dtype: DTypeLike = None) -> Array:
    """Join along the first axis; vectors become rows.

    >>> import stagec.numpy as snp
    >>> vstack([snp.arange(2), snp.arange(2)]).shape
    (2, 2)
    """
    _joining.refuse_arrays("vstack", dtype)
    return _concatenated(tup, lambda rank: 0, dtype, "vstack", lambda rank: range(2 - rank))


def hstack(tup: Arrays, dtype: DTypeLike = None) -> Array:
    """Join along the second axis, vectors along the first.

    >>> import stagec.numpy as snp
    >>> hstack([snp.arange(2), snp.arange(2)]).shape
    (4,)
    """
    _joining.refuse_arrays("hstack", dtype)
    return _concatenated(tup, lambda rank: 0 if rank == 1 else 1, dtype, "hstack", lambda rank: range(1 - rank))


def dstack(tup: Arrays, dtype: DTypeLike = None) -> Array:
    """Join along the third axis.

    >>> import stagec.numpy as snp
    >>> dstack([snp.arange(2), snp.arange(2)]).shape
    (1, 2, 2)
    """
    _joining.refuse_arrays("dstack", dtype)
    return _concatenated(tup, lambda rank: 2, dtype, "dstack", lambda rank: ((0, 1, 2), (0, 2), (2,), ())[min(rank, 3)])


def column_stack(tup: Arrays) -> Array:
    """Join along the second axis; vectors become columns.

    >>> import stagec.numpy as snp
    >>> column_stack([snp.arange(2), snp.arange(2)]).shape
    (2, 2)
    """
    return _concatenated(tup, lambda rank: 1, None, "column_stack", lambda rank: ((0, 1), (1,), ())[min(rank, 2)])


def block(arrays: Any) -> Array:
    """Join nested lists of blocks: the innermost along the last axis, and so on outwards.

    >>> import stagec.numpy as snp
    >>> block([[snp.eye(2), snp.zeros((2, 1))]]).shape
    (2, 3)
    """
    levels = _depth(arrays)
    return _of_blocks(arrays, levels, max(levels, _rank(arrays)))


# Not functions in `block`: those that call themselves are cycles, which keep arrays until they are collected.


def _depth(nested: Any) -> int:
    if not isinstance(nested, list):
        return 0
    if not nested:
        raise shape_error("block", "a list of blocks is empty", "leave the empty list out")
    found = {_depth(n) for n in nested}
    if len(found) > 1:
        raise shape_error("block", "lists are nested to different depths", "nest all lists to one depth")
    return 1 + found.pop()


def _rank(nested: Any) -> int:
    return max(map(_rank, nested)) if isinstance(nested, list) else array_argument(nested, "arrays").ndim


def _of_blocks(nested: Any, level: int, rank: int) -> Array:
    if isinstance(nested, list):
        return concatenate([_of_blocks(n, level - 1, rank) for n in nested], rank - level)
    x = array_argument(nested, "arrays")
    return _shape.expand_dims(x, tuple(range(rank - x.ndim)))


def append(arr: ArrayLike, values: ArrayLike, axis: int | None = None) -> Array:
    """Join two arrays, as vectors where no axis is given.

    >>> import stagec.numpy as snp
    >>> append(snp.arange(2), snp.array([5]))
    Array([0, 1, 5], dtype=int32)
    """
    return concatenate([array_argument(arr, "arr"), array_argument(values, "values")], axis)


# Splitting


def _bounds(indices_or_sections: Any, size: int, name: str, even: bool) -> list[int]:
    """Return the start of each part of an axis, and the end of the last."""
    if not isinstance(indices_or_sections, (Sequence, np.ndarray)) and not (
        isinstance(indices_or_sections, ArrayOperators) and indices_or_sections.ndim
    ):
        count = as_int(indices_or_sections, name, "the number of parts")
        if count < 1 or (even and size % count):
            raise shape_error(
                name,
                f"an axis of size {size} is not divided into {count} equal parts",
                "use stagec.numpy.array_split, which allows a remainder",
            )
        base, extra = divmod(size, count)
        return [i * base + min(i, extra) for i in range(count + 1)]
    indices = [as_int(i, name, "an index") for i in concrete(indices_or_sections, name, "indices")]
    return [0, *[min(max(i + size if i < 0 else i, 0), size) for i in indices], size]


def _cut(ary: Any, indices_or_sections: Any, axis: int, name: str, even: bool) -> list[Any]:
    ary = array_argument(ary, "ary")
    axis = canonical_axis(axis, ary.ndim, name)
    bounds = _bounds(indices_or_sections, ary.shape[axis], name, even)
    sizes = [b - a for a, b in itertools.pairwise(bounds)]
    if min(sizes) < 0:
        return [slice_in_dim(ary, a, max(a, b), 1, axis) for a, b in itertools.pairwise(bounds)]
    return _split_sizes(ary, sizes, axis)


def split(ary: ArrayLike, indices_or_sections: int | Sequence[int] | ArrayLike, axis: int = 0) -> list[Array]:
    """Split an axis into equal parts, or at the given indices.

    Raises:
      ShapeError: the size is not a multiple of the number of parts.

    >>> import stagec.numpy as snp
    >>> [x.shape for x in split(snp.zeros(6), [1, 4])]
    [(1,), (3,), (2,)]
    """
    return _cut(ary, indices_or_sections, axis, "split", True)


def array_split(ary: ArrayLike, indices_or_sections: int | Sequence[int] | ArrayLike, axis: int = 0) -> list[Array]:
    """Like `split`; the first parts are longer by one if the size is not a multiple of their number.

    >>> import stagec.numpy as snp
    >>> [x.shape for x in array_split(snp.zeros(5), 2)]
    [(3,), (2,)]
    """
    return _cut(ary, indices_or_sections, axis, "array_split", False)


def hsplit(ary: ArrayLike, indices_or_sections: int | Sequence[int] | ArrayLike) -> list[Array]:
    """`split` along the second axis, or the only one."""
    ary = array_argument(ary, "ary")
    return split(ary, indices_or_sections, 1 if ary.ndim > 1 else 0)


def vsplit(ary: ArrayLike, indices_or_sections: int | Sequence[int] | ArrayLike) -> list[Array]:
    """`split` along the first axis."""
    return split(ary, indices_or_sections, 0)


def dsplit(ary: ArrayLike, indices_or_sections: int | Sequence[int] | ArrayLike) -> list[Array]:
    """`split` along the third axis."""
    return split(ary, indices_or_sections, 2)

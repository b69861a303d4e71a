"""Sorting, and the k largest elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from stagec.core import dtypes
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.primitive import NOT_LINEAR, MultiplePrimitive, Primitive
from stagec.core.zero import is_zero, zero_of
from stagec.primitives.axes import as_int, canonical_axis, shape_error
from stagec.primitives.broadcast import in_front, next_axis
from stagec.primitives.checks import HALF, check_dtype
from stagec.primitives.complex_order import sorts_before
from stagec.primitives.gather import along_axis
from stagec.primitives.iota import iota_p
from stagec.primitives.logic import ORDERED
from stagec.primitives.operand import as_operand, aval_of
from stagec.primitives.shape import transpose
from stagec.typing import ArrayLike

__all__ = ["sort", "sort_key_val", "sort_p", "top_k", "top_k_p"]

# A kernel has at most 64 arrays, of which each operand is two. Of more operands, so many keys are sorted by at a time.
_OPERANDS, _KEYS = 24, 16


def _sort_shape(*avals: ShapedArray, dimension: int, is_stable: bool, num_keys: int) -> list[ShapedArray]:
    for a in avals:
        check_dtype("sort", a.dtype, dtypes.ALL)
        if a.shape != avals[0].shape:
            raise shape_error(
                "sort",
                f"operands have different shapes: {', '.join(v.long() for v in avals)}",
                "broadcast them to one shape",
            )
    if not 1 <= num_keys <= len(avals):
        raise shape_error(
            "sort",
            f"num_keys={num_keys} with {len(avals)} operands",
            "give num_keys from 1 to the number of operands",
        )
    return list(avals)


def _eval_keys(x: Any) -> list[Any]:
    if dtypes.is_complex(x.dtype):
        return [x.real, x.imag]
    return [x.astype(np.float32) if x.dtype in HALF else x]


def _sort_eval(*arrays: Any, dimension: int, is_stable: bool, num_keys: int) -> list[Any]:
    if len(arrays) == 1 and not (dtypes.is_complex(arrays[0].dtype) or arrays[0].dtype in HALF):
        # NumPy's default is many times as fast as its stable sort, which differs in the order of -0.0 and 0.0. But that
        # counts digits of up to 16 bits, which takes a twentieth of the time.
        narrow = arrays[0].dtype.kind in "iub" and arrays[0].dtype.itemsize <= 2
        values = np.sort(arrays[0], dimension, kind="stable" if narrow else None)
        zeros = values == 0 if dtypes.is_float(values.dtype) else np.zeros(0, bool)
        if not np.count_nonzero(zeros) or not np.signbit(values[zeros]).any():
            return [values]
    second_is_index = num_keys == 2 and _is_index_along(arrays[1], dimension)
    keys = [k for x in arrays[: 1 if second_is_index else num_keys] for k in _eval_keys(x)]
    if len(keys) == 1:
        order = np.argsort(keys[0], dimension, kind="stable")
    else:
        order = np.lexsort(keys[::-1], dimension)
    take = _take_vector if order.ndim == 1 else np.take_along_axis
    moved = [None if second_is_index and i == 1 else take(x, order, dimension) for i, x in enumerate(arrays)]
    return [order.astype(x.dtype) if m is None else m for x, m in zip(arrays, moved)]


def _take_vector(x: Any, order: Any, dimension: int) -> Any:
    return x[order]  # in a fifth of the time that `take_along_axis` takes for few elements


def _is_index_along(x: Any, dimension: int) -> bool:
    """Whether each element is its own index along a dimension: as a second key, it only keeps a sort stable."""
    if not dtypes.is_integer(x.dtype):
        return False
    index = np.arange(x.shape[dimension])
    if x.ndim > 1:
        index = index.reshape([-1 if i == dimension else 1 for i in range(x.ndim)])
    return bool(np.count_nonzero(x == index) == x.size)


def _sort_lower(cx: Any, *operands: Any, dimension: int, is_stable: bool, num_keys: int) -> list[Any]:
    aval = cx.in_avals[0]
    if aval.size == 0 or aval.shape[dimension] == 1:
        return list(operands)
    if len(operands) > _OPERANDS:
        moved: list[Any] = cx.apply(lambda *x: _by_positions(x, dimension, num_keys), *operands)
        return moved
    scalars = [ShapedArray.of((), a.dtype) for a in cx.in_avals]

    def before(*elements: Any) -> list[Any]:
        keys = elements[: 2 * num_keys]
        return [sorts_before(keys[::2], keys[1::2])]

    region = cx.region([a for a in scalars for _ in (0, 1)], before)
    attributes = {"dimension": f"{dimension} : i64", "is_stable": "true" if is_stable else "false"}
    results: list[Any] = cx.emit_all("stablehlo.sort", operands, attributes, regions=[region])
    return results


def _by_positions(operands: Sequence[Any], dimension: int, num_keys: int) -> list[Any]:
    """The operands in the order of the keys, which some keys at a time find: the most significant ones last."""
    places = order = iota_p(dtype=dtypes.int32, shape=aval_of(operands[0]).shape, dimension=dimension)
    for start in range(0, num_keys, _KEYS)[::-1]:
        keys = operands[start : min(start + _KEYS, num_keys)]
        if order is not places:
            keys = [along_axis(key, order, dimension) for key in keys]
        *_, order = sort_p(*keys, places, order, dimension=dimension, is_stable=False, num_keys=len(keys) + 1)
    return [along_axis(x, order, dimension) for x in operands]


def _sort_jvp(primitive: Primitive, primals: Any, tangents: Any, params: dict[str, Any]) -> Any:
    """Tangents are permuted as their elements are: a counter is sorted along with them."""
    aval, axis = aval_of(primals[0]), params["dimension"]
    counter = iota_p(dtype=dtypes.int32, shape=aval.shape, dimension=axis)
    *outs, positions = primitive(*primals, counter, **params)
    return outs, [zero_of(aval_of(o)) if is_zero(t) else along_axis(t, positions, axis) for o, t in zip(outs, tangents)]


sort_p = MultiplePrimitive(
    "sort",
    shape=_sort_shape,
    eval=_sort_eval,
    lower=_sort_lower,
    jvp=_sort_jvp,
    transpose=NOT_LINEAR,
    batch=in_front(dimension=next_axis),
    numpy_ns=0.5,
)


@overload
def sort(operand: ArrayLike, dimension: int = -1, is_stable: bool = True, num_keys: int = 1) -> Array: ...
@overload
def sort(
    operand: Sequence[ArrayLike], dimension: int = -1, is_stable: bool = True, num_keys: int = 1
) -> tuple[Array, ...]: ...
def sort(operand: Any, dimension: int = -1, is_stable: bool = True, num_keys: int = 1) -> Array | tuple[Array, ...]:
    """Sort along a dimension, in ascending order, NaN last.

    Args:
      operand: an array, or a sequence of arrays of one shape that move together.
      dimension: the axis to sort along.
      is_stable: whether elements with equal keys keep their order.
      num_keys: how many of the leading operands decide the order, the first one most.

    Returns:
      An array, or a tuple of arrays.

    Raises:
      ShapeError: the operands' shapes differ, or `num_keys` is out of range.

    >>> import numpy as np
    >>> sort(np.array([3, 1, 2]))
    Array([1, 2, 3], dtype=int32)
    """
    single = not isinstance(operand, (list, tuple))
    operands = [as_operand(x, f"operand {i}") for i, x in enumerate([operand] if single else operand)]
    if not operands:
        raise shape_error("sort", "there is nothing to sort", "pass at least one array")
    axis = canonical_axis(dimension, aval_of(operands[0]).ndim, "sort")
    out = sort_p(*operands, dimension=axis, is_stable=bool(is_stable), num_keys=int(num_keys))
    return out[0] if single else tuple(out)


def sort_key_val(
    keys: ArrayLike, values: ArrayLike, dimension: int = -1, is_stable: bool = True
) -> tuple[Array, Array]:
    """Sort `keys` along a dimension, and move `values` in the same way.

    >>> import numpy as np
    >>> sort_key_val(np.array([3, 1, 2]), np.array([30, 10, 20]))[1]
    Array([10, 20, 30], dtype=int32)
    """
    first, second = sort((keys, values), dimension, is_stable, num_keys=1)
    return first, second


def _top_k_shape(x: ShapedArray, *, k: int) -> list[ShapedArray]:
    check_dtype("top_k", x.dtype, ORDERED)
    if x.ndim == 0 or not 0 <= k <= x.shape[-1]:
        raise shape_error("top_k", f"k={k} of {x.long()}", "give k from 0 to the size of the last axis")
    shape = (*x.shape[:-1], k)
    return [ShapedArray.of(shape, x.dtype), ShapedArray.of(shape, dtypes.int32)]


def _top_k_eval(x: Any, *, k: int) -> list[Any]:
    key = x.astype(np.float32) if x.dtype in HALF else x
    # A stable descending order: reversed twice, so that equal elements keep their order.
    order = np.argsort(key[..., ::-1], -1, kind="stable")[..., ::-1]
    order = (x.shape[-1] - 1 - order)[..., :k]
    # NumPy's function for any number of axes takes longer than sorting a thousand elements.
    return [x[order] if x.ndim == 1 else np.take_along_axis(x, order, -1), order.astype(np.int32)]


def _top_k_lower(cx: Any, x: Any, *, k: int) -> list[Any]:
    results: list[Any] = cx.emit_all("chlo.top_k", [x], {"k": f"{k} : i64"})
    return results


def _top_k_jvp(primitive: Primitive, primals: Any, tangents: Any, params: dict[str, Any]) -> Any:
    values, positions = primitive(*primals, **params)
    tangent = along_axis(tangents[0], positions, aval_of(values).ndim - 1)
    return [values, positions], [tangent, zero_of(aval_of(positions))]


top_k_p = MultiplePrimitive(
    "top_k",
    shape=_top_k_shape,
    eval=_top_k_eval,
    lower=_top_k_lower,
    jvp=_top_k_jvp,
    transpose=NOT_LINEAR,
    batch=in_front(),
    numpy_ns=1,
)


def top_k(operand: ArrayLike, k: int, *, axis: int = -1, is_stable: bool = True) -> list[Array]:
    """The `k` largest elements along an axis, in descending order, and where they are.

    NaN counts as larger than all numbers; of equal elements the first come first.

    Args:
      operand: a real array of rank 1 or more.
      k: how many, at most the size of the axis.
      axis: which; by default the last one.
      is_stable: accepted; equal elements always keep their order.

    Returns:
      Values and int32 positions, of size `k` along the axis.

    >>> import numpy as np
    >>> values, positions = top_k(np.array([3, 1, 4, 1]), 2)
    >>> positions
    Array([2, 0], dtype=int32)
    """
    x, count = as_operand(operand), as_int(k, "top_k", "k")
    rank = aval_of(x).ndim
    if not rank:
        return top_k_p(x, k=count)
    axis = canonical_axis(axis, rank, "top_k")
    # The axis is swapped with the last one, before and after.
    order = list(range(rank))
    order[axis], order[-1] = order[-1], order[axis]
    return [transpose(part, order) for part in top_k_p(transpose(x, order), k=count)]

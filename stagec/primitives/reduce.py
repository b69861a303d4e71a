"""Reductions: a row for each combining operation, and the positions of extremes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stagec.core import dtypes
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.primitive import NOT_DIFFERENTIABLE, NOT_LINEAR, Primitive, SinglePrimitive
from stagec.core.zero import zero_of
from stagec.primitives.arithmetic import add, div, mul
from stagec.primitives.axes import canonical_axes, shape_error
from stagec.primitives.broadcast import reduce_sum_p, repeat_along
from stagec.primitives.checks import HALF, check_dtype
from stagec.primitives.convert import as_array, convert_element_type
from stagec.primitives.iota import iota_p
from stagec.primitives.joining import concatenate
from stagec.primitives.logic import BITS, ORDERED, bitwise_or, eq, ne, select
from stagec.primitives.operand import as_operand, aval_of, literal
from stagec.primitives.reduction import reduction, reduction_batch, reduction_follows, remaining
from stagec.primitives.shape import reshape, transpose
from stagec.primitives.slicing import slice_in_dim
from stagec.typing import ArrayLike, DTypeLike

__all__ = [
    "argmax", "argmax_p", "argmin", "argmin_p", "reduce_and", "reduce_and_p", "reduce_max", "reduce_max_p",
    "reduce_min", "reduce_min_p", "reduce_or", "reduce_or_p", "reduce_prod", "reduce_prod_p", "reduce_sum",
    "reduce_xor", "reduce_xor_p",
]  # fmt: skip


def lowest(dtype: np.dtype[Any]) -> Any:
    """The initial value of `max`."""
    if dtypes.is_bool(dtype):
        return False
    return dtypes.integer_range(dtype)[0] if dtypes.is_integer(dtype) else -np.inf


def highest(dtype: np.dtype[Any]) -> Any:
    """The initial value of `min`."""
    if dtypes.is_bool(dtype):
        return True
    return dtypes.integer_range(dtype)[1] if dtypes.is_integer(dtype) else np.inf


def all_ones(dtype: np.dtype[Any]) -> Any:
    return True if dtypes.is_bool(dtype) else np.invert(np.zeros((), dtype))


def _extreme_jvp(primitive: Primitive, primals: Any, tangents: Any, params: dict[str, Any]) -> Any:
    """The mean of the tangents of the elements that have the extreme value."""
    (x,), (t,), axes = primals, tangents, params["axes"]
    out = primitive(x, **params)
    shape = aval_of(x).shape
    if not aval_of(x).size:
        return out, zero_of(aval_of(out))
    chosen = convert_element_type(eq(x, repeat_along(out, shape, axes)), aval_of(t).dtype)
    return out, div(reduce_sum(mul(t, chosen), axes), reduce_sum(chosen, axes))


def _product_jvp(primitive: Primitive, primals: Any, tangents: Any, params: dict[str, Any]) -> Any:
    """For each element the product of all others, without a division: halves are multiplied, and their tangents."""
    (x,), (t,), axes = primals, tangents, params["axes"]
    out = primitive(x, **params)
    shape = aval_of(x).shape
    kept = [i for i in range(len(shape)) if i not in axes]
    flat = (*[shape[i] for i in kept], math.prod([shape[a] for a in axes]))
    order = (*kept, *axes)
    x, t = [reshape(transpose(v, order), flat) for v in (x, t)]
    n, last = flat[-1], len(flat) - 1
    while n > 1:
        half, odd = n // 2, n % 2
        left = [slice_in_dim(v, 0, half, axis=last) for v in (x, t)]
        right = [slice_in_dim(v, half, 2 * half, axis=last) for v in (x, t)]
        remainder = [slice_in_dim(v, 2 * half, n, axis=last) for v in (x, t)]
        t = add(mul(left[1], right[0]), mul(left[0], right[1]))
        x = mul(left[0], right[0])
        if odd:
            x, t = concatenate([x, remainder[0]], last), concatenate([t, remainder[1]], last)
        n = half + odd
    return out, reshape(t, flat[:-1]) if n else zero_of(aval_of(out))


reduce_prod_p = reduction(
    "reduce_prod",
    accepts=dtypes.NUMERIC,
    eval=np.multiply,
    combine="stablehlo.multiply",
    identity=lambda d: 1,
    rounds=True,
    jvp=_product_jvp,
)
reduce_max_p = reduction(
    "reduce_max", accepts=ORDERED, eval=np.maximum, combine="stablehlo.maximum", identity=lowest, jvp=_extreme_jvp
)
reduce_min_p = reduction(
    "reduce_min", accepts=ORDERED, eval=np.minimum, combine="stablehlo.minimum", identity=highest, jvp=_extreme_jvp
)
reduce_and_p = reduction(
    "reduce_and", accepts=BITS, eval=np.bitwise_and, combine="stablehlo.and", identity=all_ones, jvp=NOT_DIFFERENTIABLE
)
reduce_or_p = reduction(
    "reduce_or", accepts=BITS, eval=np.bitwise_or, combine="stablehlo.or", identity=lambda d: 0, jvp=NOT_DIFFERENTIABLE
)
reduce_xor_p = reduction(
    "reduce_xor",
    accepts=BITS,
    eval=np.bitwise_xor,
    combine="stablehlo.xor",
    identity=lambda d: 0,
    jvp=NOT_DIFFERENTIABLE,
)


def _along(row: SinglePrimitive, operand: Any, axes: Sequence[int] | None) -> Array:
    operand = as_operand(operand)
    found = tuple(sorted(canonical_axes(axes, aval_of(operand).ndim, row.name)))
    if found:
        return row(operand, axes=found)
    row.shape(aval_of(operand), axes=found)  # checks the dtype
    return as_array(operand)


def reduce_sum(operand: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    """Add the elements along `axes` (all of them by default); half precision is summed in float32.

    >>> import stagec.numpy as snp
    >>> reduce_sum(snp.ones((2, 3)), (1,))
    Array([3., 3.], dtype=float32)
    """
    return _along(reduce_sum_p, operand, axes)


def reduce_prod(operand: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    """Multiply the elements along `axes` (all of them by default).

    >>> import numpy as np
    >>> int(reduce_prod(np.array([2, 3, 4])))
    24
    """
    return _along(reduce_prod_p, operand, axes)


def reduce_max(operand: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    """The largest element along `axes`; NaN if there is one, the dtype's lowest value if there are no elements.

    >>> import numpy as np
    >>> int(reduce_max(np.array([2, 4, 3])))
    4
    """
    return _along(reduce_max_p, operand, axes)


def reduce_min(operand: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    """The smallest element along `axes`; NaN if there is one, the dtype's highest value if there are no elements.

    >>> import numpy as np
    >>> int(reduce_min(np.array([2, 4, 3])))
    2
    """
    return _along(reduce_min_p, operand, axes)


def reduce_and(operand: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    """Bitwise and of the elements along `axes`; for bools, whether all hold.

    >>> import numpy as np
    >>> bool(reduce_and(np.array([True, False])))
    False
    """
    return _along(reduce_and_p, operand, axes)


def reduce_or(operand: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    """Bitwise or of the elements along `axes`; for bools, whether any holds.

    >>> import numpy as np
    >>> bool(reduce_or(np.array([True, False])))
    True
    """
    return _along(reduce_or_p, operand, axes)


def reduce_xor(operand: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    """Bitwise exclusive or of the elements along `axes`.

    >>> import numpy as np
    >>> int(reduce_xor(np.array([1, 2, 3])))
    0
    """
    return _along(reduce_xor_p, operand, axes)


# positions of extremes


def _extreme(name: str, find: Callable[..., Any], extreme: SinglePrimitive) -> SinglePrimitive:
    def shape(x: ShapedArray, *, axes: tuple[int, ...], index_dtype: np.dtype[Any]) -> ShapedArray:
        check_dtype(name, x.dtype, ORDERED)
        if x.shape[axes[0]] == 0:
            raise shape_error(
                name, f"axis {axes[0]} of {x.long()} has no elements", "reduce over an axis that has elements"
            )
        return ShapedArray.of(remaining(x.shape, axes), index_dtype)

    def evaluate(x: Any, *, axes: tuple[int, ...], index_dtype: np.dtype[Any]) -> Any:
        return find(x.astype(np.float32) if x.dtype in HALF else x, axis=axes[0]).astype(index_dtype)

    def position(x: Any, *, axes: tuple[int, ...], index_dtype: np.dtype[Any]) -> Any:
        # Two plain reductions, the extreme and then the first position that holds it, vectorize;
        # one reduction over (value, position) pairs is several times slower.
        if dtypes.is_bool(aval_of(x).dtype):
            x = convert_element_type(x, np.int8)
        shape = aval_of(x).shape
        matches = eq(x, repeat_along(extreme(x, axes=axes), shape, axes))
        if dtypes.is_float(aval_of(x).dtype):
            matches = bitwise_or(matches, ne(x, x))
        index = iota_p(dtype=index_dtype, shape=shape, dimension=axes[0])
        return reduce_min_p(select(matches, index, literal(highest(index_dtype), index_dtype)), axes=axes)

    return SinglePrimitive(
        name,
        shape=shape,
        eval=evaluate,
        lower=lambda cx, x, **params: cx.apply(lambda x: position(x, **params), x),
        jvp=NOT_DIFFERENTIABLE,
        transpose=NOT_LINEAR,
        batch=reduction_batch,
        follows=reduction_follows,
    )


argmax_p = _extreme("argmax", np.argmax, reduce_max_p)
argmin_p = _extreme("argmin", np.argmin, reduce_min_p)


def argmax(operand: ArrayLike, axis: int, index_dtype: DTypeLike) -> Array:
    """The position of the largest element along `axis`: the first one, and a NaN before all others.

    >>> import numpy as np
    >>> int(argmax(np.array([1, 3, 3]), 0, np.int32))
    1
    """
    return _position(argmax_p, operand, axis, index_dtype)


def argmin(operand: ArrayLike, axis: int, index_dtype: DTypeLike) -> Array:
    """The position of the smallest element along `axis`: the first one, and a NaN before all others.

    >>> import numpy as np
    >>> int(argmin(np.array([2, 1, 1]), 0, np.int32))
    1
    """
    return _position(argmin_p, operand, axis, index_dtype)


def _position(row: SinglePrimitive, operand: Any, axis: int, index_dtype: Any) -> Array:
    operand = as_operand(operand)
    dtype = dtypes.canonicalize(index_dtype)
    check_dtype(row.name, dtype, dtypes.INTEGER)
    return row(operand, axes=canonical_axes((axis,), aval_of(operand).ndim, row.name), index_dtype=dtype)

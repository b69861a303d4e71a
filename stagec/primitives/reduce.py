"""Reductions: a row for each combining operation, the positions of extremes, and a general one."""

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
from stagec.primitives.arithmetic import add, add_p, div, max_p, min_p, mul, mul_p
from stagec.primitives.axes import canonical_axes, shape_error
from stagec.primitives.convert import as_array, convert_element_type
from stagec.primitives.joining import concatenate
from stagec.primitives.logic import and_p, eq, or_p, xor_p
from stagec.primitives.operand import Operand, as_operand, aval_of
from stagec.primitives.rules import linear
from stagec.primitives.shape import broadcast_in_dim, reshape, transpose
from stagec.primitives.slicing import slice_in_dim
from stagec.primitives.table import HALF as HALF, check_dtype, i64_array
from stagec.typing import ArrayLike, DTypeLike


def lowest(dtype: np.dtype[Any]) -> Any:
    """What `max` starts from."""
    if dtypes.is_bool(dtype):
        return False
    return dtypes.integer_range(dtype)[0] if dtypes.is_integer(dtype) else -np.inf


def highest(dtype: np.dtype[Any]) -> Any:
    """What `min` starts from."""
    if dtypes.is_bool(dtype):
        return True
    return dtypes.integer_range(dtype)[1] if dtypes.is_integer(dtype) else np.inf


def _all_ones(dtype: np.dtype[Any]) -> Any:
    return True if dtypes.is_bool(dtype) else np.invert(np.zeros((), dtype))


def remaining(shape: Sequence[int], axes: Sequence[int]) -> tuple[int, ...]:
    """The shape without its `axes`."""
    return tuple([n for i, n in enumerate(shape) if i not in axes])


def emit_reduce(
    cx: Any, x: Any, aval: ShapedArray, axes: Sequence[int], combine: Callable[..., Any], init: Any
) -> tuple[Any, ShapedArray]:
    """`stablehlo.reduce` of one value; the result and its aval."""
    scalar = ShapedArray.of((), aval.dtype)
    out = ShapedArray.of(remaining(aval.shape, axes), aval.dtype)
    body = cx.region([scalar, scalar], lambda a, b: [combine(a, b)])
    start = cx.constant(init, scalar)
    return cx.emit("stablehlo.reduce", [x, start], {"dimensions": i64_array(axes)}, [out], [body]), out


def reduction(
    name: str,
    *,
    accepts: frozenset[np.dtype[Any]],
    eval: np.ufunc,
    combine: Primitive,
    identity: Callable[[np.dtype[Any]], Any],
    rounds: bool = False,
    jvp: Any,
    transpose: Any = NOT_LINEAR,
) -> SinglePrimitive:
    """A row that combines the elements along `axes`, starting from `identity(dtype)`.

    With `rounds`, half-precision floats are combined in float32 and rounded once.
    """

    def shape(x: ShapedArray, *, axes: tuple[int, ...]) -> ShapedArray:
        if x.dtype not in accepts:
            check_dtype(name, x.dtype, accepts)
        return ShapedArray.of(remaining(x.shape, axes), x.dtype, x.weak_type)

    def evaluate(x: Any, *, axes: tuple[int, ...]) -> Any:
        if not axes:
            return x
        dtype = x.dtype
        if dtype.itemsize == 2 and dtype in HALF:
            x = x.astype(np.float32)
        if x.size == 0:
            return np.full(remaining(x.shape, axes), identity(dtype), dtype)
        axis = axes if len(axes) < x.ndim else None
        out = eval.reduce(x, axis, x.dtype) if rounds else eval.reduce(x, axis)
        return out if out.dtype is dtype else out.astype(dtype)

    def lower(cx: Any, x: Any, *, axes: tuple[int, ...]) -> Any:
        (aval,) = cx.in_avals
        if not axes:
            return x
        if aval.size == 0:
            return cx.constant(identity(aval.dtype), cx.out_avals[0])
        wide = aval.update(dtype=np.float32) if rounds and aval.dtype in HALF else aval
        if wide is not aval:
            x = cx.emit("stablehlo.convert", [x], avals=[wide])
        out, _ = emit_reduce(cx, x, wide, axes, combine, identity(wide.dtype))
        return cx.emit("stablehlo.convert", [out]) if wide is not aval else out

    # NumPy adds and multiplies small integers in a wider dtype, unless it is told.
    widens = eval in (np.add, np.multiply)

    def python(code: Any, x: Any, *, axes: tuple[int, ...]) -> Any:
        (aval,) = code.in_avals
        if not axes or not aval.size or aval.dtype in HALF:
            return None
        all_axes = len(axes) == aval.ndim
        axis, dtype = None if all_axes else axes, aval.dtype if widens else None
        call = f"({code.array(x)}, {code.constant(axis)}, {code.constant(dtype)})"
        return code.assign(code.constant(eval.reduce) + call, scalar=all_axes, fresh=not all_axes)

    return SinglePrimitive(
        name,
        shape=shape,
        eval=evaluate,
        lower=lower,
        jvp=jvp,
        transpose=transpose,
        batch=_reduction_batch,
        python=python,
    )


def _reduction_batch(primitive: Primitive, args: Any, dims: Any, size: int, params: dict[str, Any]) -> Any:
    (x,), (dim,) = args, dims
    axes = tuple([a + (a >= dim) for a in params["axes"]])
    return primitive(x, **{**params, "axes": axes}), dim - sum(a < dim for a in axes)


def _back(x: Any, shape: tuple[int, ...], axes: tuple[int, ...]) -> Operand:
    """What a reduction over `axes` gave, repeated along them."""
    kept = tuple([i for i in range(len(shape)) if i not in axes])
    return broadcast_in_dim(x, shape, kept)


def _extreme_jvp(primitive: Primitive, primals: Any, tangents: Any, params: dict[str, Any]) -> Any:
    """The mean of the tangents of the elements that have the extreme value."""
    (x,), (t,), axes = primals, tangents, params["axes"]
    out = primitive(x, **params)
    shape = aval_of(x).shape
    if not aval_of(x).size:
        return out, zero_of(aval_of(out))
    chosen = convert_element_type(eq(x, _back(out, shape, axes)), aval_of(t).dtype)
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
        rest = [slice_in_dim(v, 2 * half, n, axis=last) for v in (x, t)]
        t = add(mul(left[1], right[0]), mul(left[0], right[1]))
        x = mul(left[0], right[0])
        if odd:
            x, t = concatenate([x, rest[0]], last), concatenate([t, rest[1]], last)
        n = half + odd
    return out, reshape(t, flat[:-1]) if n else zero_of(aval_of(out))


BITS = dtypes.INTEGER | dtypes.BOOL
ORDERED = dtypes.ALL - dtypes.COMPLEX

reduce_sum_p = reduction(
    "reduce_sum",
    accepts=dtypes.NUMERIC,
    eval=np.add,
    combine=add_p,
    identity=lambda d: 0,
    rounds=True,
    jvp=linear(),
    transpose=lambda ct, x, *, axes: [_back(ct, x.aval.shape, axes)],
)
reduce_prod_p = reduction(
    "reduce_prod",
    accepts=dtypes.NUMERIC,
    eval=np.multiply,
    combine=mul_p,
    identity=lambda d: 1,
    rounds=True,
    jvp=_product_jvp,
)
reduce_max_p = reduction(
    "reduce_max", accepts=ORDERED, eval=np.maximum, combine=max_p, identity=lowest, jvp=_extreme_jvp
)
reduce_min_p = reduction(
    "reduce_min", accepts=ORDERED, eval=np.minimum, combine=min_p, identity=highest, jvp=_extreme_jvp
)
reduce_and_p = reduction(
    "reduce_and", accepts=BITS, eval=np.bitwise_and, combine=and_p, identity=_all_ones, jvp=NOT_DIFFERENTIABLE
)
reduce_or_p = reduction(
    "reduce_or", accepts=BITS, eval=np.bitwise_or, combine=or_p, identity=lambda d: 0, jvp=NOT_DIFFERENTIABLE
)
reduce_xor_p = reduction(
    "reduce_xor", accepts=BITS, eval=np.bitwise_xor, combine=xor_p, identity=lambda d: 0, jvp=NOT_DIFFERENTIABLE
)


def _along(row: SinglePrimitive, operand: Any, axes: Sequence[int] | None) -> Array:
    operand = as_operand(operand)
    found = tuple(sorted(canonical_axes(axes, aval_of(operand).ndim, row.name)))
    return row(operand, axes=found) if found else as_array(operand)


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


def _extreme(name: str, find: Callable[..., Any], combine: Primitive, start: Callable[[Any], Any]) -> SinglePrimitive:
    def shape(x: ShapedArray, *, axes: tuple[int, ...], index_dtype: np.dtype[Any]) -> ShapedArray:
        check_dtype(name, x.dtype, ORDERED)
        if x.shape[axes[0]] == 0:
            raise shape_error(
                name, f"axis {axes[0]} of {x.long()} has no elements", "reduce over an axis that has elements"
            )
        return ShapedArray.of(remaining(x.shape, axes), index_dtype)

    def evaluate(x: Any, *, axes: tuple[int, ...], index_dtype: np.dtype[Any]) -> Any:
        return find(x.astype(np.float32) if x.dtype in HALF else x, axis=axes[0]).astype(index_dtype)

    def lower(cx: Any, x: Any, *, axes: tuple[int, ...], index_dtype: np.dtype[Any]) -> Any:
        # Two plain reductions, the extreme and then the first position that holds it, vectorize;
        # one reduction over (value, position) pairs is several times slower.
        (aval,) = cx.in_avals
        kept = [i for i in range(aval.ndim) if i not in axes]
        if dtypes.is_bool(aval.dtype):
            aval = aval.update(dtype=np.int8)
            x = cx.emit("stablehlo.convert", [x], avals=[aval])
        best, _ = emit_reduce(cx, x, aval, axes, combine, start(aval.dtype))
        truth, count = aval.update(dtype=np.bool_), aval.update(dtype=index_dtype, weak_type=False)
        best = cx.broadcast(best, aval, kept)
        hit = cx.emit("stablehlo.compare", [x, best], {"comparison_direction": _EQ}, [truth])
        if dtypes.is_float(aval.dtype):
            nan = cx.emit("stablehlo.compare", [x, x], {"comparison_direction": _NE}, [truth])
            hit = cx.emit("stablehlo.or", [hit, nan], avals=[truth])
        last = aval.shape[axes[0]] - 1
        place = cx.emit("stablehlo.iota", [], {"iota_dimension": f"{axes[0]} : i64"}, [count])
        place = cx.emit("stablehlo.select", [hit, place, cx.constant(last, count)], avals=[count])
        return emit_reduce(cx, place, count, axes, min_p, last)[0]

    return SinglePrimitive(
        name,
        shape=shape,
        eval=evaluate,
        lower=lower,
        jvp=NOT_DIFFERENTIABLE,
        transpose=NOT_LINEAR,
        batch=_reduction_batch,
    )


_EQ = "#stablehlo<comparison_direction EQ>"
_NE = "#stablehlo<comparison_direction NE>"

argmax_p = _extreme("argmax", np.argmax, max_p, lowest)
argmin_p = _extreme("argmin", np.argmin, min_p, highest)


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

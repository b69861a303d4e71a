"""Running reductions along one axis."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from stagec.core import dtypes
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.primitive import NOT_LINEAR, Primitive, SinglePrimitive
from stagec.primitives.arithmetic import (
    add,
    div,
    max as larger,
    max_p,
    min as smaller,
    min_p,
    mul,
    mul_p,
    ones_like,
    sub,
)
from stagec.primitives.axes import canonical_axis
from stagec.primitives.broadcast import in_front, linear, next_axis, zeros
from stagec.primitives.checks import HALF, check_dtype, i64_array, i64_pairs
from stagec.primitives.combining import Arrays, Combine, interleaved_by_sum, pair_of, paired, running
from stagec.primitives.convert import as_array, convert_element_type
from stagec.primitives.logic import ORDERED, eq, gt, is_finite, select
from stagec.primitives.operand import as_operand, aval_of, literal
from stagec.primitives.padding import pad_p
from stagec.primitives.reduce import highest, lowest
from stagec.primitives.rules import add_p
from stagec.primitives.shape import rev
from stagec.primitives.transcendental import exp, log, log1p
from stagec.typing import ArrayLike

__all__ = [
    "cumlogsumexp", "cumlogsumexp_p", "cummax", "cummax_p", "cummin", "cummin_p", "cumprod", "cumprod_p", "cumsum",
    "cumsum_p",
]  # fmt: skip

Identity = Callable[["np.dtype[Any]"], Any]


def _scan(cx: Any, x: Any, aval: ShapedArray, axis: int, reverse: bool, combine: Primitive, identity: Any) -> Any:
    """A reduce_window as long as the axis, which is compiled to one linear loop.

    log2(n) steps of shift-and-combine are 1.5 to 6 times slower for a million elements.
    """
    if cx.open_rules is not None:
        return cx.open_rules.running(cx, x, aval, axis, reverse, combine.name, identity)
    n = aval.shape[axis]
    scalar = ShapedArray.of((), aval.dtype)
    window = [n if i == axis else 1 for i in range(aval.ndim)]
    ends = [0, n - 1] if reverse else [n - 1, 0]
    padding = [ends if i == axis else [0, 0] for i in range(aval.ndim)]
    return cx.emit(
        "stablehlo.reduce_window",
        [x, cx.constant(identity, scalar)],
        {"window_dimensions": i64_array(window), "padding": i64_pairs(padding)},
        [aval],
        [cx.region([scalar, scalar], lambda a, b: [combine(a, b)])],
    )


def cumulative(
    name: str,
    *,
    accepts: frozenset[np.dtype[Any]],
    eval: np.ufunc,
    combine: Primitive,
    identity: Identity,
    jvp: Any,
    transpose: Any = NOT_LINEAR,
) -> SinglePrimitive:
    """A row whose result at each position combines the elements up to it, or from it on with `reverse`.

    Half-precision floats are combined in float32 and rounded once.
    """

    def evaluate(x: Any, *, axis: int, reverse: bool) -> Any:
        dtype = x.dtype
        if dtype in HALF:
            x = x.astype(np.float32)
        if reverse:
            x = np.flip(x, axis)
        out = eval.accumulate(x, axis, dtype=x.dtype).astype(dtype)  # NumPy adds small integers in a wider dtype
        return np.flip(out, axis) if reverse else out

    def lower(cx: Any, x: Any, *, axis: int, reverse: bool) -> Any:
        (aval,) = cx.in_avals
        if aval.size == 0 or aval.shape[axis] == 1:
            return x
        if aval.dtype not in HALF:
            return _scan(cx, x, aval, axis, reverse, combine, identity(aval.dtype))
        wide = aval.update(dtype=np.float32)
        x = cx.emit("stablehlo.convert", [x], avals=[wide])
        return cx.emit("stablehlo.convert", [_scan(cx, x, wide, axis, reverse, combine, identity(wide.dtype))])

    return SinglePrimitive(
        name,
        shape=_shape(name, accepts),
        eval=evaluate,
        lower=lower,
        jvp=jvp,
        transpose=transpose,
        batch=in_front(axis=next_axis),
        numpy_ns=4.5,
    )


def _running_jvp(combined: Callable[..., Arrays]) -> Callable[..., Any]:
    """Values and tangents are combined together."""

    def rule(primitive: Primitive, primals: Any, tangents: Any, params: dict[str, Any]) -> Any:
        (x,), (t,) = primals, tangents
        return primitive(x, **params), combined([x, t], **params)[1]

    return rule


def _in_pairs(combine: Combine) -> Callable[..., Arrays]:
    """The pairs decide how equal extremes share a derivative: as in JAX."""

    def combined(arrays: Arrays, axis: int, reverse: bool) -> Arrays:
        turned = [rev(x, (axis,)) for x in arrays] if reverse else arrays
        results = paired(combine, turned, axis, interleaved_by_sum)
        return [rev(x, (axis,)) for x in results] if reverse else results

    return combined


def _shape(name: str, accepts: frozenset[np.dtype[Any]]) -> Callable[..., ShapedArray]:
    def shape(x: ShapedArray, *, axis: int, reverse: bool) -> ShapedArray:
        check_dtype(name, x.dtype, accepts)
        return x

    return shape


cumsum_p: SinglePrimitive = cumulative(
    "cumsum",
    accepts=dtypes.NUMERIC,
    eval=np.add,
    combine=add_p,
    identity=lambda d: 0,
    jvp=linear(),
    transpose=lambda ct, x, *, axis, reverse: [cumsum_p(ct, axis=axis, reverse=not reverse)],
)
cumprod_p = cumulative(
    "cumprod",
    accepts=dtypes.NUMERIC,
    eval=np.multiply,
    combine=mul_p,
    identity=lambda d: 1,
    jvp=_running_jvp(partial(running, pair_of(mul_p))),
)


def _extreme(name: str, combine: Primitive, eval: np.ufunc, identity: Identity) -> SinglePrimitive:
    jvp = _running_jvp(_in_pairs(pair_of(combine)))
    return cumulative(name, accepts=ORDERED, eval=eval, combine=combine, identity=identity, jvp=jvp)


cummax_p = _extreme("cummax", max_p, np.maximum, lowest)
cummin_p = _extreme("cummin", min_p, np.minimum, highest)


def _cumlogsumexp_eval(x: Any, *, axis: int, reverse: bool) -> Any:
    wide = x.astype(np.float64)
    if reverse:
        wide = np.flip(wide, axis)
    out = np.logaddexp.accumulate(wide, axis)
    return (np.flip(out, axis) if reverse else out).astype(x.dtype)


def _cumlogsumexp(x: Any, *, axis: int, reverse: bool) -> Any:
    # Not a sum after one shift: exp(x - max) of early elements would be 0 where late ones are large.
    aval = aval_of(x)
    if aval.size == 0:
        return x
    x = convert_element_type(x, np.float32) if aval.dtype in HALF else x
    nothing, step = literal(-np.inf, aval_of(x).dtype), 1
    while step < aval.shape[axis]:
        move = (-step, step, 0) if reverse else (step, -step, 0)
        config = tuple([move if i == axis else (0, 0, 0) for i in range(aval.ndim)])
        x = _log_add_exp(x, pad_p(x, nothing, padding_config=config))
        step *= 2
    return convert_element_type(x, aval.dtype)


def _log_add_exp(x: Any, y: Any) -> Any:
    top = larger(x, y)
    total = add(top, log1p(exp(sub(smaller(x, y), top))))
    # Equal infinities have no difference; a NaN stays in `top`.
    return select(is_finite(top), total, top)


def _log_sum_pair(a: list[Any], b: list[Any]) -> list[Any]:
    """The logarithm of the sum of two exponentials, and the mean of the tangents that they weigh."""
    top = select(gt(a[0], b[0]), a[0], b[0])
    # Weights are of the distance to the larger one; that of an infinite one is 0.
    finite = is_finite(top)
    weights = [select(finite, exp(sub(v, top)), select(eq(v, top), ones_like(v), zeros(aval_of(v)))) for v, _ in (a, b)]
    total = add(*weights)
    t = div(add(mul(a[1], weights[0]), mul(b[1], weights[1])), total)
    return [select(finite, add(top, log(total)), top), t]


cumlogsumexp_p = SinglePrimitive(
    "cumlogsumexp",
    shape=_shape("cumlogsumexp", dtypes.FLOATING),
    eval=_cumlogsumexp_eval,
    lower=lambda cx, x, **params: cx.apply(lambda x: _cumlogsumexp(x, **params), x),
    jvp=_running_jvp(partial(running, _log_sum_pair)),
    transpose=NOT_LINEAR,
    batch=in_front(axis=next_axis),
    numpy_ns=32,
)


def _running(row: SinglePrimitive, operand: Any, axis: int, reverse: bool) -> Array:
    operand = as_operand(operand)
    aval = aval_of(operand)
    axis, reverse = canonical_axis(axis, aval.ndim, row.name), bool(reverse)
    if row in _EXTREMES and dtypes.is_complex(aval.dtype):
        # Complex numbers have no operation for it: their order is written out.
        combine = _EXTREMES[row]
        (out,) = _in_pairs(lambda a, b: [combine(a[0], b[0])])([operand], axis, reverse)
        return as_array(out)
    return row(operand, axis=axis, reverse=reverse)


_EXTREMES: dict[SinglePrimitive, Callable[..., Any]] = {cummax_p: larger, cummin_p: smaller}


def cumsum(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """The sums of the elements up to each position along `axis`.

    Args:
      operand: a numeric array.
      axis: the axis to run along.
      reverse: add from each position to the end instead.

    >>> import numpy as np
    >>> cumsum(np.array([1, 2, 3]))
    Array([1, 3, 6], dtype=int32)
    """
    return _running(cumsum_p, operand, axis, reverse)


def cumprod(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """The products of the elements up to each position along `axis`, or from it on with `reverse`.

    >>> import numpy as np
    >>> cumprod(np.array([1, 2, 3]), reverse=True)
    Array([6, 6, 3], dtype=int32)
    """
    return _running(cumprod_p, operand, axis, reverse)


def cummax(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """The largest element up to each position along `axis`, or from it on with `reverse`.

    >>> import numpy as np
    >>> cummax(np.array([1, 3, 2]))
    Array([1, 3, 3], dtype=int32)
    """
    return _running(cummax_p, operand, axis, reverse)


def cummin(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """The smallest element up to each position along `axis`, or from it on with `reverse`.

    >>> import numpy as np
    >>> cummin(np.array([3, 1, 2]))
    Array([3, 1, 1], dtype=int32)
    """
    return _running(cummin_p, operand, axis, reverse)


def cumlogsumexp(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """The logarithm of the running sum of exponentials along `axis`, without overflow.

    >>> import numpy as np
    >>> float(cumlogsumexp(np.zeros(2, np.float32))[0])
    0.0
    """
    return _running(cumlogsumexp_p, operand, axis, reverse)

"""The constructor of elementwise rows, and their batching rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stagec.core.aval import ShapedArray
from stagec.core.primitive import Primitive, SinglePrimitive
from stagec.primitives.broadcast import broadcast_in_dim_p, moveaxis_to_front
from stagec.primitives.checks import HALF, check_dtype, elementwise_shape, same_dtype
from stagec.primitives.operand import aval_of

DtypeRule = Callable[..., "np.dtype[Any]"]


def batch_elementwise(
    primitive: Primitive, args: Sequence[Any], dims: Sequence[int | None], size: int, params: dict[str, Any]
) -> tuple[Any, int]:
    """The batching rule for operands of one shape; those of rank 0 fit any."""
    ranks = [aval_of(a).ndim - (d is not None) for a, d in zip(args, dims)]
    rank = max(ranks)
    batched = {d for a, d, r in zip(args, dims, ranks) if r == rank}
    if len(batched) == 1 and all(r == rank or d is None for d, r in zip(dims, ranks)):
        return primitive(*args, **params), batched.pop()  # type: ignore[return-value]
    shape: tuple[int, ...] = ()
    for a, d, r in zip(args, dims, ranks):
        if r == rank:
            full = aval_of(a).shape
            shape = full if d is None else tuple(n for i, n in enumerate(full) if i != d)
            break
    moved = []
    for a, d, r in zip(args, dims, ranks):
        if r == rank:
            moved.append(moveaxis_to_front(a, d, size))
        elif d is None:
            moved.append(a)
        else:
            whole = (size, *shape)
            moved.append(broadcast_in_dim_p(a, shape=whole, broadcast_dimensions=(0,)))
    return primitive(*moved, **params), 0


def batch_elementwise_results(
    primitive: Primitive, args: Sequence[Any], dims: Sequence[int | None], size: int, params: dict[str, Any]
) -> tuple[Any, list[int]]:
    """The same rule for several results."""
    results, dim = batch_elementwise(primitive, args, dims, size, params)
    return results, [dim] * len(results)


def elementwise(
    name: str,
    *,
    accepts: frozenset[np.dtype[Any]],
    eval: Callable[..., Any],
    lower: str | Callable[..., Any],
    result: DtypeRule | np.dtype[Any] | None = None,
    jvp: Any,
    transpose: Any,
    ufunc: Callable[..., np.ufunc | None] | None = None,
    numpy_ns: float | tuple[float, float] = 0.3,
    numpy_us: float = 0.26,
) -> SinglePrimitive:
    """A row that works on each element alone.

    Operands have one dtype among `accepts`, and one shape or rank 0. `result`
    is the dtype of the result (a dtype, or a function of the operands' dtype);
    without it, the operands' dtype. `jvp` and `transpose` are rules, such
    as `each` and `cotangents` of `rules` make of a function for each operand.
    `ufunc` is a function of the dtype and the parameters: what computes it, where `eval` is not a ufunc.
    """

    def shape(*avals: ShapedArray, **params: Any) -> ShapedArray:
        dtype = avals[0].dtype if len(avals) == 1 else same_dtype(name, avals)
        if dtype not in accepts:
            check_dtype(name, dtype, accepts)
        weak = all([a.weak_type for a in avals])  # noqa: C419  twice as fast as a generator
        if result is not None:
            dtype = result(dtype) if callable(result) else result
        return ShapedArray.of(avals[0].shape if len(avals) == 1 else elementwise_shape(name, avals), dtype, weak)

    own = getattr(eval, "in_own_dtype", eval)
    known = ufunc or (lambda dtype, **params: own if isinstance(own, np.ufunc) and not params else None)

    def python(code: Any, *values: Any, **params: Any) -> Any:
        dtype = code.in_avals[0].dtype
        found = None if dtype in HALF else known(dtype, **params)
        return None if found is None else code.apply(found, *values)

    return SinglePrimitive(
        name,
        shape=shape,
        eval=eval,
        lower=lower,
        jvp=jvp,
        transpose=transpose,
        batch=batch_elementwise,
        python=python,
        numpy_ns=numpy_ns,
        numpy_us=numpy_us,
    )


def computed_in_float32(function: Callable[..., Any]) -> Callable[..., Any]:
    """Evaluate a NumPy function on half-precision floats in float32 and round once.

    `ml_dtypes` gives bfloat16 only part of NumPy's functions, and float16's
    own loops round at every step.
    """

    def evaluate(*arrays: Any, **params: Any) -> Any:
        dtype = arrays[0].dtype
        if dtype.itemsize == 2 and dtype in HALF:
            out = function(*[a.astype(np.float32) if a.dtype == dtype else a for a in arrays], **params)
            return out.astype(dtype) if out.dtype == np.float32 else out
        return function(*arrays, **params)

    evaluate.in_own_dtype = function  # type: ignore[attr-defined]
    return evaluate


def spread(cx: Any, values: Any) -> list[Any]:
    """The lowered operands of an elementwise row, those of rank 0 broadcast to the result's shape."""
    shape = cx.out_avals[0].shape
    return [
        v if a.shape == shape else cx.broadcast(v, a.update(shape=shape), ())
        for v, a in zip(values, cx.in_avals, strict=True)
    ]

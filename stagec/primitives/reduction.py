"""The constructor of rows that combine elements along axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stagec.core.aval import ShapedArray
from stagec.core.primitive import NOT_LINEAR, Primitive, SinglePrimitive
from stagec.primitives.checks import HALF, check_dtype, i64_array


def remaining(shape: Sequence[int], axes: Sequence[int]) -> tuple[int, ...]:
    """The shape without its `axes`."""
    return tuple([n for i, n in enumerate(shape) if i not in axes])


def reduction(
    name: str,
    *,
    accepts: frozenset[np.dtype[Any]],
    eval: np.ufunc,
    combine: str,
    identity: Callable[[np.dtype[Any]], Any],
    rounds: bool = False,
    jvp: Any,
    transpose: Any = NOT_LINEAR,
) -> SinglePrimitive:
    """A row that combines the elements along `axes`, starting from `identity(dtype)`;
    `combine` is the StableHLO operation.

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
        scalar = ShapedArray.of((), wide.dtype)
        operands = [x, cx.constant(identity(wide.dtype), scalar)]
        made = ShapedArray.of(remaining(aval.shape, axes), wide.dtype)
        region = cx.combining_region(combine, scalar)
        out = cx.emit("stablehlo.reduce", operands, {"dimensions": i64_array(axes)}, [made], [region])
        return cx.emit("stablehlo.convert", [out]) if wide is not aval else out

    # NumPy adds and multiplies small integers in a wider dtype by default.
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
        batch=reduction_batch,
        python=python,
        follows=reduction_follows,
    )


def reduction_follows(avals: Sequence[ShapedArray], out: ShapedArray, params: dict[str, Any]) -> list[tuple[int, int]]:
    """Which axes of its operand those of a reduction's result are."""
    return [(0, i) for i in range(avals[0].ndim) if i not in params["axes"]]


def reduction_batch(primitive: Primitive, args: Any, dims: Any, size: int, params: dict[str, Any]) -> Any:
    """The batching rule of rows with `axes`."""
    (x,), (dim,) = args, dims
    axes = tuple([a + (a >= dim) for a in params["axes"]])
    return primitive(x, **{**params, "axes": axes}), dim - sum(a < dim for a in axes)

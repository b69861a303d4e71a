"""Constructors for rows of the primitive table: they derive the rules that a family shares."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from stagec.core import dtypes, location
from stagec.core.aval import ShapedArray
from stagec.core.errors import DtypeError, ShapeError
from stagec.core.primitive import SinglePrimitive
from stagec.primitives import rules

DtypeRule = Callable[..., "np.dtype[Any]"]
# The floats that NumPy does not compute with in a precision of their own.
HALF = frozenset({dtypes.bfloat16, dtypes.float16})


def check_dtype(name: str, dtype: np.dtype[Any], accepts: frozenset[np.dtype[Any]]) -> None:
    """Raise `DtypeError` unless the operation accepts the dtype."""
    if dtype not in accepts:
        known = ", ".join(sorted(d.name for d in accepts - dtypes.SMALL))  # of the small ones there are many
        raise location.error(
            DtypeError,
            f"{name} does not accept {dtype.name}",
            fix=f"convert with astype; {name} accepts {known}",
        )


def same_dtype(name: str, avals: tuple[ShapedArray, ...]) -> np.dtype[Any]:
    """The operands' one dtype; `DtypeError` where they differ."""
    first = avals[0].dtype
    for a in avals[1:]:
        if a.dtype != first:
            raise location.error(
                DtypeError,
                f"{name}: operands have different dtypes: {', '.join(x.long() for x in avals)}",
                fix="stagec.lax does not promote; convert with astype, or use the stagec.numpy function",
            )
    return first


def elementwise_shape(name: str, avals: tuple[ShapedArray, ...]) -> tuple[int, ...]:
    """The operands' one shape; rank-0 operands go with any."""
    shape: tuple[int, ...] = ()
    for a in avals:
        if a.shape and a.shape != shape:
            if shape:
                raise location.error(
                    ShapeError,
                    f"{name}: shapes differ: {', '.join(x.long() for x in avals)}",
                    fix="stagec.lax does not broadcast (rank 0 excepted); use stagec.numpy, or broadcast_in_dim",
                )
            shape = a.shape
    return shape


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
) -> SinglePrimitive:
    """A row that works on each element alone.

    Operands have one dtype among `accepts`, and one shape or rank 0. `result`
    is the dtype of the result (a dtype, or a function of the operands' dtype);
    without it, the operands' dtype. `jvp` and `transpose` are rules, or say for
    one operand after the other what it adds or gets (`rules.each`, `rules.cotangents`).
    `ufunc` is a function of the dtype and the parameters: what computes it, where `eval` is not a ufunc.
    """

    def shape(*avals: ShapedArray, **params: Any) -> ShapedArray:
        dtype = avals[0].dtype if len(avals) == 1 else same_dtype(name, avals)
        if dtype not in accepts:
            check_dtype(name, dtype, accepts)
        weak = all([a.weak_type for a in avals])  # noqa: C419  twice as fast as a generator
        if result is not None:
            out = result(dtype) if callable(result) else result
            weak = weak and out == dtype
            dtype = out
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
        batch=rules.batch_elementwise,
        python=python,
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


def i64_array(values: Iterable[int]) -> str:
    """`array<i64: 1, 2>`, the form that StableHLO's dimension lists have."""
    text = ", ".join([str(int(v)) for v in values])
    return f"array<i64: {text}>" if text else "array<i64>"


def spread(cx: Any, values: Any) -> list[Any]:
    """The lowered operands of an elementwise row, those of rank 0 broadcast to the result's shape."""
    shape = cx.out_avals[0].shape
    return [
        v if a.shape == shape else cx.broadcast(v, a.update(shape=shape), ())
        for v, a in zip(values, cx.in_avals, strict=True)
    ]

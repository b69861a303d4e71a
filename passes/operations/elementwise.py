"""Elementwise operations: each element of the result follows from the same element of the operands."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from passes.numeric import elementwise as meaning, special
from passes.numeric.elementwise import through_float32, through_float64
from passes.operations.record import Cost, Memory, Operation, Precision

# The integers, and the integers and booleans, for which the host program of a compiled module has registers.
_INTEGERS, _NUMBERS = ("i32", "i64"), ("i1", "i32", "i64")


def _row(name: str, operands: str, numpy: Callable[..., Any] | None, **facts: Any) -> Operation:
    """An operation whose result is not rounded, unless `facts` give another precision."""
    return Operation(name, operands, True, numpy=numpy, **{"precision": Precision.EXACT, **facts})


def _function(name: str, numpy: Callable[..., Any], operands: str = "operand", **facts: Any) -> Operation:
    """A function that takes dozens of instructions."""
    return Operation(
        name, operands, True, numpy=numpy, cost=Cost.COSTLY, precision=Precision.OPEN, memory=Memory.NEW, **facts
    )


def _rounding(name: str, numpy: Callable[..., Any]) -> Operation:
    return _row(
        f"stablehlo.{name}",
        "operand",
        through_float32(numpy),
        integral=True,
        memory=Memory.NEW,
        **_RISING,
    )


_ROUNDED: dict[str, Any] = {"precision": Precision.ROUNDED}
_CHEAP: dict[str, Any] = {"cost": Cost.CHEAP}
_SYMMETRIC: dict[str, Any] = {"commutative": True, "associative": True, **_CHEAP}
_ODD: dict[str, Any] = {"odd": True}
_EVEN: dict[str, Any] = {"even": True}
_RISING: dict[str, Any] = {"monotone": 1}
_FALLING: dict[str, Any] = {"monotone": -1}
_NOT_NEGATIVE: dict[str, Any] = {"domain": (0.0, math.inf)}

_UNARY = (
    _row("stablehlo.abs", "operand", meaning.absolute, retypes=True, **_CHEAP),
    _function("stablehlo.cbrt", meaning.cbrt, **_ODD, **_RISING),
    _rounding("ceil", np.ceil),
    _function("stablehlo.cosine", through_float32(np.cos), inverse="chlo.acos", **_EVEN),
    _row("stablehlo.count_leading_zeros", "operand", meaning.count_leading_zeros, memory=Memory.NEW),
    _function("stablehlo.exponential", through_float32(np.exp), **_RISING),
    _function(
        "stablehlo.exponential_minus_one", through_float32(np.expm1), inverse="stablehlo.log_plus_one", **_RISING
    ),
    _rounding("floor", np.floor),
    _row("stablehlo.imag", "operand", meaning.imag, retypes=True, by_parts=True),
    _row("stablehlo.is_finite", "operand", np.isfinite, retypes=True, memory=Memory.NEW),
    _function("stablehlo.log", through_float32(np.log), **_RISING, **_NOT_NEGATIVE),
    _function(
        "stablehlo.log_plus_one",
        through_float32(np.log1p),
        inverse="stablehlo.exponential_minus_one",
        **_RISING,
        domain=(-1.0, math.inf),
    ),
    _function("stablehlo.logistic", meaning.logistic, **_RISING),
    _row(
        "stablehlo.negate",
        "operand",
        np.negative,
        by_parts=True,
        modular=True,
        host=_INTEGERS,
        **_CHEAP,
        **_FALLING,
    ),
    _row("stablehlo.not", "operand", meaning.logical_not, modular=True, host=_NUMBERS, **_CHEAP, **_FALLING),
    _row("stablehlo.popcnt", "operand", meaning.popcnt, memory=Memory.NEW),
    _row("stablehlo.real", "operand", np.real, retypes=True, by_parts=True),
    _rounding("round_nearest_afz", meaning.round_away),
    _rounding("round_nearest_even", np.rint),
    _function("stablehlo.rsqrt", meaning.rsqrt, **_FALLING, **_NOT_NEGATIVE),
    _row("stablehlo.sign", "operand", meaning.sign, memory=Memory.NEW, **_RISING),
    _function("stablehlo.sine", through_float32(np.sin), inverse="chlo.asin", **_ODD),
    _row(
        "stablehlo.sqrt",
        "operand",
        through_float32(np.sqrt),
        cost=Cost.COSTLY,
        memory=Memory.NEW,
        **_ROUNDED,
        **_RISING,
        **_NOT_NEGATIVE,
    ),
    _function("stablehlo.tan", through_float32(np.tan), inverse="chlo.atan", **_ODD),
    _function("stablehlo.tanh", through_float32(np.tanh), inverse="chlo.atanh", **_ODD, **_RISING),
)

_BINARY = (
    _row(
        "stablehlo.add", "lhs rhs", meaning.add, ufunc=np.add, by_parts=True, modular=True,
        host=_INTEGERS, of_booleans="stablehlo.or", **_ROUNDED, **_SYMMETRIC,
    ),
    _row(
        "stablehlo.and", "lhs rhs", np.bitwise_and, ufunc=np.bitwise_and, modular=True, host=_NUMBERS,
        of_booleans="stablehlo.and", idempotent=True, dual="stablehlo.or", **_SYMMETRIC,
    ),
    _function("stablehlo.atan2", through_float32(np.arctan2), "lhs rhs"),
    _row("stablehlo.complex", "lhs rhs", meaning.complex_of, retypes=True, by_parts=True),
    _row("stablehlo.divide", "lhs rhs", meaning.divide, partial=True, cost=Cost.COSTLY, **_ROUNDED),
    _row(
        "stablehlo.maximum", "lhs rhs", meaning.maximum, ufunc=np.maximum, chooses=True, host=_INTEGERS,
        of_booleans="stablehlo.or", idempotent=True, dual="stablehlo.minimum", **_SYMMETRIC,
    ),
    _row(
        "stablehlo.minimum", "lhs rhs", meaning.minimum, ufunc=np.minimum, chooses=True, host=_INTEGERS,
        of_booleans="stablehlo.and", idempotent=True, dual="stablehlo.maximum", **_SYMMETRIC,
    ),
    _row(
        "stablehlo.multiply", "lhs rhs", meaning.multiply, ufunc=np.multiply, modular=True,
        host=_INTEGERS, of_booleans="stablehlo.and", **_ROUNDED, **_SYMMETRIC,
    ),
    _row(
        "stablehlo.or", "lhs rhs", np.bitwise_or, ufunc=np.bitwise_or, modular=True, host=_NUMBERS,
        of_booleans="stablehlo.or", idempotent=True, dual="stablehlo.and", **_SYMMETRIC,
    ),
    # With an exponent of 1 it is the identity, so it may be folded to its operand.
    _row("stablehlo.power", "lhs rhs", meaning.power, partial=True, cost=Cost.COSTLY, precision=Precision.OPEN),
    _row("stablehlo.remainder", "lhs rhs", meaning.remainder, partial=True, cost=Cost.COSTLY),
    _row("stablehlo.shift_left", "lhs rhs", meaning.shift_left),
    _row("stablehlo.shift_right_arithmetic", "lhs rhs", meaning.shift_right_arithmetic),
    _row("stablehlo.shift_right_logical", "lhs rhs", meaning.shift_right_logical),
    _row(
        "stablehlo.subtract", "lhs rhs", meaning.subtract, by_parts=True, modular=True, host=_INTEGERS,
        **_ROUNDED, **_CHEAP,
    ),
    _row(
        "stablehlo.xor", "lhs rhs", np.bitwise_xor, ufunc=np.bitwise_xor, modular=True, host=_NUMBERS,
        of_booleans="stablehlo.xor", **_SYMMETRIC,
    ),
)  # fmt: skip

# Operations whose results depend on attributes, or on operands that may be scalars.
_OTHER = (
    _row("stablehlo.clamp", "min operand max", None, retypes=True, chooses=True),
    _row("stablehlo.compare", "lhs rhs", None, retypes=True, by_parts=True, host=_NUMBERS, **_CHEAP),
    _row(
        "stablehlo.convert", "operand", None, retypes=True, host=_NUMBERS, memory=Memory.VIEW, **_ROUNDED, **_CHEAP,
        **_RISING,
    ),
    # Targets differ in subnormal numbers.
    _row("stablehlo.reduce_precision", "operand", None, precision=Precision.OPEN),
    _row(
        "stablehlo.select", "pred on_true on_false", None, retypes=True, by_parts=True, chooses=True,
        host=_NUMBERS, sources="on_true on_false", **_CHEAP,
    ),
    Operation("stablehlo.uniform_dequantize", "operand", True),
    Operation("stablehlo.uniform_quantize", "operand", True),
)  # fmt: skip

_CHLO = (
    _function("chlo.acos", through_float32(np.arccos)),
    _function("chlo.acosh", through_float32(np.arccosh)),
    _function("chlo.asin", through_float32(np.arcsin), **_ODD),
    _function("chlo.asinh", through_float32(np.arcsinh), inverse="chlo.sinh", **_ODD, **_RISING),
    _function("chlo.atan", through_float32(np.arctan), **_ODD, **_RISING),
    _function("chlo.atanh", through_float32(np.arctanh), inverse="stablehlo.tanh", **_ODD),
    _function("chlo.bessel_i1e", through_float64(special.bessel_i1e)),
    _row("chlo.conj", "operand", np.conj, by_parts=True),
    _function("chlo.cosh", through_float32(np.cosh), inverse="chlo.acosh", **_EVEN),
    _function("chlo.digamma", through_float64(special.digamma)),
    _function("chlo.erf", through_float64(special.erf), inverse="chlo.erf_inv", **_ODD, **_RISING),
    _function("chlo.erf_inv", through_float64(special.erf_inv), inverse="chlo.erf", **_ODD),
    _function("chlo.erfc", through_float64(special.erfc), **_FALLING),
    _row("chlo.is_inf", "operand", np.isinf, retypes=True),
    _row("chlo.is_neg_inf", "operand", np.isneginf, retypes=True),
    _row("chlo.is_pos_inf", "operand", np.isposinf, retypes=True),
    _function("chlo.lgamma", through_float64(special.lgamma)),
    _row("chlo.next_after", "lhs rhs", np.nextafter),
    _function("chlo.polygamma", through_float64(special.polygamma), "lhs rhs"),
    _function("chlo.sinh", through_float32(np.sinh), inverse="chlo.asinh", **_ODD, **_RISING),
    _row("chlo.square", "operand", np.square, **_ROUNDED, **_EVEN),
    _function("chlo.tan", through_float32(np.tan), inverse="chlo.atan", **_ODD),
    _function("chlo.zeta", through_float64(special.zeta), "lhs rhs"),
)

ROWS = (*_UNARY, *_BINARY, *_OTHER, *_CHLO)

"""Elementwise operations: each is one function of `stagec.lax`, or a few."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from passes.numeric.elementwise import order_of_bits
from stagec import lax
from stagec.foreign.site import RULES, Site, Value, rule

_UNARY: dict[str, Callable[..., Any]] = {
    "abs": lax.abs,
    "cbrt": lax.cbrt,
    "ceil": lax.ceil,
    "cosine": lax.cos,
    "count_leading_zeros": lax.clz,
    "exponential": lax.exp,
    "exponential_minus_one": lax.expm1,
    "floor": lax.floor,
    "imag": lax.imag,
    "is_finite": lax.is_finite,
    "log": lax.log,
    "log_plus_one": lax.log1p,
    "logistic": lax.logistic,
    "negate": lax.neg,
    "not": lax.bitwise_not,
    "popcnt": lax.population_count,
    "real": lax.real,
    "round_nearest_afz": lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO),
    "round_nearest_even": lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN),
    "rsqrt": lax.rsqrt,
    "sign": lax.sign,
    "sine": lax.sin,
    "sqrt": lax.sqrt,
    "tan": lax.tan,
    "tanh": lax.tanh,
    "chlo.acos": lax.acos,
    "chlo.acosh": lax.acosh,
    "chlo.asin": lax.asin,
    "chlo.asinh": lax.asinh,
    "chlo.atan": lax.atan,
    "chlo.atanh": lax.atanh,
    "chlo.bessel_i1e": lax.bessel_i1e,
    "chlo.conj": lax.conj,
    "chlo.cosh": lax.cosh,
    "chlo.digamma": lax.digamma,
    "chlo.erf": lax.erf,
    "chlo.erf_inv": lax.erf_inv,
    "chlo.erfc": lax.erfc,
    "chlo.is_inf": lambda x: lax.eq(lax.abs(x), _like(x, np.inf)),
    "chlo.is_neg_inf": lambda x: lax.eq(x, _like(x, -np.inf)),
    "chlo.is_pos_inf": lambda x: lax.eq(x, _like(x, np.inf)),
    "chlo.lgamma": lax.lgamma,
    "chlo.sinh": lax.sinh,
    "chlo.square": lax.square,
    "chlo.tan": lax.tan,
}
_BINARY: dict[str, Callable[..., Any]] = {
    "add": lambda x, y: lax.bitwise_or(x, y) if _is_boolean(x) else lax.add(x, y),
    "and": lax.bitwise_and,
    "atan2": lax.atan2,
    "complex": lax.complex,
    "divide": lax.div,
    "maximum": lax.max,
    "minimum": lax.min,
    "multiply": lambda x, y: lax.bitwise_and(x, y) if _is_boolean(x) else lax.mul(x, y),
    "or": lax.bitwise_or,
    "power": lax.pow,
    "remainder": lax.rem,
    "shift_left": lax.shift_left,
    "shift_right_arithmetic": lax.shift_right_arithmetic,
    "shift_right_logical": lax.shift_right_logical,
    "subtract": lambda x, y: lax.bitwise_xor(x, y) if _is_boolean(x) else lax.sub(x, y),
    "xor": lax.bitwise_xor,
    "chlo.mulhi": lax.mulhi,
    "chlo.next_after": lax.nextafter,
    "chlo.polygamma": lax.polygamma,
    "chlo.zeta": lax.zeta,
}
_COMPARISONS = {"EQ": lax.eq, "NE": lax.ne, "LT": lax.lt, "LE": lax.le, "GT": lax.gt, "GE": lax.ge}


def _is_boolean(x: Value) -> bool:
    return bool(x.dtype == np.bool_)


def _like(x: Value, number: float) -> Value:
    return lax.full(x.shape, number, x.dtype)


def _ignoring_site(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda site, *operands: function(*operands)


for _name, _function in {**_UNARY, **_BINARY, "select": lax.select}.items():
    rule(_name)(_ignoring_site(_function))


@rule("clamp")
def _clamp(site: Site, low: Value, x: Value, high: Value) -> Value:
    return lax.clamp(low, x, high)


@rule("convert")
def _convert(site: Site, x: Value) -> Value:
    dtype = site.dtype()
    if np.issubdtype(x.dtype, np.complexfloating) and dtype.kind != "c":
        x = lax.real(x)
    return lax.convert_element_type(x, dtype)


@rule("bitcast_convert")
def _bitcast_convert(site: Site, x: Value) -> Value:
    return x if x.dtype == site.dtype() else lax.bitcast_convert_type(x, site.dtype())


@rule("reduce_precision")
def _reduce_precision(site: Site, x: Value) -> Value:
    return lax.reduce_precision(x, site.integer("exponent_bits"), site.integer("mantissa_bits"))


@rule("compare")
def compare(site: Site, x: Value, y: Value) -> Value:
    if site.word("compare_type") == "TOTALORDER" and x.dtype.kind not in "iub":
        x, y = ordered_bits(x), ordered_bits(y)
    return _COMPARISONS[site.word("comparison_direction")](x, y)


def ordered_bits(x: Value) -> Value:
    """Floats as signed integers whose order is the total order of IEEE 754."""
    return order_of_bits(lax.bitcast_convert_type(x, np.dtype(f"int{x.dtype.itemsize * 8}")))


@rule("optimization_barrier")
def _barrier(site: Site, *operands: Value) -> list[Value]:
    return list(lax.optimization_barrier(tuple(operands)))


@rule("chlo.constant_like")
def _constant_like(site: Site, x: Value) -> Value:
    value = site.op.attributes["value"].value
    return lax.full(x.shape, value, x.dtype)


def _broadcasting(name: str) -> Callable[..., Any]:
    """An operation of CHLO that lets its operands broadcast as NumPy does."""

    def apply(site: Site, *operands: Value) -> Value:
        shape = np.broadcast_shapes(*(x.shape for x in operands))
        ready = []
        for x in operands:
            axes = range(len(shape) - len(x.shape), len(shape))
            ready.append(x if x.shape == shape else lax.broadcast_in_dim(x, shape, tuple(axes)))
        return RULES[name](site, *ready)

    return apply


for _name in (*_BINARY, "compare", "select"):
    if "." not in _name:
        rule(f"chlo.broadcast_{_name}")(_broadcasting(f"stablehlo.{_name}"))
for _name in ("next_after", "polygamma", "zeta"):
    rule(f"chlo.broadcast_{_name}")(_broadcasting(f"chlo.{_name}"))

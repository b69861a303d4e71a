"""Elementwise operations: each is one function of `stagec.lax`, or a few."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from passes import operations
from passes.numeric.elementwise import order_of_bits
from stagec import lax, numpy as snp
from stagec.core import dtypes
from stagec.core.primitive import Primitive
from stagec.foreign.site import RULES, Site, Value, rule

# Operations that one row is lowered to are the row's function.
_ROWS: dict[str, Callable[..., Any]] = {
    row.lower.removeprefix("stablehlo."): getattr(lax, row.name if hasattr(lax, row.name) else f"bitwise_{row.name}")
    for row in tuple(Primitive.registry.values())
    if isinstance(row.lower, str)
}
_OTHERS: dict[str, Callable[..., Any]] = {
    "abs": lax.abs,
    "add": lambda x, y: lax.bitwise_or(x, y) if _is_boolean(x) else lax.add(x, y),
    "atan2": lax.atan2,
    "clamp": lax.clamp,
    "cbrt": lambda x: lax.pow(x, _like(x, 1 / 3)) if _is_complex(x) else lax.cbrt(x),
    "count_leading_zeros": lambda x: _leading_zeros(x),
    "imag": lambda x: lax.imag(x) if _is_complex(x) else _like(x, 0),
    "maximum": lambda x, y: lax.select(_precedes(y, x), x, y) if _is_complex(x) else lax.max(x, y),
    "minimum": lambda x, y: lax.select(_precedes(x, y), x, y) if _is_complex(x) else lax.min(x, y),
    "multiply": lambda x, y: lax.bitwise_and(x, y) if _is_boolean(x) else lax.mul(x, y),
    "negate": lax.neg,
    "optimization_barrier": lambda *operands: list(lax.optimization_barrier(operands)),
    "power": lambda x, y: _integer_power(x, y) if dtypes.is_integer(x.dtype) else lax.pow(x, y),
    "real": lambda x: lax.real(x) if _is_complex(x) else x,
    "round_nearest_afz": lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO),
    "round_nearest_even": lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN),
    "select": lax.select,
    "shift_left": lax.shift_left,
    "shift_right_arithmetic": lambda x, y: _sign_shifted(x, y),
    "shift_right_logical": lax.shift_right_logical,
    "sign": lax.sign,
    "subtract": lambda x, y: lax.bitwise_xor(x, y) if _is_boolean(x) else lax.sub(x, y),
    "chlo.bessel_i1e": lax.bessel_i1e,
    "chlo.conj": lambda x: lax.conj(x) if _is_complex(x) else x,
    "chlo.is_inf": lambda x: lax.eq(lax.abs(x), _like(x, np.inf)),
    "chlo.is_neg_inf": lambda x: lax.eq(x, _like(x, -np.inf)),
    "chlo.is_pos_inf": lambda x: lax.eq(x, _like(x, np.inf)),
    "chlo.mulhi": lambda x, y: _upper_half(x, y) if x.dtype in dtypes.SUB_BYTE else lax.mulhi(x, y),
    "chlo.next_after": lax.nextafter,
    "chlo.polygamma": lax.polygamma,
    "chlo.square": lambda x: _complex_square(x) if _is_complex(x) else lax.square(x),
    "chlo.tan": lax.tan,
    "chlo.zeta": lax.zeta,
}
_COMPARISONS = {"EQ": lax.eq, "NE": lax.ne, "LT": lax.lt, "LE": lax.le, "GT": lax.gt, "GE": lax.ge}


def _is_boolean(x: Value) -> bool:
    return bool(x.dtype == np.bool_)


def _is_complex(x: Value) -> bool:
    return bool(x.dtype.kind == "c")


def _precedes(x: Value, y: Value) -> Value:
    """Whether complex `x` is less than `y`: by its real part, and by the imaginary one where these are equal."""
    equal = lax.eq(lax.real(x), lax.real(y))
    return lax.select(equal, lax.lt(lax.imag(x), lax.imag(y)), lax.lt(lax.real(x), lax.real(y)))


def _leading_zeros(x: Value) -> Value:
    if x.dtype not in dtypes.SUB_BYTE:
        return lax.clz(x)
    bits = dtypes.itemsize_bits(x.dtype)
    wide = lax.bitwise_and(lax.convert_element_type(x, np.uint8), np.asarray((1 << bits) - 1, np.uint8))
    return lax.convert_element_type(lax.sub(lax.clz(wide), np.asarray(8 - bits, np.uint8)), x.dtype)


def _upper_half(x: Value, y: Value) -> Value:
    """The upper half of the bits of products of integers shorter than a byte."""
    wide = lax.mul(*(lax.convert_element_type(v, np.int16) for v in (x, y)))
    bits = np.asarray(dtypes.itemsize_bits(x.dtype), np.int16)
    return lax.convert_element_type(lax.shift_right_arithmetic(wide, bits), x.dtype)


def _sign_shifted(x: Value, y: Value) -> Value:
    if x.dtype not in (dtypes.uint2, dtypes.uint4):
        return lax.shift_right_arithmetic(x, y)
    signed = dtypes.int4 if x.dtype == dtypes.uint4 else dtypes.int2
    shifted = lax.shift_right_arithmetic(*(lax.bitcast_convert_type(v, signed) for v in (x, y)))
    return lax.bitcast_convert_type(shifted, x.dtype)


def _integer_power(x: Value, y: Value) -> Value:
    """`x ** y`, which wraps around; to a negative power, the inverses of 1 and -1, and 0 for others."""
    zero, one = _like(x, 0), _like(x, 1)
    odd = lax.ne(lax.bitwise_and(y, one), zero)
    # The lowest bit of the exponent decides for 1 and -1.
    unit = lax.eq(lax.abs(x), one)
    inverse = lax.select(unit, lax.select(odd, x, one), zero)

    def step(state: tuple[Value, Value, Value]) -> tuple[Value, Value, Value]:
        result, base, rest = state
        taken = lax.select(lax.ne(lax.bitwise_and(rest, one), zero), lax.mul(result, base), result)
        return taken, lax.mul(base, base), lax.shift_right_logical(rest, one)

    negative = lax.lt(y, zero)
    start = (one, x, lax.select(negative, zero, y))
    powers, _, _ = lax.while_loop(lambda state: snp.any(lax.ne(state[2], zero)), step, start)
    return lax.select(negative, inverse, powers)


def _complex_square(x: Value) -> Value:
    """`x * x` without the cancellation, and the overflow, of the difference of the squares of its parts."""
    a, b = lax.real(x), lax.imag(x)
    equal = lax.bitwise_and(lax.eq(lax.abs(a), lax.abs(b)), lax.is_finite(a))
    real = lax.select(equal, _like(a, 0), lax.mul(lax.sub(a, b), lax.add(a, b)))
    return lax.complex(real, lax.mul(lax.add(a, a), b))


def _like(x: Value, number: float) -> Value:
    return lax.full(x.shape, number, x.dtype)


def _ignoring_site(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda site, *operands: function(*operands)


for _name, _function in {**_ROWS, **_OTHERS}.items():
    rule(_name)(_ignoring_site(_function))


@rule("convert")
def _convert(site: Site, x: Value) -> Value:
    dtype = site.dtype()
    if np.issubdtype(x.dtype, np.complexfloating) and dtype.kind != "c":
        x = lax.real(x)
    return lax.convert_element_type(x, dtype)


@rule("bitcast_convert")
def _bitcast_convert(site: Site, x: Value) -> Value:
    old, new = (dtypes.itemsize_bits(d) for d in (x.dtype, site.dtype()))
    if x.dtype == site.dtype():
        return x
    if old == new or min(old, new) >= 8:
        return lax.bitcast_convert_type(x, site.dtype())
    return _unpacked(x, old, new, site.dtype()) if new < old else _packed(x, old, new, site.dtype())


def _unpacked(x: Value, old: int, new: int, dtype: np.dtype[Any]) -> Value:
    """The parts of each element, of fewer bits than a byte, along a last axis; the lowest first."""
    wide = np.dtype(f"uint{old}") if old >= 8 else dtypes.uint4
    bits = x if x.dtype == wide else lax.bitcast_convert_type(x, wide)
    bits = lax.convert_element_type(bits, np.dtype(f"uint{max(old, 8)}"))
    shape = (*x.shape, old // new)
    places = lax.mul(lax.broadcasted_iota(bits.dtype, shape, len(x.shape)), np.asarray(new, bits.dtype))
    parts = lax.shift_right_logical(lax.broadcast_in_dim(bits, shape, range(len(x.shape))), places)
    parts = lax.bitwise_and(parts, lax.full(shape, (1 << new) - 1, bits.dtype))
    narrow = lax.convert_element_type(parts, dtypes.uint4 if new == 4 else dtypes.uint2)
    return narrow if narrow.dtype == dtype else lax.bitcast_convert_type(narrow, dtype)


def _packed(x: Value, old: int, new: int, dtype: np.dtype[Any]) -> Value:
    """Elements of fewer bits than a byte, joined along the last axis; the first is the lowest."""
    narrow = dtypes.uint4 if old == 4 else dtypes.uint2
    bits = x if x.dtype == narrow else lax.bitcast_convert_type(x, narrow)
    bits = lax.convert_element_type(bits, np.dtype(f"uint{max(new, 8)}"))
    places = lax.mul(lax.broadcasted_iota(bits.dtype, x.shape, len(x.shape) - 1), np.asarray(old, bits.dtype))
    # No two parts share a bit, so the sum is their union.
    whole = lax.reduce(lax.shift_left(bits, places), np.zeros((), bits.dtype), lax.add, (len(x.shape) - 1,))
    whole = lax.convert_element_type(whole, np.dtype(f"uint{new}") if new >= 8 else dtypes.uint4)
    return whole if whole.dtype == dtype else lax.bitcast_convert_type(whole, dtype)


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


for _name in operations.names("chlo"):
    if _name.startswith("chlo.broadcast_"):
        _plain = _name.removeprefix("chlo.broadcast_")
        rule(_name)(_broadcasting(f"stablehlo.{_plain}" if f"stablehlo.{_plain}" in RULES else f"chlo.{_plain}"))

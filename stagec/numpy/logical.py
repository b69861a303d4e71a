"""NumPy's comparisons, logical and bitwise ufuncs, and tests of each element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stagec.core import dtypes
from stagec.core.array import Array
from stagec.core.operators import ArrayOperators
from stagec.numpy.arguments import array_argument
from stagec.numpy.arithmetic import absolute, dtype_of, reject
from stagec.numpy.promotion import promote, promote_numeric, truth
from stagec.primitives import arithmetic as ar, complex as cplx, logic
from stagec.primitives.convert import convert_element_type
from stagec.primitives.operand import Operand, as_operand, aval_of, literal
from stagec.primitives.shape import broadcast_in_dim
from stagec.typing import ArrayLike

__all__ = [
    "bitwise_and", "bitwise_count", "bitwise_invert", "bitwise_left_shift", "bitwise_not", "bitwise_or",
    "bitwise_right_shift", "bitwise_xor", "equal", "greater", "greater_equal", "invert", "isclose", "iscomplex",
    "iscomplexobj", "isfinite", "isinf", "isnan", "isneginf", "isposinf", "isreal", "isrealobj", "isscalar",
    "left_shift", "less", "less_equal", "logical_and", "logical_not", "logical_or", "logical_xor", "not_equal",
    "right_shift",
]  # fmt: skip


def filled(x: Operand, value: bool) -> Array:
    """Return a bool array of the operand's shape that repeats a value."""
    aval = aval_of(x)
    return broadcast_in_dim(literal(value, dtypes.bool_, aval.weak_type), aval.shape, ())


def equal(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """`x1 == x2`.

    >>> bool(equal(2, 2.0))
    True
    """
    return _compared("equal", logic.eq, x1, x2)


def not_equal(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """`x1 != x2`; true where either is NaN.

    >>> bool(not_equal(2.0, 3.0))
    True
    """
    return _compared("not_equal", logic.ne, x1, x2)


def less(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """`x1 < x2`; complex numbers compare by real part first.

    >>> bool(less(2.0, 3.0))
    True
    """
    return _compared("less", logic.lt, x1, x2)


def less_equal(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """`x1 <= x2`; complex numbers compare by real part first.

    >>> bool(less_equal(2.0, 3.0))
    True
    """
    return _compared("less_equal", logic.le, x1, x2)


def greater(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """`x1 > x2`; complex numbers compare by real part first.

    >>> bool(greater(2.0, 3.0))
    False
    """
    return _compared("greater", logic.gt, x1, x2)


def greater_equal(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """`x1 >= x2`; complex numbers compare by real part first.

    >>> bool(greater_equal(2.0, 3.0))
    False
    """
    return _compared("greater_equal", logic.ge, x1, x2)


def _compared(name: str, compare: Callable[..., Array], x1: Any, x2: Any) -> Array:
    first, second = _beyond(x1, x2), _beyond(x2, x1)
    if first or second:
        return filled(as_operand(x2 if first else x1), bool(getattr(np, name)(first, second)))
    x, y = promote(name, x1, x2)
    if not dtypes.is_complex(dtype_of(x)) or compare in (logic.eq, logic.ne):
        return compare(x, y)
    a, b = cplx.real(x), cplx.real(y)
    return logic.select(logic.eq(a, b), compare(cplx.imag(x), cplx.imag(y)), compare(a, b))


def _beyond(number: Any, array: Any) -> int:
    """Return 1 if a Python integer is above the range of the array's dtype, -1 if below, 0 if it fits."""
    if not isinstance(number, int) or isinstance(array, (int, float, complex)):
        return 0
    dtype = aval_of(as_operand(array)).dtype
    if dtypes.is_inexact(dtype) or dtype == dtypes.KEY:
        return 0
    low, high = dtypes.integer_range(dtypes.default_int() if dtypes.is_bool(dtype) else dtype)
    return (number > high) - (number < low)


def logical_and(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Whether both are nonzero.

    >>> bool(logical_and(1, 0))
    False
    """
    x, y = promote("logical_and", x1, x2)
    return logic.bitwise_and(truth(x), truth(y))


def logical_or(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Whether either is nonzero.

    >>> bool(logical_or(1, 0))
    True
    """
    x, y = promote("logical_or", x1, x2)
    return logic.bitwise_or(truth(x), truth(y))


def logical_xor(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Whether exactly one is nonzero.

    >>> bool(logical_xor(1, 0))
    True
    """
    x, y = promote("logical_xor", x1, x2)
    return logic.bitwise_xor(truth(x), truth(y))


def logical_not(x: ArrayLike, /) -> Array:
    """Whether each element is zero.

    >>> bool(logical_not(0))
    True
    """
    return logic.bitwise_not(truth(as_operand(x, "logical_not's argument")))


def _bit_operands(name: str, *values: Any) -> list[Operand]:
    operands = promote(name, *values)
    dtype = dtype_of(operands[0])
    if dtypes.is_inexact(dtype):
        raise reject(name, dtype, "convert with astype(int), or reinterpret the bits with x.view('uint32')")
    return operands


def bitwise_and(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The bits that are set in both; logical and for bools.

    >>> int(bitwise_and(6, 3))
    2
    """
    return logic.bitwise_and(*_bit_operands("bitwise_and", x1, x2))


def bitwise_or(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The bits that are set in either; logical or for bools.

    >>> int(bitwise_or(6, 3))
    7
    """
    return logic.bitwise_or(*_bit_operands("bitwise_or", x1, x2))


def bitwise_xor(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The bits that are set in one only.

    >>> int(bitwise_xor(6, 3))
    5
    """
    return logic.bitwise_xor(*_bit_operands("bitwise_xor", x1, x2))


def bitwise_not(x: ArrayLike, /) -> Array:
    """Every bit flipped; logical not for bools.

    >>> int(bitwise_not(5))
    -6
    """
    return logic.bitwise_not(*_bit_operands("bitwise_not", x))


invert = bitwise_invert = bitwise_not


def left_shift(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """`x1 << x2`; 0 where `x2` is not less than the number of bits.

    >>> int(left_shift(3, 2))
    12
    """
    return logic.shift_left(*_shift_operands("left_shift", x1, x2))


def right_shift(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """`x1 >> x2`; signed integers are filled with the sign bit.

    >>> int(right_shift(-8, 1))
    -4
    """
    x, y = _shift_operands("right_shift", x1, x2)
    shift = logic.shift_right_logical if dtypes.is_unsigned(dtype_of(x)) else logic.shift_right_arithmetic
    return shift(x, y)


bitwise_left_shift, bitwise_right_shift = left_shift, right_shift


def _shift_operands(name: str, x1: Any, x2: Any) -> list[Operand]:
    operands = promote_numeric(name, x1, x2)
    if dtypes.is_inexact(dtype_of(operands[0])):
        raise reject(name, dtype_of(operands[0]), "convert with astype(int)")
    return operands


def bitwise_count(x: ArrayLike, /) -> Array:
    """How many bits of the absolute value are set, as uint8.

    >>> int(bitwise_count(7))
    3
    """
    (x,) = promote_numeric("bitwise_count", x)
    if dtypes.is_inexact(dtype_of(x)):
        raise reject("bitwise_count", dtype_of(x), "convert with astype(int)")
    return convert_element_type(logic.population_count(absolute(x)), dtypes.uint8)


def isnan(x: ArrayLike, /) -> Array:
    """Whether each element is NaN.

    >>> bool(isnan(float('nan')))
    True
    """
    x = as_operand(x, "isnan's argument")
    return logic.ne(x, x) if dtypes.is_inexact(dtype_of(x)) else filled(x, False)


def isfinite(x: ArrayLike, /) -> Array:
    """Whether each element is neither infinite nor NaN.

    >>> bool(isfinite(1.0))
    True
    """
    return _of_parts("isfinite", x, logic.is_finite, logic.bitwise_and, True)


def isinf(x: ArrayLike, /) -> Array:
    """Whether each element is infinite.

    >>> bool(isinf(float('inf')))
    True
    """
    found = _of_parts("isinf", x, lambda v: logic.eq(ar.abs(v), float("inf")), logic.bitwise_or, False)
    return convert_element_type(found, dtypes.bool_)


def _of_parts(
    name: str, x: Any, test: Callable[[Any], Array], join: Callable[[Any, Any], Array], of_integers: bool
) -> Array:
    x = array_argument(x, f"{name}'s argument")
    dtype = dtype_of(x)
    if dtypes.is_complex(dtype):
        return join(test(cplx.real(x)), test(cplx.imag(x)))
    return test(x) if dtypes.is_float(dtype) else convert_element_type(filled(x, of_integers), dtypes.bool_)


def isposinf(x: ArrayLike, /) -> Array:
    """Whether each element is positive infinity.

    >>> bool(isposinf(float('inf')))
    True
    """
    return _is_infinity("isposinf", x, float("inf"))


def isneginf(x: ArrayLike, /) -> Array:
    """Whether each element is negative infinity.

    >>> bool(isneginf(float('inf')))
    False
    """
    return _is_infinity("isneginf", x, -float("inf"))


def _is_infinity(name: str, x: Any, infinity: float) -> Array:
    x = as_operand(x, f"{name}'s argument")
    dtype = dtype_of(x)
    if dtypes.is_complex(dtype):
        raise reject(name, dtype, "take the parts with real() and imag() first")
    found = logic.eq(x, infinity) if dtypes.is_float(dtype) else filled(x, False)
    return convert_element_type(found, dtypes.bool_)


def isreal(x: ArrayLike) -> Array:
    """Whether each element has no imaginary part.

    >>> bool(isreal(1j))
    False
    """
    x = as_operand(x, "isreal's argument")
    return logic.eq(cplx.imag(x), 0) if dtypes.is_complex(dtype_of(x)) else filled(x, True)


def iscomplex(x: ArrayLike) -> Array:
    """Whether each element has an imaginary part.

    >>> bool(iscomplex(1j))
    True
    """
    x = as_operand(x, "iscomplex's argument")
    return logic.ne(cplx.imag(x), 0) if dtypes.is_complex(dtype_of(x)) else filled(x, False)


def iscomplexobj(x: ArrayLike) -> bool:
    """Whether the dtype of `x` is complex; lists and tuples are looked into.

    >>> iscomplexobj(1j)
    True
    """
    if isinstance(x, (list, tuple)):
        return any(iscomplexobj(v) for v in x)
    dtype = getattr(x, "dtype", None)
    return dtypes.is_complex(dtype) if dtype is not None else isinstance(x, complex)


def isrealobj(x: ArrayLike) -> bool:
    """Whether the dtype of `x` is not complex.

    >>> isrealobj(1j)
    False
    """
    return not iscomplexobj(x)


def isscalar(element: object) -> bool:
    """Whether `element` is a number, or an array of rank 0.

    >>> isscalar(2.5)
    True
    """
    if isinstance(element, (ArrayOperators, np.ndarray)):
        return element.ndim == 0
    return np.isscalar(element)


def isclose(
    a: ArrayLike, b: ArrayLike, rtol: ArrayLike = 1e-5, atol: ArrayLike = 1e-8, equal_nan: bool = False
) -> Array:
    """Whether `|a - b| <= atol + rtol * |b|`; infinities are close to themselves.

    Args:
      a, b: arrays that broadcast together.
      rtol, atol: relative and absolute tolerance.
      equal_nan: NaN is close to NaN.

    >>> bool(isclose(1.0, 1.0 + 1e-7))
    True
    """
    x, y = promote("isclose", a, b)
    dtype = dtype_of(x)
    if not dtypes.is_inexact(dtype):
        if dtype in (dtypes.bool_, dtypes.KEY):
            return logic.eq(x, y)
        x, y = (convert_element_type(v, dtypes.to_inexact(dtype)) for v in (x, y))
    real = dtypes.real_dtype(dtype_of(x))
    rtol, atol = (convert_element_type(as_operand(t), real) for t in (rtol, atol))
    limit = ar.add(atol, ar.mul(ar.abs(y), rtol))
    near = logic.le(ar.abs(ar.sub(x, y)), limit)
    finite = logic.bitwise_and(isfinite(x), isfinite(y))
    # By the formula, infinities are close to everything.
    out = logic.select(finite, near, logic.eq(x, y))
    if equal_nan:
        out = logic.bitwise_or(out, logic.bitwise_and(isnan(x), isnan(y)))
    return out

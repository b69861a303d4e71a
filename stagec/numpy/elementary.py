"""NumPy's exponential, logarithmic, trigonometric and hyperbolic ufuncs."""

from __future__ import annotations

import math
from typing import Any

from stagec.core import dtypes
from stagec.core.array import Array
from stagec.numpy.arithmetic import dtype_of
from stagec.numpy.promotion import promote_floating, promote_inexact
from stagec.primitives import arithmetic as ar, complex as cplx, logic, special, transcendental as tr
from stagec.primitives.checks import HALF
from stagec.primitives.convert import convert_element_type
from stagec.typing import ArrayLike

__all__ = [
    "acos", "acosh", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "asin", "asinh",
    "atan", "atan2", "atanh", "cos", "cosh", "deg2rad", "degrees", "exp", "exp2", "expm1", "i0", "log", "log1p",
    "log2", "log10", "rad2deg", "radians", "sin", "sinc", "sinh", "tan", "tanh",
]  # fmt: skip


def exp(x: ArrayLike, /) -> Array:
    """e to the power of each element.

    >>> round(float(exp(0.5)), 4)
    1.6487
    """
    return tr.exp(promote_inexact(x)[0])


def exp2(x: ArrayLike, /) -> Array:
    """2 to the power of each element.

    >>> round(float(exp2(3.0)), 4)
    8.0
    """
    return tr.exp2(promote_inexact(x)[0])


def expm1(x: ArrayLike, /) -> Array:
    """`exp(x) - 1`, accurate near 0.

    >>> round(float(expm1(0.5)), 4)
    0.6487
    """
    return tr.expm1(promote_inexact(x)[0])


def log(x: ArrayLike, /) -> Array:
    """The natural logarithm; NaN for negative real numbers.

    >>> round(float(log(0.5)), 4)
    -0.6931
    """
    return tr.log(promote_inexact(x)[0])


def log1p(x: ArrayLike, /) -> Array:
    """`log(1 + x)`, accurate near 0.

    >>> round(float(log1p(0.5)), 4)
    0.4055
    """
    return tr.log1p(promote_inexact(x)[0])


def log2(x: ArrayLike, /) -> Array:
    """The logarithm to base 2.

    >>> round(float(log2(8.0)), 4)
    3.0
    """
    return _log_to_base(x, 1 / math.log(2))


def log10(x: ArrayLike, /) -> Array:
    """The logarithm to base 10.

    >>> round(float(log10(1000.0)), 4)
    3.0
    """
    return _log_to_base(x, 1 / math.log(10))


def _log_to_base(x: Any, factor: float) -> Array:
    (x,) = promote_inexact(x)
    if (dtype := dtype_of(x)) in HALF:  # rounded once
        return convert_element_type(_log_to_base(convert_element_type(x, dtypes.float32), factor), dtype)
    out = tr.log(x)
    if not dtypes.is_complex(dtype_of(x)):
        return ar.mul(out, factor)
    return cplx.complex(ar.mul(cplx.real(out), factor), ar.mul(cplx.imag(out), factor))


def sin(x: ArrayLike, /) -> Array:
    """The sine of angles in radians.

    >>> round(float(sin(0.5)), 4)
    0.4794
    """
    return tr.sin(promote_inexact(x)[0])


def cos(x: ArrayLike, /) -> Array:
    """The cosine of angles in radians.

    >>> round(float(cos(0.5)), 4)
    0.8776
    """
    return tr.cos(promote_inexact(x)[0])


def tan(x: ArrayLike, /) -> Array:
    """The tangent of angles in radians.

    >>> round(float(tan(0.5)), 4)
    0.5463
    """
    return tr.tan(promote_inexact(x)[0])


def arcsin(x: ArrayLike, /) -> Array:
    """The angle in radians whose sine is `x`; NaN outside [-1, 1].

    >>> round(float(arcsin(0.5)), 4)
    0.5236
    """
    return tr.asin(*promote_inexact(x))


def arccos(x: ArrayLike, /) -> Array:
    """The angle in radians whose cosine is `x`; NaN outside [-1, 1].

    >>> round(float(arccos(0.5)), 4)
    1.0472
    """
    return tr.acos(*promote_inexact(x))


def arctan(x: ArrayLike, /) -> Array:
    """The angle in radians whose tangent is `x`.

    >>> round(float(arctan(0.5)), 4)
    0.4636
    """
    return tr.atan(*promote_inexact(x))


def arctan2(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The angle in radians of the point with ordinate `x1` and abscissa `x2`.

    >>> round(float(arctan2(1.0, -1.0)), 4)
    2.3562
    """
    return tr.atan2(*promote_floating("arctan2", x1, x2))


def sinh(x: ArrayLike, /) -> Array:
    """The hyperbolic sine.

    >>> round(float(sinh(0.5)), 4)
    0.5211
    """
    return tr.sinh(*promote_inexact(x))


def cosh(x: ArrayLike, /) -> Array:
    """The hyperbolic cosine.

    >>> round(float(cosh(0.5)), 4)
    1.1276
    """
    return tr.cosh(*promote_inexact(x))


def tanh(x: ArrayLike, /) -> Array:
    """The hyperbolic tangent.

    >>> round(float(tanh(0.5)), 4)
    0.4621
    """
    return tr.tanh(promote_inexact(x)[0])


def arcsinh(x: ArrayLike, /) -> Array:
    """The inverse hyperbolic sine.

    >>> round(float(arcsinh(0.5)), 4)
    0.4812
    """
    return tr.asinh(*promote_inexact(x))


def arccosh(x: ArrayLike, /) -> Array:
    """The inverse hyperbolic cosine; NaN below 1.

    >>> round(float(arccosh(2.0)), 4)
    1.317
    """
    return tr.acosh(*promote_inexact(x))


def arctanh(x: ArrayLike, /) -> Array:
    """The inverse hyperbolic tangent; NaN outside [-1, 1].

    >>> round(float(arctanh(0.5)), 4)
    0.5493
    """
    return tr.atanh(*promote_inexact(x))


asin, acos, atan, atan2 = arcsin, arccos, arctan, arctan2
asinh, acosh, atanh = arcsinh, arccosh, arctanh


def deg2rad(x: ArrayLike, /) -> Array:
    """Degrees to radians.

    >>> round(float(deg2rad(180)), 4)
    3.1416
    """
    (x,) = promote_inexact(x)
    return ar.mul(x, math.pi / 180)


def rad2deg(x: ArrayLike, /) -> Array:
    """Radians to degrees.

    >>> round(float(rad2deg(3.14159265)), 4)
    180.0
    """
    (x,) = promote_inexact(x)
    return ar.mul(x, 180 / math.pi)


radians, degrees = deg2rad, rad2deg


def sinc(x: ArrayLike, /) -> Array:
    """`sin(pi x) / (pi x)`, and 1 at 0. Derivatives of every order are accurate at and near 0.

    >>> round(float(sinc(0.5)), 4)
    0.6366
    """
    (x,) = promote_inexact(x)
    angle = ar.mul(x, math.pi)
    # Near 0, derivatives of the quotient lose all digits; those of its power series lose none.
    near = logic.lt(ar.abs(angle), 1.0)
    far = logic.select(near, 1.0, angle)
    square = ar.square(logic.select(near, angle, 0.0))
    *terms, series = _SINC if dtypes.real_dtype(dtype_of(x)) == dtypes.float64 else _SINC[:_IN_FLOAT32]
    for coefficient in reversed(terms):
        series = ar.add(ar.mul(series, square), coefficient)
    return logic.select(near, series, ar.div(_sine_of_half_turns(x, far), far))


def _sine_of_half_turns(x: Array, angle: Array) -> Array:
    """Return `sin(pi x)`, for real `x` from its distance to the nearest integer, which is exact; `angle` is `pi x`."""
    if dtypes.is_complex(dtype_of(x)):
        return tr.sin(angle)
    whole = ar.round(x, ar.RoundingMethod.TO_NEAREST_EVEN)
    odd = logic.ne(ar.mul(ar.floor(ar.mul(whole, 0.5)), 2.0), whole)
    part = tr.sin(ar.mul(ar.sub(x, whole), math.pi))
    return logic.select(odd, ar.neg(part), part)


# Power series of sin(a) / a in the square of a, with enough terms for float64 and its derivatives up to |a| = 1.
_SINC = [(-1) ** n / math.factorial(2 * n + 1) for n in range(13)]
_IN_FLOAT32 = 9  # terms


def i0(x: ArrayLike) -> Array:
    """The modified Bessel function of the first kind, order 0.

    >>> round(float(i0(1.0)), 4)
    1.2661
    """
    (x,) = promote_inexact(x)
    # Not abs(x), whose derivative at 0 is 1.
    half = tr.exp(ar.mul(ar.mul(x, ar.sign(x)), 0.5))  # twice, so that only the result overflows
    return ar.mul(ar.mul(half, special.bessel_i0e(x)), half)

"""Special functions: error functions, gamma functions, Bessel functions."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from passes.numeric import special as values
from passes.numeric.elementwise import through_float64
from stagec.core import dtypes, errors, location
from stagec.core.array import Array
from stagec.core.dtypes import FLOATING
from stagec.core.primitive import NOT_LINEAR, SinglePrimitive
from stagec.primitives import arithmetic as ar, logic
from stagec.primitives.operand import Operand, as_operand, promote_weak_scalars
from stagec.primitives.precision import Accuracy, check_accuracy
from stagec.primitives.rules import each
from stagec.primitives.table import elementwise, spread
from stagec.primitives.transcendental import exp
from stagec.typing import ArrayLike

__all__ = [
    "bessel_i0e", "bessel_i0e_p", "bessel_i1e", "bessel_i1e_p", "digamma", "digamma_p", "erf", "erf_inv",
    "erf_inv_p", "erf_p", "erfc", "erfc_p", "lgamma", "lgamma_p", "polygamma", "polygamma_p", "zeta", "zeta_p",
]  # fmt: skip


def _special(
    name: str, evaluate: Callable[..., Any], lower: Any, jvp: Any, numpy_ns: float, numpy_us: float
) -> SinglePrimitive:
    return elementwise(
        name,
        accepts=FLOATING,
        eval=through_float64(evaluate),
        lower=lower,
        jvp=jvp,
        transpose=NOT_LINEAR,
        numpy_ns=numpy_ns,
        numpy_us=numpy_us,
    )


def no_derivative(name: str, what: str) -> Callable[..., Any]:
    """The contribution of an operand by which the row has no derivative: it raises."""

    def contribution(*args: Any) -> Any:
        raise location.error(
            errors.UnsupportedError,
            f"{name} has no derivative by {what}",
            fix="use stagec.lax.stop_gradient on it, if it is a constant",
        )

    return contribution


def _binary(op: str) -> Callable[..., Any]:
    return lambda cx, x, y: cx.emit(op, spread(cx, [x, y]))


def _gauss(x: Operand) -> Operand:
    """The derivative of the error function."""
    return ar.mul(exp(ar.neg(ar.square(x))), 2 / math.sqrt(math.pi))


def _bessel_i1e_jvp(out: Operand, x: Operand, t: Operand) -> Operand:
    # i0e(x) - out * (sign(x) + 1/x), which at 0 is 1/2.
    zero = ar.eq_zero(x)
    safe = logic.select(zero, ar.ones_like(x), x)
    slope = ar.sub(bessel_i0e(safe), ar.mul(out, ar.add(ar.sign(safe), ar.div(1, safe))))
    return ar.mul(t, logic.select(zero, ar.mul(ar.ones_like(x), 0.5), slope))


erf_p = _special("erf", values.erf, "chlo.erf", each(lambda x, t: ar.mul(t, _gauss(x))), 70, 3)
erfc_p = _special("erfc", values.erfc, "chlo.erfc", each(lambda x, t: ar.neg(ar.mul(t, _gauss(x)))), 75, 3)
erf_inv_p = _special(
    "erf_inv", values.erf_inv, "chlo.erf_inv", each(lambda out, x, t: ar.div(t, _gauss(out)), result=True), 400, 40
)
lgamma_p = _special("lgamma", values.lgamma, "chlo.lgamma", each(lambda x, t: ar.mul(t, digamma(x))), 1000, 50)
digamma_p = _special("digamma", values.digamma, "chlo.digamma", each(lambda x, t: ar.mul(t, polygamma(1.0, x))), 65, 40)
polygamma_p = _special(
    "polygamma",
    values.polygamma,
    _binary("chlo.polygamma"),
    each(no_derivative("polygamma", "its order"), lambda n, x, t: ar.mul(t, polygamma(ar.add(n, 1), x))),
    600,
    140,
)


zeta_p = _special(
    "zeta",
    values.zeta,
    _binary("chlo.zeta"),
    each(no_derivative("zeta", "its exponent"), lambda x, q, t: ar.mul(t, ar.mul(ar.neg(x), zeta(ar.add(x, 1), q)))),
    300,
    90,
)


def _clenshaw(t: Operand, coefficients: tuple[float, ...]) -> Operand:
    """The Chebyshev series with these coefficients, highest first, at `t` in [-1, 1]."""
    b1: Any = ar.mul(t, 0.0)
    b2: Any = b1
    twice = ar.mul(t, 2.0)
    for c in coefficients[:-1]:
        b1, b2 = ar.add(ar.sub(ar.mul(twice, b1), b2), c), b1
    return ar.add(ar.sub(ar.mul(t, b1), b2), coefficients[-1])


@functools.cache
def _chebyshev(order: int, far: bool, terms: int) -> tuple[float, ...]:
    """Chebyshev coefficients, highest first, of the scaled Bessel functions.

    Near: of `exp(-x) I(x)` (over x for order 1) on [0, 8], in `x / 4 - 1`.
    Far: of `sqrt(x) exp(-x) I(x)` on [8, inf), in `16 / x - 1`.
    """

    def near_value(t: Any) -> Any:
        x = np.maximum(4 * (t + 1), 1e-6)
        return values.bessel_e(order, x) / x if order else values.bessel_e(order, x)

    def far_value(t: Any) -> Any:
        x = 16 / np.maximum(t + 1, 1e-12)
        return np.sqrt(x) * values.bessel_e(order, x)

    fitted = np.polynomial.chebyshev.chebinterpolate(far_value if far else near_value, terms - 1)
    return tuple([float(c) for c in fitted[::-1]])


def _bessel_lower(order: int) -> Callable[..., Any]:
    def lower(cx: Any, x: Any) -> Any:
        (aval,) = cx.in_avals
        single = aval.dtype != dtypes.float64
        work = aval.update(dtype=dtypes.float32) if single else aval
        if work.dtype != aval.dtype:
            x = cx.emit("stablehlo.convert", [x], avals=[work])

        def function(x: Operand) -> Operand:
            size = ar.abs(x)
            near_size, far_size = ar.min(size, 8.0), ar.max(size, 8.0)
            near = _clenshaw(ar.sub(ar.mul(near_size, 0.25), 1.0), _chebyshev(order, False, 18 if single else 32))
            if order:
                near = ar.mul(near, near_size)
            inverse = ar.div(16.0, far_size)
            far = _clenshaw(ar.sub(inverse, 1.0), _chebyshev(order, True, 8 if single else 26))
            out = logic.select(logic.le(size, 8.0), near, ar.mul(far, ar.rsqrt(far_size)))
            out = logic.select(logic.ne(x, x), x, out)
            return ar.mul(out, ar.sign(x)) if order else out

        out = cx.apply(function, x, avals=[work])
        return cx.emit("stablehlo.convert", [out]) if work.dtype != aval.dtype else out

    return lower


bessel_i0e_p = _special(
    "bessel_i0e",
    values.bessel_i0e,
    _bessel_lower(0),
    each(lambda out, x, t: ar.mul(t, ar.sub(bessel_i1e(x), ar.mul(ar.sign(x), out))), result=True),
    300,
    160,
)
bessel_i1e_p = _special("bessel_i1e", values.bessel_i1e, _bessel_lower(1), each(_bessel_i1e_jvp, result=True), 300, 160)


def erf(x: ArrayLike) -> Array:
    """The error function of each element.

    >>> round(float(erf(0.5)), 4)
    0.5205
    """
    return erf_p(as_operand(x))


def erfc(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """`1 - erf(x)` for each element, accurate for large x.

    >>> round(float(erfc(0.5)), 4)
    0.4795
    """
    check_accuracy("erfc", accuracy)
    return erfc_p(as_operand(x))


def erf_inv(x: ArrayLike) -> Array:
    """The inverse of `erf`; NaN outside [-1, 1].

    >>> round(float(erf_inv(0.5)), 4)
    0.4769
    """
    return erf_inv_p(as_operand(x))


def lgamma(x: ArrayLike) -> Array:
    """The logarithm of the absolute value of the gamma function.

    >>> round(float(lgamma(0.5)), 4)
    0.5724
    """
    return lgamma_p(as_operand(x))


def digamma(x: ArrayLike) -> Array:
    """The derivative of `lgamma`.

    >>> round(float(digamma(0.5)), 4)
    -1.9635
    """
    return digamma_p(as_operand(x))


def polygamma(m: ArrayLike, x: ArrayLike) -> Array:
    """The `m`-th derivative of `digamma`; `m` holds whole numbers, as floats.

    >>> round(float(polygamma(1, 2.0)), 4)
    0.6449
    """
    return polygamma_p(*promote_weak_scalars(m, x))


def zeta(x: ArrayLike, q: ArrayLike) -> Array:
    """Hurwitz's zeta function: the sum of `(q + k) ** -x` over k = 0, 1, ...

    >>> round(float(zeta(2.0, 1.0)), 4)
    1.6449
    """
    return zeta_p(*promote_weak_scalars(x, q))


def bessel_i0e(x: ArrayLike) -> Array:
    """`exp(-|x|) I0(x)`, with I0 the modified Bessel function of the first kind.

    >>> round(float(bessel_i0e(1.0)), 4)
    0.4658
    """
    return bessel_i0e_p(as_operand(x))


def bessel_i1e(x: ArrayLike) -> Array:
    """`exp(-|x|) I1(x)`, with I1 the modified Bessel function of the first kind.

    >>> round(float(bessel_i1e(0.5)), 4)
    0.1564
    """
    return bessel_i1e_p(as_operand(x))

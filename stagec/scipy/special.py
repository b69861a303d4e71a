"""The special functions of `scipy.special`."""

from __future__ import annotations

import math
from typing import Any

from stagec.core import errors, location
from stagec.core.array import Array
from stagec.core.boundary import publish as _publish
from stagec.core.dtype_info import finfo
from stagec.numpy.arguments import to_array
from stagec.numpy.arithmetic import dtype_of
from stagec.numpy.elementary import i0
from stagec.numpy.promotion import promote_floating, promote_inexact
from stagec.primitives import arithmetic as ar, logic, special as sp, transcendental as tr
from stagec.primitives.axes import as_int
from stagec.primitives.operand import Operand
from stagec.runtime.plans import cover as _cover
from stagec.scipy.arguments import real_operands as _real
from stagec.scipy.derived import derived
from stagec.scipy.error_functions import dawsn, erfcx, owens_t, wofz
from stagec.scipy.exponential_integrals import exp1, expi, expn
from stagec.scipy.gamma_functions import bernoulli, comb, loggamma, spence
from stagec.scipy.harmonics import sph_harm_y
from stagec.scipy.hypergeometric import hyp1f1, hyp2f1
from stagec.scipy.incomplete_beta import betainc
from stagec.scipy.incomplete_gamma import gammainc, gammaincc
from stagec.scipy.oscillating import bessel_jn, fresnel, sici
from stagec.scipy.stirling import log_beta
from stagec.scipy.sums import log_softmax, logsumexp, softmax
from stagec.typing import ArrayLike

__all__ = [
    "bernoulli", "bessel_jn", "beta", "betainc", "betaln", "boxcox", "boxcox1p", "comb", "dawsn", "digamma", "entr",
    "erf", "erfc", "erfcx", "erfinv", "exp1", "expi", "expit", "expn", "factorial", "fresnel", "gamma", "gammainc",
    "gammaincc", "gammaln", "gammasgn", "hyp1f1", "hyp2f1", "i0", "i0e", "i1", "i1e", "kl_div", "log_ndtr",
    "log_softmax", "loggamma", "logit", "logsumexp", "multigammaln", "ndtr", "ndtri", "owens_t", "poch", "polygamma",
    "psi", "rel_entr", "sici", "softmax", "spence", "sph_harm_y", "wofz", "xlog1py", "xlogy", "zeta",
]  # fmt: skip

_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


def erf(x: ArrayLike) -> Array:
    """The error function.

    >>> round(float(erf(0.5)), 4)
    0.5205
    """
    return sp.erf(*_real("erf", x))


def erfc(x: ArrayLike) -> Array:
    """`1 - erf(x)`, accurate for large `x`.

    >>> round(float(erfc(0.5)), 4)
    0.4795
    """
    return sp.erfc(*_real("erfc", x))


def erfinv(x: ArrayLike) -> Array:
    """The inverse of `erf`; NaN outside [-1, 1].

    >>> round(float(erfinv(0.5)), 4)
    0.4769
    """
    return sp.erf_inv(*_real("erfinv", x))


def gammaln(x: ArrayLike) -> Array:
    """The logarithm of the absolute value of the gamma function.

    >>> round(float(gammaln(0.5)), 4)
    0.5724
    """
    return sp.lgamma(*_real("gammaln", x))


def gammasgn(x: ArrayLike) -> Array:
    """The sign of the gamma function; NaN at its poles -1, -2, ...

    >>> round(float(gammasgn(0.5)), 4)
    1.0
    """
    (x,) = _real("gammasgn", x)
    whole = ar.floor(x)
    odd = logic.ne(ar.rem(whole, 2.0), 0.0)
    sign = logic.select(logic.bitwise_and(logic.lt(x, 0.0), odd), -1.0, ar.add(ar.mul(_as_float(x), 0.0), 1.0))
    pole = logic.bitwise_and(logic.lt(x, 0.0), logic.eq(x, whole))
    sign = logic.select(pole, math.nan, sign)
    # 1 / x distinguishes the two zeros.
    return logic.select(logic.eq(x, 0.0), ar.sign(ar.div(1.0, x)), sign)


def _as_float(x: ArrayLike) -> Array:
    """Finite numbers of the operand's shape and dtype."""
    return logic.select(logic.is_finite(x), x, 0.0)


def gamma(x: ArrayLike) -> Array:
    """The gamma function; NaN at its poles -1, -2, ...

    >>> round(float(gamma(0.5)), 4)
    1.7725
    """
    (x,) = _real("gamma", x)
    return ar.mul(gammasgn(x), tr.exp(sp.lgamma(x)))


def factorial(n: ArrayLike, exact: bool = False) -> Array:
    """`n!` as a floating number; 0 for negative `n`.

    >>> round(float(factorial(5)), 4)
    120.0
    """
    if exact:
        raise location.error(
            errors.UnsupportedError,
            "factorial: exact=True needs integers of any size",
            fix="leave exact out, or use math.factorial",
        )
    (n,) = _real("factorial", n)
    return logic.select(logic.lt(n, 0.0), 0.0, tr.exp(sp.lgamma(ar.add(n, 1.0))))


def digamma(x: ArrayLike) -> Array:
    """The derivative of `gammaln`.

    >>> round(float(digamma(0.5)), 4)
    -1.9635
    """
    return sp.digamma(*_real("digamma", x))


psi = digamma


def polygamma(n: ArrayLike, x: ArrayLike) -> Array:
    """The `n`-th derivative of `digamma`.

    >>> round(float(polygamma(1, 2.0)), 4)
    0.6449
    """
    return sp.polygamma(*_real("polygamma", n, x))


def zeta(x: ArrayLike, q: ArrayLike = 1.0) -> Array:
    """Hurwitz's zeta function: the sum of `(q + k) ** -x` over k = 0, 1, ...

    >>> round(float(zeta(2.0, 1.0)), 4)
    1.6449
    """
    return sp.zeta(*_real("zeta", x, 1.0 if q is None else q))


def betaln(a: ArrayLike, b: ArrayLike) -> Array:
    """The logarithm of the absolute value of the beta function.

    >>> round(float(betaln(2.0, 3.0)), 4)
    -2.4849
    """
    a, b = _real("betaln", a, b)
    positive = logic.bitwise_and(logic.gt(a, 0.0), logic.gt(b, 0.0))
    plain = ar.sub(ar.add(sp.lgamma(a), sp.lgamma(b)), sp.lgamma(ar.add(a, b)))
    return logic.select(positive, log_beta(*(to_array(logic.select(positive, v, 1.0)) for v in (a, b))), plain)


def beta(a: ArrayLike, b: ArrayLike) -> Array:
    """The beta function `gamma(a) gamma(b) / gamma(a + b)`.

    >>> round(float(beta(2.0, 3.0)), 4)
    0.0833
    """
    a, b = _real("beta", a, b)
    sign = ar.mul(ar.mul(gammasgn(a), gammasgn(b)), gammasgn(ar.add(a, b)))
    return ar.mul(sign, tr.exp(betaln(a, b)))


def multigammaln(a: ArrayLike, d: int) -> Array:
    """The logarithm of the multivariate gamma function of dimension `d`.

    >>> round(float(multigammaln(4.0, 2)), 4)
    3.5651
    """
    (a,) = _real("multigammaln", a)
    d = as_int(d, "multigammaln", "d")
    total = 0.25 * d * (d - 1) * math.log(math.pi)
    out = ar.add(ar.mul(a, 0.0), total)
    for j in range(d):
        out = ar.add(out, sp.lgamma(ar.sub(a, 0.5 * j)))
    return out


def poch(z: ArrayLike, m: ArrayLike) -> Array:
    """`gamma(z + m) / gamma(z)`, the rising factorial.

    >>> round(float(poch(3.0, 2.0)), 4)
    12.0
    """
    z, m = _real("poch", z, m)
    ratio = tr.exp(ar.sub(sp.lgamma(ar.add(z, m)), sp.lgamma(z)))
    signed = ar.mul(ratio, ar.mul(gammasgn(ar.add(z, m)), gammasgn(z)))
    return logic.select(logic.eq(m, 0.0), 1.0, signed)


def expit(x: ArrayLike) -> Array:
    """The logistic function `1 / (1 + exp(-x))`.

    >>> round(float(expit(0.5)), 4)
    0.6225
    """
    return tr.logistic(promote_inexact(x)[0])


def logit(x: ArrayLike) -> Array:
    """`log(x / (1 - x))`, the inverse of `expit`.

    >>> round(float(logit(0.7)), 4)
    0.8473
    """
    (x,) = promote_inexact(x)
    # Near 1/2, where the logarithm is near 0, from the distance.
    near = logic.lt(ar.abs(ar.sub(x, 0.5)), 0.25)
    twice = ar.mul(logic.select(near, ar.sub(x, 0.5), 0.0), 2.0)
    far = logic.select(near, 0.75, x)
    middle = ar.sub(tr.log1p(twice), tr.log1p(ar.neg(twice)))
    # The derivative of this difference is infinite at both ends, that of log(x / (1 - x)) is NaN.
    return logic.select(near, middle, ar.sub(tr.log(far), tr.log1p(ar.neg(far))))


def xlogy(x: ArrayLike, y: ArrayLike) -> Array:
    """`x * log(y)`, and 0 where `x` is 0 and `y` is not NaN.

    >>> round(float(xlogy(2.0, 3.0)), 4)
    2.1972
    """
    x, y = promote_floating("xlogy", x, y)
    return _xlogy(x, y)


def xlog1py(x: ArrayLike, y: ArrayLike) -> Array:
    """`x * log1p(y)`, and 0 where `x` is 0 and `y` is not NaN.

    >>> round(float(xlog1py(2.0, 3.0)), 4)
    2.7726
    """
    x, y = promote_floating("xlog1py", x, y)
    return _xlog1py(x, y)


def _zero_wins(x: Array, y: Array, function: Any) -> Array:
    zero = logic.bitwise_and(logic.eq(x, 0.0), logic.eq(y, y))
    return logic.select(zero, 0.0, ar.mul(x, function(y)))


def _quotient(x: Array, y: Array) -> Array:
    """`x / y`, and 0 where both are."""
    return x / logic.select(logic.bitwise_and(logic.eq(x, 0.0), logic.eq(y, 0.0)), 1.0, y)


@derived(lambda value, x, y: tr.log(y), lambda value, x, y: _quotient(x, y), name="xlogy", keep_weak=True)
def _xlogy(x: Array, y: Array) -> Array:
    return _zero_wins(x, y, tr.log)


@derived(lambda value, x, y: tr.log1p(y), lambda value, x, y: _quotient(x, y + 1), name="xlog1py", keep_weak=True)
def _xlog1py(x: Array, y: Array) -> Array:
    return _zero_wins(x, y, tr.log1p)


def entr(x: ArrayLike) -> Array:
    """`-x * log(x)`, 0 at 0, and minus infinity for negative numbers.

    >>> round(float(entr(0.5)), 4)
    0.3466
    """
    (x,) = _real("entr", x)
    value = ar.neg(xlogy(x, x))
    return logic.select(logic.lt(x, 0.0), -math.inf, value)


def rel_entr(p: ArrayLike, q: ArrayLike) -> Array:
    """`p * log(p / q)`; 0 where `p` is 0, and infinite outside of the domain.

    >>> round(float(rel_entr(2.0, 3.0)), 4)
    -0.8109
    """
    p, q = _real("rel_entr", p, q)
    positive = logic.bitwise_and(logic.gt(p, 0.0), logic.gt(q, 0.0))
    ratio = ar.div(logic.select(positive, p, 1.0), logic.select(positive, q, 1.0))
    value = ar.mul(p, tr.log(ratio))
    zero = logic.bitwise_and(logic.eq(p, 0.0), logic.ge(q, 0.0))
    out = logic.select(positive, value, logic.select(zero, 0.0, ar.add(ar.mul(ratio, 0.0), math.inf)))
    return logic.select(logic.bitwise_or(logic.ne(p, p), logic.ne(q, q)), ar.add(p, q), out)


def kl_div(p: ArrayLike, q: ArrayLike) -> Array:
    """`p * log(p / q) - p + q`, and infinite outside of the domain.

    >>> round(float(kl_div(2.0, 3.0)), 4)
    0.1891
    """
    p, q = _real("kl_div", p, q)
    return ar.add(ar.sub(rel_entr(p, q), p), q)


def ndtr(x: ArrayLike) -> Array:
    """The normal distribution: the probability of a value below `x`.

    >>> round(float(ndtr(0.5)), 4)
    0.6915
    """
    (x,) = _real("ndtr", x)
    return ar.mul(sp.erfc(ar.mul(x, -math.sqrt(0.5))), 0.5)


def log_ndtr(x: ArrayLike, series_order: int = 3) -> Array:
    """The logarithm of `ndtr`, accurate for very negative `x`.

    Args:
      x: real numbers.
      series_order: accepted as in JAX; no series is used.

    >>> round(float(log_ndtr(0.5)), 4)
    -0.3689
    """
    (x,) = _real("log_ndtr", x)
    return _log_ndtr(to_array(x))


def _log_ndtr_slope(value: Any, x: Array) -> Array:
    low = x < -1
    # The quotient of the density and of `ndtr`, in which exp(-x^2 / 2) cancels.
    tail = math.sqrt(2 / math.pi) / erfcx(logic.select(low, x, -1.0) * -math.sqrt(0.5))
    near = logic.select(low, 0.0, -0.5 * x * x - value)
    return logic.select(low, tail, tr.exp(near - _HALF_LOG_2PI))


@derived(_log_ndtr_slope, name="log_ndtr")
def _log_ndtr(x: Array) -> Array:
    low = x < -1
    # erfc(-z) = exp(-z^2) erfcx(-z), with z = x / sqrt(2).
    far = logic.select(low, x, -1.0)
    tail = tr.log(0.5 * erfcx(far * -math.sqrt(0.5))) - 0.5 * far * far
    near = tr.log1p(-0.5 * sp.erfc(ar.max(x, -1.0) * math.sqrt(0.5)))
    return logic.select(low, tail, near)


def ndtri(p: ArrayLike) -> Array:
    """The inverse of `ndtr`: the quantile of the normal distribution; NaN outside [0, 1].

    >>> round(float(ndtri(0.975)), 4)
    1.96
    """
    (p,) = _real("ndtri", p)
    return _ndtri(to_array(p))


@derived(lambda value, p: math.sqrt(2 * math.pi) * tr.exp(0.5 * value * value), name="ndtri")
def _ndtri(p: Array) -> Array:
    middle = ar.mul(sp.erf_inv(ar.sub(ar.mul(p, 2.0), 1.0)), math.sqrt(2))
    upper = logic.gt(p, 0.5)
    tail = logic.select(upper, ar.sub(1.0, p), p)
    tiny = float(finfo(dtype_of(p)).tiny)
    log_tail = tr.log(logic.clamp(tiny, tail, 0.2))
    # An initial value with an error of 4.5e-4 (Abramowitz and Stegun 26.2.23), then Newton's method on the logarithm.
    t = ar.sqrt(ar.mul(log_tail, -2.0))
    top = ar.add(ar.mul(ar.add(ar.mul(t, 0.010328), 0.802853), t), 2.515517)
    bottom = ar.add(ar.mul(ar.add(ar.mul(ar.add(ar.mul(t, 0.001308), 0.189269), t), 1.432788), t), 1.0)
    x = ar.sub(ar.div(top, bottom), t)
    for _ in range(3):
        value = log_ndtr(x)
        log_density = ar.sub(ar.mul(ar.square(x), -0.5), _HALF_LOG_2PI)
        x = ar.sub(x, ar.mul(ar.sub(value, log_tail), tr.exp(ar.sub(value, log_density))))
    x = logic.select(upper, ar.neg(x), x)
    inside = logic.bitwise_and(logic.gt(p, 0.0), logic.lt(p, 1.0))
    return logic.select(logic.bitwise_and(inside, logic.lt(tail, 0.1)), x, middle)


def i0e(x: ArrayLike) -> Array:
    """`exp(-|x|) i0(x)`.

    >>> round(float(i0e(0.5)), 4)
    0.645
    """
    return sp.bessel_i0e(*_real("i0e", x))


def i1(x: ArrayLike) -> Array:
    """The modified Bessel function of the first kind, order 1.

    >>> round(float(i1(0.5)), 4)
    0.2579
    """
    (x,) = _real("i1", x)
    half = tr.exp(ar.mul(ar.abs(x), 0.5))  # twice, so that only the result overflows
    return ar.mul(ar.mul(half, sp.bessel_i1e(x)), half)


def i1e(x: ArrayLike) -> Array:
    """`exp(-|x|) i1(x)`.

    >>> round(float(i1e(0.5)), 4)
    0.1564
    """
    return sp.bessel_i1e(*_real("i1e", x))


def boxcox(x: ArrayLike, lmbda: ArrayLike) -> Array:
    """Box and Cox's transform: `(x**lmbda - 1) / lmbda`, or `log(x)` where `lmbda` is 0.

    >>> round(float(boxcox(2.0, 0.0)), 4)
    0.6931
    """
    x, lmbda = _real("boxcox", x, lmbda)
    return _boxcox(tr.log(x), lmbda)


def boxcox1p(x: ArrayLike, lmbda: ArrayLike) -> Array:
    """Box and Cox's transform of `1 + x`.

    >>> round(float(boxcox1p(2.0, 3.0)), 4)
    8.6667
    """
    x, lmbda = _real("boxcox1p", x, lmbda)
    return _boxcox(tr.log1p(x), lmbda)


def _boxcox(log_x: Operand, lmbda: Operand) -> Array:
    zero = logic.eq(lmbda, 0.0)
    safe = logic.select(zero, 1.0, lmbda)
    return logic.select(zero, log_x, ar.div(tr.expm1(ar.mul(safe, log_x)), safe))


_cover(globals())
_publish(globals())

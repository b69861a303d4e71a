"""What the accuracy of is measured: functions, their exact values by mpmath, and operands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import mpmath
import numpy as np

import stagec.nn as nn
import stagec.numpy as snp
from stagec import lax
from stagec.scipy import special

Rng = np.random.Generator
Operand = Callable[[Rng, int], Any]
mp = mpmath.mp


class Row(NamedTuple):
    """One function on one kind of operands.

    Attributes:
      name: of the function, with its module.
      exact: the value by mpmath, of operands that are mpmath's numbers.
      operands: each makes numbers in float64, which are then rounded to a dtype.
      where: the operands, in words.
      points: how many are measured for the page.
    """

    name: str
    exact: Callable[..., Any]
    operands: tuple[Operand, ...]
    where: str
    points: int = 60

    @property
    def ours(self) -> Callable[..., Any]:
        module, name = self.name.rsplit(".", 1)
        return getattr({"numpy": snp, "lax": lax, "nn": nn, "scipy.special": special}[module], name)


def uniform(low: float, high: float) -> Operand:
    return lambda rng, n: rng.uniform(low, high, n)


def logs(low: float, high: float, both: bool = False) -> Operand:
    """Numbers of all magnitudes from 10**low to 10**high."""
    return lambda rng, n: 10 ** rng.uniform(low, high, n) * (rng.choice([-1, 1], n) if both else 1)


def near(*places: float) -> Operand:
    """Numbers next to zeros or poles, at all distances."""
    return lambda rng, n: rng.choice(places, n) + 10 ** rng.uniform(-6, -1, n) * rng.choice([-1, 1], n)


def whole(low: int, high: int) -> Operand:
    return lambda rng, n: rng.integers(low, high + 1, n).astype(np.float64)


def _cbrt(x: Any) -> Any:
    return mpmath.sign(x) * mpmath.cbrt(abs(x))


def _log_gamma(x: Any) -> Any:
    return mpmath.re(mpmath.loggamma(x))


def _erfcx(x: Any) -> Any:
    return mpmath.exp(x * x) * mpmath.erfc(x)


def _dawsn(x: Any) -> Any:
    return mpmath.sqrt(mpmath.pi) / 2 * mpmath.exp(-x * x) * mpmath.erfi(x)


def _logistic(x: Any) -> Any:
    return 1 / (1 + mpmath.exp(-x))


def _softplus(x: Any) -> Any:
    return mpmath.log1p(mpmath.exp(x))


def _bessel_e(order: int) -> Callable[[Any], Any]:
    return lambda x: mpmath.besseli(order, x) * mpmath.exp(-abs(x))


def _remainder(x: Any, y: Any) -> Any:
    return x - y * mpmath.floor(x / y)


def _owens(h: Any, a: Any) -> Any:
    return mpmath.quad(lambda t: mpmath.exp(-h * h * (1 + t * t) / 2) / (1 + t * t), [0, a]) / (2 * mpmath.pi)


def _spence(x: Any) -> Any:
    return mpmath.re(mpmath.polylog(2, 1 - x))


def _gamma_ratio(lower: bool) -> Callable[[Any, Any], Any]:
    if lower:
        return lambda a, x: mpmath.gammainc(a, 0, x, regularized=True)
    return lambda a, x: mpmath.gammainc(a, x, mpmath.inf, regularized=True)


def _power(base: float, x: Any) -> Any:
    return mpmath.mpf(base) ** x


EVERY, SIGNED, UNIT = logs(-30, 30), logs(-30, 30, both=True), uniform(-1, 1)
MODEST, WIDE = uniform(-5, 5), uniform(-80, 80)

ELEMENTARY = [
    Row("numpy.exp", mpmath.exp, (WIDE,), "-80 to 80"),
    Row("numpy.exp", mpmath.exp, (logs(-10, 0, True),), "near 0"),
    Row("numpy.exp2", lambda x: _power(2, x), (uniform(-120, 120),), "-120 to 120"),
    Row("numpy.expm1", mpmath.expm1, (logs(-20, 1.5, True),), "10^-20 to 30, both signs"),
    Row("numpy.log", mpmath.log, (EVERY,), "10^-30 to 10^30"),
    Row("numpy.log", mpmath.log, (near(1.0),), "near 1"),
    Row("numpy.log2", lambda x: mpmath.log(x) / mpmath.log(2), (EVERY,), "10^-30 to 10^30"),
    Row("numpy.log2", lambda x: mpmath.log(x) / mpmath.log(2), (near(1.0),), "near 1"),
    Row("numpy.log10", mpmath.log10, (EVERY,), "10^-30 to 10^30"),
    Row("numpy.log10", mpmath.log10, (near(1.0),), "near 1"),
    Row("numpy.log1p", mpmath.log1p, (logs(-30, 30),), "10^-30 to 10^30"),
    Row("numpy.log1p", mpmath.log1p, (lambda rng, n: -(10 ** rng.uniform(-6, -0.01, n)),), "-1 to 0"),
    Row("numpy.sqrt", mpmath.sqrt, (EVERY,), "10^-30 to 10^30"),
    Row("numpy.cbrt", _cbrt, (SIGNED,), "10^-30 to 10^30, both signs"),
    Row("numpy.square", lambda x: x * x, (logs(-15, 15),), "10^-15 to 10^15"),
    Row("numpy.reciprocal", lambda x: 1 / x, (SIGNED,), "10^-30 to 10^30, both signs"),
    Row("numpy.sin", mpmath.sin, (logs(-5, 5, True),), "10^-5 to 10^5, both signs"),
    Row("numpy.sin", mpmath.sin, (logs(10, 30),), "10^10 to 10^30"),
    Row("numpy.sin", mpmath.sin, (near(np.pi, 2 * np.pi, 355.0),), "near its zeros"),
    Row("numpy.cos", mpmath.cos, (logs(-5, 5, True),), "10^-5 to 10^5, both signs"),
    Row("numpy.cos", mpmath.cos, (near(np.pi / 2, 11.0, 177.5),), "near its zeros"),
    Row("numpy.tan", mpmath.tan, (logs(-5, 5, True),), "10^-5 to 10^5, both signs"),
    Row("numpy.tan", mpmath.tan, (near(np.pi / 2, np.pi),), "near zeros and poles"),
    Row("numpy.arcsin", mpmath.asin, (UNIT,), "-1 to 1"),
    Row("numpy.arcsin", mpmath.asin, (logs(-10, 0, True),), "near 0"),
    Row("numpy.arccos", mpmath.acos, (UNIT,), "-1 to 1"),
    Row("numpy.arccos", mpmath.acos, (lambda rng, n: 1 - 10 ** rng.uniform(-6, -1, n),), "near 1"),
    Row("numpy.arctan", mpmath.atan, (logs(-10, 10, True),), "10^-10 to 10^10, both signs"),
    Row("numpy.sinh", mpmath.sinh, (logs(-10, 1.9, True),), "10^-10 to 80, both signs"),
    Row("numpy.cosh", mpmath.cosh, (WIDE,), "-80 to 80"),
    Row("numpy.tanh", mpmath.tanh, (logs(-10, 2, True),), "10^-10 to 100, both signs"),
    Row("numpy.arcsinh", mpmath.asinh, (logs(-10, 30, True),), "10^-10 to 10^30, both signs"),
    Row("numpy.arccosh", mpmath.acosh, (lambda rng, n: 1 + 10 ** rng.uniform(-5, 10, n),), "1 to 10^10"),
    Row("numpy.arctanh", mpmath.atanh, (logs(-10, -0.001, True),), "-1 to 1"),
    Row("numpy.deg2rad", lambda x: x * mpmath.pi / 180, (SIGNED,), "10^-30 to 10^30, both signs"),
    Row("numpy.rad2deg", lambda x: x * 180 / mpmath.pi, (SIGNED,), "10^-30 to 10^30, both signs"),
    Row("numpy.sinc", mpmath.sincpi, (logs(-5, 2, True),), "10^-5 to 100, both signs"),
    Row("numpy.i0", lambda x: mpmath.besseli(0, x), (uniform(-30, 30),), "-30 to 30"),
    Row("lax.rsqrt", lambda x: 1 / mpmath.sqrt(x), (EVERY,), "10^-30 to 10^30"),
    Row("lax.logistic", _logistic, (WIDE,), "-80 to 80"),
]
TWO_OPERANDS = [
    Row("numpy.divide", lambda x, y: x / y, (logs(-15, 15), logs(-15, 15, True)), "10^-15 to 10^15"),
    Row("numpy.remainder", _remainder, (logs(-2, 3, True), logs(-2, 2, True)), "0.01 to 1000, both signs"),
    Row("numpy.fmod", mpmath.fmod, (logs(-2, 3), logs(-2, 2)), "0.01 to 1000"),
    Row("numpy.hypot", mpmath.hypot, (SIGNED, SIGNED), "10^-30 to 10^30"),
    Row("numpy.hypot", mpmath.hypot, (MODEST, MODEST), "-5 to 5"),
    Row("numpy.arctan2", mpmath.atan2, (MODEST, MODEST), "-5 to 5"),
    Row("numpy.power", mpmath.power, (logs(-3, 3), uniform(-10, 10)), "0.001 to 1000, to -10 to 10"),
    Row("numpy.power", mpmath.power, (lambda rng, n: 1 + rng.normal(size=n) * 1e-2, uniform(-2e3, 2e3)), "near 1"),
    Row("numpy.logaddexp", lambda x, y: x + _softplus(y - x), (uniform(1, 50), uniform(1, 50)), "1 to 50"),
    Row(
        "numpy.logaddexp2",
        lambda x, y: mpmath.log(_power(2, x) + _power(2, y)) / mpmath.log(2),
        (uniform(1, 50), uniform(1, 50)),
        "1 to 50",
    ),
]
ACTIVATIONS = [
    Row("nn.softplus", _softplus, (WIDE,), "-80 to 80"),
    Row("nn.log_sigmoid", lambda x: -_softplus(-x), (WIDE,), "-80 to 80"),
    Row("nn.silu", lambda x: x * _logistic(x), (MODEST,), "-5 to 5"),
    Row("nn.mish", lambda x: x * mpmath.tanh(_softplus(x)), (MODEST,), "-5 to 5"),
    Row("nn.elu", lambda x: x if x > 0 else mpmath.expm1(x), (MODEST,), "-5 to 5"),
    Row("nn.log1mexp", lambda x: mpmath.log(-mpmath.expm1(-x)), (logs(-5, 1.5),), "10^-5 to 30"),
    Row("nn.squareplus", lambda x: (x + mpmath.sqrt(x * x + 4)) / 2, (MODEST,), "-5 to 5"),
]
GAMMAS = [
    Row("scipy.special.gamma", mpmath.gamma, (logs(-5, 1.4),), "10^-5 to 25"),
    Row("scipy.special.gamma", mpmath.gamma, (uniform(-8.9, 0),), "-9 to 0"),
    Row("scipy.special.gammaln", _log_gamma, (logs(-5, 8),), "10^-5 to 10^8"),
    Row("scipy.special.gammaln", _log_gamma, (near(1.0, 2.0),), "near its zeros"),
    Row("scipy.special.gammaln", _log_gamma, (uniform(-8.9, 0),), "-9 to 0"),
    Row("scipy.special.digamma", mpmath.digamma, (logs(-5, 8),), "10^-5 to 10^8"),
    Row("scipy.special.digamma", mpmath.digamma, (near(1.4616321449683622),), "near its zero"),
    Row("scipy.special.digamma", mpmath.digamma, (uniform(-8.9, 0),), "-9 to 0"),
    Row("scipy.special.polygamma", lambda n, x: mpmath.psi(int(n), x), (whole(1, 4), logs(-1, 2)), "0.1 to 100"),
    Row("scipy.special.zeta", mpmath.zeta, (uniform(1.1, 12), uniform(0.5, 10)), "1.1 to 12, 0.5 to 10"),
    Row("scipy.special.factorial", mpmath.factorial, (uniform(0, 20),), "0 to 20"),
    Row("scipy.special.comb", mpmath.binomial, (whole(10, 30), whole(1, 9)), "10 to 30, 1 to 9"),
    Row("scipy.special.poch", mpmath.rf, (uniform(0.1, 10), whole(0, 8)), "0.1 to 10, 0 to 8"),
    Row("scipy.special.beta", mpmath.beta, (logs(-1, 1), logs(-1, 1)), "0.1 to 10"),
    Row(
        "scipy.special.betaln",
        lambda a, b: mpmath.loggamma(a) + mpmath.loggamma(b) - mpmath.loggamma(a + b),
        (logs(0.5, 3), logs(0.5, 3)),
        "3 to 1000",
    ),
    Row("scipy.special.gammainc", _gamma_ratio(True), (logs(-1, 1.5), logs(-1, 1.5)), "0.1 to 30"),
    Row("scipy.special.gammaincc", _gamma_ratio(False), (logs(-1, 1.5), logs(-1, 1.5)), "0.1 to 30"),
    Row(
        "scipy.special.betainc",
        lambda a, b, x: mpmath.betainc(a, b, 0, x, regularized=True),
        (logs(-1, 1.3), logs(-1, 1.3), uniform(0.05, 0.95)),
        "0.1 to 20, x from 0.05 to 0.95",
    ),
]


def _erfcinv(y):
    with mpmath.workdps(60):
        return mpmath.erfinv(1 - y)


ERRORS = [
    Row("scipy.special.erf", mpmath.erf, (logs(-10, 0.7, True),), "10^-10 to 5, both signs"),
    Row("scipy.special.erfc", mpmath.erfc, (uniform(-3, 8),), "-3 to 8"),
    Row("scipy.special.erfcx", _erfcx, (logs(-5, 3),), "10^-5 to 1000"),
    Row("scipy.special.erfcx", _erfcx, (uniform(-5, 0),), "-5 to 0"),
    Row("scipy.special.erfinv", mpmath.erfinv, (uniform(-0.999, 0.999),), "-0.999 to 0.999"),
    Row("scipy.special.erfinv", mpmath.erfinv, (lambda rng, n: 1 - 10 ** rng.uniform(-15, -1, n),), "near 1"),
    Row("scipy.special.erfcinv", _erfcinv, (uniform(0.001, 1.999),), "0.001 to 1.999"),
    Row("scipy.special.erfcinv", _erfcinv, (logs(-35, -2),), "10^-35 to 0.01"),
    Row("scipy.special.dawsn", _dawsn, (logs(-5, 1.3, True),), "10^-5 to 20, both signs"),
    Row("scipy.special.ndtr", mpmath.ncdf, (uniform(-10, 5),), "-10 to 5"),
    Row("scipy.special.log_ndtr", lambda x: mpmath.log(mpmath.ncdf(x)), (uniform(-30, 5),), "-30 to 5"),
    Row(
        "scipy.special.ndtri",
        lambda p: mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1),
        (uniform(0.001, 0.45),),
        "0.001 to 0.45",
    ),
    Row("scipy.special.owens_t", _owens, (MODEST, uniform(-3, 3)), "-5 to 5, -3 to 3"),
    Row("scipy.special.expit", _logistic, (WIDE,), "-80 to 80"),
    Row("scipy.special.logit", lambda x: mpmath.log(x / (1 - x)), (uniform(0.001, 0.999),), "0.001 to 0.999"),
    Row("scipy.special.logit", lambda x: mpmath.log(x / (1 - x)), (near(0.5),), "near its zero"),
    Row("scipy.special.entr", lambda x: -x * mpmath.log(x), (logs(-10, 5),), "10^-10 to 10^5"),
    Row("scipy.special.xlogy", lambda x, y: x * mpmath.log(y), (MODEST, logs(-10, 10)), "-5 to 5, 10^-10 to 10^10"),
    Row("scipy.special.xlog1py", lambda x, y: x * mpmath.log1p(y), (MODEST, logs(-10, 10)), "-5 to 5, 10^-10 to 10^10"),
    Row("scipy.special.rel_entr", lambda x, y: x * mpmath.log(x / y), (logs(-3, 3), logs(-3, 3)), "0.001 to 1000"),
    Row(
        "scipy.special.kl_div",
        lambda x, y: x * mpmath.log(x / y) - x + y,
        (logs(-3, 0), logs(0.5, 3)),
        "x < 1, y > 3",
    ),
    Row(
        "scipy.special.huber",
        lambda d, r: r**2 / 2 if abs(r) <= d else d * (abs(r) - d / 2),
        (logs(-2, 2), logs(-3, 3, True)),
        "0.01 to 100, 0.001 to 1000, both signs",
    ),
    Row("scipy.special.boxcox", lambda x, y: (x**y - 1) / y, (logs(0.3, 2), uniform(0.1, 2)), "2 to 100, 0.1 to 2"),
    Row(
        "scipy.special.boxcox1p",
        lambda x, y: ((1 + x) ** y - 1) / y,
        (logs(-5, 2), uniform(0.1, 2)),
        "10^-5 to 100, 0.1 to 2",
    ),
]
INTEGRALS = [
    Row("scipy.special.i0e", _bessel_e(0), (logs(-5, 3, True),), "10^-5 to 1000, both signs"),
    Row("scipy.special.i1e", _bessel_e(1), (logs(-5, 3, True),), "10^-5 to 1000, both signs"),
    Row("scipy.special.i0", lambda x: mpmath.besseli(0, x), (uniform(-30, 30),), "-30 to 30"),
    Row("scipy.special.i1", lambda x: mpmath.besseli(1, x), (uniform(-30, 30),), "-30 to 30"),
    Row("scipy.special.exp1", mpmath.e1, (logs(-5, 1.8),), "10^-5 to 60"),
    Row("scipy.special.expi", mpmath.ei, (logs(-5, 1.8),), "10^-5 to 60"),
    Row("scipy.special.expi", mpmath.ei, (near(0.3725074107813666),), "near its zero"),
    Row("scipy.special.expi", mpmath.ei, (uniform(-30, 0),), "-30 to 0"),
    Row("scipy.special.expn", lambda n, x: mpmath.expint(int(n), x), (whole(0, 10), logs(-2, 1.5)), "0.01 to 30"),
    Row("scipy.special.spence", _spence, (logs(-5, 3),), "10^-5 to 1000"),
    Row("scipy.special.hyp1f1", mpmath.hyp1f1, (uniform(0.1, 3), uniform(3, 6), MODEST), "x from -5 to 5"),
    Row(
        "scipy.special.hyp2f1",
        mpmath.hyp2f1,
        (uniform(0.1, 3), uniform(0.1, 3), uniform(3, 6), uniform(-0.9, 0.9)),
        "x from -0.9 to 0.9",
    ),
]
ROWS = [*ELEMENTARY, *TWO_OPERANDS, *ACTIVATIONS, *GAMMAS, *ERRORS, *INTEGRALS]

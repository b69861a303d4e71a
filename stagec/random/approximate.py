"""Gamma and Poisson numbers without rejection: nearly the distributions, by formulas for their quantiles."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

from stagec.core import dtypes, location
from stagec.core.array import Array
from stagec.core.dtype_info import finfo
from stagec.numpy.arguments import array_argument
from stagec.primitives import arithmetic as ar, logic, transcendental as tr
from stagec.primitives.convert import convert_element_type
from stagec.primitives.special import erfc
from stagec.random.draws import draw_exponential, draw_normal, parameter
from stagec.random.keys import PRNGKeyArray, split_key

# The cube root of a quantile of the chi-squared distribution over its degrees of freedom n: a polynomial in x/sqrt(n),
# for the quantile x of the normal distribution, whose coefficients are polynomials in 1/n. Source: Goldstein,
# "Algorithm 451: Chi-square quantiles" (1973). The first number is 1 instead of 1.0000886, as it is in the limit.
_CUBE_ROOT = (
    (1.0, -0.2237368, -0.01513904),
    (0.4713941, 0.02607083, -0.008986007),
    (0.0001348028, 0.01128186, 0.02277679),
    (-0.008553069, -0.01153761, -0.01323293),
    (0.00312558, 0.005169654, -0.006950356),
    (-0.0008426812, 0.00253001, 0.001060438),
    (0.00009780499, -0.001450117, 0.001565326),
)
# The polynomial is exact to 0.05 % from this parameter on. Numbers of smaller ones are made of those, by factors.
_RAISED = 4
# Up to this mean, counts are compared with the first terms of the distribution function.
_FEW, _TERMS = 7.0, 20


def is_approximate(name: str, method: str) -> bool:
    """Whether `method` asks for the numbers of this file."""
    if method not in ("exact", "approximate"):
        raise location.error(ValueError, f"{name}: method={method!r}", fix="use 'exact' or 'approximate'")
    return method == "approximate"


def _polynomial(coefficients: Sequence[Any], x: Any) -> Any:
    """The lowest power first."""
    return functools.reduce(lambda total, c: total * x + c, coefficients[::-1])


def approximate_gamma(key: PRNGKeyArray, alpha: Array, dtype: Any, log_space: bool) -> Array:
    """Draw gamma numbers, or their logarithms, for `alpha` of the shape of the result, and of float32 at least.

    Source: Stuart, "Gamma-distributed products of independent random variables" (1962): a gamma number of parameter a
    is one of parameter a + 1 times the power 1/a of a uniform number.
    """
    base, factors = split_key(key, (2,))
    raised = alpha + _RAISED
    x = draw_normal(base, alpha.shape, alpha.dtype)
    root = _polynomial([_polynomial(row, 0.5 / raised) for row in _CUBE_ROOT], x * ar.rsqrt(2 * raised))
    logs = tr.log(raised) + 3 * tr.log(ar.max(root, float(finfo(alpha.dtype).tiny)))
    exponents = draw_exponential(factors, (_RAISED, *alpha.shape), alpha.dtype)
    logs = logs - functools.reduce(ar.add, [exponents[i] / (alpha + i) for i in range(_RAISED)])
    return convert_element_type(logs if log_space else tr.exp(logs), dtype)


def approximate_poisson(key: PRNGKeyArray, lam: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    """Draw counts from normal numbers, at whose quantiles they are; the total variation is below 1e-4."""
    given = array_argument(lam, "poisson")
    wide = given.dtype == dtypes.float64 or dtype.itemsize > 4
    mean = parameter("poisson", given, dtypes.float64 if wide else dtypes.float32, shape)
    z = draw_normal(key, shape, mean.dtype)
    found = logic.select(mean < _FEW, _count_by_terms(0.5 * erfc(-math.sqrt(0.5) * z), mean), _count_by_root(z, mean))
    return convert_element_type(found, dtype)


def _count_by_terms(unit: Array, mean: Array) -> Array:
    """How many of the first values of the distribution function are below a uniform number."""
    term = total = tr.exp(-mean)
    count = convert_element_type(total < unit, mean.dtype)
    for k in range(1, _TERMS - 1):
        term = term * (mean / k)
        total = total + term
        count = count + convert_element_type(total < unit, mean.dtype)
    return count


def _count_by_root(z: Array, mean: Array) -> Array:
    """The least count up to which the probability is that of normal numbers up to `z`.

    Sources: for the probability, Peizer and Pratt, "A normal approximation for binomial, F, beta, and other common,
    related tail probabilities" (1968); for a count that is at most 1 off, the expansion of Cornish and Fisher.
    """
    root, square = ar.sqrt(mean), z * z
    # 0.6 centers the error of the expansion.
    guess = ar.ceil(mean + root * z - 2 / 3 + square / 6 + z * (1 - square) / (72 * root) + 0.6)

    def reached(count: Array) -> Array:
        quantile = _peizer_pratt(ar.max(count, 0.0), mean)
        return convert_element_type((count >= 0) & (quantile >= z), mean.dtype)

    return ar.max(guess + 1 - reached(guess) - reached(guess - 1), 0.0)


def _peizer_pratt(count: Array, mean: Array) -> Array:
    """The normal quantile of the probability of numbers up to `count`."""
    gap = (count + 0.5) / mean - 1
    # (1 - y^2 + 2 y log y) / (1 - y)^2 for y = 1 + gap. Near 1 its series is exact to 2e-8.
    near = ar.abs(gap) < 0.25
    y = 1 + logic.select(near, 1.0, gap)
    series = _polynomial([0.0, *[2 * (-1) ** k / ((k + 1) * (k + 2)) for k in range(1, 10)]], gap)
    bend = logic.select(near, series, (1 - y * y + 2 * y * tr.log(y)) / ((1 - y) * (1 - y)))
    return (count - mean + 2 / 3 + 0.02 / (count + 1)) * ar.sqrt((1 + bend) / mean)

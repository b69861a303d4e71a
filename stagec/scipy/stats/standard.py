"""What the distributions have in common: standardized arguments, and values outside of their support."""

from __future__ import annotations

import math
from typing import Any

from stagec import numpy as snp
from stagec.core.array import Array
from stagec.core.location import assists
from stagec.scipy.arguments import real_arrays
from stagec.typing import ArrayLike

assists(__file__)


def standardized(name: str, x: Any, loc: Any, scale: Any, *shapes: Any) -> tuple[Array, ...]:
    """`(x - loc) / scale`, the scale, and the shape parameters, of one floating dtype; scales not above 0 are NaN."""
    value, location, size, *parameters = real_arrays(name, x, loc, scale, *shapes)
    size = snp.where(size > 0, size, math.nan)
    return (value - location) / size, size, *parameters


def counts(name: str, k: Any, loc: Any, *shapes: Any) -> tuple[Array, ...]:
    """`k - loc` and the shape parameters, of one floating dtype."""
    value, location, *parameters = real_arrays(name, k, loc, *shapes)
    return value - location, *parameters


def inside_of(inside: Array, z: Array, otherwise: ArrayLike) -> Array:
    """`z` inside of the support, and elsewhere `otherwise`, a number in it: functions and derivatives are finite."""
    return snp.where(inside, z, otherwise)


def supported(inside: Any, z: Any, value: Any, outside: Any) -> Array:
    """A function's value inside of the support, and what it is outside; NaN for NaN."""
    return snp.where(inside, value, snp.where(snp.isnan(z), math.nan, outside))


def valid(condition: Any, value: Any) -> Array:
    """A function's value, or NaN where the parameters are invalid."""
    return snp.where(condition, value, math.nan)


def is_count(k: Array) -> Array:
    """Whether numbers are 0, 1, 2, ..."""
    return (k >= 0) & (k == snp.floor(k)) & snp.isfinite(k)


def log_of(value: Any) -> Array:
    """The logarithm, and minus infinity for 0, whose derivative is 0 and not NaN."""
    positive = value > 0
    return snp.where(positive, snp.log(snp.where(positive, value, 1)), snp.where(snp.isnan(value), value, -math.inf))


def log_one_minus_exp(x: Any) -> Array:
    """`log(1 - exp(x))` for negative numbers, accurate close to 0 and far from it (Maechler, 2012)."""
    near = x > -math.log(2)
    return snp.where(near, log_of(-snp.expm1(snp.where(near, x, -1))), snp.log1p(-snp.exp(snp.where(near, -1, x))))


def quantile(q: Any, low: Any, high: Any, value: Any) -> Array:
    """A quantile inside of (0, 1), the ends of the support at 0 and 1, and NaN outside."""
    inside = (q > 0) & (q < 1)
    return snp.where(inside, value, snp.where(q == 0, low, snp.where(q == 1, high, math.nan)))


def within_unit(q: Any) -> Array:
    """`q` inside of (0, 1), elsewhere 1/2: quantiles and their derivatives are finite."""
    return snp.where((q > 0) & (q < 1), q, 0.5)


def scaled(name: str, q: Any, loc: Any, scale: Any, *shapes: Any) -> tuple[Array, ...]:
    """A probability, a location, a scale, and the shape parameters, of one floating dtype."""
    chance, location, size, *parameters = real_arrays(name, q, loc, scale, *shapes)
    return chance, location, snp.where(size > 0, size, math.nan), *parameters

"""Continuous distributions that are computed from uniform or normal numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from stagec import numpy as snp
from stagec.core import dtypes, location
from stagec.core.array import Array, Shape
from stagec.core.dtype_info import finfo
from stagec.primitives import arithmetic as ar, logic, transcendental as tr
from stagec.primitives.axes import as_shape
from stagec.random.discrete import draw_signs
from stagec.random.draws import (
    draw_exponential,
    draw_normal,
    draw_uniform,
    drawing,
    drawn_shape,
    parameter,
    wanted_dtype,
)
from stagec.random.keys import KeyLike, PRNGKeyArray, as_key, split_key
from stagec.typing import ArrayLike, DTypeLike

__all__ = [
    "cauchy", "double_sided_maxwell", "exponential", "gumbel", "laplace", "logistic", "lognormal", "maxwell",
    "pareto", "rayleigh", "triangular", "wald", "weibull_min",
]  # fmt: skip


def exponential(key: KeyLike, shape: Shape = (), dtype: DTypeLike = None) -> Array:
    """Numbers of the exponential distribution with a mean of 1.

    >>> from stagec import random
    >>> random.exponential(random.key(0), (2,)).round(3)
    Array([2.95 , 3.843], dtype=float32)
    """
    return draw_exponential(*drawing("exponential", key, shape, dtype)[0])


def cauchy(key: KeyLike, shape: Shape = (), dtype: DTypeLike = None) -> Array:
    """Numbers of the standard Cauchy distribution.

    >>> from stagec import random
    >>> random.cauchy(random.key(0), (3,)).shape
    (3,)
    """
    start, _ = drawing("cauchy", key, shape, dtype)
    return tr.tan(np.pi * (draw_uniform(*start, float(finfo(start.dtype).eps), 1.0) - 0.5))


def laplace(key: KeyLike, shape: Shape = (), dtype: DTypeLike = None) -> Array:
    """Numbers of the standard Laplace distribution.

    >>> from stagec import random
    >>> random.laplace(random.key(0), (3,)).shape
    (3,)
    """
    start, _ = drawing("laplace", key, shape, dtype)
    unit = draw_uniform(*start, -1.0 + float(finfo(start.dtype).epsneg), 1.0)
    return ar.sign(unit) * tr.log1p(-ar.abs(unit))


def logistic(key: KeyLike, shape: Shape = (), dtype: DTypeLike = None) -> Array:
    """Numbers of the standard logistic distribution.

    >>> from stagec import random
    >>> random.logistic(random.key(0), (3,)).shape
    (3,)
    """
    start, _ = drawing("logistic", key, shape, dtype)
    unit = draw_uniform(*start, float(finfo(start.dtype).tiny), 1.0)
    return tr.log(unit) - tr.log1p(-unit)


def gumbel(key: KeyLike, shape: Shape = (), dtype: DTypeLike = None, mode: str | None = None) -> Array:
    """Numbers of the standard Gumbel distribution.

    Args:
      mode: `"low"`, the default, or `"high"`, which uses two uniform numbers for each result, and
        so reaches rarer values in the tail.

    >>> from stagec import random
    >>> random.gumbel(random.key(0), (3,)).shape
    (3,)
    """
    return draw_gumbel(*drawing("gumbel", key, shape, dtype)[0], mode)


def draw_gumbel(key: PRNGKeyArray, shape: tuple[int, ...], dtype: Any, mode: str | None) -> Array:
    """As `gumbel`, for checked arguments except the mode."""
    if mode not in (None, "low", "high"):
        raise location.error(ValueError, f"gumbel: mode={mode!r}", fix="use mode='low' or mode='high'")
    info = finfo(dtype)
    if mode == "high":
        both = draw_uniform(key, (2, *shape), dtype)
        high, low = both[0], both[1]
        fine = high + 2.0**-info.nmant * low + float(info.tiny)
        return -tr.log(-tr.log1p(-logic.select(high >= 0.5, high, fine)))
    return -tr.log(-tr.log(draw_uniform(key, shape, dtype, float(info.tiny), 1.0)))


def pareto(key: KeyLike, b: ArrayLike, shape: Shape | None = None, dtype: DTypeLike = None) -> Array:
    """Numbers of the Pareto distribution of shape `b` and scale 1.

    >>> from stagec import random
    >>> bool((random.pareto(random.key(0), 2.0, (100,)) >= 1).all())
    True
    """
    start, (b,) = drawing("pareto", key, shape, dtype, b)
    return tr.exp(draw_exponential(*start) / b)


def rayleigh(key: KeyLike, scale: ArrayLike, shape: Shape | None = None, dtype: DTypeLike = None) -> Array:
    """Numbers of the Rayleigh distribution.

    >>> from stagec import random
    >>> bool((random.rayleigh(random.key(0), 2.0, (100,)) >= 0).all())
    True
    """
    start, (scale,) = drawing("rayleigh", key, shape, dtype, scale)
    return scale * ar.sqrt(-2 * tr.log(draw_uniform(*start)))


def weibull_min(
    key: KeyLike, scale: ArrayLike, concentration: ArrayLike, shape: Shape | None = None, dtype: DTypeLike = None
) -> Array:
    """Numbers of the Weibull distribution of minima.

    >>> from stagec import random
    >>> bool((random.weibull_min(random.key(0), 1.0, 2.0, (100,)) >= 0).all())
    True
    """
    start, (scale, concentration) = drawing("weibull_min", key, shape, dtype, scale, concentration)
    return ar.pow(-tr.log1p(-draw_uniform(*start)), 1.0 / concentration) * scale


def lognormal(key: KeyLike, sigma: ArrayLike = 1.0, shape: Shape | None = None, dtype: DTypeLike = None) -> Array:
    """Exponentials of normal numbers with a standard deviation of `sigma`.

    >>> from stagec import random
    >>> bool((random.lognormal(random.key(0), 0.5, (100,)) > 0).all())
    True
    """
    kinds = dtypes.INEXACT - dtypes.SUB_BYTE
    wanted = wanted_dtype("lognormal", dtype, kinds, "a floating-point or complex dtype")
    sizes = drawn_shape("lognormal", shape, sigma)
    single = as_key("lognormal", key)
    return tr.exp(draw_normal(single, sizes, wanted) * parameter("lognormal", sigma, wanted, sizes))


def maxwell(key: KeyLike, shape: Shape = (), dtype: DTypeLike = None) -> Array:
    """Lengths of vectors of three normal numbers.

    >>> from stagec import random
    >>> random.maxwell(random.key(0), (3,)).shape
    (3,)
    """
    return _draw_maxwell(*drawing("maxwell", key, shape, dtype)[0])


def _draw_maxwell(key: PRNGKeyArray, shape: tuple[int, ...], dtype: Any) -> Array:
    return snp.linalg.norm(draw_normal(key, (*shape, 3), dtype), axis=-1)


def double_sided_maxwell(
    key: KeyLike, loc: ArrayLike, scale: ArrayLike, shape: Shape = (), dtype: DTypeLike = None
) -> Array:
    """Numbers of the Maxwell distribution with a random sign, scaled and shifted.

    Args:
      shape: the leading axes of the result, before those of `loc` and `scale`; without it, the result has these
        axes twice, as in JAX.

    >>> from stagec import random
    >>> random.double_sided_maxwell(random.key(0), 0.0, 1.0, (3,)).shape
    (3,)
    """
    own = np.broadcast_shapes(np.shape(loc), np.shape(scale))
    sizes = (as_shape(shape, "double_sided_maxwell") or own) + own
    start, (loc, scale) = drawing("double_sided_maxwell", key, sizes, dtype, loc, scale)
    keys = split_key(start.key, (2,))
    return draw_signs(keys[1], *start[1:]) * _draw_maxwell(keys[0], *start[1:]) * scale + loc


def triangular(
    key: KeyLike,
    left: ArrayLike,
    mode: ArrayLike,
    right: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike = None,
) -> Array:
    """Numbers of the triangular distribution on [left, right] with its peak at `mode`.

    >>> from stagec import random
    >>> bool((random.triangular(random.key(0), 1.0, 2.0, 4.0, (100,)) >= 1).all())
    True
    """
    start, (left, mode, right) = drawing("triangular", key, shape, dtype, left, mode, right)
    unit = draw_uniform(*start)
    rising = left + ar.sqrt(unit * (right - left) * (mode - left))
    falling = right - ar.sqrt((1 - unit) * (right - left) * (right - mode))
    return logic.select(unit < (mode - left) / (right - left), rising, falling)


def wald(key: KeyLike, mean: ArrayLike, shape: Shape | None = None, dtype: DTypeLike = None) -> Array:
    """Numbers of the inverse Gaussian distribution with this mean and scale 1.

    >>> from stagec import random
    >>> bool((random.wald(random.key(0), 2.0, (100,)) > 0).all())
    True
    """
    start, (mean,) = drawing("wald", key, shape, dtype, mean)
    keys = split_key(start.key, (2,))
    drawn, unit = draw_normal(keys[0], *start[1:]), draw_uniform(keys[1], *start[1:])
    y, mean_squared = ar.square(drawn), ar.square(mean)
    root = ar.sqrt(4 * mean * y + mean_squared * ar.square(y))
    x = mean + mean_squared * y / 2 - mean / 2 * root
    return logic.select(unit <= mean / (mean + x), x, mean_squared / x)

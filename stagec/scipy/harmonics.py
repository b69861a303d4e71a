"""Spherical harmonics."""

from __future__ import annotations

import math
from typing import Any

from stagec import numpy as snp
from stagec.control.loops import fori_loop
from stagec.core import dtypes, errors, location
from stagec.core.array import Array
from stagec.numpy.arguments import array_argument, concrete
from stagec.numpy.arithmetic import dtype_of
from stagec.primitives.operand import aval_of
from stagec.primitives.special import lgamma
from stagec.scipy.arguments import real_arrays
from stagec.typing import ArrayLike


def sph_harm_y(
    n: ArrayLike,
    m: ArrayLike,
    theta: ArrayLike,
    phi: ArrayLike,
    diff_n: int | None = None,
    n_max: int | None = None,
) -> Array:
    """The spherical harmonics: complex functions on the sphere, orthonormal for degrees `n` and orders `m`.

    Args:
      n: degrees, integers of 0 or more.
      m: orders, integers; 0 where `|m| > n`.
      theta: angles from the pole, in [0, pi].
      phi: angles around the axis.
      diff_n: not supported; derivatives come from `stagec.jvp`.
      n_max: the largest degree, which has to be known; larger ones are clipped to it.

    Source: DLMF 14.30.1, the recurrence 14.10.3 with normalized functions.

    >>> round(float(sph_harm_y(2, 0, 0.5, 0.0).real), 4)
    0.4133
    """
    if diff_n is not None:
        raise location.error(
            errors.UnsupportedError, "sph_harm_y: diff_n is not supported", fix="differentiate it with stagec.jvp"
        )
    degrees, orders = array_argument(n, "sph_harm_y"), array_argument(m, "sph_harm_y")
    for name, x in (("n", degrees), ("m", orders)):
        if not dtypes.is_integer(dtype_of(x)):
            raise location.error(
                errors.DtypeError,
                f"sph_harm_y: {name} is {aval_of(x).long()}",
                fix="give degrees and orders as integers",
            )
    if n_max is None:
        n_max = int(concrete(degrees, "sph_harm_y", "n", "give n_max").max(initial=0))
    angles = real_arrays("sph_harm_y", theta, phi)
    degrees, orders, polar, around = snp.broadcast_arrays(degrees, orders, *angles)
    dtype = dtype_of(polar)
    degree = snp.minimum(degrees, n_max).astype(dtype)
    order = abs(orders).astype(dtype)
    value = _normalized(degree, order, snp.cos(polar), snp.sin(polar), n_max)
    inside = order <= degree
    value = snp.where(inside, value, 0)
    # The function of -m is that of m, conjugate and times (-1)^m.
    value = snp.where((orders < 0) & (order % 2 == 1), -value, value)
    angle = orders.astype(dtype) * around
    return value * snp.cos(angle) + 1j * (value * snp.sin(angle))


def _normalized(n: Any, m: Array, x: Array, y: Array, n_max: int) -> Any:
    """sqrt((2n + 1) (n - m)! / (4 pi (n + m)!)) P_n^m(x), with y = sqrt(1 - x^2)."""
    # At n = m: (-1)^m sqrt((2m + 1)!! / (4 pi (2m)!!)) y^m.
    size = lgamma(m + 1.5) - lgamma(m + 1) + math.log(2 / math.sqrt(math.pi))
    start = snp.where(m % 2 == 1, -1, 1) * snp.exp(0.5 * (size - math.log(4 * math.pi)))
    power = snp.where(m == 0, 1, snp.where(y == 0, 0, abs(snp.where(y == 0, 1, y)) ** m))
    first = start * power

    def step(i: Any, state: Any) -> Any:
        below, this = state
        l = m + i + 1  # noqa: E741
        inner = (2 * l + 1) / ((l - m) * (l + m))
        a = snp.sqrt(inner * (2 * l - 1))
        b = snp.sqrt(snp.maximum(inner * (l - 1 - m) * (l - 1 + m) / snp.where(2 * l - 3 == 0, 1, 2 * l - 3), 0))
        above = a * x * this - b * below
        going = l <= n
        return snp.where(going, this, below), snp.where(going, above, this)

    return fori_loop(0, n_max, step, (first * 0, first))[1]

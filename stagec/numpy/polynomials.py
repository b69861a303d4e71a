"""Polynomials as vectors of coefficients, the highest power first."""

from __future__ import annotations

from typing import Any

import numpy as np

from stagec.control.loops import fori_loop
from stagec.core import dims, dtypes, location
from stagec.core.array import Array
from stagec.core.dtype_info import finfo
from stagec.numpy.arguments import array_argument, concrete
from stagec.numpy.arithmetic import multiply, negative
from stagec.numpy.conditionals import where
from stagec.numpy.creation import arange, ones, zeros
from stagec.numpy.diagonals import vander
from stagec.numpy.joining import concatenate
from stagec.numpy.manipulation import atleast_1d, ravel, roll
from stagec.numpy.promotion import promote_dtypes, promote_inexact
from stagec.numpy.sorting import argsort
from stagec.numpy.statistics import convolve
from stagec.primitives import arithmetic as ar
from stagec.primitives.axes import as_int, shape_error
from stagec.primitives.operand import aval_of
from stagec.primitives.slicing import dynamic_slice_in_dim, dynamic_update_slice_in_dim
from stagec.typing import ArrayLike

__all__ = ["poly", "polyadd", "polyder", "polydiv", "polyfit", "polyint", "polymul", "polysub", "roots"]


def _vectors(name: str, *arrays: Any, inexact: bool = False) -> list[Any]:
    """Convert coefficients to vectors of one dtype; a number has degree 0, and an empty array is the polynomial 0."""
    found = [array_argument(a, name) for a in arrays]
    for x in found:
        if aval_of(x).ndim > 1:
            raise shape_error(name, f"{aval_of(x).long()} is no vector", "pass coefficients, the highest power first")
    found = promote_inexact(*found) if inexact else promote_dtypes(*found)
    return [ravel(x) if aval_of(x).size else zeros(1, aval_of(x).dtype) for x in found]


def _trimmed(name: str, x: Array, keep: int = 1) -> Array:
    """Drop leading zeros of coefficients, which must not be traced."""
    (nonzero,) = np.nonzero(concrete(x, name, "the coefficients"))
    return x[min(int(nonzero[0]) if len(nonzero) else aval_of(x).size, aval_of(x).size - keep) :]


def _sum(name: str, a1: Any, a2: Any) -> Array:
    if any(aval_of(array_argument(a, name)).ndim > 1 for a in (a1, a2)):
        # Several polynomials, with powers along the first axis.
        x, y = promote_dtypes(array_argument(a1, name), array_argument(a2, name))
        x, y = atleast_1d(x, y)
    else:
        x, y = _vectors(name, a1, a2)
    short, long = sorted((y, x), key=lambda v: aval_of(v).shape[0])
    return long.at[long.shape[0] - short.shape[0] :].add(short)


def polyadd(a1: ArrayLike, a2: ArrayLike) -> Array:
    """The sum of two polynomials, whose coefficients are along the first axis; leading zeros stay.

    >>> import stagec.numpy as snp
    >>> snp.polyadd(snp.array([1, 2, 3]), snp.array([1, 1]))
    Array([1, 3, 4], dtype=int32)
    """
    return _sum("polyadd", a1, a2)


def polysub(a1: ArrayLike, a2: ArrayLike) -> Array:
    """The difference of two polynomials, whose coefficients are along the first axis; leading zeros stay.

    >>> import stagec.numpy as snp
    >>> snp.polysub(snp.array([1, 2, 3]), snp.array([1, 1]))
    Array([1, 1, 2], dtype=int32)
    """
    return _sum("polysub", a1, negative(a2))


def polymul(a1: ArrayLike, a2: ArrayLike, *, trim_leading_zeros: bool = False) -> Array:
    """The product of two polynomials.

    Args:
      trim_leading_zeros: leave out leading zeros, as NumPy does; not for traced arguments.

    >>> import stagec.numpy as snp
    >>> snp.polymul(snp.array([1.0, 1.0]), snp.array([1.0, -1.0]))
    Array([ 1.,  0., -1.], dtype=float32)
    """
    x, y = _vectors("polymul", a1, a2, inexact=True)
    if trim_leading_zeros:
        x, y = _trimmed("polymul", x), _trimmed("polymul", y)
    return convolve(x, y)


def polydiv(u: ArrayLike, v: ArrayLike, *, trim_leading_zeros: bool = False) -> tuple[Array, Array]:
    """The quotient and the remainder of two polynomials.

    Args:
      trim_leading_zeros: leave out leading zeros of the remainder, as NumPy does; not for traced arguments. Otherwise
        it has as many coefficients as `u`.

    >>> import stagec.numpy as snp
    >>> snp.polydiv(snp.array([1.0, 2.0, 4.0]), snp.array([1.0, 2.0]))
    (Array([1., 0.], dtype=float32), Array([0., 0., 4.], dtype=float32))
    """
    remainder, divisor = _vectors("polydiv", u, v, inexact=True)
    m, n = aval_of(remainder).size, aval_of(divisor).size
    count = m - n + 1
    if count < 1:
        return zeros(1, aval_of(remainder).dtype), remainder

    def step(i: Any, state: Any) -> Any:
        quotient, remainder = state
        part = dynamic_slice_in_dim(remainder, i, n)
        factor = part[:1] / divisor[:1]
        # The leading coefficient becomes exactly zero.
        left = concatenate([0 * factor, part[1:] - factor * divisor[1:]])
        return dynamic_update_slice_in_dim(quotient, factor, i, 0), dynamic_update_slice_in_dim(remainder, left, i, 0)

    quotient, remainder = fori_loop(0, count, step, (zeros(count, aval_of(remainder).dtype), remainder))
    return quotient, _trimmed("polydiv", remainder) if trim_leading_zeros else remainder


def _order(name: str, m: Any) -> int:
    order = as_int(m, name, "m")
    if order < 0:
        raise location.error(ValueError, f"{name}: m is {order}", fix="pass 0 or a positive number")
    return order


def polyder(p: ArrayLike, m: int = 1) -> Array:
    """The derivative of a polynomial, of order `m`.

    >>> import stagec.numpy as snp
    >>> snp.polyder(snp.array([1.0, 1.0, 1.0]))
    Array([2., 1.], dtype=float32)
    """
    order = _order("polyder", m)
    (found,) = _vectors("polyder", p, inexact=True)
    if aval_of(found).is_open:
        raise dims.open_error("polyder", f"coefficients {aval_of(found).long()}")
    powers = np.arange(aval_of(found).size)[::-1][: max(aval_of(found).size - order, 0)]
    factors = np.prod([powers - i for i in range(order)], axis=0) if order else np.ones(len(powers))
    return multiply(found[: len(powers)], factors.astype(aval_of(found).dtype))


def polyint(p: ArrayLike, m: int = 1, k: ArrayLike | None = None) -> Array:
    """The antiderivative of a polynomial, of order `m`.

    Args:
      k: the constants of integration, one for each order, or one for all; zeros by default.

    >>> import stagec.numpy as snp
    >>> snp.polyint(snp.array([2.0, 1.0]), k=5)
    Array([1., 1., 5.], dtype=float32)
    """
    order = _order("polyint", m)
    found = array_argument(p, "p")
    constants = zeros(1, aval_of(found).dtype) if k is None else ravel(array_argument(k, "k"))
    found, constants = promote_inexact(found, constants)
    (found,) = _vectors("polyint", found)
    if aval_of(constants).size not in (1, order):
        raise shape_error("polyint", f"{aval_of(constants).size} constants for m={order}", "pass one, or one for each")
    real = dtypes.real_dtype(aval_of(found).dtype)
    for i in range(order):
        constant = constants[i : i + 1] if aval_of(constants).size > 1 else constants
        found = concatenate([found / arange(aval_of(found).size, 0, -1, dtype=real), constant])
    return found


def poly(seq_of_zeros: ArrayLike) -> Array:
    """The coefficients of the polynomial with the given roots, or of the characteristic polynomial of a matrix.

    >>> import stagec.numpy as snp
    >>> snp.poly(snp.array([1.0, 2.0]))
    Array([ 1., -3.,  2.], dtype=float32)
    """
    (x,) = promote_inexact(array_argument(seq_of_zeros, "seq_of_zeros"))
    shape = aval_of(x).shape
    if len(shape) == 2 and shape[0] == shape[1] and shape[0]:
        from stagec.numpy import linalg  # what most programs do not need is imported when it is used

        x = linalg.eigvals(x)
    elif len(shape) > 1:
        raise shape_error("poly", f"{aval_of(x).long()}", "pass a vector of roots, or a square matrix")
    x = ravel(x)
    n = aval_of(x).size
    if not n:
        return ones((), aval_of(x).dtype)
    start = concatenate([ones(1, aval_of(x).dtype), zeros(n, aval_of(x).dtype)])

    def times_root(i: Array, p: Array) -> Array:
        return p - x[i] * concatenate([p[:1] * 0, p[:-1]])

    return fori_loop(0, n, times_root, start)


def roots(p: ArrayLike, *, strip_zeros: bool = True) -> Array:
    """The roots of a polynomial, complex and in no order.

    Args:
      strip_zeros: leave out the roots that belong to leading zeros. Not for traced arguments: with False, they are
        NaN, at the end.

    >>> import stagec.numpy as snp
    >>> snp.roots(snp.array([1.0, 0.0, 1.0])).imag.round(4)
    Array([ 1., -1.], dtype=float32)
    """
    from stagec.numpy import linalg  # what most programs do not need is imported when it is used

    (p,) = promote_inexact(array_argument(p, "p"))
    if aval_of(p).ndim != 1:
        raise shape_error("roots", f"{aval_of(p).long()} is no vector", "pass coefficients, the highest power first")
    complex_dtype = dtypes.complex_dtype(aval_of(p).dtype)
    if strip_zeros and aval_of(p).size:
        (nonzero,) = np.nonzero(concrete(p, "roots", "the coefficients"))
        if not len(nonzero):
            return zeros(0, complex_dtype)
        p = p[int(nonzero[0]) :]
        last = int(nonzero[-1]) + 1 - int(nonzero[0])
        found = linalg.eigvals(_companion(p[:last])) if last > 1 else zeros(0, complex_dtype)
        return concatenate([found, zeros(aval_of(p).size - last, complex_dtype)])
    n = aval_of(p).size
    if n < 2:
        return zeros(0, complex_dtype)
    leading = (p != 0).argmax()
    known = (p != 0).any()
    moved = where(known, roll(p, -leading), 1)
    found = linalg.eigvals(_companion(moved))
    # Each leading zero became a root 0, and sorts last.
    found = found[argsort(-abs(found))]
    return where(known & (arange(n - 1) < n - 1 - leading), found, complex(np.nan, np.nan))


def _companion(p: Array) -> Array:
    """The matrix whose eigenvalues are the roots of a polynomial."""
    n = aval_of(p).size - 1
    below = np.eye(n - 1, n, dtype=aval_of(p).dtype)
    return concatenate([(-p[1:] / p[0])[None], below], 0)


def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: ArrayLike | None = None,
    cov: bool | str = False,
) -> Any:
    """The polynomial of degree `deg` with the least sum of squared differences from points.

    Args:
      x, y: coordinates of the points; the columns of a matrix `y` are fitted one by one.
      rcond: singular values below `rcond` times the largest count as zeros; by default, the epsilon of the dtype
        times the number of points.
      full: return the sums of squares, the rank, the singular values and `rcond` as well.
      w: weights of the differences, before they are squared.
      cov: return the covariances of the coefficients as well; `"unscaled"` does not estimate them from the differences.

    >>> import stagec.numpy as snp
    >>> x = snp.array([0.0, 1.0, 2.0, 3.0])
    >>> snp.polyfit(x, 2 * x + 1, 1).round(4)
    Array([2., 1.], dtype=float32)
    """
    from stagec.numpy import linalg  # what most programs do not need is imported when it is used

    count = as_int(deg, "polyfit", "deg") + 1
    x, y = promote_inexact(array_argument(x, "x"), array_argument(y, "y"))
    points = aval_of(x).size
    if count < 1:
        raise location.error(ValueError, f"polyfit: deg is {count - 1}", fix="pass 0 or a positive number")
    if aval_of(x).ndim != 1 or not points or aval_of(y).ndim not in (1, 2) or aval_of(y).shape[0] != points:
        raise shape_error(
            "polyfit", f"{aval_of(x).long()} and {aval_of(y).long()}", "pass a vector x, and as many rows of y"
        )
    limit = points * float(finfo(dtypes.real_dtype(aval_of(x).dtype)).eps) if rcond is None else rcond
    left, right = vander(x, count), y
    if w is not None:
        _, w = promote_inexact(x, array_argument(w, "w"))
        if aval_of(w).shape != (points,):
            raise shape_error("polyfit", f"{aval_of(w).long()} for {points} points", "pass one weight for each point")
        left, right = left * w[:, None], right * (w if aval_of(y).ndim == 1 else w[:, None])
    scale = ar.sqrt((abs(left) ** 2).sum(0))
    scale = where(scale > 0, scale, 1)
    left = left / scale
    found, squares, rank, values = linalg.lstsq(left, right, limit)
    found = found / (scale if aval_of(y).ndim == 1 else scale[:, None])
    if full:
        return found, squares, rank, values, limit
    if not cov:
        return found
    base = linalg.inv(left.conj().T @ left) / (scale[:, None] * scale)
    if cov == "unscaled":
        factor = ones(1, aval_of(base).dtype)
    else:
        if points <= count:
            raise location.error(
                ValueError,
                f"polyfit: covariances of {count} coefficients from {points} points",
                fix="fit more points than coefficients, or pass cov='unscaled'",
            )
        factor = squares / (points - count)
    return found, base * factor if aval_of(y).ndim == 1 else base[:, :, None] * factor

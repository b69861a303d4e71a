"""Reduction of matrices to real bidiagonal form, and the singular values of bidiagonal matrices.

Source: Golub and Reinsch, "Singular value decomposition and least squares solutions" (1970).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from stagec.control.loops import fori_loop, while_loop
from stagec.core import dtypes
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.dtype_info import finfo
from stagec.factorizations.bisection import bisected
from stagec.factorizations.qr import reflector
from stagec.factorizations.tridiagonal import ordered
from stagec.factorizations.vectors import at, hypotenuse, put, rotate_pair, rotated
from stagec.numpy.conditionals import where
from stagec.numpy.creation import arange
from stagec.numpy.joining import stack
from stagec.numpy.manipulation import flip
from stagec.numpy.padding import pad
from stagec.numpy.rounding import conj
from stagec.primitives import arithmetic as ar
from stagec.primitives.broadcast import zeros
from stagec.primitives.operand import Operand, aval_of

# The limit of steps for each singular value. About three are needed; only NaN reaches the limit.
_ROUNDS = 60


class Bidiagonal(NamedTuple):
    """The bidiagonal form U B V^H of a matrix.

    Args:
      main, beside: the diagonals of B, both real; the last element of `beside` is 0.
      left, left_scales: the reflections whose product is U.
      right, right_scales: the reflections whose product is V; the first does not change the first row.
    """

    main: Any
    beside: Any
    left: Any
    left_scales: Any
    right: Any
    right_scales: Any


def bidiagonal(a: Any) -> Bidiagonal:
    """Reduce one matrix with no more columns than rows to U B V^H."""
    m, n = aval_of(a).shape
    rows, columns = arange(m), arange(n)

    def eliminate(k: Any, state: Any) -> Any:
        a, main, beside, left, left_scales, right, right_scales = state
        v, t, head = reflector(at(a, k, 1), k)
        a = a - (conj(t) * v)[:, None] * (conj(v)[None, :] @ a)
        w, u, next_head = reflector(conj(at(a, k)), k + 1)
        w, u = where(columns > k, w, 0), where(k + 1 < n, u, 0)
        a = a - (a @ w[:, None]) * (u * conj(w))[None, :]
        return (
            a,
            put(main, head[0].real, k),
            put(beside, where(k + 1 < n, next_head[0].real, 0), k),
            put(left, where(rows >= k, v, 0), k, 1),
            put(left_scales, t[0], k),
            put(right, w, k, 1),
            put(right_scales, u[0], k),
        )

    dtype = aval_of(a).dtype
    real = zeros(ShapedArray.of((n,), dtypes.real_dtype(dtype)))
    scales = zeros(ShapedArray.of((n,), dtype))
    start = a, real, real, zeros(aval_of(a)), scales, zeros(ShapedArray.of((n, n), dtype)), scales
    return Bidiagonal(*fori_loop(0, n, eliminate, start)[1:])


def singular_values(main: Any, beside: Any) -> Array:
    """Return the singular values of a real bidiagonal matrix in descending order."""
    n = aval_of(main).shape[0]
    # Plus and minus the singular values are the eigenvalues of the tridiagonal matrix with a zero diagonal and the
    # elements of `main` and `beside`, in turn, off the diagonal.
    vectors = stack([main, beside], 1).reshape(2 * n)[: 2 * n - 1]
    found = bisected(zeros(ShapedArray.of((2 * n,), aval_of(main).dtype)), vectors, n)
    # Bisection finds a zero as the center of a small interval, which may be negative.
    return flip(ar.max(found, 0 * found))


def singular_vectors(main: Any, beside: Any, left: Any, right: Any) -> list[Operand]:
    """Multiply `left` and `right` by the singular vectors of a real bidiagonal matrix, as rows.

    The rows are in the order of descending singular values.
    """
    n = aval_of(main).shape[0]
    positions = arange(n)
    info = finfo(aval_of(main).dtype)
    eps, tiny = float(info.eps), float(info.tiny)
    # The matrix is scaled to elements of about 1, so elements this small count as zero.
    least = tiny / eps

    def unfinished(state: Any) -> Any:
        p, rounds, *_ = state
        return (p >= 0) & (rounds < _ROUNDS * n)

    def step(state: Any) -> Any:
        p, rounds, s, e, *vectors = state
        size = abs(s)
        idle = (abs(e) <= eps * (size + pad(size[1:], ((0, 1),))) + least) & (positions < p)
        e = where(idle, 0, e)
        # The block that ends at p begins after the last zero of e.
        low = where(idle, positions + 1, 0).max()
        found = low == p
        around = where(positions < p, abs(e), 0) + where(positions > low, abs(pad(e[:-1], ((1, 0),))), 0)
        nothing = (size <= eps * around + least) & (positions >= low) & (positions <= p)
        zero_at = where(nothing, positions, -1).max()
        has_zero = (zero_at >= 0) & ~found
        s = where(has_zero & (positions == zero_at), 0, s)
        last = has_zero & (zero_at == p)
        s, e, *vectors = _eliminate_last_column(where(last, p - low, 0), p, low, s, e, *vectors)
        inner = has_zero & ~last
        s, e, *vectors = _eliminate_row(where(inner, p - zero_at, 0), zero_at, s, e, *vectors)
        s, e, *vectors = _sweep(where(found | has_zero, 0, p - low), p, low, s, e, *vectors)
        # Singular values are not negative.
        negative = found & (at(s, p) < 0)
        s = put(s, where(negative, -at(s, p), at(s, p)), p)
        u, v = vectors
        return where(found, p - 1, p), rounds + 1, s, e, u, put(v, where(negative, -at(v, p), at(v, p)), p)

    start = (arange(1) + (n - 1))[0]
    _, _, s, _, left, right = while_loop(unfinished, step, (start, start * 0, main, beside, left, right))
    return ordered(-s, left, right)


def _angle(x: Any, y: Any) -> tuple[Any, Any, Any]:
    """Return cosine, sine and length of a vector of two elements."""
    length = hypotenuse(x, y)
    safe = where(length > 0, length, 1)
    return where(length > 0, x / safe, 1), where(length > 0, y / safe, 0), length


def _rotated_pair(vectors: list[Any], left: tuple[Any, ...] | None, right: tuple[Any, ...] | None) -> list[Any]:
    """Rotate rows of two matrices, by (i, j, cosine, sine) each, or None for no rotation."""
    return [w if turn is None else rotated(w, *turn) for w, turn in zip(vectors, (left, right))]


def _eliminate_last_column(count: Any, p: Array, low: Any, s: Array, e: Array, *vectors: Any) -> Any:
    """Eliminate the last column, whose diagonal element is zero, by rotations that move its other element up."""
    f = where(count > 0, at(e, p - 1), 0)
    e = put(e, where(count > 0, 0, at(e, p - 1)), p - 1)

    def rotate(i: Any, state: Any) -> Any:
        f, s, e, *vectors = state
        j = p - 1 - i
        c, t, length = _angle(at(s, j), f)
        s = put(s, length, j)
        above = at(e, j - 1)
        more = j > low
        f = where(more, -t * above, 0)
        e = put(e, where(more, c * above, above), j - 1)
        return f, s, e, *_rotated_pair(vectors, None, (j, p, c, -t))

    return fori_loop(0, count, rotate, (f, s, e, *vectors))[1:]


def _eliminate_row(count: Any, k: Any, s: Array, e: Array, *vectors: Any) -> Any:
    """Eliminate row k, whose diagonal element is zero, by rotations that move its other element to the right."""
    f = where(count > 0, at(e, k), 0)
    e = put(e, where(count > 0, 0, at(e, k)), k)

    def rotate(i: Any, state: Any) -> Any:
        f, s, e, *vectors = state
        j = k + 1 + i
        c, t, length = _angle(at(s, j), f)
        s = put(s, length, j)
        f = -t * at(e, j)
        e = put(e, c * at(e, j), j)
        return f, s, e, *_rotated_pair(vectors, (j, k, c, -t), None)

    return fori_loop(0, count, rotate, (f, s, e, *vectors))[1:]


def _sweep(count: Any, p: Any, low: Any, s: Any, e: Any, *vectors: Any) -> Any:
    """One step of the QR algorithm with a shift, on the block from `low` to `p`."""
    last, before, corner, first, second = at(s, p), at(s, p - 1), at(e, p - 1), at(s, low), at(e, low)
    largest = ar.max(ar.max(ar.max(abs(last), abs(before)), ar.max(abs(corner), abs(first))), abs(second))
    scale = where(largest > 0, largest, 1)
    last, before, corner, first, second = last / scale, before / scale, corner / scale, first / scale, second / scale
    b = ((before + last) * (before - last) + corner * corner) / 2
    c = (last * corner) * (last * corner)
    root = ar.sqrt(b * b + c)
    divisor = b + where(b < 0, -root, root)
    shift = where(divisor == 0, 0, c / where(divisor == 0, 1, divisor))
    f, g = (first + last) * (first - last) + shift, first * second

    def rotate(i: Any, state: Any) -> Any:
        f, g, s, e, *vectors = state
        j = low + i
        c, t, length = _angle(f, g)
        e = put(e, where(i > 0, length, at(e, j - 1)), j - 1)
        here, beside, after = at(s, j), at(e, j), at(s, j + 1)
        f, beside = rotate_pair(here, beside, c, -t)
        g, after = rotate_pair(0 * after, after, c, -t)
        right = j, j + 1, c, -t
        c, t, length = _angle(f, g)
        s = put(s, length, j)
        f, after = rotate_pair(beside, after, c, -t)
        s = put(s, after, j + 1)
        e = put(e, beside, j)
        following = at(e, j + 1)
        more = j + 1 < p
        g, shorter = rotate_pair(0 * following, following, c, -t)
        g = where(more, g, 0)
        e = put(e, where(more, shorter, following), j + 1)
        return f, g, s, e, *_rotated_pair(vectors, (j, j + 1, c, -t), right)

    f, _, s, e, *vectors = fori_loop(0, count, rotate, (f, g, s, e, *vectors))
    return s, put(e, where(count > 0, f, at(e, p - 1)), p - 1), *vectors

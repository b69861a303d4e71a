"""Reduction of Hermitian matrices to real tridiagonal form, and the eigenvectors of tridiagonal matrices."""

from __future__ import annotations

from typing import Any

from stagec.control.loops import fori_loop, while_loop
from stagec.core import dtypes
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.dtype_info import finfo
from stagec.factorizations.qr import product, reflector
from stagec.factorizations.row import diagonal
from stagec.factorizations.vectors import at, hypotenuse, put, rotated
from stagec.numpy.conditionals import where
from stagec.numpy.creation import arange, eye
from stagec.numpy.padding import pad
from stagec.numpy.reductions import argmax
from stagec.numpy.rounding import conj
from stagec.primitives.broadcast import zeros
from stagec.primitives.operand import Operand, aval_of

# The limit of sweeps for each eigenvalue. About two are needed; only NaN reaches the limit.
_SWEEPS = 40


def tridiagonal(a: Any) -> tuple[Operand, Operand, Operand, Operand]:
    """Return the real diagonal and off-diagonal of Q^H a Q, and the vectors and scales of the reflections of Q.

    Args:
      a: one Hermitian matrix; both triangles are read.

    Source: Golub and Van Loan, "Matrix Computations", 8.3.1.
    """
    n = aval_of(a).shape[-1]
    rows = arange(n)

    def eliminate(k: Any, state: Any) -> Any:
        a, vectors, scales, off = state
        v, scale, beta = reflector(at(a, k, 1), k + 1)
        p = scale * (a @ v)
        w = p - 0.5 * conj(scale) * (conj(v) * p).sum() * v
        a = a - v[:, None] * conj(w)[None, :] - w[:, None] * conj(v)[None, :]
        vectors = put(vectors, where(rows > k, v, 0), k, 1)
        return a, vectors, put(scales, scale[0], k), put(off, beta[0].real, k)

    dtype = aval_of(a).dtype
    real = dtypes.real_dtype(dtype)
    start = a, zeros(aval_of(a)), zeros(ShapedArray.of((n,), dtype)), zeros(ShapedArray.of((n,), real))
    a, vectors, scales, off = fori_loop(0, n - 1, eliminate, start)
    return diagonal(a).real, off, vectors, scales


def columns_of(vectors: Any, scales: Any) -> Array:
    """Return Q, given the reflections of `tridiagonal`; they do not change the first row."""
    n = aval_of(vectors).shape[-1]
    if n == 1:
        return eye(1, dtype=aval_of(vectors).dtype)
    inner = product(vectors[1:, : n - 1], scales[: n - 1])
    corner = pad(inner, ((1, 0), (1, 0)))
    return where((arange(n) == 0)[:, None] & (arange(n) == 0), 1, corner)


def eigenvectors(d: Any, e: Any, w: Any) -> Operand:
    """Multiply `w` by the eigenvectors of a real tridiagonal matrix, as rows by ascending eigenvalues.

    Args:
      d: the diagonal.
      e: the off-diagonal, and one more element, which is ignored.

    Source: Dubrulle, Martin and Wilkinson, "The implicit QL algorithm" (1968).
    """
    n = aval_of(d).shape[0]
    index = arange(n)
    eps = float(finfo(aval_of(d).dtype).eps)

    def unfinished(state: Any) -> Any:
        low, sweeps, *_ = state
        return (low < n) & (sweeps < _SWEEPS * n)

    def step(state: Any) -> Any:
        low, sweeps, d, e, w = state
        below = pad(d[1:], ((0, 1),))
        small = (abs(e) <= eps * (abs(d) + abs(below))) | (index == n - 1)
        m = argmax(small & (index >= low)).astype(low.dtype)
        first = at(e, low)
        g = (at(d, low + 1) - at(d, low)) / (2 * where(m > low, first, 1))
        g = at(d, m) - at(d, low) + first / (g + where(g >= 0, 1, -1) * hypotenuse(g, 1))
        one = 0 * first + 1

        def rotate(k: Any, state: Any) -> Any:
            g, s, c, p, d, e, w = state
            i = m - 1 - k
            f, b = s * at(e, i), c * at(e, i)
            r = hypotenuse(f, g)
            e = put(e, r, i + 1)
            safe = where(r > 0, r, 1)
            s, c = where(r > 0, f / safe, 0), where(r > 0, g / safe, 1)
            g = at(d, i + 1) - p
            r = (at(d, i) - g) * s + 2 * c * b
            p = s * r
            d = put(d, g + p, i + 1)
            return c * r - b, s, c, p, d, e, rotated(w, i, i + 1, c, s)

        g, _, _, p, d, e, w = fori_loop(0, m - low, rotate, (g, one, one, 0 * one, d, e, w))
        found = m == low
        d = put(d, at(d, low) - where(found, 0, p), low)
        e = put(e, where(found, at(e, low), g), low)
        e = put(e, 0 * one, m)
        return where(found, low + 1, low), sweeps + 1, d, e, w

    zero = (arange(1) * 0)[0]
    _, _, d, _, w = while_loop(unfinished, step, (zero, zero, d, e, w))
    return ordered(d, w)[0]


def ordered(keys: Any, *matrices: Any) -> list[Operand]:
    """Sort the rows of matrices by ascending keys."""
    n = aval_of(keys).shape[0]
    index = arange(n)
    before = (keys[None, :] < keys[:, None]) | ((keys[None, :] == keys[:, None]) & (index[None, :] < index[:, None]))
    rank = before.sum(-1, dtype=index.dtype)

    def put_row(i: Any, state: Any) -> Any:
        return [put(x, at(y, i), at(rank, i)) for x, y in zip(state, matrices)]

    return fori_loop(0, n, put_row, [zeros(aval_of(x)) for x in matrices])

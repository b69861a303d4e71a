"""Conversion of real Schur forms, with blocks of two rows, to complex triangular matrices, and their eigenvectors."""

from __future__ import annotations

from typing import Any

from stagec.control.loops import fori_loop
from stagec.core import dtypes
from stagec.core.array import Array
from stagec.core.dtype_info import finfo
from stagec.factorizations.row import adjoint, diagonal
from stagec.factorizations.vectors import at, put
from stagec.numpy.conditionals import where
from stagec.numpy.creation import arange
from stagec.numpy.diagonals import diagonal as diagonal_of, triu
from stagec.numpy.padding import pad
from stagec.numpy.reductions import argmax
from stagec.numpy.rounding import conj
from stagec.primitives import arithmetic as ar
from stagec.primitives.broadcast import zeros
from stagec.primitives.complex import complex, imag, real
from stagec.primitives.operand import Operand, aval_of


def block_eigenvalues(t: Any) -> tuple[Operand, Operand]:
    """Return the real and imaginary parts of the eigenvalues of one matrix in LAPACK's real Schur form.

    In each block, the diagonal elements are equal, and the other two have opposite signs.
    """
    above, below = diagonal_of(t, 1), diagonal_of(t, -1)
    size = where(below == 0, 0, ar.sqrt(abs(above)) * ar.sqrt(abs(below)))
    return diagonal(t), pad(size, (0, 1)) - pad(size, (1, 0))


def block_unitary(t: Any) -> Array:
    """Return the block diagonal unitary G for which G^H t G is triangular; blocks of t need not be standard.

    The first eigenvalue of a block is the one with the positive imaginary part, or the larger one.
    """
    dtype = dtypes.complex_dtype(aval_of(t).dtype)
    main, above, below = diagonal(t), diagonal_of(t, 1), diagonal_of(t, -1)
    first, second = main[:-1], main[1:]
    half = (first - second) / 2
    inner = half * half + above * below
    root = ar.sqrt(abs(inner))
    # The eigenvector of the first eigenvalue: the eigenvalue less the last element of the block, and the element below
    # the diagonal.
    re, im = half + where(inner < 0, 0, root), where(inner < 0, root, 0)
    length = ar.sqrt(re * re + im * im + below * below)
    length = where(length > 0, length, 1)
    cosine, sine = complex(re / length, im / length), below / length
    block = below != 0
    cosine, sine = where(block, cosine, 0), where(block, sine, 0).astype(dtype)
    single = ~(pad(block, (0, 1)) | pad(block, (1, 0)))
    n = aval_of(t).shape[-1]
    rows, columns = arange(n)[:, None], arange(n)
    whole = pad(cosine, (0, 1)) + pad(conj(cosine), (1, 0)) + single
    return where(
        rows == columns,
        whole,
        where(rows == columns + 1, pad(sine, (0, 1)), where(rows + 1 == columns, -pad(sine, (1, 0)), 0)),
    ).astype(dtype)


def triangle_of(t: Any, q: Any) -> tuple[Operand, Operand]:
    """Convert one real Schur form and its vectors to a complex triangular matrix and its vectors."""
    g = block_unitary(t)
    return triu(adjoint(g) @ (t.astype(aval_of(g).dtype) @ g)), q.astype(aval_of(g).dtype) @ g


def vectors_of(t: Any) -> Operand:
    """Return the eigenvectors, as columns, of one complex triangular matrix with elements of at most 1."""
    dtype = aval_of(t).dtype
    n = aval_of(t).shape[-1]
    columns = arange(n)
    values = diagonal(t)
    least = float(finfo(dtypes.real_dtype(dtype)).eps)

    def solve_row(i: Any, x: Array) -> Array:
        j = n - 1 - i
        row = at(t, j)
        gap = at(row, j) - values
        # Equal eigenvalues are perturbed by a rounding error of the matrix.
        gap = where(abs(gap) < least, least, gap)
        known = (where(columns > j, row, 0)[None, :] @ x)[0]
        found = where(columns > j, -known / gap, where(columns == j, 1, 0))
        size = abs(found)
        shrunk = 1 / where(size > 1, size, 1)
        return put(x * shrunk, found * shrunk, j)

    return fori_loop(0, n, solve_row, zeros(aval_of(t)))


def normalized(v: Any) -> Operand:
    """Scale columns to length 1 with a real largest element, as LAPACK does for eigenvectors."""
    largest = abs(v).max(0)
    v = v / where(largest > 0, largest, 1)
    squares = real(v) * real(v) + imag(v) * imag(v)
    n = aval_of(v).shape[0]
    best = arange(n)[:, None] == argmax(squares, 0)
    head = where(best, v, 0).sum(0)
    length = ar.sqrt(squares.sum(0))
    v = v * (conj(head) / (abs(head) * length))
    return where(best, complex(real(v), 0 * real(v)), v)

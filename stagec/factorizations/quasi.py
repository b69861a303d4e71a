"""Conversion of real Schur forms, with blocks of two rows, to complex triangular matrices, and their eigenvectors.

Complex matrices are pairs of real ones.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from stagec.control.loops import fori_loop
from stagec.core.aval import ShapedArray
from stagec.core.dtype_info import finfo
from stagec.factorizations.row import diagonal
from stagec.factorizations.vectors import at, in_vectors, put, put_block
from stagec.numpy.conditionals import where
from stagec.numpy.creation import arange
from stagec.numpy.diagonals import diagonal as diagonal_of, triu
from stagec.numpy.padding import pad
from stagec.numpy.reductions import argmax
from stagec.primitives import arithmetic as ar
from stagec.primitives.broadcast import zeros
from stagec.primitives.joining import concatenate
from stagec.primitives.operand import aval_of
from stagec.primitives.shape import reshape
from stagec.primitives.slicing import slice_in_dim

Parts = tuple[Any, Any]


class Unitary(NamedTuple):
    """A unitary matrix G with blocks of two rows: its diagonal, and what is above and below it in each column."""

    re: Any
    im: Any
    above: Any
    below: Any

    def after(self, re: Any, im: Any = None) -> Parts:
        """Return a matrix, which is real if it has no imaginary part, times G."""
        return _turned(self, re, im, 1)

    def before(self, re: Any, im: Any) -> Parts:
        """Return G times a matrix."""
        return _turned(Unitary(self.re, self.im, -self.above, -self.below), re, im, 0)

    def adjoint_before(self, re: Any, im: Any) -> Parts:
        """Return G^H times a matrix."""
        return _turned(self._replace(im=-self.im), re, im, 0)


def _turned(g: Unitary, re: Any, im: Any, axis: int) -> Parts:
    """Combine each index of an axis with the ones around it; a pair of neighbours is turned."""
    along = [x[None, :] if axis else x[:, None] for x in g]
    n = aval_of(re).shape[axis]

    def part(x: Any, start: int) -> Any:
        return slice_in_dim(x, start, start + n - 1, axis=axis) if aval_of(x).shape[axis] > 1 else x

    def combined(x: Any) -> Any:
        found = x * along[0]
        found = put_block(found, part(found, 0) + part(x, 1) * part(along[3], 0), 0, 0)
        return put_block(found, part(found, 1) + part(x, 0) * part(along[2], 1), 1 - axis, axis)

    if im is None:
        return combined(re), re * along[1]
    return combined(re) - im * along[1], combined(im) + re * along[1]


def blocks_of(t: Any) -> tuple[Any, Any, Unitary]:
    """Return the real and imaginary parts of the eigenvalues of one real Schur form, and G for which G^H t G is
    triangular.

    Blocks need not be standard. The first eigenvalue of a block is the one with the positive imaginary part, or the one
    that needs no cancellation.
    """
    main, above, below = diagonal(t), diagonal_of(t, 1), diagonal_of(t, -1)
    last, block = main[1:], below != 0
    half = (main[:-1] - last) / 2
    inner = half * half + above * below
    root = ar.sqrt(abs(inner))
    is_complex = inner < 0
    # The eigenvector of the first eigenvalue: the eigenvalue less the last element of the block, and the element below
    # the diagonal.
    re = half + where(is_complex, 0, where(half < 0, -root, root))
    im = where(is_complex & block, root, 0)
    length = ar.sqrt(re * re + im * im + below * below)
    length = where(block & (length > 0), length, 1)
    first = last + re
    second = where(is_complex, first, last - above * (below / where(re == 0, 1, re)))
    values = where(pad(block, (0, 1)), pad(first, (0, 1)), where(pad(block, (1, 0)), pad(second, (1, 0)), main))
    cosine, sine, turn = where(block, re / length, 0), below / length, im / length
    single = ~(pad(block, (0, 1)) | pad(block, (1, 0)))
    unitary = Unitary(_spread(cosine, cosine) + single, _spread(turn, -turn), pad(-sine, (1, 0)), pad(sine, (0, 1)))
    return values, _spread(im, -im), unitary


def _spread(first: Any, second: Any) -> Any:
    """Return a number for each row, given those of the rows of blocks, which are 0 elsewhere."""
    return pad(first, (0, 1)) + pad(second, (1, 0))


def triangle_of(t: Any, unitary: Unitary) -> Parts:
    """Return G^H t G, a triangle, for one real Schur form."""
    re, im = unitary.adjoint_before(*unitary.after(t))
    return triu(re), triu(im)


def triangle_vectors(re: Any, im: Any) -> Any:
    """Return the eigenvectors of one complex triangle with elements of at most 1: `[row, part, vector]`."""
    n, dtype = aval_of(re).shape[-1], aval_of(re).dtype
    wide = in_vectors(n)
    columns, rest = arange(wide), (0, wide - n)
    values = pad(diagonal(re), rest), pad(diagonal(im), rest)
    least = float(finfo(dtype).eps)

    def solve_row(i: Any, x: Any) -> Any:
        j = n - 1 - i
        row = concatenate([at(re, j, 0, True), at(im, j, 0, True)], 0)
        known = reshape(where(columns[:n] > j, row, 0) @ reshape(x, (n, 2 * wide)), (2, 2, wide))
        a, b = known[0, 0] - known[1, 1], known[0, 1] + known[1, 0]
        c, d = at(row[0], j) - values[0], at(row[1], j) - values[1]
        # Equal eigenvalues are perturbed by a rounding error of the matrix.
        equal = c * c + d * d < least * least
        c, d = where(equal, least, c), where(equal, 0, d)
        inverse = -1 / (c * c + d * d)
        a, b = (a * c + b * d) * inverse, (b * c - a * d) * inverse
        a, b = where(columns > j, a, where(columns == j, 1, 0)), where(columns > j, b, 0)
        size = ar.sqrt(a * a + b * b)
        shrunk = 1 / where(size > 1, size, 1)
        return put(x * shrunk, concatenate([(a * shrunk)[None, :], (b * shrunk)[None, :]], 0), j)

    return fori_loop(0, n, solve_row, zeros(ShapedArray.of((n, 2, wide), dtype)))[:, :, :n]


def eigenvectors(q: Parts, x: Any, unitary: Unitary | None, im: Any) -> Parts:
    """Return Q G X for the eigenvectors X of a triangle: columns of length 1 with a real largest element, as in LAPACK.

    Args:
      q: its imaginary part is None if the matrix is real.
      unitary: G, for a real matrix.
      im: for a real matrix, the imaginary parts of the eigenvalues: eigenvectors of real ones are made real, and the
        others conjugate pairs.
    """
    n = aval_of(x).shape[0]
    if unitary is not None:
        x = concatenate(unitary.before(x[:, 0], x[:, 1]), 1)
    x = reshape(x, (n, 2 * n))
    found = q[0] @ x
    re, turned = found[:, :n], found[:, n:]
    if q[1] is not None:
        found = q[1] @ x
        re, turned = re - found[:, n:], turned + found[:, :n]
    best = arange(n)[:, None] == argmax(re * re + turned * turned, 0)
    head, other = where(best, re, 0).sum(0), where(best, turned, 0).sum(0)
    # For almost equal eigenvalues, the eigenvector of a real one may have any phase; its real part is one, too.
    unturned = best if unitary is None else best | (im == 0)
    re, turned = re * head + turned * other, where(unturned, 0, turned * head - re * other)
    length = ar.sqrt((re * re + turned * turned).sum(0))
    re, turned = re / length, turned / length
    if unitary is not None:
        before = [pad(part[:, :-1], ((0, 0), (1, 0))) for part in (re, turned)]
        re, turned = where(im < 0, before[0], re), where(im < 0, -before[1], turned)
    return re, turned

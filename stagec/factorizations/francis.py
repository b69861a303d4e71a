"""The QR algorithm: the Schur form of Hessenberg matrices, with blocks of two rows on the diagonal if they are real.

Sources: Francis, "The QR transformation" (1961 and 1962); Golub and Van Loan, "Matrix Computations", 7.5.
"""

from __future__ import annotations

from typing import Any

from stagec.control.loops import fori_loop, while_loop
from stagec.core import dtypes
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.dtype_info import finfo
from stagec.factorizations.vectors import at, element, in_vectors, put_block, squared
from stagec.numpy.conditionals import where
from stagec.numpy.creation import arange
from stagec.numpy.padding import pad
from stagec.numpy.rounding import conj
from stagec.primitives import arithmetic as ar
from stagec.primitives.broadcast import zeros
from stagec.primitives.joining import concatenate
from stagec.primitives.operand import Operand, aval_of
from stagec.primitives.shape import reshape
from stagec.primitives.slicing import dynamic_slice_in_dim

# The limit of sweeps for each eigenvalue, which is LAPACK's. About three are needed.
_SWEEPS = 30


def triangularized(h: Any, q: Any) -> tuple[Operand, Operand | None, Operand]:
    """Return the Schur form of one Hessenberg matrix with elements of at most 1, q times its vectors, and whether the
    iteration converged. Blocks of two rows have any form.
    """
    n = aval_of(h).shape[-1]
    is_complex = dtypes.is_complex(aval_of(h).dtype)
    eps = float(finfo(dtypes.real_dtype(aval_of(h).dtype)).eps)
    count = 1 if is_complex else 2
    # The adjoint of q is stored to the right of h, so that one operation reflects the rows of both. Further rows and a
    # column of zeros let reflections of three rows extend beyond the last row, and begin before the first column. A row
    # consists of whole vectors.
    width, height = in_vectors(n + 1 if q is None else 2 * n + 1, 16), in_vectors(n)
    total = max(height, n + count)
    wide = pad(h, ((0, total - n), (0, width - n)))
    if q is not None:
        wide = put_block(wide, conj(q.T), 0, n + 1)
    positions = arange(n)

    def unfinished(state: Any) -> Any:
        p, _, sweeps, _ = state
        return (p >= 0) & (sweeps < _SWEEPS * max(n, 10))

    def step(state: Any) -> Any:
        p, tries, sweeps, h = state
        flat = reshape(h, (total * width,))
        size, below = abs(flat[: n * (width + 1) + 1 : width + 1]), abs(flat[width :: width + 1][:n])
        # Elements below eps * eps count as zero in any case, since their squares could underflow.
        idle = (below <= eps * (size[:-1] + size[1:]) + eps * eps) & (positions < p)
        # The block that ends at p begins after the last zero.
        low = where(idle, positions + 1, 0).max()
        before = _before(low, n)
        found = p - low < count
        # The first reflection is that of a bulge in the column before the block.
        start = [reshape(x, (1, 1)) for x in (_single if is_complex else _double)(h, low, p, tries)]
        h = put_block(h, concatenate(start, 0), low, before)
        h = fori_loop(low, where(found, low, p), lambda k, h: _reflected(h, k, _before(k, n), count + 1, height), h)
        h = put_block(h, zeros(ShapedArray.of((count + 1, 1), aval_of(h).dtype)), low, before)
        return where(found, low - 1, p), where(found, 0, tries + 1), sweeps + 1, h

    zero = (arange(1) * 0)[0]
    p, _, _, h = while_loop(unfinished, step, (zero + n - 1, zero, zero, wide))
    return h[:n, :n], None if q is None else conj(h[:n, n + 1 : 2 * n + 1].T), p < 0


def _before(k: Any, n: int) -> Any:
    """The column before column k; before the first one, the column of zeros."""
    return where(k > 0, k - 1, n)


def _double(h: Array, low: Any, p: Array, tries: Array) -> list[Any]:
    """The first column of h less two shifts, times a number, for real matrices."""
    x, y, beside = element(h, p, p), element(h, p - 1, p - 1), element(h, p, p - 1)
    w = beside * element(h, p - 1, p)
    # Of two real shifts, the one closer to the last element is used twice.
    middle = (y - x) / 2
    root = middle * middle + w
    real = root >= 0
    root = ar.sqrt(where(real, root, 0))
    shift = x + where(abs(middle + root) < abs(middle - root), middle + root, middle - root)
    # Every tenth sweep uses an exceptional shift, for matrices that the usual ones do not change.
    odd = (tries % 10 == 9) & (tries > 0)
    size = abs(beside) + abs(element(h, p - 1, p - 2))
    x, y, w = where(odd, x + 0.75 * size, where(real, shift, x)), where(real, shift, y), where(real, 0, w)
    y, w = where(odd, x, y), where(odd, -0.4375 * size * size, w)
    z, lower, last = element(h, low, low), element(h, low + 1, low), element(h, low + 1, low + 1)
    r, s = x - z, y - z
    a = (r * s - w) / where(lower == 0, 1, lower) + element(h, low, low + 1)
    return [a, last - z - r - s, element(h, low + 2, low + 1)]


def _single(h: Array, low: Any, p: Array, tries: Array) -> list[Any]:
    """The first column of h less a shift, for complex matrices."""
    x, y, beside = element(h, p, p), element(h, p - 1, p - 1), element(h, p, p - 1)
    # Wilkinson's shift: the eigenvalue of the last two rows that is closer to the last element.
    middle = (y - x) / 2
    w = beside * element(h, p - 1, p)
    root = ar.sqrt(middle * middle + w)
    turn = where((conj(middle) * root).real < 0, -1, 1).astype(aval_of(x).dtype)
    divisor = middle + turn * root
    shift = x - where(divisor == 0, 0, w / where(divisor == 0, 1, divisor))
    odd = (tries % 10 == 9) & (tries > 0)
    shift = where(odd, x + 0.75 * abs(beside), shift)
    return [element(h, low, low) - shift, element(h, low + 1, low)]


def _reflected(h: Array, k: Any, left: Any, count: int, height: int) -> Array:
    """Apply the reflection that zeroes all but the first of `count` elements of a column, from row k on.

    It is applied to whole rows from k on, and to as many columns of the first `height` rows.
    """
    u, t = reflection([element(h, k + j, left) for j in range(count)])
    v = concatenate([reshape(x, (1,)) for x in (0 * t + 1, *u)], 0)
    rows = dynamic_slice_in_dim(h, k, count, 0, allow_negative_indices=False)
    h = put_block(h, rows - (conj(t) * v)[:, None] * (conj(v) @ rows), k, 0)
    h = put_block(h, zeros(ShapedArray.of((count - 1, 1), aval_of(h).dtype)), k + 1, left)
    columns = [at(h[:height], k + j, 1, True) for j in range(count)]
    dot = sum((x * column for x, column in zip(u, columns[1:])), columns[0])
    scaled = t * dot
    for j, column in enumerate([columns[0] - scaled, *[x - conj(y) * scaled for x, y in zip(columns[1:], u)]]):
        h = put_block(h, column, 0, k + j)
    return h


def reflection(x: list[Any]) -> tuple[list[Any], Any]:
    """Return v, without its first element 1, and t of the reflection 1 - t v v^H that zeroes all but the first of two
    or three numbers.
    """
    head, *tail = x
    largest = sum((abs(v) for v in tail), abs(head))
    # The divisor is at least the smallest normal number, because subnormal numbers have few digits.
    unit = ar.max(largest, 0 * largest + float(finfo(aval_of(largest).dtype).tiny))
    head, tail = head / unit, [v / unit for v in tail]
    below = sum((squared(v) for v in tail[1:]), squared(tail[0]))
    length = ar.sqrt(squared(head) + below)
    beta = where(head.real > 0, -length, length)
    idle = (below == 0) & (head.imag == 0) if dtypes.is_complex(aval_of(head).dtype) else below == 0
    divisor = where(idle, 1, head - beta)
    return [v / divisor for v in tail], where(idle, 0, (beta - head) / where(idle, 1, beta))

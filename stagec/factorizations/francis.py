"""The QR algorithm: the Schur form of Hessenberg matrices, with blocks of two rows on the diagonal if they are real.

Sources: Francis, "The QR transformation" (1961 and 1962); Golub and Van Loan, "Matrix Computations", 7.5.
"""

from __future__ import annotations

from typing import Any

from stagec.control.loops import fori_loop, while_loop
from stagec.core import dtypes
from stagec.core.array import Array
from stagec.core.dtype_info import finfo
from stagec.factorizations.row import diagonal
from stagec.factorizations.standard import standardized
from stagec.factorizations.vectors import at, put
from stagec.numpy.conditionals import where
from stagec.numpy.creation import arange
from stagec.numpy.diagonals import diagonal as diagonal_of
from stagec.numpy.joining import concatenate
from stagec.numpy.padding import pad
from stagec.numpy.rounding import conj
from stagec.primitives import arithmetic as ar
from stagec.primitives.operand import Operand, aval_of
from stagec.primitives.slicing import dynamic_index_in_dim, dynamic_update_index_in_dim

# The limit of sweeps for each eigenvalue, which is LAPACK's. About three are needed.
_SWEEPS = 30


def triangularized(h: Any, q: Any) -> tuple[Operand, Operand | None, Operand]:
    """Return the Schur form of one Hessenberg matrix with elements of at most 1, q times its vectors, and whether the
    iteration converged.
    """
    n = aval_of(h).shape[-1]
    is_complex = dtypes.is_complex(aval_of(h).dtype)
    eps = float(finfo(dtypes.real_dtype(aval_of(h).dtype)).eps)
    # The adjoint of q is stored to the right of h, so that one operation reflects the rows of both. A further row and
    # column of zeros let reflections of three rows extend beyond the last row.
    wide = pad(h, ((0, 1), (0, 1)))
    if q is not None:
        wide = concatenate([wide, pad(conj(q.T), ((0, 1), (0, 0)))], 1)
    positions = arange(n)

    def unfinished(state: Any) -> Any:
        p, _, sweeps, _ = state
        return (p >= 0) & (sweeps < _SWEEPS * max(n, 10))

    def step(state: Any) -> Any:
        p, tries, sweeps, h = state
        main, below = diagonal(h[:, : n + 1]), diagonal_of(h[:, : n + 1], -1)
        around = abs(main[:n]) + abs(main[1:])
        # Elements below eps * eps count as zero in any case, since their squares could underflow.
        idle = (abs(below) <= eps * ar.max(around, 0 * around + eps)) & (positions < p)
        # The block that ends at p begins after the last zero.
        low = where(idle, positions + 1, 0).max()
        before = ar.max(low - 1, 0 * low)
        first = at(h, low)
        h = put(h, where((arange(aval_of(h).shape[1]) == before) & (low > 0), 0, first), low)
        if is_complex:
            h = _single(h, low, p, tries)
        else:
            h = standardized(h, p, low == p - 1)
            h = _double(h, low, p, tries)
        found = p - low < (1 if is_complex else 2)
        return where(found, low - 1, p), where(found, 0, tries + 1), sweeps + 1, h

    zero = (arange(1) * 0)[0]
    p, _, _, h = while_loop(unfinished, step, (zero + n - 1, zero, zero, wide))
    return h[:n, :n], None if q is None else conj(h[:n, n + 1 :].T), p < 0


def _double(h: Array, low: Any, p: Array, tries: Array) -> Array:
    """One sweep with two shifts, for real matrices."""
    second = ar.max(p - 1, 0 * p)
    row, above = at(h, p), at(h, second)
    x, y, beside = at(row, p), at(above, second), at(row, second)
    w = beside * at(above, p)
    # Of two real shifts, the one closer to the last element is used twice.
    middle = (y - x) / 2
    root = middle * middle + w
    real = root >= 0
    root = ar.sqrt(where(real, root, 0))
    shift = x + where(abs(middle + root) < abs(middle - root), middle + root, middle - root)
    x, y, w = where(real, shift, x), where(real, shift, y), where(real, 0, w)
    # Every tenth sweep uses an exceptional shift, for matrices that the usual ones do not change.
    odd = (tries % 10 == 9) & (tries > 0)
    size = abs(beside) + abs(at(at(h, second), ar.max(p - 2, 0 * p)))
    x = where(odd, at(row, p) + 0.75 * size, x)
    y, w = where(odd, x, y), where(odd, -0.4375 * size * size, w)
    first, next_row, third = at(h, low), at(h, low + 1), at(h, ar.min(low + 2, p))
    z = at(first, low)
    r, s = x - z, y - z
    lower = at(next_row, low)
    a = (r * s - w) / where(lower == 0, 1, lower) + at(first, low + 1)
    b = at(next_row, low + 1) - z - r - s
    c = at(third, low + 1)
    count = where(p - low < 2, 0, p - low)
    return _chase(h, low, p, count, [a, b, c])


def _single(h: Array, low: Any, p: Array, tries: Array) -> Array:
    """One sweep with one shift, for complex matrices."""
    second = ar.max(p - 1, 0 * p)
    row, above = at(h, p), at(h, second)
    x, y, beside = at(row, p), at(above, second), at(row, second)
    # Wilkinson's shift: the eigenvalue of the last two rows that is closer to the last element.
    middle = (y - x) / 2
    w = beside * at(above, p)
    root = ar.sqrt(middle * middle + w)
    turn = where((conj(middle) * root).real < 0, -1, 1).astype(aval_of(x).dtype)
    divisor = middle + turn * root
    shift = x - where(divisor == 0, 0, w / where(divisor == 0, 1, divisor))
    odd = (tries % 10 == 9) & (tries > 0)
    shift = where(odd, x + 0.75 * abs(beside), shift)
    a = at(at(h, low), low) - shift
    b = at(at(h, ar.min(low + 1, p)), low)
    return _chase(h, low, p, where(p > low, p - low, 0), [a, b])


def _chase(h: Array, low: Any, p: Array, count: Any, start: list[Any]) -> Array:
    """Apply a reflection whose first column has the direction of `start`, and chase the bulge to restore the form."""
    columns = arange(aval_of(h).shape[1])

    def reflect(i: Any, h: Array) -> Array:
        k = low + i
        # The bulge of the last reflection is in the previous column, below the subdiagonal.
        left = ar.max(k - 1, 0 * k)
        lines = [at(h, k + j) for j in range(len(start))]
        inside = [k + j <= p for j in range(len(start))]
        vector = [where(f, where(i > 0, at(line, left), s), 0) for f, line, s in zip(inside, lines, start)]
        u, t = reflection(vector)
        dot = sum((conj(x) * line for x, line in zip(u, lines[1:])), lines[0])
        scaled = conj(t) * dot
        lines = [lines[0] - scaled, *[line - x * scaled for x, line in zip(u, lines[1:])]]
        gone = (columns == left) & (i > 0)
        lines = [lines[0], *[where(gone, 0, line) for line in lines[1:]]]
        for j, line in enumerate(lines):
            h = put(h, line, k + j)
        columns_here = [dynamic_index_in_dim(h, k + j, 1, keepdims=False) for j in range(len(start))]
        dot = sum((x * column for x, column in zip(u, columns_here[1:])), columns_here[0])
        scaled = t * dot
        columns_here = [columns_here[0] - scaled, *[v - conj(x) * scaled for x, v in zip(u, columns_here[1:])]]
        for j, column in enumerate(columns_here):
            h = dynamic_update_index_in_dim(h, column, k + j, 1)
        return h

    return fori_loop(0, count, reflect, h)


def reflection(x: list[Any]) -> tuple[list[Any], Any]:
    """Return v, without its first element 1, and t of the reflection 1 - t v v^H that zeroes all but the first of two
    or three numbers.
    """
    head, *tail = x
    largest = sum((abs(v) for v in tail), abs(head))
    # The divisor is at least the smallest normal number, because subnormal numbers have few digits.
    unit = ar.max(largest, 0 * largest + float(finfo(aval_of(largest).dtype).tiny))
    head, tail = head / unit, [v / unit for v in tail]
    below = sum((_square(v) for v in tail[1:]), _square(tail[0]))
    length = ar.sqrt(_square(head) + below)
    beta = where(head.real > 0, -length, length)
    idle = (below == 0) & (head.imag == 0) if dtypes.is_complex(aval_of(head).dtype) else below == 0
    divisor = where(idle, 1, head - beta)
    return [v / divisor for v in tail], where(idle, 0, (beta - head) / where(idle, 1, beta))


def _square(x: Array) -> Array:
    return x.real * x.real + x.imag * x.imag if dtypes.is_complex(aval_of(x).dtype) else x * x

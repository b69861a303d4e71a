"""Standardization of the blocks of two rows of real Schur forms."""

from __future__ import annotations

from typing import Any

import numpy as np

from stagec.control.loops import fori_loop
from stagec.core.dtype_info import finfo
from stagec.factorizations.vectors import at, element, hypotenuse, put, put_block, rotate_pair
from stagec.numpy.conditionals import where
from stagec.primitives import arithmetic as ar
from stagec.primitives.joining import concatenate
from stagec.primitives.operand import aval_of
from stagec.primitives.slicing import dynamic_slice


def _angle(x: Any, y: Any) -> tuple[Any, Any]:
    """Return cosine and sine of the direction of a vector of two elements."""
    length = hypotenuse(x, y)
    safe = where(length > 0, length, 1)
    return where(length > 0, x / safe, 1), where(length > 0, y / safe, 0)


def _turned_block(a: Any, b: Any, c: Any, d: Any, x: Any, y: Any) -> tuple[Any, Any, Any, Any]:
    """Rotate a block from both sides."""
    a, c, b, d = *rotate_pair(a, c, x, -y), *rotate_pair(b, d, x, -y)
    a, b, c, d = *rotate_pair(a, b, x, -y), *rotate_pair(c, d, x, -y)
    return a, b, c, d


def rotation(a: Any, b: Any, c: Any, d: Any) -> tuple[Any, Any, Any]:
    """Return cosine and sine of the rotation that makes a block standard, and whether its eigenvalues are real.

    A block is standard if c is 0, or if a and d are equal and b and c have opposite signs.
    """
    eps = float(finfo(aval_of(a).dtype).eps)
    half = (a - d) / 2
    large, small = ar.max(abs(b), abs(c)), ar.min(abs(b), abs(c)) * where((b < 0) == (c < 0), 1, -1)
    scale = ar.max(abs(half), large)
    safe = where(scale > 0, scale, 1)
    inner = half / safe * half + large / safe * small
    # Closer to zero, the sign is decided once the diagonal elements are equal.
    real = inner >= 4 * eps * safe
    # Real: the eigenvector of the eigenvalue that needs no cancellation.
    root = ar.sqrt(safe) * ar.sqrt(where(real, inner, 0))
    x, y = _angle(half + where(half < 0, -root, root), c)
    # Complex: an angle that makes the diagonal equal.
    total = b + c
    sign = where(total < 0, -1, 1).astype(aval_of(a).dtype)
    length = hypotenuse(total, 2 * half)
    length = where(length > 0, length, 1)
    cosine = ar.sqrt((1 + abs(total) / length) / 2)
    sine = -(half / (length * cosine)) * sign
    x, y = where(real, x, cosine), where(real, y, sine)
    # After rounding, eigenvalues that are close to each other may turn out to be real.
    _, b, c, _ = _turned_block(a, b, c, d, x, y)
    late = ~real & (c != 0) & ((b == 0) | ((b < 0) == (c < 0)))
    s, t = _angle(ar.sqrt(abs(b)), ar.sqrt(abs(c)) * where(c < 0, -1, 1).astype(aval_of(a).dtype))
    more_x, more_y = rotate_pair(x, y, s, t)
    return where(late, more_x, x), where(late, more_y, y), real | late | (c == 0)


def standardized(t: Any, q: Any) -> tuple[Any, Any]:
    """Make the blocks of two rows of one real Schur form standard; q are its vectors, or None."""
    n = aval_of(t).shape[-1]
    whole = t if q is None else concatenate([t, q], 0)
    square = np.arange(4).reshape(2, 2)

    def turn(k: Any, w: Any) -> Any:
        a, b, c, d = element(w, k, k), element(w, k, k + 1), element(w, k + 1, k), element(w, k + 1, k + 1)
        x, y, real = rotation(a, b, c, d)
        wanted = c != 0
        x, y = where(wanted, x, 1), where(wanted, y, 0)
        first, second = rotate_pair(at(w, k), at(w, k + 1), x, -y)
        w = put(put(w, first, k), second, k + 1)
        left, right = rotate_pair(at(w, k, 1), at(w, k + 1, 1), x, -y)
        w = put(put(w, left, k, 1), right, k + 1, 1)
        block = dynamic_slice(w, (k, k), (2, 2), allow_negative_indices=False)
        mean = (element(w, k, k) + element(w, k + 1, k + 1)) / 2
        block = where((square == 2) & real & wanted, 0, where((square % 3 == 0) & ~real & wanted, mean, block))
        return put_block(w, block, k, k)

    whole = fori_loop(0, n - 1, turn, whole)
    return (whole, None) if q is None else (whole[:n], whole[n:])

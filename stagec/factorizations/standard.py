"""Standardization of the blocks of two rows of real Schur forms."""

from __future__ import annotations

from typing import Any

from stagec.core.dtype_info import finfo
from stagec.factorizations.vectors import at, hypotenuse, put, rotate_pair
from stagec.numpy.conditionals import where
from stagec.numpy.creation import arange
from stagec.primitives import arithmetic as ar
from stagec.primitives.operand import aval_of
from stagec.primitives.slicing import dynamic_index_in_dim, dynamic_update_index_in_dim


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


def standardized(h: Any, p: Any, wanted: Any) -> Any:
    """Make the block of two rows that ends at row p standard, if `wanted`."""
    above = ar.max(p - 1, 0 * p)
    first, second = at(h, above), at(h, p)
    a, b, c, d = at(first, above), at(first, p), at(second, above), at(second, p)
    x, y, real = rotation(a, b, c, d)
    x, y = where(wanted, x, 1), where(wanted, y, 0)
    first, second = rotate_pair(first, second, x, -y)
    h = put(put(h, first, above), second, p)
    left, right = (dynamic_index_in_dim(h, i, 1, keepdims=False) for i in (above, p))
    left, right = rotate_pair(left, right, x, -y)
    rows = arange(aval_of(h).shape[0])
    mean = (at(left, above) + at(right, p)) / 2
    left = where((rows == p) & wanted & real, 0, where((rows == above) & wanted & ~real, mean, left))
    right = where((rows == p) & wanted & ~real, mean, right)
    h = dynamic_update_index_in_dim(h, left, above, 1)
    return dynamic_update_index_in_dim(h, right, p, 1)

"""Reading, replacing and rotating elements and rows at traced indices."""

from __future__ import annotations

from typing import Any

from stagec.core.array import Array
from stagec.numpy.conditionals import where
from stagec.primitives import arithmetic as ar
from stagec.primitives.operand import aval_of
from stagec.primitives.slicing import dynamic_index_in_dim, dynamic_update_index_in_dim


def at(x: Any, i: Any) -> Array:
    """Return an element of a vector, or a row of a matrix."""
    return dynamic_index_in_dim(x, i, 0, keepdims=False)


def put(x: Any, value: Any, i: Any) -> Array:
    """Replace an element of a vector, or a row of a matrix."""
    return dynamic_update_index_in_dim(x, value, i, 0)


def exchanged(x: Any, i: Any, j: Any) -> Array:
    """Exchange two rows of an array."""
    first, second = at(x, i), at(x, j)
    return put(put(x, second, i), first, j)


def rotated(w: Any, i: Any, j: Any, c: Any, s: Any) -> Array:
    """Replace rows i and j by c * row i - s * row j, and s * row i + c * row j."""
    first, second = rotate_pair(at(w, i), at(w, j), c, s)
    return put(put(w, first, i), second, j)


def rotate_pair(x: Any, y: Any, c: Any, s: Any) -> tuple[Any, Any]:
    """Return c * x - s * y, and s * x + c * y, accurately for small angles.

    The cosine of a small angle rounds to 1, so that each rotation would lengthen a vector by the square of the sine;
    thousands of rotations add up. This form avoids that. Source: Rutishauser, "The Jacobi method" (1966).
    """
    sign = where(c < 0, -1, 1).astype(aval_of(c).dtype)
    s = sign * s
    half = s / (1 + abs(c))
    return sign * (x - s * (y + half * x)), sign * (y + s * (x - half * y))


def hypotenuse(x: Any, y: Any) -> Array:
    """Return sqrt(x**2 + y**2) without overflow of the squares."""
    large, small = ar.max(abs(x), abs(y)), ar.min(abs(x), abs(y))
    ratio = small / where(large > 0, large, 1)
    return large * ar.sqrt(1 + ratio * ratio)

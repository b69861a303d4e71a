"""Elements and rows, and rotations of pairs of them."""

from __future__ import annotations

from typing import Any

from stagec.core.array import Array
from stagec.numpy.conditionals import where
from stagec.primitives import arithmetic as ar
from stagec.primitives.operand import aval_of
from stagec.primitives.slicing import dynamic_index_in_dim, dynamic_update_index_in_dim


def at(x: Any, i: Any) -> Array:
    """An element of a vector, or a row of a matrix."""
    return dynamic_index_in_dim(x, i, 0, keepdims=False)


def put(x: Any, value: Any, i: Any) -> Array:
    """A vector with another element, or a matrix with another row."""
    return dynamic_update_index_in_dim(x, value, i, 0)


def exchanged(x: Any, i: Any, j: Any) -> Array:
    """An array with two of its rows in each other's place."""
    first, second = at(x, i), at(x, j)
    return put(put(x, second, i), first, j)


def rotated(w: Any, i: Any, j: Any, c: Any, s: Any) -> Array:
    """A matrix whose rows i and j become c * row i - s * row j, and s * row i + c * row j."""
    first, second = turned(at(w, i), at(w, j), c, s)
    return put(put(w, first, i), second, j)


def turned(x: Any, y: Any, c: Any, s: Any) -> tuple[Any, Any]:
    """c * x - s * y, and s * x + c * y.

    The cosine of a small angle rounds to 1, and the square of the sine is left over each time: thousands of rotations
    make vectors longer. In this form it is not lost. Source: Rutishauser, "The Jacobi method" (1966).
    """
    sign = where(c < 0, -1, 1).astype(aval_of(c).dtype)
    s = sign * s
    half = s / (1 + abs(c))
    return sign * (x - s * (y + half * x)), sign * (y + s * (x - half * y))


def hypotenuse(x: Any, y: Any) -> Array:
    """The root of the sum of two squares, none of which overflows."""
    large, small = ar.max(abs(x), abs(y)), ar.min(abs(x), abs(y))
    ratio = small / where(large > 0, large, 1)
    return large * ar.sqrt(1 + ratio * ratio)

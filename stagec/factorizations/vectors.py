"""Reading, replacing and rotating elements and rows at traced indices."""

from __future__ import annotations

import operator
from functools import reduce
from typing import Any

from stagec.core import dtypes
from stagec.core.array import Array
from stagec.numpy.conditionals import where
from stagec.primitives import arithmetic as ar
from stagec.primitives.operand import aval_of
from stagec.primitives.shape import reshape
from stagec.primitives.slicing import (
    dynamic_index_in_dim,
    dynamic_slice,
    dynamic_update_index_in_dim,
    dynamic_update_slice,
)


def in_vectors(n: int, lanes: int = 8) -> int:
    """Return the least number of elements from n on that vectors of so many hold: no narrower ones are needed then."""
    return -(-n // lanes) * lanes


def at(x: Any, i: Any, axis: int = 0, keepdims: bool = False) -> Array:
    """Return an element of a vector, or a row of a matrix, or what is at an index of another axis."""
    return dynamic_index_in_dim(x, i, axis, keepdims=keepdims, allow_negative_indices=False)


def put(x: Any, value: Any, i: Any, axis: int = 0) -> Array:
    """Replace what `at` returns."""
    return dynamic_update_index_in_dim(x, value, i, axis, allow_negative_indices=False)


def element(x: Any, i: Any, j: Any) -> Array:
    """Return an element of a matrix; indices beyond its ends are clamped."""
    return reshape(dynamic_slice(x, (i, j), (1, 1), allow_negative_indices=False), ())


def put_block(x: Any, block: Any, i: Any, j: Any) -> Array:
    """Replace the block of a matrix that begins at an element."""
    return dynamic_update_slice(x, block, (i, j), allow_negative_indices=False)


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


def squared(x: Any) -> Any:
    """Return the squares of the absolute values."""
    return x.real * x.real + x.imag * x.imag if dtypes.is_complex(aval_of(x).dtype) else x * x


def hypotenuse(x: Any, y: Any) -> Array:
    """Return sqrt(x**2 + y**2) without overflow of the squares."""
    large, small = ar.max(abs(x), abs(y)), ar.min(abs(x), abs(y))
    ratio = small / where(large > 0, large, 1)
    return large * ar.sqrt(1 + ratio * ratio)


def to_unit_scale(*parts: Any) -> tuple[Any, ...]:
    """Return the parts of a matrix divided by their largest absolute value; this scale; and whether all are finite.

    A matrix that is not finite becomes zeros.
    """
    usable = reduce(operator.and_, [(x - x == 0).all() for x in parts])
    parts = tuple(where(usable, x, 0) for x in parts)
    largest = reduce(ar.max, [abs(x).max(initial=0) for x in parts])
    scale = where(largest > 0, largest, 1)
    return (*[x / scale for x in parts], scale, usable)

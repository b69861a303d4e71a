"""Maxima and minima of complex numbers, ordered by real part first, as in NumPy."""

from __future__ import annotations

import math
from typing import Any

from stagec.core import dtypes
from stagec.core.array import Array
from stagec.primitives import reduce as rd
from stagec.primitives.complex import imag, real
from stagec.primitives.iota import broadcasted_iota
from stagec.primitives.logic import bitwise_and, eq, ne, select
from stagec.primitives.operand import Operand, aval_of, literal
from stagec.primitives.shape import broadcast_in_dim, reshape, transpose


def bound(largest: bool) -> complex:
    """Return the identity of the maximum, or of the minimum, of complex numbers."""
    end = -math.inf if largest else math.inf
    return complex(end, end)


def position(x: Operand, axis: int, dtype: Any, largest: bool) -> Array:
    """Return the index of the first maximum or minimum along an axis; of the first NaN, if there is one."""
    reduce, end = (rd.reduce_max, -math.inf) if largest else (rd.reduce_min, math.inf)
    shape = aval_of(x).shape
    others = tuple([i for i in range(len(shape)) if i != axis])

    def is_best(part: Array) -> Array:
        return eq(part, broadcast_in_dim(reduce(part, (axis,)), shape, others))

    first = is_best(real(x))
    second = is_best(select(first, imag(x), literal(end, dtypes.real_dtype(aval_of(x).dtype))))
    nan = ne(x, x)
    some_nan = broadcast_in_dim(rd.reduce_or(nan, (axis,)), shape, others)
    return rd.argmax(select(some_nan, nan, bitwise_and(first, second)), axis, dtype)


def extreme(x: Operand, axes: tuple[int, ...], largest: bool) -> Array:
    """The largest or smallest number along some axes; the first NaN, if there is one."""
    shape, dtype = aval_of(x).shape, aval_of(x).dtype
    kept = [i for i in range(len(shape)) if i not in axes]
    sizes = tuple([shape[i] for i in kept])
    count = math.prod([shape[i] for i in axes])
    if not count:
        return broadcast_in_dim(literal(bound(largest), dtype), sizes, ())
    last = len(kept)
    rows = reshape(transpose(x, (*kept, *axes)), (*sizes, count))
    index = position(rows, last, dtypes.int32, largest)
    chosen = eq(
        broadcasted_iota(dtypes.int32, (*sizes, count), last),
        broadcast_in_dim(index, (*sizes, count), tuple(range(last))),
    )
    return rd.reduce_sum(select(chosen, rows, literal(0, dtype)), (last,))

"""Reductions written out in elementwise rows, for operations that have derivatives: by halves, windows and shifts.

Arrays that are combined together are a list, such as values and their tangents; `combine` takes two
such lists, of neighbours in order, and returns one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stagec.core.primitive import Primitive
from stagec.primitives.broadcast import instantiate, spread_to
from stagec.primitives.joining import concatenate
from stagec.primitives.operand import aval_of, literal
from stagec.primitives.padding import pad_p
from stagec.primitives.rules import add_p
from stagec.primitives.shape import squeeze_p
from stagec.primitives.slicing import slice_in_dim

Arrays = list[Any]
Combine = Callable[[Arrays, Arrays], Arrays]


def pair_of(row: Primitive) -> Combine:
    """Combine a value and its tangent by a row of two operands."""

    def combine(a: Arrays, b: Arrays) -> Arrays:
        out, dot = row.jvp(row, [a[0], b[0]], [a[1], b[1]], {})
        return [out, instantiate(dot)]

    return combine


def folded(combine: Combine, arrays: Arrays, starts: Arrays) -> Arrays:
    """Combine along the leading axis, neighbours pairwise, and with `starts`, which lack that axis."""
    n = aval_of(arrays[0]).shape[0]
    shape = aval_of(arrays[0]).shape[1:]
    tails: list[Arrays] = []

    def element(x: Any, i: int) -> Any:
        return _drop(slice_in_dim(x, i, i + 1))

    while n > 1:
        if n % 2:
            tails.append([element(x, n - 1) for x in arrays])
        even = [slice_in_dim(x, 0, n - n % 2, 2) for x in arrays]
        odd = [slice_in_dim(x, 1, n, 2) for x in arrays]
        arrays, n = combine(even, odd), n // 2
    total = [spread_to(s, shape) for s in starts]
    if n:
        total = combine(total, [element(x, 0) for x in arrays])
    for tail in reversed(tails):
        total = combine(total, tail)
    return total


def _drop(x: Any) -> Any:
    return squeeze_p(x, dimensions=(0,))


def running(combine: Combine, arrays: Arrays, axis: int, reverse: bool) -> Arrays:
    """Combine all elements up to each position of an axis, or from it on: in log2(n) steps of twice the distance."""
    n, step = aval_of(arrays[0]).shape[axis], 1
    while step < n:
        early, late = ([slice_in_dim(x, i, i + n - step, axis=axis) for x in arrays] for i in (0, step))
        # What nothing is combined with stays as it is.
        alone = [
            slice_in_dim(x, n - step, n, axis=axis) if reverse else slice_in_dim(x, 0, step, axis=axis) for x in arrays
        ]
        both = combine(early, late)
        arrays = [concatenate([b, a] if reverse else [a, b], axis) for a, b in zip(alone, both)]
        step *= 2
    return arrays


def paired(combine: Combine, arrays: Arrays, axis: int, interleave: Callable[[Any, Any, int], Any]) -> Arrays:
    """Combine all elements up to each position of an axis, in the pairs in which JAX's `associative_scan` does."""
    size = aval_of(arrays[0]).shape[axis]
    if size < 2:
        return arrays

    def part(values: Arrays, start: int, stop: int | None, stride: int = 1) -> Arrays:
        return [slice_in_dim(v, start, stop, stride, axis) for v in values]

    pairs = combine(part(arrays, 0, size - 1, 2), part(arrays, 1, None, 2))
    # The partial results at the odd positions; those at the even ones take one step more.
    odd = paired(combine, pairs, axis, interleave)
    even = part(arrays, 0, 1)
    if size > 2:
        rest = combine(odd if size % 2 else part(odd, 0, -1), part(arrays, 2, None, 2))
        even = [concatenate([a, b], axis) for a, b in zip(even, rest)]
    return [interleave(a, b, axis) for a, b in zip(even, odd)]


def interleaved_by_sum(a: Any, b: Any, axis: int) -> Any:
    """a[0], b[0], a[1], b[1], ... of floats, for `paired`: as a sum, which kernels compute where they read it."""
    longer = aval_of(a).shape[axis] > aval_of(b).shape[axis]

    def spread(x: Any, low: int, high: int) -> Any:
        aval = aval_of(x)
        config = tuple([(low, high, 1) if i == axis else (0, 0, 0) for i in range(aval.ndim)])
        # The identity of addition, which keeps the signs of zeros.
        return pad_p(x, literal(-np.zeros((), aval.dtype)[()], aval.dtype), padding_config=config)

    return add_p(spread(a, 0, not longer), spread(b, 1, longer))


def padded_arrays(arrays: Arrays, fills: Sequence[Any], window: dict[str, Any]) -> Arrays:
    """Arrays with a window's edges and holes written out."""
    config = tuple([(low, high, b - 1) for (low, high), b in zip(window["padding"], window["base_dilation"])])
    if not any(map(any, config)):
        return arrays
    return [pad_p(x, f, padding_config=config) for x, f in zip(arrays, fills)]


def slid(combine: Combine, arrays: Arrays, window: dict[str, Any]) -> Arrays:
    """Combine the elements of each position of a window, without edges: in row-major order, axis by axis."""
    for axis in range(aval_of(arrays[0]).ndim - 1, -1, -1):
        size, stride, dilation = [window[k][axis] for k in ("window_dimensions", "window_strides", "window_dilation")]
        n = aval_of(arrays[0]).shape[axis]
        span = (size - 1) * dilation + 1
        if span > n:
            arrays = [slice_in_dim(x, 0, 0, axis=axis) for x in arrays]
        elif size > 1 or stride > 1:
            arrays = _along(combine, arrays, axis, size, stride, dilation, (n - span) // stride + 1)
    return arrays


def _along(combine: Combine, arrays: Arrays, axis: int, size: int, stride: int, dilation: int, count: int) -> Arrays:
    """Combine blocks of 1, 2, 4, ... elements, and then the blocks that a window consists of."""
    parts: list[Arrays] = []
    block, blocks, done = 1, size, 0
    while blocks:
        if blocks % 2 or blocks == 2:
            for _ in range(blocks if blocks <= 3 else 1):
                start = done * dilation
                stop = start + (count - 1) * stride + 1
                parts.append([slice_in_dim(x, start, stop, stride, axis) for x in arrays])
                done += block
        if blocks <= 3:
            break
        n = aval_of(arrays[0]).shape[axis]
        left = [slice_in_dim(x, 0, n - block * dilation, axis=axis) for x in arrays]
        right = [slice_in_dim(x, block * dilation, n, axis=axis) for x in arrays]
        arrays, block, blocks = combine(left, right), 2 * block, blocks // 2
    total = parts[0]
    for part in parts[1:]:
        total = combine(total, part)
    return total

"""Lowering for open dimensions of convolutions: contractions of `linalg`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stagec.core.aval import ShapedArray
from stagec.core.dims import is_open, open_error
from stagec.core.dims_terms import Size
from stagec.lowering.open_linalg import axes_text, combined, generic, is_combined, restored, signless
from stagec.lowering.open_shapes import part
from stagec.lowering.open_windows import spread

Ints = tuple[int, ...]
# Up to this many contractions are faster than one with all elements of the window.
_FEW = 16
# As many as compile in seconds, where the compiler refuses the one.
_MOST = 256


def convolution(
    cx: Any,
    operands: tuple[Any, Any],
    avals: tuple[ShapedArray, ShapedArray],
    out: ShapedArray,
    specs: tuple[Ints, Ints, Ints],
    window_strides: Ints,
    padding: Sequence[tuple[int, int]],
    lhs_dilation: Ints,
    rhs_dilation: Ints,
    groups: tuple[int, int],
) -> Any:
    """`stablehlo.convolution` in groups, or along open axes, as contractions; None where the compiler takes it.

    Args:
      specs: of each array, where batch, features and space are; of the kernel, output and input features first.
      groups: of features, and of the batch.
    """
    lhs_spec, rhs_spec, out_spec = specs
    shapes = (avals[0].shape, avals[1].shape, out.shape)
    is_space_open = any(is_open(shape[i]) for shape, spec in zip(shapes, specs) for i in spec[2:])
    if groups == (1, 1) and not is_space_open:
        return None
    count, rank = max(groups), len(window_strides)
    inner, outer, batch = shapes[1][rhs_spec[1]], shapes[1][rhs_spec[0]], shapes[2][out_spec[0]]
    steps = (outer, inner if groups[0] > 1 else batch)
    if not is_combined(out.dtype, "add") or (count > 1 and any(is_open(n) for n in steps)):
        raise open_error("conv_general_dilated", " and ".join(a.long() for a in avals))
    sides = []
    for value, aval in zip(operands, avals):
        wide = aval.update(dtype=out.dtype)
        value = value if aval.dtype == out.dtype else cx.emit("stablehlo.convert", [value], None, [wide])
        sides.append(signless(cx, value, wide))
    edges, holes = [(0, 0)] * (rank + 2), [1] * (rank + 2)
    for i, edge, hole in zip(lhs_spec[2:], padding, lhs_dilation):
        edges[i], holes[i] = edge, hole
    sides[0] = spread(cx, *sides[0], 0, edges, holes)
    # With groups, the features of a group are an axis of their own, after that of the groups.
    grouped = (lhs_spec[1 if groups[0] > 1 else 0], rhs_spec[0], out_spec[1])
    if count > 1:
        for i, (value, aval) in enumerate(sides):
            aval = _split(aval, grouped[i], count)
            sides[i] = cx.emit("stablehlo.reshape", [value], None, [aval]), aval
    result = _split(out, grouped[2], count) if count > 1 else out
    result = result.update(dtype=sides[0][1].dtype)
    lhs, rhs, to = (tuple(n + (count > 1 and n >= axis) for n in spec) for spec, axis in zip(specs, grouped))
    index, parallel = [f"d{i}" for i in range(result.ndim + 1 + rank)], result.ndim
    features, windows, positions = index[parallel], index[parallel + 1 :], [index[i] for i in to[2:]]
    terms = [{lhs[0]: index[to[0]], lhs[1]: features}, {rhs[0]: index[to[1]], rhs[1]: features}]
    for side, axis in zip(terms, grouped if count > 1 else ()):
        side[axis] = index[grouped[2]]

    def body(a: Any, b: Any, total: Any) -> Any:
        return combined(cx, "add", out.dtype, total, combined(cx, "mul", out.dtype, a, b))

    def contracted(x: Any, kernel: Any, total: Any, aval: ShapedArray, places: Sequence[str]) -> Any:
        """The sum of products, by where along the axes of space an element of `x` is."""
        axes = [{**terms[0], **dict(zip(lhs[2:], places))}, {**terms[1], **dict(zip(rhs[2:], windows))}]
        domain = f"({', '.join(index)})"
        maps = [f"{domain} -> ({', '.join(side[i] for i in sorted(side))})" for side in axes]
        kinds = ["parallel"] * parallel + ["reduction"] * (1 + rank)
        return generic(cx, [*maps, f"{domain} -> ({axes_text(parallel)})"], kinds, [x, kernel], total, aval, body)

    def zeros(aval: ShapedArray) -> Any:
        return cx.constant(np.zeros((), aval.dtype), aval)

    (x, x_aval), (kernel, kernel_aval) = sides
    window, space = [kernel_aval.shape[i] for i in rhs[2:]], [result.shape[i] for i in to[2:]]
    limit = _MOST if _is_refused(count, batch, inner, outer // count if count > 1 else outer, window) else _FEW
    if _is_few(window, limit):
        found = zeros(result)
        for at in itertools.product(*map(range, window)):
            starts = [n * hole for n, hole in zip(at, rhs_dilation)]
            shifted = _block(cx, x, x_aval, lhs[2:], starts, window_strides, space)
            weights = _block(cx, kernel, kernel_aval, rhs[2:], at, [1] * rank, [1] * rank)
            found = contracted(shifted, weights, found, result, positions)
    elif _is_few(space, limit):
        one = _with(result, to[2:], [1] * rank)

        def at_position(at: Sequence[int]) -> Any:
            starts = [n * stride for n, stride in zip(at, window_strides)]
            block = _block(cx, x, x_aval, lhs[2:], starts, rhs_dilation, window)
            return contracted(block, kernel, zeros(one), one, windows)

        found = _assembled(cx, at_position, one, to[2:], space)
    else:
        places = [
            f"{position} * {stride} + {offset} * {hole}"
            for position, stride, offset, hole in zip(positions, window_strides, windows, rhs_dilation)
        ]
        found = contracted(x, kernel, zeros(result), result, places)
    if count > 1:
        found = cx.emit("stablehlo.reshape", [found], None, [out.update(dtype=result.dtype)])
    return restored(cx, found, result, out)


def _is_few(sizes: Sequence[Size], limit: int) -> bool:
    return not any(is_open(n) for n in sizes) and math.prod(sizes) <= limit


def _is_refused(count: int, batch: Size, inner: Size, width: Size, window: Sequence[Size]) -> bool:
    """Whether the compiler takes a contraction with all elements of the window for a convolution without a batch or
    without features, for which it generates no code.
    """
    many = (count != 1, batch != 1 or any(n == 1 for n in window), inner != 1, width != 1)
    return many in ((True, False, False, False), (False, True, False, False), (False, False, True, True))


def _split(aval: ShapedArray, axis: int, count: int) -> ShapedArray:
    """An aval whose axis is two: parts, and their elements."""
    shape = aval.shape
    return aval.update(shape=(*shape[:axis], count, shape[axis] // count, *shape[axis + 1 :]))


def _with(aval: ShapedArray, axes: Sequence[int], sizes: Sequence[Size]) -> ShapedArray:
    shape = list(aval.shape)
    for axis, size in zip(axes, sizes):
        shape[axis] = size
    return aval.update(shape=shape)


def _block(
    cx: Any,
    value: Any,
    aval: ShapedArray,
    axes: Sequence[int],
    starts: Sequence[int],
    strides: Sequence[int],
    sizes: Sequence[Size],
) -> Any:
    """The elements from `starts` at `strides` along some axes."""
    first, step = [0] * aval.ndim, [1] * aval.ndim
    for axis, start, stride in zip(axes, starts, strides):
        first[axis], step[axis] = start, stride
    return part(cx, value, first, step, _with(aval, axes, sizes))


def _assembled(
    cx: Any,
    element: Callable[[Sequence[int]], Any],
    aval: ShapedArray,
    axes: Sequence[int],
    sizes: Sequence[int],
    at: tuple[int, ...] = (),
) -> Any:
    """An array of pieces, each of size 1 along some axes; the first positions are given."""
    k = len(at)
    if k == len(axes):
        return element(at)
    pieces = [_assembled(cx, element, aval, axes, sizes, (*at, i)) for i in range(sizes[k])]
    wide = _with(aval, axes[k:], sizes[k:])
    return cx.emit("stablehlo.concatenate", pieces, {"dimension": f"{axes[k]} : i64"}, [wide])

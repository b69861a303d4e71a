"""Convolutions with few pixels and long sums, such as the gradient of a kernel by images: workgroups share the sums."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from passes import bindings, build
from passes.kernels.convolutions.shapes import Axis, Convolution
from passes.kernels.convolutions.tiles import Tiling, workgroups
from passes.match import dtype_of, shape_of
from passes.types import numpy_dtype

# The workgroups that there are at most, and the least multiply-adds of each.
_MOST, _LEAST = 16, 1 << 18


def of(convolution: Convolution, how: Tiling) -> Convolution:
    """The convolution whose groups are shares of its sums; the same if there are enough workgroups, or little to do.

    Each share has its own elements along an axis of the window.
    """
    (part, *others), groups = convolution.parts, convolution.groups
    if others or groups.extent > 1 or convolution.channelwise or not how.vectors:
        return convolution
    terms = math.prod(axis.extent for axis in part.window)
    work = terms * math.prod(axis.extent for axis in part.pixels) * convolution.columns
    most = min(_MOST // workgroups(convolution, how), work // _LEAST)
    found = [(d, i) for i, axis in enumerate(part.window) for d in range(2, most + 1) if axis.extent % d == 0]
    if not found:
        return convolution
    count, i = max(found, key=lambda row: (row[0], -row[1]))
    axis = part.window[i]
    size = axis.extent // count
    window = (*part.window[:i], Axis(size, axis.first, axis.second), *part.window[i + 1 :])
    pixels = tuple([Axis(p.extent, p.first, p.second * count) for p in part.pixels])
    return dataclasses.replace(
        convolution,
        parts=(dataclasses.replace(part, pixels=pixels, window=window, result=part.result * count),),
        groups=Axis(count, size * axis.first, convolution.columns),
        group_rhs=size * axis.second,
        result=convolution.element,
    )


def added_up(op: Any, convolution: Convolution) -> Any:
    """Put the sum of shares in the place of a convolution; returns an operation that stands for the shares.

    They are groups of features, in the type that is computed in.
    """
    (result,) = op.results
    *pixels, columns = shape_of(result)
    with bindings.ir.InsertionPoint(op), op.location:
        dtype = numpy_dtype(bindings.ir.Type.parse(convolution.element))
        count = convolution.groups.extent
        type_ = build.tensor_type((*pixels, count * columns), dtype)
        made = build.op("stablehlo.iota", [], type_, attributes={"iota_dimension": build.i64(0)})
        each = build.reshape(made, (*pixels, count, columns))
        (total,) = build.reduce(["stablehlo.add"], [each], [build.constant(np.zeros((), dtype))], [len(pixels)])
        result.replace_all_uses_with(total if dtype == dtype_of(result) else build.convert(total, dtype_of(result)))
    op.erase()
    return made.owner

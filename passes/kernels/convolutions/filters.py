"""Convolutions of one feature as sums of products of shifted arrays, whose vectors run along the pixels."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np

from passes import attributes as attrs, bindings, build
from passes.kernels.products.shapes import computed_in
from passes.match import dtype_of, element_name, shape_of

# The most elements of a window: each is a term in the code of the kernel.
_MOST = 64


def replace_filters(found: Iterable[Any]) -> None:
    """Replace those of some operations that are convolutions of arrays of one feature, in place.

    Their kernels would have vectors of a single column. The terms are added in the same order.
    """
    for op in found:
        if op.name == "stablehlo.convolution":
            _replace(op)


def _replace(op: Any) -> None:
    view = op.opview
    spatial = len(shape_of(op.results[0])) - 2
    dims = attrs.convolution_dimensions(view)
    ones = (1,) * spatial
    window = [shape_of(view.rhs)[axis] for axis in dims.rhs_spatial]
    is_filter = (
        spatial > 0
        and shape_of(view.rhs)[dims.rhs_input] == shape_of(view.rhs)[dims.rhs_output] == 1
        and shape_of(view.lhs)[dims.lhs_feature] == 1
        and (dims.lhs_batch, *dims.lhs_spatial) == tuple(sorted((dims.lhs_batch, *dims.lhs_spatial)))
        and (dims.out_batch, *dims.out_spatial) == tuple(sorted((dims.out_batch, *dims.out_spatial)))
        and attrs.ints(view, "lhs_dilation", ones) == attrs.ints(view, "window_strides", ones) == ones
        and not any(attrs.ints(view, "window_reversal", (0,) * spatial))
        and computed_in(view) == element_name(view.lhs) == element_name(op.results[0])
        and 1 < np.prod(window) <= _MOST
    )
    if not is_filter or 0 in (*shape_of(op.results[0]), *shape_of(view.lhs)):
        return
    pixels = [shape_of(op.results[0])[axis] for axis in (dims.out_batch, *dims.out_spatial)]
    with bindings.ir.InsertionPoint(op), op.location:
        array = build.reshape(view.lhs, [shape_of(view.lhs)[axis] for axis in (dims.lhs_batch, *dims.lhs_spatial)])
        low, high = zip((0, 0), *attrs.pairs(view, "padding", spatial))
        if any((*low, *high)):
            array = build.pad(array, build.constant(np.zeros((), dtype_of(array))), low, high)
        taps = build.transpose(view.rhs, [*dims.rhs_spatial, dims.rhs_input, dims.rhs_output])
        taps = build.reshape(taps, window)
        steps = attrs.ints(view, "rhs_dilation", ones)
        total = None
        for at in itertools.product(*map(range, window)):
            tap = build.reshape(build.slice_(taps, at, [i + 1 for i in at]), ())
            starts = [0, *(i * step for i, step in zip(at, steps))]
            shifted = build.slice_(array, starts, [i + n for i, n in zip(starts, pixels)])
            term = build.op("stablehlo.multiply", [shifted, build.broadcast_in_dim(tap, pixels, ())])
            total = term if total is None else build.op("stablehlo.add", [total, term])
        result = build.reshape(total, shape_of(op.results[0]))
    op.results[0].replace_all_uses_with(result)
    op.erase()

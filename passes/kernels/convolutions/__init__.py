"""Convolutions as kernels: `stablehlo.convolution` in any layout, with its epilogue."""

from __future__ import annotations

from typing import Any

import numpy as np

from passes import bindings, build
from passes.kernels.convolutions import direct, shares
from passes.kernels.convolutions.shapes import Convolution, Found, read
from passes.kernels.convolutions.tiles import Tiling, tiling
from passes.kernels.dispatch import Kernels
from passes.kernels.processor import Processor
from passes.kernels.products import epilogue as epilogues
from passes.kernels.products.shapes import Matrix, Product
from passes.kernels.products.vectors import Vectors
from passes.kernels.writer import Writer
from passes.match import dtype_of, shape_of, size_of

__all__ = ["form"]


def form(kernels: Kernels, processor: Processor) -> dict[str, int]:
    """Replace the convolutions of a module by kernels where they are supported; returns their number."""
    count = 0
    arranged: dict[Any, Any] = {}
    for op in kernels.found("stablehlo.convolution"):
        found = read(op.opview)
        if found is None:
            kernels.plan.refuse("convolution", op.location, "element types or layouts that kernels have no code for")
        else:
            images = _arranged(op, found, arranged)
            how = tiling(found.convolution, processor)
            convolution = shares.of(found.convolution, how)
            if convolution != found.convolution:
                op = shares.added_up(op, convolution)
            _form(kernels, processor, op, images, found.rhs.value, convolution, how)
            count += 1
    return {"convolutions": count} if count else {}


def _arranged(op: Any, found: Found, known: dict[Any, Any]) -> Any:
    """The images in the order in which a kernel reads them, with their edges.

    A layer and the gradient of its kernel read the same, which is made once.

    Args:
      known: what has been made for operations before, by the block, the images, their order, and their edges.
    """
    lhs, edges = found.lhs.value, found.edges
    key = op.block, lhs, found.lhs.copied, edges
    if key not in known:
        with bindings.ir.InsertionPoint(op), op.location:
            lhs = build.transpose(lhs, found.lhs.copied) if found.lhs.copied else lhs
            if edges.any:
                zero = build.constant(np.zeros((), dtype_of(lhs)))
                low, high = ([max(n, 0) for n in ends] for ends in (edges.low, edges.high))
                lhs = build.pad(lhs, zero, low, high, edges.between)
                if min(*edges.low, *edges.high) < 0:  # kernels have no code for padding that removes elements
                    limits = [size + min(n, 0) for size, n in zip(shape_of(lhs), edges.high)]
                    lhs = build.slice_(lhs, [max(-n, 0) for n in edges.low], limits)
                assert shape_of(lhs) == edges.shape(found.lhs.memory), "padding gives the expected shape"
        known[key] = lhs
    return known[key]


def _form(
    kernels: Kernels, processor: Processor, op: Any, images: Any, rhs: Any, convolution: Convolution, how: Tiling
) -> None:
    # The epilogue sees the convolution as a product, whose rows are the pixels.
    matrix = Matrix(convolution.kind, 0, 0, 0)
    pixels = size_of(op.results[0]) // convolution.features
    product = Product(pixels, convolution.features, 1, (), matrix, matrix, convolution.element, convolution.result)
    epilogue = epilogues.find(op, product)
    location = epilogues.location_of(epilogue, op)
    with bindings.ir.InsertionPoint(epilogues.last_operation(epilogue, op)), location:
        vectors = Vectors(Writer(), convolution.element, how.lanes, processor)
        kernel = direct.kernel(convolution, how, vectors, epilogue, location)
        types = [value.type for value in epilogue.results]
        made = kernels.dispatch(kernel, [images, rhs, *epilogue.operands], types)
        kernels.plan.accept("convolution", location, len(kernel.body) - 1, kernel.scratch)
    epilogues.replace(epilogue, made, op)

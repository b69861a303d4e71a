"""Convolutions as kernels: `stablehlo.convolution` in any layout, with its epilogue."""

from __future__ import annotations

from typing import Any

import numpy as np

from passes import bindings, build
from passes.kernels.convolutions import direct
from passes.kernels.convolutions.shapes import Found, read
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
    for op in kernels.found("stablehlo.convolution"):
        found = read(op.opview)
        if found is None:
            kernels.plan.refuse("convolution", op.location, "element types or layouts that kernels have no code for")
        else:
            _form(kernels, processor, op, found, tiling(found.convolution, processor))
            count += 1
    return {"convolutions": count} if count else {}


def _form(kernels: Kernels, processor: Processor, op: Any, found: Found, how: Tiling) -> None:
    convolution = found.convolution
    # The epilogue sees the convolution as a product, whose rows are the pixels.
    matrix = Matrix(convolution.kind, 0, 0, 0)
    pixels = size_of(op.results[0]) // convolution.features
    product = Product(pixels, convolution.features, 1, (), matrix, matrix, convolution.element, convolution.result)
    epilogue = epilogues.find(op, product)
    location = epilogues.location_of(epilogue, op)
    with bindings.ir.InsertionPoint(epilogues.last_operation(epilogue, op)), location:
        lhs = build.transpose(found.lhs.value, found.lhs.copied) if found.lhs.copied else found.lhs.value
        if found.edges.any:
            edges, dtype = found.edges, dtype_of(lhs)
            lhs = build.pad(lhs, build.constant(np.zeros((), dtype)), edges.low, edges.high, edges.between)
            assert shape_of(lhs) == edges.shape(found.lhs.memory), "padding gives the expected shape"
        vectors = Vectors(Writer(), convolution.element, how.lanes, processor)
        kernel = direct.kernel(convolution, how, vectors, epilogue, location)
        types = [value.type for value in epilogue.results]
        made = kernels.dispatch(kernel, [lhs, found.rhs.value, *epilogue.operands], types)
        kernels.plan.accept("convolution", location, len(kernel.body) - 1, kernel.scratch)
    epilogues.replace(epilogue, made, op)

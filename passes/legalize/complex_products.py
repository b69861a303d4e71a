"""Products of complex numbers as products of real ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from passes import attributes as attrs, build
from passes.match import dtype_of, is_static, shape_of
from passes.patterns import Pattern, pattern
from passes.types import tensor_type


def four_products(op: Any, stored: bool = False) -> Any:
    """The value of a product of complex numbers, from four products of their parts; None for other products.

    Args:
      stored: store the products before they are combined.
    """
    result = op.operation.results[0]
    dtype = dtype_of(result)
    if dtype.kind != "c" or not all(is_static(v) and dtype_of(v) == dtype for v in (*op.operation.operands, result)):
        return None
    half = np.float32 if dtype == np.complex64 else np.float64
    (a, b), (c, d) = (
        [build.op(name, [v], tensor_type(shape_of(v), half)) for name in ("stablehlo.real", "stablehlo.imag")]
        for v in op.operation.operands
    )

    def product(x: Any, y: Any) -> Any:
        type_ = tensor_type(shape_of(result), half)
        made = build.op("stablehlo.dot_general", [x, y], type_, attributes=attrs.copied(op.operation))
        return build.op("stablehlo.optimization_barrier", [made]) if stored else made

    real = build.op("stablehlo.subtract", [product(a, c), product(b, d)])
    imaginary = build.op("stablehlo.add", [product(a, d), product(b, c)])
    return build.op("stablehlo.complex", [real, imaginary], result.type)


@pattern("stablehlo.dot_general")
def dot_general_complex(op: Any) -> Any:
    """A product of complex numbers is four products of the parts, stored before they are combined. Exact.

    The compiler crashes on kernels for AMD GPUs that multiply matrices of the
    parts and copy complex results between memories.
    """
    return four_products(op, stored=True)


# Workarounds for compiler crashes on GPUs that LLVM compiles for.
PATTERNS: list[Pattern] = [dot_general_complex]

"""Operations on complex numbers as operations on their parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from passes import attributes as attrs, build
from passes.match import dtype_of, is_complex, is_static, shape_of
from passes.patterns import Pattern, pattern
from passes.types import tensor_type


def by_parts(op: Any, make: Callable[..., Any]) -> Any:
    """What `make` builds of the real parts of operands, and of the imaginary ones; None unless the result is complex.

    An operand that is not complex belongs to both.
    """
    operation, result = op.operation, op.operation.results[0]
    if not is_complex(result):
        return None
    columns = zip(*(build.parts(value) if is_complex(value) else (value, value) for value in operation.operands))
    return build.op("stablehlo.complex", [make(*column) for column in columns], result.type)


def four_products(op: Any, stored: bool = False) -> Any:
    """The value of a product or a convolution of complex numbers, from four of their parts; None for others.

    Args:
      stored: store the products before they are combined.
    """
    operation, result = op.operation, op.operation.results[0]
    if not all(is_static(v) and dtype_of(v) == dtype_of(result) for v in (*operation.operands, result)):
        return None
    if not is_complex(result):
        return None
    (a, b), (c, d) = map(build.parts, operation.operands)

    def product(x: Any, y: Any) -> Any:
        type_ = tensor_type(shape_of(result), x.type.element_type)
        made = build.op(operation.name, [x, y], type_, attributes=attrs.copied(op))
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

"""Products of complex numbers, rewritten into real products."""

from __future__ import annotations

from typing import Any

from passes import attributes as attrs, bindings, build
from passes.kernels.dispatch import Kernels
from passes.match import element_name, is_static
from passes.types import tensor_type


def expand(kernels: Kernels) -> None:
    """Replace each product of complex numbers by four real ones."""
    for op in kernels.found("stablehlo.dot_general"):
        result = op.results[0]
        if all(element_name(v).startswith("complex") and is_static(v) for v in (*op.operands, result)):
            with bindings.ir.InsertionPoint(op), op.location:
                made = _expanded(op)
            result.replace_all_uses_with(made)
            op.erase()


def _expanded(op: Any) -> Any:
    (a, b), (c, d) = (_parts(value) for value in op.operands)
    half = _half(op.results[0])

    def product(x: Any, y: Any) -> Any:
        return build.op("stablehlo.dot_general", [x, y], half, attributes=attrs.copied(op))

    real = build.op("stablehlo.subtract", [product(a, c), product(b, d)])
    imaginary = build.op("stablehlo.add", [product(a, d), product(b, c)])
    return build.op("stablehlo.complex", [real, imaginary], op.results[0].type)


def _parts(value: Any) -> tuple[Any, Any]:
    half = _half(value)
    real, imaginary = (build.op(name, [value], half) for name in ("stablehlo.real", "stablehlo.imag"))
    return real, imaginary


def _half(value: Any) -> Any:
    return tensor_type(value.type.shape, "float32" if element_name(value) == "complex<f32>" else "float64")

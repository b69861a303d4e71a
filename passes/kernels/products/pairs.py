"""Products of complex numbers, rewritten into real products, or into a reduction if one operand is a vector."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from passes import attributes as attrs, bindings, build
from passes.kernels.dispatch import Kernels
from passes.match import element_name, is_static, shape_of
from passes.types import tensor_type


def expand(kernels: Kernels) -> None:
    """Replace each product of complex numbers by four real ones, or by a reduction.

    A product with a vector takes as long as reading the matrix, and a reduction of elementwise products reads it only
    once.
    """
    for op in kernels.found("stablehlo.dot_general"):
        result = op.results[0]
        if all(element_name(v).startswith("complex") and is_static(v) for v in (*op.operands, result)):
            with bindings.ir.InsertionPoint(op), op.location:
                made = _summed(op) or _expanded(op)
            result.replace_all_uses_with(made)
            op.erase()


def _summed(op: Any) -> Any:
    """The product as a reduction, if one of the operands is a vector."""
    numbers = attrs.dot_dimensions(op)
    sides = [(op.operands[0], numbers.lhs_contract), (op.operands[1], numbers.rhs_contract)]
    vectors = [number for number, side in enumerate(sides) if _is_vector(*side)]
    if numbers.lhs_batch or not vectors:
        return None
    vector, across = sides[vectors[-1]]
    matrix, along = sides[1 - vectors[-1]]
    # The contracted axes in the order of the vector's axes, and then in that of the matrix's.
    order = sorted(range(len(across)), key=across.__getitem__)
    vector = build.reshape(vector, [shape_of(vector)[across[i]] for i in order])
    axes = [along[i] for i in order]
    vector = build.transpose(vector, sorted(range(len(axes)), key=axes.__getitem__))
    spread = build.broadcast_in_dim(vector, shape_of(matrix), sorted(axes))
    terms = build.op("stablehlo.multiply", [matrix, spread])
    zero = build.full(0, tensor_type((), matrix.type.element_type))
    (sums,) = build.reduce(["stablehlo.add"], [terms], [zero], along)
    return build.reshape(sums, shape_of(op.results[0]))


def _is_vector(value: Any, summed: Sequence[int]) -> bool:
    """Whether all axes of more than one element are summed over."""
    return all(size == 1 or axis in summed for axis, size in enumerate(shape_of(value)))


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

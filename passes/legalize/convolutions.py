"""Convolutions in the one layout that the CPU backend has fast code for."""

from __future__ import annotations

from typing import Any

from passes import attributes as attrs, build
from passes.match import is_static, producer, shape_of
from passes.patterns import Pattern, pattern


def _order(batch: int, feature: int, spatial: tuple[int, ...]) -> tuple[int, ...]:
    return (batch, *spatial, feature)


def _transposed(value: Any, order: tuple[int, ...]) -> Any:
    return value if list(order) == sorted(order) else build.transpose(value, order)


@pattern("stablehlo.convolution")
def features_last(op: Any) -> Any:
    """A convolution of [b,0,1,f] with [0,1,i,o] into [b,0,1,f], between transposes.

    Exact up to the order of sums, which is the compiler's affair. It has vectorized
    code for this layout, and a scalar loop for others, tens of times as slow. The
    transposed operands are behind barriers: fused with the convolution, a transpose
    leaves the scalar loop.
    """
    dims = attrs.convolution_dimensions(op)
    lhs_order = _order(dims.lhs_batch, dims.lhs_feature, dims.lhs_spatial)
    rhs_order = (*dims.rhs_spatial, dims.rhs_input, dims.rhs_output)
    out_order = _order(dims.out_batch, dims.out_feature, dims.out_spatial)
    (result,) = op.operation.results
    if not all(is_static(value) for value in (op.lhs, op.rhs, result)):
        return None
    operands = []
    for value, order in ((op.lhs, lhs_order), (op.rhs, rhs_order)):
        turned = _transposed(value, order)
        if producer(turned, "stablehlo.transpose") is not None:
            turned = build.op("stablehlo.optimization_barrier", [turned])
        operands.append(turned)
    if operands == [op.lhs, op.rhs] and list(out_order) == sorted(out_order):
        return None
    places = ", ".join(str(i) for i in range(len(out_order) - 2))
    comma = ", " if places else ""
    layout = f"[b, {places}{comma}f]x[{places}{comma}i, o]->[b, {places}{comma}f]"
    attributes = attrs.copied(op) | {"dimension_numbers": build.attribute(f"#stablehlo.conv<{layout}>")}
    shape = [shape_of(result)[i] for i in out_order]
    made = build.op(
        "stablehlo.convolution",
        operands,
        build.tensor_type(shape, result.type.element_type),
        attributes=attributes,
    )
    back = [0] * len(out_order)
    for place, axis in enumerate(out_order):
        back[axis] = place
    return _transposed(made, tuple(back))


PATTERNS: list[Pattern] = [features_last]

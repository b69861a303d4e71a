"""Convolutions: in the layout that the compiler has fast and right code for; for SPIR-V, one for each group."""

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

    Exact up to the order of sums, which the compiler chooses. It has vectorized
    code for this layout, and for others a scalar loop, which is tens of times as
    slow. Barriers separate the transposes from the convolution: fused with it, a
    transpose would bring back the scalar loop.
    """
    return _with_features_last(op)


@pattern("stablehlo.convolution")
def odd_features_last(op: Any) -> Any:
    """As `features_last`, where the result has an odd number of features other than one. Exact up to the order of sums.

    For these, the compiler's SPIR-V code of other layouts lacks a barrier between threads at some sizes. Of 264
    convolutions with 1 to 16 features of 4 x 4 to 56 x 56, it was 25, all of an odd number.
    """
    count = shape_of(op.operation.results[0])[attrs.convolution_dimensions(op).out_feature]
    return _with_features_last(op) if count > 1 and count % 2 else None


def _with_features_last(op: Any) -> Any:
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
    count = len(out_order) - 2
    around, spatial = (0, count + 1, tuple(range(1, count + 1))), tuple(range(count))
    layout = attrs.ConvolutionDimensions(*around, count, count + 1, spatial, *around)
    attributes = attrs.copied(op) | {"dimension_numbers": attrs.convolution_numbers(layout)}
    shape = [shape_of(result)[i] for i in out_order]
    made = build.op(
        "stablehlo.convolution",
        operands,
        build.tensor_type(shape, result.type.element_type),
        attributes=attributes,
    )
    back = [0] * len(out_order)
    for position, axis in enumerate(out_order):
        back[axis] = position
    return _transposed(made, tuple(back))


@pattern("stablehlo.convolution")
def one_for_each_group(op: Any) -> Any:
    """A convolution with groups as one for each group, unless each group has one feature. Exact.

    The compiler's SPIR-V code for grouped convolutions lacks a barrier between threads.
    """
    features, batches = (attrs.integer(op, f"{name}_group_count") for name in ("feature", "batch"))
    groups = features * batches  # one of them is 1
    dims = attrs.convolution_dimensions(op)
    (result,) = op.operation.results
    if groups == 1 or not all(is_static(value) for value in (op.lhs, op.rhs, result)):
        return None
    if batches == 1 and shape_of(op.rhs)[dims.rhs_input] == 1:
        return None
    shape = list(shape_of(result))
    shape[dims.out_feature] //= groups
    one = build.attribute("1 : i64")
    attributes = attrs.copied(op) | {"feature_group_count": one, "batch_group_count": one}
    axis = dims.lhs_feature if features > 1 else dims.lhs_batch
    parts = zip(_parts(op.lhs, axis, groups), _parts(op.rhs, dims.rhs_output, groups))
    kind = build.tensor_type(shape, result.type.element_type)
    results = [build.op("stablehlo.convolution", [*pair], kind, attributes=attributes) for pair in parts]
    return build.concatenate(results, dims.out_feature)


def _parts(value: Any, axis: int, count: int) -> list[Any]:
    """A value cut into equal parts along an axis."""
    shape = shape_of(value)
    size = shape[axis] // count
    bounds = [([0] * len(shape), list(shape)) for _ in range(count)]
    for i, (start, limit) in enumerate(bounds):
        start[axis], limit[axis] = i * size, (i + 1) * size
    return [build.slice_(value, start, limit) for start, limit in bounds]


PATTERNS: list[Pattern] = [features_last]
PATTERNS_SPIRV: list[Pattern] = [one_for_each_group, odd_features_last]

"""Laws of operations that take sizes or indices as operands, where these are known: the forms with attributes.

Programs of other frameworks have them. All are exact.
"""

from __future__ import annotations

from typing import Any

from passes import attributes as attrs, build
from passes.match import constant_of, is_static, producer, same_type, shape_of, size_of, splat_of
from passes.patterns import laws_of, pattern
from passes.simplify.moves import is_elementwise

# How many elementwise operations in a row are looked through.
_DEPTH = 4


@pattern("stablehlo.broadcast")
def broadcast_of_leading_sizes(op: Any) -> Any:
    """broadcast(x, sizes) -> broadcast_in_dim(x), which other laws look for. Exact."""
    result = op.operation.results[0]
    count = len(attrs.ints(op, "broadcast_sizes"))
    if not is_static(result):
        return None
    return build.broadcast_in_dim(op.operand, shape_of(result), range(count, len(shape_of(result))))


@pattern("stablehlo.get_dimension_size", any_shape=True)
def known_size(op: Any) -> Any:
    """get_dimension_size of a dimension whose size the type has -> a constant. Exact."""
    size = shape_of(op.operand)[attrs.integer(op, "dimension")]
    return build.full(size, op.operation.results[0]) if size >= 0 else None


@pattern("stablehlo.set_dimension_size", any_shape=True)
def set_whole_size(op: Any) -> Any:
    """set_dimension_size to the size that the dimension has -> the array. Exact."""
    number, size = splat_of(op.size), shape_of(op.operand)[attrs.integer(op, "dimension")]
    whole = number is not None and size >= 0 and int(number) == size
    return op.operand if whole and same_type(op.operand, op.operation.results[0]) else None


@pattern("stablehlo.dynamic_reshape", "stablehlo.dynamic_broadcast_in_dim", any_shape=True)
def shape_that_an_array_has(op: Any) -> Any:
    """A dynamic reshape or broadcast of an array to the shape with which it was made -> the array. Exact.

    The same for a broadcast of which it is known that no dimension is repeated.
    """
    value, sizes = op.operation.operands
    if not same_type(value, op.operation.results[0]):
        return None
    in_order = tuple(range(len(shape_of(value))))
    if op.operation.name == "stablehlo.dynamic_broadcast_in_dim":
        if attrs.ints(op, "broadcast_dimensions") != in_order:
            return None
        if set(attrs.ints(op, "known_nonexpanding_dimensions")) == set(in_order):
            return value
    return value if _has_shape(value, sizes) else None


@pattern("stablehlo.dynamic_reshape", "chlo.dynamic_reshape", any_shape=True)
def reshape_to_known_shape(op: Any) -> Any:
    """dynamic_reshape to a shape that the type has -> reshape. Exact."""
    result = op.operation.results[0]
    return build.reshape(op.operand, shape_of(result)) if is_static(result) else None


def _has_shape(value: Any, sizes: Any, depth: int = 0) -> bool:
    """Whether an array was made with the shape `sizes`, or is computed element by element from such an array."""
    op = producer(value)
    if op is None or depth > _DEPTH:
        return False
    if op.operation.name in ("stablehlo.dynamic_reshape", "stablehlo.dynamic_broadcast_in_dim"):
        return bool(op.operation.operands[1] == sizes)
    return is_elementwise(op) and any(_has_shape(v, sizes, depth + 1) for v in op.operation.operands)


@pattern("stablehlo.dynamic_broadcast_in_dim")
def broadcast_to_known_shape(op: Any) -> Any:
    """dynamic_broadcast_in_dim to a shape that the type has -> broadcast_in_dim. Exact."""
    result = op.operation.results[0]
    if not is_static(result) or not is_static(op.operand):
        return None
    return build.broadcast_in_dim(op.operand, shape_of(result), attrs.ints(op, "broadcast_dimensions"))


@pattern("stablehlo.reshape", of="stablehlo.dynamic_broadcast_in_dim", any_shape=True)
def reshape_of_broadcast_to_constant_shape(op: Any) -> Any:
    """reshape(dynamic_broadcast_in_dim(x, c)), where c is a constant -> reshape(broadcast_in_dim(x)). Exact."""
    inner = producer(op.operand, "stablehlo.dynamic_broadcast_in_dim")
    if inner is None or not is_static(inner.operand):
        return None
    sizes = constant_of(inner.output_dimensions)
    if sizes is None:
        return None
    value = build.broadcast_in_dim(inner.operand, sizes.tolist(), attrs.ints(inner, "broadcast_dimensions"))
    return build.reshape(value, shape_of(op.operation.results[0]))


@pattern("stablehlo.dynamic_iota")
def iota_of_known_shape(op: Any) -> Any:
    """dynamic_iota of a shape that the type has -> iota. Exact."""
    result = op.operation.results[0]
    if not is_static(result):
        return None
    dimension = {"iota_dimension": build.i64(attrs.integer(op, "iota_dimension"))}
    return build.op("stablehlo.iota", [], result.type, attributes=dimension)


@pattern("stablehlo.dynamic_pad", of="stablehlo.constant")
def pad_by_constants(op: Any) -> Any:
    """dynamic_pad by constant amounts -> pad. Exact."""
    value, fill, *amounts = op.operation.operands
    known = [constant_of(amount) for amount in amounts]
    if not is_static(value) or not is_static(op.operation.results[0]) or any(array is None for array in known):
        return None
    return build.pad(value, fill, *(array.tolist() for array in known))  # type: ignore[union-attr]


@pattern("stablehlo.real_dynamic_slice", of="stablehlo.constant", any_shape=True)
def slice_between_constants(op: Any) -> Any:
    """real_dynamic_slice between constant bounds -> slice. Exact."""
    value, *bounds = op.operation.operands
    known = [constant_of(bound) for bound in bounds]
    if not is_static(op.operation.results[0]) or any(array is None for array in known):
        return None
    starts, limits, strides = (array.tolist() for array in known)  # type: ignore[union-attr]
    sizes = shape_of(value)
    if any(not 0 <= a <= b or 0 <= n < b or s < 1 for a, b, s, n in zip(starts, limits, strides, sizes)):
        return None
    made = build.slice_(value, starts, limits, strides)
    return made if same_type(made, op.operation.results[0]) else None


@pattern("stablehlo.real_dynamic_slice", of="stablehlo.constant")
def slice_of_known_size(op: Any) -> Any:
    """real_dynamic_slice without strides, of a size that the type has -> dynamic_slice. Exact: bounds are in range."""
    value, starts, _, strides = op.operation.operands
    result, steps = op.operation.results[0], constant_of(strides)
    if not is_static(result) or not is_static(value) or steps is None or (steps != 1).any():
        return None
    parts = [build.slice_(starts, [i], [i + 1]) for i in range(size_of(starts))]
    return build.dynamic_slice(value, [build.reshape(part, ()) for part in parts], shape_of(result))


@pattern("stablehlo.get_tuple_element", of="stablehlo.tuple")
def element_of_tuple(op: Any) -> Any:
    """An element of a tuple -> the value that was put there. Exact."""
    made = producer(op.operand, "stablehlo.tuple")
    return None if made is None else made.operation.operands[attrs.integer(op, "index")]


PATTERNS = laws_of(globals())

"""Builders of StableHLO ops.

Each takes `loc=`; left out, the op gets the ambient location, which the pattern
driver sets to that of the op being replaced. With neither, MLIR raises: every op
has a location.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from passes import bindings, match, operations
from passes.types import element_type, numpy_dtype, tensor_type

__all__ = [
    "attribute", "attribute_cache", "broadcast_in_dim", "compare", "concatenate", "constant", "convert", "dot_general",
    "dynamic_slice", "full", "i64_array", "inlined", "op", "pad", "pairs", "reshape", "reverse", "select", "slice_",
    "tensor_type", "transpose", "unary_region",
]  # fmt: skip

_local = threading.local()
_known = set(operations.TABLE)


@contextlib.contextmanager
def attribute_cache() -> Iterator[None]:
    """Cache parsed attributes, and the results of `remembered`, for a block of code that stays in one context.

    Parsing costs 16 us. The cache ends with the block because an attribute keeps
    its context alive.
    """
    before = getattr(_local, "attributes", None)
    _local.attributes = {} if before is None else before
    try:
        yield
    finally:
        _local.attributes = before


# A class, because it is entered for each op that the driver visits, and a generator takes longer.
class noted:
    """The operations that `op` makes in a block, in that order; not those in other blocks, which may be gone later."""

    def __init__(self, block: Any) -> None:
        self._block = block

    def __enter__(self) -> list[Any]:
        self._before = getattr(_local, "noted", None)
        made: list[Any] = []
        _local.noted = self._block, made
        return made

    def __exit__(self, *exception: object) -> None:
        _local.noted = self._before


def attribute(text: str) -> Any:
    """Parse an attribute, once in each `attribute_cache` block.

    >>> with bindings.new_context():
    ...     print(attribute("#stablehlo<comparison_direction LT>"))
    #stablehlo<comparison_direction LT>
    """
    cache = getattr(_local, "attributes", None)
    if cache is None:
        return bindings.ir.Attribute.parse(text)
    context = bindings.ir.Context.current
    found = cache.get((context, text))
    if found is None:
        found = cache[context, text] = bindings.ir.Attribute.parse(text)
    return found


def remembered(key: Any, make: Callable[[], Any]) -> Any:
    """The result of `make()`, which is called once for each key in an `attribute_cache` block."""
    cache = getattr(_local, "attributes", None)
    if cache is None:
        return make()
    if key not in cache:
        cache[key] = make()
    return cache[key]


def i64_array(values: Sequence[int]) -> Any:
    """An `array<i64: ...>` attribute."""
    return bindings.ir.DenseI64ArrayAttr.get([int(v) for v in values])


def pairs(values: Sequence[tuple[int, int]]) -> Any:
    """A dense attribute of pairs, such as the padding of windows, which `attributes.pairs` reads."""
    text = ", ".join(f"[{low}, {high}]" for low, high in values)
    return attribute(f"dense<[{text}]> : tensor<{len(values)}x2xi64>")


def op(
    name: str,
    operands: Sequence[Any],
    result_types: Any = None,
    *,
    attributes: Mapping[str, Any] | None = None,
    regions: int = 0,
    loc: Any = None,
) -> Any:
    """Create an op at the current insertion point, and return its results.

    Args:
      name: the op's full name, such as `"stablehlo.add"`.
      operands: values, or ops of one result.
      result_types: one type, a sequence of them, or nothing for an op whose
        result has the type of its first operand.
      attributes: attributes by name; strings are parsed.
      regions: how many empty regions the op gets.
      loc: the location; the ambient one when left out.

    Returns:
      The result, a tuple when there are several, or the operation when it has
      none or when `regions` is not zero.

    Raises:
      UnknownOpError: no dialect has an op of that name.
    """
    ir = bindings.ir
    if name not in _known:
        _learn(name, ir.Context.current if loc is None else loc.context)
    values = [value if isinstance(value, ir.Value) else value.result for value in operands]
    if result_types is None:
        result_types = [values[0].type]
    elif isinstance(result_types, ir.Type):
        result_types = [result_types]
    parsed = None
    if attributes:
        parsed = {k: attribute(v) if isinstance(v, str) else v for k, v in attributes.items()}
    made = ir.Operation.create(name, list(result_types), values, parsed, regions=regions, loc=loc)
    if match.remembered.splats is not None:
        match.remembered.splats = None  # what is built may stand where something else stood before
    noting = getattr(_local, "noted", None)
    if noting is not None and ir.InsertionPoint.current.block == noting[0]:
        noting[1].append(made)
    results = made.results
    if regions or len(results) == 0:
        return made
    return results[0] if len(results) == 1 else tuple(results)


def _learn(name: str, context: Any) -> None:
    """Remember the name of an op of a dialect other than StableHLO and CHLO; raise if there is none."""
    if context.is_registered_operation(name):
        _known.add(name)
    elif not context.allow_unregistered_dialects:
        raise operations.unknown_op(name, "build.op")


def constant(array: Any, *, dtype: Any = None, loc: Any = None) -> Any:
    """A `stablehlo.constant` holding `array`.

    A complex128 array that is not one repeated number is built from two real
    constants, since the compiler aborts on the dense form.
    """
    array = np.asarray(array, dtype=None if dtype is None else np.dtype(dtype))
    element = element_type(array.dtype)
    if array.size > 1 and not any(array.strides):
        # A broadcast scalar: its copies need not be compared.
        return full(array[(0,) * array.ndim], tensor_type(array.shape, element), loc=loc)
    if (
        array.dtype == np.complex128
        and array.size > 1
        and array.tobytes() != array.reshape(-1)[:1].tobytes() * array.size
    ):
        real = constant(np.ascontiguousarray(array.real), loc=loc)
        imag = constant(np.ascontiguousarray(array.imag), loc=loc)
        return op("stablehlo.complex", [real, imag], tensor_type(array.shape, np.complex128), loc=loc)
    return _constant(_dense(array, element), array.shape, element, loc)


def _dense(array: np.ndarray, element: Any) -> Any:
    return bindings.ir.DenseElementsAttr.get(
        np.ascontiguousarray(array).reshape(array.shape), type=element, shape=array.shape
    )


def _constant(dense: Any, shape: Sequence[int], element: Any, loc: Any) -> Any:
    return op("stablehlo.constant", [], tensor_type(shape, element), attributes={"value": dense}, loc=loc)


def full(number: Any, like: Any, *, loc: Any = None) -> Any:
    """A splat constant; `like` is a value or a ranked tensor type."""
    ir = bindings.ir
    type_ = like if isinstance(like, ir.Type) else like.type
    element = type_.element_type
    shape = tuple(type_.shape)
    if 0 in shape:
        return constant(np.empty(shape, numpy_dtype(element)), loc=loc)
    scalar = np.asarray(number).astype(numpy_dtype(element)).reshape(())
    return _constant(_splat(scalar, type_, element), shape, element, loc)


def _splat(scalar: np.ndarray, type_: Any, element: Any) -> Any:
    """A splat attribute, cached in an `attribute_cache` block."""
    cache = getattr(_local, "attributes", None)
    key = scalar.tobytes(), type_
    found = None if cache is None else cache.get(key)
    if found is None:
        dense = bindings.ir.DenseElementsAttr
        # The bindings have no attribute for one complex number, but fill an array with one of a buffer.
        found = (
            dense.get(scalar, type=element, shape=tuple(type_.shape))
            if scalar.dtype.kind == "c"
            else dense.get_splat(type_, _dense(scalar, element).get_splat_value())
        )
        if cache is not None:
            cache[key] = found
    return found


def convert(value: Any, dtype: Any, *, loc: Any = None) -> Any:
    """`stablehlo.convert` to a NumPy dtype or an MLIR element type."""
    return op("stablehlo.convert", [value], tensor_type(value.type.shape, dtype), loc=loc)


def reshape(value: Any, shape: Sequence[int], *, loc: Any = None) -> Any:
    """`stablehlo.reshape`."""
    return op("stablehlo.reshape", [value], tensor_type(shape, value.type.element_type), loc=loc)


def transpose(value: Any, permutation: Sequence[int], *, loc: Any = None) -> Any:
    """`stablehlo.transpose`; dimension `i` of the result is `permutation[i]` of `value`."""
    shape = value.type.shape
    type_ = tensor_type([shape[i] for i in permutation], value.type.element_type)
    return op("stablehlo.transpose", [value], type_, attributes={"permutation": i64_array(permutation)}, loc=loc)


def broadcast_in_dim(value: Any, shape: Sequence[int], dims: Sequence[int], *, loc: Any = None) -> Any:
    """`stablehlo.broadcast_in_dim`; dimension `i` of `value` becomes `dims[i]` of the result."""
    type_ = tensor_type(shape, value.type.element_type)
    return op(
        "stablehlo.broadcast_in_dim", [value], type_, attributes={"broadcast_dimensions": i64_array(dims)}, loc=loc
    )


def slice_(
    value: Any, start: Sequence[int], limit: Sequence[int], strides: Sequence[int] | None = None, *, loc: Any = None
) -> Any:
    """`stablehlo.slice`."""
    strides = [1] * len(start) if strides is None else strides
    shape = [max(0, -(-(hi - lo) // step)) for lo, hi, step in zip(start, limit, strides)]
    attributes = {"start_indices": i64_array(start), "limit_indices": i64_array(limit), "strides": i64_array(strides)}
    return op("stablehlo.slice", [value], tensor_type(shape, value.type.element_type), attributes=attributes, loc=loc)


def dynamic_slice(value: Any, starts: Sequence[Any], sizes: Sequence[int], *, loc: Any = None) -> Any:
    """`stablehlo.dynamic_slice`."""
    type_ = tensor_type(sizes, value.type.element_type)
    attributes = {"slice_sizes": i64_array(sizes)}
    return op("stablehlo.dynamic_slice", [value, *starts], type_, attributes=attributes, loc=loc)


def reverse(value: Any, dims: Sequence[int], *, loc: Any = None) -> Any:
    """`stablehlo.reverse`."""
    return op("stablehlo.reverse", [value], attributes={"dimensions": i64_array(dims)}, loc=loc)


def pad(
    value: Any,
    padding_value: Any,
    low: Sequence[int],
    high: Sequence[int],
    interior: Sequence[int] | None = None,
    *,
    loc: Any = None,
) -> Any:
    """`stablehlo.pad`."""
    interior = [0] * len(low) if interior is None else interior
    shape = [n + lo + hi + max(n - 1, 0) * k for n, lo, hi, k in zip(value.type.shape, low, high, interior)]
    attributes = {
        "edge_padding_low": i64_array(low),
        "edge_padding_high": i64_array(high),
        "interior_padding": i64_array(interior),
    }
    type_ = tensor_type(shape, value.type.element_type)
    return op("stablehlo.pad", [value, padding_value], type_, attributes=attributes, loc=loc)


def concatenate(values: Sequence[Any], dimension: int, *, loc: Any = None) -> Any:
    """`stablehlo.concatenate`."""
    shape = list(values[0].type.shape)
    shape[dimension] = sum(value.type.shape[dimension] for value in values)
    type_ = tensor_type(shape, values[0].type.element_type)
    return op("stablehlo.concatenate", values, type_, attributes={"dimension": i64(dimension)}, loc=loc)


def parts(value: Any, *, loc: Any = None) -> tuple[Any, Any]:
    """`stablehlo.real` and `stablehlo.imag` of complex numbers."""
    half = np.float32 if numpy_dtype(value.type.element_type) == np.complex64 else np.float64
    type_ = tensor_type(value.type.shape, half)
    return op("stablehlo.real", [value], type_, loc=loc), op("stablehlo.imag", [value], type_, loc=loc)


def i64(value: int) -> Any:
    """A 64-bit integer attribute."""
    ir = bindings.ir
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), int(value))


def compare(lhs: Any, rhs: Any, direction: str, kind: str | None = None, *, loc: Any = None) -> Any:
    """`stablehlo.compare`; `direction` is one of EQ NE LT LE GT GE, `kind` of FLOAT SIGNED UNSIGNED TOTALORDER."""
    attributes = {"comparison_direction": f"#stablehlo<comparison_direction {direction}>"}
    if kind is not None:
        attributes["compare_type"] = f"#stablehlo<comparison_type {kind}>"
    return op("stablehlo.compare", [lhs, rhs], tensor_type(lhs.type.shape, np.bool_), attributes=attributes, loc=loc)


def select(pred: Any, on_true: Any, on_false: Any, *, loc: Any = None) -> Any:
    """`stablehlo.select`."""
    return op("stablehlo.select", [pred, on_true, on_false], on_true.type, loc=loc)


def dot_general(
    lhs: Any,
    rhs: Any,
    *,
    contracting: tuple[Sequence[int], Sequence[int]],
    batching: tuple[Sequence[int], Sequence[int]] = ((), ()),
    attributes: Mapping[str, Any] | None = None,
    element: Any = None,
    loc: Any = None,
) -> Any:
    """`stablehlo.dot_general`: batch dimensions first, then the free ones of `lhs` and of `rhs`."""
    lhs_shape, rhs_shape = list(lhs.type.shape), list(rhs.type.shape)
    shape = [lhs_shape[i] for i in batching[0]]
    shape += [n for i, n in enumerate(lhs_shape) if i not in contracting[0] and i not in batching[0]]
    shape += [n for i, n in enumerate(rhs_shape) if i not in contracting[1] and i not in batching[1]]
    fields = {
        "lhs_batching_dimensions": batching[0],
        "rhs_batching_dimensions": batching[1],
        "lhs_contracting_dimensions": contracting[0],
        "rhs_contracting_dimensions": contracting[1],
    }
    text = ", ".join(f"{name} = [{', '.join(map(str, dims))}]" for name, dims in fields.items() if len(dims))
    numbers = {**(attributes or {}), "dot_dimension_numbers": f"#stablehlo.dot<{text}>"}
    type_ = tensor_type(shape, lhs.type.element_type if element is None else element)
    return op("stablehlo.dot_general", [lhs, rhs], type_, attributes=numbers, loc=loc)


def reduce(names: Sequence[str], inputs: Sequence[Any], initial: Sequence[Any], dimensions: Sequence[int]) -> list[Any]:
    """The results of a `stablehlo.reduce` of several arrays of one shape, each combined by the op named for it."""
    shape = [size for i, size in enumerate(inputs[0].type.shape) if i not in dimensions]
    kinds = [value.type.element_type for value in initial]
    made = op(
        "stablehlo.reduce",
        [*inputs, *initial],
        [tensor_type(shape, kind) for kind in kinds],
        attributes={"dimensions": i64_array(dimensions)},
        regions=1,
    )

    def body(*arguments: Any) -> list[Any]:
        return [op(name, [a, b]) for name, a, b in zip(names, arguments, arguments[len(names) :])]

    unary_region(made, 0, 2 * [tensor_type((), kind) for kind in kinds], body)
    return list(made.results)


def unary_region(operation: Any, index: int, argument_types: Sequence[Any], body: Any, *, loc: Any = None) -> None:
    """Fill region `index` of `operation` with a block whose ops `body(*arguments)` emits.

    Args:
      body: gets the block's arguments, returns the value or values that the
        block yields through `stablehlo.return`.
    """
    ir = bindings.ir
    location = loc if loc is not None else ir.Location.current
    block = operation.regions[index].blocks.append(*argument_types, arg_locs=[location] * len(argument_types))
    with ir.InsertionPoint(block), location:
        results = body(*block.arguments)
        if not isinstance(results, (list, tuple)):
            results = [results]
        op("stablehlo.return", results, [], loc=location)


def inlined(block: Any, values: Sequence[Any]) -> list[Any]:
    """Move a block's operations to the insertion point, with `values` for its arguments; returns the block's results.

    The block must not be used otherwise; pass a block of a detached clone.
    """
    point = bindings.ir.InsertionPoint.current
    for argument, value in zip(block.arguments, values, strict=True):
        argument.replace_all_uses_with(value)
    *inner, end = [op.operation for op in block.operations]
    returned = list(end.operands)
    for op in inner:
        point.insert(op.detach_from_parent())
    return returned

"""Operations on unsigned integers where the CPU backend accepts signed ones only: on the same bits, as signed."""

from __future__ import annotations

from typing import Any

import numpy as np

from passes import attributes as attrs, build, operations
from passes.legalize.expressions import Tensor
from passes.match import is_boolean, is_static, producer, single_op, splat_of
from passes.patterns import Pattern, pattern
from passes.types import numpy_dtype, tensor_type


def _is_unsigned(value: Any) -> bool:
    dtype = numpy_dtype(value.type.element_type)
    return dtype.kind == "u" and dtype.itemsize <= 8 and dtype.name.startswith("uint") and dtype != "uint4"


def _signed(value: Any) -> Any:
    return Tensor(value).bits().value


@pattern("stablehlo.reverse")
def reverse_unsigned(op: Any) -> Any:
    """reverse of unsigned integers on their bits. Exact."""
    (operand,) = op.operation.operands
    if not _is_unsigned(operand):
        return None
    reversed_ = build.op("stablehlo.reverse", [_signed(operand)], attributes=attrs.copied(op))
    return Tensor(reversed_).bitcast(numpy_dtype(operand.type.element_type)).value


@pattern("stablehlo.reduce_window")
def reduce_window_unsigned(op: Any) -> Any:
    """reduce_window of unsigned integers on their bits, for a body of one op.

    Exact. Sums and products are the same modulo 2**bits; for the maximum and the
    minimum the sign bit is flipped before and after, which keeps the order.
    """
    operation = op.operation
    operands = list(operation.operands)
    if len(operands) != 2 or not _is_unsigned(operands[0]) or not is_static(operands[0]):
        return None
    name = single_op(operation.regions[0])
    row = operations.of(name or "")
    if name is None or not (row.chooses or row.modular):
        return None
    dtype = numpy_dtype(operands[0].type.element_type)
    top = -(1 << (dtype.itemsize * 8 - 1))

    def encode(value: Any) -> Any:
        number = Tensor(value).bits()
        return (number ^ top if row.chooses else number).value

    signed = np.dtype(f"int{dtype.itemsize * 8}")
    number = splat_of(operands[1])
    if number is None:
        first = encode(operands[1])
    else:  # a constant stays a constant, so that an identity element is still recognized
        bits = number.view(signed) ^ (top if row.chooses else 0)
        first = build.full(bits, tensor_type((), signed))
    result_type = tensor_type(operation.results[0].type.shape, signed)
    made = build.op(
        "stablehlo.reduce_window",
        [encode(operands[0]), first],
        result_type,
        attributes=attrs.copied(op),
        regions=1,
    )
    scalar = tensor_type((), signed)
    build.unary_region(made, 0, [scalar, scalar], lambda a, b: build.op(name, [a, b]))
    result = Tensor(made.results[0])
    return (result ^ top if row.chooses else result).bitcast(dtype).value


@pattern("stablehlo.convert")
def convert_to_unsigned(op: Any) -> Any:
    """signed -> unsigned through the signed dtype of the result's width, then a bitcast.

    Exact. A direct conversion does not verify inside a while loop.
    """
    (operand,) = op.operation.operands
    result = op.operation.results[0]
    source, target = numpy_dtype(operand.type.element_type), numpy_dtype(result.type.element_type)
    if source.kind != "i" or not _is_unsigned(result) or not source.name.startswith("int") or source.itemsize > 8:
        return None
    if source.name in ("int2", "int4"):
        return None
    return Tensor(operand).to(f"int{target.itemsize * 8}").bitcast(target).value


@pattern("stablehlo.dot_general")
def dot_general_unsigned(op: Any) -> Any:
    """Convert an operand of another, unsigned or boolean type before the product. Exact.

    The compiler merges such a conversion into the product, and then reads the
    bits as signed, or refuses (booleans in a product with a vector). A barrier
    keeps them separate.
    """
    operation = op.operation
    result = operation.results[0].type
    operands = [_converted_before_barrier(value, result.element_type) for value in operation.operands]
    if operands == list(operation.operands):
        return None
    return build.op("stablehlo.dot_general", operands, result, attributes=attrs.copied(op))


def _converted_before_barrier(value: Any, wanted: Any) -> Any:
    conversion = producer(value, "stablehlo.convert")
    source = conversion.operation.operands[0] if conversion is not None else value
    if not (_is_unsigned(source) or is_boolean(source)) or source.type.element_type == wanted:
        return value
    if conversion is None:
        value = build.convert(value, numpy_dtype(wanted))
    return build.op("stablehlo.optimization_barrier", [value])


PATTERNS: list[Pattern] = [convert_to_unsigned, dot_general_unsigned]
FORMS: list[Pattern] = [reverse_unsigned, reduce_window_unsigned]

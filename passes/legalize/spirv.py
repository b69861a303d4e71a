"""Operations that SPIR-V, the language of Vulkan's kernels, lacks or leaves to the driver."""

from __future__ import annotations

from typing import Any

import numpy as np

from passes import attributes as attrs, build, operations
from passes.legalize.complex_products import by_parts
from passes.legalize.expressions import Tensor, copysign, mapped, power_of_two, where
from passes.legalize.memory import force_copy
from passes.match import is_complex, is_floating, is_static, producer, single_op, splat_of, uses
from passes.patterns import Pattern, pattern
from passes.types import numpy_dtype, tensor_type


def _is_integer(x: Tensor, kinds: str) -> bool:
    return is_static(x.value) and x.dtype.kind in kinds and not x.dtype.name.endswith(("int2", "int4"))


@pattern("stablehlo.remainder")
def remainder_by_division(op: Any) -> Any:
    """x % y of integers as x - (x / y) * y. Exact.

    The driver's own operation has the wrong sign for the least integer.
    """
    x, y = (Tensor(value) for value in op.operation.operands)
    if not _is_integer(x, "iu"):
        return None
    return (x - x / y * y).value


@pattern("stablehlo.divide")
def divide_unsigned(op: Any) -> Any:
    """x / y of unsigned integers by a signed division. Exact.

    The compiler refuses the unsigned one where its vectors have one element, which depends on the shape.
    """
    x, y = (Tensor(value) for value in op.operation.operands)
    if not _is_integer(x, "u"):
        return None
    dtype = x.dtype
    if dtype.itemsize < 4:
        quotient = (x.to(np.uint32).bits() / y.to(np.uint32).bits()).to(dtype)
        return where(y.equals(0), x.like(int(np.iinfo(dtype).max)), quotient).value
    x, y = x.bits(), y.bits()
    # Half of x is nonnegative as a signed integer; twice its quotient is correct or one too small. For y with the top
    # bit set, the quotient is 0 or 1.
    half = (Tensor(build.op("stablehlo.shift_right_logical", [x.value, x.like(1).value])) / y) << 1
    top = x.like(int(np.iinfo(x.dtype).min))

    def at_least(a: Tensor, b: Tensor) -> Tensor:
        return (a ^ top) >= (b ^ top)

    more = where(at_least(x - half * y, y), half + 1, half)
    large = where(at_least(x, y), x.like(1), x.like(0))
    quotient = where(y < 0, large, where(y.equals(0), x.like(-1), more))
    return quotient.bitcast(dtype).value


def _remainder(x: Tensor, y: Tensor) -> Tensor:
    """C's `fmod` for float32, exact; subnormal numbers are not flushed.

    |x| = m 2**e and |y| = n 2**f with integers m and n of 24 bits: m 2**(e - f) mod n, by shifts of up to
    39 bits and remainders of 64-bit integers.
    """
    narrow = x.dtype
    x, y = x.to(np.float32), y.to(np.float32)
    bits = [abs(v).bits() for v in (x, y)]
    exponents = [b >> 23 for b in bits]
    fractions = [b & ((1 << 23) - 1) for b in bits]
    m, n = (where(e.equals(0), f, f | (1 << 23)) for e, f in zip(exponents, fractions))
    ex, ey = (where(e.equals(0), e.like(1), e) for e in exponents)
    zero = n.equals(0)
    modulus = where(zero, n.like(1), n).to(np.int64)
    distance = where(ex > ey, ex - ey, ex.like(0))
    reduced = m
    for _ in range(7):  # 7 * 39 is more than the exponents' 253
        step = where(distance > 39, distance.like(39), distance)
        shifted = reduced.to(np.int64) << step.to(np.int64)
        reduced = (shifted - shifted / modulus * modulus).to(np.int32)
        distance = distance - step
    shift = ey - 150
    half = shift >> 1
    result = reduced.to(np.float32) * power_of_two(half, np.float32) * power_of_two(shift - half, np.float32)
    result = where(abs(x) < abs(y), x, copysign(result, x))
    invalid = zero | (exponents[0] >= 255) | y.is_nan()
    return where(invalid, x.like(float("nan")), result).to(narrow)


@pattern("stablehlo.remainder")
def remainder_of_floats(op: Any) -> Any:
    """x % y of float16, bfloat16 and float32, computed in integers. Exact.

    The driver's own operation is x - y * trunc(x / y), which loses everything
    where the quotient is large, and is NaN where it overflows.
    """
    x, y = op.operation.operands
    dtype = numpy_dtype(x.type.element_type)
    if not is_static(x) or dtype.name not in ("float16", "bfloat16", "float32"):
        return None
    return mapped(lambda a, b: _remainder(a, b).value, [x, y], dtype)


@pattern("stablehlo.count_leading_zeros")
def count_leading_zeros_of_words(op: Any) -> Any:
    """count_leading_zeros of other widths than 32 bits, on words of 32. Exact."""
    (operand,) = op.operation.operands
    x = Tensor(operand)
    width = 8 * x.dtype.itemsize
    if not is_static(operand) or width == 32 or x.dtype.kind not in "iu":
        return None
    bits = x.bitcast(f"uint{width}")

    def count(word: Tensor) -> Tensor:
        return Tensor(build.op("stablehlo.count_leading_zeros", [word.value]))

    if width < 32:
        return (count(bits.to(np.uint32).bits()) - (32 - width)).to(x.dtype).value
    high, low = ((bits >> shift).to(np.uint32).bits() for shift in (32, 0))
    return where(high.equals(0), count(low) + 32, count(high)).to(x.dtype).value


@pattern("stablehlo.iota")
def iota_of_integers(op: Any) -> Any:
    """iota of bfloat16 from int32. Exact: both round the number once."""
    result = op.operation.results[0].type
    if numpy_dtype(result.element_type).name != "bfloat16":
        return None
    attributes = {"iota_dimension": op.operation.attributes["iota_dimension"]}
    made = build.op("stablehlo.iota", [], tensor_type(result.shape, np.int32), attributes=attributes)
    return build.convert(made, numpy_dtype(result.element_type))


@pattern("stablehlo.convert")
def convert_to_bfloat16(op: Any) -> Any:
    """integer -> bfloat16 by way of float32, whose upper half is rounded to nearest even, as on the CPU."""
    (operand,) = op.operation.operands
    target = numpy_dtype(op.operation.results[0].type.element_type)
    if target.name != "bfloat16" or numpy_dtype(operand.type.element_type).kind not in "biu":
        return None
    if not is_static(operand):
        return None
    bits = Tensor(build.convert(operand, np.float32)).bits()
    odd = (bits >> 16) & 1
    return ((bits + odd + 0x7FFF) >> 16).to(np.int16).bitcast(target).value


@pattern("stablehlo.reduce_window")
def reduce_window_of_memory(op: Any) -> Any:
    """Store the operand of a reduce_window if it is a widening conversion. Exact.

    With the conversion fused into it, the compiler's code reduces the last axis
    only. bfloat16, which the target converts in any case, is computed in float32.
    """
    operation = op.operation
    if len(operation.operands) != 2:
        return None
    value, start = operation.operands
    name, source = single_op(operation.regions[0]), numpy_dtype(value.type.element_type)
    if name is None or not (source.name == "bfloat16" or producer(value, "stablehlo.convert")):
        return None
    inner = np.dtype(np.float32) if source.name == "bfloat16" else source
    if inner != source:
        value, start = build.convert(value, inner), build.convert(start, inner)
    made = build.op(
        "stablehlo.reduce_window",
        [_stored(value), start],
        tensor_type(operation.results[0].type.shape, inner),
        attributes=attrs.copied(operation),
        regions=1,
    )
    build.unary_region(made, 0, [start.type, start.type], lambda a, b: build.op(name, [a, b]))
    result = made.results[0]
    return build.convert(result, source) if inner != source else result


@pattern("stablehlo.reduce_window")
def reduce_window_of_complex(op: Any) -> Any:
    """reduce_window of complex numbers on their parts. Exact. The compiler crashed on it."""
    operation = op.operation
    name = single_op(operation.regions[0])
    if len(operation.operands) != 2 or not is_complex(operation.operands[0]) or name is None:
        return None
    value, start = operation.operands
    result, first = operation.results[0].type, build.parts(start)
    half = first[0].type
    made = build.op(
        "stablehlo.reduce_window",
        [*map(_stored, build.parts(value)), *first],
        [tensor_type(result.shape, half.element_type)] * 2,
        attributes=attrs.copied(operation),
        regions=1,
    )

    def combine(*values: Any) -> list[Any]:
        x, y = (build.op("stablehlo.complex", [*values[i : i + 2]], start.type) for i in (0, 2))
        return list(build.parts(build.op(name, [x, y])))

    build.unary_region(made, 0, [half] * 4, combine)
    return build.op("stablehlo.complex", [*made.results], result)


@pattern("stablehlo.convert")
def widen_once(op: Any) -> Any:
    """Store a widening conversion that several operations read. Exact.

    The compiler repeats it in each kernel, in memory that the threads share,
    without the barriers between them.
    """
    (operand,) = op.operation.operands
    result = op.operation.results[0]
    narrow, wide = (numpy_dtype(v.type.element_type) for v in (operand, result))
    if narrow.itemsize >= wide.itemsize or not is_static(operand) or uses(result) < 2:
        return None
    if not operand.type.shape:  # it may be in the body of a reduction
        return None
    return _stored(build.convert(operand, wide))


@pattern("stablehlo.dot_general")
def product_of_bfloat16(op: Any) -> Any:
    """A product of bfloat16 -> a product of stored float32. Exact: the target computes it in float32 in any case.

    The compiler's vector code for bfloat16 does not compile.
    """
    operation = op.operation
    operands = list(operation.operands)
    wide = np.dtype(np.float32)
    if numpy_dtype(operation.results[0].type.element_type) != wide or not all(is_static(v) for v in operands):
        return None
    if not any(numpy_dtype(v.type.element_type).name == "bfloat16" for v in operands):
        return None
    operands = [v if numpy_dtype(v.type.element_type) == wide else _stored(build.convert(v, wide)) for v in operands]
    made = build.op("stablehlo.dot_general", operands, operation.results[0].type, attributes=attrs.copied(operation))
    return _stored(made)


def _stored(value: Any) -> Any:
    # Not by a barrier: the compiler does not make later updates of the same memory wait for its readers.
    return force_copy(value) if is_static(value) else build.op("stablehlo.optimization_barrier", [value])


@pattern("stablehlo.select")
def select_complex(op: Any) -> Any:
    """A select of complex numbers -> selects of their parts. Exact."""
    return by_parts(op, build.select)


@pattern("stablehlo.multiply", "stablehlo.divide")
def arithmetic_with_zero(op: Any) -> Any:
    """Hide the zero of x * 0, x / 0 and 0 / x from the driver, by reading it from memory. Exact.

    Mesa's lavapipe folds a product with a literal zero to zero even for NaN and infinities, and never writes a quotient
    by a literal zero: the result is what the memory held before.
    """
    operation = op.operation
    # The body of a reduction computes with scalars, and cannot store a value in memory.
    if operations.of(operation.parent.name).regions is operations.Regions.ELEMENTS:
        return None
    operands = list(operation.operands)
    for i, value in enumerate(operands):
        if is_static(value) and is_floating(value) and splat_of(value) == 0:
            zero = build.full(splat_of(value), tensor_type((), value.type.element_type))
            held = build.op("stablehlo.optimization_barrier", [zero])
            operands[i] = build.broadcast_in_dim(held, value.type.shape, ())
    return build.op(operation.name, operands) if operands != list(operation.operands) else None


@pattern("stablehlo.subtract")
def subtract_itself(op: Any) -> Any:
    """x - x -> 0 where x is finite, and NaN elsewhere. Exact; drivers fold it to 0 everywhere."""
    if op.lhs != op.rhs or not is_floating(op.lhs) or not is_static(op.lhs):
        return None
    finite = build.op("stablehlo.is_finite", [op.lhs], tensor_type(op.lhs.type.shape, np.dtype(bool)))
    return build.select(finite, build.full(0, op.lhs), build.full(np.nan, op.lhs))


PATTERNS: list[Pattern] = [
    remainder_by_division,
    divide_unsigned,
    remainder_of_floats,
    count_leading_zeros_of_words,
    iota_of_integers,
    convert_to_bfloat16,
    reduce_window_of_memory,
    reduce_window_of_complex,
    widen_once,
    product_of_bfloat16,
    select_complex,
    arithmetic_with_zero,
    subtract_itself,
]

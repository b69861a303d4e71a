"""Tensor expressions: arithmetic on MLIR values, written as formulas.

A `Tensor` wraps a tensor value; `+ - * /`, comparisons and the functions below
emit one StableHLO op each at the current insertion point.
"""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from passes import bindings, build
from passes.operations import CONTROL
from passes.types import numpy_dtype

Scalar = int | float


@dataclasses.dataclass(frozen=True)
class Arithmetic:
    """The properties of the target's arithmetic that the laws depend on.

    Attributes:
      doubles: the target has float64, in which functions of float32 can be computed.
      ordered: the target computes `(a + b) - a` as written, so that rounding errors can be computed. GPU drivers may
        simplify it to `b`; error terms are then zero, and results a few ulps worse.
      branches: the target computes the rare case of a select only where a vector needs it.
    """

    doubles: bool = True
    ordered: bool = True
    branches: bool = True


_CPU = Arithmetic()
_arithmetic: contextvars.ContextVar[Arithmetic] = contextvars.ContextVar("arithmetic", default=_CPU)


@contextlib.contextmanager
def arithmetic(found: Arithmetic) -> Iterator[None]:
    """Within the block, laws expand functions for a target's arithmetic."""
    token = _arithmetic.set(found)
    try:
        yield
    finally:
        _arithmetic.reset(token)


def has_doubles() -> bool:
    """Whether the target has float64."""
    return _arithmetic.get().doubles


def keeps_order() -> bool:
    """Whether the target computes sums in the order in which they are written."""
    return _arithmetic.get().ordered


def has_branches() -> bool:
    """Whether the target computes the rare case of a select only where a vector needs it."""
    return _arithmetic.get().branches


class Tensor:
    """A tensor value with operators; every operand has the same shape."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype of the elements."""
        return numpy_dtype(self.value.type.element_type)

    def like(self, number: Scalar) -> Tensor:
        """A constant of this shape and dtype."""
        return Tensor(build.full(number, self.value))

    def _lift(self, other: Tensor | Scalar) -> Tensor:
        return other if isinstance(other, Tensor) else self.like(other)

    def _op(self, name: str, other: Tensor | Scalar) -> Tensor:
        return Tensor(build.op(f"stablehlo.{name}", [self.value, self._lift(other).value]))

    def _reverse(self, name: str, other: Scalar) -> Tensor:
        return Tensor(build.op(f"stablehlo.{name}", [self.like(other).value, self.value]))

    def __add__(self, other: Tensor | Scalar) -> Tensor:
        return self._op("add", other)

    def __radd__(self, other: Scalar) -> Tensor:
        return self._reverse("add", other)

    def __sub__(self, other: Tensor | Scalar) -> Tensor:
        return self._op("subtract", other)

    def __rsub__(self, other: Scalar) -> Tensor:
        return self._reverse("subtract", other)

    def __mul__(self, other: Tensor | Scalar) -> Tensor:
        return self._op("multiply", other)

    def __rmul__(self, other: Scalar) -> Tensor:
        return self._reverse("multiply", other)

    def __truediv__(self, other: Tensor | Scalar) -> Tensor:
        return self._op("divide", other)

    def __rtruediv__(self, other: Scalar) -> Tensor:
        return self._reverse("divide", other)

    def __and__(self, other: Tensor | Scalar) -> Tensor:
        return self._op("and", other)

    def __or__(self, other: Tensor | Scalar) -> Tensor:
        return self._op("or", other)

    def __xor__(self, other: Tensor | Scalar) -> Tensor:
        return self._op("xor", other)

    def __lshift__(self, other: Tensor | Scalar) -> Tensor:
        return self._op("shift_left", other)

    def __rshift__(self, other: Tensor | Scalar) -> Tensor:
        """Arithmetic for signed dtypes, logical for unsigned ones."""
        return self._op("shift_right_logical" if self.dtype.kind == "u" else "shift_right_arithmetic", other)

    def __neg__(self) -> Tensor:
        return call("negate", self)

    def __invert__(self) -> Tensor:
        return call("not", self)

    def __abs__(self) -> Tensor:
        return call("abs", self)

    def _compare(self, direction: str, other: Tensor | Scalar) -> Tensor:
        return Tensor(build.compare(self.value, self._lift(other).value, direction))

    def __lt__(self, other: Tensor | Scalar) -> Tensor:
        return self._compare("LT", other)

    def __le__(self, other: Tensor | Scalar) -> Tensor:
        return self._compare("LE", other)

    def __gt__(self, other: Tensor | Scalar) -> Tensor:
        return self._compare("GT", other)

    def __ge__(self, other: Tensor | Scalar) -> Tensor:
        return self._compare("GE", other)

    def equals(self, other: Tensor | Scalar) -> Tensor:
        """Elementwise `==`, a boolean tensor."""
        return self._compare("EQ", other)

    def differs(self, other: Tensor | Scalar) -> Tensor:
        """Elementwise `!=`, a boolean tensor."""
        return self._compare("NE", other)

    def is_nan(self) -> Tensor:
        """Where the value is not a number."""
        return self.differs(self)

    def to(self, dtype: Any) -> Tensor:
        """The value converted to another dtype; the same value if it has that dtype."""
        return self if self.dtype == np.dtype(dtype) else Tensor(build.convert(self.value, dtype))

    def bits(self) -> Tensor:
        """The bit pattern as a signed integer of the same width."""
        return self.bitcast(f"int{self.dtype.itemsize * 8}")

    def bitcast(self, dtype: Any) -> Tensor:
        """The bit pattern read as another dtype of the same width."""
        type_ = build.tensor_type(self.value.type.shape, dtype)
        return Tensor(build.op("stablehlo.bitcast_convert", [self.value], type_))


def call(name: str, *operands: Tensor) -> Tensor:
    """A StableHLO op whose result has the type of its first operand."""
    return Tensor(build.op(f"stablehlo.{name}", [operand.value for operand in operands]))


def where(condition: Tensor, on_true: Tensor | Scalar, on_false: Tensor | Scalar) -> Tensor:
    """Elementwise select; `on_true` or `on_false` is a `Tensor`."""
    if isinstance(on_true, Tensor):
        return Tensor(build.select(condition.value, on_true.value, on_true._lift(on_false).value))
    assert isinstance(on_false, Tensor), "where: two plain numbers have no shape"
    return Tensor(build.select(condition.value, on_false.like(on_true).value, on_false.value))


def sqrt(x: Tensor) -> Tensor:
    """Square root, correctly rounded by the target."""
    return call("sqrt", x)


def rint(x: Tensor) -> Tensor:
    """The nearest integer, ties to even, as a float."""
    return call("round_nearest_even", x)


def minimum(x: Tensor, y: Tensor | Scalar) -> Tensor:
    """The smaller; NaN where either is NaN."""
    return x._op("minimum", y)


def maximum(x: Tensor, y: Tensor | Scalar) -> Tensor:
    """The larger; NaN where either is NaN."""
    return x._op("maximum", y)


def polynomial(x: Tensor, coefficients: Sequence[float]) -> Tensor:
    """Horner's scheme, highest power first."""
    total = x.like(coefficients[0])
    for coefficient in coefficients[1:]:
        total = total * x + coefficient
    return total


def estrin(x: Tensor, coefficients: Sequence[float]) -> Tensor:
    """A polynomial by pairs: the same operations as Horner's scheme, a shorter chain of them.

    Coefficients are highest power first.
    """
    terms: list[Tensor | float] = list(reversed(coefficients))
    power = x
    while len(terms) > 1:
        paired: list[Tensor | float] = []
        for low, high in zip(terms[0::2], terms[1::2]):
            paired.append(power * high + low)
        if len(terms) % 2:
            paired.append(terms[-1])
        terms = paired
        if len(terms) > 1:
            power = power * power
    result = terms[0]
    return result if isinstance(result, Tensor) else x.like(result)


def copysign(magnitude: Tensor, sign: Tensor) -> Tensor:
    """`|magnitude|` with the sign bit of `sign`, zeros and NaN included."""
    bits = magnitude.bits()
    top = -(1 << (bits.dtype.itemsize * 8 - 1))
    return ((bits & ~top) | (sign.bits() & top)).bitcast(magnitude.dtype)


def has_sign(x: Tensor) -> Tensor:
    """Where the sign bit is set, that of -0.0 included."""
    return x.bits() < 0


def power_of_two(exponent: Tensor, dtype: Any) -> Tensor:
    """`2**exponent` for an integer exponent within the dtype's normal range."""
    info = np.finfo(dtype)
    return ((exponent + (info.maxexp - 1)) << info.nmant).bitcast(dtype)


def mantissa_exponent(x: Tensor, low: float) -> tuple[Tensor, Tensor]:
    """Split a positive normal `x` into `m * 2**k` with `low <= m < 2 * low`; `k` is an integer tensor."""
    info = np.finfo(x.dtype)
    integer = f"int{x.dtype.itemsize * 8}"
    start = int(np.asarray(low, x.dtype).view(integer))
    offset = x.bits() - start
    k = offset >> info.nmant
    return (x.bits() - (k << info.nmant)).bitcast(x.dtype), k


def split(x: Tensor) -> tuple[Tensor, Tensor]:
    """Dekker's two halves of a float: products of halves are exact."""
    high = (x.bits() & -(1 << (27 if x.dtype == np.float64 else 12))).bitcast(x.dtype)
    return high, x - high


def two_sum(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """`a + b` and its rounding error (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def fast_two_sum(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """`a + b` and its rounding error, for `|a| >= |b|` (Dekker)."""
    total = a + b
    return total, b - (total - a)


def two_product(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """`a * b` and its rounding error (Dekker, without a fused multiply-add)."""
    product = a * b
    a_high, a_low = split(a)
    b_high, b_low = split(b)
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def mapped(fn: Callable[..., Any], operands: Sequence[Any], dtype: Any, name: str = "") -> Any:
    """`fn` over the elements of `operands` as one `stablehlo.map`; values in, a value of `dtype` out.

    The body of a map becomes one kernel. The same ops on whole tensors are fused
    by the backend up to a limit; past it, intermediate tensors go through memory.
    Of a scalar, only what has a name becomes a map, and only for CPUs, where kernels call it. The bodies of reductions
    cannot hold one.

    Args:
      fn: gets a scalar `Tensor` for each operand, returns one MLIR value.
      name: a name for `fn`, under which the map is cached: operands of the same types get clones of it.
    """
    if not operands[0].type.shape and not (name and has_branches() and _is_host_code()):
        return fn(*(Tensor(value) for value in operands))
    types = tuple(value.type for value in operands)
    if not name:
        return _map(fn, operands, dtype).results[0]
    key, location = (name, types, np.dtype(dtype)), bindings.ir.Location.current
    _, cached = build.remembered(key, lambda: _detached_map(fn, types, dtype))
    made = build.remembered((*key, location.attr), lambda: _located(cached, location)).clone()
    for number, value in enumerate(operands):
        made.operands[number] = value
    return made.results[0]


def _located(cached: Any, location: Any) -> Any:
    """A clone of a detached map next to it, whose operations have a location."""
    made, advance = cached.clone(bindings.ir.InsertionPoint(cached)), bindings.ir.WalkResult.ADVANCE
    for argument in made.regions[0].blocks[0].arguments:
        argument.set_location(location)

    def locate(operation: Any) -> Any:
        operation.location = location
        return advance

    made.walk(locate)
    return made


def _is_host_code() -> bool:
    """Whether operations are made in a function, a loop or a conditional, not in the region of one operation."""
    return bindings.ir.InsertionPoint.current.block.owner.operation.name in ("func.func", *CONTROL)


def _map(fn: Callable[..., Any], operands: Sequence[Any], dtype: Any) -> Any:
    shape = operands[0].type.shape
    dims = {"dimensions": build.i64_array(range(len(shape)))}
    made = build.op("stablehlo.map", operands, build.tensor_type(shape, dtype), attributes=dims, regions=1)
    scalars = [build.tensor_type((), value.type.element_type) for value in operands]
    build.unary_region(made, 0, scalars, lambda *values: fn(*(Tensor(value) for value in values)))
    return made


def _detached_map(fn: Callable[..., Any], types: Sequence[Any], dtype: Any) -> tuple[Any, Any]:
    """A detached map, which no pattern rewrites, and before it the module that owns it."""
    ir = bindings.ir
    owner = ir.Operation.create("builtin.module", regions=1, ip=False)
    arguments = owner.regions[0].blocks.append(*types, arg_locs=[ir.Location.current] * len(types)).arguments
    with ir.InsertionPoint(owner.regions[0].blocks[0]):
        return owner, _map(fn, list(arguments), dtype)

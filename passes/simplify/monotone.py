"""Extremes of monotone functions: the function of one number instead of all."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from passes import build, operations
from passes.analysis import facts
from passes.analysis.identities import identity_of
from passes.attributes import ints
from passes.match import dtype_of, is_complex, is_floating, is_integer, producer, shape_of, size_of, splat_of
from passes.operations import Precision
from passes.patterns import laws_of
from passes.simplify.moves import elementwise, is_static_op, spread, used_once
from passes.simplify.proven import exact_if_proven
from passes.simplify.reductions import combination
from passes.types import is_lossless

_CONVERT, _CLAMP, _MULTIPLY = "stablehlo.convert", "stablehlo.clamp", "stablehlo.multiply"
_ADD, _SUBTRACT, _DIVIDE = "stablehlo.add", "stablehlo.subtract", "stablehlo.divide"
_EXTREMES = operations.where(idempotent=True)
_OF_NUMBERS = operations.where(idempotent=True, chooses=True)
FUNCTIONS = (
    *operations.where(monotone=1),
    *operations.where(monotone=-1),
    *_OF_NUMBERS,
    *(_CLAMP, _ADD, _SUBTRACT, _MULTIPLY, _DIVIDE),
)
_FLOATS = ("float64", "float32", "float16", "bfloat16")


def _identity(name: str, dtype: np.dtype[Any]) -> Any:
    """The number that changes no extreme of numbers or booleans of a type; None for other reductions."""
    is_number = dtype.name in _FLOATS or (dtype.kind in "iu" and dtype.isbuiltin == 1)
    is_known = name in _EXTREMES if dtype.kind == "b" else is_number and name in _OF_NUMBERS
    return identity_of(name)(dtype) if is_known else None


def _direction(op: Any, x: Any, exactly: bool) -> int:
    """Return 1 if an op never falls where its operand x rises, -1 if it never rises, and 0 if that is not known."""
    row = operations.of(op.operation.name)
    if row.name == _CONVERT:
        return int(_is_monotone_conversion(dtype_of(x), dtype_of(op.operation.results[0])))
    if row.monotone:
        if is_integer(x) and row.name == "stablehlo.negate":
            return 0  # the smallest integer is its own negation
        low, high = row.domain
        known = facts.of(x) if exactly and low > -np.inf else None
        if exactly and (row.precision is Precision.OPEN or (low > -np.inf and known is None)):
            return 0
        return row.monotone if known is None or (low <= known.low and known.high <= high) else 0
    if row.name == _CLAMP:
        return int(x == op.operand)
    if row.chooses:
        return 1
    number = splat_of(op.rhs if x == op.lhs else op.lhs)
    if number is None or not is_floating(x) or not np.isfinite(np.asarray(number, np.float64)):
        return 0
    if row.name in (_MULTIPLY, _DIVIDE):
        sign = int(np.sign(np.asarray(number, np.float64)))
        return sign if row.name == _MULTIPLY or x == op.lhs else 0
    return -1 if row.name == _SUBTRACT and x == op.rhs else 1


def _is_monotone_conversion(source: np.dtype[Any], target: np.dtype[Any]) -> bool:
    if target.name in _FLOATS:
        return source.kind in "biu" or source.name in _FLOATS
    return target.kind in "iu" and source.kind in "biu" and is_lossless(source, target)


class Extreme(NamedTuple):
    """An extreme of a monotone function: the function, its operand, and the reduction of the operand."""

    function: Any
    x: Any
    name: str
    initial: Any


def extreme_of_function(op: Any, exactly: bool) -> Extreme | None:
    """What a reduction, or one over windows, is of a monotone function that nothing else reads; None for others."""
    name, value = combination(op), op.inputs[0]
    inner = producer(value)
    if name not in _EXTREMES or inner is None or inner.operation.name not in FUNCTIONS or not used_once(inner):
        return None
    result, values = op.operation.results[0], spread(inner)
    if not is_static_op(inner) or len(values) != 1 or not size_of(result) < size_of(value) or is_complex(values[0]):
        return None
    (x,) = values
    limit, initial = _identity(str(name), dtype_of(value)), splat_of(op.init_values[0])
    if limit is None or initial is None or initial != limit or list(inner.operation.operands).count(x) != 1:
        return None
    direction = _direction(inner, x, exactly)
    if not direction or (not exactly and _direction(inner, x, True)):
        return None
    row = operations.of(str(name))
    row = operations.of(row.dual) if direction < 0 else row
    found = row.of_booleans if dtype_of(x).kind == "b" else row.name
    number = _identity(found, dtype_of(x))
    return None if number is None else Extreme(inner, x, found, number)


@exact_if_proven("stablehlo.reduce", of=FUNCTIONS, assumes="nnan,nsz,afn")
def extreme_of_monotone(op: Any, exactly: bool) -> Any:
    """max(f(x)) -> f(max(x)) where f never falls, and f(min(x)) where f never rises; the same for min.

    f is a conversion, or arithmetic with a constant. Exact: rounding never changes the order of two numbers. For
    functions whose last digits differ between targets, results differ by these.
    """
    found = extreme_of_function(op, exactly)
    if found is None:
        return None
    initial = build.full(found.initial, build.tensor_type((), found.x.type.element_type))
    (reduced,) = build.reduce([found.name], [found.x], [initial], ints(op, "dimensions"))
    return elementwise(found.function, shape_of(op.operation.results[0]), lambda _: reduced)


PATTERNS = laws_of(globals())

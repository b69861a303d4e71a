"""Operations on arrays with open dimensions in StableHLO, whose `dynamic_` operations take sizes as operands.

Other compilers learn the sizes from the types of the arguments, compute what depends on them, and so get operations of
static shape. They check the conditions that are calls of `shape_assertion`, as JAX writes them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from passes import bindings, build
from stagec.core import dims
from stagec.core.aval import ShapedArray
from stagec.core.dims import Dim, open_error
from stagec.core.dims_terms import symbols_of
from stagec.core.dims_values import fact_text, symbols
from stagec.core.graph import Graph
from stagec.core.open_graph import sizes as sizes_in
from stagec.lowering.open_values import Sizes, shape_of
from stagec.primitives.checks import OpenInts, i64_array, numbers_of

_INTEGER = ShapedArray.of((), np.dtype(np.int64))
_TRUTH = ShapedArray.of((), np.dtype(np.bool_))
# The forms of operations: a value, or None for an operation that needs none.
_Form = Callable[[Any, Sequence[Any], dict[str, Any], ShapedArray], Any]
_OPERATIONS = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide", "max": "maximum", "min": "minimum"}


class ArraySizes(Sizes):
    """Sizes as int64 arrays without axes."""

    def __init__(self, types: Any, block: Any, avals: Sequence[ShapedArray]) -> None:
        self.function = block.owner
        super().__init__(types, block, avals)

    def _created(self, name: str, aval: ShapedArray, operands: Sequence[Any], **attributes: Any) -> Any:
        given = {key: self.types.attribute(text) for key, text in attributes.items()}
        return self._emit(f"stablehlo.{name}", [self.types.tensor(aval)], operands, given)

    def _number(self, value: int) -> Any:
        return build.constant(np.asarray(value, np.int64), loc=self.types.unknown)

    def _dimension(self, value: Any, axis: int) -> Any:
        narrow = _INTEGER.update(dtype=np.dtype(np.int32))
        size = self._created("get_dimension_size", narrow, [value], dimension=f"{axis} : i64")
        return self._created("convert", _INTEGER, [size])

    def _binary(self, kind: str, left: Any, right: Any) -> Any:
        if kind in _OPERATIONS:
            return self._created(_OPERATIONS[kind], _INTEGER, [left, right])
        # A quotient of StableHLO is rounded towards 0, and a remainder has the sign of the dividend.
        rest = self._created("remainder", _INTEGER, [left, right])
        signs = self._binary("*", self._created("sign", _INTEGER, [rest]), self._created("sign", _INTEGER, [right]))
        is_off = self.compared("LT", signs, self._constant(0))
        if kind == "%":
            return self._created("select", _INTEGER, [is_off, self._binary("+", rest, right), rest])
        quotient = self._binary("/", left, right)
        return self._created("select", _INTEGER, [is_off, self._binary("-", quotient, self._constant(1)), quotient])

    def compared(self, direction: str, left: Any, right: Any) -> Any:
        """The comparison of two sizes."""
        text = f"#stablehlo<comparison_direction {direction}>"
        return self._created("compare", _TRUTH, [left, right], comparison_direction=text)

    def _of_sizes(self, sizes: Sequence[Any]) -> Any:
        if not sizes:
            return build.constant(np.zeros(0, np.int64), loc=self.types.unknown)
        parts = [self._created("reshape", _INTEGER.update(shape=(1,)), [size]) for size in sizes]
        if len(parts) == 1:
            return parts[0]
        return self._created("concatenate", _INTEGER.update(shape=(len(parts),)), parts, dimension="0 : i64")

    def _as_array(self, size: Any, dtype: np.dtype[Any]) -> Any:
        return size if dtype == _INTEGER.dtype else self._created("convert", _INTEGER.update(dtype=dtype), [size])

    def check(self, left: Any, direction: str, right: Any, message: str) -> None:
        """Check a condition before anything runs; `{0}` and `{1}` in the message stand for the two sizes."""
        ir = bindings.ir
        attributes = {
            "call_target_name": ir.StringAttr.get("shape_assertion"),
            "error_message": ir.StringAttr.get(message),
            "has_side_effect": ir.BoolAttr.get(True),
            "api_version": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 2),
        }
        with self._before_the_end():
            operands = [self.compared(direction, left, right), left, right]
            ir.Operation.create("stablehlo.custom_call", [], operands, attributes, loc=self.types.unknown)

    def check_arguments(self, arguments: Sequence[Any], avals: Sequence[ShapedArray], names: Sequence[str]) -> None:
        """Check that the arguments have the sizes that their avals say, and that these are within their bounds."""
        for value, aval, name in zip(arguments, avals, names):
            for axis, size in enumerate(aval.shape):
                if not isinstance(size, Dim):
                    continue
                with self._before_the_end():
                    have, wanted = self._dimension(value, axis), self._polynomial(size)
                self.check(
                    have, "EQ", wanted, f"axis {axis} of {name} has size {{0}}, but its dimension {size} is {{1}}"
                )
        known = symbols([a.shape for a in avals])
        for fact in dict.fromkeys([fact for s in known for fact in s.facts]):
            if {s.name for s in symbols_of(fact)} <= {s.name for s in known}:
                with self._before_the_end():
                    rest = self._polynomial(dims.of_terms(fact))
                self.check(rest, "GE", self.value(0), f"{fact_text(fact)} does not hold")
        for symbol in known:
            for limit, direction, sign in ((symbol.lower, "GE", ">="), (symbol.upper, "LE", "<=")):
                if math.isfinite(limit):
                    found = self.value(dims.of_symbol(symbol))
                    self.check(
                        found, direction, self.value(int(limit)), f"{symbol} is {{0}}, but {symbol} {sign} {{1}}"
                    )

    def check_graph(self, graph: Graph) -> None:
        """Check that the sizes of a graph's arrays are whole numbers, and not negative."""
        for size, line in sizes_in(graph).items():
            common = math.lcm(*[c.denominator for _, c in size.terms])
            if common != 1:
                rest = self.value(size * common % common)
                what = f"the size {size}, of {line.brief()}, is not a whole number"
                self.check(rest, "EQ", self.value(0), what)
            if dims.bounds(size)[0] < 0:
                what = f"the size {size}, of {line.brief()}, is {{0}}, which is negative"
                self.check(self.value(size), "GE", self.value(0), what)


def emitted(
    cx: Any,
    name: str,
    operands: Sequence[Any],
    attributes: dict[str, Any],
    aval: ShapedArray,
    regions: Sequence[Callable[[Any], None]],
) -> Any:
    """The result of an operation with open dimensions, in a form that takes sizes; None if it needs none."""
    has_open_numbers = any(isinstance(a, OpenInts) for a in attributes.values())
    form = _OF_NUMBERS.get(name) if has_open_numbers else _OF_RESULTS.get(name) if aval.is_open else None
    if form is not None:
        return form(cx, operands, attributes, aval)
    if not has_open_numbers:
        return None
    if name == "stablehlo.reduce_window":
        return _reduce_window(cx, operands, attributes, aval, regions[0])
    raise open_error(name.removeprefix("stablehlo."), aval.long())


def _created(cx: Any, name: str, operands: Sequence[Any], attributes: dict[str, Any], aval: ShapedArray) -> Any:
    return cx.create_all(f"stablehlo.{name}", operands, attributes, [aval])[0]


def _others(attributes: dict[str, Any], *names: str) -> dict[str, Any]:
    return {key: value for key, value in attributes.items() if key not in names}


def _sizes(cx: Any, attribute: Any) -> Any:
    """The numbers of an attribute as an array."""
    return cx.trace.sizes.shape(numbers_of(attribute))


def _broadcast(cx: Any, operands: Sequence[Any], attributes: dict[str, Any], aval: ShapedArray) -> Any:
    return _created(cx, "dynamic_broadcast_in_dim", [*operands, cx.trace.sizes.shape(aval.shape)], attributes, aval)


def _iota(cx: Any, operands: Sequence[Any], attributes: dict[str, Any], aval: ShapedArray) -> Any:
    return _created(cx, "dynamic_iota", [cx.trace.sizes.shape(aval.shape)], attributes, aval)


def _reshape(cx: Any, operands: Sequence[Any], attributes: dict[str, Any], aval: ShapedArray) -> Any:
    return _created(cx, "dynamic_reshape", [*operands, cx.trace.sizes.shape(aval.shape)], {}, aval)


def _slice(cx: Any, operands: Sequence[Any], attributes: dict[str, Any], aval: ShapedArray) -> Any:
    numbers = [_sizes(cx, attributes[key]) for key in ("start_indices", "limit_indices", "strides")]
    return _created(cx, "real_dynamic_slice", [*operands, *numbers], {}, aval)


def _pad(cx: Any, operands: Sequence[Any], attributes: dict[str, Any], aval: ShapedArray) -> Any:
    keys = ("edge_padding_low", "edge_padding_high", "interior_padding")
    numbers = [_sizes(cx, attributes[key]) for key in keys]
    return _created(cx, "dynamic_pad", [*operands, *numbers], {}, aval)


def _gather(cx: Any, operands: Sequence[Any], attributes: dict[str, Any], aval: ShapedArray) -> Any:
    sizes = _sizes(cx, attributes["slice_sizes"])
    return _created(cx, "dynamic_gather", [*operands, sizes], _others(attributes, "slice_sizes"), aval)


def _dynamic_slice(cx: Any, operands: Sequence[Any], attributes: dict[str, Any], aval: ShapedArray) -> Any:
    value, *indices = operands
    whole = _INTEGER.update(shape=(aval.ndim,))
    parts = []
    for index in indices:
        kind = str(index.type.element_type)
        wide = index if kind == "i64" else _created(cx, "convert", [index], {}, _INTEGER)
        parts.append(_created(cx, "reshape", [wide], {}, _INTEGER.update(shape=(1,))))
    starts = _created(cx, "concatenate", parts, {"dimension": "0 : i64"}, whole)
    sizes = cx.trace.sizes
    lengths, nothing, steps = (sizes.shape(row) for row in (aval.shape, [0] * aval.ndim, [1] * aval.ndim))
    last = sizes.shape([n - m for n, m in zip(shape_of(cx, value), aval.shape)])
    starts = _created(cx, "clamp", [nothing, starts, last], {}, whole)
    ends = _created(cx, "add", [starts, lengths], {}, whole)
    return _created(cx, "real_dynamic_slice", [value, starts, ends, steps], {}, aval)


def _convolution(cx: Any, operands: Sequence[Any], attributes: dict[str, Any], aval: ShapedArray) -> Any:
    padding = _pairs(cx, attributes["padding"])
    return _created(cx, "dynamic_conv", [*operands, padding], _others(attributes, "padding"), aval)


def _pairs(cx: Any, attribute: Any) -> Any:
    """Padding as an array of two columns."""
    numbers = numbers_of(attribute)
    aval = _INTEGER.update(shape=(len(numbers) // 2, 2))
    return _created(cx, "reshape", [cx.trace.sizes.shape(numbers)], {}, aval)


def _reduce_window(
    cx: Any, operands: Sequence[Any], attributes: dict[str, Any], aval: ShapedArray, fill: Callable[[Any], None]
) -> Any:
    """The call by which JAX, too, writes windows of open sizes; StableHLO has no operation for them."""
    ir, rank = bindings.ir, aval.ndim
    keys = ("window_dimensions", "window_strides", "base_dilations", "window_dilations")
    windows = [_sizes(cx, attributes.get(key, i64_array([1] * rank))) for key in keys]
    padding = _pairs(cx, attributes.get("padding", OpenInts([0] * (2 * rank))))
    given = {
        "call_target_name": ir.StringAttr.get("stablehlo.dynamic_reduce_window"),
        "api_version": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 1),
        "called_computations": ir.ArrayAttr.get([ir.FlatSymbolRefAttr.get(_function(cx, operands[1].type, fill))]),
    }
    return _created(cx, "custom_call", [*operands, *windows, padding], given, aval)


def _function(cx: Any, type_: Any, fill: Callable[[Any], None]) -> str:
    """The name of a new function that combines two numbers as a region does."""
    ir, main = bindings.ir, cx.trace.sizes.function
    name = f"combined{len(main.parent.regions[0].blocks[0].operations)}"
    attributes = {
        "sym_name": ir.StringAttr.get(name),
        "function_type": ir.TypeAttr.get(ir.FunctionType.get([type_, type_], [type_])),
        "sym_visibility": ir.StringAttr.get("private"),
    }
    with ir.InsertionPoint(main):
        made = ir.Operation.create("func.func", [], [], attributes, regions=1, loc=cx.location)
    fill(made.regions[0])
    last = list(made.regions[0].blocks[0].operations)[-1].operation
    with ir.InsertionPoint(last):
        ir.Operation.create("func.return", [], list(last.operands), loc=cx.location)
    last.erase()
    return name


# Of an open result, and of numbers that are open.
_OF_RESULTS: dict[str, _Form] = {
    "stablehlo.broadcast_in_dim": _broadcast,
    "stablehlo.iota": _iota,
    "stablehlo.reshape": _reshape,
}
_OF_NUMBERS: dict[str, _Form] = {
    "stablehlo.slice": _slice,
    "stablehlo.pad": _pad,
    "stablehlo.gather": _gather,
    "stablehlo.dynamic_slice": _dynamic_slice,
    "stablehlo.convolution": _convolution,
}

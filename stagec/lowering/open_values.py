"""Values of programs with open dimensions: sizes that the program computes, and arrays with such sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from passes import bindings, operations
from stagec.core import dims, errors, location
from stagec.core.aval import ShapedArray
from stagec.core.dims import Dim, is_open
from stagec.core.dims_terms import Function, Size, Symbol
from stagec.core.dims_values import composed, solutions
from stagec.lowering.types import Types


class Sizes:
    """The sizes of a module's open dimensions, computed at the beginning of `main` from the shapes of its arguments.

    How a size is written is up to the class: `_number`, `_dimension` and `_binary` emit at the insertion point.
    """

    def __init__(self, types: Types, block: Any, avals: Sequence[ShapedArray]) -> None:
        self.types = types
        self._values: dict[Any, Any] = {}
        self._shapes: dict[Any, Any] = {}
        # What is computed later goes before this operation, so it can be used anywhere in the function.
        with bindings.ir.InsertionPoint(block):
            self._end = self._number(0).owner
        with self._before_the_end():
            self._find_symbols(list(zip(block.arguments, avals)))

    def _before_the_end(self) -> Any:
        return bindings.ir.InsertionPoint(self._end)

    def _number(self, value: int) -> Any:
        raise NotImplementedError

    def _dimension(self, value: Any, axis: int) -> Any:
        """A size of an argument."""
        raise NotImplementedError

    def _binary(self, kind: str, left: Any, right: Any) -> Any:
        """What one of `+ - * / // % max min` makes of two sizes; `/` is a division without a remainder."""
        raise NotImplementedError

    def _emit(self, name: str, types: Sequence[Any], operands: Sequence[Any], attributes: Any = None) -> Any:
        create = bindings.ir.Operation.create
        return create(name, list(types), list(operands), attributes, loc=self.types.unknown).result

    def _constant(self, value: int) -> Any:
        if value not in self._values:
            self._values[value] = self._number(value)
        return self._values[value]

    def _find_symbols(self, arguments: Sequence[tuple[Any, ShapedArray]]) -> None:
        waiting = [
            (size, value, axis) for value, aval in arguments for axis, size in enumerate(aval.shape) if is_open(size)
        ]
        for size, value, axis in waiting:
            if size not in self._values:
                self._values[size] = self._dimension(value, axis)
        for i, symbol, factor, rest in solutions([size for size, _, _ in waiting]):
            # size == factor * symbol + rest
            value = self._values[waiting[i][0]]
            if rest != 0:
                value = self._binary("-", value, self._computed(rest))
            if factor != 1:
                value = self._binary("/", value, self._constant(factor))
            self._values[symbol.name] = self._values[dims.of_symbol(symbol)] = value

    def value(self, size: Size) -> Any:
        """A size as a value of the program."""
        with self._before_the_end():
            return self._computed(size)

    def _computed(self, size: Size) -> Any:
        if not isinstance(size, Dim):
            return self._constant(size)
        found = self._values.get(size)
        if found is None:
            found = self._values[size] = self._polynomial(size)
        return found

    def _polynomial(self, size: Dim) -> Any:
        return composed(size, self._constant, self._variable, self._binary)

    def _variable(self, variable: Symbol | Function) -> Any:
        if isinstance(variable, Symbol):
            if variable.name not in self._values:
                raise location.error(
                    errors.DimensionError,
                    f"the sizes of the arguments do not say what {variable} is",
                    fix=f"name a dimension {variable}, or a multiple of it, for an axis of an argument",
                )
            return self._values[variable.name]
        if variable not in self._values:
            left, right = self._computed(variable.left), self._computed(variable.right)
            self._values[variable] = self._binary(variable.kind, left, right)
        return self._values[variable]

    def shape(self, shape: Sequence[Size]) -> Any:
        """A shape as an array of sizes."""
        key = tuple(shape)
        if key not in self._shapes:
            with self._before_the_end():
                self._shapes[key] = self._of_sizes([self._computed(n) for n in key])
        return self._shapes[key]

    def _of_sizes(self, sizes: Sequence[Any]) -> Any:
        raise NotImplementedError

    def scalar(self, size: Size, aval: ShapedArray) -> Any:
        """A size as an array without axes, of an integer dtype."""
        key = (size, aval.dtype)
        if key not in self._shapes:
            with self._before_the_end():
                self._shapes[key] = self._as_array(self._computed(size), aval.dtype)
        return self._shapes[key]

    def _as_array(self, size: Any, dtype: np.dtype[Any]) -> Any:
        raise NotImplementedError


class IndexSizes(Sizes):
    """Sizes of type `index`, for the compiler here."""

    def __init__(self, types: Types, block: Any, avals: Sequence[ShapedArray]) -> None:
        self._index = bindings.ir.IndexType.get()
        super().__init__(types, block, avals)

    def _number(self, value: int) -> Any:
        return self._emit(
            "arith.constant", [self._index], [], {"value": bindings.ir.IntegerAttr.get(self._index, value)}
        )

    def _dimension(self, value: Any, axis: int) -> Any:
        ir = bindings.ir
        if is_unsigned(value):
            # The compiler does not take `tensor.dim` of unsigned integers.
            element = ir.IntegerType.get_signless(ir.IntegerType(value.type.element_type).width)
            type_ = ir.RankedTensorType.get(list(value.type.shape), element, loc=self.types.unknown)
            value = self._emit("stablehlo.bitcast_convert", [type_], [value])
        return self._emit("tensor.dim", [self._index], [value, self._constant(axis)])

    _OPERATIONS: Mapping[str, str] = {
        **{"+": "arith.addi", "-": "arith.subi", "*": "arith.muli"},
        **{"/": "arith.divsi", "//": "arith.floordivsi", "max": "arith.maxsi", "min": "arith.minsi"},
    }

    def _binary(self, kind: str, left: Any, right: Any) -> Any:
        if kind == "%":
            # Not `arith.remsi`, whose result is negative where the dividend is.
            return self._binary("-", left, self._binary("*", self._binary("//", left, right), right))
        return self._emit(self._OPERATIONS[kind], [self._index], [left, right])

    def _of_sizes(self, sizes: Sequence[Any]) -> Any:
        type_ = bindings.ir.RankedTensorType.get([len(sizes)], self._index, loc=self.types.unknown)
        return self._emit("tensor.from_elements", [type_], sizes)

    def _as_array(self, size: Any, dtype: np.dtype[Any]) -> Any:
        ir = bindings.ir
        signless = ir.IntegerType.get_signless(8 * dtype.itemsize)
        type_ = ir.RankedTensorType.get([], signless, loc=self.types.unknown)
        made = self._emit("tensor.from_elements", [type_], [self._emit("arith.index_cast", [signless], [size])])
        # The barrier keeps it out of kernels: the compiler crashes on one that also writes part of an array of unknown
        # size.
        return self._emit("stablehlo.optimization_barrier", [type_], [made])


def is_unsigned(value: Any) -> bool:
    """Whether a value is an array of unsigned integers, which only StableHLO has."""
    return isinstance(value.type, bindings.ir.RankedTensorType) and str(value.type.element_type).startswith("ui")


def signed(aval: ShapedArray) -> ShapedArray:
    """The aval of the bits of unsigned integers."""
    return aval.update(dtype=np.dtype(f"int{8 * aval.dtype.itemsize}"))


def bits(cx: Any, value: Any, aval: ShapedArray) -> Any:
    """An array, read as one of another dtype of the same size."""
    return cx.create_all("stablehlo.bitcast_convert", [value], None, [aval])[0]


def create(cx: Any, name: str, operands: Sequence[Any], attributes: dict[str, Any], aval: ShapedArray) -> Any:
    """The result of an operation that takes no unsigned integers; it moves their bits as those of signed ones."""
    if not is_unsigned(operands[0]):
        return cx.create_all(name, operands, attributes, [aval])[0]
    read = [bits(cx, v, signed(aval_of(cx, v, aval))) if is_unsigned(v) else v for v in operands]
    return bits(cx, cx.create_all(name, read, attributes, [signed(aval)])[0], aval)


def aval_of(cx: Any, value: Any, like: ShapedArray) -> ShapedArray:
    """A value's aval; where it is static, with the dtype of `like`."""
    found: ShapedArray | None = cx.trace.avals.get(value)
    return like.update(shape=value.type.shape) if found is None else found


def shape_of(cx: Any, value: Any) -> tuple[Size, ...]:
    """A value's shape."""
    found: ShapedArray | None = cx.trace.avals.get(value)
    return tuple(value.type.shape) if found is None else found.shape


def open_sizes(cx: Any, sizes: Sequence[Size]) -> list[Any]:
    """The sizes that are open, as operands of an operation."""
    return [cx.trace.sizes.value(n) for n in sizes if is_open(n)]


def emit_scalar(cx: Any, name: str, type_: Any, operands: Sequence[Any], attributes: Any = None) -> Any:
    """The result of an operation on scalars."""
    parsed = {k: cx.types.attribute(v) for k, v in attributes.items()} if attributes else None
    return bindings.ir.Operation.create(name, [type_], list(operands), parsed, loc=cx.location).result


def start_index(cx: Any, number: Any, last: Size, unsigned: bool) -> Any:
    """A scalar as the index where a part of an axis begins, clamped to `0..last`."""
    index = bindings.ir.IndexType.get()
    found = emit_scalar(cx, "arith.index_castui" if unsigned else "arith.index_cast", index, [number])
    found = emit_scalar(cx, "arith.maxsi", index, [found, cx.trace.sizes.value(0)])
    return emit_scalar(cx, "arith.minsi", index, [found, cx.trace.sizes.value(last)])


# Whose results and arguments of regions do not tell their sizes to the compiler.
CARRYING = frozenset({*operations.CONTROL, "stablehlo.optimization_barrier"})


def tied(cx: Any, value: Any, aval: ShapedArray) -> Any:
    """A value whose open sizes are those of `aval`, where the compiler could not find them out."""
    if not aval.is_open:
        return value
    return create(cx, "flow.tensor.tie_shape", [value, *open_sizes(cx, aval.shape)], {}, aval)

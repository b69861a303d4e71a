"""Operations on arrays with open dimensions: sizes as values of the program, and the dynamic forms of StableHLO."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from passes import bindings, operations
from stagec.core import dims, dtypes, errors, location
from stagec.core.aval import ShapedArray
from stagec.core.dims import Dim, is_open
from stagec.core.dims_terms import Function, Size, Symbol
from stagec.core.dims_values import solutions
from stagec.lowering.types import Types
from stagec.primitives.checks import OpenInts, i64_array

# What index arithmetic and views of arrays of any size are written in.
_DIALECTS = ("arith", "tensor", "linalg", "flow", "iree_linalg_ext")


class Sizes:
    """The sizes of a module's open dimensions, computed at the beginning of `main` from the shapes of its arguments."""

    def __init__(self, types: Types, block: Any, avals: Sequence[ShapedArray]) -> None:
        self.types = types
        self._values: dict[Any, Any] = {}
        self._shapes: dict[Any, Any] = {}
        self._index = bindings.ir.IndexType.get()
        # What is computed later goes before this operation, so it can be used anywhere in the function.
        with bindings.ir.InsertionPoint(block):
            self._end = bindings.ir.Operation.create("arith.constant", [self._index], [], self._number(0))
        self._arguments = list(zip(block.arguments, avals))
        self._find_symbols()

    def _number(self, value: int) -> dict[str, Any]:
        return {"value": bindings.ir.IntegerAttr.get(self._index, value)}

    def _emit(self, name: str, types: Sequence[Any], operands: Sequence[Any], attributes: Any = None) -> Any:
        ir = bindings.ir
        with ir.InsertionPoint(self._end):
            return ir.Operation.create(name, list(types), list(operands), attributes, loc=self.types.unknown).result

    def _constant(self, value: int) -> Any:
        if value not in self._values:
            self._values[value] = self._emit("arith.constant", [self._index], [], self._number(value))
        return self._values[value]

    def _find_symbols(self) -> None:
        waiting = [
            (size, value, axis)
            for value, aval in self._arguments
            for axis, size in enumerate(aval.shape)
            if is_open(size)
        ]
        for size, value, axis in waiting:
            if size not in self._values:
                self._values[size] = self._dimension(value, axis)
        for i, symbol, factor, rest in solutions([size for size, _, _ in waiting]):
            # size == factor * symbol + rest
            value = self._values[waiting[i][0]]
            if rest != 0:
                value = self._emit("arith.subi", [self._index], [value, self.value(rest)])
            if factor != 1:
                value = self._emit("arith.divsi", [self._index], [value, self._constant(factor)])
            self._values[symbol] = self._values[dims.of_symbol(symbol)] = value

    def _dimension(self, value: Any, axis: int) -> Any:
        """A size of an argument."""
        ir = bindings.ir
        if is_unsigned(value):
            # The compiler asks no array of unsigned integers for its sizes.
            element = ir.IntegerType.get_signless(ir.IntegerType(value.type.element_type).width)
            type_ = ir.RankedTensorType.get(list(value.type.shape), element, loc=self.types.unknown)
            value = self._emit("stablehlo.bitcast_convert", [type_], [value])
        return self._emit("tensor.dim", [self._index], [value, self._constant(axis)])

    def value(self, size: Size) -> Any:
        """A size as an `index`."""
        if not isinstance(size, Dim):
            return self._constant(size)
        found = self._values.get(size)
        if found is None:
            found = self._values[size] = self._polynomial(size)
        return found

    def _polynomial(self, size: Dim) -> Any:
        common = math.lcm(*[c.denominator for _, c in size.terms])
        total: Any = None
        for monomial, coefficient in size.terms:
            number = int(coefficient * common)
            part: Any = None
            for variable, power in monomial:
                for _ in range(power):
                    value = self._variable(variable)
                    part = value if part is None else self._emit("arith.muli", [self._index], [part, value])
            if part is None:
                part = self._constant(number)
            elif number != 1:
                part = self._emit("arith.muli", [self._index], [part, self._constant(number)])
            total = part if total is None else self._emit("arith.addi", [self._index], [total, part])
        if common != 1:
            total = self._emit("arith.divsi", [self._index], [total, self._constant(common)])
        return total

    _OPERATIONS: Mapping[str, str] = {
        "//": "arith.floordivsi",
        "%": "arith.remsi",
        "max": "arith.maxsi",
        "min": "arith.minsi",
    }

    def _variable(self, variable: Symbol | Function) -> Any:
        if variable not in self._values:
            assert isinstance(variable, Function), "the symbols are those of the arguments"
            left, right = self.value(variable.left), self.value(variable.right)
            self._values[variable] = self._emit(self._OPERATIONS[variable.kind], [self._index], [left, right])
        return self._values[variable]

    def shape(self, shape: Sequence[Size]) -> Any:
        """A shape as a tensor of indices."""
        key = tuple(shape)
        found = self._shapes.get(key)
        if found is None:
            ir = bindings.ir
            type_ = ir.RankedTensorType.get([len(key)], self._index, loc=self.types.unknown)
            found = self._emit("tensor.from_elements", [type_], [self.value(n) for n in key])
            self._shapes[key] = found
        return found

    def scalar(self, size: Size, aval: ShapedArray) -> Any:
        """A size as an array without axes, of an integer dtype."""
        key = (size, aval.dtype)
        found = self._shapes.get(key)
        if found is None:
            ir = bindings.ir
            signless = ir.IntegerType.get_signless(8 * aval.dtype.itemsize)
            number = self._emit("arith.index_cast", [signless], [self.value(size)])
            type_ = ir.RankedTensorType.get([], signless, loc=self.types.unknown)
            found = self._shapes[key] = self._emit("tensor.from_elements", [type_], [number])
        return found


def load_dialects(context: Any) -> None:
    """Make a context know the operations that this module emits."""
    for name in _DIALECTS:
        context.dialects[name]


def emitted(cx: Any, name: str, operands: Sequence[Any], attributes: dict[str, Any], aval: ShapedArray) -> Any:
    """The result of an operation with open dimensions, in a form that takes sizes as operands; None if it needs none.

    All other operations infer the open sizes of their results from those of their operands.
    """
    needed = aval.is_open or any(isinstance(a, OpenInts) for a in attributes.values())
    if not needed and name not in _OF_OPEN_OPERANDS:
        return None
    form = _FORMS.get(name)
    if form is None:
        if any(isinstance(a, OpenInts) for a in attributes.values()):
            raise open_error(name.removeprefix("stablehlo."), aval.long())
        return None
    return form(cx, operands, attributes, aval)


def is_unsigned(value: Any) -> bool:
    """Whether a value is an array of unsigned integers, which only StableHLO has."""
    return isinstance(value.type, bindings.ir.RankedTensorType) and str(value.type.element_type).startswith("ui")


def signed(aval: ShapedArray) -> ShapedArray:
    """The aval of the bits of unsigned integers."""
    return aval.update(dtype=np.dtype(f"int{8 * aval.dtype.itemsize}"))


def bits(cx: Any, value: Any, aval: ShapedArray) -> Any:
    """An array, read as one of another dtype of the same size."""
    return cx.create_all("stablehlo.bitcast_convert", [value], None, [aval])[0]


def _create(cx: Any, name: str, operands: Sequence[Any], attributes: dict[str, Any], aval: ShapedArray) -> Any:
    if not is_unsigned(operands[0]):
        return cx.create_all(name, operands, attributes, [aval])[0]
    read = [bits(cx, v, signed(_aval_of(cx, v, aval))) if is_unsigned(v) else v for v in operands]
    return bits(cx, cx.create_all(name, read, attributes, [signed(aval)])[0], aval)


def _aval_of(cx: Any, value: Any, like: ShapedArray) -> ShapedArray:
    found: ShapedArray | None = cx.trace.avals.get(value)
    return like.update(shape=tuple(value.type.shape)) if found is None else found


# Which overwrite their operands.
IN_PLACE = frozenset({*operations.IN_PLACE, "stablehlo.while"})
# Whose results and arguments of regions do not tell their sizes to the compiler.
CARRYING = frozenset({*operations.CONTROL, "stablehlo.optimization_barrier"})


# Those that the compiler does not take with open dimensions or crashes on.
_REFUSED = frozenset(
    f"stablehlo.{name}" for name in ("reduce_window", "select_and_scatter", "fft", "cholesky", "triangular_solve")
)


def check(cx: Any, name: str, operands: Sequence[Any], avals: Sequence[ShapedArray]) -> None:
    """Refuse an operation that has no form for open dimensions."""
    if name in _REFUSED:
        opened = [a for a in (*avals, *(cx.trace.avals[v] for v in operands if v in cx.trace.avals)) if a.is_open]
        if opened:
            raise open_error(name.removeprefix("stablehlo."), opened[0].long())


def held(cx: Any, values: Sequence[Any]) -> list[Any]:
    """Values behind a barrier, which the compiler must compute and cannot combine with others."""
    avals = [cx.trace.avals.get(v) for v in values]
    opened = [v for v, a in zip(values, avals) if a is not None]
    if not opened:
        return list(values)
    known = [a for a in avals if a is not None]
    results = iter(cx.create_all("stablehlo.optimization_barrier", opened, None, known))
    return [v if a is None else next(results) for v, a in zip(values, avals)]


def copied(cx: Any, values: Sequence[Any]) -> list[Any]:
    """Values to be overwritten, each in memory of its own if it is open.

    The compiler updates arrays in place, loses track of what else is in their memory where there are loops and
    branches, and fuses what computes them with a sort, on a stack of unknown size. For known shapes,
    `passes.legalize.control_flow` finds out which need a copy; here all do that may.
    """
    return [_copied(cx, v, cx.trace.avals[v]) if v in cx.trace.avals and not _is_own(v) else v for v in values]


def _is_own(value: Any) -> bool:
    """Whether a value is the state of a loop, or what an update made."""
    owner = value.owner
    if isinstance(owner, bindings.ir.Block):
        return False
    if owner.name == "flow.tensor.tie_shape":
        return isinstance(owner.operands[0].owner, bindings.ir.Block)
    return bool(owner.name == "tensor.insert_slice")


def _copied(cx: Any, value: Any, aval: ShapedArray) -> Any:
    """A copy by a selection that the compiler cannot fold: of the elements whose index is -n or more."""
    cx.trace.copies += 1
    axis = next(i for i, n in enumerate(aval.shape) if is_open(n))
    index, flags = (aval.update(dtype=np.dtype(d), weak_type=False) for d in (np.int32, np.bool_))
    (position,) = cx.emit_all("stablehlo.iota", [], {"iota_dimension": f"{axis} : i64"}, [index])
    least = cx.constant(-cx.trace.copies, index)
    direction = {"comparison_direction": "#stablehlo<comparison_direction GE>"}
    (always,) = cx.emit_all("stablehlo.compare", [position, least], direction, [flags])
    # Zeros would be the same as a value of zeros.
    (other,) = cx.emit_all("stablehlo.convert", [position], None, [aval])
    return held(cx, cx.emit_all("stablehlo.select", [always, value, other], None, [aval]))[0]


def region_results(cx: Any, region: Any, values: Sequence[Any]) -> list[Any]:
    """The results of a loop's body or a branch, each in memory of its own.

    The compiler also loses the sizes of results of branches that no operation there computes.
    """
    name = region.owner.operation.name
    found: list[Any] = []
    for value in values:
        aval = cx.trace.avals.get(value) if name in operations.CONTROL else None
        is_own = name not in operations.CONDITIONALS and value not in found and _is_made_in(value, region.blocks[0])
        found.append(value if aval is None or is_own else _copied(cx, value, aval))
    return found


def _is_made_in(value: Any, block: Any) -> bool:
    owner = value.owner
    return bool(owner == block if isinstance(owner, bindings.ir.Block) else owner.operation.block == block)


def tied(cx: Any, value: Any, aval: ShapedArray) -> Any:
    """A value whose open sizes are those of `aval`, where the compiler could not find them out."""
    if not aval.is_open:
        return value
    sizes = [cx.trace.sizes.value(n) for n in aval.shape if is_open(n)]
    return _create(cx, "flow.tensor.tie_shape", [value, *sizes], {}, aval)


def _numbers(attribute: Any) -> tuple[Any, ...]:
    """The numbers in what `i64_array` returned."""
    if isinstance(attribute, OpenInts):
        return tuple(attribute)
    return tuple([int(n) for n in attribute.removeprefix("array<i64").removesuffix(">").lstrip(":").split(",") if n])


def _broadcast(cx: Any, operands: Sequence[Any], attributes: dict[str, Any], aval: ShapedArray) -> Any:
    (value,) = operands
    shape = value.type.shape
    known = {
        "broadcast_dimensions": attributes["broadcast_dimensions"],
        "known_expanding_dimensions": i64_array([i for i, n in enumerate(shape) if n == 1]),
        "known_nonexpanding_dimensions": i64_array([i for i, n in enumerate(shape) if n != 1]),
    }
    target = cx.trace.sizes.shape(aval.shape)
    return _create(cx, "stablehlo.dynamic_broadcast_in_dim", [value, target], known, aval)


def _iota(cx: Any, operands: Sequence[Any], attributes: dict[str, Any], aval: ShapedArray) -> Any:
    return _create(cx, "stablehlo.dynamic_iota", [cx.trace.sizes.shape(aval.shape)], attributes, aval)


def _reshape(cx: Any, operands: Sequence[Any], attributes: dict[str, Any], aval: ShapedArray) -> Any:
    return reshaped(cx, operands[0], cx.trace.avals[operands[0]], aval)


def _slice(cx: Any, operands: Sequence[Any], attributes: dict[str, Any], aval: ShapedArray) -> Any:
    starts, strides = (_numbers(attributes[name]) for name in ("start_indices", "strides"))
    return _part(cx, operands[0], starts, strides, aval)


def _part(cx: Any, value: Any, starts: Sequence[Any], strides: Sequence[Any], aval: ShapedArray) -> Any:
    """The elements from `starts`, which are sizes or indices of the program, at strides."""
    offsets, places = _places(cx, 1, starts, aval.shape, strides)
    return _create(cx, "tensor.extract_slice", [value, *offsets], places, aval)


def _dynamic_slice(cx: Any, operands: Sequence[Any], attributes: dict[str, Any], aval: ShapedArray) -> Any:
    value, *indices = operands
    return _part(cx, value, _starts(cx, indices, value, aval.shape), [1] * aval.ndim, aval)


def _dynamic_update(cx: Any, operands: Sequence[Any], attributes: dict[str, Any], aval: ShapedArray) -> Any:
    value, part, *indices = (*copied(cx, operands[:1]), *operands[1:])
    sizes = cx.trace.avals[part].shape if part in cx.trace.avals else tuple(part.type.shape)
    offsets, places = _places(cx, 2, _starts(cx, indices, value, sizes), sizes, [1] * aval.ndim)
    return _create(cx, "tensor.insert_slice", [part, value, *offsets], places, aval)


def _starts(cx: Any, indices: Sequence[Any], value: Any, sizes: Sequence[Size]) -> list[Any]:
    """Start indices of a part, clamped so that it is within the array."""
    shape = cx.trace.avals[value].shape if value in cx.trace.avals else tuple(value.type.shape)
    ir, found = bindings.ir, []
    index = ir.IndexType.get()

    def emit(name: str, kind: Any, *operands: Any) -> Any:
        return ir.Operation.create(name, [kind], list(operands), loc=cx.location).result

    for start, size, part in zip(indices, shape, sizes):
        last = size - part
        if last == 0:
            found.append(0)
            continue
        number = emit("tensor.extract", start.type.element_type, start)
        cast = "arith.index_castui" if "ui" in str(start.type.element_type) else "arith.index_cast"
        least = emit("arith.maxsi", index, emit(cast, index, number), cx.trace.sizes.value(0))
        found.append(emit("arith.minsi", index, least, cx.trace.sizes.value(last)))
    return found


def _places(
    cx: Any, arrays: int, starts: Sequence[Any], sizes: Sequence[Any], strides: Sequence[Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Offsets, sizes and strides as the operands and attributes of an operation on a part of one of its arrays."""
    operands: list[Any] = []
    counts = [1] * arrays
    attributes: dict[str, Any] = {}
    for name, row in zip(("static_offsets", "static_sizes", "static_strides"), (starts, sizes, strides)):
        given = [cx.trace.sizes.value(n) if is_open(n) else n for n in row if not isinstance(n, int)]
        operands += given
        counts.append(len(given))
        attributes[name] = _static(row)
    return operands, {**attributes, "operandSegmentSizes": _segments(counts)}


def _static(row: Sequence[Any]) -> Any:
    ir = bindings.ir
    return ir.DenseI64ArrayAttr.get([n if isinstance(n, int) else ir.ShapedType.get_dynamic_size() for n in row])


def _pad(cx: Any, operands: Sequence[Any], attributes: dict[str, Any], aval: ShapedArray) -> Any:
    names = ("edge_padding_low", "edge_padding_high", "interior_padding")
    if not any(isinstance(attributes[name], OpenInts) for name in names):
        return None
    low, high, interior = (_numbers(attributes[name]) for name in names)
    value, fill = operands
    source = cx.trace.avals.get(value)
    shape = tuple(value.type.shape) if source is None else source.shape
    if any(interior):
        nothing = i64_array([0] * aval.ndim)
        shape = tuple([n + (n - 1) * k if k else n for n, k in zip(shape, interior)])
        spread = dict(zip(names, (nothing, nothing, attributes["interior_padding"])))
        value = _create(cx, "stablehlo.pad", [value, fill], spread, aval.update(shape=shape))
    cuts = [(-min(n, 0), -min(m, 0)) for n, m in zip(low, high)]
    if any(n != 0 or m != 0 for n, m in cuts):
        shape = tuple([size - n - m for size, (n, m) in zip(shape, cuts)])
        value = _part(cx, value, [n for n, _ in cuts], [1] * aval.ndim, aval.update(shape=shape))
    grown = [(max(n, 0), max(m, 0)) for n, m in zip(low, high)]
    if all(n == 0 and m == 0 for n, m in grown):
        return value
    return _padded(cx, value, fill, grown, aval)


def _padded(cx: Any, value: Any, fill: Any, grown: Sequence[tuple[Any, Any]], aval: ShapedArray) -> Any:
    if is_unsigned(value):
        wanted = signed(aval)
        value, fill = (bits(cx, v, signed(_aval_of(cx, v, aval))) for v in (value, fill))
        return bits(cx, _padded(cx, value, fill, grown, wanted), aval)
    ir = bindings.ir
    lows, highs = [n for n, _ in grown], [m for _, m in grown]
    given = [[cx.trace.sizes.value(n) for n in row if is_open(n)] for row in (lows, highs)]
    element = value.type.element_type
    number = ir.Operation.create("tensor.extract", [element], [fill], loc=cx.location).result

    def body(region: Any) -> None:
        index = ir.IndexType.get()
        block = region.blocks.append(*[index] * aval.ndim, arg_locs=[cx.location] * aval.ndim)
        with ir.InsertionPoint(block):
            ir.Operation.create("tensor.yield", [], [number], loc=cx.location)

    attributes = {
        "static_low": _static(lows),
        "static_high": _static(highs),
        "operandSegmentSizes": _segments([1, *map(len, given)]),
    }
    return cx.create_all("tensor.pad", [value, *given[0], *given[1]], attributes, [aval], [body])[0]


def _segments(counts: Sequence[int]) -> Any:
    return bindings.ir.DenseI32ArrayAttr.get(list(counts))


def _convert(cx: Any, operands: Sequence[Any], attributes: dict[str, Any], aval: ShapedArray) -> Any:
    """A conversion of floats to integers that saturates, and makes 0 of NaN; the compiler's own does not."""
    (value,) = operands
    source = cx.trace.avals.get(value)
    if source is None or not dtypes.is_float(source.dtype) or not dtypes.is_integer(aval.dtype):
        return None
    low, high = dtypes.integer_range(aval.dtype)
    truth = source.update(dtype=dtypes.bool_, weak_type=False)

    def compare(direction: str, other: Any) -> Any:
        text = f"#stablehlo<comparison_direction {direction}>"
        return _create(cx, "stablehlo.compare", [value, other], {"comparison_direction": text}, truth)

    def select(where: Any, yes: Any, no: Any, kind: ShapedArray) -> Any:
        return _create(cx, "stablehlo.select", [where, yes, no], {}, kind)

    with np.errstate(over="ignore"):  # an infinity is beyond what the integers hold, too
        below, above = compare("LE", cx.constant(low, source)), compare("GE", cx.constant(high + 1, source))
    outside = compare("NE", value)
    for other in (below, above):
        outside = _create(cx, "stablehlo.or", [outside, other], {}, truth)
    inside = select(outside, cx.constant(0, source), value, source)
    found = _create(cx, "stablehlo.convert", [inside], attributes, aval)
    found = select(above, cx.constant(high, aval), found, aval)
    return select(below, cx.constant(low, aval), found, aval)


_FORMS: dict[str, Callable[..., Any]] = {
    "stablehlo.convert": _convert,
    "stablehlo.broadcast_in_dim": _broadcast,
    "stablehlo.iota": _iota,
    "stablehlo.reshape": _reshape,
    "stablehlo.slice": _slice,
    "stablehlo.pad": _pad,
    "stablehlo.dynamic_slice": _dynamic_slice,
    "stablehlo.dynamic_update_slice": _dynamic_update,
}
# Those that may have static results of open operands, and need their form then, too.
_OF_OPEN_OPERANDS = frozenset({"stablehlo.dynamic_slice"})


# Reshapes.


def _groups(shape: Sequence[Size], other: Sequence[Size]) -> list[tuple[list[int], list[int]]] | None:
    """Runs of axes of two shapes with equal products, each with one axis on one side; None if there are none."""
    found: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(shape) and j < len(other):
        left, right = [i], [j]
        a, b = shape[i], other[j]
        i, j = i + 1, j + 1
        while a != b:
            # The side whose product divides the other one goes on.
            if dims.exact_quotient(b, a) is not None and i < len(shape):
                a = a * shape[i]
                left.append(i)
                i += 1
            elif dims.exact_quotient(a, b) is not None and j < len(other):
                b = b * other[j]
                right.append(j)
                j += 1
            else:
                return None
        found.append((left, right))
    for rest, side, sizes in ((range(i, len(shape)), 0, shape), (range(j, len(other)), 1, other)):
        for axis in rest:
            if sizes[axis] != 1 or not found:
                return None
            found[-1][side].append(axis)
    return found if all(len(a) == 1 or len(b) == 1 for a, b in found) else None


def reshaped(cx: Any, value: Any, source: ShapedArray, target: ShapedArray) -> Any:
    """`value` in another shape, where one of the two is open."""
    if source.shape == target.shape:
        return value
    if not source.shape or not target.shape:
        # A single element: only arrays without open axes become one, and only sizes that are 1 come from it.
        raise open_error("reshape", f"{source.long()} to {target.long()}")
    found = _groups(source.shape, target.shape)
    if found is None:
        flat = source.update(shape=(source.size,))
        value = _collapse(cx, value, [list(range(source.ndim))], flat) if source.ndim > 1 else value
        return _expand(cx, value, [list(range(target.ndim))], target) if target.ndim > 1 else value
    middle = source.update(shape=[target.shape[b[0]] if len(b) == 1 else source.shape[a[0]] for a, b in found])
    if middle.ndim < source.ndim:
        value = _collapse(cx, value, [a for a, _ in found], middle)
    if middle.ndim < target.ndim:
        value = _expand(cx, value, [b for _, b in found], target)
    return value


def _reassociation(groups: Sequence[Sequence[int]]) -> Any:
    ir = bindings.ir
    i64 = ir.IntegerType.get_signless(64)
    return ir.ArrayAttr.get([ir.ArrayAttr.get([ir.IntegerAttr.get(i64, i) for i in group]) for group in groups])


def _collapse(cx: Any, value: Any, groups: Sequence[Sequence[int]], aval: ShapedArray) -> Any:
    return _create(cx, "tensor.collapse_shape", [value], {"reassociation": _reassociation(groups)}, aval)


def _expand(cx: Any, value: Any, groups: Sequence[Sequence[int]], aval: ShapedArray) -> Any:
    ir = bindings.ir
    open_sizes = [cx.trace.sizes.value(n) for n in aval.shape if is_open(n)]
    static = [ir.ShapedType.get_dynamic_size() if is_open(n) else n for n in aval.shape]
    attributes = {"reassociation": _reassociation(groups), "static_output_shape": ir.DenseI64ArrayAttr.get(static)}
    return _create(cx, "tensor.expand_shape", [value, *open_sizes], attributes, aval)


def open_error(name: str, what: str) -> errors.DimensionError:
    """The error for an operation that has no form for open dimensions."""
    return location.error(
        errors.DimensionError,
        f"{name} has no form for open dimensions here: {what}",
        fix="leave the dimension static in the specification, or write the operation in another way",
    )

"""Operations on arrays with open dimensions, in forms that take sizes as operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from passes import bindings
from stagec.core import dims, dtypes
from stagec.core.aval import ShapedArray
from stagec.core.dims import is_open, maximum, minimum, open_error
from stagec.core.dims_terms import Size
from stagec.lowering.open_copies import copied
from stagec.lowering.open_linalg import padded
from stagec.lowering.open_values import (
    aval_of,
    bits,
    create,
    emit_scalar,
    is_unsigned,
    open_sizes,
    shape_of,
    signed,
    start_index,
)
from stagec.primitives.checks import OpenInts, i64_array, numbers_of

# What index arithmetic and views of arrays of any size are written in.
_DIALECTS = ("arith", "complex", "tensor", "linalg", "flow", "iree_linalg_ext")


def load_dialects(context: Any) -> None:
    """Make a context know the operations that this module emits."""
    for name in _DIALECTS:
        context.dialects[name]


def emitted(
    cx: Any,
    name: str,
    operands: Sequence[Any],
    attributes: dict[str, Any],
    aval: ShapedArray,
    regions: Sequence[Callable[[Any], None]],
) -> Any:
    """The result of an operation with open dimensions, in a form that takes sizes as operands; None if it needs none.

    All other operations infer the open sizes of their results from those of their operands.
    """
    has_open_numbers = any(isinstance(a, OpenInts) for a in attributes.values())
    if not (aval.is_open or has_open_numbers or name in _OF_OPEN_OPERANDS):
        return None
    form = _FORMS.get(name)
    if form is not None:
        return form(cx, operands, attributes, aval)
    if has_open_numbers:
        raise open_error(name.removeprefix("stablehlo."), aval.long())
    return None


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


def _broadcast(cx: Any, operands: Sequence[Any], attributes: dict[str, Any], aval: ShapedArray) -> Any:
    (value,) = operands
    shape = value.type.shape
    known = {
        "broadcast_dimensions": attributes["broadcast_dimensions"],
        "known_expanding_dimensions": i64_array([i for i, n in enumerate(shape) if n == 1]),
        "known_nonexpanding_dimensions": i64_array([i for i, n in enumerate(shape) if n != 1]),
    }
    target = cx.trace.sizes.shape(aval.shape)
    return create(cx, "stablehlo.dynamic_broadcast_in_dim", [value, target], known, aval)


def _iota(cx: Any, operands: Sequence[Any], attributes: dict[str, Any], aval: ShapedArray) -> Any:
    return create(cx, "stablehlo.dynamic_iota", [cx.trace.sizes.shape(aval.shape)], attributes, aval)


def _reshape(cx: Any, operands: Sequence[Any], attributes: dict[str, Any], aval: ShapedArray) -> Any:
    return reshaped(cx, operands[0], cx.trace.avals[operands[0]], aval)


def _slice(cx: Any, operands: Sequence[Any], attributes: dict[str, Any], aval: ShapedArray) -> Any:
    starts, strides = (numbers_of(attributes[name]) for name in ("start_indices", "strides"))
    return part(cx, operands[0], starts, strides, aval)


def part(cx: Any, value: Any, starts: Sequence[Any], strides: Sequence[Any], aval: ShapedArray) -> Any:
    """The elements from `starts`, which are sizes or indices of the program, at strides."""
    offsets, places = _places(cx, 1, starts, aval.shape, strides)
    return create(cx, "tensor.extract_slice", [value, *offsets], places, aval)


def _dynamic_slice(cx: Any, operands: Sequence[Any], attributes: dict[str, Any], aval: ShapedArray) -> Any:
    value, *indices = operands
    return part(cx, value, _starts(cx, indices, value, aval.shape), [1] * aval.ndim, aval)


def _dynamic_update(cx: Any, operands: Sequence[Any], attributes: dict[str, Any], aval: ShapedArray) -> Any:
    value, part, *indices = (*copied(cx, operands[:1]), *operands[1:])
    sizes = shape_of(cx, part)
    offsets, places = _places(cx, 2, _starts(cx, indices, value, sizes), sizes, [1] * aval.ndim)
    return create(cx, "tensor.insert_slice", [part, value, *offsets], places, aval)


def _starts(cx: Any, indices: Sequence[Any], value: Any, sizes: Sequence[Size]) -> list[Any]:
    """Start indices of a part, clamped so that it is within the array."""
    found: list[Any] = []
    for start, size, part in zip(indices, shape_of(cx, value), sizes):
        last = size - part
        if last == 0:
            found.append(0)
        else:
            number = emit_scalar(cx, "tensor.extract", start.type.element_type, [start])
            found.append(start_index(cx, number, last, is_unsigned(start)))
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
    low, high, interior = (numbers_of(attributes[name]) for name in names)
    is_plain = not any(interior) and all(isinstance(n, int) and n >= 0 for n in (*low, *high))
    if is_plain and not dtypes.is_complex(aval.dtype):
        return None
    value, fill = operands
    shape = shape_of(cx, value)
    if any(interior) or dtypes.is_complex(aval.dtype):
        return padded(cx, value, fill, aval.update(shape=shape), low, [n + 1 for n in interior], aval)
    # What is cut off may be more than the array has, and some of what it grows by.
    grown = [(maximum(n, 0), maximum(m, 0)) for n, m in zip(low, high)]
    if any(is_open(n) or n != 0 for edge in grown for n in edge):
        shape = tuple([size + n + m for size, (n, m) in zip(shape, grown)])
        value = _padded(cx, value, fill, grown, aval.update(shape=shape))
    if shape == aval.shape:
        return value
    return part(cx, value, [-minimum(n, 0) for n in low], [1] * aval.ndim, aval)


def _padded(cx: Any, value: Any, fill: Any, grown: Sequence[tuple[Any, Any]], aval: ShapedArray) -> Any:
    if is_unsigned(value):
        wanted = signed(aval)
        value, fill = (bits(cx, v, signed(aval_of(cx, v, aval))) for v in (value, fill))
        return bits(cx, _padded(cx, value, fill, grown, wanted), aval)
    ir = bindings.ir
    lows, highs = [n for n, _ in grown], [m for _, m in grown]
    given = [open_sizes(cx, row) for row in (lows, highs)]
    number = emit_scalar(cx, "tensor.extract", value.type.element_type, [fill])

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
        return create(cx, "stablehlo.compare", [value, other], {"comparison_direction": text}, truth)

    def select(where: Any, yes: Any, no: Any, kind: ShapedArray) -> Any:
        return create(cx, "stablehlo.select", [where, yes, no], {}, kind)

    with np.errstate(over="ignore"):  # an infinity is beyond what the integers hold, too
        below, above = compare("LE", cx.constant(low, source)), compare("GE", cx.constant(high + 1, source))
    outside = compare("NE", value)
    for other in (below, above):
        outside = create(cx, "stablehlo.or", [outside, other], {}, truth)
    inside = select(outside, cx.constant(0, source), value, source)
    found = create(cx, "stablehlo.convert", [inside], attributes, aval)
    found = select(above, cx.constant(high, aval), found, aval)
    return select(below, cx.constant(low, aval), found, aval)


def _reverse(cx: Any, operands: Sequence[Any], attributes: dict[str, Any], aval: ShapedArray) -> Any:
    return create(cx, "stablehlo.reverse", operands, attributes, aval)


_FORMS: dict[str, Callable[..., Any]] = {
    "stablehlo.convert": _convert,
    "stablehlo.broadcast_in_dim": _broadcast,
    "stablehlo.iota": _iota,
    "stablehlo.reshape": _reshape,
    "stablehlo.reverse": _reverse,
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
    return create(cx, "tensor.collapse_shape", [value], {"reassociation": _reassociation(groups)}, aval)


def _expand(cx: Any, value: Any, groups: Sequence[Sequence[int]], aval: ShapedArray) -> Any:
    attributes = {"reassociation": _reassociation(groups), "static_output_shape": _static(aval.shape)}
    return create(cx, "tensor.expand_shape", [value, *open_sizes(cx, aval.shape)], attributes, aval)

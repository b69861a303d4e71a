"""Operations of `linalg` for arrays of any size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from passes import bindings
from stagec.core import dtypes
from stagec.core.aval import ShapedArray
from stagec.core.dims_terms import Size
from stagec.lowering.open_values import bits, emit_scalar, open_sizes, signed
from stagec.primitives.axes import dilated


def index_type() -> Any:
    return bindings.ir.IndexType.get()


def empty(cx: Any, aval: ShapedArray) -> Any:
    """New memory for an array."""
    return cx.create_all("tensor.empty", open_sizes(cx, aval.shape), None, [aval])[0]


def generic(
    cx: Any,
    maps: Sequence[str],
    iterators: Sequence[str],
    inputs: Sequence[Any],
    start: Any,
    aval: ShapedArray,
    body: Callable[..., Any],
) -> Any:
    """`linalg.generic`; `body` gets an element of each input and the accumulator, and returns a scalar."""
    ir = bindings.ir

    def fill(region: Any) -> None:
        kinds = [v.type.element_type for v in (*inputs, start)]
        block = region.blocks.append(*kinds, arg_locs=[cx.location] * len(kinds))
        with ir.InsertionPoint(block):
            ir.Operation.create("linalg.yield", [], [body(*block.arguments)], loc=cx.location)

    attributes = {
        "indexing_maps": f"[{', '.join(f'affine_map<{m}>' for m in maps)}]",
        "iterator_types": f"[{', '.join(f'#linalg.iterator_type<{kind}>' for kind in iterators)}]",
        "operandSegmentSizes": f"array<i32: {len(inputs)}, 1>",
    }
    return cx.create_all("linalg.generic", [*inputs, start], attributes, [aval], [fill])[0]


def axes_text(rank: int) -> str:
    return ", ".join(f"d{i}" for i in range(rank))


def signless(cx: Any, value: Any, aval: ShapedArray) -> tuple[Any, ShapedArray]:
    """The bits of unsigned integers as signed ones, which `arith` takes."""
    return (bits(cx, value, signed(aval)), signed(aval)) if dtypes.is_unsigned(aval.dtype) else (value, aval)


def restored(cx: Any, value: Any, aval: ShapedArray, wanted: ShapedArray) -> Any:
    """A result of what `signless` returned, in the dtype of `wanted`."""
    return value if aval.dtype == wanted.dtype else bits(cx, value, wanted)


# For floats, signed integers, unsigned ones, and complex numbers.
_OPERATIONS = {
    "add": ("arith.addf", "arith.addi", "arith.addi", "complex.add"),
    "mul": ("arith.mulf", "arith.muli", "arith.muli", "complex.mul"),
    "max": ("arith.maximumf", "arith.maxsi", "arith.maxui"),
    "min": ("arith.minimumf", "arith.minsi", "arith.minui"),
}


def is_combined(dtype: np.dtype[Any], name: str) -> bool:
    """Whether there is an operation that combines numbers of a dtype."""
    return dtype.kind != "b" and (not dtypes.is_complex(dtype) or name in ("add", "mul"))


def combined(cx: Any, name: str, dtype: np.dtype[Any], a: Any, b: Any) -> Any:
    """Combine two scalars; those of unsigned dtypes are given as their bits."""
    kinds = (dtypes.is_float, dtypes.is_signed, dtypes.is_unsigned, dtypes.is_complex)
    kind = next(i for i, holds in enumerate(kinds) if holds(dtype))
    return emit_scalar(cx, _OPERATIONS[name][kind], a.type, [a, b])


def number_of(value: Any, dtype: np.dtype[Any]) -> Any:
    """A number of a dtype; for unsigned integers, the signed one of the same bits."""
    number = np.asarray(value, dtype)
    return number.view(f"i{dtype.itemsize}") if dtypes.is_unsigned(dtype) else number


def padded(
    cx: Any, x: Any, fill: Any, aval: ShapedArray, lows: Sequence[Size], steps: Sequence[int], out: ShapedArray
) -> Any:
    """`stablehlo.pad`; element `i` of an axis is at `low + i * step`.

    The compiler's own is wrong with holes in two axes at once, and crashes on some of complex numbers.
    """
    given, (x, fill) = out, [signless(cx, v, a)[0] for v, a in ((x, aval), (fill, out.update(shape=())))]
    out = signed(out) if dtypes.is_unsigned(out.dtype) else out
    index, element = index_type(), x.type.element_type
    flag = bindings.ir.IntegerType.get_signless(1)
    value = cx.trace.sizes.value

    def emit(name: str, *operands: Any, type_: Any = index, **attributes: str) -> Any:
        return emit_scalar(cx, name, type_, operands, attributes)

    def body(_: Any) -> Any:
        inside: Any = None
        place = []
        for axis, (size, low, step) in enumerate(zip(aval.shape, lows, steps)):
            at, last = emit("linalg.index", dim=f"{axis} : i64"), value(dilated(size, step) - 1)
            shifted = emit("arith.subi", at, value(low))
            near = emit("arith.minsi", emit("arith.maxsi", shifted, value(0)), last)
            place.append(emit("arith.divui", near, value(step)))
            rest = emit("arith.remui", near, value(step))
            for left, right in ((shifted, near), (rest, value(0))):
                found = emit("arith.cmpi", left, right, type_=flag, predicate="0 : i64")
                inside = found if inside is None else emit("arith.andi", inside, found, type_=flag)
        kept = emit("tensor.extract", x, *place, type_=element)
        return emit("arith.select", inside, kept, emit("tensor.extract", fill, type_=element), type_=element)

    whole = f"({axes_text(out.ndim)}) -> ({axes_text(out.ndim)})"
    found = generic(cx, [whole], ["parallel"] * out.ndim, [], empty(cx, out), out, body)
    return restored(cx, found, out, given)

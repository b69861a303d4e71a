"""Lowerings for open dimensions of reductions of windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stagec.core.aval import ShapedArray
from stagec.core.dims import is_open, open_error
from stagec.lowering.open_linalg import (
    axes_text,
    combined,
    empty,
    generic,
    index_type,
    is_combined,
    number_of,
    restored,
    signless,
)
from stagec.lowering.open_values import emit_scalar
from stagec.primitives.axes import dilated
from stagec.primitives.checks import i64_array

Ints = tuple[int, ...]


def spread(
    cx: Any, x: Any, aval: ShapedArray, fill: Any, edges: Sequence[tuple[int, int]], holes: Sequence[int]
) -> tuple[Any, ShapedArray]:
    """An array with edges and holes of a number."""
    if not any(is_open(n) or n != 0 for edge in edges for n in edge) and all(hole == 1 for hole in holes):
        return x, aval
    wide = aval.update(shape=[dilated(n, k) + low + high for n, k, (low, high) in zip(aval.shape, holes, edges)])
    attributes = {
        "edge_padding_low": i64_array([low for low, _ in edges]),
        "edge_padding_high": i64_array([high for _, high in edges]),
        "interior_padding": i64_array([hole - 1 for hole in holes]),
    }
    scalar = cx.constant(fill, ShapedArray.of((), aval.dtype))
    return cx.emit("stablehlo.pad", [x, scalar], attributes, [wide]), wide


def window_reduction(
    cx: Any,
    x: Any,
    aval: ShapedArray,
    out: ShapedArray,
    combine: str,
    identity: Any,
    window_dimensions: Ints,
    window_strides: Ints,
    padding: Sequence[tuple[int, int]],
    base_dilation: Ints,
    window_dilation: Ints,
) -> Any:
    """`stablehlo.reduce_window`, as a reduction over the axes of the window."""
    if not is_combined(aval.dtype, combine):
        raise open_error("reduce_window", aval.long())
    given, dtype, rank = out, aval.dtype, aval.ndim
    x, aval = signless(cx, x, aval)
    out, start = out.update(dtype=aval.dtype), number_of(identity, dtype)
    x, aval = spread(cx, x, aval, start, padding, base_dilation)
    index, constant = index_type(), cx.trace.sizes.value

    def body(_: Any, total: Any) -> Any:
        at = [emit_scalar(cx, "linalg.index", index, [], {"dim": f"{i} : i64"}) for i in range(2 * rank)]
        place = []
        for i, (stride, hole) in enumerate(zip(window_strides, window_dilation)):
            first = emit_scalar(cx, "arith.muli", index, [at[i], constant(stride)])
            step = emit_scalar(cx, "arith.muli", index, [at[rank + i], constant(hole)])
            place.append(emit_scalar(cx, "arith.addi", index, [first, step]))
        element = emit_scalar(cx, "tensor.extract", x.type.element_type, [x, *place])
        return combined(cx, combine, dtype, total, element)

    # With an indexing map for the elements, the compiler would take it for a convolution, and crash or fail on some.
    domain, shape = f"({axes_text(2 * rank)})", ", ".join(f"d{rank + i}" for i in range(rank))
    maps = [f"{domain} -> ({shape})", f"{domain} -> ({axes_text(rank)})"]
    window = empty(cx, aval.update(shape=window_dimensions))
    kinds = ["parallel"] * rank + ["reduction"] * rank
    found = generic(cx, maps, kinds, [window], cx.constant(start, out), out, body)
    return restored(cx, found, out, given)

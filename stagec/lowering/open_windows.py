"""Lowerings for open dimensions of convolutions, and of reductions of windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

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


def _spread(
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
    x, aval = _spread(cx, x, aval, start, padding, base_dilation)
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


def convolution(
    cx: Any,
    operands: tuple[Any, Any],
    avals: tuple[ShapedArray, ShapedArray],
    out: ShapedArray,
    specs: tuple[Ints, Ints, Ints],
    window_strides: Ints,
    padding: Sequence[tuple[int, int]],
    lhs_dilation: Ints,
    rhs_dilation: Ints,
    groups: tuple[int, int],
) -> Any:
    """`stablehlo.convolution` in groups, or along open axes, as a contraction; None where the compiler takes it.

    Args:
      specs: of each array, where batch, features and space are; of the kernel, output and input features first.
      groups: of features, and of the batch.
    """
    lhs_spec, rhs_spec, out_spec = specs
    shapes = (avals[0].shape, avals[1].shape, out.shape)
    is_space_open = any(is_open(shape[i]) for shape, spec in zip(shapes, specs) for i in spec[2:])
    if groups == (1, 1) and not is_space_open:
        return None
    count, rank = max(groups), len(window_strides)
    inner, outer, batch = shapes[1][rhs_spec[1]], shapes[1][rhs_spec[0]], shapes[2][out_spec[0]]
    steps = (outer, inner if groups[0] > 1 else batch)
    if not is_combined(out.dtype, "add") or (count > 1 and any(is_open(n) for n in steps)):
        raise open_error("conv_general_dilated", " and ".join(a.long() for a in avals))
    sides = []
    for value, aval in zip(operands, avals):
        wide = aval.update(dtype=out.dtype)
        value = value if aval.dtype == out.dtype else cx.emit("stablehlo.convert", [value], None, [wide])
        sides.append(signless(cx, value, wide))
    (x, x_aval), (kernel, _) = sides
    edges, holes = [(0, 0)] * (rank + 2), [1] * (rank + 2)
    for i, edge, hole in zip(lhs_spec[2:], padding, lhs_dilation):
        edges[i], holes[i] = edge, hole
    x, _ = _spread(cx, x, x_aval, 0, edges, holes)
    # The domain: the axes of the result, of whose features those of a group are apart, then the axes of a sum.
    width = outer // count if count > 1 else outer
    at = out_spec[1]
    shape = (*out.shape[:at], count, width, *out.shape[at + 1 :]) if count > 1 else out.shape
    result = out.update(shape=shape, dtype=sides[0][1].dtype)
    place = {i: f"d{i if count == 1 or i <= at else i + 1}" for i in range(out.ndim)}
    group, feature = (f"d{at}", f"d{at + 1}") if count > 1 else ("", place[at])
    parallel = result.ndim
    terms: list[dict[int, str]] = [{}, {}]
    terms[0][lhs_spec[0]], terms[0][lhs_spec[1]] = place[out_spec[0]], f"d{parallel}"
    terms[1][rhs_spec[0]], terms[1][rhs_spec[1]] = feature, f"d{parallel}"
    if count > 1:
        terms[1][rhs_spec[0]] += f" + {group} * {width}"
        terms[0][lhs_spec[1 if groups[0] > 1 else 0]] += f" + {group} * {steps[1]}"
    for k in range(rank):
        window = f"d{parallel + 1 + k}"
        position = place[out_spec[2 + k]]
        terms[0][lhs_spec[2 + k]] = f"{position} * {window_strides[k]} + {window} * {rhs_dilation[k]}"
        terms[1][rhs_spec[2 + k]] = window
    domain = f"({axes_text(parallel + 1 + rank)})"
    maps = [f"{domain} -> ({', '.join(side[i] for i in range(rank + 2))})" for side in terms]

    def body(a: Any, b: Any, total: Any) -> Any:
        return combined(cx, "add", out.dtype, total, combined(cx, "mul", out.dtype, a, b))

    kinds = ["parallel"] * parallel + ["reduction"] * (1 + rank)
    start = cx.constant(np.zeros((), result.dtype), result)
    found = generic(cx, [*maps, f"{domain} -> ({axes_text(parallel)})"], kinds, [x, kernel], start, result, body)
    if count > 1:
        found = cx.emit("stablehlo.reshape", [found], None, [out.update(dtype=result.dtype)])
    return restored(cx, found, result, out)

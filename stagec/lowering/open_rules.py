"""Lowerings for open dimensions of operations that the compiler takes for static shapes only, or not safely.

Each is written in `linalg`, whose kernels the compiler makes for any size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from passes import bindings
from stagec.core import dtypes
from stagec.core.aval import ShapedArray
from stagec.core.dims import open_error
from stagec.core.dims_terms import Size
from stagec.lowering.open_convolutions import convolution
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
from stagec.lowering.open_values import emit_scalar, signed, start_index
from stagec.lowering.open_windows import window_reduction
from stagec.primitives.checks import i64_array

__all__ = ["convolution", "dot_general", "gather", "running", "scatter", "window_reduction"]

Ints = tuple[int, ...]


def gather(
    cx: Any,
    x: Any,
    indices: Any,
    numbers: Any,
    slice_sizes: Sequence[Size],
    avals: tuple[ShapedArray, ShapedArray],
    out: ShapedArray,
) -> Any:
    """`stablehlo.gather`: each element of the result is read by itself, and starts are clamped."""
    d, (aval, index_aval) = numbers, avals
    unsigned = dtypes.is_unsigned(index_aval.dtype)
    given = out
    x, aval = signless(cx, x, aval)
    out = out.update(dtype=aval.dtype)
    indices, index_aval = signless(cx, indices, index_aval)
    sizes = cx.trace.sizes
    batch_axes = [i for i in range(out.ndim) if i not in d.offset_dims]
    dropped = (*d.collapsed_slice_dims, *d.operand_batching_dims)
    offset_of = dict(zip([i for i in range(aval.ndim) if i not in dropped], d.offset_dims))
    zero = sizes.value(0)
    components = {k: sizes.value(i) for i, k in enumerate(d.start_index_map)}

    def body(_: Any) -> Any:
        at = [emit_scalar(cx, "linalg.index", index_type(), [], {"dim": f"{i} : i64"}) for i in range(out.ndim)]
        position = []
        for axis in range(aval.ndim):
            index = at[offset_of[axis]] if axis in offset_of else None
            if axis in d.start_index_map:
                where = [*[at[i] for i in batch_axes], components[axis]]
                start = emit_scalar(cx, "tensor.extract", indices.type.element_type, [indices, *where])
                start = start_index(cx, start, aval.shape[axis] - slice_sizes[axis], unsigned)
                index = start if index is None else emit_scalar(cx, "arith.addi", index_type(), [start, index])
            elif axis in d.operand_batching_dims:
                index = at[batch_axes[d.start_indices_batching_dims[d.operand_batching_dims.index(axis)]]]
            position.append(zero if index is None else index)
        return emit_scalar(cx, "tensor.extract", x.type.element_type, [x, *position])

    whole = f"({axes_text(out.ndim)}) -> ({axes_text(out.ndim)})"
    found = generic(cx, [whole], ["parallel"] * out.ndim, [], empty(cx, out), out, body)
    return restored(cx, found, out, given)


def _sliced(cx: Any, x: Any, starts: Sequence[int], ends: Sequence[Size], aval: ShapedArray) -> Any:
    attributes = {
        "start_indices": i64_array(starts),
        "limit_indices": i64_array(ends),
        "strides": i64_array([1] * aval.ndim),
    }
    return cx.emit("stablehlo.slice", [x], attributes, [aval])


def _with_batches_as_indices(cx: Any, numbers: Any, indices: Any, aval: ShapedArray) -> tuple[Any, Any, ShapedArray]:
    """The same scatter with the number of each batch as an index."""
    if aval.dtype.itemsize < 4:  # which may not hold the numbers of all batches
        aval = aval.update(dtype=np.dtype(np.int32))
        indices = cx.emit("stablehlo.convert", [indices], None, [aval])
    column = aval.update(shape=(*aval.shape[:-1], 1))
    counters = [
        cx.emit("stablehlo.iota", [], {"iota_dimension": f"{axis} : i64"}, [column])
        for axis in numbers.scatter_indices_batching_dims
    ]
    added = tuple(numbers.operand_batching_dims)
    aval = aval.update(shape=(*aval.shape[:-1], aval.shape[-1] + len(added)))
    dimension = {"dimension": f"{aval.ndim - 1} : i64"}
    indices = cx.emit("stablehlo.concatenate", [indices, *counters], dimension, [aval])
    numbers = numbers._replace(
        inserted_window_dims=tuple(sorted((*numbers.inserted_window_dims, *added))),
        scatter_dims_to_operand_dims=(*numbers.scatter_dims_to_operand_dims, *added),
        operand_batching_dims=(),
        scatter_indices_batching_dims=(),
    )
    return numbers, indices, aval


def scatter(
    cx: Any,
    values: tuple[Any, Any, Any],
    avals: tuple[ShapedArray, ShapedArray, ShapedArray],
    numbers: Any,
    sizes: Sequence[Size],
    drops: bool,
    emit: Callable[..., Any],
) -> Any:
    """`stablehlo.scatter` of rows of indices; those out of range go to a row of their own, which is cut off.

    Args:
      sizes: of the window.
      drops: whether windows out of range are dropped; else they are clamped.
      emit: `(numbers, x, indices, updates, aval, window axes, vector axis) -> value`, for indices and updates with one
        batch axis.
    """
    (x, indices, updates), (aval, index_aval, update_aval) = values, avals
    d = numbers
    if any(sizes[i] != 1 for i in d.scatter_dims_to_operand_dims):
        raise open_error("scatter", f"{update_aval.long()} into {aval.long()}, in windows")
    if d.operand_batching_dims:
        d, indices, index_aval = _with_batches_as_indices(cx, d, indices, index_aval)
    batch = [i for i in range(update_aval.ndim) if i not in d.update_window_dims]
    order = (*batch, *d.update_window_dims)
    if order != tuple(range(update_aval.ndim)):
        update_aval = update_aval.update(shape=[update_aval.shape[i] for i in order])
        updates = cx.emit("stablehlo.transpose", [updates], {"permutation": i64_array(order)}, [update_aval])
    count: Size = 1
    for n in index_aval.shape[:-1]:
        count = count * n
    depth = index_aval.shape[-1]
    index_aval, update_aval = (
        index_aval.update(shape=(count, depth)),
        update_aval.update(shape=(count, *update_aval.shape[len(batch) :])),
    )
    indices = cx.emit("stablehlo.reshape", [indices], None, [index_aval])
    updates = cx.emit("stablehlo.reshape", [updates], None, [update_aval])
    part, truth = index_aval.update(shape=(count, 1)), index_aval.update(shape=(count, 1), dtype=dtypes.bool_)
    columns = [_sliced(cx, indices, [0, k], [count, k + 1], part) for k in range(depth)]
    axes = list(d.scatter_dims_to_operand_dims)
    result_aval = aval
    if drops:
        inside = None
        for column, axis in zip(columns, axes):
            for bound, direction in ((0, "GE"), (aval.shape[axis] - 1, "LE")):
                attributes = {"comparison_direction": f"#stablehlo<comparison_direction {direction}>"}
                ok = cx.emit("stablehlo.compare", [column, cx.constant(bound, part)], attributes, [truth])
                inside = ok if inside is None else cx.emit("stablehlo.and", [inside, ok], None, [truth])
        beyond = [aval.shape[axes[0]], *[0] * (depth - 1)]
        columns = [
            cx.emit("stablehlo.select", [inside, column, cx.constant(n, part)], None, [part])
            for column, n in zip(columns, beyond)
        ]
        grown = [1 if i == axes[0] else 0 for i in range(aval.ndim)]
        nothing = i64_array([0] * aval.ndim)
        aval = aval.update(shape=[n + m for n, m in zip(aval.shape, grown)])
        edges = {"edge_padding_low": nothing, "edge_padding_high": i64_array(grown), "interior_padding": nothing}
        fill = cx.constant(np.zeros((), aval.dtype), ShapedArray.of((), aval.dtype))
        x = cx.emit("stablehlo.pad", [x, fill], edges, [aval])
    else:
        low = cx.constant(0, part)
        columns = [
            cx.emit("stablehlo.clamp", [low, column, cx.constant(aval.shape[axis] - 1, part)], None, [part])
            for column, axis in zip(columns, axes)
        ]
    indices = columns[0]
    if depth > 1:
        indices = cx.emit("stablehlo.concatenate", columns, {"dimension": "1 : i64"}, [index_aval])
    result = emit(d, x, indices, updates, aval, tuple(range(1, update_aval.ndim)), 1)
    if not drops:
        return result
    return _sliced(cx, result, [0] * aval.ndim, result_aval.shape, result_aval)


def running(cx: Any, x: Any, aval: ShapedArray, axis: int, reverse: bool, combine: str, identity: Any) -> Any:
    """The running reduction along an axis."""
    ir = bindings.ir
    if not is_combined(aval.dtype, combine):
        raise open_error("a running reduction", aval.long())
    given, dtype = aval, aval.dtype
    x, aval = signless(cx, x, aval)
    flip = {"dimensions": i64_array([axis])}
    if reverse:
        x = cx.emit("stablehlo.reverse", [x], flip, [aval])
    rest = aval.update(shape=[n for i, n in enumerate(aval.shape) if i != axis])
    start = cx.constant(number_of(identity, dtype), rest)

    def fill(region: Any) -> None:
        kind = x.type.element_type
        block = region.blocks.append(kind, kind, arg_locs=[cx.location] * 2)
        with ir.InsertionPoint(block):
            total = combined(cx, combine, dtype, *block.arguments)
            ir.Operation.create("iree_linalg_ext.yield", [], [total], loc=cx.location)

    attributes = {
        "dimension": f"{axis} : i64",
        "inclusive": "true",
        "operandSegmentSizes": "array<i32: 1, 2>",
    }
    operands = [x, empty(cx, aval), start]
    found = cx.create_all("iree_linalg_ext.scan", operands, attributes, [aval, rest], [fill])[0]
    if reverse:
        found = cx.emit("stablehlo.reverse", [found], flip, [aval])
    return restored(cx, found, aval, given)


def dot_general(
    cx: Any,
    operands: tuple[Any, Any],
    avals: tuple[ShapedArray, ShapedArray],
    numbers: Any,
    attributes: dict[str, Any],
    out: ShapedArray,
) -> Any:
    """`stablehlo.dot_general`, or for products of vectors and of several axes a contraction in `linalg`.

    The compiler would reshape these, to shapes that it does not take.
    """
    contracts, batches = numbers
    frees = [
        [i for i in range(aval.ndim) if i not in contract and i not in batch]
        for aval, contract, batch in zip(avals, contracts, batches)
    ]
    is_matrix = all(
        len(free) == 1 and len(contract) == 1 and aval.shape[free[0]] != 1 and aval.shape[contract[0]] != 1
        for aval, free, contract in zip(avals, frees, contracts)
    )
    if is_matrix:
        return cx.emit("stablehlo.dot_general", list(operands), attributes, [out])
    if not is_combined(out.dtype, "add"):
        raise open_error("dot_general", " and ".join(a.long() for a in avals))
    names: list[dict[int, str]] = [{}, {}]
    for k, (i, j) in enumerate(zip(*batches)):
        names[0][i] = names[1][j] = f"d{k}"
    at = len(batches[0])
    for side, free in enumerate(frees):
        for i in free:
            names[side][i] = f"d{at}"
            at += 1
    for k, (i, j) in enumerate(zip(*contracts)):
        names[0][i] = names[1][j] = f"d{at + k}"
    rank = at + len(contracts[0])
    sides = []
    for value, aval in zip(operands, avals):
        if aval.dtype != out.dtype:
            aval = aval.update(dtype=out.dtype)
            value = cx.emit("stablehlo.convert", [value], None, [aval])
        sides.append(signless(cx, value, aval)[0])
    given = out
    if dtypes.is_unsigned(out.dtype):
        out = signed(out)

    def body(x: Any, y: Any, total: Any) -> Any:
        return combined(cx, "add", given.dtype, total, combined(cx, "mul", given.dtype, x, y))

    domain = f"({axes_text(rank)})"
    maps = [f"{domain} -> ({', '.join(names[side][i] for i in range(avals[side].ndim))})" for side in (0, 1)]
    kinds = ["parallel"] * at + ["reduction"] * (rank - at)
    start = cx.constant(np.zeros((), out.dtype), out)
    found = generic(cx, [*maps, f"{domain} -> ({axes_text(at)})"], kinds, sides, start, out, body)
    return restored(cx, found, out, given)

"""How operations compute what they would without the padding of arrays, one rule for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from stagec.core import dtypes
from stagec.core.dims import is_open
from stagec.core.dims_terms import Size
from stagec.core.graph import replay, run_equation
from stagec.core.recording import trace_closed
from stagec.primitives import arithmetic, logic
from stagec.primitives.convert import convert_element_type
from stagec.primitives.gather_parts import GatherScatterMode
from stagec.primitives.joining import concatenate
from stagec.primitives.operand import aval_of
from stagec.primitives.padding import pad_p, slice_p
from stagec.primitives.reduce import all_ones, highest, lowest
from stagec.primitives.scatter_parts import window_sizes
from stagec.primitives.shape import rev_p
from stagec.primitives.slicing import dynamic_slice_p, dynamic_update_slice_p
from stagec.standalone.padded_steps import NUMBER, Rule, Step, as_avals, grows, like, spread


def as_it_is(step: Step, operands: list[Any]) -> Sequence[Any]:
    """Elements of the result that are no padding follow from such elements."""
    return run_equation(step.static, operands)


def _masking(axes: Callable[[Step], Sequence[int]], identity: Callable[[Any], Any]) -> Rule:
    """Of an operation of one array, along the axes that it combines elements of."""

    def rule(step: Step, operands: list[Any]) -> Sequence[Any]:
        (x,) = operands
        _check_low(step, [low for low, _ in step.open.params.get("padding", ())])
        return step.run([step.masked(0, x, axes(step), like(x, identity(aval_of(x).dtype)))])

    return rule


def _axes(step: Step) -> Sequence[int]:
    return list(step.params["axes"])


def _running(step: Step) -> Sequence[int]:
    return [step.params["axis"]] if step.params["reverse"] else []


def _all_axes(step: Step) -> Sequence[int]:
    return range(step.aval(0).ndim)


def _last_axis(step: Step) -> Sequence[int]:
    return [step.aval(0).ndim - 1]


def _check_low(step: Step, starts: Sequence[Any]) -> None:
    """Check that elements stay where they are: what is inserted before them has a known size."""
    if any(map(is_open, starts)):
        raise step.refused("inserts elements before others, by an open size")


def _last(dtype: np.dtype[Any]) -> Any:
    """What no element is sorted after."""
    if dtypes.is_complex(dtype):
        return complex(np.nan, np.nan)
    return np.nan if dtypes.is_float(dtype) else highest(dtype)


def _sort(step: Step, operands: list[Any]) -> Sequence[Any]:
    axis, keys = step.params["dimension"], step.params["num_keys"]
    if not is_open(step.aval(0).shape[axis]):
        return as_it_is(step, operands)
    # Of equal keys, those that come first stay first, and the padding is at the end.
    ends = [like(x, _last(aval_of(x).dtype)) for x in operands[:keys]]
    found = [step.masked(i, x, [axis], end) for i, (x, end) in enumerate(zip(operands, ends))]
    return step.run([*found, *operands[keys:]], is_stable=True)


def _dot(step: Step, operands: list[Any]) -> Sequence[Any]:
    (left, right), _ = step.params["dimension_numbers"]
    return step.run([step.masked(i, x, axes, like(x, 0)) for i, (x, axes) in enumerate(zip(operands, (left, right)))])


def _conv(step: Step, operands: list[Any]) -> Sequence[Any]:
    image, _, _ = step.params["dimension_numbers"]
    if step.aval(1).is_open or is_open(step.aval(0).shape[image[1]]):
        raise step.refused("has a kernel of an open size")
    if is_open(step.aval(0).shape[image[0]]) and step.params["batch_group_count"] != 1:
        raise step.refused("groups an open batch")
    _check_low(step, [low for low, _ in step.open.params["padding"]])
    return step.run([step.masked(0, operands[0], image[2:], like(operands[0], 0)), operands[1]])


def _pad(step: Step, operands: list[Any]) -> Sequence[Any]:
    x, value = operands
    _check_low(step, [low for low, _, _ in step.open.params["padding_config"]])
    # What is inserted after the elements takes the place of the padding.
    inserted = [
        axis for axis, (_, high, _) in enumerate(step.open.params["padding_config"]) if is_open(high) or high > 0
    ]
    return step.run([step.masked(0, x, inserted, value), value])


def _start(step: Step, rank: int, starts: Mapping[int, Any]) -> list[Any]:
    """The first position of a slice along each axis."""
    return [starts.get(axis, step.number(0)) for axis in range(rank)]


def _room(x: Any, axis: int, count: int) -> Any:
    """An array with more padding."""
    config = tuple([(0, count if i == axis else 0, 0) for i in range(aval_of(x).ndim)])
    return pad_p(x, like(x, 0), padding_config=config)


def _slice(step: Step, operands: list[Any]) -> Sequence[Any]:
    (x,) = operands
    firsts, steps = step.open.params["start_indices"], step.open.params["strides"]
    counts = aval_of(x).shape
    lengths = [1 + (n - 1) * s for n, s in zip(step.static.outputs[0].aval.shape, steps)]
    moved = {axis: step.number(first) for axis, first in enumerate(firsts) if is_open(first)}
    if moved:
        for axis in moved:  # so that the slice is not moved back from the end
            x = _room(x, axis, lengths[axis])
        sizes = tuple([lengths[i] if i in moved else n for i, n in enumerate(counts)])
        x = dynamic_slice_p(x, *_start(step, len(counts), moved), slice_sizes=sizes)
    starts = [0 if i in moved else first for i, first in enumerate(firsts)]
    limits = tuple([first + length for first, length in zip(starts, lengths)])
    return [slice_p(x, start_indices=tuple(starts), limit_indices=limits, strides=tuple(steps))]


def _rev(step: Step, operands: list[Any]) -> Sequence[Any]:
    (x,) = operands
    shape = aval_of(x).shape
    moved = {a: step.aval(0).shape[a] for a in step.params["dimensions"] if is_open(step.aval(0).shape[a])}
    x = rev_p(x, dimensions=step.params["dimensions"])
    starts = {axis: arithmetic.sub(step.number(shape[axis]), step.number(size)) for axis, size in moved.items()}
    for axis in moved:
        x = _room(x, axis, shape[axis])
    return [dynamic_slice_p(x, *_start(step, len(shape), starts), slice_sizes=shape) if moved else x]


def _concatenate(step: Step, operands: list[Any]) -> Sequence[Any]:
    axis = step.params["dimension"]
    sizes = [v.aval.shape[axis] for v in step.open.inputs]
    if not any(map(is_open, sizes[:-1])):
        return as_it_is(step, operands)
    # Each is written over the padding of the one before.
    (whole,) = step.run(operands)
    rank, at = aval_of(whole).ndim, 0
    for x, size in zip(operands, sizes):
        whole = dynamic_update_slice_p(whole, x, *_start(step, rank, {axis: step.number(at)}))
        at = at + size
    return [whole]


def _is_more(a: Size, b: Size) -> bool:
    """Whether a number of elements is more than another one, or open where that is not."""
    return bool(is_open(a) or (not is_open(b) and a > b))


def _reshape(step: Step, operands: list[Any]) -> Sequence[Any]:
    before, after = ([n for n in a.shape if is_open(n) or n != 1] for a in (step.aval(0), step.out))
    while before or after:
        parts: tuple[list[Size], list[Size]] = [], []
        products: list[Size] = [1, 1]
        while not parts[0] or not parts[1] or products[0] != products[1]:
            # One more axis of the array that has fewer elements so far; of open sizes, of the one with fewer axes.
            fewer = len(parts[0]) > len(parts[1]) if all(map(is_open, products)) else _is_more(*products)
            side = 0 if not after or (before and not fewer) else 1
            if not (before, after)[side]:
                raise step.refused("moves elements among open axes")
            size = (before, after)[side].pop(0)
            parts[side].append(size)
            products[side] = products[side] * size
        if parts[0] != parts[1] and any(is_open(n) for part in parts for n in part[1:]):
            raise step.refused("moves elements among open axes")
    return as_it_is(step, operands)


def _dimension_size(step: Step, operands: list[Any]) -> Sequence[Any]:
    return as_avals([step.out], [step.number(step.open.params["size"])])


def _split(step: Step, operands: list[Any]) -> Sequence[Any]:
    if is_open(step.aval(0).shape[step.params["axis"]]):
        raise step.refused("divides an open axis")
    return as_it_is(step, operands)


def _clamped(step: Step, index: Any, most: Size) -> Any:
    """An index in the range of the elements that are no padding, where their number is open."""
    if not is_open(most):
        return index
    if not grows(most):  # so that it is less than what the operation itself clamps to
        raise step.refused(f"is of a part that leaves {most} elements")
    return _clamp(step, index, most)


def _clamp(step: Step, index: Any, most: Size) -> Any:
    shape = aval_of(index).shape
    high = convert_element_type(step.number(most), aval_of(index).dtype)
    return logic.clamp(spread(like(index, 0), shape), index, spread(high, shape))


def _dynamic_slice(step: Step, operands: list[Any]) -> Sequence[Any]:
    x, *starts = operands
    rooms = [n - part for n, part in zip(step.aval(0).shape, step.open.params["slice_sizes"])]
    return step.run([x, *[_clamped(step, at, most) for at, most in zip(starts, rooms)]])


def _dynamic_update_slice(step: Step, operands: list[Any]) -> Sequence[Any]:
    x, part, *starts = operands
    sizes = list(zip(step.aval(0).shape, step.aval(1).shape))
    if any(is_open(size) and size != n for n, size in sizes):
        raise step.refused("writes a part of an open size")
    return step.run([x, part, *[_clamped(step, at, n - size) for at, (n, size) in zip(starts, sizes)]])


def _indices(step: Step, indices: Any, axes: Sequence[int], parts: Sequence[Size]) -> Any:
    """Indices into an array's elements that are no padding: others are in range, or out of that of the padding too.

    Args:
      axes: those that the components of an index are for.
      parts: the sizes of what is read or written at each.
    """
    shape, is_filled = step.aval(0).shape, step.params["mode"] == GatherScatterMode.FILL_OR_DROP.value
    if any(is_open(part) and part != n for n, part in zip(shape, parts)):
        raise step.refused("is of parts of an open size")
    found = aval_of(indices)
    columns = []
    for i, axis in enumerate(axes):
        limits = (*found.shape[:-1], i + 1)
        starts = (*[0] * (found.ndim - 1), i)
        column = slice_p(indices, start_indices=starts, limit_indices=limits, strides=(1,) * found.ndim)
        most = shape[axis] - parts[axis]
        if not is_filled:
            column = _clamp(step, column, most)
        elif is_open(most):
            end = spread(convert_element_type(step.number(most), found.dtype), aval_of(column).shape)
            column = logic.select(logic.gt(column, end), spread(like(column, -1), aval_of(column).shape), column)
        columns.append(column)
    return concatenate(columns, found.ndim - 1) if columns else indices


# Indices of the padding are no promise.
def _kept_mode(step: Step) -> str:
    mode = step.params["mode"]
    return GatherScatterMode.CLIP.value if mode == GatherScatterMode.PROMISE_IN_BOUNDS.value else mode


def _gather(step: Step, operands: list[Any]) -> Sequence[Any]:
    x, indices = operands
    axes = step.params["dimension_numbers"].start_index_map
    found = _indices(step, indices, axes, step.open.params["slice_sizes"])
    return step.run([x, found], mode=_kept_mode(step), indices_are_sorted=False)


def _scatter(step: Step, operands: list[Any]) -> Sequence[Any]:
    x, indices, updates = operands
    numbers = step.params["dimension_numbers"]
    parts = window_sizes(numbers, step.aval(0).ndim, step.aval(2).shape)
    found = _indices(step, indices, numbers.scatter_dims_to_operand_dims, parts)
    # What is written at indices among the padding is dropped.
    found = step.masked(1, found, range(aval_of(found).ndim - 1), like(found, -1))
    dropped = GatherScatterMode.FILL_OR_DROP.value
    return step.run([x, found, updates], mode=dropped, indices_are_sorted=False, unique_indices=False)


def _while(step: Step, operands: list[Any]) -> Sequence[Any]:
    numbers, first = list(step.numbers.values()), step.params["cond_consts"]
    return step.run(
        [*numbers, *operands[:first], *numbers, *operands[first:]],
        cond=step.numbered(step.open.params["cond"]),
        body=step.numbered(step.open.params["body"]),
        cond_consts=first + len(numbers),
        body_consts=step.params["body_consts"] + len(numbers),
    )


def _cond(step: Step, operands: list[Any]) -> Sequence[Any]:
    branches = tuple(map(step.numbered, step.open.params["branches"]))
    return step.run([operands[0], *step.numbers.values(), *operands[1:]], branches=branches)


def _jit(step: Step, operands: list[Any]) -> Sequence[Any]:
    return step.run([*step.numbers.values(), *operands], graph=step.numbered(step.open.params["graph"]))


def _call(step: Step, operands: list[Any]) -> Sequence[Any]:
    return step.function(step.open.params["graph"])(*operands, *step.numbers.values())


def _scan(step: Step, operands: list[Any]) -> Sequence[Any]:
    params, numbers = step.params, list(step.numbers.values())
    count, consts, carried = len(numbers), params["num_consts"], params["num_carry"]
    body, length = step.numbered(step.open.params["graph"]), step.open.params["length"]
    if not is_open(length):
        return step.run([*numbers, *operands], graph=body, num_consts=consts + count)
    # Steps of the padding leave the carry as it is. Another number counts the steps that are left, or those before.
    first = count + consts

    def stepped(*args: Any) -> list[Any]:
        left, carry, rows = args[first], args[first + 1 : first + 1 + carried], args[first + 1 + carried :]
        made = replay(body, [*args[:first], *carry, *rows])
        is_real = logic.gt(left, like(left, 0))
        if params["reverse"]:
            is_real = logic.le(left, like(left, 0))
        kept = [logic.select(is_real, new, old) for new, old in zip(made, carry)]
        return [arithmetic.sub(left, like(left, 1)), *as_avals([aval_of(c) for c in carry], kept), *made[carried:]]

    graph = trace_closed(stepped, [*body.in_avals[:first], NUMBER, *body.in_avals[first:]], name="body")
    start = step.number(length)
    if params["reverse"]:
        start = arithmetic.sub(step.number(params["length"]), start)
    given = [*numbers, *operands[:consts], start, *operands[consts:]]
    return step.run(given, graph=graph, num_consts=first, num_carry=carried + 1)[1:]


def _zero(dtype: np.dtype[Any]) -> Any:
    return 0


def _one(dtype: np.dtype[Any]) -> Any:
    return 1


RULES: dict[str, Rule] = {
    **dict.fromkeys(("broadcast_in_dim", "iota", "squeeze", "transpose", "uninitialized"), as_it_is),
    **dict.fromkeys(("custom_jvp_call", "custom_vjp_call"), _call),
    **dict.fromkeys(("scatter", "scatter_add", "scatter_sub", "scatter_mul", "scatter_min", "scatter_max"), _scatter),
    "argmax": _masking(_axes, lowest),
    "argmin": _masking(_axes, highest),
    "concatenate": _concatenate,
    "cond": _cond,
    "conv_general_dilated": _conv,
    "cummax": _masking(_running, lowest),
    "cummin": _masking(_running, highest),
    "cumprod": _masking(_running, _one),
    "cumsum": _masking(_running, _zero),
    "dimension_size": _dimension_size,
    "dot_general": _dot,
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice,
    "gather": _gather,
    "pad": _pad,
    "jit": _jit,
    "reduce_and": _masking(_axes, all_ones),
    "reduce_max": _masking(_axes, lowest),
    "reduce_min": _masking(_axes, highest),
    "reduce_or": _masking(_axes, _zero),
    "reduce_prod": _masking(_axes, _one),
    "reduce_sum": _masking(_axes, _zero),
    "reduce_window_max": _masking(_all_axes, lowest),
    "reduce_window_min": _masking(_all_axes, highest),
    "reduce_window_prod": _masking(_all_axes, _one),
    "reduce_window_sum": _masking(_all_axes, _zero),
    "reduce_xor": _masking(_axes, _zero),
    "reshape": _reshape,
    "rev": _rev,
    "scan": _scan,
    "slice": _slice,
    "sort": _sort,
    "split": _split,
    "top_k": _masking(_last_axis, lowest),
    "while": _while,
}

"""Operations that do not join groups: which of them have a kernel of their own, and what these read and write."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

from passes import attributes as attrs, operations
from passes.kernels.contractions import kinds_of, neutral
from passes.kernels.elements import RefusedError
from passes.kernels.kernel import element_type
from passes.kernels.updates import check_scatter
from passes.legalize.many_operands import MOST_ARRAYS
from passes.legalize.sorting import counts_along
from passes.match import captured_values, combinations, producer, splat_of

# Operations that reductions read through.
_MOVES = ("stablehlo.slice", *operations.where(layout=True))


def has_own_kernel(op: Any) -> bool:
    """Whether an operation has a kernel of its own."""
    check = _CHECKS.get(op.name)
    if check is None or not results_of(op):
        return False
    try:
        for value in (*op.operands, *op.results):
            element_type(value.type)
        check(op)
    except RefusedError:
        return False
    return True


def results_of(op: Any) -> list[Any]:
    """The results that a kernel of one operation writes, without unused ones; empty if it has none."""
    found = list(op.results)
    if len(found) > 1:
        found = [result for result in found if any(True for _ in result.uses)]
    return found if len(found) == 1 or operations.of(op.name).reduces or op.name == "stablehlo.sort" else []


def is_index(op: Any, value: Any) -> bool:
    """Whether an operand of a sort is each element's index, so that it needs no memory."""
    return op.name == "stablehlo.sort" and counts_along(value, attrs.sort_dimension(op))


def spare_row(scatter: Any) -> tuple[Any, Any] | None:
    """The array and the final slice of a scatter to an array with a spare row for indices out of range; else None."""
    pad = producer(scatter.operands[0], "stablehlo.pad")
    users = [use.owner.operation for use in scatter.results[0].uses]
    if pad is None or len(users) != 1 or users[0].name != "stablehlo.slice":
        return None
    (cut,), pad = users, pad.operation
    plain = not any(attrs.ints(pad, "edge_padding_low")) and not any(attrs.ints(pad, "interior_padding"))
    whole = not any(attrs.ints(cut, "start_indices")) and set(attrs.ints(cut, "strides")) <= {1}
    source = pad.operands[0]
    if not plain or not whole or list(source.type.shape) != list(cut.results[0].type.shape):
        return None
    return source, cut


def read_in_place(op: Any) -> list[Any]:
    """The operations of which a reduction's kernel reads the operands, in their order: slices, and moves of an iota."""
    found: dict[Any, None] = {}
    if operations.of(op.name).reduces and not _may_be_cumulative(op):
        for value in list(op.operands)[: len(op.results)]:
            moves = []
            while (maker := producer(value)) is not None and maker.operation.name in _MOVES:
                moves.append(maker.operation)
                value = maker.operation.operands[0]
            if (iota := producer(value, "stablehlo.iota")) is not None:
                moves.append(iota.operation)
            else:
                # What is between the slices and memory would be done for each window.
                cuts = itertools.takewhile(lambda move: move.name == "stablehlo.slice", moves)
                moves = list(cuts)
            found.update(dict.fromkeys(reversed(moves)))
    return list(found)


def _may_be_cumulative(op: Any) -> bool:
    """Whether windows are as long as an axis: cumulative reductions need their operand contiguous in memory."""
    if op.name != "stablehlo.reduce_window" or len(op.results) > 1:
        return False
    sizes = zip(attrs.ints(op, "window_dimensions"), op.operands[0].type.shape)
    return any(1 < size == n for size, n in sizes)


def sources_of(op: Any) -> list[Any]:
    """The values that the kernel of an operation reads."""
    moves = read_in_place(op)
    made = {result for move in moves for result in move.results}
    captured = captured_values(op) if operations.of(op.name).reduces else []
    values = [value for o in (*moves, op) for value in o.operands] + captured
    found = [value for value in values if value not in made and not is_index(op, value)]
    if op.name == "stablehlo.scatter" and (spare := spare_row(op)) is not None:
        found[0] = spare[0]
    return found


def cut_from(op: Any) -> Any:
    """The scatter whose spare row a slice removes; None if there is none."""
    if op.name != "stablehlo.slice":
        return None
    scatter = producer(op.operands[0], "stablehlo.scatter")
    return scatter.operation if scatter is not None and spare_row(scatter.operation) is not None else None


class Window(NamedTuple):
    """The window along one axis: its size, step and dilation, and the padding before and after."""

    size: int
    step: int
    dilation: int
    low: int
    high: int


def windows_of(op: Any, rank: int) -> list[Window]:
    """The windows of a reduction along each axis; `RefusedError` for those without a kernel."""
    ones = (1,) * rank
    if set(attrs.ints(op, "base_dilations", ones)) != {1}:
        raise RefusedError("windows over a dilated array")
    steps, dilations = attrs.ints(op, "window_strides", ones), attrs.ints(op, "window_dilations", ones)
    sizes, padding = attrs.ints(op, "window_dimensions"), attrs.pairs(op, "padding", rank)
    found = [Window(n, s, d, low, high) for n, s, d, (low, high) in zip(sizes, steps, dilations, padding)]
    if any(min(w.low, w.high) < 0 or (w.dilation > 1 and w.low + w.high) for w in found):
        raise RefusedError("windows that begin within the array")
    return found


def _check_sort(op: Any) -> None:
    """Refuse sorts that have no kernel."""
    shape = element_type(op.operands[0].type)[0]
    if shape[attrs.integer(op, "dimension")] == 1:
        raise RefusedError("a sort of one number")


def _check_reduction(op: Any) -> None:
    """Refuse reductions whose order does not matter, which groups have faster code for."""
    if combinations(op.regions[0]) is not None and kinds_of(op) is not None:
        raise RefusedError("a reduction that begins with a computed number")


def _check_window(op: Any) -> None:
    """Refuse windows that have no kernel."""
    found = windows_of(op, len(op.results[0].type.shape))
    if any(w.low + w.high for w in found) and not _may_leave_out(op):
        raise RefusedError("padding that changes results")


def _may_leave_out(op: Any) -> bool:
    """Whether a result is the same if initial values are combined once, instead of for each element of padding."""
    count, kinds = len(op.results), kinds_of(op)
    if kinds is None:
        return False
    for kind, result, value in zip(kinds, op.results, list(op.operands)[count:]):
        first = splat_of(value)
        is_neutral = first is not None and first.item() == neutral(kind, element_type(result.type)[1])
        if not is_neutral and kind in ("add", "mul", "xor"):
            return False
    return True


def _check_bitcast(op: Any) -> None:
    """Refuse bitcasts that keep the width, which are elementwise."""
    if len({element_type(value.type)[1].size for value in (op.operands[0], op.results[0])}) == 1:
        raise RefusedError("a bitcast of equal widths")


def _check_pad(op: Any) -> None:
    """Refuse padding that removes elements."""
    if min((*attrs.ints(op, "edge_padding_low"), *attrs.ints(op, "edge_padding_high"))) < 0:
        raise RefusedError("negative padding")


def _check_concatenate(op: Any) -> None:
    """Refuse concatenations of more arrays than a kernel may read."""
    if len(set(op.operands)) > MOST_ARRAYS:
        raise RefusedError("more arrays than a kernel may read")


# The operations that may have a kernel of their own, each with a check that raises `RefusedError` if it has none.
_CHECKS: dict[str, Callable[[Any], None]] = {
    "stablehlo.bitcast_convert": _check_bitcast,
    "stablehlo.concatenate": _check_concatenate,
    "stablehlo.dynamic_update_slice": lambda op: None,
    "stablehlo.pad": _check_pad,
    "stablehlo.reduce": _check_reduction,
    "stablehlo.reduce_window": _check_window,
    "stablehlo.scatter": check_scatter,
    "stablehlo.sort": _check_sort,
}

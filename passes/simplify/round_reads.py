"""What all rounds of a loop read: parts at counted indices are slices, and those at other indices are gathered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from passes import attributes as attrs, build
from passes.analysis.counters import Counter
from passes.match import shape_of
from passes.simplify.rounds import Builder, Rounds, rule


@rule("dynamic_slice")
def _dynamic_slice(rounds: Rounds, op: Any) -> Builder | None:
    operand, *starts = op.operands
    sizes, shape = shape_of(op.results[0]), shape_of(operand)
    cut = [d for d in range(len(shape)) if sizes[d] != shape[d]]
    moving = [d for d in cut if starts[d] in rounds.varying]
    if operand in rounds.varying:
        return _gathered(rounds, op, cut) if moving else lambda operands: [_cut(rounds, operands, cut, sizes)]
    found = along(rounds, starts, sizes, shape)
    if found is None:
        return _gathered(rounds, op, cut)

    def builder(operands: list[Any]) -> list[Any]:
        rest = [d for d in cut if d != found.dimension]
        widths = [n if d == found.dimension else sizes[d] for d, n in enumerate(shape)]
        value = _sliced(operands[0], operands[1:], rest, widths) if rest else operands[0]
        return [_rows(value, found, rounds.count, sizes)]

    return builder


class Along(NamedTuple):
    """A dimension of which each round takes `width` elements, from the number that a counter has."""

    dimension: int
    counter: Counter
    width: int


def along(rounds: Rounds, starts: Sequence[Any], sizes: Sequence[int], shape: Sequence[int]) -> Along | None:
    """Along which dimension the rounds take parts of an array: single elements, or blocks one after the other.

    None if there are several such dimensions, or indices out of range.
    """
    moving = [d for d in range(len(shape)) if sizes[d] != shape[d] and starts[d] in rounds.varying]
    found = rounds.line(starts[moving[0]]) if len(moving) == 1 else None
    if found is None or not found.step:
        return None
    (dimension,) = moving
    width = sizes[dimension]
    ends = found.start, found.start + found.step * (rounds.count - 1)
    is_inside = min(ends) >= 0 and max(ends) + width <= shape[dimension]
    return Along(dimension, found, width) if is_inside and width in (1, abs(found.step)) else None


def _rows(value: Any, found: Along, count: int, sizes: Sequence[int]) -> Any:
    """The parts of a dimension at the numbers of a counter, along a new first axis, each with the shape `sizes`."""
    shape, (dimension, counter, width) = shape_of(value), found
    last = counter.start + counter.step * (count - 1)
    starts, limits, strides = [0] * len(shape), list(shape), [1] * len(shape)
    starts[dimension], limits[dimension] = min(counter.start, last), max(counter.start, last) + width
    strides[dimension] = abs(counter.step) // width
    value = build.slice_(value, starts, limits, strides)
    if width > 1:
        value = build.reshape(value, (*shape[:dimension], count, width, *shape[dimension + 1 :]))
    if counter.step < 0:
        value = build.reverse(value, [dimension])
    others = [d for d in range(len(shape_of(value))) if d != dimension]
    return build.reshape(build.transpose(value, [dimension, *others]), (count, *sizes))


def _sliced(value: Any, starts: Sequence[Any], cut: Sequence[int], sizes: Sequence[int]) -> Any:
    """A dynamic slice; the start index of a dimension that is not cut does not matter."""
    zero = build.full(0, starts[cut[0]])  # other starts may be those of all rounds
    first = [start if d in cut else zero for d, start in enumerate(starts)]
    return build.dynamic_slice(value, first, sizes)


def _cut(rounds: Rounds, operands: list[Any], cut: list[int], sizes: Sequence[int]) -> Any:
    """The same part of an array in each round."""
    value, *starts = operands
    if not cut:
        return value
    kind = starts[cut[0]].type
    return _sliced(value, [build.full(0, kind), *starts], [d + 1 for d in cut], (rounds.count, *sizes))


def _gathered(rounds: Rounds, op: Any, cut: list[int]) -> Builder:
    """Parts of an array, at indices of each round."""
    sizes, starts, operand = shape_of(op.results[0]), list(op.operands)[1:], op.operands[0]
    dropped = [d for d in cut if sizes[d] == 1]
    kept = [d for d in range(len(sizes)) if d not in dropped]
    # Where the array varies as well, each round takes its own: a batch of gathers.
    varies = operand in rounds.varying
    numbers = {
        "offset_dims": range(1, 1 + len(kept)),
        "collapsed_slice_dims": [d + varies for d in dropped],
        "start_index_map": [d + varies for d in cut],
        "operand_batching_dims": [0] * varies,
        "start_indices_batching_dims": [0] * varies,
    }

    def builder(operands: list[Any]) -> list[Any]:
        columns = [build.reshape(rounds.whole(starts[d]), (rounds.count, 1)) for d in cut]
        indices = build.concatenate(columns, 1) if len(columns) > 1 else columns[0]
        type_ = build.tensor_type((rounds.count, *(sizes[d] for d in kept)), op.results[0].type.element_type)
        widths = [1] * varies + list(sizes)
        found = build.op(
            "stablehlo.gather", [operands[0], indices], type_, attributes=_gather_attributes(numbers, 1, widths)
        )
        return [build.reshape(found, (rounds.count, *sizes))]

    return builder


def _gather_attributes(dims: Mapping[str, Sequence[int]], vector: int, sizes: Sequence[int]) -> dict[str, Any]:
    text = ", ".join(f"{name} = {list(numbers)}" for name, numbers in dims.items() if len(numbers))
    numbers = f"#stablehlo.gather<{text}{', ' if text else ''}index_vector_dim = {vector}>"
    return {"dimension_numbers": numbers, "slice_sizes": build.i64_array(sizes)}


@rule("gather")
def _gather(rounds: Rounds, op: Any) -> Builder:
    """Rounds are batches if the array and the indices vary, rows of indices if only these do, or part of the slices."""
    fields = attrs.dimension_numbers(op, "dimension_numbers")
    of_operand, of_indices = (value in rounds.varying for value in op.operands)
    both = of_operand and of_indices

    def later(name: str, moved: bool, first: bool = False) -> list[int]:
        return [0] * first + [d + moved for d in fields.get(name, ())]

    dims = {
        "offset_dims": later("offset_dims", True, not of_indices),
        "collapsed_slice_dims": later("collapsed_slice_dims", of_operand),
        "start_index_map": later("start_index_map", of_operand),
        "operand_batching_dims": later("operand_batching_dims", of_operand, both),
        "start_indices_batching_dims": later("start_indices_batching_dims", of_indices, both),
    }
    sizes = [1 if both else rounds.count] * of_operand + list(attrs.ints(op, "slice_sizes"))
    attributes = _gather_attributes(dims, fields.get("index_vector_dim", 0) + of_indices, sizes)
    type_ = build.tensor_type((rounds.count, *shape_of(op.results[0])), op.results[0].type.element_type)
    return lambda operands: [build.op(op.name, operands, type_, attributes=attributes)]

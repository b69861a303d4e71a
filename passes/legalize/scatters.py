"""Scatters of single elements, which every thread of a GPU's workgroup would do."""

from __future__ import annotations

from math import prod
from typing import Any

from passes import attributes as attrs, build
from passes.match import is_static, shape_of
from passes.patterns import Pattern, pattern

_NUMBERS = "scatter_dimension_numbers"


@pattern("stablehlo.scatter")
def scatter_pairs(op: Any) -> Any:
    """A scatter of single elements at unique places as one of pairs of the same element. Exact.

    The compiler gives each place to the threads of a workgroup, which share the elements that are written there. A
    single one is left to all of them, and `x.at[i].add(y)` was done several times.
    """
    operand, indices, update = op.operation.operands if len(op.operation.operands) == 3 else (None, None, None)
    if operand is None or not attrs.boolean(op, "unique_indices") or not is_static(update):
        return None
    fields = attrs.dimension_numbers(op, _NUMBERS)
    window = (*fields.get("update_window_dims", ()), len(shape_of(update)))
    if prod(shape_of(update)[axis] for axis in window[:-1]) != 1 or _puts(op.operation.regions[0]):
        return None
    lists = {**fields, "update_window_dims": window}
    text = ", ".join(f"{k} = {list(v) if isinstance(v, tuple) else v}" for k, v in lists.items())
    operand_pairs, update_pairs = (
        build.broadcast_in_dim(value, [*shape_of(value), 2], range(len(shape_of(value)))) for value in (operand, update)
    )
    made = build.op(
        "stablehlo.scatter",
        [operand_pairs, indices, update_pairs],
        operand_pairs.type,
        attributes={**attrs.copied(op), _NUMBERS: f"#stablehlo.scatter<{text}>"},
        regions=1,
    )
    # The body is of scalars, and stays what it is.
    copy = op.operation.clone()
    copy.operation.regions[0].blocks[0].append_to(made.regions[0])
    copy.operation.erase()
    shape = shape_of(operand)
    first = build.slice_(made.results[0], [0] * (len(shape) + 1), [*shape, 1], [1] * (len(shape) + 1))
    return build.reshape(first, shape)


def _puts(region: Any) -> bool:
    """Whether the update is what is written, whatever was there: several threads may do that."""
    block = region.blocks[0]
    return block.operations[0].operation.operands[0] == block.arguments[1]


PATTERNS_GPU: list[Pattern] = [scatter_pairs]

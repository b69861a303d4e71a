"""What state of a loop is in each round, if the rounds combine it with values: totals of the rounds up to each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from passes import build, operations
from passes.analysis.identities import identity_of
from passes.match import dtype_of, producer, rank_of, shape_of, size_of, splat_of

_ASSOCIATIVE = operations.where(associative=True)


class Combined(NamedTuple):
    """What each round combines a part of the state with.

    Attributes:
      name: the associative op.
      value: what it combines the state with.
      negated: whether the negative of that: x - y is x + -y, for floats, too.
    """

    name: str
    value: Any
    negated: bool

    def rows(self, whole: Callable[[Any], Any]) -> Any:
        """The values of all rounds, given a function that builds all rounds of a value."""
        found = whole(self.value)
        return build.op("stablehlo.negate", [found]) if self.negated else found


def in_any_order(dtype: Any, name: str) -> bool:
    """Whether an associative op gives the same bits in any order."""
    return dtype.kind in "iub" or operations.of(name).idempotent


def combined(argument: Any, updated: Any) -> Combined | None:
    """How an update combines a part of the state with another value; None if it does something else."""
    made = producer(updated)
    if made is None:
        return None
    name, operands = made.operation.name, list(made.operation.operands)
    if name == "stablehlo.subtract" and operands[0] == argument != operands[1]:
        return Combined("stablehlo.add", operands[1], True)
    others = [value for value in operands if value != argument]
    if name not in _ASSOCIATIVE or len(operands) != 2 or len(others) != 1:
        return None
    return Combined(name, others[0], False)


class Running(NamedTuple):
    """State that each round combines with a value that does not depend on it."""

    argument: Any
    initial: Any
    combined: Combined


def totals(name: str, rows: Any, initial: Any, backwards: bool) -> Any:
    """Rows combined along the first axis, each with all rounds before it and with the initial value.

    Args:
      name: the associative op that combines two elements.
      rows: a row for each round.
      initial: what the first round is combined with.
      backwards: whether the last round comes first.
    """
    if size_of(initial) == 1 and rank_of(rows) > 1:
        flat = totals(name, build.reshape(rows, shape_of(rows)[:1]), build.reshape(initial, ()), backwards)
        return build.reshape(flat, shape_of(rows))
    dtype, shape, begin = dtype_of(rows), shape_of(rows), splat_of(initial)
    neutral = identity_of(name)(dtype)
    is_neutral = begin is not None and bool(begin == neutral)
    scalar = build.tensor_type((), rows.type.element_type)
    ends = (0, shape[0] - 1) if backwards else (shape[0] - 1, 0)
    attributes = {
        "window_dimensions": build.i64_array([shape[0], *(1 for _ in shape[1:])]),
        "padding": build.pairs([ends, *((0, 0) for _ in shape[1:])]),
    }
    # 0.0 rather than -0.0 where the loop begins with that.
    first = build.full(begin if is_neutral else neutral, scalar)
    made = build.op("stablehlo.reduce_window", [rows, first], rows.type, attributes=attributes, regions=1)
    build.unary_region(made, 0, [scalar, scalar], lambda a, b: build.op(name, [a, b]))
    found = made.results[0]
    return (
        found if is_neutral else build.op(name, [build.broadcast_in_dim(initial, shape, range(1, len(shape))), found])
    )


def before(rows: Any, initial: Any, backwards: bool) -> Any:
    """What the state is before each round, given what it is after each, and before the first."""
    count, *rest = shape_of(rows)
    begin = build.reshape(initial, (1, *rest))
    starts, limits = [int(backwards), *(0 for _ in rest)], [count if backwards else count - 1, *rest]
    others = build.slice_(rows, starts, limits)
    return build.concatenate([others, begin] if backwards else [begin, others], 0)

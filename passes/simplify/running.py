"""What state of a loop is in each round, if the rounds combine it with values: totals of the rounds up to each."""

from __future__ import annotations

from typing import Any, NamedTuple

from passes import build
from passes.analysis.identities import identity_of
from passes.match import dtype_of, shape_of, splat_of


class Running(NamedTuple):
    """State that each round combines with a value that does not depend on it."""

    argument: Any
    initial: Any
    value: Any


def totals(name: str, rows: Any, initial: Any, backwards: bool) -> Any:
    """Rows combined along the first axis, each with all rounds before it and with the initial value.

    Args:
      name: the associative op that combines two elements.
      rows: a row for each round.
      initial: what the first round is combined with.
      backwards: whether the last round comes first.
    """
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

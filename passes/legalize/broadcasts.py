"""Broadcasts that permute the dimensions of their operand."""

from __future__ import annotations

from typing import Any

from passes import attributes as attrs, build
from passes.match import is_static, shape_of
from passes.patterns import Pattern, pattern


@pattern("stablehlo.broadcast_in_dim")
def broadcast_in_order(op: Any) -> Any:
    """broadcast(x) to dimensions in another order -> broadcast(transpose(x)). Exact.

    IREE permutes by the inverse order, which is another one for three dimensions or more.
    """
    dims = attrs.ints(op, "broadcast_dimensions")
    order = sorted(range(len(dims)), key=dims.__getitem__)
    if all(order[order[i]] == i for i in range(len(dims))) or not is_static(op.operand):
        return None
    return build.broadcast_in_dim(build.transpose(op.operand, order), shape_of(op.operation.results[0]), sorted(dims))


PATTERNS: list[Pattern] = [broadcast_in_order]

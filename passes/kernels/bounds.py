"""Bounds of contractions: a mask that sets terms from some position on to the identity ends the loop over them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from passes import attributes as attrs
from passes.kernels.kernel import Lowering
from passes.kernels.linear import Linear
from passes.match import dtype_of, producer, shape_of, splat_of


def bounds(k: Lowering, values: Sequence[Any], axes: Sequence[int], identity: np.generic) -> tuple[Linear, Linear]:
    """The first position along an axis whose term counts, and the one after the last, as far as they are known.

    Args:
      values: operands whose elements are combined; masks of all of them have to set the same terms to the identity.
      axes: the axis of each operand.
      identity: of the combination, of the operands' dtype; the accumulator begins with it.

    Exact: the accumulator is never what the identity would change, as -0.0 is by 0.0.
    """
    size = shape_of(values[0])[axes[0]]
    found = [_limits(value, axis, identity) for value, axis in zip(values, axes, strict=True)]
    ends = [Linear(0), Linear(size)]
    for i, name in enumerate(("GE", "LT")):
        limits = [limits[name] for limits in found if name in limits]
        if len(limits) == len(found) and all(limit == limits[0] for limit in limits):
            known = k.env.get(limits[0])
            ends[i] = ends[i] if known is None else k.start(known, size)
    return ends[0], ends[1]


def _limits(value: Any, axis: int, identity: np.generic) -> dict[str, Any]:
    """The scalars with which a select with the identity compares positions along an axis, by direction."""
    select = producer(value, "stablehlo.select")
    if select is None:
        return {}
    fill = splat_of(select.on_false)
    return _of_mask(select.pred, axis) if fill is not None and fill.tobytes() == identity.tobytes() else {}


_SWAPPED = {"GT": "LT", "LE": "GE"}


def _of_mask(mask: Any, axis: int) -> dict[str, Any]:
    maker = producer(mask)
    if maker is None:
        return {}
    name = maker.operation.name
    if name == "stablehlo.and":
        return {**_of_mask(maker.lhs, axis), **_of_mask(maker.rhs, axis)}
    if name == "stablehlo.broadcast_in_dim":
        dims = attrs.ints(maker, "broadcast_dimensions")
        inner = [k for k, d in enumerate(dims) if d == axis and shape_of(maker.operand)[k] == shape_of(mask)[axis]]
        return _of_mask(maker.operand, inner[0]) if inner else {}
    if name != "stablehlo.compare":
        return {}
    direction, sides = attrs.word(maker, "comparison_direction"), (maker.lhs, maker.rhs)
    if direction in _SWAPPED:
        direction, sides = _SWAPPED[direction], sides[::-1]
    iota, spread = producer(sides[0], "stablehlo.iota"), producer(sides[1], "stablehlo.broadcast_in_dim")
    if iota is None or attrs.integer(iota, "iota_dimension") != axis or spread is None or spread.operand.type.shape:
        return {}
    dtype = dtype_of(sides[0])
    wraps = dtype.kind not in "iu" or np.iinfo(dtype).max < shape_of(sides[0])[axis] - 1
    return {} if wraps else {direction: spread.operand}

"""Bounds of contractions: a mask that sets terms from some position on to the identity ends the loop over them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from passes import attributes as attrs
from passes.kernels.kernel import Lowering
from passes.kernels.linear import Linear
from passes.match import producer, shape_of, splat_of


def bound(k: Lowering, values: Sequence[Any], axes: Sequence[int], identity: np.generic) -> Linear | None:
    """The number of leading terms along an axis that count; None if it is not known.

    Args:
      values: operands whose elements are combined; masks of all of them have to set the same terms to the identity.
      axes: the axis of each operand.
      identity: of the combination, of the operands' dtype; the accumulator begins with it.

    Exact: the accumulator is never what the identity would change, as -0.0 is by 0.0.
    """
    found = [_limit(value, axis, identity) for value, axis in zip(values, axes, strict=True)]
    known = k.env.get(found[0]) if found[0] is not None and all(limit == found[0] for limit in found) else None
    return None if known is None else k.start(known, shape_of(values[0])[axes[0]])


def _limit(value: Any, axis: int, identity: np.generic) -> Any:
    """The scalar below which positions along an axis keep their values, of a select with the identity."""
    select = producer(value, "stablehlo.select")
    if select is None:
        return None
    fill = splat_of(select.on_false)
    return _of_mask(select.pred, axis) if fill is not None and fill.tobytes() == identity.tobytes() else None


def _of_mask(mask: Any, axis: int) -> Any:
    maker = producer(mask)
    name = maker.operation.name if maker is not None else ""
    if name == "stablehlo.and":
        return _of_mask(maker.lhs, axis) or _of_mask(maker.rhs, axis)
    if name == "stablehlo.broadcast_in_dim":
        dims = attrs.ints(maker, "broadcast_dimensions")
        inner = dims.index(axis) if axis in dims else None
        same = inner is not None and shape_of(maker.operand)[inner] == shape_of(mask)[axis]
        return _of_mask(maker.operand, inner) if same else None
    if name != "stablehlo.compare" or attrs.word(maker, "comparison_direction") != "LT":
        return None
    iota, spread = producer(maker.lhs, "stablehlo.iota"), producer(maker.rhs, "stablehlo.broadcast_in_dim")
    if iota is None or attrs.integer(iota, "iota_dimension") != axis or spread is None or spread.operand.type.shape:
        return None
    return spread.operand

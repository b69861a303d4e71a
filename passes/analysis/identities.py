"""Identity elements of operations that combine two elements, and of reduction bodies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from passes.match import single_op

Identity = Callable[["np.dtype[Any]"], Any]


def _zero_of_sums(dtype: np.dtype[Any]) -> Any:
    # 0.0 would turn -0.0 into 0.0.
    return complex(-0.0, -0.0) if dtype.kind == "c" else 0 if dtype.kind in "iu" else -0.0


def _extreme(dtype: np.dtype[Any], sign: int) -> Any:
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return info.max if sign > 0 else info.min
    return sign > 0 if dtype.kind == "b" else sign * np.inf


# The identity elements, as second operands, by operation.
_IDENTITY: dict[str, Identity] = {
    "stablehlo.add": _zero_of_sums,
    "stablehlo.subtract": lambda dtype: 0,
    "stablehlo.multiply": lambda dtype: 1,
    "stablehlo.divide": lambda dtype: 1,
    "stablehlo.minimum": lambda dtype: _extreme(dtype, 1),
    "stablehlo.maximum": lambda dtype: _extreme(dtype, -1),
    "stablehlo.and": lambda dtype: True if dtype.kind == "b" else np.array(-1).astype(dtype),
    "stablehlo.or": lambda dtype: 0,
    "stablehlo.xor": lambda dtype: 0,
}


def identity_of(name: str) -> Identity:
    """The identity element of an associative operation, as a function of the dtype."""
    return _IDENTITY[name]


def right_identity(name: str, dtype: np.dtype[Any]) -> Any:
    """The number that changes nothing as the second operand of an operation, bit for bit; None if none is known."""
    found = _IDENTITY.get(name)
    return None if found is None else found(dtype)


def identity(region: Any) -> Identity | None:
    """The identity element of a body of one operation, as a function of the dtype; None if there is none."""
    name, block = single_op(region), region.blocks[0]
    if name is None or block.operations[0].operation.operands[0] != block.arguments[0]:
        return None
    return _IDENTITY.get(name)

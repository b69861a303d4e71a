"""Copies that the compiler cannot remove."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from passes import attributes as attrs, build
from passes.match import constant_of, dtype_of, has_one_use, producer, shape_of, splat_of
from passes.types import tensor_type


def index_along(shape: Sequence[int], axis: int) -> Any:
    """An iota: every element's index along an axis, as int32."""
    attributes = {"iota_dimension": f"{axis} : i64"}
    return build.op("stablehlo.iota", [], build.tensor_type(shape, np.int32), attributes=attributes)


def derived_value(value: Any, like: Any) -> Any:
    """An array of the element type of `like` that is computed from `value`; its elements do not matter."""
    dtype = dtype_of(like)
    if dtype_of(value).kind == "c" != dtype.kind:
        value, _ = build.parts(value)
    return build.convert(value, dtype)


def is_forced_copy(value: Any) -> bool:
    """Whether `value` is a result of `force_copy` with one use."""
    spread = producer(value, "stablehlo.broadcast_in_dim")
    source = value if spread is None else spread.operation.operands[0]
    choice = producer(source, "stablehlo.select")
    test = producer(choice.operation.operands[0], "stablehlo.compare") if choice is not None else None
    if test is None or not has_one_use(value) or not has_one_use(source):
        return False
    tested, bound = test.operation.operands
    if attrs.word(test, "comparison_direction") == "EQ":
        return producer(tested, "stablehlo.optimization_barrier") is not None
    number = splat_of(bound)
    return producer(tested, "stablehlo.iota") is not None and number is not None and number.item() < 0


def force_copy(value: Any, copy: int = 0, other: Any = None) -> Any:
    """A copy of `value`, by a select that the compiler cannot fold before it plans memory.

    Copies of one value with different numbers `copy` are not merged. `other` is the operand that is never selected.
    """
    shape = shape_of(value)
    fill = splat_of(value)
    if fill is not None and shape and other is None:
        number = build.full(fill, tensor_type((), value.type.element_type))
        return build.broadcast_in_dim(force_copy(number, copy), shape, ())
    if max(shape, default=1) > 1 and constant_of(value) is None:
        number = index_along(shape, int(np.argmax(shape)))
        always = build.compare(number, build.full(-copy, number), "GE")
    else:  # the compiler folds the index of an only element, and a select between constants
        hidden = build.op("stablehlo.optimization_barrier", [build.constant(np.full(shape, copy, np.int32))])
        always = build.compare(hidden, build.full(copy, hidden), "EQ")
    other = build.full(fill is not None and fill == 0, value) if other is None else other
    return build.select(always, value, other)

"""Which values may share memory, and copies in memory of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

from passes import attributes as attrs, bindings, build
from passes.match import constant_of, dtype_of, has_one_use, producer, shape_of, splat_of
from passes.types import tensor_type

# A result of these may be (part of) the memory of as many of the first operands; -1 is any of them.
_VIEWS = dict.fromkeys(
    (
        f"stablehlo.{name}"
        for name in "bitcast_convert broadcast_in_dim convert dynamic_slice reshape slice transpose".split()
    ),
    1,
)
_VIEWS |= {"stablehlo.dynamic_update_slice": 2, "stablehlo.scatter": -1, "stablehlo.optimization_barrier": 0}

CHOICES = ("stablehlo.case", "stablehlo.if")


def is_view(value: Any) -> bool:
    """Whether `value` is made by an op that may give back memory of an operand."""
    return not isinstance(value.owner, bindings.ir.Block) and value.owner.operation.name in _VIEWS


def is_inside(block: Any, operation: Any) -> bool:
    """Whether `block` belongs to one of the operation's regions, at any depth."""
    owner = block.owner.operation
    while owner is not None and owner.name not in ("func.func", "builtin.module"):
        if owner == operation:
            return True
        owner = owner.parent.operation if owner.parent is not None else None
    return False


def block_of(value: Any) -> Any:
    """The block in which `value` is defined."""
    owner = value.owner
    return owner if isinstance(owner, bindings.ir.Block) else owner.operation.block


def yielded(block: Any) -> list[Any]:
    """The operands of a block's terminator."""
    return list(list(block.operations)[-1].operation.operands)


def _sources(value: Any) -> list[Any]:
    """The values that `value` may share its memory with, one step back."""
    owner = value.owner
    if isinstance(owner, bindings.ir.Block):
        loop = owner.owner.operation
        if loop.name != "stablehlo.while":
            return []
        number = list(owner.arguments).index(value)
        return [loop.operands[number], yielded(loop.regions[1].blocks[0])[number]]
    operation = owner.operation
    count = _VIEWS.get(operation.name)
    if count is not None:
        operands = list(operation.operands)
        if not count:  # one operand for each result
            return [operands[list(operation.results).index(value)]]
        return operands if count < 0 else operands[:count]
    if operation.name == "func.call":
        return list(operation.operands)
    if operation.name in CHOICES or operation.name == "stablehlo.while":
        number = list(operation.results).index(value)
        if operation.name == "stablehlo.while":
            return [operation.operands[number], yielded(operation.regions[1].blocks[0])[number]]
        return [yielded(region.blocks[0])[number] for region in operation.regions]
    return []


def memory(value: Any, within: Any = None) -> set[Any]:
    """The values whose memory `value` may be (a part of), itself included.

    With `within`, a loop, they are not followed out of it nor from one round to the next.
    """
    found: set[Any] = set()
    stack = [value]
    while stack:
        value = stack.pop()
        if value not in found:
            found.add(value)
            owner = value.owner
            if within is None or not isinstance(owner, bindings.ir.Block) or owner.owner.operation != within:
                stack += _sources(value)
    return found


def shared_by(operation: Any, number: int) -> list[Any]:
    """The values that may get their memory from an operand, one step on."""
    results = list(operation.results)
    count = _VIEWS.get(operation.name)
    if count == 0:
        return [results[number]]
    if count is not None:
        return results if number < count or count < 0 else []
    if operation.name == "func.call":
        return results
    if operation.name == "stablehlo.while":
        return [results[number], *(region.blocks[0].arguments[number] for region in operation.regions)]
    if operation.name == "stablehlo.return":
        around = operation.parent.operation
        if around.name in CHOICES:
            return [around.results[number]]
        if around.name == "stablehlo.while" and operation.block == around.regions[1].blocks[0]:
            # It is needed: the next round, or what follows the loop, gets it.
            return []
    return []


def number_along(shape: tuple[int, ...], axis: int) -> Any:
    """Every element's index along an axis."""
    attributes = {"iota_dimension": f"{axis} : i64"}
    return build.op("stablehlo.iota", [], build.tensor_type(shape, np.int32), attributes=attributes)


def bits_as(value: Any, like: Any) -> Any:
    """An array of the element type of `like` that is computed from `value`, whatever its elements are."""
    dtype = dtype_of(like)
    if dtype_of(value).kind == "c" != dtype.kind:
        half = np.float32 if dtype_of(value) == np.complex64 else np.float64
        value = build.op("stablehlo.real", [value], build.tensor_type(shape_of(value), half))
    return build.convert(value, dtype)


def is_apart(value: Any) -> bool:
    """Whether `value` is a copy that `apart` made, for one use."""
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


def apart(value: Any, copy: int = 0, other: Any = None) -> Any:
    """`value` in memory of its own, by a choice that the compiler cannot decide before it lays out memory.

    Copies of one value with different numbers stay different. `other` is what is not chosen.
    """
    shape = shape_of(value)
    filling = splat_of(value)
    if filling is not None and shape and other is None:
        number = build.full(filling, tensor_type((), value.type.element_type))
        return build.broadcast_in_dim(apart(number, copy), shape, ())
    if max(shape, default=1) > 1 and constant_of(value) is None:
        number = number_along(shape, int(np.argmax(shape)))
        always = build.compare(number, build.full(-copy, number), "GE")
    else:  # the index of the only element is a constant, and so is a choice between constants
        hidden = build.op("stablehlo.optimization_barrier", [build.constant(np.full(shape, copy, np.int32))])
        always = build.compare(hidden, build.full(copy, hidden), "EQ")
    other = build.full(filling is not None and filling == 0, value) if other is None else other
    return build.select(always, value, other)

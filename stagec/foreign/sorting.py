"""Sorts by any comparison, and the largest elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from passes import attributes
from stagec import lax
from stagec.foreign.control import elementwise
from stagec.foreign.elementwise import ordered_bits
from stagec.foreign.reductions import taken
from stagec.foreign.site import Site, Value, rule


@rule("sort")
def _sort(site: Site, *operands: Value) -> list[Value]:
    rank = len(operands[0].shape)
    axis = site.integer("dimension") if site.has("dimension") else -1
    axis %= rank
    if operands[0].shape[axis] < 2:
        return list(operands)
    keys = _keys(site, operands)
    if keys is None:
        return _by_comparison(site.region(), operands, axis)
    found = lax.sort((*keys, *operands), dimension=axis, is_stable=True, num_keys=len(keys))
    return list(found)[len(keys) :]


def _keys(site: Site, operands: tuple[Value, ...]) -> list[Value] | None:
    """Arrays whose lexicographic order is the comparison's; None if that is not seen.

    A comparison that is seen is `f(x) < f(y)`, or `f(x) < f(y) or (f(x) == f(y) and ...)`, where `f` takes one operand.
    """
    block = site.region_block()
    found = _chain(block, list(block.operations)[-1].operation.operands[0])
    if found is None:
        return None
    keys = []
    for compare, value, argument in found:
        key = _computed(site, block, value, argument, operands)
        key = _ascending(key, descending=_word(compare, "comparison_direction") == "GT", total=_is_total(compare))
        keys.append(key)
    return keys


def _ascending(key: Value, *, descending: bool, total: bool) -> Value:
    if key.dtype == np.bool_:
        key = key.astype(np.uint8)
    if key.dtype.kind not in "iu":
        if not descending and not total:
            return key
        if not total:
            # Both zeros are equal.
            key = (
                lax.add(key, np.zeros((), key.dtype))
                if key.shape == ()
                else lax.select(lax.eq(key, lax.full(key.shape, 0, key.dtype)), lax.full(key.shape, 0, key.dtype), key)
            )
        key = ordered_bits(key)
    return lax.bitwise_not(key) if descending else key


def _word(op: Any, name: str) -> str:
    return attributes.word(op, name)


def _is_total(op: Any) -> bool:
    return _word(op, "compare_type") == "TOTALORDER"


def _chain(block: Any, value: Any) -> list[tuple[Any, Any, int]] | None:
    """The comparisons of a lexicographic order: the operation, the key's value for one side, and its operand."""
    owner = value.owner
    if owner == block:
        return None
    if owner.name == "stablehlo.compare" and _word(owner, "comparison_direction") in ("LT", "GT"):
        argument = _same_key(block, *owner.operands)
        return None if argument is None else [(owner, owner.operands[0], argument)]
    if owner.name != "stablehlo.or":
        return None
    for first, second in (tuple(owner.operands), tuple(owner.operands)[::-1]):
        head = _chain(block, first)
        if head is None or len(head) != 1 or second.owner == block or second.owner.name != "stablehlo.and":
            continue
        for equal, rest in (tuple(second.owner.operands), tuple(second.owner.operands)[::-1]):
            if equal.owner == block or equal.owner.name != "stablehlo.compare":
                continue
            if _word(equal.owner, "comparison_direction") != "EQ":
                continue
            sides = list(head[0][0].operands)
            if not all(_alike(block, a, b, 0) for a, b in zip(equal.owner.operands, sides)):
                continue
            tail = _chain(block, rest)
            if tail is not None:
                return [*head, *tail]
    return None


def _same_key(block: Any, left: Any, right: Any) -> int | None:
    """The operand of which both sides are the same function, where `left` takes the first element; else None."""
    found = _arguments(block, left)
    if len(found) != 1:
        return None
    (argument,) = found
    return argument // 2 if argument % 2 == 0 and _alike(block, left, right, 1) else None


def _arguments(block: Any, value: Any) -> set[int]:
    if value.owner == block:
        return {value.arg_number}
    return set().union(*(_arguments(block, v) for v in value.owner.operands))


def _alike(block: Any, left: Any, right: Any, shift: int) -> bool:
    """Whether two values are the same expression, where arguments of the second have a higher number by `shift`."""
    if left == right and not shift:
        return True
    a, b = left.owner, right.owner
    if a == block or b == block:
        return bool(a == block and b == block and right.arg_number == left.arg_number + shift)
    if a.name != b.name or len(a.regions) or _named(a) != _named(b):
        return False
    if len(a.operands) != len(b.operands):
        return False
    return all(_alike(block, x, y, shift) for x, y in zip(a.operands, b.operands))


def _named(op: Any) -> list[tuple[str, Any]]:
    return [(name, op.attributes[name]) for name in sorted(op.attributes)]


def _computed(site: Site, block: Any, value: Any, argument: int, operands: tuple[Value, ...]) -> Value:
    """A key on all elements of its operand."""
    if value.owner == block:
        return operands[argument]

    def key(element: Value) -> list[Value]:
        return [site.evaluate(block, value, {2 * argument: element})]

    return elementwise(key, operands[argument])[0]


def _by_comparison(less: Callable[..., list[Value]], operands: tuple[Value, ...], axis: int) -> list[Value]:
    """A network that merges sorted runs of doubled length; positions decide between equal elements."""
    rank = len(operands[0].shape)
    order = [*[i for i in range(rank) if i != axis], axis]
    values = [lax.transpose(x, order) for x in operands]
    length = values[0].shape[-1]
    size = 1 << (length - 1).bit_length()
    shape = (*values[0].shape[:-1], size)
    values = [lax.pad(x, np.zeros((), x.dtype), [(0, 0, 0)] * (rank - 1) + [(0, size - length, 0)]) for x in values]
    place = lax.broadcasted_iota(np.int32, shape, rank - 1)
    places = np.arange(size, dtype=np.int32)

    def precedes(left: list[Value], right: list[Value]) -> Value:
        pairs = [v for pair in zip(left[:-1], right[:-1]) for v in pair]
        swapped = [v for pair in zip(right[:-1], left[:-1]) for v in pair]
        first, second = elementwise(lambda *v: less(*v), *pairs)[0], elementwise(lambda *v: less(*v), *swapped)[0]
        tie = lax.bitwise_and(lax.bitwise_not(second), lax.lt(left[-1], right[-1]))
        before = lax.bitwise_or(first, tie)
        # What was padded is last.
        bound = lax.full(shape, length, np.int32)
        real, other = lax.lt(left[-1], bound), lax.lt(right[-1], bound)
        both = lax.bitwise_and(real, other)
        return lax.select(both, before, lax.bitwise_and(real, lax.bitwise_not(other)))

    state = [*values, place]
    run = 2
    while run <= size:
        step = run // 2
        while step:
            partner = places ^ step
            others = [_last_axis(x, partner) for x in state]
            ascending = ((places & run) == 0) == (places < partner)
            keep_first = lax.broadcast_in_dim(ascending, shape, (rank - 1,))
            chosen = lax.eq(precedes(state, others), keep_first)
            state = [lax.select(chosen, a, b) for a, b in zip(state, others)]
            step //= 2
        run *= 2
    back = [order.index(i) for i in range(rank)]
    return [lax.transpose(lax.slice_in_dim(x, 0, length, axis=rank - 1), back) for x in state[:-1]]


def _last_axis(x: Value, places: np.ndarray[Any, Any]) -> Value:
    return taken(x, places, len(x.shape) - 1)


@rule("chlo.top_k")
def _top_k(site: Site, x: Value) -> list[Value]:
    values, places = lax.top_k(x, site.integer("k"))
    return [values, lax.convert_element_type(places, np.int32)]

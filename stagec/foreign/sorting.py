"""Rules for sorts by any comparison, and for the largest elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from passes.analysis import comparators
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
    """Arrays whose lexicographic order is the comparison's; None if the comparison has another form."""
    block = site.region_block()
    found = comparators.keys(block)
    if found is None:
        return None
    return [_ascending(_computed(site, block, key.value, key.argument, operands), key) for key in found]


def _ascending(x: Value, key: comparators.Key) -> Value:
    if x.dtype == np.bool_:
        x = x.astype(np.uint8)
    if x.dtype.kind not in "iu":
        if not key.descending and not key.total:
            return x
        if not key.total:
            # Both zeros are equal, and so is every NaN.
            zero, nan = (lax.full(x.shape, number, x.dtype) for number in (0, np.nan))
            x = lax.select(lax.eq(x, zero), zero, x)
            x = lax.select(lax.ne(x, x), nan, x)
        x = ordered_bits(x)
    return lax.bitwise_not(x) if key.descending else x


def _computed(site: Site, block: Any, value: Any, argument: int, operands: tuple[Value, ...]) -> Value:
    """A key on all elements of its operand."""
    if value.owner == block:
        return operands[argument]

    def key(element: Value) -> list[Value]:
        return [site.evaluate(block, value, {2 * argument: element})]

    return elementwise(key, operands[argument])[0]


def _by_comparison(less: Callable[..., list[Value]], operands: tuple[Value, ...], axis: int) -> list[Value]:
    """A bitonic sorting network; the original positions decide between equal elements."""
    rank = len(operands[0].shape)
    order = [*[i for i in range(rank) if i != axis], axis]
    values = [lax.transpose(x, order) for x in operands]
    length = values[0].shape[-1]
    size = 1 << (length - 1).bit_length()
    shape = (*values[0].shape[:-1], size)
    values = [lax.pad(x, np.zeros((), x.dtype), [(0, 0, 0)] * (rank - 1) + [(0, size - length, 0)]) for x in values]
    original = lax.broadcasted_iota(np.int32, shape, rank - 1)
    positions = np.arange(size, dtype=np.int32)

    def precedes(left: list[Value], right: list[Value]) -> Value:
        pairs = [v for pair in zip(left[:-1], right[:-1]) for v in pair]
        swapped = [v for pair in zip(right[:-1], left[:-1]) for v in pair]
        first, second = elementwise(lambda *v: less(*v), *pairs)[0], elementwise(lambda *v: less(*v), *swapped)[0]
        tie = lax.bitwise_and(lax.bitwise_not(second), lax.lt(left[-1], right[-1]))
        before = lax.bitwise_or(first, tie)
        # Padding sorts to the end.
        bound = lax.full(shape, length, np.int32)
        real, other = lax.lt(left[-1], bound), lax.lt(right[-1], bound)
        both = lax.bitwise_and(real, other)
        return lax.select(both, before, lax.bitwise_and(real, lax.bitwise_not(other)))

    state = [*values, original]
    run = 2
    while run <= size:
        step = run // 2
        while step:
            partner = positions ^ step
            others = [taken(x, partner, rank - 1) for x in state]
            ascending = ((positions & run) == 0) == (positions < partner)
            keep_first = lax.broadcast_in_dim(ascending, shape, (rank - 1,))
            chosen = lax.eq(precedes(state, others), keep_first)
            state = [lax.select(chosen, a, b) for a, b in zip(state, others)]
            step //= 2
        run *= 2
    back = [order.index(i) for i in range(rank)]
    return [lax.transpose(lax.slice_in_dim(x, 0, length, axis=rank - 1), back) for x in state[:-1]]


@rule("chlo.top_k")
def _top_k(site: Site, x: Value) -> list[Value]:
    values, positions = lax.top_k(x, site.integer("k"))
    return [values, lax.convert_element_type(positions, np.int32)]

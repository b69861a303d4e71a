"""Sorts and top_k as kernels take them, and as the compiler does: stable, of any length, and of complex numbers.

A sort of a long axis becomes a sort of positions: its operands are the keys, signed integers, and each element's index.
A kernel takes it (`passes.kernels.sort`), or it becomes a network where there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from passes import attributes as attrs, bindings, build, operations
from passes.analysis import comparators
from passes.analysis.comparators import Key
from passes.legalize import sort_network as network
from passes.legalize.expressions import Tensor, where
from passes.legalize.memory import index_along
from passes.legalize.slices import sort_of_part
from passes.match import dtype_of, is_complex, is_static, producer, shape_of, splat_of
from passes.numeric.elementwise import order_of_bits
from passes.patterns import Pattern, pattern
from passes.types import numpy_dtype, tensor_type

_SORT = "stablehlo.sort"


def ordered_bits(x: Tensor, total: bool = False) -> Tensor:
    """Signed integers in the order of `x`; NaN is above infinity, and -0.0 equals 0.0.

    Args:
      total: whether -0.0 is below 0.0, and NaN is ordered by its sign.
    """
    kind, bits = x.dtype.kind, x.dtype.itemsize * 8
    if kind == "b":
        return x.to(np.int32)
    if kind == "i":
        return x
    if kind == "u":
        return x.bits() ^ -(1 << (bits - 1))
    if bits == 16:
        return ordered_bits(x.to(np.float32), total)
    if not total:
        x = where(x.equals(0), x.like(0), x)
        x = where(x.is_nan(), x.like(float("nan")), x)
    return order_of_bits(x.bits())


def _region(made: Any, operands: Sequence[Any], compared: Callable[..., Any]) -> None:
    """Fill a sort's region: `compared`, of two scalars for each operand, says whether the first element comes first."""
    build.unary_region(made, 0, [tensor_type((), v.type.element_type) for v in operands for _ in range(2)], compared)


def _sort(operands: Sequence[Any], dimension: int, is_stable: bool, compared: Callable[..., Any]) -> list[Any]:
    attributes = {"dimension": build.i64(dimension), "is_stable": "true" if is_stable else "false"}
    made = build.op(_SORT, operands, [v.type for v in operands], attributes=attributes, regions=1)
    _region(made, operands, compared)
    return list(made.results)


def _compared_by(op: Any, values: Sequence[Any]) -> Any:
    """The result of a sort's comparator for these scalars, inlined at the insertion point."""
    copy = op.operation.clone(ip=False)
    (result,) = build.inlined(copy.regions[0].blocks[0], values)
    for value in values:
        _bypass_complex(value)
    return result


def _bypass_complex(value: Any) -> None:
    """Replace `real(complex(a, b))` by `a`, and `imag(complex(a, b))` by `b`, where `value` is `complex(a, b)`."""
    made = producer(value, "stablehlo.complex")
    if made is not None:
        for use in list(value.uses):
            reader = use.owner.operation
            if reader.name in ("stablehlo.real", "stablehlo.imag"):
                reader.results[0].replace_all_uses_with(made.operation.operands[reader.name == "stablehlo.imag"])


@pattern(_SORT)
def sort_parts_of_complex(op: Any) -> Any:
    """A sort of complex numbers -> a sort of their parts. Exact.

    Not all targets can sort complex elements.
    """
    operands = list(op.operation.operands)
    if not any(map(is_complex, operands)):
        return None
    parts = [build.parts(value) if is_complex(value) else (value,) for value in operands]

    def compared(*scalars: Any) -> Any:
        given, remaining = [], iter(scalars)
        for value, columns in zip(operands, parts):
            # Each part has one scalar for the first element, and one for the second.
            pairs = [(next(remaining), next(remaining)) for _ in columns]
            given += [_joined(side, value) for side in zip(*pairs)]
        return _compared_by(op, given)

    flat = [part for columns in parts for part in columns]
    moved = iter(_sort(flat, attrs.sort_dimension(op), attrs.boolean(op, "is_stable"), compared))
    return [_joined([next(moved) for _ in columns], value) for value, columns in zip(operands, parts)]


def _joined(parts: Sequence[Any], like: Any) -> Any:
    """The complex number of two parts; a single part is returned as it is."""
    if len(parts) == 1:
        return parts[0]
    return build.op("stablehlo.complex", parts, tensor_type(shape_of(parts[0]), like.type.element_type))


@pattern(_SORT)
def sort_by_position_too(op: Any) -> Any:
    """A stable sort -> a sort whose last key is the index. Exact.

    IREE exchanges equal neighbours. If the keys are the only operands, that does not change the result.
    """
    operands = list(op.operation.operands)
    if not attrs.boolean(op, "is_stable") or not is_static(operands[0]):
        return None
    dimension, shape = attrs.sort_dimension(op), shape_of(operands[0])
    if _hides_order(op, operands):
        made = op.operation.clone(bindings.ir.InsertionPoint.current)
        made.operation.attributes["is_stable"] = build.attribute("false")
        return made
    # It decreases, so that it is not merged with an iota among the operands: IREE refuses to sort one buffer twice.
    down = index_along(shape, dimension)
    position = (Tensor(down).like(shape[dimension]) - Tensor(down)).value

    def compared(*scalars: Any) -> Any:
        *given, mine, other = scalars
        before = Tensor(_compared_by(op, given))
        after = Tensor(_compared_by(op, [v for pair in zip(given[1::2], given[::2]) for v in pair]))
        return (before | (~after & (Tensor(mine) > Tensor(other)))).value

    return _sort([*operands, position], dimension, False, compared)[:-1]


def _hides_order(op: Any, operands: list[Any]) -> bool:
    """Whether elements that compare equal are identical in every operand, so that their order does not show."""
    keys = comparators.keys(op.operation.regions[0].blocks[0])
    if keys is None or any(dtype_of(v).kind not in "iub" for v in operands):
        return False
    block = op.operation.regions[0].blocks[0]
    return {key.argument for key in keys if key.value == block.arguments[2 * key.argument]} == set(range(len(operands)))


@pattern(_SORT)
def sort_by_network(op: Any) -> Any:
    """A sort of positions -> a sorting network. Exact."""
    keys, dimension = position_keys(op), attrs.sort_dimension(op)
    if keys is None or shape_of(keys[0])[dimension] < 2:
        return None
    positions = network.sorted_positions(keys, dimension)
    return [*(network.taken(key, positions, dimension) for key in keys), positions]


def is_long(op: Any) -> bool:
    """Whether a sort has so many elements along its axis that networks and radix sorts are faster than others."""
    return shape_of(op.operation.operands[0])[attrs.sort_dimension(op)] > network.LONG


def position_keys(op: Any) -> list[Any] | None:
    """The keys of a sort of positions, which are all of its operands but the last; None for another sort."""
    *keys, last = op.operation.operands
    block = op.operation.regions[0].blocks[0]
    found = comparators.keys(block)
    if found is None or len(found) != len(keys) or not is_static(last) or dtype_of(last) != np.int32:
        return None
    plain = all(key.argument == i and _is_plain(key, block) for i, key in enumerate(found))
    signed = all(dtype_of(key).kind == "i" for key in keys)
    return keys if plain and signed and counts_along(last, attrs.sort_dimension(op)) else None


@pattern(_SORT)
def sort_by_positions(op: Any) -> Any:
    """A sort of a long axis by known keys -> a sort of positions, and gathers. Exact."""
    return sort_any_by_positions(op) if is_long(op) else None


@pattern(_SORT)
def sort_any_by_positions(op: Any) -> Any:
    """A sort by known keys -> a sort of positions, and gathers. Exact.

    IREE's own sort cannot be used on these targets.
    """
    operands, dimension = list(op.operation.operands), attrs.sort_dimension(op)
    block = op.operation.regions[0].blocks[0]
    found = comparators.keys(block)
    if found is None or not is_static(operands[0]) or shape_of(operands[0])[dimension] < 2 or position_keys(op):
        return None
    counters = [counts_along(value, dimension) for value in operands]
    # The sort is stable, so a last key that is the position along the dimension is redundant.
    while len(found) > 1 and counters[found[-1].argument] and _is_plain(found[-1], block):
        found.pop()
    values = [_on_all_elements(block, key, operands[key.argument]) for key in found]
    if any(value is None for value in values):
        return None
    keys = [_ascending(Tensor(value), key) for value, key in zip(values, found)]
    *moved, positions = _sort_positions(keys, dimension)
    made = []
    for value, counts in zip(operands, counters):
        if counts:
            made.append(Tensor(positions).to(dtype_of(value)).value)
        else:
            made.append(moved[keys.index(value)] if value in keys else network.taken(value, positions, dimension))
    return made


def _sort_positions(keys: Sequence[Any], dimension: int) -> list[Any]:
    """A sort of positions by keys, signed integers; returns the sorted keys and the positions."""

    def compared(*scalars: Any) -> Any:
        *_, (x, y), _ = pairs = [(Tensor(x), Tensor(y)) for x, y in zip(scalars[::2], scalars[1::2])]
        before = x < y
        for x, y in pairs[-3::-1]:
            before = (x < y) | (x.equals(y) & before)
        return before.value

    return _sort([*keys, index_along(shape_of(keys[0]), dimension)], dimension, True, compared)


def counts_along(value: Any, dimension: int) -> bool:
    """Whether a value is each element's own index along a dimension, as a signed integer."""
    spread = producer(value, "stablehlo.broadcast_in_dim")
    if spread is not None and dimension in (dims := attrs.ints(spread, "broadcast_dimensions")):
        axis = dims.index(dimension)
        return shape_of(spread.operand)[axis] == shape_of(value)[dimension] and counts_along(spread.operand, axis)
    iota = producer(value, "stablehlo.iota")
    # Shorter integers wrap around.
    known = iota is not None and dtype_of(value) in (np.int32, np.int64)
    return known and attrs.integer(iota, "iota_dimension") == dimension


def _is_plain(key: Key, block: Any) -> bool:
    """Whether a key is an operand itself, in ascending order."""
    return not key.descending and bool(key.value == block.arguments[2 * key.argument])


def _on_all_elements(block: Any, key: Key, operand: Any) -> Any:
    """A key, computed for all elements of its operand; None if it cannot be, or has no integers in its order."""
    shape = shape_of(operand)
    computed: dict[Any, Any] = {block.arguments[2 * key.argument]: operand}

    def on_all(value: Any) -> Any:
        if value not in computed:
            computed[value] = _on_all(value)
        return computed[value]

    def _on_all(value: Any) -> Any:
        number = splat_of(value)
        type_ = tensor_type(shape, value.type.element_type)
        if number is not None:
            return build.full(number, type_)
        op = producer(value)
        if op is None or not operations.of(op.operation.name).elementwise:
            return None
        found = [on_all(operand) for operand in op.operation.operands]
        if any(value is None for value in found):
            return None
        return build.op(op.operation.name, found, type_, attributes=attrs.copied(op))

    is_known = dtype_of(key.value).kind in "biuf" or dtype_of(key.value).name == "bfloat16"
    return on_all(key.value) if is_known and dtype_of(key.value).itemsize <= 8 else None


def _ascending(x: Tensor, key: Key) -> Any:
    """Signed integers in the order of a key."""
    bits = ordered_bits(x, key.total)
    return (~bits if key.descending else bits).value


@pattern("chlo.top_k")
def stable_top_k(op: Any) -> Any:
    """top_k -> the first elements of a sort of elements and indices, or for long rows of a sort of positions.

    Exact. IREE's own top_k returns equal elements in no defined order; here
    the lower index comes first and NaN counts as the greatest, as in XLA.
    """
    (operand,) = op.operation.operands
    values, indices = op.operation.results
    dtype, shape = dtype_of(operand), shape_of(operand)
    if not is_static(operand) or 0 in shape_of(values) or (dtype.kind not in "biuf" and dtype.name != "bfloat16"):
        return None
    last, limit = len(shape) - 1, list(shape_of(values))

    def first(value: Any) -> Any:
        return build.slice_(value, [0] * len(limit), limit)

    if shape[last] > network.LONG:
        found = first(_sort_positions([(~ordered_bits(Tensor(operand))).value], last)[-1])
        best = network.taken(operand, found, last)
    else:
        places = [operand, index_along(shape, last)]
        best, found = map(first, _sort(places, last, True, lambda *s: _is_less(Tensor(s[1]), Tensor(s[0])).value))
    return best, Tensor(found).to(numpy_dtype(indices.type.element_type)).value


def _is_less(x: Tensor, y: Tensor) -> Tensor:
    """Whether a number is before another in ascending order: NaN is last."""
    return x < y if x.dtype.kind in "biu" else (x < y) | (y.differs(y) & x.equals(x))


FORMS: list[Pattern] = [stable_top_k, sort_by_positions]
FORMS_GPU: list[Pattern] = [stable_top_k, sort_any_by_positions]
# For sorts that no kernel takes.
PATTERNS: list[Pattern] = [sort_by_network, sort_parts_of_complex, sort_by_position_too, sort_of_part]
__all__ = ["FORMS", "FORMS_GPU", "PATTERNS", "counts_along", "is_long", "ordered_bits", "position_keys"]

"""The keys by which a sort's comparator orders: each a function of one operand, the most significant first."""

from __future__ import annotations

from typing import Any, NamedTuple

from passes import attributes as attrs, bindings
from passes.match import is_floating


class Key(NamedTuple):
    """One key of a lexicographic order.

    Attributes:
      argument: the index of the operand that it is computed from.
      value: the key of the first of the two elements, a value in the comparator's block.
      descending: whether greater keys come first.
      total: whether -0.0 comes before 0.0, and NaN is ordered by its sign. Otherwise both zeros are equal, and NaN
        counts as the greatest.
    """

    argument: int
    value: Any
    descending: bool
    total: bool


def keys(block: Any) -> list[Key] | None:
    """The keys by which a comparator orders; None if it does not have one of the known forms.

    These are the comparison `f(x) < f(y)`, where `f` takes one operand, and the lexicographic orders
    `a or (equal and order)` and `a or (not reversed(a) and order)`, where `a` is such a comparison, and `order` has one
    of these forms again.
    """
    return _order(block, list(block.operations)[-1].operation.operands[0])


def _order(block: Any, value: Any) -> list[Key] | None:
    key = _key(block, value)
    if key is not None:
        return [key]
    for first, second in _operand_orders(block, value, "stablehlo.or"):
        head = _key(block, first)
        if head is None:
            continue
        for equal, less_significant in _operand_orders(block, second, "stablehlo.and"):
            if not _holds_where_equal(block, equal, head):
                continue
            tail = _order(block, less_significant)
            if tail is not None:
                return [head, *tail]
    return None


def _operand_orders(block: Any, value: Any, name: str) -> list[tuple[Any, Any]]:
    """The operands of the operation of that name that makes a value, in both orders; empty if another one makes it."""
    op = _defining_op(block, value, name)
    if op is None:
        return []
    left, right = op.operands
    return [(left, right), (right, left)]


def _defining_op(block: Any, value: Any, name: str, direction: str = "") -> Any:
    """The operation in the block that makes a value, if it has that name and, for a comparison, that direction."""
    if not _is_within(block, value):
        return None
    op = value.owner.operation
    if op.name != name:
        return None
    return op if not direction or attrs.word(op, "comparison_direction") == direction else None


def _key(block: Any, value: Any) -> Key | None:
    """The key of `f(x) < f(y)` or `f(x) > f(y)`, whether or not it orders NaN last; None for another value."""
    for direction in ("LT", "GT"):
        op = _defining_op(block, value, "stablehlo.compare", direction)
        if op is not None:
            left, right = op.operands
            return _compared(block, left, right, direction == "GT", _is_total(op))
    for less, unordered in _operand_orders(block, value, "stablehlo.or"):
        op = _defining_op(block, less, "stablehlo.compare", "LT")
        if op is None or _is_total(op):
            continue
        low, high = op.operands
        for nan, number in _operand_orders(block, unordered, "stablehlo.and"):
            if _compares_with_itself(block, nan, high, "NE") and _compares_with_itself(block, number, low, "EQ"):
                return _compared(block, low, high, False, False)
    return None


def _is_total(op: Any) -> bool:
    return attrs.word(op, "compare_type") == "TOTALORDER" and is_floating(op.operands[0])


def _compares_with_itself(block: Any, value: Any, tested: Any, direction: str) -> bool:
    op = _defining_op(block, value, "stablehlo.compare", direction)
    return op is not None and all(_are_alike(block, operand, tested, 0) for operand in op.operands)


def _compared(block: Any, left: Any, right: Any, descending: bool, total: bool) -> Key | None:
    """The key whose values for the two elements are `left` and `right`, in either order."""
    found = _arguments(block, left)
    if len(found) != 1:
        return None
    (argument,) = found
    is_second = argument % 2
    if not _are_alike(block, left, right, -1 if is_second else 1):
        return None
    # `f(y) < f(x)` is `f(x) > f(y)`.
    return Key(argument // 2, right if is_second else left, descending != bool(is_second), total)


def _holds_where_equal(block: Any, value: Any, head: Key) -> bool:
    """Whether a value, where `head` is false, says that the keys are equal: `f(x) == f(y)`, or `not f(y) < f(x)`."""
    op = _defining_op(block, value, "stablehlo.compare", "EQ")
    if op is not None:
        left, right = op.operands
        same = _compared(block, left, right, False, _is_total(op))
        return same is not None and _is_same(block, same._replace(descending=head.descending), head)
    op = _defining_op(block, value, "stablehlo.not")
    reversed_ = None if op is None else _key(block, op.operands[0])
    return reversed_ is not None and _is_same(block, reversed_._replace(descending=not reversed_.descending), head)


def _is_same(block: Any, key: Key, other: Key) -> bool:
    return key[0] == other[0] and key[2:] == other[2:] and _are_alike(block, key.value, other.value, 0)


def _arguments(block: Any, value: Any) -> set[int]:
    """The indices of the block's arguments that a value is computed from."""
    if value.owner == block:
        return {value.arg_number}
    if not _is_within(block, value):
        return set()
    return set().union(*(_arguments(block, v) for v in value.owner.operands))


def _is_within(block: Any, value: Any) -> bool:
    """Whether an operation of the block makes a value; others come from outside."""
    owner = value.owner
    return not isinstance(owner, bindings.ir.Block) and owner.operation.block == block


def _are_alike(block: Any, left: Any, right: Any, shift: int) -> bool:
    """Whether two values are the same expression, if the arguments in the second have indices higher by `shift`."""
    if left == right and not shift:
        return True
    a, b = left.owner, right.owner
    if a == block or b == block:
        return bool(a == block and b == block and right.arg_number == left.arg_number + shift)
    if not (_is_within(block, left) and _is_within(block, right)):
        return bool(left == right)
    if a.name != b.name or len(a.regions) or len(a.results) != 1 or attrs.copied(a) != attrs.copied(b):
        return False
    if len(a.operands) != len(b.operands) or left.type != right.type:
        return False
    return all(_are_alike(block, x, y, shift) for x, y in zip(a.operands, b.operands))

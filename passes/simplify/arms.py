"""Arithmetic of selections by one predicate: both arms are computed before the selection."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from passes import attributes as attrs, build, operations
from passes.analysis import facts
from passes.analysis.identities import right_identity
from passes.match import dtype_of, has_one_use, is_boolean, is_complex, producer, splat_of
from passes.patterns import laws_of
from passes.simplify.constants import is_folded
from passes.simplify.proven import exact_if_proven

_SELECT, _CONVERT = "stablehlo.select", "stablehlo.convert"
_BINARY = tuple(
    row.name
    for row in operations.TABLE.values()
    if row.elementwise and row.numpy is not None and row.operands == "lhs rhs" and not row.partial
)


class _Arm(NamedTuple):
    """What a selection chooses: a number or None, a function that builds the value, and how many ops that adds."""

    number: Any
    make: Callable[[], Any]
    added: int = 0
    value: Any = None


class _Selection(NamedTuple):
    """A predicate, the arms for true and false, and how many ops go if the selection does."""

    pred: Any
    arms: tuple[_Arm, _Arm]
    removed: int


def _selection(value: Any, nested: bool = True) -> _Selection | None:
    """Return the selection that produces a value, or an op of one and a constant; None for other values."""
    maker = producer(value)
    if maker is None:
        return None
    name, once = maker.operation.name, has_one_use(value)
    if name == _SELECT:
        true, false = (_Arm(splat_of(arm), partial(_itself, arm), 0, arm) for arm in (maker.on_true, maker.on_false))
        return _Selection(maker.pred, (true, false), int(once))
    if name == _CONVERT and is_boolean(maker.operand):
        kind = dtype_of(value).type
        true, false = (_Arm(kind(number), partial(build.full, number, value)) for number in (1, 0))
        return _Selection(maker.operand, (true, false), int(once))
    if name not in _BINARY or not nested or not is_folded(maker):
        return None
    for at, (chosen, other) in enumerate(((maker.lhs, maker.rhs), (maker.rhs, maker.lhs))):
        found = _selection(chosen, nested=False) if splat_of(other) is not None else None
        if found is not None:
            constant = _Arm(splat_of(other), partial(_itself, other), 0, other)
            pairs = [(arm, constant)[:: -1 if at else 1] for arm in found.arms]
            first, second = (_computed(maker, *pair) for pair in pairs)
            return _Selection(found.pred, (first, second), found.removed + 1 if once else 0)
    return None


def _itself(value: Any) -> Any:
    return value


def _computed(op: Any, a: _Arm, b: _Arm) -> _Arm:
    """The arm that a binary op makes of two."""
    result, row = op.operation.results[0], operations.of(op.operation.name)
    number = None
    if a.number is not None and b.number is not None and is_folded(op) and row.numpy is not None:
        with np.errstate(all="ignore"):
            number = np.asarray(row.numpy(np.asarray(a.number), np.asarray(b.number))).astype(dtype_of(result))[()]

    def make() -> Any:
        return build.op(row.name, [a.make(), b.make()], result.type, attributes=attrs.copied(op))

    return _Arm(number, make, 0 if number is not None else a.added + b.added + 1)


def _changes_nothing(op: Any, arm: _Arm, other: _Arm, exactly: bool) -> bool:
    """Whether the second operand of an op leaves the first one as it is."""
    neutral = right_identity(op.operation.name, dtype_of(op.lhs))
    if neutral is None or arm.number is None or arm.number != neutral or is_boolean(op.lhs):
        return False
    if neutral or not exactly or dtype_of(op.lhs).kind in "iu" or np.signbit(arm.number) == np.signbit(neutral):
        return True
    known = facts.of(other.value) if other.value is not None else None
    return known is not None and not known.minus_zero


def _folded(op: Any, a: _Arm, b: _Arm, exactly: bool) -> _Arm:
    """The arm that an op makes of two: a number, one of the two, or the op."""
    found = _computed(op, a, b)
    if found.number is not None:
        return found
    if _changes_nothing(op, b, a, exactly):
        return a
    is_either = operations.of(op.operation.name).commutative
    return b if is_either and _changes_nothing(op, a, b, exactly) else found


@exact_if_proven(*_BINARY, of=(_SELECT, _CONVERT), assumes="nsz")
def function_of_two_selections(op: Any, exactly: bool) -> Any:
    """f(select(p, x, c), select(p, y, d)) -> select(p, f(x, y), f(c, d)), where that leaves fewer ops.

    Two constants are folded, and so is an operand that changes nothing: select(p, x, 0) + select(p, 0, y) ->
    select(p, x, y). convert(p) is a selection, too, and so is g(select(p, x, c), d) of a constant d. Exact; 0.0 is
    added to -0.0 where signs of zeros do not matter.
    """
    if op.lhs == op.rhs or is_complex(op.lhs):
        return None
    first, second = _selection(op.lhs), _selection(op.rhs)
    if first is None or second is None or first.pred != second.pred:
        return None
    arms = [_folded(op, a, b, exactly) for a, b in zip(first.arms, second.arms)]
    if 1 + sum(arm.added for arm in arms) >= 1 + first.removed + second.removed:
        return None
    return build.select(first.pred, *(arm.make() for arm in arms))


PATTERNS = laws_of(globals())

"""What is known of a value's elements: their bounds, and whether NaN, -0.0 or fractions can be among them.

    facts = of(value)
    if facts.low >= 0 and not facts.minus_zero: ...

The answer follows from the operations that make the value, a few levels deep. It holds only until the next rewrite, so
it is remembered for the laws that look at one operation.
"""

from __future__ import annotations

from typing import Any

from passes import operations
from passes.analysis import counters
from passes.analysis.elements import Facts, of_type
from passes.analysis.fact_rules import RULES, Call
from passes.match import producer, remembered
from passes.types import spelled

__all__ = ["KNOWN", "Facts", "of"]

# How many operations back from the value the analysis goes.
DEPTH = 4
# How many values it looks at for one question.
VALUES = 12
# The operations whose results have facts beyond those of their type.
KNOWN = tuple(sorted(RULES))


def of(value: Any) -> Facts | None:
    """What is known of a tensor's elements; None for complex numbers and types without elements."""
    known = remembered.splats
    if known is None:
        return _of(value, DEPTH, {})
    key = (of, value)
    if key not in known:
        known[key] = _of(value, DEPTH, {})
    return known[key]


def _of(value: Any, depth: int, known: dict[Any, Facts | None]) -> Facts | None:
    value = _before_layout(value)
    if value in known:
        return known[value]
    kind = spelled(value.type.element_type)
    anything = of_type(kind)
    known[value] = anything
    if not depth or anything is None or len(known) > VALUES:
        return anything
    op = producer(value)
    rule = RULES.get(op.operation.name) if op is not None else None
    found = None
    if op is not None and rule is not None:
        found = rule(Call(value, kind, anything, lambda operand: _of(operand, depth - 1, known)))
    elif op is None and kind.startswith(("i", "ui")) and (ends := counters.bounds(value)) is not None:
        found = Facts(*ends)
    if found is not None:
        known[value] = found
    return known[value]


def _before_layout(value: Any) -> Any:
    """The value before the operations that only split, merge or exchange axes."""
    for _ in range(DEPTH):
        op = producer(value)
        if op is None or not operations.of(op.operation.name).layout or 0 in value.type.shape:
            break
        value = op.operation.operands[0]
    return value

"""The table of operations: the properties of each StableHLO and CHLO operation. It loads no compiler.

    operations.of("stablehlo.add").commutative

A pass that depends on a property of operations reads it from their records; rules for a single operation stay in the
pass.
"""

from __future__ import annotations

import difflib
import functools
from typing import Any

from passes.errors import UnknownOpError, caller, message
from passes.operations import elementwise, moves, others
from passes.operations.record import Cost, Memory, Operation, Precision, Regions

__all__ = [
    "CONDITIONALS", "CONTROL", "IN_PLACE", "TABLE", "Cost", "Memory", "Operation", "Precision", "Regions", "names",
    "of", "unknown_op", "where",
]  # fmt: skip

TABLE: dict[str, Operation] = {row.name: row for row in (*elementwise.ROWS, *moves.ROWS, *others.ROWS)}

# What is assumed of an operation from another dialect. Calls of kernels read their operands and return new memory.
_UNKNOWN = Operation("", None)
_OTHERS = {
    row.name: row
    for row in (
        Operation("flow.dispatch", None, memory=Memory.NEW),
        # Arithmetic on sizes reads no elements.
        Operation("tensor.dim", None, memory=Memory.NEW),
        Operation("tensor.from_elements", None, memory=Memory.NEW),
        Operation("tensor.empty", None, memory=Memory.NEW),
        Operation(
            "tensor.insert_slice", "source dest *sizes", memory=Memory.UPDATED, sources="source dest", written="dest"
        ),
    )
}


def of(name: str) -> Operation:
    """The record of an operation, by its full name; the most conservative record for an operation of another dialect.

    >>> of("stablehlo.add").commutative, of("stablehlo.subtract").commutative
    (True, False)
    """
    found = TABLE.get(name)
    return found if found is not None else _OTHERS.get(name, _UNKNOWN)


def where(**facts: Any) -> tuple[str, ...]:
    """The names of the operations that have these properties, in alphabetical order.

    >>> where(regions=Regions.CONDITIONAL)
    ('stablehlo.case', 'stablehlo.if')
    """
    rows = TABLE.values()
    return tuple(sorted(r.name for r in rows if all(getattr(r, name) == value for name, value in facts.items())))


CONDITIONALS = where(regions=Regions.CONDITIONAL)
# Operations whose regions run on the host, one operation after the other.
CONTROL = where(is_control=True)
# Operations whose results the compiler computes in the memory of operands.
IN_PLACE = tuple(sorted(row.name for row in (*TABLE.values(), *_OTHERS.values()) if row.written))


@functools.cache
def names(dialect: str) -> frozenset[str]:
    """The full names of a dialect's operations; empty for a dialect that is not in the table."""
    return frozenset(name for name, row in TABLE.items() if row.dialect == dialect)


def unknown_op(name: str, what: str) -> UnknownOpError:
    """The error for an operation that does not exist.

    Args:
      what: the function that was given the name.
    """
    dialect, _, short = name.rpartition(".")
    known = sorted(names(dialect) or TABLE, reverse=True)
    # Compared without the dialect: its letters would make any two names alike.
    shorts = [TABLE[k].short for k in known]
    near = [short] if short in shorts else difflib.get_close_matches(short, shorts, n=3)
    close = [k for n in dict.fromkeys(near) for k in known if TABLE[k].short == n]
    fix = f"did you mean {' or '.join(map(repr, close))}?" if close else "passes.operations.TABLE lists them"
    return UnknownOpError(message(f"{what}: there is no op {name}", caller(), fix=fix))

"""Builds op views from the operand names in the table of operations."""

from __future__ import annotations

from typing import Any

from passes import bindings, operations


def _property(name: str, position: int, count_after: int, variadic: bool, groups: int, group: int) -> property:
    def one(self: Any) -> Any:
        operands = self.operands
        return operands[position if position >= 0 else len(operands) + position]

    def many(self: Any) -> list[Any]:
        operands = list(self.operands)
        if groups == 1:
            return operands[position : len(operands) - count_after]
        size = (len(operands) - count_after) // groups
        start = group * size + (position if group else 0)
        return operands[start : start + size]

    return property(many if variadic else one, doc=f"The operand{'s' if variadic else ''} `{name}`.")


def define(dialect: str) -> dict[str, type]:
    """Register one `OpView` class for each operation of a dialect whose operands have names, by its short name.

    `*name` takes the operands that the other names leave over; several such names share them evenly, as the inputs
    and the initial values of a reduction do.
    """
    # Registered once a process: MLIR refuses a second class for an op.
    dialect_class = bindings.native.register_dialect(
        type(f"_{dialect.title()}", (bindings.ir.Dialect,), {"DIALECT_NAMESPACE": dialect, "__module__": __name__})
    )
    classes: dict[str, type] = {}
    for row in operations.TABLE.values():
        if row.dialect != dialect or row.operands is None:
            continue
        name, words = row.short, row.operands.split()
        fields: dict[str, Any] = {"OPERATION_NAME": row.name, "_ODS_REGIONS": (0, False)}
        stars = [i for i, word in enumerate(words) if word.startswith("*")]
        fixed = len(words) - len(stars)
        for i, word in enumerate(words):
            plain = word.lstrip("*")
            if not stars:
                fields[plain] = _property(plain, i, 0, False, 0, 0)
            elif i in stars:
                group = stars.index(i)
                before = len([w for w in words[:i] if not w.startswith("*")])
                after = fixed if len(stars) > 1 else fixed - before
                fields[plain] = _property(plain, before, after, True, len(stars), group)
            elif i < stars[0]:
                fields[plain] = _property(plain, i, 0, False, 0, 0)
            elif i > stars[-1]:
                fields[plain] = _property(plain, i - len(words), 0, False, 0, 0)
            else:  # scatter: *inputs indices *updates
                fields[plain] = property(lambda self: self.operands[(len(self.operands) - 1) // 2])
        view = type("".join(part.title() for part in name.split("_")) + "Op", (bindings.ir.OpView,), fields)
        classes[name] = bindings.native.register_operation(dialect_class)(view)
    return classes

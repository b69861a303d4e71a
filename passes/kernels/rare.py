"""Branches around the operations that only the rare operand of a select needs.

The passes compute two reductions of an angle and select one; the second one, for
large numbers, costs several times as much as the first (`passes.legalize.angles`).
In a kernel, the operations that only the second one needs go into a branch, which
runs if one element of a vector is large.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from passes import bindings
from passes.kernels.writer import spelled_float
from passes.legalize.angles import RARE_FROM

_NAMES = {np.dtype(np.float32): "f32", np.dtype(np.float64): "f64"}
_BOUNDS = {(_NAMES[dtype], bound) for dtype, bound in RARE_FROM.items()}
_SPELLED = tuple(f"{spelled_float(bound, name)} : {name}" for name, bound in _BOUNDS)
# Operations that may be moved or dropped, since they do not access memory.
_PURE = ("arith.", "math.", "vector.broadcast", "vector.from_elements", "vector.extract", "vector.shuffle")
_ON_TRUE, _ON_FALSE = 1, 2


def has_rare_selects(text: str) -> bool:
    """Whether the text of a kernel contains a bound of `RARE_FROM`, with which angles are compared.

    >>> has_rare_selects("%c0 = arith.constant 3.35544300000000000e+07 : f32"), has_rare_selects("")
    (True, False)
    """
    return any(spelled in text for spelled in _SPELLED)


def branch(kernel: Any) -> int:
    """Move operations that only the rare operand of a select by `passes.legalize.angles.RARE_FROM` needs to a branch.

    Args:
      kernel: an operation that contains the kernel's function.

    Returns:
      The number of comparisons whose selects became a branch.
    """
    bounds = [c for c in _walk(kernel) if c.name == "arith.constant" and _is_bound(c)]
    comparisons = [user for constant in bounds for user in _users(constant) if user.name == "arith.cmpf"]
    return sum(map(_branch_on, comparisons))


def _walk(root: Any) -> list[Any]:
    found: list[Any] = []

    def visit(op: Any) -> Any:
        found.append(op)
        return bindings.ir.WalkResult.ADVANCE

    root.walk(visit)
    return found


def _users(op: Any) -> list[Any]:
    return list(dict.fromkeys(use.owner.operation for use in op.results[0].uses))


def _is_bound(constant: Any) -> bool:
    value = constant.attributes["value"]
    if isinstance(value, bindings.ir.DenseElementsAttr) and value.is_splat:
        value = value.get_splat_value()
    return isinstance(value, bindings.ir.FloatAttr) and (str(value.type), value.value) in _BOUNDS


def _branch_on(comparison: Any) -> bool:
    block = comparison.block
    chosen = [use.owner.operation for use in comparison.results[0].uses if use.operand_number == 0]
    chosen = [op for op in chosen if op.name == "arith.select" and op.block == block]
    operations = [op.operation for op in block.operations]
    positions = {op: i for i, op in enumerate(operations)}
    selects = sorted(dict.fromkeys(chosen), key=positions.__getitem__)
    if not selects:
        return False
    rare = _only_for(operations[: positions[selects[-1]]], selects)
    if not rare:
        return False
    inside = sorted({*rare, *selects}, key=positions.__getitem__)
    readers = [u for op in selects for u in _users(op) if u not in inside]
    if not readers:
        return False
    # A reader in a loop or a branch counts as the operation of this block that holds it.
    first = min(positions[_holder(u, block)] for u in readers)
    wanted = [comparison, *(v.owner.operation for op in inside for v in op.operands if not _is_argument(v))]
    moved = _needed_before(first, wanted, positions, set(inside))
    if moved is None:
        return False
    for op in moved:
        op.move_before(operations[first])
    _write(comparison, selects, inside, operations[first])
    return True


def _is_argument(value: Any) -> bool:
    return isinstance(value, bindings.ir.BlockArgument)


def _holder(op: Any, block: Any) -> Any:
    while op.block != block:
        op = op.parent.operation
    return op


def _is_pure(op: Any) -> bool:
    return op.name.startswith(_PURE) and len(op.results) == 1 and not len(op.regions)


def _only_for(operations: list[Any], selects: list[Any]) -> list[Any]:
    """The operations that only the second operands of the selects need, in their order."""
    found: dict[Any, None] = {}
    for op in reversed(operations):
        if not _is_pure(op) or op in selects:
            continue
        uses = [(use.owner.operation, use.operand_number) for use in op.results[0].uses]
        if uses and all(user in found or (user in selects and i == _ON_FALSE) for user, i in uses):
            found[op] = None
    return list(reversed(found))


def _needed_before(first: int, wanted: list[Any], positions: dict[Any, int], inside: set[Any]) -> list[Any] | None:
    """The operations to move before a position, in their order; None if one of them cannot move."""
    moved: dict[Any, None] = {}
    while wanted:
        op = wanted.pop()
        # An operation without a position is in a block around this one.
        if op in moved or op in inside or positions.get(op, -1) < first:
            continue
        if not _is_pure(op):
            return None
        moved[op] = None
        wanted += [v.owner.operation for v in op.operands if not _is_argument(v)]
    if any(v.owner.operation in inside for op in moved for v in op.operands if not _is_argument(v)):
        return None
    return sorted(moved, key=positions.__getitem__)


def _write(comparison: Any, selects: list[Any], inside: list[Any], before: Any) -> None:
    ir = bindings.ir
    usual = comparison.results[0]
    with ir.InsertionPoint(before), comparison.location:
        if isinstance(usual.type, ir.VectorType):
            kind = {"kind": ir.Attribute.parse("#vector.kind<and>")}
            kept = ir.Operation.create("vector.reduction", [usual.type.element_type], [usual], attributes=kind)
            usual = kept.results[0]
        made = ir.Operation.create("scf.if", [op.results[0].type for op in selects], [usual], regions=2)
        common, other = (region.blocks.append() for region in made.regions)
        with ir.InsertionPoint(common):
            ir.Operation.create("scf.yield", [], [op.operands[_ON_TRUE] for op in selects])
        with ir.InsertionPoint(other):
            end = ir.Operation.create("scf.yield", [], [op.results[0] for op in selects])
    for op, result in zip(selects, made.results):
        for use in list(op.results[0].uses):
            user = use.owner.operation
            if user != end and user not in inside:
                user.operands[use.operand_number] = result
    for op in inside:
        op.move_before(end)

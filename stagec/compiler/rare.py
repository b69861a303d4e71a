"""Turns rarely selected values into branches, so that they are computed only when they are selected.

The passes select between two reductions of an angle, and the second one, for large numbers, costs several times as much
as the first. A select between vectors computes both. Here, where kernels are LLVM functions already, the second
reduction moves into a branch, which a vector takes if one of its elements is large.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from passes import printed
from passes.legalize.angles import RARE_FROM
from passes.match import operations_in
from stagec.compiler.mlir import ir

# Operations that are not moved: memory is read and written in the order of the program.
_KEPT = tuple(
    f"llvm.{name}"
    for name in "mlir. load store call intr.masked intr.assume alloca inline_asm atomicrmw cmpxchg fence".split()
)
_FLOATS = {"f32": np.dtype(np.float32), "f64": np.dtype(np.float64)}
# How much more often the usual branch is taken; LLVM lays out the code by it.
_USUALLY = 1 << 20
_ON_FALSE = 2


def branch(module: Any) -> int:
    """Compute the rare operands of selects by `passes.legalize.angles.RARE_FROM` after a branch, in kernels for CPUs.

    Args:
      module: at the compiler's phase `executable-targets`.

    Returns:
      How many comparisons became branches.
    """
    variants = operations_in(module, "hal.executable.variant")
    kernels = [v for v in variants if printed.executable_target(v.attributes["target"]).backend == "llvm-cpu"]
    bounds = [c.result for kernel in kernels for c in operations_in(kernel, "llvm.mlir.constant") if _is_bound(c)]
    names = (f"rarely_{i}" for i in itertools.count())
    known: dict[tuple[Any, str], str] = {}
    count = 0
    with module.context:
        for bound in bounds:
            for use in list(bound.uses):
                comparison = use.owner.operation
                if comparison.name == "llvm.fcmp" and use.operand_number == 1:
                    count += _branch_on(comparison.result, names, known)
    return count


def _is_bound(constant: Any) -> bool:
    kind, value = constant.result.type, constant.attributes["value"]
    dtype = _FLOATS.get(str(kind.element_type if isinstance(kind, ir().VectorType) else kind))
    if dtype is None:
        return False
    if isinstance(value, ir().DenseElementsAttr):
        if not value.is_splat:
            return False
        value = value.get_splat_value()
    return value.value == RARE_FROM[dtype]


def _branch_on(condition: Any, names: Iterator[str], known: dict[tuple[Any, str], str]) -> bool:
    block = condition.owner.operation.block
    users = [use.owner.operation for use in condition.uses if use.operand_number == 0]
    wanted = [op for op in users if op.name == "llvm.select" and op.block == block]
    if not wanted:
        return False
    preceding, selects = _in_order(block, wanted)
    rare = _only_for(preceding, selects)
    last = selects[-1]
    if not rare or not _hoisted(preceding, selects, rare):
        return False
    function, captured = _function(condition, selects, rare)
    home = last.parent.operation.parent.operation
    key = home, str(function)
    if key not in known:
        known[key] = next(names)
        function.attributes["sym_name"] = ir().StringAttr.get(known[key])
        ir().InsertionPoint.at_block_begin(home.regions[0].blocks[0]).insert(function)
    _call(known[key], condition, selects, captured)
    for op in (*selects, *rare):
        op.erase()
    return True


def _in_order(block: Any, wanted: list[Any]) -> tuple[list[Any], list[Any]]:
    """The operations of a block up to the last of the wanted ones, and the wanted ones in order."""
    before: list[Any] = []
    found: list[Any] = []
    for op in block.operations:
        before.append(op.operation)
        if op.operation in wanted:
            found.append(op.operation)
            if len(found) == len(wanted):
                break
    return before, found


def _only_for(operations: list[Any], selects: list[Any]) -> list[Any]:
    """The operations that are used only by what is selected where the condition does not hold; the last one first."""
    found: dict[Any, None] = {}
    for op in reversed(operations):
        if op.name.startswith(_KEPT) or len(op.results) != 1 or len(op.regions):
            continue
        uses = [(use.owner.operation, use.operand_number) for use in op.result.uses]
        if uses and all(user in found or (user in selects and i == _ON_FALSE) for user, i in uses):
            found[op] = None
    return list(found)


def _hoisted(preceding: list[Any], selects: list[Any], rare: list[Any]) -> bool:
    """Move the selects, and what they use, before the first reader of one of them; False if that is not possible."""
    positions = {op: i for i, op in enumerate(preceding)}
    readers = {use.owner.operation for select in selects for use in select.result.uses}
    first = min((positions[op] for op in readers if op in positions), default=len(preceding))
    moved, stack = set(), [op for op in selects if positions[op] > first]
    if not stack:
        return True
    stack += [op for op in rare if positions[op] > first]
    while stack:
        op = stack.pop()
        if op in moved:
            continue
        if op in readers or op.name.startswith(_KEPT) or len(op.regions):
            return False
        moved.add(op)
        owners = [v.owner.operation for v in op.operands if not isinstance(v, ir().BlockArgument)]
        stack += [o for o in owners if positions.get(o, -1) > first]
    for op in sorted(moved, key=positions.__getitem__):
        op.move_before(preceding[first])
    return True


def _function(condition: Any, selects: list[Any], rare: list[Any]) -> tuple[Any, list[Any]]:
    """A function that does the selects, and its operands besides the condition and the usual values."""
    inside = set(rare)
    read = dict.fromkeys(v for op in reversed(rare) for v in op.operands)
    read |= dict.fromkeys(op.operands[_ON_FALSE] for op in selects)
    outside = [v for v in read if isinstance(v, ir().BlockArgument) or v.owner.operation not in inside]
    constants = [v for v in outside if not isinstance(v, ir().BlockArgument) and v.owner.name == "llvm.mlir.constant"]
    captured = [v for v in outside if v not in constants]
    common = [op.operands[1] for op in selects]
    kinds = [str(v.type) for v in (condition, *common, *captured)]
    arguments = ", ".join(f"%a{i}: {kind}" for i, kind in enumerate(kinds))
    chosen = range(len(selects))
    # The condition is one boolean, or a vector of them. Elements beyond the end of an array are poison, which a branch
    # must not depend on.
    test, every = f"%c = llvm.freeze %a0 : {kinds[0]}", "%c"
    if kinds[0] != "i1":
        every = "%all"
        test += f'\n%all = "llvm.intr.vector.reduce.and"(%c) : ({kinds[0]}) -> i1'
    usual = f"{', '.join(f'%a{i + 1}' for i in chosen)} : {', '.join(kinds[i + 1] for i in chosen)}"
    bundle = _bundle(selects)
    gathered = "".join(f"%s{i + 1} = llvm.insertvalue %r{i}, %s{i}[{i}] : {bundle}\n" for i in chosen)
    text = f"""
      llvm.func internal @rarely({arguments}) -> {bundle} attributes {{always_inline}} {{
        {test}
        llvm.cond_br {every} weights([{_USUALLY}, 1]), ^end({usual}), ^rare
      ^end({", ".join(f"%r{i}: {kinds[i + 1]}" for i in chosen)}):
        %s0 = llvm.mlir.undef : {bundle}
        {gathered}
        llvm.return %s{len(selects)} : {bundle}
      ^rare:
        llvm.br ^end({usual})
      }}"""
    module = ir().Module.parse(text)
    function = module.body.operations[0].operation
    entry, _, rare_block = function.regions[0].blocks
    values = dict(zip((condition, *common, *captured), entry.arguments))
    leave = rare_block.operations[0].operation
    with ir().InsertionPoint(leave):
        for v in constants:
            values[v] = v.owner.operation.clone().result
        for op in reversed(rare):
            copy = op.clone()
            for i, v in enumerate(op.operands):
                copy.operands[i] = values[v]
            values[op.result] = copy.result
        for i, op in enumerate(selects):
            copy = op.clone()
            for j, v in enumerate(op.operands):
                copy.operands[j] = values[v]
            leave.operands[i] = copy.result
    function.detach_from_parent()
    return function, captured


def _bundle(selects: list[Any]) -> str:
    return f"!llvm.struct<({', '.join(str(op.result.type) for op in selects)})>"


def _call(name: str, condition: Any, selects: list[Any], captured: list[Any]) -> None:
    operands = [condition, *(op.operands[1] for op in selects), *captured]
    with ir().InsertionPoint(selects[-1]), selects[-1].location:
        call = ir().Operation.create(
            "llvm.call",
            [ir().Type.parse(_bundle(selects))],
            operands,
            attributes={
                "callee": ir().FlatSymbolRefAttr.get(name),
                "operandSegmentSizes": ir().DenseI32ArrayAttr.get([len(operands), 0]),
                "op_bundle_sizes": ir().DenseI32ArrayAttr.get([]),
            },
        )
        for i, select in enumerate(selects):
            own = ir().Operation.create(
                "llvm.extractvalue",
                [select.result.type],
                [call.result],
                attributes={"position": ir().DenseI64ArrayAttr.get([i])},
            )
            select.result.replace_all_uses_with(own.result)

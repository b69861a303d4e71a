"""What is chosen in rare cases only is computed in these cases only.

The passes choose between two ways of reducing an angle, and the second one, for
large numbers, costs several times as much as the first. A choice between vectors
computes both. Here, where kernels are LLVM functions already, the second way
becomes a branch that a vector takes if one of its elements is large.
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

# What stays where it is: memory is read and written in its order.
_KEPT = tuple(
    f"llvm.{name}"
    for name in "mlir. load store call intr.masked intr.assume alloca inline_asm atomicrmw cmpxchg fence".split()
)
_FLOATS = {"f32": np.dtype(np.float32), "f64": np.dtype(np.float64)}
# How much more often the usual way is taken, for the layout of the code.
_USUALLY = 1 << 20
_ON_FALSE = 2


def branch(module: Any) -> int:
    """Have what a choice in a CPU's kernels by `passes.legalize.angles.RARE_FROM` may choose computed after a branch.

    Args:
      module: at the compiler's phase `executable-targets`.

    Returns:
      How many choices became branches.
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
    upto, choices = _in_order(block, wanted)
    rare = _only_for(upto, choices)
    last = choices[-1]
    if not rare or not _brought_forward(upto, choices, rare):
        return False
    function, captured = _function(condition, choices, rare)
    home = last.parent.operation.parent.operation
    key = home, str(function)
    if key not in known:
        known[key] = next(names)
        function.attributes["sym_name"] = ir().StringAttr.get(known[key])
        ir().InsertionPoint.at_block_begin(home.regions[0].blocks[0]).insert(function)
    _call(known[key], condition, choices, captured)
    for op in (*choices, *rare):
        op.erase()
    return True


def _in_order(block: Any, wanted: list[Any]) -> tuple[list[Any], list[Any]]:
    """The operations of a block up to the last of those that are wanted, and these in their order."""
    before: list[Any] = []
    found: list[Any] = []
    for op in block.operations:
        before.append(op.operation)
        if op.operation in wanted:
            found.append(op.operation)
            if len(found) == len(wanted):
                break
    return before, found


def _only_for(operations: list[Any], choices: list[Any]) -> list[Any]:
    """The operations that nothing needs but what is chosen where the condition does not hold; the last one first."""
    found: dict[Any, None] = {}
    for op in reversed(operations):
        if op.name.startswith(_KEPT) or len(op.results) != 1 or len(op.regions):
            continue
        uses = [(use.owner.operation, use.operand_number) for use in op.result.uses]
        if uses and all(user in found or (user in choices and i == _ON_FALSE) for user, i in uses):
            found[op] = None
    return list(found)


def _brought_forward(upto: list[Any], choices: list[Any], rare: list[Any]) -> bool:
    """Move the choices, and what they need, before whatever reads one of them; False if that cannot be."""
    places = {op: i for i, op in enumerate(upto)}
    readers = {use.owner.operation for choice in choices for use in choice.result.uses}
    first = min((places[op] for op in readers if op in places), default=len(upto))
    moved, stack = set(), [op for op in choices if places[op] > first]
    if not stack:
        return True
    stack += [op for op in rare if places[op] > first]
    while stack:
        op = stack.pop()
        if op in moved:
            continue
        if op in readers or op.name.startswith(_KEPT) or len(op.regions):
            return False
        moved.add(op)
        owners = [v.owner.operation for v in op.operands if not isinstance(v, ir().BlockArgument)]
        stack += [o for o in owners if places.get(o, -1) > first]
    for op in sorted(moved, key=places.__getitem__):
        op.move_before(upto[first])
    return True


def _function(condition: Any, choices: list[Any], rare: list[Any]) -> tuple[Any, list[Any]]:
    """A function that makes the choices, and what it gets besides the condition and the usual values."""
    inside = set(rare)
    read = dict.fromkeys(v for op in reversed(rare) for v in op.operands)
    read |= dict.fromkeys(op.operands[_ON_FALSE] for op in choices)
    outside = [v for v in read if isinstance(v, ir().BlockArgument) or v.owner.operation not in inside]
    constants = [v for v in outside if not isinstance(v, ir().BlockArgument) and v.owner.name == "llvm.mlir.constant"]
    captured = [v for v in outside if v not in constants]
    common = [op.operands[1] for op in choices]
    kinds = [str(v.type) for v in (condition, *common, *captured)]
    arguments = ", ".join(f"%a{i}: {kind}" for i, kind in enumerate(kinds))
    chosen = range(len(choices))
    # One condition, or one for each element of a vector.
    # Elements beyond an array's end are poison, by which nothing may branch.
    test, every = f"%c = llvm.freeze %a0 : {kinds[0]}", "%c"
    if kinds[0] != "i1":
        every = "%all"
        test += f'\n%all = "llvm.intr.vector.reduce.and"(%c) : ({kinds[0]}) -> i1'
    usual = f"{', '.join(f'%a{i + 1}' for i in chosen)} : {', '.join(kinds[i + 1] for i in chosen)}"
    bundle = _bundle(choices)
    gathered = "".join(f"%s{i + 1} = llvm.insertvalue %r{i}, %s{i}[{i}] : {bundle}\n" for i in chosen)
    text = f"""
      llvm.func internal @rarely({arguments}) -> {bundle} attributes {{always_inline}} {{
        {test}
        llvm.cond_br {every} weights([{_USUALLY}, 1]), ^end({usual}), ^rare
      ^end({", ".join(f"%r{i}: {kinds[i + 1]}" for i in chosen)}):
        %s0 = llvm.mlir.undef : {bundle}
        {gathered}
        llvm.return %s{len(choices)} : {bundle}
      ^rare:
        llvm.br ^end({usual})
      }}"""
    module = ir().Module.parse(text)
    function = module.body.operations[0].operation
    entry, _, behind = function.regions[0].blocks
    values = dict(zip((condition, *common, *captured), entry.arguments))
    leave = behind.operations[0].operation
    with ir().InsertionPoint(leave):
        for v in constants:
            values[v] = v.owner.operation.clone().result
        for op in reversed(rare):
            copy = op.clone()
            for i, v in enumerate(op.operands):
                copy.operands[i] = values[v]
            values[op.result] = copy.result
        for i, op in enumerate(choices):
            copy = op.clone()
            for j, v in enumerate(op.operands):
                copy.operands[j] = values[v]
            leave.operands[i] = copy.result
    function.detach_from_parent()
    return function, captured


def _bundle(choices: list[Any]) -> str:
    return f"!llvm.struct<({', '.join(str(op.result.type) for op in choices)})>"


def _call(name: str, condition: Any, choices: list[Any], captured: list[Any]) -> None:
    operands = [condition, *(op.operands[1] for op in choices), *captured]
    with ir().InsertionPoint(choices[-1]), choices[-1].location:
        call = ir().Operation.create(
            "llvm.call",
            [ir().Type.parse(_bundle(choices))],
            operands,
            attributes={
                "callee": ir().FlatSymbolRefAttr.get(name),
                "operandSegmentSizes": ir().DenseI32ArrayAttr.get([len(operands), 0]),
                "op_bundle_sizes": ir().DenseI32ArrayAttr.get([]),
            },
        )
        for i, choice in enumerate(choices):
            own = ir().Operation.create(
                "llvm.extractvalue",
                [choice.result.type],
                [call.result],
                attributes={"position": ir().DenseI64ArrayAttr.get([i])},
            )
            choice.result.replace_all_uses_with(own.result)

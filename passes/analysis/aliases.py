"""Alias analysis: which values may share memory in a compiled program, and which arguments it may overwrite or return.

IREE updates in place: an argument that reaches `sort`, `dynamic_update_slice` or `scatter` without a computation in
between is overwritten, zero-copy NumPy memory included. The compiler's folding decides what counts as a computation,
so the functions about arguments are conservative: a value has memory of its own only if some operation between the
argument and the value must produce new memory. The other functions concern operations that share memory even if
nothing is folded.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from typing import Any

from passes import attributes as attrs, bindings, operations
from passes.match import (
    HOST_MODULE,
    dtype_of,
    functions,
    is_boolean,
    is_floating,
    operations_in,
    shape_of,
    splat_of,
    yielded,
)
from passes.operations import CONDITIONALS, IN_PLACE, Memory, Operation, Regions
from passes.types import is_lossless

# Marks a conversion between booleans and the bytes that store them, which changes no bit.
BYTES = "stagec.bytes"
_LOOP = "stablehlo.while"


def mutated_arguments(module: Any, function: str = "main") -> tuple[int, ...]:
    """Indices of a function's arguments that the compiled program may overwrite.

    Args:
      module: an `ir.Module` of StableHLO, as it goes to the compiler.
      function: the entry point's name.

    Returns:
      Sorted indices. The program never writes to another argument. It may write
      to these, so the caller passes copies of them unless they are donated.
    """
    program = _Program(module, function)
    updated = []
    for op in program.operations:
        if op.name in IN_PLACE:
            updated += [value for _, value in written(op)]
        elif op.name == "func.call" and not _is_of_host(op) and program.body(op) is None:
            updated += op.operands  # a function that cannot be read may do anything
    return program.arguments(updated)


def returned_arguments(module: Any, function: str = "main") -> tuple[int, ...]:
    """Indices of a function's arguments that a result may share its memory with.

    No result shares memory with another argument.
    """
    program = _Program(module, function)
    return program.arguments(yielded(program.entry))


def results_may_share(module: Any, function: str = "main") -> bool:
    """Whether two results of a function may share memory, such as one array in two shapes.

    >>> from passes.bindings import ir, new_context
    >>> text = '''func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<2x2xf32>) {
    ...   %0 = stablehlo.sine %x : tensor<4xf32>
    ...   %1 = stablehlo.reshape %0 : (tensor<4xf32>) -> tensor<2x2xf32>
    ...   return %0, %1 : tensor<4xf32>, tensor<2x2xf32>
    ... }'''
    >>> results_may_share(ir.Module.parse(text, new_context()))
    True
    """
    made = [_whole(value) for value in yielded(functions(module)[function].regions[0].blocks[0])]
    return len(set(made)) < len(made)


def _whole(value: Any) -> Any:
    """The value whose whole memory `value` may share, followed back through views."""
    while not isinstance(value.owner, bindings.ir.Block):
        owner = value.owner.operation
        if operations.of(owner.name).memory not in (Memory.SAME, Memory.VIEW):
            break
        value = owner.operands[_index(value)]
    return value


def written(operation: Any) -> list[tuple[int, Any]]:
    """The operands in whose memory the compiler may compute the results of an operation, with their positions."""
    row, operands = operations.of(operation.name), operation.operands
    return [(i, operands[i]) for i in row.positions(row.written, len(operands))]


def is_view(value: Any) -> bool:
    """Whether `value` is made by an operation that may return memory of an operand."""
    return not isinstance(value.owner, bindings.ir.Block) and operations.of(value.owner.operation.name).is_view


def has_same_bytes(op: Any) -> bool:
    """Whether each result certainly has the bytes of the operand with its index; only shape or type may differ."""
    if op.name == "stablehlo.bitcast_convert":
        return dtype_of(op.operands[0]).itemsize == dtype_of(op.results[0]).itemsize
    return operations.of(op.name).memory is Memory.SAME or BYTES in op.attributes


def memory(value: Any, within: Any = None) -> set[Any]:
    """The values whose memory `value` may share, in whole or in part, itself included, if nothing is folded.

    With `within`, a loop, the search follows values neither out of the loop nor from one iteration to the next.
    """
    found: set[Any] = set()
    stack = [value]
    while stack:
        value = stack.pop()
        if value not in found:
            found.add(value)
            owner = value.owner
            if within is None or not isinstance(owner, bindings.ir.Block) or owner.owner.operation != within:
                stack += _sources(value)
    return found


def _sources(value: Any) -> list[Any]:
    """The values that `value` may share its memory with, one operation back, if nothing is folded."""
    owner, number = value.owner, _index(value)
    op = owner.owner.operation if isinstance(owner, bindings.ir.Block) else owner.operation
    if op.name == _LOOP:
        return [op.operands[number], yielded(op.regions[1].blocks[0])[number]]
    if isinstance(owner, bindings.ir.Block):
        return []
    if op.name in CONDITIONALS:
        return [yielded(region.blocks[0])[number] for region in op.regions]
    if op.name == "func.call":
        return list(op.operands)
    return _operands(op, number) if operations.of(op.name).is_view else []


def _foldable(value: Any) -> list[Any]:
    """The operands that the result of an operation may share its memory with, if the operation may be folded."""
    owner = value.owner
    if isinstance(owner, bindings.ir.Block):
        return []
    row = operations.of(owner.operation.name)
    return [] if row.memory is Memory.NEW or _computes(owner, row) else _operands(owner.operation, _index(value))


def _operands(op: Any, number: int) -> list[Any]:
    """The operands whose memory a result may share, by the table of operations."""
    row, operands = operations.of(op.name), list(op.operands)
    if row.memory is Memory.SAME:
        return [operands[number]]
    return [operands[i] for i in row.positions(row.sources, len(operands))] if row.sources else operands


def shared_by(operation: Any, number: int) -> list[Any]:
    """The values that may share the memory of an operand, one operation on, if nothing is folded."""
    results, row = list(operation.results), operations.of(operation.name)
    if row.memory is Memory.SAME:
        return [results[number]]
    if row.is_view:
        among = not row.sources or number in row.positions(row.sources, len(operation.operands))
        return results if among else []
    if operation.name == "func.call":
        return results
    if operation.name == _LOOP:
        return [results[number], *(region.blocks[0].arguments[number] for region in operation.regions)]
    if operation.name == "stablehlo.return" and operation.parent.operation.name in CONDITIONALS:
        return [operation.parent.operation.results[number]]
    # What the body of a loop returns is read: by the next iteration, or by what follows the loop.
    return []


class _Program:
    """A function, the functions that it calls, and all operations in them."""

    def __init__(self, module: Any, function: str) -> None:
        self._functions = functions(module)
        self.entry = self._functions[function].regions[0].blocks[0]
        self.operations: list[Any] = []
        self._calls: dict[str, list[Any]] = {}
        names, seen = [function], {function}
        for name in names:
            found = operations_in(self._functions[name])
            self.operations += found
            for call in (op for op in found if op.name == "func.call"):
                callee = call.attributes["callee"].value
                self._calls.setdefault(callee, []).append(call)
                if callee not in seen and self.body(call) is not None:
                    seen.add(callee)
                    names.append(callee)

    def body(self, call: Any) -> Any:
        """The block that a call runs, if it can be read."""
        target = self._functions.get(call.attributes["callee"].value)
        return target.regions[0].blocks[0] if target is not None and len(target.regions[0].blocks) else None

    def arguments(self, values: Iterable[Any]) -> tuple[int, ...]:
        """The arguments of the function that values may share memory with, whatever the compiler folds."""
        found: set[Any] = set()
        stack = list(values)
        while stack:
            value = stack.pop()
            if value not in found:
                found.add(value)
                stack += self._sources(value)
        return tuple(i for i, argument in enumerate(self.entry.arguments) if argument in found)

    def _sources(self, value: Any) -> Collection[Any]:
        owner = value.owner
        if isinstance(owner, bindings.ir.Block):
            op = owner.owner.operation
            if op.name == "func.func":
                calls = self._calls.get(op.attributes["sym_name"].value, [])
                return [call.operands[_index(value)] for call in calls]
        else:
            op = owner.operation
        if op.name == "func.call":
            if _is_of_host(op):
                return []  # calls of Python functions read their operands, and return new memory
            body = self.body(op)
            return op.operands if body is None else [yielded(body)[_index(value)]]
        if len(op.regions) and operations.of(op.name).regions is not Regions.ELEMENTS:
            # The compiler may exchange the memory of a loop's state, and of what branches return.
            return [*op.operands, *(v for region in op.regions for block in region.blocks for v in yielded(block))]
        return _foldable(value)


def _is_of_host(call: Any) -> bool:
    return call.attributes["callee"].value.startswith(HOST_MODULE)


def _computes(op: Any, row: Operation) -> bool:
    """Whether an op certainly makes new values or a new layout, so that its result is new memory.

    Arithmetic with a constant may be an identity (x + 0, x * 1, x & -1), and
    arithmetic on two equal values may return one of them; any other computes.
    """
    operation = op.operation
    operands = list(operation.operands)
    if row.name == "stablehlo.dot_general":
        return not any(all(size == 1 for size in value.type.shape) for value in operands)
    if row.name == "stablehlo.compare":
        return not is_boolean(operands[0])  # p == true is p
    if row.name == "stablehlo.convert":
        # A conversion to a wider type and back may be folded, and so may a change of signedness alone.
        source, target = dtype_of(operands[0]), dtype_of(operation.results[0])
        resigned = source.kind in "iu" and target.kind in "iu" and source.itemsize == target.itemsize
        return not resigned and not is_lossless(source, target)
    if row.name == "stablehlo.reduce":
        return len(operation.results) == 1 and any(shape_of(operands[0])[d] > 1 for d in attrs.ints(op, "dimensions"))
    if not row.elementwise or len(operands) != 2 or operands[0] == operands[1]:
        return False
    constants = [splat_of(value) for value in operands]
    if constants == [None, None]:
        return all(isinstance(value.owner, bindings.ir.Block) for value in operands)
    if row.chooses or not is_floating(operands[0]) or None not in constants:
        return False
    number = next(float(value) for value in constants if value is not None)
    return math.isfinite(number) and number not in (0.0, 1.0)


def _index(value: Any) -> int:
    """The index of a value among the arguments of its block, or the results of its operation."""
    ir = bindings.ir
    is_argument = isinstance(value.owner, ir.Block)
    return int(ir.BlockArgument(value).arg_number if is_argument else ir.OpResult(value).result_number)

"""Whether a result may be written over an argument (`iree.abi.output`) while the program still reads it."""

from __future__ import annotations

from typing import Any

from passes import bindings, operations
from passes.match import functions
from passes.operations import Memory

ATTRIBUTE = "iree.abi.output"
# Marks a donated argument whose memory no result may take, since the compiler would decide when to write it.
DONATED = "stagec.donated"
# On the dispatch of a kernel: its operands of which each element is read only before that element of a result is
# written.
OWN_ELEMENTS = "stagec.own_elements"


def keep_safe_reuse(module: Any, function: str = "main", updates: bool = False) -> tuple[int, ...]:
    """Remove `iree.abi.output` from the arguments where it could change results.

    The compiler does not know that the memory it writes to is an argument's:
    it may write some elements of the result before another thread or a later
    kernel reads the argument's old values. That is harmless only where
    element i of the argument is needed for nothing but element i of that one
    result.

    Args:
      updates: whether updates may become kernels, which read the array that they update element by element.

    Returns:
      The indices of the arguments that a result is still written over.
    """
    ir = bindings.ir
    operation = functions(module).get(function)
    if operation is None or "arg_attrs" not in operation.attributes:
        return ()
    block = operation.regions[0].blocks[0]
    kept: list[int] = []
    dictionaries = []
    for i, dictionary in enumerate(operation.attributes["arg_attrs"]):
        if ATTRIBUTE in dictionary:
            if _is_read_elementwise(block.arguments[i], block, ir.IntegerAttr(dictionary[ATTRIBUTE]).value, updates):
                kept.append(i)
            else:
                others = {entry.name: entry.attr for entry in dictionary if entry.name != ATTRIBUTE}
                others[DONATED] = ir.UnitAttr.get(module.context)
                dictionary = ir.DictAttr.get(others, context=module.context)
        dictionaries.append(dictionary)
    operation.attributes["arg_attrs"] = ir.ArrayAttr.get(dictionaries, context=module.context)
    return tuple(kept)


def _is_read_by_one_kernel(argument: Any, block: Any, result: int) -> bool:
    """Whether one kernel alone reads an argument, element by element, and writes the result."""
    users = {use.owner.operation for use in argument.uses}
    call = users.pop() if len(users) == 1 else None
    if call is None or call.block != block or OWN_ELEMENTS not in call.attributes:
        return False
    own = list(call.attributes[OWN_ELEMENTS])
    end = list(block.operations)[-1].operation
    return all(use.operand_number in own for use in argument.uses) and end.operands[result] in list(call.results)


def _is_read_elementwise(argument: Any, block: Any, result: int, updates: bool) -> bool:
    if _is_read_by_one_kernel(argument, block, result):
        return True
    shape = list(argument.type.shape)
    seen = {argument}
    stack = [argument]
    while stack:
        for use in stack.pop().uses:
            user = use.owner.operation
            if user.block != block:
                return False
            if user.name == "func.return":
                if use.operand_number != result:
                    return False
                continue
            row = operations.of(user.name)
            is_update = updates and row.memory is Memory.UPDATED and use.operand_number == 0
            if not (row.elementwise or is_update) or list(user.results[0].type.shape) != shape:
                return False
            if user.results[0] not in seen:
                seen.add(user.results[0])
                stack.append(user.results[0])
    return True

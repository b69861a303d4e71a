"""Loops in the form that the compiler accepts."""

from __future__ import annotations

from typing import Any

from passes import bindings
from passes.match import functions, operations_in, uses

_BARRIER = "stablehlo.optimization_barrier"
# The lowering puts a barrier before the initial state of a dynamic shape, and then says what its sizes are.
_HELD = ("stablehlo.constant", _BARRIER, "flow.tensor.tie_shape")


def hold_state(module: Any) -> dict[str, int]:
    """Put a barrier before the initial state of each loop. Exact.

    The compiler refuses loops whose initial state is also read elsewhere, because of a circular dependency. Constants
    get no barrier, so that a counter is known and the loop becomes a plain `for`; neither do loops that are sorts,
    which capture nothing.

    Returns:
      The number of loops that got a barrier, by this function's name; empty if none.
    """
    count = 0
    for function in functions(module).values():
        for loop in operations_in(function, "stablehlo.while"):
            count += "sorts" not in loop.attributes and _hold(loop)
    return {"hold_state": count} if count else {}


def _hold(loop: Any) -> bool:
    ir = bindings.ir
    operands = list(loop.operands)
    makers = [None if isinstance(value.owner, ir.Block) else value.owner.name for value in operands]
    bare = [i for i, maker in enumerate(makers) if maker not in _HELD]
    if bare:
        values = [operands[i] for i in bare]
        with ir.InsertionPoint(loop), loop.location:
            held = ir.Operation.create(_BARRIER, [value.type for value in values], values)
        for i, result in zip(bare, held.results):
            loop.operands[i] = result
    return bool(bare)


def read_state(module: Any) -> dict[str, int]:
    """Have the body of a loop read all of its state. Exact.

    The compiler drops a part of the state that the body writes but never reads from the loop's arguments, keeps it
    among the results, and then fails because their numbers differ. A barrier in the body reads such a part.

    Returns:
      The number of parts that were not read, by this function's name; empty if none.
    """
    count = 0
    for function in functions(module).values():
        for loop in operations_in(function, "stablehlo.while"):
            count += _read(loop.regions[1].blocks[0])
    return {"read_state": count} if count else {}


def _read(body: Any) -> int:
    ir = bindings.ir
    unread = [i for i, argument in enumerate(body.arguments) if not uses(argument)]
    if unread:
        end = list(body.operations)[-1].operation
        operands = [end.operands[i] for i in unread] + [body.arguments[i] for i in unread]
        with ir.InsertionPoint(end), end.location:
            held = ir.Operation.create(_BARRIER, [v.type for v in operands], operands)
        for i, result in zip(unread, held.results):
            end.operands[i] = result
    return len(unread)

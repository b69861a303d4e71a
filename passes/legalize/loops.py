"""Loops in the form that the compiler accepts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from passes import bindings
from passes.match import functions, is_static, operations_in, uses

_BARRIER = "stablehlo.optimization_barrier"
_TIE = "flow.tensor.tie_shape"
# The lowering puts a barrier before the initial state of a dynamic shape, and then says what its sizes are.
_HELD = ("stablehlo.constant", _BARRIER, _TIE)


def _held(values: Sequence[Any]) -> list[Any]:
    """Values after a barrier, where the compiler does not know the sizes of dynamic shapes: it is told them again."""
    found = bindings.ir.Operation.create(_BARRIER, [value.type for value in values], values).results
    return [result if is_static(value) else _tied(result, value) for result, value in zip(found, values, strict=True)]


def _tied(result: Any, value: Any) -> Any:
    """An array of a dynamic shape, with the sizes of another one."""
    ir = bindings.ir
    signless = _signless(value.type)
    if signless != value.type:  # the operations on sizes take no unsigned integers
        tied = _tied(_bits(result, signless), _bits(value, signless))
        return _bits(tied, value.type)
    if not isinstance(value.owner, ir.Block) and value.owner.name == _TIE:
        sizes = list(value.owner.operands)[1:]
    else:
        index = ir.IndexType.get()
        axes = [i for i in range(value.type.rank) if value.type.is_dynamic_dim(i)]
        numbers = [
            ir.Operation.create("arith.constant", [index], [], {"value": ir.IntegerAttr.get(index, i)}) for i in axes
        ]
        sizes = [ir.Operation.create("tensor.dim", [index], [value, number.result]).result for number in numbers]
    return ir.Operation.create(_TIE, [result.type], [result, *sizes]).result


def _signless(type_: Any) -> Any:
    ir = bindings.ir
    if not str(type_.element_type).startswith("ui"):
        return type_
    element = ir.IntegerType.get_signless(ir.IntegerType(type_.element_type).width)
    return ir.RankedTensorType.get(list(type_.shape), element)


def _bits(value: Any, type_: Any) -> Any:
    if not isinstance(value.owner, bindings.ir.Block) and value.owner.name == "stablehlo.bitcast_convert":
        source = value.owner.operands[0]
        if source.type == type_:
            return source
    return bindings.ir.Operation.create("stablehlo.bitcast_convert", [type_], [value]).result


def hold_state(module: Any) -> dict[str, int]:
    """Put a barrier before the initial state of each loop. Exact.

    The compiler refuses loops whose initial state is also read elsewhere, because of a circular dependency. Constants
    get no barrier, so that a counter is known and the loop becomes a plain `for`.

    Returns:
      The number of loops that got a barrier, by this function's name; empty if none.
    """
    count = 0
    for function in functions(module).values():
        for loop in operations_in(function, "stablehlo.while"):
            count += _hold(loop)
    return {"hold_state": count} if count else {}


def _hold(loop: Any) -> bool:
    ir = bindings.ir
    operands = list(loop.operands)
    makers = [None if isinstance(value.owner, ir.Block) else value.owner.name for value in operands]
    bare = [i for i, maker in enumerate(makers) if maker not in _HELD]
    if bare:
        values = [operands[i] for i in bare]
        with ir.InsertionPoint(loop), loop.location:
            held = _held(values)
        for i, result in zip(bare, held):
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
    unread = [i for i, argument in enumerate(body.arguments) if not uses(argument)]
    if unread:
        end = list(body.operations)[-1].operation
        operands = [end.operands[i] for i in unread] + [body.arguments[i] for i in unread]
        with bindings.ir.InsertionPoint(end), end.location:
            held = _held(operands)
        for i, result in zip(unread, held):
            end.operands[i] = result
    return len(unread)

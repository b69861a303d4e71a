"""Workarounds for IREE miscompiles, applied between compiler phases; see `stagec.workarounds`."""

from __future__ import annotations

from typing import Any

from passes import printed
from passes.match import operations_in
from stagec.backends import Target
from stagec.compiler.mlir import ir

_WIDE = ("i64", "f64")
# The kernels run in the order of the program. Where one reads what a later one updates in place, the
# compiler's own schedules take the two for independent, and may run the update first.
_IN_ORDER = "debug"
# Other shapes of the same memory.
_RESHAPES = ("flow.tensor.reshape", "flow.tensor.bitcast")


def describe(module: Any, target: Target) -> None:
    """Add the target's own description, where it has one, and that all values are on one device.

    The compiler knows no device for what a loop carries, and would begin each
    round with copies of it. A program that calls Python keeps the copies: without
    them, what is passed from a loop to Python may not have been computed yet.
    """
    calls_python = any(
        not len(function.regions[0].blocks)
        for function in (op.operation for op in module.regions[0].blocks[0].operations)
        if function.name == "func.func"
    )
    with module.context:
        if not calls_python:
            module.attributes["stream.affinity"] = ir().Attribute.parse("#hal.device.promise<@__device_0>")
        description = target.on.description(target)
        if description:
            module.attributes["hal.device.targets"] = ir().Attribute.parse(f"[{description}]")


def exchange_selections(module: Any) -> int:
    """Have a `select_and_scatter` select the first of equal elements where it says so; returns how many there are.

    The compiler asks whether a further element is to be selected instead of the one before, and passes the further one
    first. The selection says whether the one before stays, which comes first. The module is for the compiler alone:
    what is written here means something else.
    """
    found = operations_in(module, "stablehlo.select_and_scatter")
    for operation in found:
        block = operation.regions[0].blocks[0]
        values = list(block.arguments)
        readers = [[(use.owner.operation, use.operand_number) for use in value.uses] for value in values]
        for places, other in zip(readers, reversed(values)):
            for reader, number in places:
                reader.operands[number] = other
        end = list(block.operations)[-1].operation
        with ir().InsertionPoint(end), end.location:
            (stays,) = end.operands
            end.operands[0] = ir().Operation.create("stablehlo.not", [stays.type], [stays]).result
    return len(found)


def before_stream(module: Any) -> int:
    """Have kernels run in order, no memory filled once for two that write to it, and no wait lost in a loop.

    Args:
      module: at the compiler's phase `flow`.

    Returns:
      How many values were replaced.
    """
    with module.context:
        order = ir().Attribute.parse(f'#stream.partitioning_config<"{_IN_ORDER}">')
    module.attributes["stream.partitioning"] = order
    return fill_for_each_use(module) + read_state_itself(module)


def read_state_itself(module: Any) -> int:
    """Have no barrier between a loop's state and what reads it.

    The compiler has what reads the state of a loop that runs on a queue wait until
    the round before has written it. It does not look across an optimization barrier,
    and lets what reads the other side run at once. At the phase `flow`, such barriers
    have kept operations in kernels of their own, and are needed no more.

    Args:
      module: at the compiler's phase `flow`.

    Returns:
      How many values were replaced.
    """
    count = 0
    for barrier in operations_in(module, "util.optimization_barrier"):
        for value, held in zip(list(barrier.operands), list(barrier.results)):
            # What nothing reads keeps a part of the state that the compiler would drop.
            if str(value.type).startswith("tensor") and list(held.uses) and _is_state(value):
                held.replace_all_uses_with(value)
                count += 1
                if len(barrier.operands) == 1:
                    barrier.erase()
    return count


def _is_state(value: Any) -> bool:
    """Whether a value is an argument of a block, in whatever shape."""
    while not isinstance(value.owner, ir().Block):
        if value.owner.name not in _RESHAPES:
            return False
        value = value.owner.operands[0]
    return True


def fill_for_each_use(module: Any) -> int:
    """Have no memory that is filled with one 64-bit number written to twice.

    The compiler fills it in a kernel, takes two such kernels for one, and lets
    both of the operations that write into the memory have it.

    Args:
      module: at the compiler's phase `flow`.

    Returns:
      How many uses of such memory there are; each has its own afterwards.
    """
    count = 0
    for filling in operations_in(module, "flow.tensor.splat"):
        number, *sizes = filling.operands
        if str(number.type) not in _WIDE:
            continue
        for use in list(filling.result.uses):
            user = use.owner.operation
            with ir().InsertionPoint(user), filling.location:
                hidden = ir().Operation.create("util.optimization_barrier", [number.type], [number])
                own = ir().Operation.create("flow.tensor.splat", [filling.result.type], [hidden.result, *sizes])
            user.operands[use.operand_number] = own.result
            count += 1
        filling.erase()
    return count


def inline_lookups(module: Any) -> int:
    """Have no operation without loops look up elements of arrays where a kernel for CPUs has loops besides.

    The compiler makes vectors of all operations in such a kernel. It does not
    expect an index that is computed in an operation without loops: the process
    ends with a segmentation fault. What such an operation computes is moved to
    the kernel itself, as scalars.

    Args:
      module: at the compiler's phase `executable-configurations`.

    Returns:
      How many operations were replaced.
    """
    count = 0
    for function in operations_in(module, "func.func"):
        if "translation_info" not in function.attributes:
            continue
        dialect = printed.pipeline_dialect(function.attributes["translation_info"])
        nests = operations_in(function, "linalg.generic") if dialect == "iree_cpu" else []
        for op in nests if len(nests) > 1 else ():
            if len(op.attributes["iterator_types"]) == 0 and operations_in(op, "tensor.extract"):
                _inline(op)
                count += 1
    return count


def _inline(op: Any) -> None:
    create = ir().Operation.create
    *body, end = (o.operation for o in op.regions[0].blocks[0].operations)
    with ir().InsertionPoint(op), op.location:
        for argument, operand in zip(op.regions[0].blocks[0].arguments, op.operands):
            is_scalar = operand.type == argument.type
            argument.replace_all_uses_with(
                operand if is_scalar else create("tensor.extract", [argument.type], [operand]).result
            )
        for inner in body:
            inner.move_before(op)
        for result, value in zip(op.results, end.operands):
            result.replace_all_uses_with(create("tensor.from_elements", [result.type], [value]).result)
    op.erase()


def has_loops(module: Any) -> bool:
    """Whether a module at the compiler's phase `flow` repeats anything."""
    return bool(operations_in(module, "scf.while", "scf.for"))


def own_memory(module: Any) -> int:
    """Have what a loop carries in memory that is free again when nothing refers to it.

    Worker threads lose some of the memory that they allocate in the order of
    their queue, if nothing gives it back in that order: each call of a loop
    leaves a part of its rounds' memory behind, for as long as the process
    lives. The host allocates it instead, after the round before, so that no
    more than two rounds have memory at a time.

    Args:
      module: at the compiler's phase `hal`, for worker threads of a CPU.

    Returns:
      How many allocations were replaced.
    """
    create = ir().Operation.create
    count = 0
    for op in operations_in(module, "hal.device.queue.alloca"):
        if any(use.owner.operation.name == "hal.device.queue.dealloca" for use in op.results[0].uses):
            continue
        device, affinity, before, after, _, memory, usage, size = op.operands
        with ir().InsertionPoint(op), op.location:
            number, flags = (ir().IntegerType.get_signless(bits) for bits in (32, 64))
            attributes = {"value": ir().IntegerAttr.get(number, -1)}
            forever = create("arith.constant", [number], attributes=attributes).result
            create("hal.fence.await", [number], [forever, before], attributes={"flags": ir().IntegerAttr.get(flags, 0)})
            allocator = create("hal.device.allocator", [ir().Type.parse("!hal.allocator")], [device]).result
            operands = [allocator, affinity, memory, usage, size]
            own = create("hal.allocator.allocate", [op.results[0].type], operands).result
        op.results[0].replace_all_uses_with(own)
        if after != before:
            # Of two that are one, no fence, MLIR would go through its uses for ever.
            after.replace_all_uses_with(before)
        op.erase()
        count += 1
    return count


def own_references(module: Any) -> int:
    """Have no branch between blocks pass one reference twice.

    A loop or a choice becomes branches, and what it carries becomes their
    operands. The compiler's register allocation may move a reference out of its
    register for one operand, and then read it again for another: the program
    runs with a buffer lost. Each further operand gets a reference of its own.

    Args:
      module: at the end of the compiler's pipeline.

    Returns:
      How many operands were given a reference of their own.
    """
    count = 0
    for branch in operations_in(module, "vm.br", "vm.cond_br"):
        seen: set[Any] = set()
        for i, value in enumerate(branch.operands):
            if value in seen:
                with ir().InsertionPoint(branch), branch.location:
                    own = ir().Operation.create("vm.assign.ref", results=[value.type], operands=[value])
                branch.operands[i] = own.result
                count += 1
            elif str(value.type).startswith("!vm.ref"):
                seen.add(value)
    return count

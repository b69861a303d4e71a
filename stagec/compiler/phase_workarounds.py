"""Workarounds for IREE miscompiles, applied between compiler phases; the records are in `tests/workarounds`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from passes import printed
from passes.match import operations_in
from stagec.backends import Target
from stagec.compiler.mlir import ir

_WIDE = ("i64", "f64")
# The schedule that runs kernels in the order of the program. Where a kernel reads what a later one updates in
# place, the compiler's other schedules treat the two as independent, and may run the update first.
_IN_ORDER = "debug"
# Operations that kernels are not moved across.
_DIVIDING = ("scf.while", "scf.for", "scf.if", "scf.index_switch", "util.optimization_barrier")
_ALLOCATE, _DEALLOCATE = "hal.device.queue.alloca", "hal.device.queue.dealloca"
# Operations that submit other work to a queue, and the operand that all of them signal.
_SUBMITTING = tuple(
    f"hal.device.queue.{name}"
    for name in "barrier call copy dispatch execute execute.indirect fill read update write".split()
)
_SIGNAL = 3
# Operations that only give memory another shape.
_RESHAPES = ("flow.tensor.reshape", "flow.tensor.bitcast")


def describe(module: Any, target: Target) -> None:
    """Add the target's own description, if it has one, and the attribute that places all values on one device.

    Without the attribute, the compiler does not know the device of a loop's state,
    and begins each round with copies of it. A program that calls Python keeps these
    copies: without them, Python may get state that is not computed yet.
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


def swap_selection_operands(module: Any) -> int:
    """Swap the operands of selections, so that `select_and_scatter` selects among equal elements as StableHLO says.

    In StableHLO, the region gets the selected element first, then a further one, and returns whether the selected one
    stays. IREE passes the further element first, and takes the result to say whether it replaces the selected one. The
    module that results is for IREE only, since it means something else as StableHLO.

    Returns:
      The number of these operations.
    """
    found = operations_in(module, "stablehlo.select_and_scatter")
    for operation in found:
        block = operation.regions[0].blocks[0]
        values = list(block.arguments)
        readers = [[(use.owner.operation, use.operand_number) for use in value.uses] for value in values]
        for uses, other in zip(readers, reversed(values)):
            for reader, number in uses:
                reader.operands[number] = other
        end = list(block.operations)[-1].operation
        with ir().InsertionPoint(end), end.location:
            (stays,) = end.operands
            end.operands[0] = ir().Operation.create("stablehlo.not", [stays.type], [stays]).result
    return len(found)


def before_stream(module: Any) -> int:
    """Set the schedule that keeps the order of kernels, and apply `fill_for_each_use`, `remove_state_barriers` and
    `hold_sources`.

    Args:
      module: at the compiler's phase `flow`.

    Returns:
      The number of values replaced.
    """
    with module.context:
        order = ir().Attribute.parse(f'#stream.partitioning_config<"{_IN_ORDER}">')
    module.attributes["stream.partitioning"] = order
    return fill_for_each_use(module) + remove_state_barriers(module) + hold_sources(module)


def remove_state_barriers(module: Any) -> int:
    """Remove the optimization barriers between a loop's state and its readers.

    In a loop that runs on a queue, the compiler makes readers of the state wait until
    the round before has written it. It does not look across an optimization barrier,
    and lets a reader of the barrier's result run at once. At the phase `flow`, the
    barriers have kept operations in kernels of their own, and are no longer needed.

    Args:
      module: at the compiler's phase `flow`.

    Returns:
      The number of values replaced.
    """
    count = 0
    for barrier in operations_in(module, "util.optimization_barrier"):
        for value, held in zip(list(barrier.operands), list(barrier.results)):
            # A barrier without readers keeps a part of the state that the compiler would drop.
            if str(value.type).startswith("tensor") and list(held.uses) and _is_state(value):
                held.replace_all_uses_with(value)
                count += 1
                if len(barrier.operands) == 1:
                    barrier.erase()
    return count


def _is_state(value: Any) -> bool:
    """Whether a value is an argument of a block, or a reshape of one."""
    while not isinstance(value.owner, ir().Block):
        if value.owner.name not in _RESHAPES:
            return False
        value = value.owner.operands[0]
    return True


def fill_for_each_use(module: Any) -> int:
    """Fill memory once for each use, not once for all, with 64-bit numbers, and with others where `_is_divided`.

    The compiler fills memory with a 64-bit number in a kernel, merges two equal kernels
    into one, and lets two operations write into the one memory. It clones other fills
    for their readers, but overlooks some where a program is divided.

    Args:
      module: at the compiler's phase `flow`.

    Returns:
      The number of uses; each has memory of its own afterwards.
    """
    count, divided = 0, _is_divided(module)
    for fill in operations_in(module, "flow.tensor.splat"):
        number, *sizes = fill.operands
        if divided or str(number.type) in _WIDE:
            for use in list(_uses_of_reshapes(fill.result)):
                _fill(use, number, fill, sizes)
                count += 1
            _erase(fill)
    return count


def _erase(op: Any) -> None:
    """Erase an operation, and the reshapes of its result."""
    for use in list(op.result.uses):
        _erase(use.owner.operation)
    op.erase()


def _is_divided(module: Any) -> bool:
    """Whether loops, conditionals or barriers divide a program into groups of kernels."""
    return bool(operations_in(module, *_DIVIDING))


def _uses_of_reshapes(value: Any) -> Iterator[Any]:
    """The uses of a value and of reshapes of it."""
    for use in value.uses:
        user = use.owner.operation
        if user.name in _RESHAPES:
            yield from _uses_of_reshapes(user.results[0])
        else:
            yield use


def _fill(use: Any, number: Any, fill: Any, sizes: Sequence[Any]) -> None:
    """Have a use read memory of its own, filled with a number that the compiler does not know."""
    user = use.owner.operation
    reshapes, value = [], user.operands[use.operand_number]
    while value != fill.result:
        reshapes.append(value.owner)
        value = value.owner.operands[0]
    with ir().InsertionPoint(user), fill.location:
        # The host has no floats of 16 bits.
        stored = ir().IntegerType.get_signless(16) if str(number.type) in ("f16", "bf16") else number.type
        bits = _create("arith.bitcast", stored, number)
        hidden = _create("arith.bitcast", number.type, _create("util.optimization_barrier", stored, bits))
        own = _create("flow.tensor.splat", fill.result.type, hidden, *sizes)
        for reshape in reversed(reshapes):
            clone = reshape.clone()
            clone.operands[0] = own
            own = clone.results[0]
    user.operands[use.operand_number] = own


def _create(name: str, kind: Any, *operands: Any) -> Any:
    """The result of a new operation; a conversion to the type that a value has is the value."""
    if name == "arith.bitcast" and operands[0].type == kind:
        return operands[0]
    return ir().Operation.create(name, [kind], operands).result


def hold_sources(module: Any) -> int:
    """Hide by barriers that values are computed from nothing, where loops, conditionals or barriers divide a program.

    The compiler clones kernels that read no arrays into each group of kernels that reads
    their results. It overlooks readers in a loop, in a conditional and in groups on the
    other side of one, leaves the original outside of all groups, and refuses the program.

    Args:
      module: at the compiler's phase `flow`.

    Returns:
      The number of values held.
    """
    if not _is_divided(module):
        return 0
    count = 0
    for op in operations_in(module, "flow.dispatch"):
        if any(str(value.type).startswith("tensor") for value in op.operands):
            continue
        for value in op.results:
            if len(list(_uses_of_reshapes(value))) > 1:
                with ir().InsertionPoint.after(op), op.location:
                    held = ir().Operation.create("util.optimization_barrier", [value.type], [value])
                value.replace_all_uses_except(held.result, held)
                count += 1
    return count


def inline_lookups(module: Any) -> int:
    """Inline operations without loops that look up elements of arrays, in kernels for CPUs that have other loops.

    The compiler vectorizes all operations of such a kernel. An index that is computed
    in an operation without loops crashes it with a segmentation fault. The operation's
    body is moved into the kernel itself, as scalars.

    Args:
      module: at the compiler's phase `executable-configurations`.

    Returns:
      The number of operations replaced.
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
    """Whether a module at the compiler's phase `flow` has loops."""
    return bool(operations_in(module, "scf.while", "scf.for"))


def allocate_on_host(module: Any) -> int:
    """Allocate the state of loops on the host, in memory that is freed when nothing refers to it.

    Worker threads leak memory that is allocated in the order of their queue and not
    deallocated in that order: each call of a loop leaks a part of its rounds' memory
    for as long as the process lives. So the host allocates it, after the round
    before, and no more than two rounds have memory at a time.

    Args:
      module: at the compiler's phase `hal`, for worker threads of a CPU.

    Returns:
      The number of allocations replaced.
    """
    found = [op for op in operations_in(module, _ALLOCATE) if not any(map(_deallocates, op.results[0].uses))]
    for op in found:
        _allocate_on_host(op)
    return len(found)


def _deallocates(use: Any) -> bool:
    return use.owner.operation.name == _DEALLOCATE


def _allocate_on_host(op: Any) -> None:
    """Replace an allocation in a queue's order by one on the host, which waits for what came before."""
    create = ir().Operation.create
    device, affinity, before, after, _, memory, usage, size = op.operands
    with ir().InsertionPoint(op), op.location:
        _await(before)
        allocator = create("hal.device.allocator", [ir().Type.parse("!hal.allocator")], [device]).result
        operands = [allocator, affinity, memory, usage, size]
        own = create("hal.allocator.allocate", [op.results[0].type], operands).result
    op.results[0].replace_all_uses_with(own)
    _skip(op, before, after)


def _skip(op: Any, before: Any, after: Any) -> None:
    """Erase an operation in a queue's order; what waited for it waits for what it waited for."""
    # A null fence stands for nothing to wait for in other operations, too.
    if isinstance(after.owner, ir().Block) or after.owner.name != "util.null":
        after.replace_all_uses_with(before)
    op.erase()


def _await(fence: Any) -> None:
    """Insert operations that wait for a fence, and end the call with an error where what it stands for failed."""
    create = ir().Operation.create
    number, flags = (ir().IntegerType.get_signless(bits) for bits in (32, 64))
    forever = create("arith.constant", [number], attributes={"value": ir().IntegerAttr.get(number, -1)}).result
    no_flags = {"flags": ir().IntegerAttr.get(flags, 0)}
    status = create("hal.fence.await", [number], [forever, fence], attributes=no_flags).result
    create("util.status.check_ok", [], [status], attributes={"message": ir().StringAttr.get("failed to wait")})


def work_in_order(module: Any) -> int:
    """Submit work to a queue only after the work before it, and leave nothing to do to the thread of IREE's own.

    IREE wakes the thread that watches a Vulkan queue by counting up a semaphore, in
    two steps. The program's thread does so when it submits work, and IREE's own when
    work becomes ready that had to wait for other work, such as a deallocation. If both
    do so at the same time, the lower count may be signalled last, for which Mesa
    declares the device lost. So memory is allocated on the host, and freed when nothing
    refers to it, and the program waits for all work but the one that signals the end of
    the call.

    Args:
      module: at the compiler's phase `hal`.

    Returns:
      The number of operations changed.
    """
    allocations, deallocations = operations_in(module, _ALLOCATE), operations_in(module, _DEALLOCATE)
    for op in allocations:
        _allocate_on_host(op)
    for op in deallocations:
        device, affinity, before, after, _ = op.operands
        if _ends_call(after):
            with ir().InsertionPoint(op), op.location:
                flags = {"flags": op.attributes["flags"]}
                ir().Operation.create("hal.device.queue.barrier", [], [device, affinity, before, after], flags)
            op.erase()
        else:
            _skip(op, before, after)
    submissions = [op for op in operations_in(module, *_SUBMITTING) if not _ends_call(op.operands[_SIGNAL])]
    for op in submissions:
        with ir().InsertionPoint.after(op), op.location:
            _await(op.operands[_SIGNAL])
    return len(allocations) + len(deallocations) + len(submissions)


def _ends_call(fence: Any) -> bool:
    """Whether a fence is an argument of the program: the caller waits for it."""
    return isinstance(fence.owner, ir().Block)


def copy_repeated_references(module: Any) -> int:
    """Copy references that a branch between blocks passes more than once.

    Loops and conditionals become branches, and their state the operands. The
    compiler's register allocation may move a reference out of its register for one
    operand, and then read it again for another: the program runs with a null
    buffer. Each further operand gets a reference of its own.

    Args:
      module: at the end of the compiler's pipeline.

    Returns:
      The number of operands that got a reference of their own.
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

"""Loops as kernels: whole functions with loops or conditionals, or the outermost loops that are supported."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from passes import bindings, build
from passes.analysis.counters import compared, counter, trip_count
from passes.analysis.strided import row_strides
from passes.kernels import control, cost, inner_products, joined, sums, updates, views
from passes.kernels.arithmetic import apply, can
from passes.kernels.dispatch import Kernel, Kernels
from passes.kernels.elements import RefusedError
from passes.kernels.kernel import LARGE, Lowering, Rule, element_type
from passes.kernels.linear import ZERO
from passes.kernels.nests import Write
from passes.kernels.processor import Processor
from passes.kernels.values import Buffer, Value, View
from passes.match import (
    before_barriers,
    captured_values,
    functions,
    has_one_use,
    is_uninitialized,
    producer,
    shape_of,
    splat_of,
    yielded,
)
from passes.operations import CONTROL

_UPDATE = "stablehlo.dynamic_update_slice"


def rounds_of(loop: Any) -> int | None:
    """How many rounds a loop has, if they may run at the same time; else None.

    Its results are then whole arrays, of which round `i` writes row `i` along some axis.
    """
    count = trip_count(loop)
    test = compared(loop)
    if count is None or count < 2 or test is None:
        return None
    first = counter(loop, test)
    if first is None or (first.start, first.step) != (0, 1):
        return None
    body = loop.regions[1].blocks[0]
    columns = enumerate(zip(body.arguments, yielded(body)))
    kinds = [_kind(loop, i, argument, value, test, count) for i, (argument, value) in columns]
    return count if "rows" in kinds and None not in kinds else None


def _kind(loop: Any, i: int, argument: Any, value: Any, test: int, count: int) -> str | None:
    """What a part of the state is: the same in all rounds, a counter, or rows that the rounds write; else None."""
    value = before_barriers(value)
    if value == argument:
        return "fixed"
    if counter(loop, i) is not None:
        return "counter"
    update = producer(value, _UPDATE)
    if update is None or not has_one_use(argument) or before_barriers(update.operation.operands[0]) != argument:
        return None
    _, rows, *starts = update.operation.operands
    whole, part = shape_of(argument), shape_of(rows)
    number = loop.regions[1].blocks[0].arguments[test]
    moving = [axis for axis, start in enumerate(starts) if before_barriers(start) == number]
    if len(moving) != 1 or (whole[moving[0]], part[moving[0]]) != (count, 1):
        return None
    others = all(n == m for axis, (n, m) in enumerate(zip(whole, part)) if axis != moving[0])
    return "rows" if others else None


# The most scratch memory on the stack of the thread that runs the kernel; above it, large buffers become results that
# nobody reads.
_STACK = 128 << 10


def _elementwise(k: Lowering, op: Any) -> None:
    shape, element = element_type(op.results[0].type)
    values = [k.env[v] for v in op.operands]
    elements = [v.element for v in values]
    if not can(op.name.removeprefix("stablehlo.")):
        raise RefusedError(f"{op.name.removeprefix('stablehlo.')} has no form in kernels")
    if any(v.shape not in (shape, ()) for v in values):
        raise RefusedError("bitcasts that change the number of axes")

    def read(builder: Any, at: Any) -> Any:
        items = [builder.get(v, at if v.shape == shape else ()) for v in values]
        return apply(builder, op, items, elements, element)

    k.elementwise(op, k.function(shape, element, read), values)


class _Rules(dict[str, Rule]):
    """Rules by the names of operations; other StableHLO operations may be elementwise."""

    def get(self, name: str, default: Any = None) -> Any:
        """The rule of an operation."""
        found = super().get(name)
        return found or (_elementwise if name.startswith("stablehlo.") else default)


RULES = _Rules({**views.RULES, **updates.RULES, **sums.RULES, **inner_products.RULES, **control.RULES})


class _Loops(Lowering):
    """A lowering of functions and loops."""

    reads_constants = True


def form(kernels: Kernels, processor: Processor) -> dict[str, int]:
    """Replace loops, and functions with loops or conditionals, by kernels, in place; returns the number of kernels."""
    count = 0
    for function in functions(kernels.module).values():
        for block in function.regions[0].blocks:
            if not any(op.operation.name in CONTROL for op in block.operations):
                continue
            made = _shared(kernels, processor, block)
            if made:
                count += made + _outermost(kernels, processor, block)
            elif _whole(kernels, processor, function, block):
                count += 1
            else:
                count += _outermost(kernels, processor, block)
    return {"loops": count} if count else {}


def _shared(kernels: Kernels, processor: Processor, block: Any) -> int:
    """Replace the loops of a block whose rounds workgroups share."""
    loops = [o.operation for o in block.operations if o.operation.name == "stablehlo.while"]
    counts = [(op, count) for op in loops if (count := rounds_of(op)) is not None]
    return sum(_loop(kernels, processor, op, count) for op, count in counts)


def _outermost(kernels: Kernels, processor: Processor, block: Any) -> int:
    """Replace the loops of a block; in conditionals, and in loops that are not supported, the loops inside."""
    count = 0
    for op in [o.operation for o in block.operations]:
        if op.name == "stablehlo.while" and _loop(kernels, processor, op):
            count += 1
        elif op.name in CONTROL:
            count += sum(_outermost(kernels, processor, b) for region in op.regions for b in region.blocks)
    return count


def _whole(kernels: Kernels, processor: Processor, function: Any, block: Any) -> bool:
    """Make one kernel of a function; returns whether that was possible."""
    k = _Loops(RULES, processor)
    *operations, end = (op.operation for op in block.operations)
    name = f"loops_{function.attributes['sym_name'].value}"
    try:
        with k.writer.at(function.location):
            for argument in block.arguments:
                k.operand(argument)
            with k.block(block) as values:
                cost.check_straight(k.work.get(0, 0))
                outputs = _outputs(k, values)
    except RefusedError as error:
        kernels.plan.refuse(name, function.location, str(error))
        return False
    results = _dispatch(kernels, k, name, outputs, end.operands, end)
    for number, result in enumerate(results):
        end.operands[number] = result
    _erase_unused(operations)
    return True


def _loop(kernels: Kernels, processor: Processor, op: Any, rounds: int = 1) -> bool:
    """Make a kernel of a loop; returns whether that was possible.

    Args:
      rounds: how many rounds of the loop workgroups may share.
    """
    k = _Loops(RULES, processor)
    groups = -(-rounds // -(-rounds // cost.MAX_WORKGROUPS))
    if groups > 1:
        k.share = k.symbols.new(str(k.writer.workgroup(0, groups)), 0, groups - 1), groups
    used = [result for result in op.results if any(True for _ in result.uses)]
    given, splats = [], []
    for value in dict.fromkeys((*op.operands, *captured_values(op))):
        known = before_barriers(value) if is_uninitialized(value) else value
        if splat_of(known) is not None and known.owner.name == "stablehlo.constant":
            splats.append((value, known))
        else:
            given.append(value)
    lying_together = joined.operands(given, len(used), op)
    try:
        with k.writer.at(op.location):
            for value, known in splats:
                k.lower(known.owner.operation)
                k.env[value] = k.env[known]
            for operands in lying_together:
                operands.read(k)
            for value in given:
                if value not in k.env:
                    k.operand(value)
            k.lower(op)
            outputs = _outputs(k, [k.env[result] for result in used])
        if groups > 1:
            cost.check_shared(k.total)
    except RefusedError as error:
        for operands in lying_together:
            operands.erase()
        if groups == 1:
            kernels.plan.refuse("loop", op.location, str(error))
        return False
    for result, made in zip(used, _dispatch(kernels, k, "loop", outputs, used, op, groups)):
        result.replace_all_uses_with(made)
    op.erase()
    return True


def _outputs(k: Lowering, values: Sequence[Value]) -> list[View]:
    """Where each value is in row-major order: in memory of its own, or that of several small ones if there are many."""
    found: dict[int, View] = {}
    if len(values) + len(k.operands) > cost.MAX_BUFFERS and k.share is None:
        for group in joined.together([(v.size, v.element) for v in values]):
            whole = k.temporary((sum(values[i].size for i in group),), values[group[0]].element)
            for i, place in zip(group, joined.parts(whole, [values[i] for i in group])):
                k.write([Write(values[i], place)])
                found[i] = place
    taken: list[Buffer] = []
    for i, value in enumerate(values):
        if i in found:
            continue
        view = value.view
        if view is None or view.buffer not in k.scratch or view.buffer in taken or not _is_whole(k, value):
            view = k.temporary(value.shape, value.element)
            k.write([Write(value, view)])
        found[i] = view
        taken.append(view.buffer)
    views = [found[i] for i in range(len(values))]
    buffers = {view.buffer for view in views}
    count = len(buffers) + len(k.operands)
    if count + len(_spilled(k, [*buffers])) > cost.MAX_BUFFERS:
        raise RefusedError(f"{count} operands and results")
    return views


def _spilled(k: Lowering, outputs: Sequence[Buffer]) -> list[Buffer]:
    """Scratch that does not fit on the stack."""
    scratch = [buffer for buffer in k.scratch if buffer not in outputs]
    total = sum(b.bytes for b in scratch if b.bytes <= LARGE or k.share is None)
    if k.share is not None and total > _STACK:
        raise RefusedError(f"{total} bytes of scratch for each workgroup")
    return [b for b in scratch if b.bytes > LARGE] if total > _STACK or k.share is not None else []


def _is_whole(k: Lowering, value: Value) -> bool:
    assert value.view is not None, "only what is in memory is asked about"
    steps = row_strides(value.shape)
    return (
        value.view.buffer.size == value.size
        and value.view.offset == ZERO
        and all(a == b for a, b, n in zip(value.view.strides, steps, value.shape) if n > 1)
    )


def _dispatch(
    kernels: Kernels,
    k: Lowering,
    name: str,
    views: list[View],
    results: Sequence[Any],
    before: Any,
    groups: int = 1,
) -> list[Any]:
    """Insert the kernel, and its call before an operation; returns the results of the call."""
    outputs = list(dict.fromkeys(view.buffer for view in views))
    scratch = [buffer for buffer in k.scratch if buffer not in outputs]
    spilled = _spilled(k, outputs)
    body, k.writer.instructions = k.writer.instructions, []
    with k.writer.at(before.location):
        for buffer in scratch:
            if buffer not in spilled:
                k.writer.allocate(buffer)
    k.writer.instructions += body
    inputs = [buffer.binding for _, buffer in k.operands]
    kernel = Kernel.written(name, k.writer, inputs, [b.binding for b in (*outputs, *spilled)], (groups,))
    types = {view.buffer: value.type for view, value in zip(views, results)}
    with bindings.ir.InsertionPoint(before), before.location:
        for buffer, type_ in types.items():
            if math.prod(type_.shape) < buffer.size:
                types[buffer] = build.tensor_type((buffer.size,), type_.element_type)
        arrays = kernels.dispatch(kernel, [_outside(value, before) for value, _ in k.operands], [*types.values()])
        by_buffer = dict(zip(types, arrays))
        made = [joined.separate(by_buffer[view.buffer], view, value.type) for view, value in zip(views, results)]
    kernels.plan.accept(name, before.location, len(k.writer.instructions), sum(b.bytes for b in scratch))
    return made


def _outside(value: Any, before: Any) -> Any:
    """An operand of a kernel; a constant of the body of a loop is repeated where the kernel is called."""
    maker = producer(value, "stablehlo.constant")
    if maker is None or maker.operation.block == before.block:
        return value
    return maker.operation.clone(bindings.ir.InsertionPoint(before)).results[0]


def _erase_unused(operations: Sequence[Any]) -> None:
    for op in reversed(operations):
        if not any(True for result in op.results for _ in result.uses):
            op.erase()

"""Straight-line programs as kernels: elementwise operations and reductions of one iteration space are one kernel.

The blocks of a function are analyzed once (`nodes`): values that need memory, and reductions, are nodes. Nodes that
share a space and read one another at the same element form a group (`groups`), which is written as sweeps over rows,
over strips of columns, or over all elements (`writing`, `sweep`). Each workgroup has a fixed share of the space.
"""

from __future__ import annotations

from typing import Any

from passes import bindings, build
from passes.analysis.host_scalars import HostScalars
from passes.kernels import cost
from passes.kernels.dispatch import HOST, Kernel, Kernels
from passes.kernels.elements import RefusedError
from passes.kernels.loops import RULES
from passes.kernels.processor import Processor
from passes.kernels.straight.equal import Reach, Written, key_of
from passes.kernels.straight.flattened import flatten
from passes.kernels.straight.forms import FORMS, form as form_own_kernel
from passes.kernels.straight.groups import Group, Planner
from passes.kernels.straight.lazy import captured, has_effects, operands_of
from passes.kernels.straight.node import Node
from passes.kernels.straight.nodes import Reading
from passes.kernels.straight.reduced import untranspose
from passes.kernels.straight.writing import Writing
from passes.kernels.values import Buffer, NotVectorsError
from passes.match import functions, operations_in, producer
from passes.simplify.constants import computed

__all__ = ["form"]

_BARRIER = "stablehlo.optimization_barrier"
# The most elements of an array that is computed at compile time.
_MOST_CONSTANTS = 1 << 14


def form(kernels: Kernels, processor: Processor, whole: bool = False) -> dict[str, int]:
    """Replace elementwise operations and reductions by kernels, in place; returns the number of kernels.

    Args:
      whole: whether everything but host scalars is to be kernels, including conditions of loops and updates in loops.
    """
    count = 0
    written: dict[Any, Written | str] = {}
    kinds: dict[Any, int] = {}
    for op in kernels.found("stablehlo.dot_general"):
        if cost.is_packed(op):
            kernels.plan.refuse("elements", op.location, "a large product, for which the compiler packs operands")
            return {}
    for function in functions(kernels.module).values():
        host = HostScalars(function).found if whole else None
        for block in _host_blocks(function, whole):
            count += _Block(kernels, processor, block, written, kinds, host).form()
    return {"straight": count} if count else {}


def _host_blocks(operation: Any, conditions: bool) -> list[Any]:
    """The blocks of a function and of its loops and conditionals, inner blocks first.

    Args:
      conditions: whether to include the condition blocks of loops, which the compiler runs on the host.
    """
    found = []
    for number, region in enumerate(operation.regions):
        if operation.name == "stablehlo.while" and number == 0 and not conditions:
            continue
        for block in region.blocks:
            for op in block.operations:
                if op.operation.name in HOST:
                    found += _host_blocks(op.operation, conditions)
            found.append(block)
    return found


class _Block:
    """A block whose operations become kernels.

    Args:
      written: the kernels of groups, or the reasons why there are none, by key (`equal.key_of`).
      kinds: the numbers of regions, which are part of these keys.
      host: the host scalars, if everything else is to be kernels.
    """

    def __init__(
        self,
        kernels: Kernels,
        processor: Processor,
        block: Any,
        written: dict[Any, Written | str],
        kinds: dict[Any, int],
        host: set[Any] | None,
    ) -> None:
        self.kernels, self.processor, self.block, self.written = kernels, processor, block, written
        self.kinds, self.host = kinds, host
        self.made: dict[Buffer, Any] = {}

    def form(self) -> int:
        """Write and call the kernels; returns how many."""
        self._sink_constants()
        self._split_barriers()
        if not self.processor.is_portable:
            untranspose(self.block)
        flatten(self.block)
        for op in self.block.operations:
            if op.operation.name == "stablehlo.slice" and op.operands[0].type == op.results[0].type:
                # A slice of a whole array, which the laws for windows may leave.
                op.operation.results[0].replace_all_uses_with(op.operands[0])
        try:
            reading = Reading(self.block, RULES, self.processor, self.kinds, self.host)
        except RefusedError as error:
            # The module did not go through the passes, which expand operations such as a sine of float64.
            self.kernels.plan.refuse("elements", self.block.operations[0].location, str(error))
            return 0
        planner = Planner(reading)
        for node, maker, reason in planner.divided:
            self.kernels.plan.divide(_name(node.group), node.op.location, maker.op.location, reason)
        needed = _needed(reading, planner)
        count = sum(self._write(reading, planner, group, needed) for group in planner.ordered())
        if count:
            self._replace(reading)
        own = [unfused.op for unfused in reading.unfused.values() if unfused.has_own_kernel]
        done = [op for op in own if form_own_kernel(self.kernels, RULES, self.processor, op)]
        if count or done:
            _erase_unused(reading)
        return count + len(done)

    def _sink_constants(self) -> None:
        """Clone captured constants into the body of a loop, so that kernels contain them instead of reading them."""
        found = {value: producer(value, "stablehlo.constant") for value in captured(self.block)}
        if not any(found.values()):
            return
        # Loops and conditionals are handled as blocks of their own; other regions are parts of their operation.
        own_code = [op.operation for op in self.block.operations]
        own_code += [inner for op in own_code if op.name not in HOST for inner in operations_in(op)]
        start = bindings.ir.InsertionPoint.at_block_begin(self.block)
        own = {value: maker.operation.clone(start).results[0] for value, maker in found.items() if maker is not None}
        for op in own_code:
            for value in op.operands:
                if value in own:
                    op.replace_uses_of_with(value, own[value])

    def _split_barriers(self) -> None:
        """Replace barriers by one for each operand: kernels take only what they read, and so must what stays.

        Those that only loops and the end of the block read are for the compiler (`passes.legalize.loops`).
        """
        *operations, end = (op.operation for op in self.block.operations)
        for op in [op for op in operations if op.name == _BARRIER and len(op.operands) > 1]:
            readers = [use.owner.operation for result in op.results for use in result.uses]
            if all(user == end or user.name in HOST or user.block != self.block for user in readers):
                continue
            with bindings.ir.InsertionPoint(op), op.location:
                for operand, result in zip(op.operands, op.results):
                    result.replace_all_uses_with(build.op(_BARRIER, [operand]))
            op.erase()

    def _write(self, reading: Reading, planner: Planner, group: Group, needed: set[Buffer]) -> int:
        """Write the kernel of a group, or kernels of its nodes where it cannot be one; returns how many."""
        location, reach = group.nodes[0].op.location, Reach(reading, group)
        if all(map(reading.is_constant, reach.outside)) and self._compute(reading, group, needed):
            return 1
        try:
            written, inputs = self._written(reading, group, needed, reach)
        except (RefusedError, NotVectorsError) as error:
            reason = str(error) or "elements that are computed one by one"
            if len(group.nodes) == 1:
                self.kernels.plan.refuse(_name(group), location, reason)
                return 0
            parts = planner.split(group)
            for part in parts[1:]:
                self.kernels.plan.divide(_name(part), part.nodes[0].op.location, location, reason)
            needed |= _needed(reading, planner)
            return sum(self._write(reading, planner, part, needed) for part in parts)
        buffers = [buffer for node in group.nodes for buffer in node.buffers]
        outputs = [(buffers[n], buffer) for n, buffer in written.outputs]
        with bindings.ir.InsertionPoint(reading.end), location:
            types = [self._type(reading, known, buffer) for known, buffer in outputs]
            results = self.kernels.dispatch(written.kernel, inputs, types, written.own_elements)
        for (known, _), result in zip(outputs, results):
            self.made[known] = result
        self.kernels.plan.accept(_name(group), location, written.lines, written.scratch)
        return 1

    def _compute(self, reading: Reading, group: Group, needed: set[Buffer]) -> bool:
        """Compute a small group that depends on constants alone, such as a triangular mask, at compile time."""
        found: dict[Buffer, Any] = {}
        # A constant that an operation outside kernels updates would be copied at every call (`passes.legalize`).
        read = {buffer for u in reading.unfused.values() if not u.has_own_kernel for buffer in u.needs}
        for node in group.nodes:
            if not node.results or not read.isdisjoint(node.buffers):
                return False
            for buffer, result in zip(node.buffers, node.results):
                array = computed(result, _MOST_CONSTANTS)
                if array is not None:
                    found[buffer] = array, node.op.location
                elif buffer in needed:
                    return False
        with bindings.ir.InsertionPoint.at_block_begin(self.block):
            for buffer, (array, location) in found.items():
                self.made[buffer] = build.constant(array, loc=location)
        return True

    def _written(self, reading: Reading, group: Group, needed: set[Buffer], reach: Reach) -> tuple[Written, list[Any]]:
        """The kernel of a group, as it was written for an equal one if there was one, and its operands."""
        key = key_of(group, reach, needed, reading.k.bodies)
        if key in self.written:
            found = self.written[key]
            if isinstance(found, str):
                raise RefusedError(found)
            return found, [reading.written(value, self.made) for value in reach.outside]
        writing = Writing(reading, group, RULES, self.processor, needed, self.made, reach)
        try:
            groups = writing.write()
        except (RefusedError, NotVectorsError) as error:
            if key is not None:
                self.written[key] = str(error)
            raise
        operands = list(writing.k.operands)
        if self.host is None and all(reading.is_constant(value) for value, _ in operands):
            # The compiler would run a kernel of constants once, before the first call, and mix up its results.
            operands.append(_argument(reading))
            key = None
        positions = {buffer: n for n, buffer in enumerate(b for node in group.nodes for b in node.buffers)}
        memory = [*(buffer for _, buffer in writing.outputs), *writing.spilled]
        inputs, outputs = [buffer.binding for _, buffer in operands], [buffer.binding for buffer in memory]
        written = Written(
            Kernel.written(_name(group), writing.k.writer, inputs, outputs, (groups,)),
            tuple((positions[known], buffer) for known, buffer in writing.outputs),
            tuple(writing.own_elements),
            len(writing.k.writer.instructions),
            sum(buffer.bytes for buffer in writing.scratch),
        )
        if key is not None:
            self.written[key] = written
        return written, [value for value, _ in operands]

    def _type(self, reading: Reading, known: Buffer, buffer: Buffer) -> Any:
        node = reading.makers[known]
        if node.is_shared:
            return build.tensor_type((buffer.size,), bindings.ir.Type.parse(buffer.element.name))
        return node.op.results[node.buffers.index(known)].type

    def _replace(self, reading: Reading) -> None:
        for node in reading.nodes:
            for result, buffer in zip(node.results, node.buffers):
                if buffer in self.made:
                    result.replace_all_uses_with(self.made[buffer])
        _sort(self.block, reading)


def _erase_unused(reading: Reading) -> None:
    """Erase the operations whose results are unused."""
    # Compared by identity: the hash of an operation depends on its operands, which have changed.
    lowered = {id(op) for op in reading.lowered}
    for op in reversed(reading.operations):
        is_ours = id(op) in lowered or op.name in FORMS or op.name == "stablehlo.slice"
        if is_ours and not any(True for result in op.results for _ in result.uses):
            op.erase()


def _needed(reading: Reading, planner: Planner) -> set[Buffer]:
    """The buffers that the block returns, that operations outside kernels read, or that other groups read."""
    found = set(reading.returned)
    found.update(buffer for unfused in reading.unfused.values() for buffer in unfused.needs)
    for group in planner.groups:
        for node in group.nodes:
            for buffer, _ in node.reads:
                maker = reading.makers[buffer]
                if isinstance(maker, Node) and maker.group is not group:
                    found.add(buffer)
    return found


def _sort(block: Any, reading: Reading) -> None:
    """Sort the operations of a block topologically, so that operands come before their readers."""
    *operations, end = (op.operation for op in block.operations)
    inside = set(operations)
    done: set[Any] = set()
    begun: set[Any] = set()
    effect: dict[Any, Any] = {}
    last = None
    for op in operations:
        if has_effects(op):
            effect[op] = last
            last = op
    for root in operations:
        stack = [root]
        while stack:
            op = stack[-1]
            if op in done:
                stack.pop()
                continue
            owners = [getattr(value.owner, "operation", None) for value in operands_of(op, reading.k.bodies)]
            missing = [o for o in (*owners, effect.get(op)) if o is not None and o in inside and o not in done]
            if missing:
                assert op not in begun, "no operation needs its own results"
                begun.add(op)
                stack += missing
                continue
            done.add(op)
            op.move_before(end)
            stack.pop()


def _name(group: Group) -> str:
    if group.kept is None:
        return "elements"
    if not group.kept:
        return "sums"
    return "columns" if group.lanes_kept else "rows"


def _argument(reading: Reading) -> tuple[Any, Buffer]:
    """An argument, as an operand that the kernel does not read."""
    for argument in reading.block.arguments:
        known = reading.k.env.get(argument)
        if known is not None:
            return argument, Buffer("%unread", known.size, known.element, True)
    raise RefusedError("constants alone, which are computed ahead of the first call")

"""The nodes of a block: values that need memory, and reductions. Other values are computed where they are read."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from passes import attributes as attrs, operations
from passes.analysis.strided import row_strides
from passes.kernels import contractions, order
from passes.kernels.arithmetic import can
from passes.kernels.cost import MAX_WORKGROUPS
from passes.kernels.dispatch import HOST
from passes.kernels.elements import RefusedError
from passes.kernels.kernel import element_type
from passes.kernels.linear import ZERO
from passes.kernels.processor import Processor
from passes.kernels.record import Recorder
from passes.kernels.straight.lazy import MOVES, Lazy, captured, is_function, is_single
from passes.kernels.straight.node import Node, Unfused
from passes.kernels.straight.pieces import are_few, cuts_of, parts_of, pieces_of
from passes.kernels.straight.unfused import cut_from, has_own_kernel, sources_of
from passes.kernels.structure import Bodies
from passes.kernels.values import Buffer, NotVectorsError, Value, View
from passes.legalize.many_operands import MOST_ARRAYS
from passes.match import combinations, producer, splat_of

# Values of at most this cost, in additions and loads, are computed again by each reader.
_CHEAP = 6
# The same for values that read no memory.
_COUNTED = 40
# The same for single elements, which are computed once for each kernel that reads them.
_MOST_AGAIN = 100
# Values of more operations are stored even for one reader, which limits the length of the code.
_LONGEST = 400
# Joined arrays of more parts than these are stored.
_PARTS = 4
# Transposed arrays of more elements than these are stored for reductions that read others, too.
_STRIDED = 1 << 12
# Operations that only pass elements on: their readers count as readers of their operand.
_PASSING = (*operations.where(layout=True), "stablehlo.optimization_barrier")
# Operations that read operands as they are in memory.
_CALLS = ("flow.dispatch", "func.call")
# Axes of at most this many elements may be processed one by one.
SHORT = 16
# The share of gathered loads above which elements are computed one by one where that is possible, or they are few.
GATHERED = 0.25


class Reading:
    """The operations of a block as lazy values, and the nodes among them.

    Attributes:
      nodes: in the order of the program.
      unfused: the operations in no group.
      constant: the operations that depend on constants alone.
      makers: what writes each buffer: a node, a `Unfused`, or None for values from outside.
      starts: the buffers of the numbers where slices start, which a kernel reads before anything else.

    Args:
      kinds: numbers of regions (`passes.kernels.structure`).
      host: the host scalars, if stagec writes the host program; then updates in loops are kernels.
    """

    def __init__(
        self, block: Any, rules: Any, processor: Processor, kinds: dict[Any, int], host: Collection[Any] | None = None
    ) -> None:
        self.k = Lazy(rules, processor, Bodies(kinds))
        self.block, self._host = block, host
        self.is_function = is_function(block)
        self.operations = [op.operation for op in block.operations]
        self.end = self.operations.pop()
        self.constant: set[Any] = set()
        self.lowered: dict[Any, None] = {}
        self.unfused: dict[Any, Unfused] = {}
        self.reasons: list[tuple[Any, str]] = []
        self.makers: dict[Buffer, Any] = {}
        self.starts: set[Buffer] = set()
        self.order: dict[Any, int] = {op: i for i, op in enumerate(self.operations)}
        # Asking MLIR for the operation that makes a value takes longer.
        self._producers = {result: op for op in self.operations for result in op.results}
        self._roots: dict[Any, Node] = {}
        for value in (*block.arguments, *captured(block)):
            self._external(value, None)
        for op in self.operations:
            # A loop or a conditional may capture other values, so it does not count as constant.
            if op.name not in HOST and all(self.is_constant(value) for value in op.operands):
                self.constant.add(op)
            self._read(op)
        self._keep_what_is_needed()
        self._view_nodes()
        self.nodes = sorted(self._roots.values(), key=lambda node: self.order[node.op])
        self.nodes = list(dict.fromkeys(self.nodes))
        for node in self.nodes:
            self._measure(node)

    def is_constant(self, value: Any) -> bool:
        """Whether a value depends on constants alone."""
        return self.producer(value) in self.constant

    def producer(self, value: Any) -> Any:
        """The operation of the block that makes a value; None for values from outside."""
        return self._producers.get(value)

    def _read(self, op: Any) -> None:
        scatter = cut_from(op)
        if scatter is not None and self.unfused[scatter].has_own_kernel:
            return self._external(op.results[0], self.unfused[scatter])
        try:
            if any(value not in self.k.env for value in self.operands(op)):
                raise RefusedError("an operand of a type that kernels do not support")
            if self._is_hosts(op):
                raise RefusedError("a number that the host computes")
            name = op.name
            if name == "stablehlo.reduce" and not is_single(op):
                self._reduce(op)
            elif name in MOVES or is_single(op) or can(name.removeprefix("stablehlo.")):
                self._check(op)
                # Mark the operands, so that scalars stay lazy: nothing is written during this analysis.
                self.k.tainted.update(op.operands)
                with self.k.code.scope():
                    self.k.lower(op)
            else:
                raise RefusedError(f"{name.removeprefix('stablehlo.')} has no form in kernels")
            self.lowered[op] = None
            return None
        except RefusedError as error:
            self.reasons.append((op, str(error)))
            self.unfused[op] = unfused = Unfused(op, not self.is_function and self._host is None)
            for result in op.results:
                self._external(result, unfused)
            return None

    def _is_hosts(self, op: Any) -> bool:
        """Whether the host computes an operation on scalars."""
        if self._host is None:
            return not self.is_function and _counts(op)
        return bool(op.operands) and len(op.results) == 1 and op.results[0] in self._host

    def operands(self, op: Any) -> list[Any]:
        """The operands of an operation, and the values that its regions capture, before kernels replace any."""
        return self.k.all_operands(op)

    def sources(self, values: Sequence[Any]) -> list[Any]:
        """What values are computed from: results of nodes and of operations in no group, and values from outside."""
        todo, found = list(values), dict.fromkeys(values)
        sources = []
        while todo:
            value = todo.pop()
            op = self.producer(value)
            if value in self._roots or op not in self.lowered:
                sources.append(value)
                continue
            operands = [operand for operand in self.operands(op) if operand not in found]
            found.update(dict.fromkeys(operands))
            todo += operands
        return sources

    def memory(self, source: Any) -> Buffer | None:
        """The buffer of such a value; None for types that kernels do not support."""
        known = self.k.env.get(source)
        return known.view.buffer if known is not None and known.view is not None else None

    def root(self, value: Any) -> Node | None:
        """The node whose result a value is."""
        return self._roots.get(value)

    def written(self, value: Any, made: Mapping[Buffer, Any]) -> Any:
        """The result of the kernel that computes a value, or the value itself if there is none."""
        node = self.root(value)
        return value if node is None else made.get(node.buffers[node.results.index(value)], value)

    def _check(self, op: Any) -> None:
        for result in op.results:
            element_type(result.type)
        if op.name == "stablehlo.pad" and any(attrs.ints(op, "interior_padding")):
            raise RefusedError("pad between elements")
        size = math.prod(op.results[0].type.shape)
        if operations.of(op.name).joins and not are_few(parts_of(op), size) and has_own_kernel(op):
            raise RefusedError("an array of many parts")

    def _external(self, value: Any, maker: Unfused | None) -> None:
        try:
            shape, element = element_type(value.type)
        except RefusedError:
            return
        buffer = Buffer("%_", math.prod(shape), element, True)
        self.k.env[value] = self.k.whole(buffer, shape)
        self.makers[buffer] = maker

    def _stand(self, node: Node) -> None:
        for result in node.results:
            shape, element = element_type(result.type)
            buffer = Buffer("%_", math.prod(shape), element)
            node.buffers.append(buffer)
            self.makers[buffer] = node
            known = self.k.env.get(result)
            if known is None:
                self.k.env[result] = known = Value(shape, element, location=node.op.location)
            self.k.forget(known)
            known.function, known.view = None, View(buffer, row_strides(shape))
            self._roots[result] = node

    def _reduce(self, op: Any) -> None:
        count = len(op.results)
        shape, _ = element_type(op.operands[0].type)
        for value in op.operands:
            element_type(value.type)
        if all(shape[axis] == 1 for axis in attrs.ints(op, "dimensions")):
            raise RefusedError("reductions of single elements to several results")
        if combinations(op.regions[0]) is None or contractions.kinds_of(op) is None:
            raise RefusedError("a reduction whose order matters")
        if any(splat_of(v) is None for v in list(op.operands)[count:]):
            raise RefusedError("a reduction that begins with a computed number")
        node = Node(op, list(op.results), shape, attrs.ints(op, "dimensions"))
        node.lane_bytes = order.lane_bytes(op) if self.k.processor.is_portable else 0
        self._stand(node)

    def _keep_terms(self, node: Node) -> None:
        """Store what a reduction could not read in the order that it has, or not as vectors."""
        for value in list(node.op.operands)[: len(node.op.results)]:
            known = self.k.env[value]
            if not node.lane_bytes:
                self._keep_transposed(value)
            elif known.splat is None and not order.keeps_order(order.merges(self.k, [known], node.shape), node.summed):
                self._kept(value)

    def _keep_transposed(self, value: Any) -> None:
        """Store transposed arrays that are reduced together with others: in no order is all of it contiguous."""
        known = self.k.env[value]
        if known.splat is not None or known.size <= _STRIDED or known.shape[-1] <= SHORT:
            return
        recorder = self._in_lanes([known], known.shape, len(known.shape) - 1)
        reads = 0 if recorder is None else len(recorder.reads)
        if recorder is None or not GATHERED * max(1, reads) < recorder.gathers < reads:
            return
        todo, seen = [value], {value}
        while todo:
            op = producer(todo.pop())
            if op is None or op.operation not in self.lowered:
                continue
            if op.name == "stablehlo.transpose":
                self._kept(op.results[0])
            elif operations.of(op.name).elementwise:
                todo += [v for v in op.operands if v not in seen]
                seen.update(op.operands)

    # Which values get memory.

    def _keep_what_is_needed(self) -> None:
        for op in self.operations:
            if op in self.unfused:
                self.unfused[op].needs = self._needs(op)
            elif operations.of(op.name).indices:
                array, *starts = op.operands
                for value in starts if op.name == "stablehlo.dynamic_slice" else ():
                    self.starts.update(self._kept(value))
                maker = producer(array)
                is_parted = maker is not None and operations.of(maker.operation.name).joins
                if self.k.env[array].splat is None and (is_parted or self.k.record(self.k.env[array]).undecided_parts):
                    # The index of a gathered element is not known, so neither is the part that contains it.
                    self._kept(array)
            elif op.name == "stablehlo.reduce":
                for value in op.operands:
                    if self.k.env[value].splat is None and self.k.record(self.k.env[value]).undecided_parts:
                        self._kept(value)
                if (node := self.root(op.results[0])) is not None:
                    self._keep_terms(node)
            if op in self.lowered and len(op.results) == 1:
                self._consider(op)
        self.returned = [buffer for value in self.end.operands for buffer in self._kept(value)]
        for unfused in self.unfused.values():
            # A value that it reads through moves may have become a node since.
            unfused.needs = self._needs(unfused.op)

    def _needs(self, op: Any) -> list[Buffer]:
        """The buffers that an operation outside groups reads."""
        values = sources_of(op) if self.unfused[op].has_own_kernel else self.operands(op)
        absorbs = op.name not in _CALLS and not self.unfused[op].has_own_kernel and self._host is None
        return [buffer for value in values for buffer in self._kept(value, absorbs)]

    def _consider(self, op: Any) -> None:
        result = op.results[0]
        value = self.k.env[result]
        if op.name == "stablehlo.reshape":
            self._keep_interleaved(op, value)
        if op.name == "stablehlo.constant" or op.name in _PASSING or value.function is None:
            return
        if operations.of(op.name).elementwise:
            self.k.record(value, [self.k.env[operand] for operand in op.operands])
        self._divide(op, value)
        readers = _readers(result)
        if value.size == 1:
            record = self.k.record(value)
            if record.length > _LONGEST or (len(readers) > 1 and record.cost > _MOST_AGAIN):
                self._kept(result)
            return
        shared = len(readers) > 1 or any(_repeats(result, user) for user in readers)
        record = self.k.record(value)
        # A value that depends on indices alone reads no memory, so it may cost more.
        is_costly = shared and record.cost > (_CHEAP if record.reads else _COUNTED)
        is_parted = operations.of(op.name).joins and record.undecided_parts > _PARTS
        if is_costly or is_parted or record.length > _LONGEST:
            self._kept(result)

    def _keep_interleaved(self, op: Any, value: Value) -> None:
        """Store joined arrays whose parts a reshape interleaves, so that no axis of its readers can be cut there."""
        source = self.k.env[op.operands[0]]
        if source.splat is None and value.function is not None and self.k.record(source).undecided_parts:
            space = self.k.space(value.shape).symbols
            if not set(self.k.record(value).cuts) <= {term for symbol in space for term, _ in symbol.terms}:
                self._kept(op.operands[0])

    def _divide(self, op: Any, value: Value) -> None:
        """Make operands of an expression nodes if it reads more arrays, or more parts, than one kernel may."""
        for count, fits in ((self._arrays, self._reads_few), (self._pieces, self._is_of_few)):
            while not fits(value):
                counts = [count(self.k.env[operand]) for operand in op.operands]
                if max(counts, default=0) < 2:
                    break
                self._kept(op.operands[counts.index(max(counts))])

    def _reads_few(self, value: Value) -> bool:
        return self._reads(value) <= MOST_ARRAYS or self._arrays(value) <= MOST_ARRAYS

    def _reads(self, value: Value) -> int:
        return len(self.k.record(value).reads) if value.splat is None else 0

    def _is_of_few(self, value: Value) -> bool:
        return value.splat is not None or are_few(self._pieces(value), value.size, self.k.record(value).length)

    def _arrays(self, value: Value) -> int:
        return len({read.buffer for read in self.k.record(value).reads}) if value.splat is None else 0

    def _pieces(self, value: Value) -> int:
        return pieces_of(cuts_of(self.k.record(value), value.shape, self.k)) if value.splat is None else 0

    def _kept(self, value: Any, absorbed: bool = False) -> list[Buffer]:
        """Make a value a node; returns its buffer, or those of its sources if its reader includes the moves.

        Args:
          absorbed: whether the reader is likely to be fused with moves of elements.
        """
        known = self.k.env.get(value)
        if known is None or known.splat is not None:
            return []
        op = self.producer(value)
        if op not in self.lowered:
            return [known.view.buffer] if known.view is not None else []
        if value in self._roots:
            node = self._roots[value]
            return [node.buffers[node.results.index(value)]]
        if op.name == "stablehlo.constant":
            return []
        if op.name == "stablehlo.optimization_barrier":
            # Each result equals its operand, and an operation is at most one node.
            return self._kept(op.operands[value.result_number], absorbed)
        if op.name in MOVES and len(op.operands) == 1 and self.k.env.get(op.operands[0]) is known:
            # A slice or reshape of a whole array is that array.
            return self._kept(op.operands[0], absorbed)
        if op.name == "stablehlo.reshape" or (absorbed and _is_absorbed(op)):
            return [buffer for operand in op.operands for buffer in self._kept(operand, absorbed)]
        inner = Value(
            known.shape,
            known.element,
            function=known.function,
            view=known.view,
            scalar=known.scalar,
            linear=known.linear,
            location=known.location,
        )
        node = Node(op, [value], known.shape, ())
        known.scalar = known.linear = None
        self.k.pass_on(known, inner)
        self._stand(node)
        node.inner = inner
        return node.buffers

    def _view_nodes(self) -> None:
        """Let views of what has become a node refer to its memory, not to that which its elements come from."""
        for op in self.lowered:
            if op.name not in MOVES or len(op.results) != 1 or not op.operands:
                continue
            result, source = op.results[0], self.k.env[op.operands[0]]
            known, root = self.k.env[result], self.root(result)
            value = known if root is None else root.inner
            if value.view is None or (source.view is not None and value.view.buffer is source.view.buffer):
                continue
            with self.k.code.scope():
                self.k.lower(op)
            made = self.k.env[result]
            self.k.forget(value)
            value.function, value.view = made.function, made.view
            self.k.env[result] = known

    def _measure(self, node: Node) -> None:
        if node.is_reduction:
            values = [self.k.env[v] for v in list(node.op.operands)[: len(node.results)]]
        else:
            values = [node.inner]
        recorder = self.k.record(values[0])
        if len(values) > 1 or recorder.undecided_parts or recorder.has_computed or not recorder.in_order:
            # What parts cost together, and which groups are tried first, depends on the order of evaluation. And each
            # evaluation of a computed index has a symbol of its own.
            recorder = Recorder(self.k.symbols)
            for value in values:
                recorder.get(value, self.k.space(node.shape).symbols)
        node.reads = [(read.buffer, read.address) for read in recorder.reads]
        # Start indices are read once, and parts of joined arrays maybe not at all, but they are operands all the same.
        known = {buffer for buffer, _ in node.reads}
        sources = self.sources(list(node.op.operands) if node.is_reduction else self.operands(node.op))
        buffers = dict.fromkeys(self.memory(source) for source in sources)
        node.reads += [(buffer, ZERO) for buffer in buffers if buffer is not None and buffer not in known]
        node.cost, node.length = recorder.cost + len(values), recorder.length + len(values)
        node.is_cut = bool(recorder.undecided_parts)
        node.cuts = cuts_of(recorder, node.shape, self.k)
        node.is_scattered = self._is_scattered(node, values, recorder)
        if self.k.processor.is_portable:
            node.merges = order.merges(self.k, values, node.shape)

    def _is_scattered(self, node: Node, values: list[Value], single: Recorder) -> bool:
        """Whether elements along the last axis are read one by one; `single` has recorded one element."""
        axis = max(node.axes, default=None)
        if axis is None or node.shape[axis] <= SHORT:
            return False
        if single.is_contiguous(self.k.space(node.shape).symbol(axis)):
            return False
        recorder = self._in_lanes(values, node.shape, axis)
        return recorder is None or recorder.gathers > GATHERED * max(1, len(recorder.reads))

    def _in_lanes(self, values: Sequence[Value], shape: Sequence[int], axis: int) -> Recorder | None:
        """What vectors along an axis read; None if there are none."""
        recorder = Recorder(self.k.symbols, SHORT)
        index = list(self.k.space(shape).symbols)
        index[axis] = self.k.symbols.new("", 0, shape[axis] - SHORT).lanes()
        try:
            for value in values:
                recorder.get(value, tuple(index))
        except NotVectorsError:
            return None
        return recorder


def _is_absorbed(op: Any) -> bool:
    """Whether the compiler fuses an operation with its reader; it writes the parts of a concatenation one by one."""
    row = operations.of(op.name)
    return not op.operands or op.name == "stablehlo.pad" or (row.moves and not row.joins)


def finish(reading: Reading, node: Node) -> Node:
    """Make a reduction one that workgroups share; returns the node that combines their partial results."""
    made = Node(node.op, node.results, (MAX_WORKGROUPS,), (0,))
    made.buffers, made.source, made.cost = node.buffers, node, 2
    node.results, node.is_shared = [], True
    node.buffers = [Buffer("%_", MAX_WORKGROUPS, buffer.element.wide) for buffer in made.buffers]
    for buffer in made.buffers:
        reading.makers[buffer] = made
    reading._roots.update((result, made) for result in made.results)
    index = reading.k.space(made.shape).symbols[0]
    for buffer in node.buffers:
        reading.makers[buffer] = node
        made.reads.append((buffer, index))
    reading.nodes.append(made)
    return made


def _counts(op: Any) -> bool:
    """Whether an operation computes integer scalars from integer scalars, such as counters and indices."""
    values = (*op.operands, *op.results)
    return bool(op.operands) and all(not v.type.shape and element_type(v.type)[1].kind in "iub" for v in values)


def _readers(value: Any) -> list[Any]:
    """The operations that read a value, directly or through those that only pass it on."""
    found = []
    for use in value.uses:
        user = use.owner.operation
        if user.name in _PASSING and len(user.results) == 1 and not _enlarges(user):
            found += _readers(user.results[0]) or [user]
        else:
            found.append(user)
    return found


def _enlarges(op: Any) -> bool:
    return math.prod(op.results[0].type.shape) > math.prod(op.operands[0].type.shape)


def _repeats(value: Any, user: Any) -> bool:
    """Whether an operation reads elements of a value many times."""
    return user.name == "stablehlo.gather" or (user.name == "stablehlo.broadcast_in_dim" and _enlarges(user))

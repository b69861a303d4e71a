"""What a block computes that needs memory or is a reduction; all else is computed where it is read."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

from passes import attributes as attrs, operations
from passes.kernels import contractions
from passes.kernels.arithmetic import can
from passes.kernels.dispatch import HOST
from passes.kernels.elements import RefusedError
from passes.kernels.kernel import element_type
from passes.kernels.linear import ZERO, Linear
from passes.kernels.processor import Processor
from passes.kernels.record import Recorder
from passes.kernels.straight.lazy import MOVES, Lazy, captured, is_function, is_single, operands_of
from passes.kernels.straight.pieces import PIECES, cuts_of, parts_of, pieces_of
from passes.kernels.straight.staying import cut_from, is_alone, numbers_of, part_read, spare_row
from passes.kernels.structure import Bodies
from passes.kernels.values import Buffer, NotVectorsError, Value, View, row_major
from passes.legalize.many_operands import MOST_ARRAYS
from passes.match import combinations, producer, splat_of

# Additions, loads among them, that are done again by each reader.
_CHEAP = 6
# The same, of values that read nothing.
_COUNTED = 40
# Values that take more are kept even for one reader: code becomes no longer than that.
_LONGEST = 400
# Operations that pass elements on, so that their readers are those of their operand.
_PASSING = (*operations.where(layout=True), "stablehlo.optimization_barrier")
# Axes of at most so many elements may be gone through one by one.
SHORT = 16
# The share of loads that are put together lane by lane, above which a kernel is slower than the compiler's.
GATHERED = 0.25
# Workgroups that a kernel has at most.
MOST = 32
_STAYING = (*_PASSING, *(f"stablehlo.{name}" for name in "slice reverse iota gather dynamic_slice".split()))


class Node:
    """A value that gets memory, or a reduction.

    Attributes:
      op: the operation whose results these are.
      results: values of the program.
      shape: the iteration space.
      reduced: axes of it that are accumulated.
      buffers: what stands for the results where they are read.
      reads: the buffers that an element is computed from, and the places in them.
      cost: about how many additions an element takes.
      level: how many reductions of its group come before it.
      is_cut: whether elements come from parts that meet somewhere in the space.
      cuts: where parts meet, by axis.
      is_scattered: whether elements along the last axis are read one by one.
      is_shared: whether workgroups share a reduction, and each has a partial result.
      source: the node whose partial results this one combines.
      group: the group that it is in.
      inner: the value of an element, for what is no reduction.
    """

    def __init__(self, op: Any, results: list[Any], shape: tuple[int, ...], reduced: tuple[int, ...]) -> None:
        self.op, self.results, self.shape, self.reduced = op, results, shape, reduced
        self.buffers: list[Buffer] = []
        self.reads: list[tuple[Buffer, Linear]] = []
        self.cost = 0
        self.level = 0
        self.is_cut = False
        self.cuts: dict[int, set[int]] = {}
        self.is_scattered = False
        self.is_shared = False
        self.source: Node | None = None
        self.group: Any = None
        self.inner: Any = None

    @property
    def is_reduction(self) -> bool:
        """Whether elements are accumulated."""
        return bool(self.reduced)

    @property
    def axes(self) -> list[int]:
        """The axes of more than one element."""
        return [d for d, n in enumerate(self.shape) if n > 1]

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of these."""
        return tuple(n for n in self.shape if n > 1)

    @property
    def kept(self) -> tuple[int, ...]:
        """Which of the axes of more than one element are not reduced."""
        return tuple(i for i, d in enumerate(self.axes) if d not in self.reduced)

    @property
    def size(self) -> int:
        """How many elements its space has."""
        return math.prod(self.shape)


class Stay:
    """An operation that stays as it is, or is a kernel of its own.

    Attributes:
      needs: what it reads.
      is_alone: whether it is a kernel of its own.

    Args:
      is_repeated: whether it may be in a loop of the compiler's.
    """

    def __init__(self, op: Any, is_repeated: bool) -> None:
        self.op = op
        self.needs: list[Buffer] = []
        # A kernel copies what it updates, which would be a copy for each round; the compiler updates in place.
        self.is_alone = is_alone(op) and not (
            is_repeated and operations.of(op.name).memory is operations.Memory.UPDATED
        )


class Reading:
    """The operations of a block as lazy values, and those of them that are nodes.

    Attributes:
      nodes: in the order of the program.
      stays: the operations that stay, by operation.
      constant: the operations that follow from constants alone.
      makers: what makes the contents of each buffer: a node, an operation that stays, or nothing.

    Args:
      kinds: numbers of regions (`passes.kernels.structure`).
      host: the numbers that the host program counts with, if stagec writes it; updates in loops are kernels then.
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
        self.stays: dict[Any, Stay] = {}
        self.reasons: list[tuple[Any, str]] = []
        self.makers: dict[Buffer, Any] = {}
        self.order: dict[Any, int] = {op: i for i, op in enumerate(self.operations)}
        self._roots: dict[Any, Node] = {}
        for value in (*block.arguments, *captured(block)):
            self._external(value, None)
        for op in self.operations:
            # What the regions of a loop or a choice use from outside is not looked at.
            if op.name not in HOST and all(self.is_constant(value) for value in op.operands):
                self.constant.add(op)
            self._read(op)
        self._has_starts = any(op.name == "stablehlo.dynamic_slice" for op in self.lowered)
        self._keep_what_is_needed()
        self.nodes = sorted(self._roots.values(), key=lambda node: self.order[node.op])
        self.nodes = list(dict.fromkeys(self.nodes))
        for node in self.nodes:
            self._measure(node)

    def is_constant(self, value: Any) -> bool:
        """Whether a value follows from constants alone."""
        return getattr(value.owner, "operation", None) in self.constant

    def _read(self, op: Any) -> None:
        scatter = cut_from(op)
        if scatter is not None and self.stays[scatter].is_alone:
            return self._external(op.results[0], self.stays[scatter])
        try:
            if any(value not in self.k.env for value in self.operands(op)):
                raise RefusedError("an operand that kernels do not have")
            if self._is_hosts(op):
                raise RefusedError("a number that the host counts with")
            name = op.name
            if name == "stablehlo.reduce" and not is_single(op):
                self._reduce(op)
            elif name in MOVES or is_single(op) or can(name.removeprefix("stablehlo.")):
                self._check(op)
                # What starts and places of slices are computed from is of no interest yet.
                self.k.tainted.update(op.operands)
                with self.k.code.scope():
                    self.k.lower(op)
            else:
                raise RefusedError(f"{name.removeprefix('stablehlo.')} has no form in kernels")
            self.lowered[op] = None
            return None
        except RefusedError as error:
            self.reasons.append((op, str(error)))
            self.stays[op] = stay = Stay(op, not self.is_function and self._host is None)
            for result in op.results:
                self._external(result, stay)
            return None

    def _is_hosts(self, op: Any) -> bool:
        """Whether the host does an operation on single integers."""
        if self._host is None:
            return not self.is_function and _counts(op)
        return bool(op.operands) and len(op.results) == 1 and op.results[0] in self._host

    def operands(self, op: Any) -> list[Any]:
        """The operands of an operation, and what its regions use of the outside."""
        return operands_of(op, self.k.bodies)

    def root(self, value: Any) -> Node | None:
        """The node whose result a value is."""
        return self._roots.get(value)

    def written(self, value: Any, made: Mapping[Buffer, Any]) -> Any:
        """A value as a kernel has written it, or itself if none has."""
        node = self.root(value)
        return value if node is None else made.get(node.buffers[node.results.index(value)], value)

    def _check(self, op: Any) -> None:
        for result in op.results:
            element_type(result.type)
        if op.name == "stablehlo.pad" and any(attrs.ints(op, "interior_padding")):
            raise RefusedError("pad between elements")
        if operations.of(op.name).joins and parts_of(op) > PIECES and is_alone(op):
            raise RefusedError("many parts that are put together")

    def _external(self, value: Any, maker: Stay | None) -> None:
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
                self.k.env[result] = known = Value(shape, element, location=str(node.op.location))
            known.function, known.view = None, View(buffer, row_major(shape))
            self._roots[result] = node
        self.k._records.clear()

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
        self._stand(Node(op, list(op.results), shape, attrs.ints(op, "dimensions")))

    # Which values get memory.

    def _keep_what_is_needed(self) -> None:
        for op in self.operations:
            if op in self.stays:
                self.stays[op].needs = self._needs(op)
            elif op.name in ("stablehlo.dynamic_slice", "stablehlo.gather"):
                array, *starts = op.operands
                for value in starts if op.name == "stablehlo.dynamic_slice" else ():
                    self._kept(value)
                maker = producer(array)
                is_parted = maker is not None and operations.of(maker.operation.name).joins
                if self.k.env[array].splat is None and (is_parted or self.k.record(self.k.env[array]).choices):
                    # Where a taken element lies is not known, so neither is the part that has it.
                    self._kept(array)
            elif op.name == "stablehlo.reduce":
                for value in op.operands:
                    if self.k.env[value].splat is None and self.k.record(self.k.env[value]).choices:
                        self._kept(value)
            if op in self.lowered and len(op.results) == 1:
                self._consider(op)
        self.returned = [buffer for value in self.end.operands for buffer in self._kept(value)]
        for stay in self.stays.values():
            # What was moved from elsewhere may have got memory of its own since.
            stay.needs = self._needs(stay.op)

    def _needs(self, op: Any) -> list[Buffer]:
        """The memory that an operation reads that stays."""
        values = self.operands(op)
        if op.name == "stablehlo.scatter" and self.stays[op].is_alone and (spare := spare_row(op)) is not None:
            values[0] = spare[0]
        elif self.stays[op].is_alone and (part := part_read(op)) is not None:
            values[0] = part.operands[0]
        if self.stays[op].is_alone:
            values = [value for value in values if numbers_of(op, value) is None]
        absorbs = op.name != "flow.dispatch" and not self.stays[op].is_alone and self._host is None
        return [buffer for value in values for buffer in self._kept(value, absorbs)]

    def _consider(self, op: Any) -> None:
        result = op.results[0]
        value = self.k.env[result]
        if op.name == "stablehlo.constant" or op.name in _PASSING or value.function is None:
            return
        self._divide(op, value)
        readers = _readers(result)
        if value.size == 1:
            if self.k.record(value).cost > _LONGEST:
                self._kept(result)
            return
        if operations.of(op.name).joins:
            if len(readers) > 1 or self.k.record(value).choices > 4:
                self._kept(result)
            return
        shared = len(readers) > 1 or any(_repeats(result, user) for user in readers)
        record = self.k.record(value)
        # What follows from indices alone is no memory to wait for.
        if (shared and record.cost > (_CHEAP if record.reads else _COUNTED)) or record.cost > _LONGEST:
            self._kept(result)

    def _divide(self, op: Any, value: Value) -> None:
        """Store operands of an expression that reads more arrays, or more parts, than one kernel may."""
        for count, most in ((self._arrays, MOST_ARRAYS), (self._pieces, PIECES)):
            while count(value) > most:
                counts = [count(self.k.env[operand]) for operand in op.operands]
                if max(counts, default=0) < 2:
                    break
                self._kept(op.operands[counts.index(max(counts))])

    def _arrays(self, value: Value) -> int:
        return len({read.buffer for read in self.k.record(value).reads}) if value.splat is None else 0

    def _pieces(self, value: Value) -> int:
        return pieces_of(cuts_of(self.k.record(value), value.shape, self.k)) if value.splat is None else 0

    def _kept(self, value: Any, absorbed: bool = False) -> list[Buffer]:
        """Give a value memory; returns the buffers that hold it, or what it is moved from by operations that stay.

        Args:
          absorbed: whether what reads the value is likely to take in moves of elements.
        """
        known = self.k.env.get(value)
        if known is None or known.splat is not None:
            return []
        op = getattr(value.owner, "operation", None)
        if op is None or op not in self.lowered:
            return [known.view.buffer] if known.view is not None else []
        if value in self._roots:
            node = self._roots[value]
            return [node.buffers[node.results.index(value)]]
        if op.name == "stablehlo.constant":
            return []
        if op.name == "stablehlo.optimization_barrier":
            # Each result is its operand, and one operation is at most one node.
            return self._kept(op.operands[value.result_number], absorbed)
        if op.name in MOVES and len(op.operands) == 1 and self.k.env.get(op.operands[0]) is known:
            # All of an array is that array.
            return self._kept(op.operands[0], absorbed)
        if op.name == "stablehlo.reshape" or (absorbed and op.name in (*_STAYING, "stablehlo.pad")):
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
        self._stand(node)
        node.inner = inner
        return node.buffers

    def _measure(self, node: Node) -> None:
        recorder = Recorder(self.k.symbols)
        index = self.k.space(node.shape).symbols
        if node.is_reduction:
            values = [self.k.env[v] for v in list(node.op.operands)[: len(node.results)]]
        else:
            values = [node.inner]
        for value in values:
            recorder.get(value, index)
        node.reads = [(read.buffer, read.place) for read in recorder.reads]
        if self._has_starts:
            node.reads += [(buffer, ZERO) for buffer in self._starts(node)]
        node.cost = recorder.cost + len(values)
        node.is_cut = bool(recorder.choices)
        node.cuts = cuts_of(recorder, node.shape, self.k)
        node.is_scattered = self._is_scattered(node, values)

    def _starts(self, node: Node) -> list[Buffer]:
        """The memory of start indices that a node needs: they are read where its kernel begins."""
        found: dict[Buffer, None] = {}
        seen: set[Any] = set()
        stack = list(node.op.operands) if node.is_reduction else [node.op]
        while stack:
            item = stack.pop()
            if not hasattr(item, "regions"):
                item = None if item in self._roots else getattr(item.owner, "operation", None)
            if item is None or item in seen or item not in self.lowered:
                continue
            seen.add(item)
            stack += self.operands(item)
            if item.name == "stablehlo.dynamic_slice":
                found.update((buffer, None) for start in list(item.operands)[1:] for buffer in self._kept(start))
        return list(found)

    def _is_scattered(self, node: Node, values: list[Value]) -> bool:
        """Whether elements along the last axis are read one by one."""
        axis = max(node.axes, default=None)
        if axis is None or node.shape[axis] <= SHORT:
            return False
        recorder = Recorder(self.k.symbols, SHORT)
        index = list(self.k.space(node.shape).symbols)
        index[axis] = self.k.symbols.new("", 0, node.shape[axis] - SHORT).lanes()
        try:
            for value in values:
                recorder.get(value, tuple(index))
        except NotVectorsError:
            return True
        return recorder.gathers > GATHERED * max(1, len(recorder.reads))


def finish(reading: Reading, node: Node) -> Node:
    """Have workgroups share a reduction; returns the node that combines their partial results."""
    made = Node(node.op, node.results, (MOST,), (0,))
    made.buffers, made.source, made.cost = node.buffers, node, 2
    node.results, node.is_shared = [], True
    node.buffers = [Buffer("%_", MOST, buffer.element.wide) for buffer in made.buffers]
    for buffer in made.buffers:
        reading.makers[buffer] = made
    reading._roots.update((result, made) for result in made.results)
    place = reading.k.space(made.shape).symbols[0]
    for buffer in node.buffers:
        reading.makers[buffer] = node
        made.reads.append((buffer, place))
    reading.nodes.append(made)
    return made


def _counts(op: Any) -> bool:
    """Whether an operation computes single integers from single integers, as loops count and find places."""
    values = (*op.operands, *op.results)
    return bool(op.operands) and all(not v.type.shape and element_type(v.type)[1].kind in "iub" for v in values)


def _readers(value: Any) -> list[Any]:
    """The operations that read a value, through those that pass it on."""
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

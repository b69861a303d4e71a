"""The analysis of a group before its kernel is written: its lazy values, collapsed axes, and memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from passes.analysis.strided import row_strides
from passes.kernels import contractions
from passes.kernels.builder import STEPS, Builder
from passes.kernels.code import Code
from passes.kernels.elements import RefusedError
from passes.kernels.kernel import element_type
from passes.kernels.linear import address
from passes.kernels.order import COST
from passes.kernels.processor import Processor
from passes.kernels.record import Recorder
from passes.kernels.straight.equal import Reach
from passes.kernels.straight.groups import Group
from passes.kernels.straight.lazy import Lazy
from passes.kernels.straight.node import Node
from passes.kernels.straight.nodes import GATHERED, Reading
from passes.kernels.straight.pieces import are_few, pieces_of
from passes.kernels.sweep import COSTLY, Part, width_of
from passes.kernels.values import Buffer, Index, Item, NotVectorsError, Value, View

# The most bytes of a row that a workgroup keeps on its stack between sweeps.
_STACK = 64 << 10
# Groups of at most this many operations are written element by element if they cannot be vectorized; the second number
# is that of groups whose expressions are costly, which lose more without vectors.
_LITTLE, _LITTLE_COSTLY = 1 << 16, 1 << 13
# Rows shorter than a vector become lanes if the group has more work than _MUCH, and each element more than COSTLY. With
# more work than _SOME, those of so many elements do, which are loaded in vectors and shuffled; and those of so many of
# which greatest or least floats are taken, as that takes long across the lanes of a vector.
_MUCH, _SOME = 1 << 20, 1 << 14
_SHUFFLED, _EXTREMES = STEPS[-1], 12


class Prepared:
    """A group whose kernel is about to be written: its values, what they read, and their memory.

    Args:
      needed: the buffers that other groups or operations need.
      made: the results of kernels, by buffer.
      reach: the operations of the group, and the values that it reads.
    """

    def __init__(
        self,
        reading: Reading,
        group: Group,
        rules: Any,
        processor: Processor,
        needed: Collection[Buffer],
        made: Mapping[Buffer, Any],
        reach: Reach,
    ) -> None:
        self.reading, self.group, self.processor, self.reach = reading, group, processor, reach
        self.k = Lazy(rules, processor, reading.k.bodies)
        self.code = self.k.code
        self.needed, self.made = needed, made
        self.parts: dict[Node, Part] = {}
        self.outputs: list[tuple[Buffer, Buffer]] = []
        self.spilled: list[Buffer] = []
        self.scratch: list[Buffer] = []
        self.own_elements: list[int] = []

    # The operations of the group, as lazy values.

    def _lower(self) -> None:
        reading, k = self.reading, self.k
        for value in self.reach.outside:
            k.operand(value)
            k.operands[-1] = (reading.written(value, self.made), k.operands[-1][1])
        nodes = {node.op: node for node in self.group.nodes}
        for op in self.reach.operations:
            made = nodes.get(op)
            if made is None or not made.is_reduction:
                k.lower(op)
            if made is not None:
                self._part(made)

    def _part(self, node: Node) -> None:
        k = self.k
        stands = []
        if node.is_reduction:
            count = len(node.op.results)
            values = [k.env[v] for v in list(node.op.operands)[:count]] if node.source is None else self._partial(node)
            kinds = contractions.kinds_of(node.op) or []
            elements = [v.element for v in values]
            if node.is_shared:
                numbers = [contractions.neutral(kind, e) for kind, e in zip(kinds, elements)]
            else:
                numbers = [k.env[v].splat for v in list(node.op.operands)[count:]]
            initial = [Item(k.code.constant(n, e)) for n, e in zip(numbers, elements)]
            shapes = [tuple(result.type.shape) for result in node.op.results]
        else:
            values, kinds, initial = [k.env[node.op.results[0]]], [], []
            shapes = [values[0].shape]
        for result, shape, value in zip(node.op.results, shapes, values):
            element = element_type(result.type)[1]
            if node.is_shared:
                shape, element = (), value.element.wide
            buffer = Buffer("%none", math.prod(shape), element)
            stand = Value(shape, element, function=_nowhere(buffer, shape), location=node.op.location)
            stands.append(stand)
            k.env[result] = stand
            k.tainted.add(result)
        self.parts[node] = Part(node, values, stands, [None] * len(stands), kinds, initial)

    def _partial(self, node: Node) -> list[Value]:
        """The partial results that a node combines."""
        found = []
        assert node.source is not None, "the node combines results of another one"
        for buffer in node.source.buffers:
            if buffer not in self.made:
                raise RefusedError("partial results that are not there")
            self.k.operand(self.made[buffer])
            found.append(self.k.env[self.made[buffer]])
        return found

    # The analysis before the kernel is written.

    def _measure(self) -> None:
        """Find the reads and costs of all nodes, and which axes of the space may be collapsed."""
        k, group = self.k, self.group
        self.symbols = [k.symbols.new("", 0, n - 1) for n in group.sizes]
        recorder = Recorder(k.symbols)
        for part in self.parts.values():
            axes = self._axes(part.node)
            index = part.index(dict(enumerate(self.symbols)), axes)
            for value in part.values:
                recorder.get(value, index)
        self.cost = sum(part.node.cost for part in self.parts.values())
        values = list(k.env.values())
        largest = max((v.element.size for v in values if v.size > 1), default=8)
        self.lane_bytes = max(node.lane_bytes for node in group.nodes)
        self.lanes = self.processor.vector_bytes // (self.lane_bytes or largest)
        self.sizes = dict(enumerate(group.sizes)) or {0: 1}
        if group.nodes[0].source is not None:
            # The number of partial results is known by now.
            self.sizes[0] = self.parts[group.nodes[0]].values[0].size
        self.cuts = self._cuts(recorder)
        own = address(self.symbols, row_strides(group.sizes))
        moved = {read.buffer for read in recorder.reads if read.address != own}
        if group.kept is None and not recorder.undecided_parts and not recorder.gathers:
            size = math.prod(group.sizes)
            if size > 1:
                # Another workgroup may have written the element before this one starts.
                moved |= k.read_first
            self.own_elements = [i for i, (_, b) in enumerate(k.operands) if b not in moved and b.size == size]
        kept = set(group.kept or ())
        for axis in range(len(group.sizes) - 1):
            here, there = (self.symbols[a].terms[0][0] for a in (axis, axis + 1))
            if (axis in kept) != (axis + 1 in kept) or {here, there} & recorder.fixed:
                continue
            size = self.sizes[axis + 1]
            if all(form.coefficient(here) == form.coefficient(there) * size for form in recorder.forms):
                self.sizes[axis + 1] = size * self.sizes.pop(axis)
        self.work = sum(n.cost * n.size for n in group.nodes)
        if self.lane_bytes:
            self.work = COST * math.prod(group.sizes)
        self.lanes_kept = group.lanes_kept or self._has_short_rows()

    def _has_short_rows(self) -> bool:
        """Whether rows are so short and so many that each lane takes a row, whose elements are strided."""
        kept = [axis for axis in self.sizes if axis in (self.group.kept or ())]
        inner = [axis for axis in self.sizes if axis not in kept]
        if self.lane_bytes or not kept or len(inner) != 1 or any(n.is_shared for n in self.group.nodes):
            return False
        size = self.sizes[inner[0]]
        if size >= self.lanes or self.sizes[kept[-1]] < self.lanes:
            return False
        kinds = {kind for part in self.parts.values() for kind in part.kinds}
        most = _EXTREMES if kinds & {"maximumf", "minimumf"} else _SHUFFLED
        if size <= most and self.work > _SOME:
            return True
        return size != self._width(size) and self.cost > COSTLY and self.work > _MUCH

    def _cuts(self, recorder: Recorder) -> dict[int, list[int]]:
        """Where axes are cut, so that each piece reads one part of joined arrays."""
        axes = {symbol.terms[0][0]: axis for axis, symbol in enumerate(self.symbols)}
        if not set(recorder.cuts) <= set(axes) or (recorder.undecided_parts and self.group.kept is not None):
            raise RefusedError("parts that meet within a row")
        cuts = {axes[s]: sorted(at for at in ends if 0 < at < self.sizes[axes[s]]) for s, ends in recorder.cuts.items()}
        if not are_few(pieces_of(cuts), math.prod(self.group.sizes)):
            raise RefusedError("an array of many parts")
        return {axis: ends for axis, ends in cuts.items() if ends}

    def _axes(self, node: Node) -> Sequence[int]:
        return range(len(node.axes)) if self.group.is_full(node) else self.group.kept or ()

    def _width(self, size: int) -> int:
        """The number of lanes of a vector along an axis of that size."""
        return width_of(self.lanes, size)

    def _is_little(self) -> bool:
        """Whether the group is so small that computing it element by element costs less than another kernel; or whether
        the compiler's own kernels, which are another one, may have other bits.
        """
        if self.processor.is_portable:
            return True
        most = _LITTLE_COSTLY if self.cost > COSTLY else _LITTLE
        return math.prod(self.group.sizes) * max(1.0, self.cost) <= most

    def _takes_vectors(self, parts: Sequence[Part], lane: int, width: int, moves: bool = False) -> bool:
        """Whether parts are vectorized along an axis.

        Args:
          moves: whether their elements may be computed one by one instead.
        """
        recorder = self._in_vectors(parts, lane, width)
        if recorder is None:
            return False
        if recorder.gathers <= GATHERED * max(1, len(recorder.reads)):
            return True
        return bool(self.group.kept) if moves else not self._is_little()

    def _in_vectors(self, parts: Sequence[Part], lane: int, width: int) -> Recorder | None:
        """The reads of parts in vectors along an axis; None if they cannot be vectorized."""
        if width == 1:
            return None
        recorder = Recorder(self.k.symbols, width)
        base = self.k.symbols.new("", 0, max(self.sizes[lane] - width, 1))
        at = {axis: symbol for axis, symbol in enumerate(self.symbols) if axis in self.sizes}
        at[lane] = base.lanes()
        try:
            for part in parts:
                for value in part.values:
                    recorder.get(value, part.index(at, self._axes(part.node)))
        except NotVectorsError:
            return None
        return recorder

    # Memory.

    def _choose_memory(self) -> None:
        """Choose the memory of results that others need, and of values that later sweeps read."""
        for part in self.parts.values():
            for number, known in enumerate(part.node.buffers):
                if known in self.needed or part.node.is_shared:
                    size, element = part.stands[number].size, part.stands[number].element
                    buffer = Buffer(f"%out{len(self.outputs)}", size, element)
                    self.outputs.append((known, buffer))
                    part.targets[number] = View(buffer, row_strides(part.stands[number].shape))
        last = self._last_levels()
        for part in self.parts.values():
            node = part.node
            if node.is_reduction or not self.group.is_full(node) or last.get(node, 0) <= node.level:
                continue
            if part.targets[0] is None:
                part.targets[0] = self._row_memory(part)

    def _last_levels(self) -> dict[Node, int]:
        makers = self.reading.makers
        last: dict[Node, int] = {}
        for node in self.group.nodes:
            for buffer, _ in node.reads:
                maker = makers[buffer]
                if maker in self.parts:
                    last[maker] = max(last.get(maker, 0), node.level)
        return last

    def _row_memory(self, part: Part) -> View:
        """Memory for one row on the stack, or for all rows if a row is too long."""
        value, kept = part.stands[0], self.group.kept or ()
        if self.lanes_kept and not self.group.lanes_kept:
            return self._transposed_memory(part)
        strides, step = [0] * len(value.shape), 1
        row = [d for i, d in enumerate(part.node.axes) if i not in kept]
        for d in reversed(row):
            strides[d], step = step, step * value.shape[d]
        taken = sum(buffer.bytes for buffer in self.scratch)
        if self.group.lanes_kept or taken + step * value.element.size > _STACK:
            buffer = Buffer(f"%spilled{len(self.spilled)}", value.size, value.element)
            self.spilled.append(buffer)
            return View(buffer, row_strides(value.shape))
        made = Buffer("%none", step, value.element)
        made.name = self.k.writer.scratch(made.numbers, value.element.stored).name
        self.scratch.append(made)
        return View(made, tuple(strides))

    def _transposed_memory(self, part: Part) -> View:
        """Memory for all rows, in which elements of neighbouring rows are adjacent."""
        value, kept = part.stands[0], self.group.kept or ()
        strides, step = [0] * len(value.shape), 1
        axes = list(enumerate(part.node.axes))
        for _, d in sorted(axes, key=lambda pair: (pair[0] in kept, pair[0]), reverse=True):
            strides[d], step = step, step * value.shape[d]
        buffer = Buffer(f"%spilled{len(self.spilled)}", value.size, value.element)
        self.spilled.append(buffer)
        return View(buffer, tuple(strides))


def _nowhere(buffer: Buffer, shape: Sequence[int]) -> Callable[[Builder, Index], Item]:
    """A placeholder for values that are not computed yet: recorders see its addresses, but code may not read it."""

    def read(builder: Builder, at: Index) -> Item:
        if isinstance(builder, Code):
            raise RefusedError("an element of another row")
        return builder.load(View(buffer, row_strides(shape)), at)

    return read

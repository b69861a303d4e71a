"""Groups of nodes that become one kernel: nodes of one iteration space that read one another at the same element."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from passes.analysis.strided import row_strides
from passes.kernels.linear import Linear, address
from passes.kernels.order import keeps_order
from passes.kernels.straight.lazy import has_effects
from passes.kernels.straight.node import Node, Unfused
from passes.kernels.straight.nodes import Reading, finish
from passes.kernels.straight.pieces import are_few, pieces_of
from passes.kernels.sweep import SHARED
from passes.kernels.values import Buffer

# The most operands and results of a group's kernel; a dispatch has 32 at most.
BINDINGS = 28
# The number of recent groups that a node may join.
_RECENT = 12
# The most operations for one element of a group, which limits the length of its code.
_LONGEST = 1200
# Nodes of more elements are not computed with reductions of fewer columns than _NARROW, which too few workgroups share.
_SPREAD, _NARROW = 1 << 16, 128
# Reductions in a group.
_MOST_REDUCTIONS = 8


class Group:
    """Nodes of one kernel.

    Attributes:
      sizes: the sizes of the axes of the iteration space.
      kept: the axes that are not reduced, or None as long as there is no reduction.
    """

    def __init__(self, node: Node) -> None:
        self.nodes: list[Node] = []
        self.sizes = node.sizes
        self.kept: tuple[int, ...] | None = None
        self.needs: dict[Buffer, None] = {}
        self.is_shared = False

    @property
    def lanes_kept(self) -> bool:
        """Whether vectors run along the last of the kept axes."""
        return bool(self.kept) and self.kept is not None and self.kept[-1] == len(self.sizes) - 1

    @property
    def levels(self) -> int:
        """The number of consecutive sweeps."""
        return 1 + max(node.level for node in self.nodes)

    def is_full(self, node: Node) -> bool:
        """Whether a node ranges over the whole space of the group, not only over its kept axes."""
        return node.sizes == self.sizes

    @property
    def kept_sizes(self) -> tuple[int, ...]:
        """The sizes of the kept axes."""
        return tuple(self.sizes[i] for i in self.kept or ())


class Planner:
    """Partitions the nodes of a block into groups, in the order of the program."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.groups: list[Group] = []
        self.units: list[Any] = []
        # Nodes that begin a kernel, with what they read from another one, and why they are not in that.
        self.divided: list[tuple[Node, Node | Unfused, str]] = []
        self._before: dict[Any, int] = {}
        self._bits: dict[Any, int] = {}
        self._last_effect: Any = None
        made = {node.op: node for node in reading.nodes}
        for op in reading.operations:
            if op in reading.unfused:
                self._add_unfused(reading.unfused[op])
            if op in made:
                self._place(made[op])

    def ordered(self) -> list[Group]:
        """The groups in topological order."""
        return sorted(self.groups, key=lambda group: self._before[group].bit_count())

    def split(self, group: Group) -> list[Group]:
        """The nodes of a group as groups of their own, which take its place."""
        self.groups.remove(group)
        found = [self._begin(node) for node in group.nodes]
        for node, made in zip(group.nodes, found):
            node.level = 0
            self._enter(node, made)
        return found

    def _begin(self, node: Node) -> Group:
        group = Group(node)
        self.groups.append(group)
        self._add(group, 0)
        return group

    def _add_unfused(self, unfused: Unfused) -> None:
        before = self._mask(unfused.needs)
        # Values that it does not read from memory must come before it, too: scalars that its own kernel computes, and
        # elements of types that kernels do not support.
        for value in self.reading.sources(self.reading.operands(unfused.op)):
            buffer, op = self.reading.memory(value), getattr(value.owner, "operation", None)
            unit = self.reading.unfused.get(op) if buffer is None else self._unit(buffer)
            if unit is not None:
                before |= self._bits[unit] | self._before[unit]
        if has_effects(unfused.op):
            # Operations with effects stay in their order.
            if self._last_effect is not None:
                before |= self._before[self._last_effect] | self._bits[self._last_effect]
            self._last_effect = unfused
        self._add(unfused, before)

    def _add(self, unit: Any, before: int) -> None:
        self._bits[unit] = 1 << len(self.units)
        self.units.append(unit)
        self._before[unit] = before

    def _unit(self, buffer: Buffer) -> Any:
        maker = self.reading.makers.get(buffer)
        return maker.group if isinstance(maker, Node) else maker

    def _mask(self, needs: Sequence[Buffer], without: Any = None) -> int:
        mask = 0
        for buffer in needs:
            unit = self._unit(buffer)
            if unit is not None and unit is not without:
                mask |= self._bits[unit] | self._before[unit]
        return mask

    def _place(self, node: Node) -> None:
        if node.is_reduction and not node.kept and node.size > SHARED and node.source is None:
            made = finish(self.reading, node)
            self._put(node)
            self._put(made)
        else:
            self._put(node)

    def _put(self, node: Node) -> None:
        obstacles: dict[Group, str] = {}
        for group in reversed(self.groups[-_RECENT:]):
            obstacles[group] = self._obstacle(node, group)
            if not obstacles[group]:
                return self._enter(node, group)
        for maker in dict.fromkeys(self.reading.makers[buffer] for buffer, _ in node.reads):
            if isinstance(maker, Node):
                reason = obstacles.get(maker.group, f"more than {_RECENT} kernels are between them")
                self.divided.append((node, maker, reason))
            elif isinstance(maker, Unfused):
                what = maker.op.name.removeprefix("stablehlo.")
                alone = "a product, a convolution or a loop" if what == "flow.dispatch" else what
                self.divided.append((node, maker, f"that is for {alone} alone"))
        return self._enter(node, self._begin(node))

    def _enter(self, node: Node, group: Group) -> None:
        node.group = group
        if node.is_reduction and group.kept is None:
            group.kept, group.is_shared = node.kept, node.is_shared
        for buffer, _ in node.reads:
            maker = self.reading.makers[buffer]
            if isinstance(maker, Node) and maker.group is group:
                node.level = max(node.level, maker.level + maker.is_reduction)
        group.nodes.append(node)
        group.needs.update(dict.fromkeys(buffer for buffer, _ in node.reads))
        mine = self._bits[group]
        added = self._mask([buffer for buffer, _ in node.reads], group) | self._before[group]
        if added != self._before[group]:
            self._before[group] = added
            for unit, before in self._before.items():
                if before & mine:
                    self._before[unit] = before | added

    def _obstacle(self, node: Node, group: Group) -> str:
        """Why a node cannot join a group; empty if it can."""
        makers = self.reading.makers
        inside = [
            (buffer, read)
            for buffer, read in node.reads
            if isinstance(makers[buffer], Node) and makers[buffer].group is group
        ]
        outside = dict.fromkeys(buffer for buffer, _ in node.reads)
        if node.source is not None:
            # Nodes that combine the partial results of one kernel form one kernel.
            if not any(n.source is not None and n.source.group is node.source.group for n in group.nodes):
                return "it combines the partial results of all workgroups"
        elif node.sizes and not inside and not any(b in group.needs and b.size > 1 for b in outside):
            return "they have no array in common"
        if any(buffer in self.reading.starts for buffer, _ in inside):
            return "it needs where a slice starts before anything else"
        if self._mask(list(outside), group) & self._bits[group]:
            return "what is between them needs the one and is needed by the other"
        bindings = {*group.needs, *outside, *(b for n in (*group.nodes, node) for b in n.buffers)}
        if len(bindings) > BINDINGS:
            return f"together they have more than {BINDINGS} arrays"
        if sum(n.length for n in group.nodes) + node.length > _LONGEST:
            return f"together they have more than {_LONGEST} operations for an element"
        is_reduction = node.is_reduction
        if any(makers[b].is_shared for b, _ in inside):
            return "it needs a reduction that workgroups share"
        if is_reduction and sum(n.is_reduction for n in group.nodes) >= _MOST_REDUCTIONS:
            return f"a kernel has at most {_MOST_REDUCTIONS} reductions"
        if node.is_scattered and (group.is_full(node) or not group.kept or group.lanes_kept):
            # A node whose elements are read one by one may only have one element for each row.
            return "its elements are read one by one, and those of the other as vectors"
        if any(n.is_scattered and group.is_full(n) for n in group.nodes):
            return "the elements of the other are read one by one"
        nodes = [*group.nodes, node]
        if node.is_cut != any(n.is_cut for n in group.nodes):
            return "one of them computes the parts of joined arrays, and the other does not"
        if not are_few(_pieces(nodes), node.size, sum(n.length for n in nodes)):
            return "their space would be cut into too many pieces"
        if _changes_order(nodes):
            return "the order of a sum would depend on the other"
        if not self._fits(node, group, is_reduction):
            return "they range over different elements, or reduce different axes"
        if not all(self._is_own(node, group, makers[buffer], read) for buffer, read in inside):
            return "it reads other elements than the one that has just been computed"
        return ""

    def _fits(self, node: Node, group: Group, is_reduction: bool) -> bool:
        full = group.is_full(node)
        if group.kept is None:
            return full
        if is_reduction:
            return full and node.kept == group.kept and node.is_shared == group.is_shared
        if group.is_shared:
            return full
        if full and group.lanes_kept and node.size > _SPREAD and math.prod(group.kept_sizes) < _NARROW:
            # Workgroups share columns, and there are too few of them.
            return False
        return full or node.sizes == group.kept_sizes

    def _is_own(self, node: Node, group: Group, maker: Node, read: Linear) -> bool:
        """Whether a node reads another node of its group at its own element, or at the element of its row."""
        index = [self.reading.k.space(node.shape).symbols[d] for d in node.axes]
        full = group.is_full(node)
        if not maker.is_reduction and group.is_full(maker) and maker.sizes != group.kept_sizes:
            return full and read == address(index, row_strides(group.sizes))
        rows = [index[i] for i in group.kept or ()] if full else index
        return read == address(rows, row_strides(group.kept_sizes))


def _pieces(nodes: Sequence[Node]) -> int:
    """The number of pieces into which the common space of nodes is cut."""
    cuts: dict[int, set[int]] = {}
    for node in nodes:
        for axis, ends in node.cuts.items():
            cuts.setdefault(axis, set()).update(ends)
    return pieces_of(cuts)


def _changes_order(nodes: Sequence[Node]) -> bool:
    """Whether sums that are computed together would have another order than alone."""
    sums = [node for node in nodes if node.lane_bytes]
    if not sums:
        return False
    full = [node for node in nodes if node.sizes == sums[0].sizes]
    keep = all(keeps_order(node.merges, sums[0].summed) for node in full)
    return not keep or len({node.lane_bytes for node in sums}) > 1

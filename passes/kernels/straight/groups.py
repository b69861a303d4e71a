"""Nodes that become one kernel: those of one iteration space that read one another at the element being computed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from passes.kernels.linear import Linear, address
from passes.kernels.straight.lazy import has_effects
from passes.kernels.straight.nodes import Node, Reading, Stay, finish
from passes.kernels.straight.pieces import PIECES, pieces_of
from passes.kernels.values import Buffer, row_major

# Operands and results of a kernel, of which a dispatch has 32 at most.
_BINDINGS = 28
# How far back groups are looked for that a node may join.
_RECENT = 12
# Additions of one element of a group: code becomes no longer than that.
_LONGEST = 1200
# Reductions of more elements are shared by workgroups.
SHARED = 1 << 15
# Elements of rows from which on they are shared by workgroups, apart from reductions of so few columns.
_SPREAD, _NARROW = 1 << 16, 128
# Reductions in a group.
_MOST_REDUCTIONS = 8


class Group:
    """Nodes of one kernel.

    Attributes:
      sizes: of the axes of the iteration space.
      kept: those that are not reduced, or None as long as there is no reduction.
      lanes_kept: whether vectors run along the last of the kept axes.
      before: the units that come before, as bits.
    """

    def __init__(self, bit: int, node: Node) -> None:
        self.bit = bit
        self.nodes: list[Node] = []
        self.sizes = node.sizes
        self.kept: tuple[int, ...] | None = None
        self.before = 0
        self.needs: dict[Buffer, None] = {}
        self.is_shared = False

    @property
    def lanes_kept(self) -> bool:
        """Whether vectors run along the last of the kept axes."""
        return bool(self.kept) and self.kept is not None and self.kept[-1] == len(self.sizes) - 1

    @property
    def levels(self) -> int:
        """How many sweeps follow one another."""
        return 1 + max(node.level for node in self.nodes)

    def is_full(self, node: Node) -> bool:
        """Whether a node has an element for each of the group's, rather than for each of the kept ones."""
        return node.sizes == self.sizes

    @property
    def kept_sizes(self) -> tuple[int, ...]:
        """The sizes of the kept axes."""
        return tuple(self.sizes[i] for i in self.kept or ())


class Planner:
    """Puts the nodes of a block into groups, in the order of the program."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.groups: list[Group] = []
        self.units: list[Any] = []
        self._before: dict[Any, int] = {}
        self._bits: dict[Any, int] = {}
        self._last_effect: Any = None
        made = {node.op: node for node in reading.nodes}
        for op in reading.operations:
            if op in reading.stays:
                self._stay(reading.stays[op])
            if op in made:
                self._place(made[op])

    def ordered(self) -> list[Group]:
        """The groups, each after those that it needs."""
        return sorted(self.groups, key=lambda group: self._before[group].bit_count())

    def _stay(self, stay: Stay) -> None:
        before = self._mask(stay.needs)
        # What it does not read as memory has to stand before it, too: numbers that its own kernel computes, and
        # elements that kernels do not have.
        todo, seen = list(self.reading.operands(stay.op)), set()
        while todo:
            value = todo.pop()
            node, op = self.reading.root(value), getattr(value.owner, "operation", None)
            unit = self.reading.stays.get(op) if node is None else node.group
            if unit is not None:
                before |= self._bits[unit] | self._before[unit]
            elif op in self.reading.lowered and op not in seen:
                seen.add(op)
                todo += self.reading.operands(op)
        if has_effects(stay.op):
            # What may have effects stays in its order.
            if self._last_effect is not None:
                before |= self._before[self._last_effect] | self._bits[self._last_effect]
            self._last_effect = stay
        self._add(stay, before)

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
        for group in reversed(self.groups[-_RECENT:]):
            if self._joins(node, group):
                return self._enter(node, group)
        group = Group(0, node)
        self.groups.append(group)
        self._add(group, 0)
        return self._enter(node, group)

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

    def _joins(self, node: Node, group: Group) -> bool:
        makers = self.reading.makers
        inside = [
            (buffer, place)
            for buffer, place in node.reads
            if isinstance(makers[buffer], Node) and makers[buffer].group is group
        ]
        outside = dict.fromkeys(buffer for buffer, _ in node.reads)
        if node.source is not None:
            # What combines the partial results of one kernel is one kernel.
            if not any(n.source is not None and n.source.group is node.source.group for n in group.nodes):
                return False
        elif not inside and not any(b in group.needs and b.size > 1 for b in outside):
            return False
        if self._mask(list(outside), group) & self._bits[group]:
            return False
        bindings = {*group.needs, *outside, *(b for n in (*group.nodes, node) for b in n.buffers)}
        if len(bindings) > _BINDINGS or sum(n.cost for n in group.nodes) + node.cost > _LONGEST:
            return False
        is_reduction = node.is_reduction
        if any(makers[b].is_shared for b, _ in inside):
            return False
        if is_reduction and sum(n.is_reduction for n in group.nodes) >= _MOST_REDUCTIONS:
            return False
        if node.is_scattered and (group.is_full(node) or not group.kept or group.lanes_kept):
            # What is read one by one is written with an element for each row alone.
            return False
        if any(n.is_scattered and group.is_full(n) for n in group.nodes):
            return False
        if node.is_cut != any(n.is_cut for n in group.nodes) or _pieces([*group.nodes, node]) > PIECES:
            return False
        if not self._fits(node, group, is_reduction):
            return False
        return all(self._is_own(node, group, makers[buffer], place) for buffer, place in inside)

    def _fits(self, node: Node, group: Group, is_reduction: bool) -> bool:
        full = group.is_full(node)
        if group.kept is None:
            return full and len(node.sizes) > 0
        if is_reduction:
            return full and node.kept == group.kept and node.is_shared == group.is_shared
        if group.is_shared:
            return full
        if full and group.lanes_kept and node.size > _SPREAD and math.prod(group.kept_sizes) < _NARROW:
            # Workgroups share columns, of which there are too few for that.
            return False
        return full or node.sizes == group.kept_sizes

    def _is_own(self, node: Node, group: Group, maker: Node, place: Linear) -> bool:
        """Whether a node reads another one of its group at its own element, or at that of its row."""
        index = [self.reading.k.space(node.shape).symbols[d] for d in node.axes]
        full = group.is_full(node)
        if not maker.is_reduction and group.is_full(maker) and maker.sizes != group.kept_sizes:
            return full and place == address(index, row_major(group.sizes))
        rows = [index[i] for i in group.kept or ()] if full else index
        return place == address(rows, row_major(group.kept_sizes))


def _pieces(nodes: Sequence[Node]) -> int:
    """How many pieces the space of nodes that are computed together is cut into."""
    cuts: dict[int, set[int]] = {}
    for node in nodes:
        for axis, ends in node.cuts.items():
            cuts.setdefault(axis, set()).update(ends)
    return pieces_of(cuts)

"""What a group is made of, and groups that are made of the same: their kernel is written once.

Layers of a network, and steps that are written one after the other, are the same operations again on other values.
Writing a kernel takes ten times as long as finding that it has been written.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from passes.kernels import structure
from passes.kernels.dispatch import Kernel
from passes.kernels.straight.groups import Group
from passes.kernels.straight.nodes import Reading
from passes.kernels.values import Buffer

BARRIER = "stablehlo.optimization_barrier"


class Reach:
    """The operations that a group computes, and the values that it reads.

    Attributes:
      operations: in the order of the program; by operation, the places of the results that are read.
      outside: the values that come from elsewhere.
    """

    def __init__(self, reading: Reading, group: Group) -> None:
        mine = set(group.nodes)
        wanted: dict[Any, set[int]] = {}
        self.outside: dict[Any, None] = {}
        stack: list[Any] = []
        for node in group.nodes:
            if node.source is None:
                stack += list(node.op.operands) if node.is_reduction else [node.op]
            else:
                stack += list(node.op.operands)[len(node.op.results) :]
        while stack:
            item, place = stack.pop(), 0
            if not hasattr(item, "regions"):
                root = reading.root(item)
                if root is not None and root in mine:
                    continue
                op = getattr(item.owner, "operation", None)
                if root is not None or op is None or op not in reading.lowered:
                    self.outside[item] = None
                    continue
                item, place = op, item.result_number
            if item.name == BARRIER:
                # Of what it holds together, the others are none of the group's.
                stack.append(item.operands[place])
            elif item not in wanted:
                stack += reading.operands(item)
            wanted.setdefault(item, set()).add(place)
        everything = sorted({*wanted, *(node.op for node in group.nodes)}, key=reading.order.__getitem__)
        self.operations = {op: wanted.get(op, set()) for op in everything}


class Written(NamedTuple):
    """The kernel of a group, in terms that hold for each equal one.

    Attributes:
      kernel: its code; its operands are the values from outside of the group.
      outputs: which of the memory of the group's nodes it writes, one after the other, and what stands for it.
      spilled: memory that it needs in addition.
      own_elements: the operands of which it reads an element before it writes it.
      lines: how long it is.
      scratch: bytes that it has for itself.
    """

    kernel: Kernel
    outputs: tuple[tuple[int, Buffer], ...]
    spilled: tuple[Buffer, ...]
    own_elements: tuple[int, ...]
    lines: int
    scratch: int


def key_of(group: Group, reach: Reach, needed: Collection[Buffer], bodies: structure.Bodies) -> Any:
    """What the code of a group's kernel depends on: equal keys are equal kernels, but for the users' lines.

    None for groups of partial results, which depend on what another kernel left.
    """
    if any(node.source is not None or node.is_shared for node in group.nodes):
        return None
    numbers = {value: n for n, value in enumerate(reach.outside)}
    operations = tuple(
        (structure.of(op, numbers, bodies), tuple(sorted(places))) for op, places in reach.operations.items()
    )
    order = {op: n for n, op in enumerate(reach.operations)}
    nodes = tuple(
        (
            order[node.op],
            node.shape,
            node.reduced,
            node.level,
            node.cost,
            node.is_cut,
            node.is_scattered,
            tuple(buffer in needed for buffer in node.buffers),
        )
        for node in group.nodes
    )
    return tuple(value.type for value in reach.outside), operations, nodes, tuple(group.sizes), group.kept

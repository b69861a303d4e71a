"""The keys of groups: groups with equal keys share one kernel.

Layers of a network, and unrolled steps, repeat the same operations on other values. Writing a kernel takes ten times as
long as finding one that has been written.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from passes.kernels import structure
from passes.kernels.dispatch import Kernel
from passes.kernels.straight.groups import Group
from passes.kernels.straight.nodes import Reading
from passes.kernels.values import Buffer


class Reach:
    """The operations that a group computes, and the values that it reads.

    Attributes:
      operations: in the order of the program.
      outside: the values that are computed elsewhere.
    """

    def __init__(self, reading: Reading, group: Group) -> None:
        mine = set(group.nodes)
        found = {node.op for node in group.nodes}
        seen: set[Any] = set()
        self.outside: dict[Any, None] = {}
        stack: list[Any] = []
        for node in group.nodes:
            if node.source is None:
                stack += list(node.op.operands) if node.is_reduction else [node.op]
            else:
                stack += list(node.op.operands)[len(node.op.results) :]
        while stack:
            item = stack.pop()
            if not hasattr(item, "regions"):
                root = reading.root(item)
                if root is not None and root in mine:
                    continue
                op = reading.producer(item)
                if root is not None or op not in reading.lowered:
                    self.outside[item] = None
                    continue
                item = op
            if item not in seen:
                seen.add(item)
                stack += reading.operands(item)
        self.operations = sorted(found | seen, key=reading.order.__getitem__)


class Written(NamedTuple):
    """The kernel of a group, described so that it applies to each group with an equal key.

    Attributes:
      kernel: its code; its operands are the values from outside the group.
      outputs: for each result, the index of the buffer among those of the group's nodes, and the kernel's buffer.
      own_elements: the operands of which it reads each element before it writes that element.
      lines: the lines of its text.
      scratch: its bytes of scratch memory on the stack.
    """

    kernel: Kernel
    outputs: tuple[tuple[int, Buffer], ...]
    own_elements: tuple[int, ...]
    lines: int
    scratch: int


def key_of(group: Group, reach: Reach, needed: Collection[Buffer], bodies: structure.Bodies) -> Any:
    """Everything that the code of a group's kernel depends on: kernels of equal keys differ only in locations.

    None for groups of partial results, which depend on another kernel.
    """
    if any(node.source is not None or node.is_shared for node in group.nodes):
        return None
    numbers = {value: n for n, value in enumerate(reach.outside)}
    operations = tuple(structure.of(op, numbers, bodies) for op in reach.operations)
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

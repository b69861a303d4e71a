"""What a block is divided into: values that need memory, reductions, and operations that are in no group."""

from __future__ import annotations

import math
from typing import Any

from passes import operations
from passes.kernels.linear import Linear
from passes.kernels.straight.unfused import has_own_kernel
from passes.kernels.values import Buffer


class Node:
    """A value that gets memory, or a reduction.

    Attributes:
      op: the operation whose results these are.
      results: values of the program.
      shape: the iteration space.
      reduced: axes of it that are accumulated.
      buffers: placeholders for the memory of the results, which readers refer to.
      reads: the buffers that an element is computed from, and the addresses in them.
      cost: about how many additions an element takes.
      length: how many operations are written for it.
      level: how many reductions of its group come before it.
      is_cut: whether elements come from parts of joined arrays that meet within the space.
      cuts: where parts meet, by axis.
      is_scattered: whether elements along the last axis are read one by one.
      is_shared: whether workgroups share a reduction, each with a partial result.
      lane_bytes: where the order of sums follows from shapes, the bytes of a reduction's accumulator, if it rounds.
      merges: there, which axes are read as one with the next (`order.merges`).
      source: the node whose partial results this one combines.
      group: the group that it is in.
      inner: the value that is stored, for a node that is not a reduction.
    """

    def __init__(self, op: Any, results: list[Any], shape: tuple[int, ...], reduced: tuple[int, ...]) -> None:
        self.op, self.results, self.shape, self.reduced = op, results, shape, reduced
        self.buffers: list[Buffer] = []
        self.reads: list[tuple[Buffer, Linear]] = []
        self.cost = self.length = 0
        self.level = 0
        self.is_cut = False
        self.cuts: dict[int, set[int]] = {}
        self.is_scattered = False
        self.is_shared = False
        self.lane_bytes = 0
        self.merges: frozenset[int] | None = None
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
    def summed(self) -> frozenset[int]:
        """Which of these are reduced."""
        return frozenset(range(len(self.axes))).difference(self.kept)

    @property
    def size(self) -> int:
        """How many elements its space has."""
        return math.prod(self.shape)


class Unfused:
    """An operation that is in no group: it stays outside kernels, or has a kernel of its own.

    Attributes:
      needs: the buffers that it reads.
      has_own_kernel: whether it has a kernel of its own.

    Args:
      is_repeated: whether it may be in a loop that the compiler runs.
    """

    def __init__(self, op: Any, is_repeated: bool) -> None:
        self.op = op
        self.needs: list[Buffer] = []
        # A kernel copies the array that it updates, in each iteration; the compiler updates in place.
        self.has_own_kernel = has_own_kernel(op) and not (
            is_repeated and operations.of(op.name).memory is operations.Memory.UPDATED
        )

"""A lowering in which all operations stay lazy: no value gets memory, and code is written only where it is read."""

from __future__ import annotations

from typing import Any

from passes import attributes as attrs, operations
from passes.kernels import views
from passes.kernels.builder import Builder
from passes.kernels.dispatch import HOST
from passes.kernels.kernel import Lowering, element_type
from passes.kernels.linear import ZERO
from passes.kernels.processor import Processor
from passes.kernels.record import Recorder
from passes.kernels.regions import region
from passes.kernels.structure import Bodies
from passes.kernels.values import Buffer, Index, Item, Value
from passes.match import captured_values

# Operations that may be part of a kernel, besides elementwise ones and `reduce`.
MOVES = frozenset(views.RULES)


class Lazy(Lowering):
    """Keeps the value of each operation as a function of indices.

    Attributes:
      tainted: results that depend on values which the kernel itself computes, so that even scalars stay lazy.
      read_first: the buffers of which every workgroup reads an element before anything else.
    """

    parts_in_memory = False

    def __init__(self, rules: Any, processor: Processor, bodies: Bodies) -> None:
        super().__init__(rules, processor, bodies)
        self.tainted: set[Any] = set()
        self.read_first: set[Buffer] = set()
        self._all_operands: dict[Any, list[Any]] = {}

    def all_operands(self, op: Any) -> list[Any]:
        """What `operands_of` finds, which is asked for several times."""
        found = self._all_operands.get(op)
        if found is None:
            found = self._all_operands[op] = operands_of(op, self.bodies)
        return found

    def define(self, op: Any, value: Value) -> None:
        """Define the result of an operation; a single element is computed at the start of the kernel."""
        result = op.results[0]
        value.location = op.location
        self.env[result] = value
        if result not in self.tainted and value.size == 1 and not value.is_scalar:
            at = (ZERO,) * len(value.shape)
            recorder = Recorder(self.symbols)
            recorder.get(value, at)
            self.read_first.update(read.buffer for read in recorder.reads)
            self.code.forget()
            value.scalar = self.code.get(value, at).name

    def lower(self, op: Any) -> None:
        """Lower an operation lazily; the only reductions here are those of one term for each element."""
        if not self.tainted.isdisjoint(self.all_operands(op)):
            self.tainted.update(op.results)
        if not is_single(op):
            return super().lower(op)
        value, first = (self.env[v] for v in op.operands)
        block, axes = op.regions[0].blocks[0], attrs.ints(op, "dimensions")

        def read(builder: Builder, at: Index) -> Item:
            left = iter(at)
            index = tuple(ZERO if d in axes else next(left) for d in range(len(value.shape)))
            items = [builder.get(first, ()), builder.get(value, index)]
            return region(self, builder, block, items, [value.element] * 2)[0]

        return self.define(op, self.function(element_type(op.results[0].type)[0], value.element, read))

    def store_joined(self, value: Value) -> None:
        """Do nothing: every reader here is a nest, which is cut where parts meet."""


def is_single(op: Any) -> bool:
    """Whether an operation reduces axes of one element only."""
    if op.name != "stablehlo.reduce" or len(op.results) != 1:
        return False
    shape = op.operands[0].type.shape
    return all(shape[axis] == 1 for axis in attrs.ints(op, "dimensions"))


def operands_of(op: Any, bodies: Bodies | None = None) -> list[Any]:
    """The operands of an operation, and the values that its regions capture.

    Args:
      bodies: a cache of regions.
    """
    if not len(op.regions):
        return list(dict.fromkeys(op.operands))
    captured = bodies.of(op).captured if bodies is not None and op.name not in HOST else captured_values(op)
    return list(dict.fromkeys((*op.operands, *captured)))


def is_function(block: Any) -> bool:
    """Whether a block belongs to a function, not to a loop or a conditional."""
    return bool(block.owner.operation.name == "func.func")


def captured(block: Any) -> list[Any]:
    """The values that the body of a loop or a conditional captures."""
    if is_function(block):
        return []
    inside = {*block.arguments, *(result for op in block.operations for result in op.operation.results)}
    used = dict.fromkeys(value for op in block.operations for value in operands_of(op.operation))
    return [value for value in used if value not in inside]


def has_effects(op: Any) -> bool:
    """Whether an operation may do more than compute its results, so that its order is kept."""
    if op.name.startswith("stablehlo."):
        return operations.of(op.name).effects
    return bool(op.name != "flow.dispatch")

"""Reductions of transposed arrays, rewritten to reduce the arrays themselves, whose elements are contiguous."""

from __future__ import annotations

from typing import Any

from passes import attributes as attrs, bindings, build, operations
from passes.match import producer, splat_of
from passes.simplify.moves import rebuilt

# Readers that need the transposed elements in memory.
_IN_MEMORY = ("func.return", "stablehlo.return", "flow.dispatch")
_MOST = 8


def untranspose(block: Any) -> None:
    """Have the reductions of a block read the operands of transposes, if the result keeps its order of axes.

    The order of a sum may change, and the order in memory is the fastest.
    """
    for op in [o.operation for o in block.operations if o.operation.name == "stablehlo.reduce"]:
        if len(op.results) == 1:
            _rewrite(op)


def _rewrite(op: Any) -> None:
    found = _Chain(len(op.operands[0].type.shape))
    if not found.takes(op.operands[0]) or found.permutation is None:
        return
    axes = set(attrs.ints(op, "dimensions"))
    kept = [axis for d, axis in enumerate(found.permutation) if d not in axes]
    if kept != sorted(kept):
        return
    with bindings.ir.InsertionPoint(op), op.location:
        op.operands[0] = found.built(op.operands[0])
        op.attributes["dimensions"] = build.i64_array(sorted(found.permutation[d] for d in axes))


class _Chain:
    """Elementwise operations on scalars and arrays that are transposed by the same permutation."""

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self.permutation: tuple[int, ...] | None = None
        self.operations: dict[Any, None] = {}
        self._built: dict[Any, Any] = {}

    def takes(self, value: Any) -> bool:
        """Whether a value is computed from transposed arrays and numbers alone."""
        op = producer(value)
        if op is None or len(value.type.shape) != self.rank:
            return False
        operation = op.operation
        if splat_of(value) is not None or operation in self.operations:
            return True
        if any(use.owner.operation.name in _IN_MEMORY for use in value.uses):
            return False
        if operation.name == "stablehlo.transpose":
            found = attrs.ints(operation, "permutation")
            self.permutation = self.permutation or found
            return found == self.permutation
        # Operations in between are as cheap to compute twice as to read.
        if operations.of(operation.name).cost is not operations.Cost.CHEAP or len(self.operations) == _MOST:
            return False
        self.operations[operation] = None
        return all(self.takes(operand) for operand in operation.operands)

    def built(self, value: Any) -> Any:
        """The value with its axes in the order before the transposes."""
        if value not in self._built:
            self._built[value] = self._build(value)
        return self._built[value]

    def _build(self, value: Any) -> Any:
        assert self.permutation is not None, "there is a transpose"
        shape = [0] * self.rank
        for d, axis in enumerate(self.permutation):
            shape[axis] = value.type.shape[d]
        number = splat_of(value)
        if number is not None:
            return build.full(number, build.tensor_type(shape, value.type.element_type))
        operation = value.owner.operation
        if operation.name == "stablehlo.transpose":
            return operation.operands[0]
        return rebuilt(operation, [self.built(v) for v in operation.operands], shape)

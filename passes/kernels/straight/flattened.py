"""Move reshapes that merge axes before elementwise operations.

Element `i` of a flattened array in memory is element `i` of that memory. But element `i` of a flattened computed matrix
of `n` columns is element `i // n, i % n`, which cannot be read in vectors.
"""

from __future__ import annotations

from typing import Any

from passes import bindings, build
from passes.kernels.arithmetic import can
from passes.kernels.straight.lazy import MOVES
from passes.match import is_static, producer, splat_of
from passes.simplify.moves import rebuilt

_RESHAPE, _BROADCAST = "stablehlo.reshape", "stablehlo.broadcast_in_dim"
# The most operations that are rewritten for one reshape.
_MOST = 32


def flatten(block: Any) -> None:
    """Move the reshapes of a block that merge axes before the elementwise operations that compute their operands."""
    for op in [o.operation for o in block.operations if o.operation.name == _RESHAPE]:
        source, result = op.operands[0], op.results[0]
        if not is_static(source) or _rank(result) >= _rank(source) or not can(_name(source)):
            continue
        found = _Chain(source.type.shape, result.type.shape)
        if found.takes(source):
            with bindings.ir.InsertionPoint(op), op.location:
                result.replace_all_uses_with(found.built(source))
            op.erase()


def _rank(value: Any) -> int:
    return sum(n > 1 for n in value.type.shape)


def _name(value: Any) -> str:
    op = producer(value)
    return op.operation.name.removeprefix("stablehlo.") if op is not None else ""


class _Chain:
    """A tree of elementwise operations with one reader each, whose leaves are arrays in memory and scalars."""

    def __init__(self, before: Any, after: Any) -> None:
        self.before, self.after = list(before), list(after)
        self.count = 0

    def takes(self, value: Any) -> bool:
        """Whether all leaves of a value can be read with the other shape, without a copy."""
        op = producer(value)
        if not value.type.shape or splat_of(value) is not None or op is None:
            return True
        operation = op.operation
        if operation.name in (_RESHAPE, _BROADCAST):
            operand = operation.operands[0]
            return not operand.type.shape or (operation.name == _RESHAPE and not self._is_computed(operand))
        if not self._is_computed(value):
            return True
        self.count += 1
        alone = len(list(value.uses)) == 1 and list(value.type.shape) == self.before
        if operation.name in MOVES or not alone or self.count > _MOST:
            return False
        return all(not v.type.shape or list(v.type.shape) == self.before for v in operation.operands) and all(
            map(self.takes, operation.operands)
        )

    def _is_computed(self, value: Any) -> bool:
        op = producer(value)
        return op is not None and (op.operation.name in MOVES or can(_name(value)))

    def built(self, value: Any) -> Any:
        """The value with the other shape."""
        if not value.type.shape:
            return value
        number = splat_of(value)
        if number is not None:
            return build.full(number, build.tensor_type(self.after, value.type.element_type))
        op = producer(value)
        if op is None or not can(_name(value)):
            if op is not None and op.operation.name == _BROADCAST:
                return build.broadcast_in_dim(op.operation.operands[0], self.after, ())
            return build.reshape(value, self.after)
        with op.operation.location:
            return rebuilt(op, [self.built(v) for v in op.operation.operands], self.after)

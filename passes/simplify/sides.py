"""The two sides of a product: an array, and the roles of its dimensions."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from passes import attributes as attrs, bindings, build
from passes.match import dtype_of, is_integer, producer, rank_of, shape_of, size_of, splat_of
from passes.simplify.moves import is_static_op

DOT = "stablehlo.dot_general"


class Side(NamedTuple):
    """One operand of a product.

    Attributes:
      value: the array.
      batch: its batch dimensions.
      contract: its dimensions that are summed over.
    """

    value: Any
    batch: tuple[int, ...]
    contract: tuple[int, ...]

    @property
    def free(self) -> tuple[int, ...]:
        """The dimensions that are neither, in their order."""
        return tuple(d for d in range(rank_of(self.value)) if d not in self.batch and d not in self.contract)

    def size(self, dims: Collection[int]) -> int:
        """The number of elements along some dimensions."""
        shape = shape_of(self.value)
        return math.prod(shape[d] for d in dims)

    def of(self, value: Any, dropped: Collection[int] = ()) -> Side:
        """The roles of another array that lacks some of the dimensions."""

        def kept(dims: tuple[int, ...]) -> tuple[int, ...]:
            return tuple(d - sum(other < d for other in dropped) for d in dims if d not in dropped)

        return Side(value, kept(self.batch), kept(self.contract))


def sides(op: Any) -> tuple[Side, Side]:
    """The left and the right side of a `stablehlo.dot_general`."""
    dims = attrs.dot_dimensions(op)
    return Side(op.lhs, dims.lhs_batch, dims.lhs_contract), Side(op.rhs, dims.rhs_batch, dims.rhs_contract)


def either_side(op: Any) -> Iterator[tuple[int, Side, Side]]:
    """The left side of a product and then the right one, each after its number and before the other side."""
    both = sides(op)
    return ((number, both[number], both[1 - number]) for number in (0, 1))


def has_elements(op: Any) -> bool:
    """Whether the shapes of a product are static, and neither operand is empty."""
    return is_static_op(op) and 0 not in (*shape_of(op.lhs), *shape_of(op.rhs))


def product(op: Any, left: Side, right: Side, exchanged: bool = False) -> Any:
    """The product of two sides, with the result's element type and the other attributes of a `stablehlo.dot_general`.

    Args:
      exchanged: whether `left` has the role of the op's right side.
    """
    others = {name: value for name, value in attrs.copied(op).items() if name != "dot_dimension_numbers"}
    if exchanged and "precision_config" in others:
        others["precision_config"] = bindings.ir.ArrayAttr.get(list(others["precision_config"])[::-1])
    return build.dot_general(
        left.value,
        right.value,
        contracting=(left.contract, right.contract),
        batching=(left.batch, right.batch),
        attributes=others,
        element=op.operation.results[0].type.element_type,
    )


def in_order(number: int, one: Side, other: Side) -> tuple[Side, Side]:
    """Two sides as the left and the right one, where `one` is the left one if `number` is 0."""
    return (other, one) if number else (one, other)


def labels(left: Side, right: Side) -> list[tuple[str, int]]:
    """For each dimension of the product, the role and the dimension that it comes from."""
    batch = [("batch", i) for i in range(len(left.batch))]
    return [*batch, *(("left", d) for d in left.free), *(("right", d) for d in right.free)]


def multiplications(op: Any) -> int:
    """How many elements a product multiplies."""
    left, _ = sides(op)
    return size_of(op.operation.results[0]) * left.size(left.contract)


def is_wide_real(op: Any) -> bool:
    """Whether operands and result are integers of one type, or floats of one type that sums are not widened for."""
    kinds = {dtype_of(value) for value in (*op.operation.operands, *op.operation.results)}
    return len(kinds) == 1 and (is_integer(op.operation.results[0]) or kinds.pop().name in ("float32", "float64"))


def repeated(value: Any) -> frozenset[int]:
    """The dimensions along which a broadcast, or a constant of equal numbers, repeats its elements."""
    shape = shape_of(value)
    if producer(value, "stablehlo.constant") is not None and splat_of(value) is not None:
        return frozenset(d for d, n in enumerate(shape) if n > 1)
    broadcast = producer(value, "stablehlo.broadcast_in_dim")
    if broadcast is None:
        return frozenset()
    source = dict(zip(attrs.ints(broadcast, "broadcast_dimensions"), shape_of(broadcast.operand)))
    return frozenset(d for d, n in enumerate(shape) if n > 1 and source.get(d, 1) == 1)


def once(value: Any, dropped: Collection[int]) -> Any:
    """A value without some of the dimensions along which it is repeated."""
    kept = [d for d in range(rank_of(value)) if d not in dropped]
    shape = [shape_of(value)[d] for d in kept]
    broadcast = producer(value, "stablehlo.broadcast_in_dim")
    if broadcast is None:
        return build.full(splat_of(value), build.tensor_type(shape, value.type.element_type))
    dims = attrs.ints(broadcast, "broadcast_dimensions")
    inner, source = broadcast.operand, shape_of(broadcast.operand)
    own = [i for i, d in enumerate(dims) if d not in dropped]
    if len(own) != len(dims):
        inner = build.reshape(inner, [source[i] for i in own])
    return build.broadcast_in_dim(inner, shape, [kept.index(dims[i]) for i in own])


def is_zero(value: Any) -> bool:
    """Whether every element is the constant 0, of either sign."""
    number = splat_of(value)
    return number is not None and bool(number == 0)

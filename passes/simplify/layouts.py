"""Broadcasts, transposes, reshapes and reversals moved through one another and through arithmetic. Exact.

Broadcasts move after arithmetic, so that equal elements are computed once. The others move only where that removes one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from passes import attributes as attrs, build
from passes.analysis.strided import groups
from passes.match import is_static, producer, shape_of, size_of
from passes.patterns import laws_of, pattern
from passes.simplify.moves import (
    ELEMENTWISE,
    elementwise,
    is_elementwise,
    is_static_op,
    producers_of,
    spread,
    unit_map,
    used_once,
)

# How many operations deep arithmetic of broadcasts is looked into.
_NESTED = 4
_PERMUTING = ("stablehlo.transpose", "stablehlo.reshape", "stablehlo.reverse")


@pattern(*ELEMENTWISE, of="stablehlo.broadcast_in_dim")
def elementwise_of_broadcasts(op: Any) -> Any:
    """f(broadcast(x), broadcast(y)) -> broadcast(f(x, y)) for equal broadcasts, or where x is one number. Exact."""
    makers = producers_of(spread(op), "stablehlo.broadcast_in_dim")
    if not makers:
        return None
    widest = max(makers, key=lambda maker: size_of(maker.operand))
    source, dims = shape_of(widest.operand), attrs.ints(widest, "broadcast_dimensions")
    result = op.operation.results[0]
    if size_of(result) <= size_of(widest.operand) or size_of(result) == 0:
        return None
    for maker in makers:
        same = attrs.ints(maker, "broadcast_dimensions") == dims and shape_of(maker.operand) == source
        if not same and shape_of(maker.operand) != ():
            return None
    values = dict(zip(spread(op), makers))

    def before(value: Any) -> Any:
        inner = values[value].operand
        return inner if shape_of(inner) == source else build.broadcast_in_dim(inner, source, ())

    return build.broadcast_in_dim(elementwise(op, source, before), shape_of(result), dims)


def _same_move(makers: list[Any]) -> bool:
    """Whether all producers are the same transpose, reshape or reversal of arrays of the same shape."""
    if not makers:
        return False
    first = makers[0]
    name = first.operation.name
    if name not in _PERMUTING or any(maker.operation.name != name for maker in makers):
        return False
    shape, attributes = shape_of(first.operand), attrs.copied(first)
    return all(shape_of(maker.operand) == shape and attrs.copied(maker) == attributes for maker in makers[1:])


@pattern(*ELEMENTWISE, of=_PERMUTING)
def elementwise_of_equal_moves(op: Any) -> Any:
    """f(transpose(x), transpose(y)) -> transpose(f(x, y)), and the same for equal reshapes and reversals. Exact."""
    values = spread(op)
    if len(values) < 2:
        return None
    makers = producers_of(values)
    if not _same_move(makers) or not all(used_once(maker) for maker in makers):
        return None
    inner = {value: maker.operand for value, maker in zip(values, makers)}
    value = elementwise(op, shape_of(makers[0].operand), lambda v: inner[v])
    type_ = op.operation.results[0].type
    return build.op(makers[0].operation.name, [value], type_, attributes=attrs.copied(makers[0]))


def _undoes(op: Any, maker: Any) -> bool:
    """Whether a transpose, reshape or reversal undoes `maker`."""
    if maker is None or maker.operation.name != op.operation.name:
        return False
    if shape_of(maker.operand) != shape_of(op.operation.results[0]):
        return False
    if op.operation.name == "stablehlo.transpose":
        first, second = attrs.ints(maker, "permutation"), attrs.ints(op, "permutation")
        return all(first[i] == d for d, i in enumerate(second))
    if op.operation.name == "stablehlo.reverse":
        return set(attrs.ints(maker, "dimensions")) == set(attrs.ints(op, "dimensions"))
    return True


@pattern(*_PERMUTING, of=ELEMENTWISE)
def move_back_after_elementwise(op: Any) -> Any:
    """transpose(f(transpose(x), y)) -> f(x, transpose(y)), where two transposes cancel and at most one is added. Exact.

    The same for reshapes and reversals that undo each other.
    """
    inner = producer(op.operand)
    if inner is None or not is_elementwise(inner) or not used_once(inner) or not is_static_op(inner):
        return None
    values = spread(inner)
    back: dict[Any, Any] = {value: maker for value in values if _undoes(op, maker := producer(value))}
    if not back or len(values) - len(back) > sum(used_once(maker) for maker in back.values()):
        return None
    shape = shape_of(op.operation.results[0])
    return elementwise(inner, shape, lambda v: back[v].operand if v in back else rebuilt_for(op, v))


def rebuilt_for(op: Any, value: Any) -> Any:
    """Return a copy of an op with one operand, for another operand of the same shape."""
    type_ = build.tensor_type(shape_of(op.operation.results[0]), value.type.element_type)
    return build.op(op.operation.name, [value], type_, attributes=attrs.copied(op))


@pattern("stablehlo.transpose", of="stablehlo.broadcast_in_dim")
def transpose_of_broadcast(op: Any) -> Any:
    """transpose(broadcast(x)) -> broadcast(x) to other dimensions. Exact.

    Where the dimensions of x are exchanged, x is transposed, which has fewer elements.
    """
    inner = producer(op.operand, "stablehlo.broadcast_in_dim")
    result = op.operation.results[0]
    if inner is None or not is_static(inner.operand):
        return None
    order = attrs.ints(op, "permutation")
    dims = [order.index(d) for d in attrs.ints(inner, "broadcast_dimensions")]
    value = inner.operand
    if dims != sorted(dims):
        if size_of(value) == size_of(result):
            return None  # it repeats nothing: it is a transpose itself
        value = build.transpose(value, sorted(range(len(dims)), key=dims.__getitem__))
    return build.broadcast_in_dim(value, shape_of(result), sorted(dims))


@pattern("stablehlo.transpose", of=ELEMENTWISE)
def transpose_of_broadcast_arithmetic(op: Any) -> Any:
    """transpose(f(broadcast(x), iota)) -> f(broadcast(x), iota) to other dimensions. Exact.

    f may be several operations, whose results nothing else reads.
    """
    plan = transposed(op.operand, attrs.ints(op, "permutation"), _NESTED)
    return plan() if plan is not None else None


def transposed(value: Any, order: tuple[int, ...], depth: int) -> Callable[[], Any] | None:
    """Return a function that builds the transpose of broadcasts and iotas, or of their arithmetic; None for others."""
    maker = producer(value)
    if maker is None or not depth:
        return None
    shape = [shape_of(value)[d] for d in order]
    if maker.operation.name == "stablehlo.iota":
        type_ = build.tensor_type(shape, value.type.element_type)
        return lambda: _iota(type_, order.index(attrs.integer(maker, "iota_dimension")))
    if maker.operation.name == "stablehlo.broadcast_in_dim":
        dims = [order.index(d) for d in attrs.ints(maker, "broadcast_dimensions")]
        if dims != sorted(dims) and size_of(maker.operand) == size_of(value):
            return None
        return lambda: build.broadcast_in_dim(maker.operand, shape, dims)
    if not is_elementwise(maker) or not used_once(maker) or not is_static_op(maker):
        return None
    plans = {operand: transposed(operand, order, depth - 1) for operand in spread(maker)}
    if not plans or None in plans.values():
        return None
    return lambda: elementwise(maker, shape, lambda operand: plans[operand]())  # type: ignore[misc]


def _iota(type_: Any, dim: int) -> Any:
    return build.op("stablehlo.iota", [], type_, attributes={"iota_dimension": build.i64(dim)})


@pattern("stablehlo.reshape", of="stablehlo.iota")
def reshape_of_iota(op: Any) -> Any:
    """reshape(iota) -> iota, where the reshape keeps the dimension along which it counts. Exact."""
    inner = producer(op.operand, "stablehlo.iota")
    result = op.operation.results[0]
    if inner is None:
        return None
    dim, found = attrs.integer(inner, "iota_dimension"), groups(shape_of(op.operand), shape_of(result))
    for left, right in found or ():
        if left == [dim] and len(right) == 1:
            return _iota(result.type, right[0])
    return None


@pattern("stablehlo.reshape", of="stablehlo.broadcast_in_dim")
def reshape_of_broadcast(op: Any) -> Any:
    """reshape(broadcast(x)) -> broadcast(x), where the dimensions of x are neither split nor merged. Exact."""
    inner = producer(op.operand, "stablehlo.broadcast_in_dim")
    result = op.operation.results[0]
    if inner is None or not is_static(inner.operand):
        return None
    dims, source = attrs.ints(inner, "broadcast_dimensions"), shape_of(inner.operand)
    kept = [i for i, n in enumerate(source) if n != 1]
    positions = []
    for left, right in groups(shape_of(op.operand), shape_of(result)) or ():
        own = [i for i in kept if dims[i] in left]
        if own and (len(left) != 1 or len(right) != 1):
            return None
        positions += [(i, right[0]) for i in own]
    if 0 in shape_of(result) or len(positions) != len(kept):
        return None
    value = build.reshape(inner.operand, [source[i] for i in kept]) if len(kept) != len(source) else inner.operand
    return build.broadcast_in_dim(value, shape_of(result), [d for _, d in sorted(positions)])


@pattern("stablehlo.broadcast_in_dim", of="stablehlo.reshape")
def broadcast_of_reshape(op: Any) -> Any:
    """broadcast(reshape(x)) -> broadcast(x), where the reshape only adds dimensions of size 1. Exact."""
    inner = producer(op.operand, "stablehlo.reshape")
    result = op.operation.results[0]
    if inner is None or not is_static(inner.operand):
        return None
    before, after = shape_of(inner.operand), shape_of(op.operand)
    positions = unit_map(before, after)
    if positions is None or len(positions) != len(before):
        return None
    dims = attrs.ints(op, "broadcast_dimensions")
    return build.broadcast_in_dim(inner.operand, shape_of(result), [dims[positions[d]] for d in range(len(before))])


PATTERNS = laws_of(globals())

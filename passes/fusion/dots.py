"""Products: transposes are folded into them, and products that share an operand are merged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from passes import attributes as attrs, bindings, build
from passes.match import has_one_use, is_static, producer, shape_of, size_of
from passes.patterns import pattern
from passes.simplify.sides import DOT, Side, labels, product, sides


@pattern(DOT, of="stablehlo.transpose")
def transpose_into_dot(op: Any) -> Any:
    """dot(transpose(x), y) -> dot(x, y) with other dimension numbers.

    Exact up to the order of a sum over several contracting dimensions, which
    does not change. The free dimensions must keep their order, which is that
    of the result's dimensions.
    """
    left, right = sides(op)
    found = [_turned(side, side.free) or side for side in (left, right)]
    return product(op, found[0], found[1]) if found != [left, right] else None


def _turned(side: Side, free: Sequence[int]) -> Side | None:
    """The side before the transpose that makes its value; None unless `free` are its free dimensions in their order."""
    inner = producer(side.value, "stablehlo.transpose")
    if inner is None:
        return None
    order = attrs.ints(inner, "permutation")
    if (axes := [order[d] for d in free]) != sorted(axes):
        return None
    return Side(inner.operand, tuple(order[d] for d in side.batch), tuple(order[d] for d in side.contract))


@pattern("stablehlo.transpose", of=DOT)
def transpose_of_dot(op: Any) -> Any:
    """transpose(dot(x, y)) -> dot(y, x), where the transpose exchanges the two sides' free dimensions.

    It may also permute batch dimensions, and free dimensions that a transpose of the operand permuted.

    Exact for real numbers: products commute, and sums keep their order.
    """
    inner = producer(op.operand, DOT)
    if inner is None or not has_one_use(op.operand):
        return None
    left, right = sides(inner)
    places, batch = labels(left, right), len(left.batch)
    wanted = [places[i] for i in attrs.ints(op, "permutation")]
    order, rest = wanted[:batch], [name for name, _ in wanted[batch:]]
    if any(name != "batch" for name, _ in order) or rest not in (sorted(rest), sorted(rest, reverse=True)):
        return None
    found = []
    for name, side in (("left", left), ("right", right)):
        side = side._replace(batch=tuple(side.batch[i] for _, i in order))
        free = [d for role, d in wanted if role == name]
        turned = side if free == sorted(free) else _turned(side, free)
        if turned is None:
            return None
        found.append(turned)
    exchanged = rest != sorted(rest)
    first, second = found[::-1] if exchanged else found
    return product(inner, first, second, exchanged)


TRANSPOSES = (transpose_into_dot, transpose_of_dot)

# Above this many elements in the weights, copying them side by side costs more than it saves.
MAX_MERGED_ELEMENTS = 1 << 16


def merge_shared_lhs(module: Any) -> int:
    """x @ W1, x @ W2, ... -> slices of x @ [W1 W2 ...]; returns by how many the products decrease.

    For products of one block that share the left operand and the dimension
    numbers, have one free dimension on the right, and whose right operands are
    all made before the first product. Each element of the result is the same
    sum; the compiler may add it up in another order.
    """
    merged = 0
    for block in blocks_in_post_order(module.operation):
        merged += _merge_block(block)
    return merged


def blocks_in_post_order(operation: Any) -> list[Any]:
    """Every block in post-order: a rewrite may erase an op with the blocks inside it."""
    found = []
    for region in operation.regions:
        for block in region.blocks:
            for op in block.operations:
                found += blocks_in_post_order(op.operation)
            found.append(block)
    return found


def _merge_block(block: Any) -> int:
    groups: dict[tuple[Any, ...], list[tuple[int, Any]]] = {}
    position: dict[Any, int] = {}
    for i, op in enumerate(block.operations):
        for result in op.operation.results:
            position[result] = i
        if op.operation.name == DOT and is_static(op.lhs) and is_static(op.rhs):
            _, right = sides(op)
            if len(right.free) == 1:
                type_ = op.operation.results[0].type.element_type
                key = (op.lhs, op.rhs.type.element_type, type_, tuple(attrs.copied(op).values()))
                groups.setdefault(key, []).append((i, op))
    merged = 0
    for found in groups.values():
        first = found[0][0]
        ready = [op for _, op in found if position.get(op.rhs, -1) < first]
        distinct = {op.rhs for op in ready}
        if len(ready) < 2 or len(distinct) != len(ready):
            continue
        if sum(size_of(op.rhs) for op in ready) > MAX_MERGED_ELEMENTS:
            continue
        _merge(ready)
        merged += len(ready) - 1
    return merged


def _merge(ops: list[Any]) -> None:
    ir = bindings.ir
    first = ops[0]
    left, right = sides(first)
    (free,) = right.free
    location = ir.Location.fused([op.operation.location for op in ops])
    with ir.InsertionPoint(first), location:
        weights = build.concatenate([op.rhs for op in ops], free)
        whole = product(first, left, right._replace(value=weights))
        shape = shape_of(whole)
        offset = 0
        for op in ops:
            width = shape_of(op.rhs)[free]
            start, limit = [0] * len(shape), list(shape)
            start[-1], limit[-1] = offset, offset + width
            part = build.slice_(whole, start, limit, loc=op.operation.location)
            op.operation.results[0].replace_all_uses_with(part)
            offset += width
    for op in ops:  # not before, since the insertion point is at the first one
        op.operation.erase()

"""Products: transposes are folded into them, and products that share an operand are merged."""

from __future__ import annotations

from typing import Any

from passes import attributes as attrs, bindings, build
from passes.match import has_one_use, is_static, producer, shape_of, size_of
from passes.patterns import pattern


@pattern("stablehlo.dot_general")
def transpose_into_dot(op: Any) -> Any:
    """dot(transpose(x), y) -> dot(x, y) with other dimension numbers.

    Exact up to the order of a sum over several contracting dimensions, which
    does not change. The free dimensions must keep their order, which is that
    of the result's dimensions.
    """
    dims = attrs.dot_dimensions(op)
    sides = [(op.lhs, dims.lhs_batch, dims.lhs_contract), (op.rhs, dims.rhs_batch, dims.rhs_contract)]
    changed = False
    for i, (value, batch, contract) in enumerate(sides):
        inner = producer(value, "stablehlo.transpose")
        if inner is None:
            continue
        order = attrs.ints(inner, "permutation")
        free = [order[d] for d in range(len(order)) if d not in batch and d not in contract]
        if free != sorted(free):
            continue
        sides[i] = (inner.operand, tuple(order[d] for d in batch), tuple(order[d] for d in contract))
        changed = True
    if not changed:
        return None
    (lhs, lhs_batch, lhs_contract), (rhs, rhs_batch, rhs_contract) = sides
    return build.dot_general(
        lhs,
        rhs,
        contracting=(lhs_contract, rhs_contract),
        batching=(lhs_batch, rhs_batch),
        attributes=_other_attributes(op),
        element=op.operation.results[0].type.element_type,
    )


@pattern("stablehlo.transpose")
def transpose_of_dot(op: Any) -> Any:
    """transpose(dot(x, y)) -> dot(y, x), where the transpose exchanges the two sides' free dimensions.

    Exact for real numbers: products commute, and sums keep their order.
    """
    inner = producer(op.operand, "stablehlo.dot_general")
    if inner is None or not has_one_use(op.operand):
        return None
    dims = attrs.dot_dimensions(inner)
    batch = len(dims.lhs_batch)
    left = len(shape_of(inner.lhs)) - batch - len(dims.lhs_contract)
    right = len(shape_of(inner.rhs)) - batch - len(dims.rhs_contract)
    exchanged = (*range(batch), *range(batch + left, batch + left + right), *range(batch, batch + left))
    # If one side has no free dimension, the exchange is the identity, which would match forever.
    if not left or not right or attrs.ints(op, "permutation") != exchanged:
        return None
    return build.dot_general(
        inner.rhs,
        inner.lhs,
        contracting=(dims.rhs_contract, dims.lhs_contract),
        batching=(dims.rhs_batch, dims.lhs_batch),
        attributes=_other_attributes(inner, swapped=True),
        element=op.operation.results[0].type.element_type,
    )


def _other_attributes(op: Any, swapped: bool = False) -> dict[str, Any]:
    """A product's attributes, without its dimension numbers."""
    attributes = op.operation.attributes
    found: dict[str, Any] = {}
    if "precision_config" in attributes:
        items = list(attributes["precision_config"])
        found["precision_config"] = bindings.ir.ArrayAttr.get(items[::-1] if swapped else items)
    return found


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
        if op.operation.name == "stablehlo.dot_general" and is_static(op.lhs) and is_static(op.rhs):
            dims = attrs.dot_dimensions(op)
            if len(shape_of(op.rhs)) - len(dims.rhs_batch) - len(dims.rhs_contract) == 1:
                type_ = op.operation.results[0].type.element_type
                key = (op.lhs, op.rhs.type.element_type, type_, dims, str(_other_attributes(op)))
                groups.setdefault(key, []).append((i, op))
    merged = 0
    for (_, _, _, dims, _), found in groups.items():
        first = found[0][0]
        ready = [op for _, op in found if position.get(op.rhs, -1) < first]
        distinct = {op.rhs for op in ready}
        if len(ready) < 2 or len(distinct) != len(ready):
            continue
        if sum(size_of(op.rhs) for op in ready) > MAX_MERGED_ELEMENTS:
            continue
        _merge(ready, dims)
        merged += len(ready) - 1
    return merged


def _merge(ops: list[Any], dims: attrs.DotDimensions) -> None:
    ir = bindings.ir
    first = ops[0]
    (free,) = (d for d in range(len(shape_of(first.rhs))) if d not in dims.rhs_batch and d not in dims.rhs_contract)
    location = ir.Location.fused([op.operation.location for op in ops])
    with ir.InsertionPoint(first), location:
        weights = build.concatenate([op.rhs for op in ops], free)
        product = build.dot_general(
            first.lhs,
            weights,
            contracting=(dims.lhs_contract, dims.rhs_contract),
            batching=(dims.lhs_batch, dims.rhs_batch),
            attributes=_other_attributes(first),
            element=first.operation.results[0].type.element_type,
        )
        shape = shape_of(product)
        offset = 0
        for op in ops:
            width = shape_of(op.rhs)[free]
            start, limit = [0] * len(shape), list(shape)
            start[-1], limit[-1] = offset, offset + width
            part = build.slice_(product, start, limit, loc=op.operation.location)
            op.operation.results[0].replace_all_uses_with(part)
            offset += width
    for op in ops:  # not before, since the insertion point is at the first one
        op.operation.erase()

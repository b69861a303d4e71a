"""Dynamic slices move before the ops whose results they slice, so that less is computed and moved. Exact.

A start is clamped in the same way before and after: what is sliced has the same size along that dimension.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from passes import attributes as attrs, build
from passes.match import dtype_of, producer, shape_of, size_of, splat_of
from passes.patterns import laws_of, pattern
from passes.simplify.moves import all_static, cloned, groups, is_static_op, is_whole, used_once
from passes.simplify.sides import DOT, Side, labels, product, sides

_SLICE = "stablehlo.dynamic_slice"


def _part(op: Any, value: Any, dims: Mapping[int, int]) -> Any:
    """The part of another array that a slice takes along its dimensions `dims`, by those of the slice, and all else."""
    shape, sizes = shape_of(value), list(shape_of(value))
    starts = [build.full(0, op.start_indices[0]) for _ in shape] if dims else []
    for d, own in dims.items():
        starts[d], sizes[d] = op.start_indices[own], shape_of(op.operation.results[0])[own]
    return value if tuple(sizes) == shape else build.dynamic_slice(value, starts, sizes)


def _sliced(op: Any, name: str) -> Any:
    """Return the op of this name that a slice is alone to read, in the same block, or None."""
    inner = producer(op.operand, name)
    if inner is None or not used_once(inner) or not is_static_op(inner):
        return None
    # A slice in a loop may read what was computed before the loop.
    return inner if inner.operation.block == op.operation.block else None


@pattern(_SLICE, of="stablehlo.constant")
def dynamic_slice_of_splat(op: Any) -> Any:
    """dynamic_slice of an array of equal numbers -> a smaller array of them. Exact."""
    number = splat_of(op.operand)
    if number is None or dtype_of(op.operand).kind == "c":
        return None
    return build.full(number, op.operation.results[0])


@pattern(_SLICE, of="stablehlo.broadcast_in_dim")
def dynamic_slice_of_broadcast(op: Any) -> Any:
    """dynamic_slice(broadcast(x)) -> broadcast(dynamic_slice(x)): what is repeated is cut first. Exact."""
    inner = producer(op.operand, "stablehlo.broadcast_in_dim")
    if inner is None or not all_static(inner.operand, op.operand):
        return None
    dims = attrs.ints(inner, "broadcast_dimensions")
    own = {i: d for i, (d, n) in enumerate(zip(dims, shape_of(inner.operand))) if n == shape_of(op.operand)[d]}
    return build.broadcast_in_dim(_part(op, inner.operand, own), shape_of(op.operation.results[0]), dims)


@pattern(_SLICE, of="stablehlo.transpose")
def dynamic_slice_of_transpose(op: Any) -> Any:
    """dynamic_slice(transpose(x)) -> transpose(dynamic_slice(x)). Exact: fewer elements are transposed."""
    inner = producer(op.operand, "stablehlo.transpose")
    if inner is None or not is_static_op(inner) or not used_once(inner):
        return None
    order = attrs.ints(inner, "permutation")
    return build.transpose(_part(op, inner.operand, {d: i for i, d in enumerate(order)}), order)


@pattern(_SLICE, of="stablehlo.reshape")
def dynamic_slice_of_reshape(op: Any) -> Any:
    """dynamic_slice(reshape(x)) -> reshape(dynamic_slice(x)), where the reshape keeps the dimensions that are cut.

    Exact. Other laws move the slice on.
    """
    inner = _sliced(op, "stablehlo.reshape")
    found = groups(shape_of(inner.operand), shape_of(op.operand)) if inner is not None else None
    own = {}
    for left, right in found or ():
        if len(left) == len(right) == 1:
            own[left[0]] = right[0]
        elif not all(is_whole(op, d) for d in right):
            return None
    if found is None or not any(not is_whole(op, d) for d in own.values()):
        return None
    return build.reshape(_part(op, inner.operand, own), shape_of(op.operation.results[0]))


def _takes_half(op: Any) -> bool:
    """Whether a slice takes elements, and at most half of them."""
    return bool(0 < 2 * size_of(op.operation.results[0]) <= size_of(op.operand))


@pattern(_SLICE, of="stablehlo.reduce", reorders=True)
def dynamic_slice_of_reduce(op: Any) -> Any:
    """dynamic_slice(reduce(x)) -> reduce(dynamic_slice(x)) for half of the results or less.

    Exact: fewer results are computed.
    """
    inner = _sliced(op, "stablehlo.reduce")
    if inner is None or not _takes_half(op):
        return None
    (value,), dims = inner.inputs, attrs.ints(inner, "dimensions")
    kept = [d for d in range(len(shape_of(value))) if d not in dims]
    part = _part(op, value, {d: i for i, d in enumerate(kept)})
    return cloned(inner, [part, *inner.init_values], [op.operation.results[0].type])


@pattern(_SLICE, of=DOT)
def dynamic_slice_of_dot(op: Any) -> Any:
    """dynamic_slice(dot(x, y)) -> dot(dynamic_slice(x), dynamic_slice(y)) for half of the results or less.

    Exact: fewer sums.
    """
    inner = _sliced(op, DOT)
    if inner is None or not _takes_half(op):
        return None
    left, right = sides(inner)
    own: dict[str, dict[int, int]] = {"left": {}, "right": {}}
    for i, (role, number) in enumerate(labels(left, right)):
        if role == "batch":
            own["left"][left.batch[number]], own["right"][right.batch[number]] = i, i
        else:
            own[role][number] = i

    def cut(side: Side, role: str) -> Side:
        return side._replace(value=_part(op, side.value, own[role]))

    return product(inner, cut(left, "left"), cut(right, "right"))


@pattern(_SLICE, of="stablehlo.reverse")
def dynamic_slice_of_reverse(op: Any) -> Any:
    """dynamic_slice(reverse(x)) -> reverse(dynamic_slice(x)), where what is cut is not reversed.

    Exact: fewer elements are reversed.
    """
    inner = _sliced(op, "stablehlo.reverse")
    dims = attrs.ints(inner, "dimensions") if inner is not None else ()
    if inner is None or not all(is_whole(op, d) for d in dims):
        return None
    return build.reverse(_part(op, inner.operand, _same(op)), dims)


@pattern(_SLICE, of="stablehlo.pad")
def dynamic_slice_of_pad(op: Any) -> Any:
    """dynamic_slice(pad(x)) -> pad(dynamic_slice(x)), where what is cut is not padded. Exact: fewer elements move."""
    inner = _sliced(op, "stablehlo.pad")
    if inner is None:
        return None
    padding = attrs.padding(inner)
    padded = [d for d, amounts in enumerate(zip(*padding)) if any(amounts)]
    if not all(is_whole(op, d) for d in padded):
        return None
    own = {d: d for d in range(len(padding.low)) if d not in padded}
    return build.pad(_part(op, inner.operand, own), inner.padding_value, *padding)


@pattern(_SLICE, of="stablehlo.concatenate")
def dynamic_slice_of_concatenate(op: Any) -> Any:
    """dynamic_slice(concatenate(x, y)) -> concatenate(dynamic_slice(x), dynamic_slice(y)), cut along other dimensions.

    Exact: fewer elements are joined.
    """
    inner = _sliced(op, "stablehlo.concatenate")
    dim = attrs.integer(inner, "dimension") if inner is not None else 0
    if inner is None or not is_whole(op, dim):
        return None
    own = {d: d for d in _same(op) if d != dim}
    return build.concatenate([_part(op, value, own) for value in inner.operation.operands], dim)


def _same(op: Any) -> dict[int, int]:
    return {d: d for d in range(len(shape_of(op.operand)))}


PATTERNS = laws_of(globals())

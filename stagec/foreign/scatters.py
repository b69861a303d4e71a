"""Rules for gathers and scatters, with any dimension numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stagec import lax, numpy as snp
from stagec.api.batching import vmap
from stagec.foreign.site import Site, Value, rule

# The scatter of `stagec.lax` for a region that consists of this operation alone.
_KINDS = {
    "stablehlo.add": lax.scatter_add,
    "stablehlo.multiply": lax.scatter_mul,
    "stablehlo.minimum": lax.scatter_min,
    "stablehlo.maximum": lax.scatter_max,
}
_BOOLEAN_KINDS = {
    "stablehlo.or": lax.scatter_max,
    "stablehlo.and": lax.scatter_min,
    "stablehlo.add": lax.scatter_max,
    "stablehlo.multiply": lax.scatter_min,
}


@rule("gather", "dynamic_gather")
def _gather(site: Site, x: Value, indices: Value, given: Value = None) -> Value:
    sizes = site.ints("slice_sizes") if given is None else site.numbers(given, "slice sizes")
    fields = site.dimension_numbers("dimension_numbers")
    numbers = lax.GatherDimensionNumbers(
        offset_dims=fields.get("offset_dims", ()),
        collapsed_slice_dims=fields.get("collapsed_slice_dims", ()),
        start_index_map=fields.get("start_index_map", ()),
        operand_batching_dims=fields.get("operand_batching_dims", ()),
        start_indices_batching_dims=fields.get("start_indices_batching_dims", ()),
    )
    indices = _vectors_last(indices, fields.get("index_vector_dim", 0))
    return lax.gather(x, indices, numbers, sizes, mode="clip", indices_are_sorted=site.boolean("indices_are_sorted"))


def _vectors_last(indices: Value, axis: int) -> Value:
    """Indices whose vectors are along the last axis, as `stagec.lax` takes them."""
    rank = len(indices.shape)
    if axis == rank:
        return lax.reshape(indices, (*indices.shape, 1))
    order = [i for i in range(rank) if i != axis] + [axis]
    return indices if order == list(range(rank)) else lax.transpose(indices, order)


@rule("torch_index_select")
def _torch_index_select(site: Site, x: Value, index: Value) -> Value:
    axis, batch = site.integer("dim"), site.integer("batch_dims")

    def select(x: Value, index: Value) -> Value:
        return snp.take(x, index, axis=axis - batch, mode="clip")

    for _ in range(batch):
        select = vmap(select)
    return select(x, index)


@rule("scatter")
def _scatter(site: Site, *operands: Value) -> list[Value]:
    count = len(operands) // 2
    fields = site.dimension_numbers("scatter_dimension_numbers")
    numbers = lax.ScatterDimensionNumbers(
        update_window_dims=fields.get("update_window_dims", ()),
        inserted_window_dims=fields.get("inserted_window_dims", ()),
        scatter_dims_to_operand_dims=fields.get("scatter_dims_to_operand_dims", ()),
        operand_batching_dims=fields.get("input_batching_dims", ()),
        scatter_indices_batching_dims=fields.get("scatter_indices_batching_dims", ()),
    )
    indices = _vectors_last(operands[count], fields.get("index_vector_dim", 0))
    return combine(site, 0, list(operands[:count]), indices, list(operands[count + 1 :]), numbers)


def combine(
    site: Site, region: int, operands: list[Value], indices: Value, updates: list[Value], numbers: Any
) -> list[Value]:
    """Scatter with a region of the operation: `region(*old, *update)` are the new elements."""
    kinds = _kinds(site.region_block(region), [x.dtype == np.bool_ for x in operands])
    if kinds is None:
        return _one_by_one(site.region(region), operands, indices, updates, numbers)
    options = {
        "indices_are_sorted": site.boolean("indices_are_sorted"),
        "unique_indices": site.boolean("unique_indices"),
        "mode": "drop",
    }
    found = []
    for kind, x, update in zip(kinds, operands, updates):
        if x.dtype == np.bool_ and kind is not lax.scatter:
            wide = kind(x.astype(np.uint8), indices, update.astype(np.uint8), numbers, **options)
            found.append(wide.astype(np.bool_))
        else:
            found.append(kind(x, indices, update, numbers, **options))
    return found


def _kinds(block: Any, boolean: Sequence[bool]) -> list[Callable[..., Any]] | None:
    """The scatter that does what a region does to each operand; None if there is none."""
    count = len(boolean)
    arguments = list(block.arguments)
    found: list[Callable[..., Any]] = []
    for i, value in enumerate(list(block.operations)[-1].operation.operands):
        if value == arguments[count + i]:
            found.append(lax.scatter)
            continue
        owner = value.owner
        if owner == block or len(owner.operands) != 2:
            return None
        if {*owner.operands} != {arguments[i], arguments[count + i]}:
            return None
        kind = (_BOOLEAN_KINDS if boolean[i] else _KINDS).get(owner.name)
        if kind is None:
            return None
        found.append(kind)
    return found


def _one_by_one(
    region: Callable[..., list[Value]], operands: list[Value], indices: Value, updates: list[Value], numbers: Any
) -> list[Value]:
    """Apply one update after the other, in the order of the indices: no scatter of `stagec.lax` has this region."""
    windows = set(numbers.update_window_dims)
    rank = len(updates[0].shape)
    scattered = [i for i in range(rank) if i not in windows]
    order = [*scattered, *[i for i in range(rank) if i in windows]]
    count = int(np.prod(indices.shape[:-1], dtype=np.int64))
    batch = [indices.shape[i] for i in range(len(indices.shape) - 1)]
    # The position along a batching axis becomes one more component of each index.
    vectors = lax.reshape(indices, (count, indices.shape[-1]))
    positions = np.indices(batch).reshape(len(batch), count).T if batch else np.zeros((1, 0), np.int64)
    extra = [positions[:, d] for d in numbers.scatter_indices_batching_dims]
    if extra:
        columns = np.stack(extra, -1).astype(indices.dtype)
        vectors = lax.concatenate([vectors, columns], 1)
    flat = []
    for update in updates:
        moved = lax.transpose(update, order)
        flat.append(lax.reshape(moved, (count, *moved.shape[len(scattered) :])))
    inserted = sorted({*numbers.inserted_window_dims, *numbers.operand_batching_dims})
    targets = [*numbers.scatter_dims_to_operand_dims, *numbers.operand_batching_dims]
    window = iter(flat[0].shape[1:])
    sizes = [1 if d in inserted else next(window) for d in range(len(operands[0].shape))]

    def apply(*values: Value) -> tuple[Value, ...]:
        return tuple(region(*values))

    for _ in sizes:
        apply = vmap(apply)

    def step(i: Value, state: tuple[Value, ...]) -> tuple[Value, ...]:
        vector = lax.dynamic_index_in_dim(vectors, i, keepdims=False)
        starts: list[Value] = [np.zeros((), np.int64)] * len(sizes)
        inside: Value = np.asarray(True)
        for position, d in enumerate(targets):
            start = lax.convert_element_type(lax.index_in_dim(vector, position, keepdims=False), np.int64)
            fits = lax.bitwise_and(lax.ge(start, np.int64(0)), lax.le(start, np.int64(operands[0].shape[d] - sizes[d])))
            inside = lax.bitwise_and(inside, fits)
            starts[d] = start
        old = [lax.dynamic_slice(x, starts, sizes, allow_negative_indices=False) for x in state]
        new = apply(*old, *[lax.reshape(lax.dynamic_index_in_dim(u, i, keepdims=False), sizes) for u in flat])
        kept = [lax.select(lax.broadcast(inside, sizes), n, o) for n, o in zip(new, old)]
        return tuple(lax.dynamic_update_slice(x, k, starts, allow_negative_indices=False) for x, k in zip(state, kept))

    if any(size > n for size, n in zip(sizes, operands[0].shape)):
        return operands
    return list(lax.fori_loop(0, count, step, tuple(operands)))

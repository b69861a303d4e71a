"""Scatters rewritten into scatters of matrix rows within bounds; and scatters of single elements, which on GPUs every
thread of a workgroup would repeat.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from passes import attributes as attrs, bindings, build
from passes.analysis.identities import identity as identity_of
from passes.legalize import indices as index_laws
from passes.legalize.indices import IN_RANGE
from passes.legalize.memory import index_along
from passes.match import dtype_of, is_assignment, is_static, shape_of
from passes.patterns import Pattern, pattern
from passes.simplify.indexing import Windows, signed
from passes.types import numpy_dtype, tensor_type

_NUMBERS = "scatter_dimension_numbers"
_ROWS = (
    "#stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], "
    "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>"
)


@pattern("stablehlo.scatter")
def scatter_rows(op: Any) -> Any:
    """A scatter -> a scatter of rows of a matrix, with one index for each, and none out of range. Exact.

    IREE refuses other forms, and writes out of bounds at an index that is out of range. Indexed axes are moved to the
    front and flattened to the matrix's rows, whole axes to its columns. A window that exceeds the bounds is dropped, as
    in XLA: its update is replaced by the identity element, or goes to a spare row that is removed afterwards.
    """
    operation = op.operation
    if len(operation.operands) != 3 or IN_RANGE in operation.attributes:
        return None
    operand, indices, updates = operation.operands
    if not all(is_static(v) and 0 not in shape_of(v) for v in (operand, updates)):
        return None
    windows = Windows.of(op)
    shape, sizes, limits = windows.shape, windows.sizes, windows.limits
    indices = index_laws.components_last(signed(indices), windows.along)
    if min(limits, default=0) < 0:
        return None  # no window fits
    is_within = not limits or index_laws.are_clamped(indices, limits)
    mask = None if is_within else index_laws.inside(indices, limits)
    if mask is not None:
        indices = index_laws.clamped(indices, len(shape_of(indices)) - 1, limits)

    rows = [a for a in range(len(shape)) if a in windows.targets or a in windows.batches or sizes[a] != shape[a]]
    columns = [axis for axis in range(len(shape)) if axis not in rows]
    row_count, width = prod(shape[axis] for axis in rows), prod(shape[axis] for axis in columns)

    # Updates: axes of the indices and windows along row axes first, whole axes last.
    outer, partial = windows.outer, [axis for axis in rows if windows.axes[axis] >= 0]
    order = [*outer, *[windows.axes[axis] for axis in (*partial, *columns) if windows.axes[axis] >= 0]]
    lead = [shape_of(updates)[axis] for axis in order[: len(outer) + len(partial)]]
    count = prod(lead)
    along = {axis: len(outer) + number for number, axis in enumerate(partial)} | windows.batches
    linear = build.reshape(_row_numbers(indices, rows, shape, lead, len(outer), windows.targets, along), (count,))

    values = build.reshape(build.transpose(updates, order), (count, width))
    matrix = build.reshape(build.transpose(operand, [*rows, *columns]), (row_count, width))
    identity, is_unique = identity_of(operation.regions[0]), attrs.boolean(op, "unique_indices")
    # IREE crashes on some scatters to a single row, such as one of a larger array.
    has_spare_row = row_count == 1
    if mask is not None:
        mask = build.reshape(build.broadcast_in_dim(mask, lead, range(len(outer))), (count,))
        if identity is not None and not is_unique:
            wide = build.broadcast_in_dim(mask, (count, width), (0,))
            values = build.select(wide, values, build.full(identity(dtype_of(values)), values))
        else:
            # A clamped index could equal that of another window.
            has_spare_row = True
            linear = build.select(mask, linear, build.full(row_count, linear))
    if dtype_of(linear) != np.int32 and row_count < np.iinfo(np.int32).max:
        # IREE narrows 64-bit indices itself, but fails where two scatters share them.
        linear = build.convert(linear, np.int32)
    if has_spare_row:
        matrix = build.pad(matrix, build.constant(np.zeros((), dtype_of(matrix))), (0, 0), (1, 0))
    made = _with_body(op, [matrix, build.reshape(linear, (count, 1)), values], _ROWS)
    made.attributes[IN_RANGE] = bindings.ir.UnitAttr.get()
    if mask is not None:
        made.attributes["indices_are_sorted"] = build.attribute("false")
    found = made.results[0]
    if has_spare_row:
        found = build.slice_(found, (0, 0), (row_count, width))
    moved = [*rows, *columns]
    found = build.reshape(found, [shape[axis] for axis in moved])
    return build.transpose(found, [moved.index(axis) for axis in range(len(shape))])


@pattern("stablehlo.scatter")
def scatter_each_array(op: Any) -> Any:
    """A scatter of several arrays -> one for each, if none of them depends on another. Exact.

    IREE accepts scatters of one array only.
    """
    operation = op.operation
    count = len(operation.results)
    if count == 1:
        return None
    operands, block = list(operation.operands), operation.regions[0].blocks[0]
    returned = list(list(block.operations)[-1].operation.operands)
    needed = [_arguments(block, value) for value in returned]
    if any(found is None or not found <= {k, count + k} for k, found in enumerate(needed)):
        return None
    results = []
    for k in range(count):
        old, new = operands[k], operands[count + 1 + k]
        made = build.op(
            "stablehlo.scatter", [old, operands[count], new], old.type, attributes=attrs.copied(op), regions=1
        )

        def body(a: Any, b: Any, k: int = k) -> Any:
            # This result does not depend on the other arrays, so any values will do.
            scalars = [value.type for value in block.arguments]
            others = [build.constant(np.zeros((), numpy_dtype(type_.element_type))) for type_ in scalars]
            others[k], others[count + k] = a, b
            return build.inlined(operation.clone(ip=False).regions[0].blocks[0], others)[k]

        build.unary_region(made, 0, [tensor_type((), old.type.element_type)] * 2, body)
        results.append(made.results[0])
    return results


def _arguments(block: Any, value: Any) -> set[int] | None:
    """The indices of the block's arguments that a value is computed from; None if that is not known."""
    if value.owner == block:
        return {value.arg_number}
    if isinstance(value.owner, bindings.ir.Block) or len(value.owner.operation.regions):
        return None
    found: set[int] = set()
    for operand in value.owner.operation.operands:
        inner = _arguments(block, operand)
        if inner is None:
            return None
        found |= inner
    return found


def _row_numbers(
    indices: Any,
    rows: Sequence[int],
    shape: Sequence[int],
    lead: Sequence[int],
    outer: int,
    targets: Sequence[int],
    along: dict[int, int],
) -> Any:
    """The index of the row that each row of the updates goes to.

    Args:
      indices: with their components along the last axis.
      rows: the axes of the operand that are its matrix's rows.
      shape: of the operand.
      lead: the updates' sizes along the axes of the indices and along windows in rows.
      outer: how many axes of the indices there are.
      targets: the operand's axis that each component of an index is for.
      along: the axis of `lead` along which an axis of the operand runs.
    """
    dtype = dtype_of(indices)
    linear = build.full(0, tensor_type(lead, dtype))
    for number, axis in enumerate(rows):
        parts = []
        if axis in targets:
            k, batch = targets.index(axis), shape_of(indices)[:-1]
            column = build.slice_(indices, [0] * len(batch) + [k], [*batch, k + 1])
            parts.append(build.broadcast_in_dim(build.reshape(column, batch), lead, range(outer)))
        if axis in along and lead[along[axis]] > 1:
            parts.append(build.convert(index_along(tuple(lead), along[axis]), dtype))
        stride = prod(shape[other] for other in rows[number + 1 :])
        for part in parts:
            scaled = build.op("stablehlo.multiply", [part, build.full(stride, part)])
            linear = build.op("stablehlo.add", [linear, scaled])
    return linear


def _with_body(op: Any, operands: Sequence[Any], numbers: str) -> Any:
    """A scatter of other operands with the same body and hints."""
    attributes = {**attrs.copied(op), _NUMBERS: numbers}
    made = build.op("stablehlo.scatter", operands, operands[0].type, attributes=attributes, regions=1)
    op.operation.clone(ip=False).regions[0].blocks[0].append_to(made.regions[0])
    return made


@pattern("stablehlo.scatter")
def scatter_pairs(op: Any) -> Any:
    """A scatter of single elements at unique indices -> a scatter of pairs of the same element. Exact.

    The compiler distributes the elements that are written at an index over the threads of a workgroup. All of them
    wrote a single element, so that `x.at[i].add(y)` added several times.
    """
    operand, indices, update = op.operation.operands if len(op.operation.operands) == 3 else (None, None, None)
    if operand is None or not attrs.boolean(op, "unique_indices") or not is_static(update):
        return None
    fields = attrs.dimension_numbers(op, _NUMBERS)
    window = (*fields.get("update_window_dims", ()), len(shape_of(update)))
    if prod(shape_of(update)[axis] for axis in window[:-1]) != 1:
        return None
    if is_assignment(op.operation.regions[0]):
        return None  # each thread writes the same element
    lists = {**fields, "update_window_dims": window}
    text = ", ".join(f"{k} = {list(v) if isinstance(v, tuple) else v}" for k, v in lists.items())
    operand_pairs, update_pairs = (
        build.broadcast_in_dim(value, [*shape_of(value), 2], range(len(shape_of(value)))) for value in (operand, update)
    )
    made = _with_body(op, [operand_pairs, indices, update_pairs], f"#stablehlo.scatter<{text}>")
    shape = shape_of(operand)
    first = build.slice_(made.results[0], [0] * (len(shape) + 1), [*shape, 1], [1] * (len(shape) + 1))
    return build.reshape(first, shape)


PATTERNS: list[Pattern] = [scatter_each_array, scatter_rows]
PATTERNS_GPU: list[Pattern] = [scatter_pairs]

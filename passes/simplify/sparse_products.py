"""Products with zeros: padded operands, zero, identity, diagonal and permutation matrices.

Zero times infinity is NaN, so these laws are exact where what is multiplied by zero is known to be finite.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from passes import attributes as attrs, build
from passes.match import SPLAT, dtype_of, is_integer, is_real, is_unsigned, producer, rank_of, shape_of, sides, size_of
from passes.patterns import laws_of
from passes.simplify.constants import computed
from passes.simplify.proven import exact_if_proven, is_finite
from passes.simplify.reductions import diagonal
from passes.simplify.sides import (
    DOT,
    Side,
    either_side,
    has_elements,
    in_order,
    is_zero,
    labels,
    multiplications,
    product,
)

_BILINEAR = (DOT, "stablehlo.convolution")
# Larger constant matrices are not looked at, and a selection of rows by a matrix is made of at most so many parts.
_MATRIX_ELEMENTS, _PARTS = 4096, 4


@exact_if_proven(*_BILINEAR, of=SPLAT, assumes="nnan")
def product_with_zeros(op: Any, exactly: bool) -> Any:
    """dot(0, x) -> 0, and the same for convolutions. Exact for finite x; differs for infinities and NaN."""
    result = op.operation.results[0]
    if not is_real(result):
        return None
    for zero, other in sides(op):
        if is_zero(zero) and (not exactly or is_finite(other)):
            return build.full(0, result)
    return None


@exact_if_proven(DOT, of="stablehlo.pad", assumes="nnan")
def dot_of_pad(op: Any, exactly: bool) -> Any:
    """dot(pad(x, 0), y) -> dot(x, slice(y)) along summed dimensions, and pad(dot(x, y), 0) along the others.

    Exact for finite y, and where both operands are padded alike along summed and batch dimensions; else differs for
    infinities and NaN among what zeros are multiplied with.
    """
    result = op.operation.results[0]
    if not has_elements(op) or not is_real(result):
        return None
    for number, one, other in either_side(op):
        maker = producer(one.value, "stablehlo.pad")
        if maker is None or not is_zero(maker.padding_value) or size_of(maker.operand) == 0:
            continue
        padding = attrs.padding(maker)
        if min((*padding.low, *padding.high)) < 0:
            continue
        partners = dict(zip((*one.batch, *one.contract), (*other.batch, *other.contract)))
        padded = [d for d in range(rank_of(one.value)) if any(amounts[d] for amounts in padding)]
        alike = all(d in partners and _padded_alike(maker, d, other.value, partners[d]) for d in padded)
        if exactly and not alike and not is_finite(other.value):
            continue
        shape = shape_of(maker.operand)
        cuts = [(0, n, 1) for n in shape_of(other.value)]
        for d in padded:
            if d in partners:
                step = padding.interior[d] + 1
                cuts[partners[d]] = (padding.low[d], padding.low[d] + (shape[d] - 1) * step + 1, step)
        is_cut = any(d in partners for d in padded)
        edges = [("batch", one.batch.index(d)) if d in one.batch else (("left", "right")[number], d) for d in padded]
        places = labels(*in_order(number, one, other))
        edges_at = {places.index(label): d for label, d in zip(edges, padded) if label in places}
        kept = 1.0
        for d in padded:
            kept *= shape[d] / shape_of(one.value)[d]
        saved = multiplications(op) * (1 - kept) + 2 * size_of(one.value)
        moved = 2 * (size_of(other.value) * kept if is_cut and not alike else 0) + 2 * size_of(result) * bool(edges_at)
        if saved <= moved:
            continue
        part = build.slice_(other.value, *zip(*cuts)) if is_cut else other.value
        made = product(op, *in_order(number, one._replace(value=maker.operand), other._replace(value=part)))
        if not edges_at:
            return made
        zero = build.full(0, build.tensor_type((), result.type.element_type))
        rank = range(rank_of(result))
        return build.pad(
            made, zero, *([amounts[edges_at[i]] if i in edges_at else 0 for i in rank] for amounts in padding)
        )
    return None


def _padded_alike(maker: Any, d: int, value: Any, axis: int) -> bool:
    """Whether another value is padded with zeros along `axis` as a pad's result is along `d`."""
    other = producer(value, "stablehlo.pad")
    if other is None or not is_zero(other.padding_value) or shape_of(other.operand)[axis] != shape_of(maker.operand)[d]:
        return False
    return all(a[d] == b[axis] for a, b in zip(attrs.padding(maker), attrs.padding(other)))


Run = tuple[int | None, int, int]


def _is_diagonal_mask(value: Any) -> bool:
    """Whether a matrix is the comparison of two iotas that is true on its main diagonal."""
    found = diagonal(value) if rank_of(value) == 2 else None
    return found is not None and found.offset == 0


def _rows(side: Side) -> list[Run] | None:
    """The rows that a constant matrix selects, as runs of (first, count, step); the first is None for rows of zeros.

    None if the side is no such matrix.
    """
    shape = shape_of(side.value)
    if side.batch or len(side.contract) != 1 or len(shape) > 2 or not shape[side.contract[0]]:
        return None
    convert = producer(side.value, "stablehlo.convert")
    if convert is not None and _is_diagonal_mask(convert.operand) and shape[0] == shape[1]:
        return [(0, shape[0], 1)]
    matrix = computed(side.value, _MATRIX_ELEMENTS)
    if matrix is None:
        return None
    matrix = matrix.T if side.contract == (0,) else matrix
    matrix = matrix.reshape(-1, matrix.shape[-1])
    if not ((matrix == 0) | (matrix == 1)).all() or (np.count_nonzero(matrix, axis=1) > 1).any():
        return None
    found = [int(np.argmax(row)) if row.any() else None for row in matrix == 1]
    return _runs(found)


def _runs(indices: list[int | None]) -> list[Run]:
    """Indices as runs of equal steps; None for a run of absent ones.

    >>> _runs([3, 4, 5, None, None, 2, 1])
    [(3, 3, 1), (None, 2, 0), (2, 2, -1)]
    """
    found: list[Run] = []
    for index in indices:
        first, count, step = found[-1] if found else (None, 0, 0)
        if count and index is None and first is None:
            found[-1] = (None, count + 1, 0)
        elif count and index is not None and first is not None and (count == 1 or index == first + count * step):
            if index == first:
                found.append((index, 1, 1))
            else:
                found[-1] = (first, count + 1, index - first if count == 1 else step)
        else:
            found.append((index, 1, 1) if index is not None else (None, 1, 0))
    return found


# `of` names what makes matrices that select rows, such as a shifted identity.
@exact_if_proven(
    DOT,
    of=(
        "stablehlo.constant",
        "stablehlo.convert",
        "stablehlo.concatenate",
        "stablehlo.pad",
        "stablehlo.reverse",
        "stablehlo.select",
    ),
    assumes="nnan",
)
def dot_with_selection(op: Any, exactly: bool) -> Any:
    """A product with a constant matrix that has at most one 1 in each row -> the rows that it selects.

    Identity matrices, shifts and reversals are such matrices. Exact for finite operands, since sums begin with +0.0,
    which the addition keeps; else differs for infinities and NaN in rows that are not selected.
    """
    for number, one, other in _real_sides(op):
        if exactly and not is_finite(other.value):
            continue
        runs = _rows(one)
        if runs is None or len(runs) > _PARTS:
            continue
        (along,) = other.contract
        made = _selected(other.value, along, runs)
        if one.free:
            made = _placed(made, along, number)
        else:
            made = build.reshape(made, [n for d, n in enumerate(shape_of(made)) if d != along])
        return _begun_with_zero(made)
    return None


def _real_sides(op: Any) -> Iterator[tuple[int, Side, Side]]:
    """The sides of a product of real numbers as `either_side` returns them, where the other has the result's type."""
    result = op.operation.results[0]
    if has_elements(op) and is_real(result):
        yield from (found for found in either_side(op) if dtype_of(found[2].value) == dtype_of(result))


def _placed(value: Any, along: int, number: int) -> Any:
    """A value whose dimension `along` stands for a matrix's rows, transposed so that it is the first or the last one.

    Args:
      number: 0 if the matrix is the left operand, else 1.
    """
    rest = [d for d in range(rank_of(value)) if d != along]
    order = [*rest, along] if number else [along, *rest]
    return build.transpose(value, order) if order != sorted(order) else value


def _selected(value: Any, along: int, runs: list[Run]) -> Any:
    parts = []
    for first, count, step in runs:
        shape = list(shape_of(value))
        shape[along] = count
        if first is None:
            parts.append(build.full(0, build.tensor_type(shape, value.type.element_type)))
            continue
        low = min(first, first + (count - 1) * step)
        starts, limits, steps = [0] * len(shape), list(shape_of(value)), [1] * len(shape)
        starts[along], limits[along], steps[along] = low, low + (count - 1) * abs(step) + 1, abs(step)
        is_whole = limits == list(shape_of(value)) and not low and abs(step) == 1
        part = value if is_whole else build.slice_(value, starts, limits, steps)
        if step < 0:
            part = build.reverse(part, [along])
        parts.append(part)
    return parts[0] if len(parts) == 1 else build.concatenate(parts, along)


def _begun_with_zero(value: Any) -> Any:
    """A sum of one term: -0.0 becomes +0.0."""
    return value if is_integer(value) else build.op("stablehlo.add", [value, build.full(0, value)])


@exact_if_proven(DOT, of="stablehlo.convert", assumes="nnan")
def dot_with_one_hot(op: Any, exactly: bool) -> Any:
    """one_hot(i) @ x -> x[i], and zeros where i is out of range.

    Exact for finite x; else differs for infinities and NaN in rows that are not selected.
    """
    result = op.operation.results[0]
    for number, one, other in _real_sides(op):
        index = _hot_index(one)
        if index is None or (exactly and not is_finite(other.value)):
            continue
        (along,), shape, rank = other.contract, list(shape_of(other.value)), rank_of(index)
        free = range(rank_of(result) - rank)
        offsets = [d + rank for d in free] if number == 0 else list(free)
        shape[along] = 1
        fields = f"collapsed_slice_dims = [{along}], start_index_map = [{along}], index_vector_dim = {rank}"
        found = build.op(
            "stablehlo.gather",
            [other.value, index],
            result.type,
            attributes={
                "dimension_numbers": f"#stablehlo.gather<offset_dims = {offsets}, {fields}>",
                "slice_sizes": build.i64_array(shape),
                "indices_are_sorted": "false",
            },
        )
        low, high = build.full(0, index), build.full(shape_of(other.value)[along] - 1, index)
        kind = "UNSIGNED" if is_unsigned(index) else "SIGNED"
        within = build.op(
            "stablehlo.and", [build.compare(index, low, "GE", kind), build.compare(index, high, "LE", kind)]
        )
        dims = [d for d in range(rank_of(result)) if d not in offsets]
        within = build.broadcast_in_dim(within, shape_of(result), dims)
        return _begun_with_zero(build.select(within, found, build.full(0, result)))
    return None


def _hot_index(side: Side) -> Any | None:
    """The indices of the ones of `one_hot`, whose last dimension is summed over; None for other sides."""
    if side.batch or len(side.contract) != 1:
        return None
    convert = producer(side.value, "stablehlo.convert")
    compare = producer(convert.operand, "stablehlo.compare") if convert is not None else None
    if compare is None or attrs.word(compare, "comparison_direction") != "EQ" or not is_integer(compare.lhs):
        return None
    for index, count in sides(compare):
        broadcast, iota = producer(index, "stablehlo.broadcast_in_dim"), producer(count, "stablehlo.iota")
        if broadcast is None or iota is None or attrs.integer(iota, "iota_dimension") != side.contract[0]:
            continue
        # The index type must hold the size, as the iota does.
        kept = [shape_of(side.value)[d] for d in side.free]
        if attrs.ints(broadcast, "broadcast_dimensions") == side.free and list(shape_of(broadcast.operand)) == kept:
            size = shape_of(side.value)[side.contract[0]]
            return broadcast.operand if size - 1 <= np.iinfo(dtype_of(index)).max else None
    return None


PATTERNS = laws_of(globals())

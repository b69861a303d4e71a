"""Rules of gathers and scatters on parts of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from stagec.control.partition_axes import Divided, Parts, Spec, joined, part, whole
from stagec.core import dtypes
from stagec.core.graph import Equation
from stagec.primitives.arithmetic import add, mul, sub
from stagec.primitives.broadcast import zeros
from stagec.primitives.convert import bitcast_convert_type, convert_element_type
from stagec.primitives.gather import gather
from stagec.primitives.gather_parts import GatherDimensionNumbers
from stagec.primitives.iota import iota
from stagec.primitives.logic import bitwise_and, clamp, ge, lt, select
from stagec.primitives.operand import aval_of, literal
from stagec.primitives.shape import broadcast_in_dim, expand_dims

INT32 = np.dtype(np.int32)


def _windows(numbers: GatherDimensionNumbers, ndim: int) -> list[int]:
    """The operand's axes that windows run over, in the order of `offset_dims`."""
    absent = (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims)
    return [i for i in range(ndim) if i not in absent]


def _placed(
    numbers: GatherDimensionNumbers, own: Spec, rows: Spec, sizes: Any, whole_sizes: Any
) -> tuple[Spec, Spec, Spec] | None:
    """How the operand, the indices, and what is read or written are divided; None where no rule says so.

    Args:
      own, rows: how the operand and the indices are divided now.
      sizes: of the window, for each axis that windows run over.
      whole_sizes: the operand's shape.
    """
    windows = _windows(numbers, len(own))
    table, indices = list(own), list(rows)
    for i, j in zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims):
        table[i] = indices[j] = own[i] or rows[j]
    alone = [s for j, s in enumerate(indices) if j not in numbers.start_indices_batching_dims]
    used = [n for names in (*table, *alone) for n in names]
    free = [i for i, n in zip(windows, sizes) if n == whole_sizes[i] and i not in numbers.start_index_map]
    kept = {*free, *numbers.operand_batching_dims}
    if indices[-1] or len(set(used)) < len(used) or any(names and i not in kept for i, names in enumerate(own)):
        return None
    found: list[tuple[Any, ...]] = [()] * (len(numbers.offset_dims) + len(rows) - 1)
    for axis, i in zip(numbers.offset_dims, windows):
        found[axis] = table[i]
    for axis, names in zip([i for i in range(len(found)) if i not in numbers.offset_dims], indices):
        found[axis] = names
    return tuple(table), tuple(indices), tuple(found)


def lookup(p: Parts, e: Equation, args: list[Divided]) -> list[Divided] | None:
    """Windows of an array that is divided along axes that they cover, at indices that may be divided."""
    (x, own), (indices, rows) = args
    shape, sizes = e.inputs[0].aval.shape, e.params["slice_sizes"]
    numbers = e.params["dimension_numbers"]
    placed = _placed(numbers, own, rows, [sizes[i] for i in _windows(numbers, len(own))], shape)
    if placed is None:
        return None
    table, index, found = placed
    local = part(e.inputs[0].aval, table, p.grid).shape
    cut = tuple([m if n == size and size != 1 else size for size, n, m in zip(sizes, shape, local)])
    return p.run(e, [p.moved(x, own, table)[0], p.moved(indices, rows, index)[0]], [found], slice_sizes=cut)


def written(p: Parts, e: Equation, args: list[Divided]) -> list[Divided] | None:
    """Updates of an array that is divided along axes that they cover."""
    (_, own), (_, rows), (_, given) = args
    shape, sizes = e.inputs[0].aval.shape, e.inputs[2].aval.shape
    numbers = e.params["dimension_numbers"].as_gather()
    in_batch = [i for i in range(len(given)) if i not in numbers.offset_dims]
    rows = tuple(
        [s or given[in_batch[j]] if j in numbers.start_indices_batching_dims else s for j, s in enumerate(rows)]
    )
    placed = _placed(numbers, own, rows, [sizes[i] for i in numbers.offset_dims], shape)
    if placed is None or any(names and j not in numbers.start_indices_batching_dims for j, names in enumerate(rows)):
        return None
    table, _, found = placed
    if any(names and i not in numbers.offset_dims and not found[i] for i, names in enumerate(given)):
        return None
    values = [p.moved(v, s, w)[0] for (v, s), w in zip(args, placed)]
    return p.run(e, values, [table])


def added(p: Parts, e: Equation, args: list[Divided]) -> list[Divided] | None:
    """The same; rows that are divided are added to zeros, which processes add up."""
    found = written(p, e, args)
    (x, own), (indices, rows), (updates, given) = args
    numbers = e.params["dimension_numbers"].as_gather()
    if found is not None or any(own) or numbers.operand_batching_dims:
        return found
    axes = [i for i in range(len(given)) if i not in numbers.offset_dims]
    divided = joined([tuple([given[i] for i in axes]), rows[:-1]], len(axes))
    spec = list(whole(len(given)))
    for axis, names in zip(axes, divided):
        spec[axis] = names
    over = [n for each in divided for n in each]
    local, _ = p.moved(indices, rows, (*divided, ()))
    ((total, own),) = p.run(e, [zeros(e.inputs[0].aval), local, p.moved(updates, given, tuple(spec))[0]], [own])
    return [(add(x, p.combined(total, "sum", over)), own)]


def _rows(x: Any, axis: int, start: Any, count: int) -> tuple[Any, Any]:
    """`count` rows of an array, from number `start` on, and which of them there are; others are any rows."""
    size = aval_of(x).shape[axis]
    numbers = add(iota(INT32, count), start)
    sizes = [n for i, n in enumerate(aval_of(x).shape) if i != axis]
    windows = GatherDimensionNumbers(
        tuple([i for i in range(len(sizes) + 1) if i != axis]), collapsed_slice_dims=(axis,), start_index_map=(axis,)
    )
    sizes.insert(axis, 1)
    rows = gather(x, expand_dims(numbers, (1,)), windows, sizes, mode="clip")
    return rows, bitwise_and(ge(numbers, 0), lt(numbers, size))


def _where(inside: Any, axis: int, x: Any, y: Any) -> Any:
    """Rows of `x` where they are inside, and of `y` elsewhere."""
    return select(broadcast_in_dim(inside, aval_of(x).shape, (axis,)), x, y)


def window(p: Parts, x: Any, spec: Spec, axis: int, start: Any, count: int) -> Divided:
    """Some rows along an axis that is divided: those who have them tell the others."""
    first = mul(p.index(spec[axis]), aval_of(x).shape[axis])
    rows, inside = _rows(x, axis, sub(start, first), count)
    dtype = aval_of(rows).dtype
    # The sum of bits keeps the sign of zero.
    bits = np.dtype(f"uint{8 * dtype.itemsize}") if dtype in dtypes.FLOATING else dtype
    rows = bitcast_convert_type(rows, bits) if bits != dtype else rows
    own = _where(inside, axis, rows, zeros(aval_of(rows)))
    found = p.combined(own, "or" if dtypes.is_bool(dtype) else "sum", spec[axis])
    found = bitcast_convert_type(found, dtype) if bits != dtype else found
    return found, tuple([() if i == axis else s for i, s in enumerate(spec)])


def static_slice(p: Parts, e: Equation, args: list[Divided]) -> list[Divided] | None:
    """A slice; of an axis that is divided, it has all or few rows."""
    ((x, own),) = args
    starts, limits, strides = (list(e.params[n]) for n in ("start_indices", "limit_indices", "strides"))
    for i, n in enumerate(e.inputs[0].aval.shape):
        count = limits[i] - starts[i]
        if own[i] and (count, strides[i]) != (n, 1):
            if strides[i] != 1 or count > n // p.grid.parts(own[i]):
                return None
            x, own = window(p, x, own, i, starts[i], count)
            starts[i], limits[i] = 0, count
        elif own[i]:
            limits[i] = aval_of(x).shape[i]
    return p.run(e, [x], [own], start_indices=tuple(starts), limit_indices=tuple(limits))


def dynamic_slice(p: Parts, e: Equation, args: list[Divided]) -> list[Divided] | None:
    """A slice at a position that is computed; of an axis that is divided, it has few rows."""
    (x, own), *starts = args
    shape, sizes = e.inputs[0].aval.shape, e.params["slice_sizes"]
    firsts = [convert_element_type(v, INT32) for v, _ in starts]
    for i, names in enumerate(own):
        if names and sizes[i] != shape[i]:
            if sizes[i] > shape[i] // p.grid.parts(names):
                return None
            x, own = window(p, x, own, i, clamp(0, firsts[i], shape[i] - sizes[i]), sizes[i])
            firsts[i] = literal(0, INT32)
    local = aval_of(x).shape
    cut = tuple([m if n == size else size for size, n, m in zip(sizes, shape, local)])
    return p.run(e, [x, *firsts], [own], slice_sizes=cut)


def dynamic_update_slice(p: Parts, e: Equation, args: list[Divided]) -> list[Divided]:
    """Rows in the place of others, written by those who have them."""
    (x, own), (updates, given), *starts = args
    shape, sizes = e.inputs[0].aval.shape, e.inputs[1].aval.shape
    narrow = [i for i, names in enumerate(own) if names and sizes[i] != shape[i]]
    firsts = [convert_element_type(v, INT32) for v, _ in starts]
    updates, _ = p.moved(updates, given, tuple([() if i in narrow else s for i, s in enumerate(own)]))
    masks = []
    for i in narrow:
        count = aval_of(x).shape[i]
        start = sub(mul(p.index(own[i]), count), clamp(0, firsts[i], shape[i] - sizes[i]))
        updates, inside = _rows(updates, i, start, count)
        firsts[i] = literal(0, INT32)
        masks.append(inside)
    ((found, _),) = p.run(e, [x, updates, *firsts], [own])
    for i, inside in zip(narrow, masks):
        found = _where(inside, i, found, x)
    return [(found, own)]

"""Reading with `x[...]`: slices, gathers, or both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from stagec.core import location
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.dims import is_open, minimum
from stagec.numpy.dynamic_slices import windowed
from stagec.numpy.index_syntax import Parsed, Part, index_error, parse, traced_mask, with_arrays
from stagec.numpy.promotion import broadcast_shapes, broadcast_to_shape
from stagec.primitives.axes import shape_error
from stagec.primitives.convert import convert_element_type
from stagec.primitives.gather import gather
from stagec.primitives.gather_parts import GatherDimensionNumbers, GatherScatterMode
from stagec.primitives.iota import full
from stagec.primitives.joining import concatenate
from stagec.primitives.operand import aval_of, literal
from stagec.primitives.shape import expand_dims, reshape, rev
from stagec.primitives.slicing import dynamic_slice_p, slice_
from stagec.runtime.array import Array as ConcreteArray
from stagec.runtime.plans import is_plain, planned

# Arrays of indices that move so many elements are read and written by plans.
_MANY = 1 << 13


def getitem(
    x: Any,
    index: Any,
    mode: Any = "clip",
    fill_value: Any = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
) -> Array:
    """`x[index]`; out-of-range integers are clamped unless `mode` says otherwise.

    Args:
      x: an array.
      index: integers, slices, None, an ellipsis, integer arrays, masks, or a tuple of them, and of lists of integers.
      mode: as in `lax.gather`.

    Raises:
      IndexingError: the index does not fit the array.
      NonConcreteBooleanIndexError: a mask is traced.

    >>> import stagec.numpy as snp
    >>> snp.arange(6).reshape(2, 3)[1, ::-1]
    Array([5, 4, 3], dtype=int32)
    """
    parsed_mode = GatherScatterMode.from_any(mode)
    fills = parsed_mode == GatherScatterMode.FILL_OR_DROP
    if fill_value is not None and np.ndim(fill_value):
        raise shape_error("get", f"fill_value has shape {np.shape(fill_value)}", "give one number")
    index = with_arrays(index)
    window = windowed(x, index)
    if window is not None:
        x, index = window.part, window.entries
    parsed = parse(index, x.shape, clips=not fills)
    if parsed.mask is not None and not isinstance(parsed.mask, list):
        raise traced_mask(parsed.mask)
    if parsed.mask is not None:
        x, parsed = with_new_axes(x, parsed)
    parts = parsed.parts
    arrays = [p for p in parts if p.kind == "array"]
    if not arrays:
        return _basic(x, parts)
    if all(aval_of(p.value).ndim == 0 for p in arrays) and not fills and not isinstance(arrays[0].value, np.ndarray):
        return _at_scalars(x, parts)
    return _advanced(x, parts, parsed_mode.value, fill_value, indices_are_sorted, unique_indices)


def with_new_axes(x: Any, parsed: Parsed) -> tuple[Array, Parsed]:
    """Add the axes of size 1 that masks of rank 0 index."""
    parts, positions, axis = [], [], 0
    for part in parsed.parts:
        if part.kind == "new":
            parts.append(part)
            continue
        if part.axis < 0:
            positions.append(axis)
        parts.append(part._replace(axis=axis))
        axis += 1
    x = expand_dims(x, tuple(positions))
    return x, Parsed(parts, x.shape)


def _basic(x: Array, parts: list[Part]) -> Array:
    """Slices and known integers: one slice, one reversal, one reshape."""
    x = sliced(x, parts)
    shape = []
    for part in parts:
        if part.kind == "new":
            shape.append(1)
        elif part.kind == "slice":
            shape.append(part.value[1])
    return reshape(x, tuple(shape)) if tuple(shape) != x.shape else x


def sliced(x: Array, parts: list[Part]) -> Array:
    """Apply known integers and slices; axes of integers are kept with size 1."""
    starts, limits, steps, reversed_axes = [0] * x.ndim, list(x.shape), [1] * x.ndim, []
    for part in parts:
        if part.kind == "int":
            starts[part.axis], limits[part.axis] = part.value, part.value + 1
        elif part.kind == "slice":
            start, count, step = part.value
            if count == 0:
                starts[part.axis] = limits[part.axis] = 0
                continue
            several = is_open(count) or count > 1
            if step < 0 and several:
                # IREE fails to compile the reversal of a strided slice, so the whole axis is reversed first.
                start, step = x.shape[part.axis] - 1 - start, -step
                reversed_axes.append(part.axis)
            step = step if several else 1
            # An open count may be 0, so the end is a step after the last element.
            end = minimum(start + count * step, x.shape[part.axis])
            starts[part.axis], limits[part.axis] = start, end if is_open(count) else start + (count - 1) * step + 1
            steps[part.axis] = step
    if reversed_axes:
        x = rev(x, tuple(reversed_axes))
    if any(n != 0 for n in starts) or tuple(limits) != x.shape or any(s != 1 for s in steps):
        x = slice_(x, starts, limits, steps)
    return x


def _at_scalars(x: Array, parts: list[Part]) -> Array:
    """Traced integers of rank 0: a dynamic slice, which clamps."""
    # Slices that are not contiguous are taken first, along their own axes.
    x = sliced(x, [p for p in parts if p.kind != "int"])
    wide = max((aval_of(p.value).dtype for p in parts if p.kind == "array"), key=lambda d: d.itemsize)
    starts: list[Any] = [literal(0, wide)] * x.ndim
    sizes = list(x.shape)
    for part in parts:
        if part.kind in ("int", "array"):
            # `parse` counted negative indices from the end; one that is still negative is out of range.
            known = part.kind == "int"
            starts[part.axis] = literal(part.value, wide) if known else convert_element_type(part.value, wide)
            sizes[part.axis] = 1
    x = dynamic_slice_p(x, *starts, slice_sizes=tuple(sizes))
    shape = [1 if p.kind == "new" else p.value[1] for p in parts if p.kind in ("new", "slice")]
    return reshape(x, tuple(shape)) if tuple(shape) != x.shape else x


class Advanced(NamedTuple):
    """The joined integer arrays of an index, and where their axes go in the result."""

    axes: list[int]
    arrays: list[Any]
    batch_shape: tuple[int, ...]
    position: int


def advanced(parts: list[Part]) -> Advanced:
    """Join the integer arrays of an index, by NumPy's rule for where their axes go.

    Known integers count as arrays of rank 0. The axes of adjacent arrays stay
    in place; those of separated arrays come first.
    """
    chosen = [(i, p) for i, p in enumerate(parts) if p.kind in ("int", "array")]
    batch = broadcast_shapes(*[np.shape(p.value) if p.kind == "int" else aval_of(p.value).shape for _, p in chosen])
    positions = [i for i, _ in chosen]
    together = positions == list(range(positions[0], positions[-1] + 1))
    position = sum(p.kind in ("slice", "new") for p in parts[: positions[0]]) if together else 0
    return Advanced([p.axis for _, p in chosen], [p.value for _, p in chosen], batch, position)


def index_columns(arrays: Sequence[Any], shape: tuple[int, ...]) -> Any:
    """Broadcast integer arrays together, and stack them as the components of one array of indices."""
    if all(isinstance(a, (int, np.ndarray)) for a in arrays):
        columns = [np.broadcast_to(np.asarray(a), shape) for a in arrays]
        wide = np.int64 if any(c.dtype.itemsize == 8 and c.size and c.max() >= 2**31 for c in columns) else np.int32
        return np.stack([c.astype(wide) for c in columns], -1)
    traced = [a for a in arrays if not isinstance(a, (int, np.ndarray))]
    widest = max((aval_of(a).dtype for a in traced), key=lambda d: d.itemsize)
    out = []
    for a in arrays:
        operand = convert_element_type(np.asarray(a) if isinstance(a, int) else a, widest)
        out.append(expand_dims(broadcast_to_shape(operand, shape), (len(shape),)))
    return concatenate(out, len(shape))


def _advanced(x: Array, parts: list[Part], mode: str, fill_value: Any, is_sorted: bool, unique: bool) -> Array:
    x = sliced(x, [p for p in parts if p.kind == "slice"])
    joined = advanced(parts)
    kept = [1 if p.kind == "new" else p.value[1] for p in parts if p.kind in ("new", "slice")]
    result = (*kept[: joined.position], *joined.batch_shape, *kept[joined.position :])
    real = [p.value[1] for p in parts if p.kind == "slice"]
    ahead = sum(p.kind == "slice" for p in [p for p in parts if p.kind in ("new", "slice")][: joined.position])
    if 0 in result:
        return full(result, np.zeros((), x.dtype), x.dtype)
    if any(x.shape[axis] == 0 for axis in joined.axes):
        raise index_error(f"an index into an axis of size 0 of {x.aval.long()}", "check x.size first")
    rank = len(real) + len(joined.batch_shape)
    batch_axes = range(ahead, ahead + len(joined.batch_shape))
    numbers = GatherDimensionNumbers(
        offset_dims=tuple([i for i in range(rank) if i not in batch_axes]),
        collapsed_slice_dims=tuple(sorted(joined.axes)),
        start_index_map=tuple(joined.axes),
    )
    out = gather(
        x,
        index_columns(joined.arrays, joined.batch_shape),
        numbers,
        [1 if axis in joined.axes else n for axis, n in enumerate(x.shape)],
        unique_indices=unique,
        indices_are_sorted=is_sorted,
        mode=mode,
        fill_value=fill_value,
    )
    return reshape(out, result) if out.shape != result else out


def read(x: Any, index: Any) -> Array:
    """Return `x[index]`; known integers and slices of an Array give a view, without `getitem`."""
    if type(x) is ConcreteArray and is_plain(x):
        entries = index if type(index) is tuple else (index,)
        shape = x.aval.shape
        if len(entries) <= len(shape):
            found: list[Any] = []
            for entry, size in zip(entries, shape):
                if type(entry) is int and size:
                    found.append(min(max(entry + size if entry < 0 else entry, 0), size - 1))
                elif type(entry) is slice and _is_known(entry):
                    found.append(entry)
                else:
                    break
            else:
                found.append(Ellipsis)
                return _view_of(x, x.evaluated()[tuple(found)])
    return getitem_planned(x, index) if moves_many(x, index) else getitem(x, index)


getitem_planned = planned(getitem)


def moves_many(x: Any, index: Any, many: int = _MANY) -> bool:
    """Whether arrays of indices move so many elements that a plan pays."""
    if type(x) is not ConcreteArray or not x.aval.shape:
        return False
    row = x.aval.size // max(x.aval.shape[0], 1)
    entries = index if type(index) is tuple else (index,)
    return any(type(entry) is ConcreteArray and entry.aval.size * row >= many for entry in entries)


def _is_known(entry: slice) -> bool:
    start, stop, step = entry.start, entry.stop, entry.step
    return (
        (start is None or type(start) is int)
        and (stop is None or type(stop) is int)
        and (step is None or (type(step) is int and step != 0))
    )


def _view_of(x: Array, value: np.ndarray[Any, Any]) -> Array:
    return ConcreteArray.of(value, ShapedArray.of(value.shape, x.aval.dtype, x.aval.weak_type))


def iterate(x: Any) -> Iterator[Array]:
    """The entries of the first axis, one after the other."""
    if not x.shape:
        raise location.error(TypeError, "iteration over an array of rank 0", fix="use x.item() for its value")
    if type(x) is ConcreteArray and is_plain(x):
        values, aval = x.evaluated(), ShapedArray.of(x.shape[1:], x.aval.dtype, x.aval.weak_type)
        return (ConcreteArray.of(values[i, ...], aval) for i in range(len(values)))
    return (getitem(x, i) for i in range(x.shape[0]))

"""Parsing of the index in `x[...]` to a canonical form."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from stagec.core import dims, dtypes, errors, location
from stagec.core.array import Array
from stagec.core.dims import Dim
from stagec.core.graph import Literal
from stagec.core.operators import ArrayOperators
from stagec.core.trace import Tracer
from stagec.numpy.values import array
from stagec.primitives import arithmetic
from stagec.primitives.convert import convert_element_type
from stagec.primitives.logic import lt, select
from stagec.primitives.operand import as_operand, aval_of, literal
from stagec.runtime.array import Array as ConcreteArray


class Part(NamedTuple):
    """One entry of an index.

    `kind` is `"new"` for None, `"slice"`, `"int"` for a known integer, or
    `"array"` for integers that are traced or of rank 1 and more. `axis` is the
    operand's; slices keep (start, count, step) in `value`.
    """

    kind: str
    axis: int
    value: Any


class Parsed(NamedTuple):
    """An index without ellipses, masks and negative numbers, with an entry for every axis."""

    parts: list[Part]
    shape: tuple[int, ...]
    # A traced mask that is the whole index.
    mask: Any = None


def index_error(what: str, fix: str, values: Sequence[tuple[str, str, str]] = ()) -> errors.IndexingError:
    """Return the error for an index that arrays do not accept."""
    return location.error(errors.IndexingError, what, values, fix)


def _is_basic_int(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_))


def with_arrays(index: Any) -> Any:
    """An index whose lists and tuples of integers or bools, inside of the tuple that it is, are arrays."""
    if not isinstance(index, tuple) or not any(isinstance(entry, (list, tuple)) for entry in index):
        return index
    return tuple([_as_array(entry) if isinstance(entry, (list, tuple)) else entry for entry in index])


def _as_array(entry: Sequence[Any]) -> Any:
    found = array(entry)
    # What is known stays known where it is traced.
    return found if isinstance(found, Tracer) else np.asarray(found)


def _entries(index: Any) -> list[Any]:
    if isinstance(index, list):
        raise index_error(
            "Using a non-tuple sequence for multidimensional indexing is not allowed",
            "x[stagec.numpy.array(rows)] reads rows, x[tuple(index)] goes along several axes",
        )
    out = []
    for entry in index if isinstance(index, tuple) else (index,):
        if entry is None or entry is Ellipsis or isinstance(entry, slice) or _is_basic_int(entry):
            out.append(entry)
        elif isinstance(entry, (bool, np.bool_)):
            out.append(np.asarray(entry))
        elif isinstance(entry, (ArrayOperators, np.ndarray, Literal)) or hasattr(entry, "__jax_array__"):
            out.append(as_operand(entry) if not isinstance(entry, np.ndarray) else entry)
        elif hasattr(entry, "__index__") and not isinstance(entry, np.generic):
            out.append(operator.index(entry))
        else:
            raise _bad_entry(entry)
    return out


def _at_most(rank: int) -> str:
    return f"use at most {rank} {'index' if rank == 1 else 'indices'}" if rank else "use no index but () and ..."


def _bad_entry(entry: Any) -> errors.IndexingError:
    kind = entry.dtype.name if hasattr(entry, "dtype") else type(entry).__name__
    fix = (
        "use astype(int), or // instead of / where it is computed"
        if "float" in kind
        else "index with integers, slices, masks or None"
    )
    return index_error(f"Indexer must have integer or boolean type, got indexer with type {kind}", fix)


def _expand_masks(entries: list[Any], shape: tuple[int, ...]) -> tuple[list[Any], Any]:
    """Replace masks by the positions of their true elements; return a traced mask separately."""
    out: list[Any] = []
    axis = 0
    masks = [e for e in entries if hasattr(e, "dtype") and e.dtype == dtypes.bool_]
    if not masks:
        return entries, None
    used = sum(_consumed(e) for e in entries)
    for entry in entries:
        if entry is Ellipsis:
            axis += len(shape) - used
            out.append(entry)
            continue
        if not (hasattr(entry, "dtype") and entry.dtype == dtypes.bool_):
            axis += _consumed(entry)
            out.append(entry)
            continue
        have = shape[axis : axis + entry.ndim]
        if tuple(entry.shape) != have:
            raise index_error(
                f"boolean index did not match shape of indexed array in index {axis}: got {tuple(entry.shape)}, "
                f"expected {list(have)}",
                "a mask has the sizes of the axes that it stands for",
            )
        axis += entry.ndim
        if isinstance(entry, Tracer):
            others = [e for e in entries if e is not entry]
            if all(e is Ellipsis or (isinstance(e, slice) and e == slice(None)) for e in others) and (
                not others or entries[0] is entry
            ):
                return [], entry
            raise traced_mask(entry)
        value = np.asarray(entry.value if isinstance(entry, Literal) else entry)
        if value.ndim == 0:
            out += [None, _Scalar(value)]
        else:
            out += list(np.nonzero(value))
    return out, None


class _Scalar:
    """A mask of rank 0: it selects all of a new axis of size 1, or nothing."""

    def __init__(self, value: Any) -> None:
        self.positions = np.zeros(int(value), np.int32)


def traced_mask(mask: Any) -> errors.NonConcreteBooleanIndexError:
    """Return the error for a traced mask where the positions of its true elements are needed."""
    return location.error(
        errors.NonConcreteBooleanIndexError,
        f"Array boolean indices must be concrete; got {mask.aval.long()}, and the result's shape would depend "
        "on its values",
        [("mask", mask.aval.long(), mask.origin())],
        "stagec.numpy.where(mask, x, other) keeps the shape; stagec.numpy.nonzero(mask, size=n) fixes it",
    )


def _consumed(entry: Any) -> int:
    if entry is None or entry is Ellipsis:
        return 0
    if hasattr(entry, "dtype") and entry.dtype == dtypes.bool_:
        return int(entry.ndim)
    return 1


def parse(index: Any, shape: tuple[int, ...], clips: bool = True) -> Parsed:
    """Parse an index of an array of this shape, so that every axis has one part.

    Args:
      index: the index in the brackets.
      shape: the shape of the array.
      clips: whether known integers out of range are clamped to the nearest end.

    Raises:
      IndexingError: there are too many indices, or one is of a wrong type.
      NonConcreteBooleanIndexError: a mask is traced.
    """
    entries, mask = _expand_masks(_entries(index), shape)
    if mask is not None:
        return Parsed([], shape, mask)
    # `_expand_masks` replaced a mask of rank 0 by None and its positions along that new axis.
    entries = [e for i, e in enumerate(entries) if not (e is None and _is_scalar_mask(entries, i + 1))]
    scalars = [e for e in entries if isinstance(e, _Scalar)]
    used = sum(0 if isinstance(e, _Scalar) else _consumed(e) for e in entries)
    ellipses = sum(e is Ellipsis for e in entries)
    if ellipses > 1:
        raise index_error("an index can only have a single ellipsis ('...')", "write the other ones as ':'")
    if used > len(shape):
        raise index_error(
            f"Too many indices: array is {len(shape)}-dimensional, but {used} were indexed",
            f"the array has shape {shape}; {_at_most(len(shape))}, None adds an axis",
        )
    if not ellipses:
        entries.append(Ellipsis)
    parts: list[Part] = []
    axis = 0
    for entry in entries:
        if entry is Ellipsis:
            for _ in range(len(shape) - used):
                parts.append(Part("slice", axis, (0, shape[axis], 1)))
                axis += 1
        elif entry is None:
            parts.append(Part("new", -1, None))
        elif isinstance(entry, _Scalar):
            parts.append(Part("array", -1, entry.positions))
        elif isinstance(entry, slice):
            parts.append(Part("slice", axis, _bounds(entry, shape[axis])))
            axis += 1
        else:
            parts.append(_integer(entry, axis, shape[axis], clips))
            axis += 1
    assert axis == len(shape), "every axis has its part"
    return Parsed(parts, shape, scalars or None) if scalars else Parsed(parts, shape)


def _is_scalar_mask(entries: list[Any], position: int) -> bool:
    return position < len(entries) and isinstance(entries[position], _Scalar)


def _bounds(entry: slice, size: int) -> tuple[int, int, int]:
    for bound in (entry.start, entry.stop, entry.step):
        if isinstance(bound, Tracer):
            raise index_error(
                "Slice entries must be static integers: a bound of the slice is traced",
                "stagec.lax.dynamic_slice(x, start, sizes) takes a traced start; sizes must be static",
                [("bound", bound.aval.long(), bound.origin())],
            )
    if any(type(n) is Dim for n in (size, entry.start, entry.stop)):
        return _open_bounds(entry, size)
    try:
        start, stop, step = entry.indices(size)
    except TypeError:
        raise index_error(
            f"Slice entries must be integers or None, got {entry}",
            "bounds are integers; use // instead of / to compute them",
        ) from None
    except ValueError:
        raise location.error(
            ValueError, "slice step cannot be zero", fix="leave the step out, or use -1 to reverse"
        ) from None
    return start, len(range(start, stop, step)), step


def _open_bounds(entry: slice, size: Any) -> tuple[Any, Any, int]:
    """As `slice.indices`, where the axis or a bound is open."""
    step = 1 if entry.step is None else operator.index(entry.step)
    if step == 0:
        raise location.error(ValueError, "slice step cannot be zero", fix="leave the step out, or use -1 to reverse")
    first, last = (0, size) if step > 0 else (-1, size - 1)

    def clipped(bound: Any, default: Any) -> Any:
        if bound is None:
            return default
        bound = bound if type(bound) is Dim else operator.index(bound)
        return dims.minimum(dims.maximum(bound + size if bound < 0 else bound, first), last)

    start = clipped(entry.start, first if step > 0 else last)
    stop = clipped(entry.stop, last if step > 0 else first)
    count = (stop - start + step - 1) // step if step > 0 else (start - stop - step - 1) // -step
    return start, dims.maximum(count, 0), step


def _integer(entry: Any, axis: int, size: int, clips: bool) -> Part:
    if _is_basic_int(entry):
        position = int(entry) + (size if entry < 0 else 0)
        if size == 0:
            raise index_error(f"index {entry} into axis {axis} of size 0", "check the size before indexing")
        if clips and dims.is_open(size):
            return Part("int", axis, min(max(position, 0), size - 1))
        if 0 <= position < size:
            return Part("int", axis, position)
        # It is clamped or dropped later, by an operation whose indices `checkify` checks.
        limits = np.iinfo(np.int32)
        position = min(max(position, limits.min), limits.max)
        return Part("array", axis, literal(position, dtypes.int32) if clips else np.asarray(position, np.int32))
    aval = aval_of(entry) if not isinstance(entry, np.ndarray) else None
    dtype = entry.dtype if aval is None else aval.dtype
    if not dtypes.is_integer(dtype):
        if isinstance(entry, np.ndarray) and entry.size == 0:
            return Part("array", axis, np.zeros(entry.shape, np.int32))
        raise _bad_entry(entry)
    if type(entry) is ConcreteArray or isinstance(entry, (Literal, np.ndarray)):
        value = np.asarray(entry.value if isinstance(entry, Literal) else entry)
        if value.ndim == 0:
            return _integer(int(value), axis, size, clips)
        if dims.is_open(size):
            return Part("array", axis, wrap_negative(value, size))
        signed = value.astype(np.int64) if value.dtype != np.uint64 else np.minimum(value, 2**62).astype(np.int64)
        signed = np.where(signed < 0, signed + size, signed)
        return Part("array", axis, np.clip(signed, -1, size).astype(np.int64 if dims.is_huge(size) else np.int32))
    return Part("array", axis, wrap_negative(entry, size))


def wrap_negative(index: Any, size: int) -> Array:
    """Convert traced integers to int32 or int64; count negative ones from the end of an axis."""
    dtype = aval_of(index).dtype
    wide = dtypes.int64 if dims.is_huge(size) or (dtype.itemsize == 8) else dtypes.int32
    wide = dtypes.canonicalize(wide)
    if dtypes.is_unsigned(dtype):
        if dtype.itemsize >= wide.itemsize:
            index = arithmetic.min(index, np.asarray(np.iinfo(wide).max, dtype))
        return convert_element_type(index, wide)
    index = convert_element_type(index, wide)
    return select(lt(index, 0), arithmetic.add(index, size), index)

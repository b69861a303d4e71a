"""`ds`: slices whose start may be a traced integer."""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import numpy as np

from stagec.core import errors, location
from stagec.core.array import Array
from stagec.core.trace import Tracer
from stagec.primitives.operand import as_operand, aval_of
from stagec.primitives.slicing import dynamic_slice
from stagec.typing import ArrayLike


class Slice:
    """`size` elements from `start` on, in steps of `stride`; made by `ds`."""

    __slots__ = ("size", "start", "stride")

    def __init__(self, start: Any, size: int, stride: int) -> None:
        self.start, self.size, self.stride = start, size, stride

    @property
    def length(self) -> int:
        """The extent of the slice: from the first element to the last, inclusive."""
        return (self.size - 1) * self.stride + 1 if self.size else 0

    def __repr__(self) -> str:
        return f"Slice(start={self.start}, size={self.size}, stride={self.stride})"


def ds(start: ArrayLike | None, size: int | None = None, stride: int | None = None) -> slice | Slice:
    """A slice with a known number of elements, for the brackets of arrays, of references and of `x.at`.

    Args:
      start: an integer, which may be traced; negative ones count from the end. As in `lax.dynamic_slice`, it is
        clamped so that the slice fits the axis. If `size` is missing, it is the size. None for the whole axis.
      size: how many elements. It is known while tracing.
      stride: the steps between them, above zero.

    Raises:
      ConcretizationError: `size` or `stride` is traced.

    >>> import stagec, stagec.numpy as snp
    >>> stagec.jit(lambda x, i: x[stagec.ds(i, 3)])(snp.arange(10), 4)
    Array([4, 5, 6], dtype=int32)
    >>> snp.zeros((2, 4)).at[0, stagec.ds(1, 2, stride=2)].set(1)
    Array([[0., 1., 0., 1.],
           [0., 0., 0., 0.]], dtype=float32)
    """
    if start is None:
        return slice(None)
    begin, count = (0, start) if size is None else (start, size)
    known, step = _known("size", count), 1 if stride is None else _known("stride", stride)
    if known < 0 or step < 1:
        what = f"ds: a size of {known} with a stride of {step}"
        raise location.error(errors.IndexingError, what, fix="give a size of 0 or more, and a stride above 0")
    return Slice(begin, known, step)


def _known(name: str, value: Any) -> int:
    if isinstance(value, Tracer):
        raise location.error(
            errors.ConcretizationError,
            f"ds: {name} must be known while tracing, since shapes depend on it",
            [(name, value.aval.long(), value.origin())],
            "slice a known number of elements, and mask the surplus with stagec.numpy.where",
        )
    return operator.index(value)


class Windowed(NamedTuple):
    """Part of an array, and the index into that part."""

    part: Array
    entries: tuple[Any, ...]
    starts: list[Any]


def windowed(x: Any, index: Any) -> Windowed | None:
    """Apply the `Slice`s of an index; return None if there are none."""
    entries = index if type(index) is tuple else (index,)
    if not any(type(e) is Slice for e in entries):
        return None
    starts: list[Any] = [0] * x.ndim
    sizes = list(x.shape)
    for position, entry in enumerate(entries):
        if type(entry) is not Slice:
            continue
        before, after = entries[:position], entries[position + 1 :]
        axis = x.ndim - 1 - _axes(after) if any(e is Ellipsis for e in before) else _axes(before)
        if not 0 <= axis < x.ndim or entry.length > sizes[axis]:
            what = f"{entry} does not fit axis {axis} of {x.aval.long()}"
            raise location.error(errors.IndexingError, what, fix="slice no more elements than the axis has")
        starts[axis], sizes[axis] = entry.start, entry.length
    remaining = tuple([slice(None, None, e.stride) if type(e) is Slice else e for e in entries])
    return Windowed(dynamic_slice(x, starts, sizes), remaining, starts)


def _axes(entries: tuple[Any, ...]) -> int:
    """Return the number of axes that some entries of an index consume."""
    return sum(_axes_of(e) for e in entries if e is not None and e is not Ellipsis)


def _axes_of(entry: Any) -> int:
    if isinstance(entry, (Slice, slice, int)) and not isinstance(entry, bool):
        return 1
    aval = aval_of(as_operand(entry))
    return aval.ndim if aval.dtype == np.bool_ else 1

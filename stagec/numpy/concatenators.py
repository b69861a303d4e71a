"""Arrays written with brackets, as in `r_[1:4, 0, x]`."""

from __future__ import annotations

from typing import Any

from stagec.core import location
from stagec.numpy.creation import arange
from stagec.numpy.joining import concatenate
from stagec.numpy.spacing import linspace
from stagec.numpy.values import array

__all__ = ["c_", "r_"]


class Concatenator:
    """Concatenates the entries in brackets: slices, which stand for ranges, numbers, lists and arrays.

    The first entry may be a string, as in NumPy: an axis, `"axis,rank"`, or `"axis,rank,position"`. Arrays of a
    smaller rank get axes of size 1, and their own axes begin at `position`. `"r"` and `"c"` convert a vector to
    a matrix of one row or one column.

    >>> import stagec.numpy as snp
    >>> snp.r_[1:4, 0, snp.array([7, 8])]
    Array([1, 2, 3, 0, 7, 8], dtype=int32)
    >>> snp.c_[snp.array([1, 2]), snp.array([3, 4])]
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """

    def __init__(self, axis: int, rank: int, position: int) -> None:
        self._defaults = axis, rank, position

    def __getitem__(self, key: Any) -> Any:
        items = list(key) if isinstance(key, tuple) else [key]
        axis, rank, position = self._defaults
        directive = items.pop(0) if items and isinstance(items[0], str) else None
        if directive is not None and directive not in ("r", "c"):
            axis, rank, position = self._directive(directive)
        joined = concatenate([_with_rank(item, rank, position) for item in items], axis)
        if directive in ("r", "c") and joined.ndim == 1:
            return joined[:, None] if directive == "c" else joined[None, :]
        return joined

    def _directive(self, text: str) -> tuple[int, int, int]:
        try:
            axis, rank, position = [int(part) for part in text.split(",")] + list(self._defaults[text.count(",") + 1 :])
        except ValueError:
            raise location.error(
                ValueError,
                f"there is no directive {text!r}",
                fix='begin with an axis, as in "-1"; with "axis,rank" or "axis,rank,position"; or with "r" or "c"',
            ) from None
        return axis, rank, position

    def __len__(self) -> int:
        return 0


def _with_rank(item: Any, rank: int, position: int) -> Any:
    """Convert an entry to an array of at least this rank."""
    value = _range(item) if isinstance(item, slice) else array(item)
    extra = rank - value.ndim
    if extra <= 0:
        return value
    before = extra if position == -1 or not value.ndim else position if position >= 0 else extra + position + 1
    return value.reshape((1,) * before + value.shape + (1,) * (extra - before))


def _range(item: slice) -> Any:
    start = 0 if item.start is None else item.start
    step = 1 if item.step is None else item.step
    if isinstance(step, complex):
        return linspace(start, item.stop, int(abs(step)))
    return arange(start, item.stop, step)


r_ = Concatenator(0, 1, -1)
c_ = Concatenator(-1, 2, 0)

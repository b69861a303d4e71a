"""Grids from slices (`mgrid[0:3, 0:2]`), index expressions, and the functions shape, size and ndim."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from stagec.core import dtypes
from stagec.numpy.arguments import array_argument, from_numpy
from stagec.numpy.values import array
from stagec.primitives.axes import canonical_axes
from stagec.typing import ArrayLike

__all__ = ["index_exp", "iterable", "mgrid", "ndim", "ogrid", "s_", "shape", "size"]


class Grid:
    """Coordinates from slices; a complex step is a count, with the end included.

    >>> import stagec.numpy as snp
    >>> snp.mgrid[0:2, 0:3].shape
    (2, 2, 3)
    """

    def __init__(self, sparse: bool) -> None:
        self._sparse = sparse

    def __getitem__(self, key: Any) -> Any:
        found = np.ogrid[key] if self._sparse else np.mgrid[key]
        if isinstance(found, (tuple, list)):
            return [from_numpy(v, dtypes.canonicalize(v.dtype)) for v in found]
        return from_numpy(found, dtypes.canonicalize(found.dtype))


mgrid = Grid(sparse=False)
ogrid = Grid(sparse=True)
s_ = np.s_
index_exp = np.index_exp


def _shape(a: Any) -> tuple[int, ...]:
    """The shape of an array, or of what describes one; None counts as a number, as in NumPy."""
    known = getattr(a, "shape", None)
    if isinstance(known, tuple):
        return known
    return (array(a) if isinstance(a, (list, tuple)) else array_argument(0 if a is None else a, "a")).shape


def ndim(a: ArrayLike | Sequence[Any]) -> int:
    """The number of axes.

    >>> ndim(1.0)
    0
    """
    return len(_shape(a))


def shape(a: ArrayLike | Sequence[Any]) -> tuple[int, ...]:
    """The sizes of the axes.

    >>> shape([[1, 2]])
    (1, 2)
    """
    return _shape(a)


def size(a: ArrayLike | Sequence[Any], axis: int | Sequence[int] | None = None) -> int:
    """The number of elements, of all or along some axes.

    >>> size([[1, 2]], 0), size([[1, 2]], (0, 1))
    (1, 2)
    """
    sizes = _shape(a)
    return math.prod(sizes if axis is None else [sizes[i] for i in canonical_axes(axis, len(sizes), "size")])


def iterable(y: object) -> bool:
    """Whether `iter(y)` works.

    >>> iterable([1, 2]), iterable(2)
    (True, False)
    """
    return np.iterable(y)

"""Window functions for signals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stagec.core import dtypes
from stagec.core.array import Array
from stagec.numpy.arguments import from_numpy
from stagec.numpy.arithmetic import divide, multiply
from stagec.numpy.elementary import i0
from stagec.primitives.axes import as_int
from stagec.typing import ArrayLike

__all__ = ["bartlett", "blackman", "hamming", "hanning", "kaiser"]


def _window(name: str, M: Any, compute: Callable[[int], np.ndarray[Any, Any]]) -> Array:
    return from_numpy(compute(as_int(M, name, "M")), dtypes.default_float())


def bartlett(M: int) -> Array:
    """A triangle of `M` points that is 0 at both ends.

    >>> bartlett(5)
    Array([0. , 0.5, 1. , 0.5, 0. ], dtype=float32)
    """
    return _window("bartlett", M, np.bartlett)


def blackman(M: int) -> Array:
    """A sum of three cosines, of `M` points.

    >>> blackman(3)[1]
    Array(1., dtype=float32)
    """
    return _window("blackman", M, np.blackman)


def hamming(M: int) -> Array:
    """A raised cosine of `M` points that is 0.08 at both ends.

    >>> hamming(3)
    Array([0.08, 1.  , 0.08], dtype=float32)
    """
    return _window("hamming", M, np.hamming)


def hanning(M: int) -> Array:
    """A raised cosine of `M` points that is 0 at both ends.

    >>> hanning(5)
    Array([0. , 0.5, 1. , 0.5, 0. ], dtype=float32)
    """
    return _window("hanning", M, np.hanning)


def kaiser(M: int, beta: ArrayLike) -> Array:
    """A window of `M` points made of Bessel functions.

    Args:
      M: the number of points.
      beta: how steep it is, a number; 0 gives a rectangle. It may be traced.

    >>> kaiser(3, 0.0)
    Array([1., 1., 1.], dtype=float32)
    """
    count = as_int(M, "kaiser", "M")
    if count <= 1:
        return _window("kaiser", count, np.ones)
    middle = (count - 1) / 2
    heights = np.sqrt(1 - ((np.arange(count) - middle) / middle) ** 2)
    return divide(i0(multiply(beta, from_numpy(heights, dtypes.default_float()))), i0(beta))

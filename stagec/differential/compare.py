"""The difference of two arrays, and how large it may be."""

from __future__ import annotations

from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from stagec.core import dtypes

# By itemsize, the allowed error in units of the dtype's eps: sums may be added in another order, and functions may
# differ in the last digits.
_STEPS = {2: 8, 4: 1000, 8: 10000}


class Distance(NamedTuple):
    """What differs between a result and NumPy's.

    Attributes:
      error: the largest difference over the largest finite element of NumPy's result; infinite where one of the two is
        NaN or infinite and the other is not that, or where exact results differ.
      allowed: the largest error of a right result; 0 for integers and booleans.
      wrong: the number of elements whose error is larger.
      where: the index of the worst one.
    """

    error: float
    allowed: float
    wrong: int
    where: tuple[int, ...]

    @property
    def agrees(self) -> bool:
        """Whether the error of every element is allowed."""
        return self.wrong == 0


def allowed(dtype: Any) -> float:
    """The error that a type's results may have, relative to their largest element."""
    if not dtypes.is_inexact(dtype):
        return 0.0
    parts = np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype
    return _STEPS.get(parts.itemsize, 2) * float(ml_dtypes.finfo(parts).eps)  # type: ignore[no-untyped-call]


def distance(expected: np.ndarray[Any, Any], found: np.ndarray[Any, Any]) -> Distance:
    """Compare a result with NumPy's, of the same shape and dtype.

    >>> import numpy as np
    >>> distance(np.array([1.0, 2.0], "f4"), np.array([1.0, 3.0], "f4"))[0:1]
    (0.5,)
    """
    limit = allowed(expected.dtype)
    if not dtypes.is_inexact(expected.dtype):
        bad = expected != found
        error = np.where(bad, np.inf, 0.0)
    else:
        wide = np.complex128 if expected.dtype.kind == "c" else np.float64
        a, b = expected.astype(wide), found.astype(wide)
        finite = np.isfinite(a) & np.isfinite(b)
        scale = float(np.max(np.abs(a[np.isfinite(a)]), initial=0.0)) or 1.0
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        with np.errstate(invalid="ignore"):
            error = np.where(same, 0.0, np.where(finite, np.abs(a - b) / scale, np.inf))
        bad = error > limit
    worst = np.unravel_index(int(np.argmax(error)), error.shape) if error.size else ()
    return Distance(float(np.max(error, initial=0.0)), limit, int(np.count_nonzero(bad)), tuple(int(i) for i in worst))

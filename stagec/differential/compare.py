"""The difference of two arrays, and how large it may be."""

from __future__ import annotations

import math
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
      error: the largest difference over the largest finite element of NumPy's result, or over the largest term of an
        operation that adds, if that is larger; infinite where one of the two is
        NaN or infinite and the other is not that, or where exact results differ.
      allowed: the largest error of a right result; 0 for integers, booleans, and what was only moved.
      wrong: the number of elements whose error is larger.
      where: the index of the worst one.
      eps: the step of the dtype at 1; 0 for integers and booleans.
    """

    error: float
    allowed: float
    wrong: int
    where: tuple[int, ...]
    eps: float = 0.0

    def is_worse(self, other: Distance) -> bool:
        """Whether it has wrong elements and the other has none, or else whether the error is larger."""
        return (self.wrong > 0, self.error) > (other.wrong > 0, other.error)

    def texts(self) -> tuple[str, str, str]:
        """The error, the same in steps, and the worst element if it is wrong."""
        steps = f"{self.error / self.eps:.2g}" if self.eps and math.isfinite(self.error) else ""
        return f"{self.error:.2g}", steps, "" if self.agrees else f"[{', '.join(map(str, self.where))}]"

    def __str__(self) -> str:
        error, steps, where = self.texts()
        return f"error {error}{steps and f' ({steps} steps)'}{where and f' of {where}, {self.wrong} wrong'}"

    @property
    def agrees(self) -> bool:
        """Whether the error of every element is allowed."""
        return self.wrong == 0


class Compared:
    """What was compared with NumPy's, or failed."""

    distance: Distance | None

    @property
    def agrees(self) -> bool:
        """Whether the result equals NumPy's; up to rounding, where it is of floating-point numbers."""
        return self.distance is not None and self.distance.agrees


def largest(value: np.ndarray[Any, Any]) -> float:
    """The largest absolute value of the finite elements; 0 if there are none."""
    wide = value.astype(np.complex128 if value.dtype.kind == "c" else np.float64)
    return float(np.max(np.abs(wide[np.isfinite(wide)]), initial=0.0))


def distance(
    expected: np.ndarray[Any, Any], found: np.ndarray[Any, Any], exact: bool = False, terms: float = 0.0
) -> Distance:
    """Compare a result with NumPy's, of the same shape and dtype.

    Args:
      exact: nothing is rounded. Subnormal numbers count as zero, as compiled code may treat them so.
      terms: the largest term, where the result is a sum; it may be larger than the elements of the result.

    >>> import numpy as np
    >>> distance(np.array([1.0, 2.0], "f4"), np.array([1.0, 3.0], "f4"))[0:1]
    (0.5,)
    """
    limit = eps = 0.0
    if not dtypes.is_inexact(expected.dtype):
        bad = expected != found
        error = np.where(bad, np.inf, 0.0)
    else:
        dtype = expected.dtype
        parts = np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype
        numbers = ml_dtypes.finfo(parts)  # type: ignore[no-untyped-call]
        eps = float(numbers.eps)
        wide = np.complex128 if expected.dtype.kind == "c" else np.float64
        a, b = expected.astype(wide), found.astype(wide)
        finite = np.isfinite(a) & np.isfinite(b)
        scale = max(largest(a), terms) or 1.0
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        with np.errstate(invalid="ignore"):
            if exact:
                same |= np.abs(a - b) < float(numbers.smallest_normal)
            else:
                limit = _STEPS.get(parts.itemsize, 2) * eps
            error = np.where(same, 0.0, np.where(finite, np.abs(a - b) / scale, np.inf))
        bad = error > limit
    worst = np.unravel_index(int(np.argmax(error)), error.shape) if error.size else ()
    return Distance(
        float(np.max(error, initial=0.0)), limit, int(np.count_nonzero(bad)), tuple(int(i) for i in worst), eps
    )

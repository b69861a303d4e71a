"""The sizes from which NumPy or SciPy computes an operation, as `python -m tests.benchmarks host` measures them.

From these sizes on, a call of the library takes about as long as the kernels of the algorithm over other primitives: at
most 1.4 times as long, including the 15 microseconds that a call of Python takes. The first call, which compiles, takes
a tenth to a hundredth of the time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from stagec.core import dtypes
from stagec.core.aval import ShapedArray
from stagec.core.libraries import has_scipy

# A loop that calls Python cannot be a kernel, so the host runs it, and arrays must be larger by these factors: the rows
# of a matrix, and the elements of a transform.
_ROWS_IN_LOOPS, _ELEMENTS_IN_LOOPS = 2, 4
_SINGLE = (dtypes.float32, dtypes.complex64)


@dataclass(frozen=True)
class Threshold:
    """When a library computes an operation.

    Attributes:
      least: returns the least number of rows and columns, or of elements, for the operands' avals and the parameters.
      scipy: returns whether the function for an aval is SciPy's: NumPy has none, or only one for float64.
      matrices: whether `least` counts rows and columns.
    """

    least: Callable[[Sequence[ShapedArray], dict[str, Any]], int]
    scipy: Callable[[ShapedArray], bool] = lambda aval: False
    matrices: bool = True

    def chosen(self, avals: Sequence[ShapedArray], params: dict[str, Any], in_loop: bool, always: bool) -> bool:
        """Whether the library computes the operation; `always` means that the size does not matter."""
        first = avals[0]
        if self.scipy(first) and not has_scipy():
            return False
        if always:
            return True
        size, factor = (min(first.shape[-2:]), _ROWS_IN_LOOPS) if self.matrices else (first.size, _ELEMENTS_IN_LOOPS)
        return size >= self.least(avals, params) * (factor if in_loop else 1)


def _rows(least: int, scipy: Callable[[ShapedArray], bool] = lambda aval: False) -> Threshold:
    return Threshold(lambda avals, params: least, scipy)


def _every(aval: ShapedArray) -> bool:
    return True


def _rows_of_solution(avals: Sequence[ShapedArray], params: dict[str, Any]) -> int:
    """Few right-hand sides are no work for a library."""
    columns = avals[1].shape[-1 if params["left_side"] else -2]
    return max(128, math.isqrt(10**6 // max(columns, 1)))


THRESHOLDS: dict[str, Threshold] = {
    "cholesky": _rows(128),
    "det": _rows(128),
    "eig": _rows(48),
    "eigh": _rows(28),
    "eigvalsh": _rows(128),
    **dict.fromkeys(("fft", "irfft", "rfft"), Threshold(lambda avals, params: 1 << 12, matrices=False)),
    **dict.fromkeys(
        ("geqrf", "hessenberg", "householder_product", "lu", "lu_solve", "ormqr", "tridiagonal"), _rows(128, _every)
    ),
    "pinv": _rows(28),
    "qr": _rows(128, lambda aval: aval.dtype in _SINGLE),
    "schur": _rows(48, _every),
    "svd": Threshold(lambda avals, params: 28 if params["compute_uv"] else 128),
    "triangular_solve": Threshold(_rows_of_solution, _every),
}

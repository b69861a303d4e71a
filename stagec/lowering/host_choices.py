"""Which operations of a program NumPy or SciPy computes, by what `python -m tests.benchmarks host` measures.

A library computes an operation from the size on at which a call takes about as long as the kernels of the algorithm
over other primitives: at most 1.4 times as long, the 15 microseconds included that a call of Python costs. The first
call, which compiles, takes a tenth to a hundredth.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from stagec.core import dtypes
from stagec.core.aval import ShapedArray
from stagec.core.libraries import has_scipy

# A loop that calls Python is no kernel but a program of the host's, so in loops arrays have to be larger: so many
# times as many rows of a matrix, and elements of a transform.
_ROWS_IN_LOOPS, _ELEMENTS_IN_LOOPS = 2, 4
_SINGLE = (dtypes.float32, dtypes.complex64)


@dataclass(frozen=True)
class Choice:
    """When a library computes an operation.

    Attributes:
      least: of the first operand's aval and the parameters, how many rows and columns, or elements, pay for a call.
      scipy: of the aval, whether the function is SciPy's: what NumPy has computes in float64, or there is none.
      matrices: whether `least` counts rows and columns.
    """

    least: Callable[[ShapedArray, dict[str, Any]], int]
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
        return size >= self.least(first, params) * (factor if in_loop else 1)


def _rows(least: int, scipy: Callable[[ShapedArray], bool] = lambda aval: False) -> Choice:
    return Choice(lambda aval, params: least, scipy)


def _every(aval: ShapedArray) -> bool:
    return True


CHOICES: dict[str, Choice] = {
    "cholesky": _rows(128),
    "det": _rows(128),
    "eig": _rows(64),
    "eigh": _rows(64),
    "eigvalsh": _rows(128),
    "fft": Choice(lambda aval, params: 1 << 12, matrices=False),
    "lu": _rows(128, _every),
    "lu_solve": _rows(128, _every),
    "pinv": _rows(64),
    "qr": _rows(128, lambda aval: aval.dtype in _SINGLE),
    "schur": _rows(128, _every),
    "svd": Choice(lambda aval, params: 64 if params["compute_uv"] else 128),
}

"""Which operations of a program NumPy or SciPy computes, by what `python -m tests.benchmarks host` measures.

They are where a call takes less time than the kernels of the algorithm over other primitives, the 20 microseconds that
a call of Python costs included.
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable, Sequence
from typing import Any

from stagec.core import dtypes
from stagec.core.aval import ShapedArray

# Of the operands' avals, the parameters, and whether it is in a loop.
Choice = Callable[[Sequence[ShapedArray], dict[str, Any], bool], bool]
# A loop that calls Python is no kernel but a program of the host's, so in loops matrices have to be larger.
_ROWS_IN_LOOPS, _ELEMENTS_IN_LOOPS = 2, 4


@functools.cache
def _has_scipy() -> bool:
    return importlib.util.find_spec("scipy") is not None


def _rows(least: int, *, scipy: bool = False) -> Choice:
    """Matrices of at least so many rows and columns.

    Args:
      scipy: what NumPy has is slow, or missing.
    """

    def choice(avals: Sequence[ShapedArray], params: dict[str, Any], in_loop: bool) -> bool:
        rows = min(avals[0].shape[-2:])
        return rows >= least * (_ROWS_IN_LOOPS if in_loop else 1) and (not scipy or _has_scipy())

    return choice


def _qr(avals: Sequence[ShapedArray], params: dict[str, Any], in_loop: bool) -> bool:
    # NumPy computes in float64.
    single = avals[0].dtype in (dtypes.float32, dtypes.complex64)
    return _rows(128, scipy=single)(avals, params, in_loop)


def _svd(avals: Sequence[ShapedArray], params: dict[str, Any], in_loop: bool) -> bool:
    return _rows(64 if params["compute_uv"] else 128)(avals, params, in_loop)


def _fft(avals: Sequence[ShapedArray], params: dict[str, Any], in_loop: bool) -> bool:
    least = 1 << 13 if avals[0].dtype == dtypes.complex64 else 1 << 12
    return avals[0].size >= least * (_ELEMENTS_IN_LOOPS if in_loop else 1)


CHOICES: dict[str, Choice] = {
    "cholesky": _rows(128),
    "eig": _rows(64),
    "eigh": _rows(64),
    "eigvalsh": _rows(128),
    "fft": _fft,
    "lu": _rows(128, scipy=True),
    "qr": _qr,
    "schur": _rows(128, scipy=True),
    "svd": _svd,
}

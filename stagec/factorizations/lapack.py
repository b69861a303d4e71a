"""LAPACK through NumPy and SciPy, for evaluation.

NumPy's public functions compute in float64 for every dtype, and raise if one matrix of a stack has no result. The
generalized functions that they call compute in the dtype of the stack, and return NaN instead.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stagec.core.aval import ShapedArray
from stagec.core.libraries import has_scipy
from stagec.factorizations.row import each_matrix


@functools.cache
def _of_numpy(name: str) -> Any:
    """Return one of NumPy's generalized functions, or None if this version of NumPy lacks it."""
    return getattr(getattr(np.linalg, "_umath_linalg", None), name, None)


def of_stack(name: str, instead: Callable[..., Any], a: Any, out: Sequence[ShapedArray]) -> list[Any]:
    """Apply one of NumPy's generalized functions to a stack of matrices; NaN where a matrix has no result.

    Args:
      name: the name of NumPy's generalized function.
      instead: a public function of one matrix, used if the generalized one is missing.
      out: avals of the results.
    """
    function = _of_numpy(name)
    if function is None:
        return each_matrix(lambda one: or_nan(instead, one, len(out)), a, out=out)
    found = function(a)
    found = found if len(out) > 1 else (found,)
    return [np.asarray(r, aval.dtype) for r, aval in zip(found, out, strict=True)]


def or_nan(function: Callable[..., Any], a: Any, count: int) -> Any:
    """Return the results of a function of a matrix, or `count` times NaN if it raises LinAlgError."""
    try:
        found = function(a)
    except np.linalg.LinAlgError:
        return (np.nan,) * count
    return tuple(found) if count > 1 else found


def finite(a: Any, triangle: bool = False) -> tuple[Any, Any]:
    """Replace matrices that are not finite by zeros; return also which are finite, or None if all are.

    Args:
      triangle: consider only the lower triangle.
    """
    marks = np.isfinite(a)
    if marks.all():
        return a, None
    good = (marks | ~np.tri(a.shape[-1], dtype=bool) if triangle else marks).all((-2, -1))
    return np.where(good[..., None, None], a, np.zeros((), a.dtype)), good


def with_nan(results: Sequence[Any], good: Any) -> list[Any]:
    """Replace the results of the matrices that are not good by NaN."""
    if good is not None:
        for result in results:
            result[~good] = np.nan
    return list(results)


@functools.cache
def of_scipy(name: str, dtype: np.dtype[Any], module: str = "lapack") -> Any:
    """Return SciPy's LAPACK or BLAS function of this name for a dtype, or None if SciPy is not installed."""
    if not has_scipy():
        return None
    return getattr(importlib.import_module(f"scipy.linalg.{module}"), _LETTERS[dtype.char] + name)


# From this many rows on, what else NumPy's loops compute is worth the import of SciPy.
LARGE = 128


def of_large(name: str, a: Any, complex_name: str | None = None, least: int = LARGE) -> Any:
    """Return SciPy's LAPACK function for a large matrix, with blocks; None for a small one, or without SciPy.

    Args:
      complex_name: the function's name for complex matrices, if it is another one.
      least: the number of rows and columns of a large matrix.
    """
    if min(a.shape[-2:]) < least:
        return None
    found = of_scipy(complex_name if complex_name and a.dtype.kind == "c" else name, a.dtype)
    # Enough for blocks of 64 columns; by default, some functions get memory for single columns.
    return found and functools.partial(found, lwork=64 * (max(a.shape) + 65))


_LETTERS = {"f": "s", "d": "d", "F": "c", "D": "z"}

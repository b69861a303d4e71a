"""LAPACK, as NumPy and SciPy have it, for evaluations.

NumPy's own functions compute in float64 whatever the dtype, and raise where one matrix of a stack has no result. What
they call computes in the dtype of a stack, and makes NaN instead.
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
    """One of NumPy's generalized functions; None where this version has no such."""
    return getattr(getattr(np.linalg, "_umath_linalg", None), name, None)


def of_stack(name: str, instead: Callable[..., Any], a: Any, out: Sequence[ShapedArray]) -> list[Any]:
    """A function of NumPy's LAPACK on a stack of matrices, NaN where one has no result.

    Args:
      name: of NumPy's generalized function.
      instead: a public function of one matrix, which is called if there is no such generalized one.
      out: avals of the results.
    """
    function = _of_numpy(name)
    if function is None:
        return each_matrix(lambda one: or_nan(instead, one, len(out)), a, out=out)
    with np.errstate(all="ignore"):
        found = function(a)
    found = found if len(out) > 1 else (found,)
    return [np.asarray(r, aval.dtype) for r, aval in zip(found, out, strict=True)]


def or_nan(function: Callable[..., Any], a: Any, count: int) -> Any:
    """What a function returns for a matrix, or so many times NaN if it has no result."""
    try:
        found = function(a)
    except np.linalg.LinAlgError:
        return (np.nan,) * count
    return tuple(found) if count > 1 else found


def finite(a: Any, triangle: bool = False) -> tuple[Any, Any]:
    """A stack with zeros for the matrices that are not finite, and which are, as an array; or None if all are.

    Args:
      triangle: only the lower one counts.
    """
    marks = np.isfinite(a)
    if marks.all():
        return a, None
    good = (marks | ~np.tri(a.shape[-1], dtype=bool) if triangle else marks).all((-2, -1))
    return np.where(good[..., None, None], a, np.zeros((), a.dtype)), good


def with_nan(results: Sequence[Any], good: Any) -> list[Any]:
    """Results with NaN for the matrices that are not good."""
    if good is not None:
        for result in results:
            result[~good] = np.nan
    return list(results)


def of_scipy(name: str, dtype: np.dtype[Any], module: str = "lapack") -> Any:
    """SciPy's function of this name for a dtype, of `lapack` or `blas`; None where SciPy is not installed."""
    if not has_scipy():
        return None
    return getattr(importlib.import_module(f"scipy.linalg.{module}"), _LETTERS[dtype.char] + name)


_LETTERS = {"f": "s", "d": "d", "F": "c", "D": "z"}

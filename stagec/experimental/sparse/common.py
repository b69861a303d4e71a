"""Errors and warnings of sparse arrays, and helpers that all of their functions use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stagec.numpy as snp
from stagec.core import errors, location
from stagec.experimental.sparse.coordinates import for_each, is_inside

__all__ = ["SparseEfficiencyError", "SparseEfficiencyWarning"]


class SparseEfficiencyError(ValueError):
    """An operation would store many zeros."""


class SparseEfficiencyWarning(UserWarning):
    """An operation stores many zeros."""


def unsupported(what: str, fix: str) -> errors.UnsupportedError:
    """The error for an operation on sparse arrays that is not written."""
    return location.error(errors.UnsupportedError, f"sparse: {what}", fix=fix)


def each(mat: Any, function: Callable[..., Any], *more: Any) -> Any:
    """A function of data and indices, for each element of the batch."""
    return for_each(mat.n_batch, function)(mat.data, mat.indices, *more)


def inside(mat: Any) -> Any:
    """Whether each entry is an element."""
    return is_inside(mat.indices, mat.sparse_shape)


def outside(mat: Any) -> Any:
    """The indices; of an entry that is no element, all are beyond their axes."""
    return snp.where(inside(mat)[..., None], mat.indices, snp.asarray(mat.sparse_shape, mat.indices.dtype))

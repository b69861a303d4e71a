"""Eigenvalues and eigenvectors of matrices that need not be Hermitian: by LAPACK, outside of programs."""

from __future__ import annotations

from typing import Any

import numpy as np

from stagec.core import dtypes, errors, location
from stagec.core.aval import ShapedArray
from stagec.core.zero import is_zero, zero_of
from stagec.factorizations.lu import solve_matrix
from stagec.factorizations.row import diagonal, each_matrix, factorization
from stagec.primitives.convert import convert_element_type
from stagec.primitives.operand import aval_of
from stagec.primitives.rules import instantiate


def _complex(dtype: np.dtype[Any]) -> np.dtype[Any]:
    wide = dtype in (dtypes.float64, dtypes.complex128)
    return dtypes.complex128 if wide else dtypes.complex64


def _shape(a: ShapedArray) -> list[ShapedArray]:
    dtype = _complex(a.dtype)
    return [ShapedArray.of(a.shape[:-1], dtype), ShapedArray.of(a.shape, dtype)]


def _eval(a: Any) -> list[Any]:
    def one(a: Any) -> tuple[Any, Any]:
        if not np.isfinite(a).all():
            return np.nan, np.nan
        values, vectors = np.linalg.eig(a)
        return values, vectors

    return each_matrix(one, a, out=_shape(ShapedArray.of(a.shape, a.dtype)))


def _values_eval(a: Any) -> list[Any]:
    def one(a: Any) -> Any:
        return np.linalg.eigvals(a) if np.isfinite(a).all() else np.nan

    return each_matrix(one, a, out=_shape(ShapedArray.of(a.shape, a.dtype))[:1])


def _refuse(a: Any) -> Any:
    raise location.error(
        errors.UnsupportedError,
        "eig: programs cannot compute the eigenvalues of matrices that are not Hermitian, on any device",
        fix="call it outside of jit, or numpy.linalg.eig in stagec.pure_callback; of symmetric matrices, use eigh",
    )


def _jvp(primitive: Any, primals: Any, tangents: Any, params: dict[str, Any]) -> Any:
    values, vectors = primitive(*primals)
    if is_zero(tangents[0]):
        return [values, vectors], [zero_of(aval_of(values)), zero_of(aval_of(vectors))]
    raise location.error(
        errors.UnsupportedError,
        "eig: eigenvectors of matrices that are not Hermitian have no derivative",
        fix="differentiate eigvals, or eigh",
    )


def _values_jvp(primitive: Any, primals: Any, tangents: Any, params: dict[str, Any]) -> Any:
    if is_zero(tangents[0]):
        (values,) = primitive(*primals)
        return [values], [zero_of(aval_of(values))]
    values, vectors = eig_p(*primals)
    change = convert_element_type(instantiate(tangents[0]), aval_of(vectors).dtype)
    return [values], [diagonal(solve_matrix(vectors, change @ vectors))]


eig_p = factorization("eig", shape=_shape, eval=_eval, algorithm=_refuse, jvp=_jvp)
eigvals_p = factorization(
    "eigvals",
    shape=lambda a: _shape(a)[:1],
    eval=_values_eval,
    algorithm=_refuse,
    jvp=_values_jvp,
)

"""Eigenvalues and eigenvectors of real tridiagonal matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.primitive import MultiplePrimitive
from stagec.core.zero import is_zero
from stagec.factorizations.bisection import bisected
from stagec.factorizations.eigh import eigen_tangents, eigh_eval, eigvalsh_eval
from stagec.factorizations.row import adjoint, diagonal, factorization
from stagec.factorizations.tridiagonal import eigenvectors
from stagec.factorizations.tridiagonal_systems import tridiagonal_product
from stagec.factorizations.vectors import to_unit_scale
from stagec.numpy.conditionals import where
from stagec.numpy.creation import eye, zeros_like
from stagec.numpy.padding import pad
from stagec.primitives.logic import is_finite
from stagec.primitives.operand import Operand, aval_of


def _shape(d: ShapedArray, e: ShapedArray, *, vectors: bool) -> list[ShapedArray]:
    values = d.strip_weak_type()
    return [values, values.update(shape=(*d.shape, d.shape[-1]))] if vectors else [values]


def _dense(d: Any, e: Any) -> Any:
    """Return symmetric tridiagonal NumPy matrices as dense ones."""
    n = d.shape[-1]
    whole = np.zeros((*d.shape, n), d.dtype)
    i = np.arange(n)
    whole[..., i, i] = d
    whole[..., i[1:], i[:-1]] = whole[..., i[:-1], i[1:]] = e
    return whole


def _algorithm(d: Array, e: Array, *, vectors: bool) -> list[Operand]:
    n = aval_of(d).shape[0]
    if n == 1:
        return [d, where(is_finite(d), 1, np.nan)[:, None].astype(aval_of(d).dtype)] if vectors else [d]
    d, e, scale, usable = to_unit_scale(d, e)
    values = where(usable, bisected(d, e) * scale, np.nan)
    if not vectors:
        return [values]
    rows = eigenvectors(d, pad(e, ((0, 1),)), eye(n, dtype=aval_of(d).dtype))
    return [values, where(usable, rows.T, np.nan)]


def _jvp(primitive: Any, primals: Any, tangents: Any, params: dict[str, Any]) -> Any:
    values, vectors = primitive(*primals, vectors=True)
    d, e = (zeros_like(p) if is_zero(t) else t for p, t in zip(primals, tangents))
    change = adjoint(vectors) @ tridiagonal_product(e, d, e, vectors)
    if params["vectors"]:
        return [values, vectors], eigen_tangents(values, vectors, change)
    return [values], [diagonal(change)]


eigh_tridiagonal_p = factorization(
    MultiplePrimitive,
    "eigh_tridiagonal",
    shape=_shape,
    eval=lambda d, e, *, vectors: (eigh_eval if vectors else eigvalsh_eval)(_dense(d, e)),
    algorithm=_algorithm,
    jvp=_jvp,
    ranks=(1, 1),
)

"""Eigenvalues and eigenvectors of real tridiagonal matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.primitive import MultiplePrimitive
from stagec.core.zero import is_zero, zero_of
from stagec.factorizations.bisection import bisected
from stagec.factorizations.eigh import eigen_tangents, eigh_eval, eigvalsh_eval
from stagec.factorizations.row import adjoint, diagonal, factorization
from stagec.factorizations.tridiagonal import eigenvectors
from stagec.factorizations.tridiagonal_systems import tridiagonal_product
from stagec.numpy.conditionals import where
from stagec.numpy.creation import eye, zeros_like
from stagec.numpy.padding import pad
from stagec.primitives.logic import is_finite
from stagec.primitives.operand import Operand, aval_of


def _values_shape(d: ShapedArray, e: ShapedArray) -> list[ShapedArray]:
    return [d.strip_weak_type()]


def _shape(d: ShapedArray, e: ShapedArray) -> list[ShapedArray]:
    return [d.strip_weak_type(), d.strip_weak_type().update(shape=(*d.shape, d.shape[-1]))]


def _dense(d: Any, e: Any) -> Any:
    """Return symmetric tridiagonal NumPy matrices as dense ones."""
    n = d.shape[-1]
    whole = np.zeros((*d.shape, n), d.dtype)
    i = np.arange(n)
    whole[..., i, i] = d
    whole[..., i[1:], i[:-1]] = whole[..., i[:-1], i[1:]] = e
    return whole


def _prepared(d: Array, e: Array) -> tuple[Any, Any, Any, Any]:
    """Return the matrix scaled to elements of at most 1, the scale, and whether all elements are finite."""
    usable = is_finite(d).all() & is_finite(e).all()
    d, e = where(usable, d, 0), where(usable, e, 0)
    largest = abs(d).max(initial=0)
    largest = where(abs(e).max(initial=0) > largest, abs(e).max(initial=0), largest)
    scale = where(largest > 0, largest, 1)
    return d / scale, e / scale, scale, usable


def _values_algorithm(d: Array, e: Array) -> list[Operand]:
    if aval_of(d).shape[0] == 1:
        return [d]
    d, e, scale, usable = _prepared(d, e)
    return [where(usable, bisected(d, e) * scale, np.nan)]


def _algorithm(d: Array, e: Array) -> list[Operand]:
    n = aval_of(d).shape[0]
    if n == 1:
        return [d, where(is_finite(d), 1, np.nan)[:, None].astype(aval_of(d).dtype)]
    d, e, scale, usable = _prepared(d, e)
    rows = eigenvectors(d, pad(e, ((0, 1),)), eye(n, dtype=aval_of(d).dtype))
    return [where(usable, bisected(d, e) * scale, np.nan), where(usable, rows.T, np.nan)]


def _change(vectors: Any, primals: Any, tangents: Any) -> Any:
    """Return V^T dA V for eigenvectors V."""
    d, e = (zeros_like(p) if is_zero(t) else t for p, t in zip(primals, tangents))
    return adjoint(vectors) @ tridiagonal_product(e, d, e, vectors)


def _jvp(primitive: Any, primals: Any, tangents: Any, params: dict[str, Any]) -> Any:
    values, vectors = primitive(*primals)
    if all(map(is_zero, tangents)):
        return [values, vectors], [zero_of(aval_of(values)), zero_of(aval_of(vectors))]
    return [values, vectors], eigen_tangents(values, vectors, _change(vectors, primals, tangents))


def _values_jvp(primitive: Any, primals: Any, tangents: Any, params: dict[str, Any]) -> Any:
    if all(map(is_zero, tangents)):
        (values,) = primitive(*primals)
        return [values], [zero_of(aval_of(values))]
    values, vectors = eigh_tridiagonal_p(*primals)
    return [values], [diagonal(_change(vectors, primals, tangents))]


eigh_tridiagonal_p = factorization(
    MultiplePrimitive,
    "eigh_tridiagonal",
    shape=_shape,
    eval=lambda d, e: eigh_eval(_dense(d, e)),
    algorithm=_algorithm,
    jvp=_jvp,
    ranks=(1, 1),
)
eigvalsh_tridiagonal_p = factorization(
    MultiplePrimitive,
    "eigvalsh_tridiagonal",
    shape=_values_shape,
    eval=lambda d, e: eigvalsh_eval(_dense(d, e)),
    algorithm=_values_algorithm,
    jvp=_values_jvp,
    ranks=(1, 1),
)

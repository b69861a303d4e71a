"""Reduction of matrices to Hessenberg form, by a unitary similarity transformation."""

from __future__ import annotations

from typing import Any

import numpy as np

from stagec.control.loops import fori_loop
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.primitive import MissingRule, MultiplePrimitive
from stagec.factorizations.lapack import of_large
from stagec.factorizations.qr import reflector
from stagec.factorizations.row import each_matrix, factorization, matrix_argument
from stagec.factorizations.vectors import at, put
from stagec.numpy.conditionals import where
from stagec.numpy.creation import arange
from stagec.numpy.rounding import conj
from stagec.primitives.broadcast import zeros
from stagec.primitives.operand import Operand, as_operand, aval_of


def _shape(a: ShapedArray) -> list[ShapedArray]:
    *lead, n, _ = a.shape
    return [a.strip_weak_type(), ShapedArray.of((*lead, max(n - 1, 0)), a.dtype)]


def _eval(a: Any) -> list[Any]:
    return each_matrix(reduced, a, out=_shape(ShapedArray.of(a.shape, a.dtype)))


def reduced(a: Any) -> tuple[Any, Any]:
    """Reduce a NumPy matrix: return the packed form and the scales of its reflections, all NaN if it is not finite."""
    n = a.shape[-1]
    if not np.isfinite(a).all():
        return np.full_like(a, np.nan), np.full(max(n - 1, 0), np.nan, a.dtype)
    gehrd = of_large("gehrd", a)
    if gehrd is not None:
        packed, scales, _ = gehrd(a)
        return packed, scales
    a, scales = a.copy(), np.zeros(max(n - 1, 0), a.dtype)
    for k in range(n - 1):
        v, t, beta = reflection(a[k + 1 :, k])
        a[k + 1 :, k + 1 :] -= np.multiply.outer(t.conj() * v, v.conj() @ a[k + 1 :, k + 1 :])
        a[:, k + 1 :] -= np.multiply.outer(a[:, k + 1 :] @ v, t * v.conj())
        a[k + 1, k], a[k + 2 :, k], scales[k] = beta, v[1:], t
    return a, scales


def reflection(x: Any) -> tuple[Any, Any, Any]:
    """Return v, t and the remaining element of the reflection 1 - t v v^H of a NumPy vector, as `reflector` does."""
    # Scaled, so that no square overflows or underflows.
    unit = max(abs(x).max(), np.finfo(x.dtype).tiny)
    scaled = x / unit
    head, below = scaled[0], np.linalg.norm(scaled[1:])
    v = np.ones_like(x)
    if below == 0 and head.imag == 0:
        v[1:] = 0
        return v, x.dtype.type(0), x[0]
    length = np.hypot(abs(head), below)
    beta = -length if head.real > 0 else length
    v[1:] = scaled[1:] / (head - beta)
    return v, x.dtype.type((beta - head) / beta), beta * unit


def packed_hessenberg(a: Any) -> tuple[Operand, Operand]:
    """Reduce one finite matrix to packed form, with the reflections' vectors below the subdiagonal."""
    n = aval_of(a).shape[-1]
    scales = zeros(ShapedArray.of((max(n - 1, 0),), aval_of(a).dtype))
    if n < 2:
        return a, scales
    rows = arange(n)

    def eliminate(k: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        a, scales = state
        column = at(a, k, 1)
        v, t, beta = reflector(column, k + 1)
        v = where(rows > k, v, 0)
        left = a - (conj(t) * v)[:, None] * (conj(v)[None, :] @ a)
        both = left - (left @ v[:, None]) * (t * conj(v))[None, :]
        stored = where(rows == k + 1, beta, where(rows > k, v, column))
        # Earlier columns hold vectors of reflections.
        a = where(rows > k, both, where(rows == k, stored[:, None], a))
        return a, put(scales, t, k)

    return fori_loop(0, n - 1, eliminate, (a, scales))


def _algorithm(a: Array) -> list[Operand]:
    found, scales = packed_hessenberg(a)
    usable = (a - a == 0).all()
    return [where(usable, found, np.nan), where(usable, scales, np.nan)]


hessenberg_p = factorization(
    MultiplePrimitive,
    "hessenberg",
    shape=_shape,
    eval=_eval,
    algorithm=_algorithm,
    jvp=MissingRule("its reflections are not a smooth function of the matrix", "differentiate eigvals, or eigh"),
    numpy_ns=5,
)


def hessenberg(a: Any) -> tuple[Operand, Operand]:
    """Reduce square matrices to Hessenberg form: Q H Q^H, where H is zero below its first subdiagonal.

    Returns:
      H, with the vectors of the reflections whose product is Q below its subdiagonal; and the scales of the
      reflections. `householder_product(h[..., 1:, :-1], scales)` is Q without its first row and column, which are
      those of the identity.

    >>> import stagec.numpy as snp
    >>> h, scales = hessenberg(snp.array([[1.0, 2.0, 3.0], [3.0, 1.0, 2.0], [4.0, 3.0, 1.0]]))
    >>> h[1, 0].round(4)
    Array(-5., dtype=float32)
    """
    h, scales = hessenberg_p(matrix_argument("hessenberg", as_operand(a), square=True))
    return h, scales

"""The order of columns in a QR factorization with column pivoting."""

from __future__ import annotations

from typing import Any

import numpy as np

from stagec.control.loops import fori_loop
from stagec.core import dtypes
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.primitive import NOT_DIFFERENTIABLE, SinglePrimitive
from stagec.factorizations.qr import reflector
from stagec.factorizations.row import each_matrix, factorization, matrix_argument
from stagec.factorizations.vectors import at, exchanged
from stagec.numpy.conditionals import where
from stagec.numpy.creation import arange
from stagec.numpy.reductions import argmax
from stagec.numpy.rounding import conj
from stagec.numpy.selection import take_along_axis
from stagec.primitives.operand import Operand, as_operand, aval_of


def _shape(a: ShapedArray) -> ShapedArray:
    return ShapedArray.of((*a.shape[:-2], a.shape[-1]), dtypes.int32)


def _eval(a: Any) -> Any:
    def one(a: Any) -> Any:
        a = np.array(a)
        m, n = a.shape
        order = np.arange(n)
        for j in range(min(m, n)):
            best = j + int(np.linalg.norm(a[j:, j:], axis=0).argmax())
            a[:, [j, best]], order[[j, best]] = a[:, [best, j]], order[[best, j]]
            column, scale = np.linalg.qr(a[j:, j : j + 1], "raw")
            v = np.concatenate([np.ones(1, a.dtype), column[0, 1:]])
            trailing = a[j:, j + 1 :]
            # R is multiplied by the adjoint of the reflection.
            trailing -= np.multiply.outer(scale[0].conj() * v, v.conj() @ trailing)
        return order

    return each_matrix(one, a, out=[_shape(ShapedArray.of(a.shape, a.dtype))])[0]


def _algorithm(a: Array) -> Operand:
    m, n = aval_of(a).shape
    rows, columns = arange(m), arange(n)

    def eliminate(j: Any, state: Any) -> Any:
        w, order = state
        left = where((columns >= j)[:, None] & (rows >= j), w, 0)
        # Scaled, so that no square overflows or underflows.
        largest = abs(left).max()
        sizes = (abs(left / where(largest > 0, largest, 1)) ** 2).sum(1)
        best = argmax(where(columns >= j, sizes, -1)).astype(order.dtype)
        w = exchanged(w, j, best)
        v, scale, _ = reflector(at(w, j), j)
        v = where(rows >= j, v, 0)
        return w - (w @ conj(v))[:, None] * (conj(scale) * v), exchanged(order, j, best)

    # The algorithm works on the transpose, because rows are cheap to exchange.
    return fori_loop(0, min(m, n), eliminate, (a.T, arange(n, dtype=dtypes.int32)))[1]


qr_order_p = factorization(
    SinglePrimitive,
    "qr_order",
    shape=_shape,
    eval=_eval,
    algorithm=_algorithm,
    jvp=NOT_DIFFERENTIABLE,
    numpy_ns=5,
)


def permuted(name: str, x: Any) -> tuple[Operand, Operand]:
    """Return matrices with their columns in the order of a QR factorization with column pivoting, and that order."""
    x = matrix_argument(name, as_operand(x))
    order = qr_order_p(x)
    return take_along_axis(x, order[..., None, :], -1), order

"""Pseudoinverses."""

from __future__ import annotations

from typing import Any

import numpy as np

from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.primitive import SinglePrimitive
from stagec.core.zero import is_zero, zero_of
from stagec.factorizations.row import adjoint, factorization
from stagec.factorizations.svd import svd_p
from stagec.numpy.conditionals import where
from stagec.primitives.broadcast import instantiate
from stagec.primitives.operand import Operand, aval_of


def _shape(a: ShapedArray, limit: ShapedArray) -> ShapedArray:
    *lead, m, n = a.shape
    return ShapedArray.of((*lead, n, m), a.dtype)


def _eval(a: Any, limit: Any) -> Any:
    values, u, vh = svd_p.eval(a, full_matrices=False, compute_uv=True)
    if not a.size:
        return np.zeros(_shape(ShapedArray.of(a.shape, a.dtype), limit).shape, a.dtype)
    # A singular value of NaN is not dropped, so that the result is NaN.
    dropped = values <= np.asarray(limit)[..., None] * values[..., :1]
    with np.errstate(all="ignore"):
        inverse = np.where(dropped, 0, 1 / np.where(dropped, 1, values)).astype(a.dtype)
        return (vh.conj().swapaxes(-1, -2) * inverse[..., None, :]) @ u.conj().swapaxes(-1, -2)


def _algorithm(a: Array, limit: Any) -> Operand:
    values, u, vh = svd_p(a, full_matrices=False, compute_uv=True)
    dropped = values <= limit * values[0]
    inverse = where(dropped, 0, 1 / where(dropped, 1, values)).astype(aval_of(a).dtype)
    return (adjoint(vh) * inverse) @ adjoint(u)


def _jvp(primitive: Any, primals: Any, tangents: Any, params: dict[str, Any]) -> Any:
    """Golub and Pereyra, "The differentiation of pseudo-inverses" (1973)."""
    a, limit = primals
    found = primitive(a, limit)
    if is_zero(tangents[0]):
        return found, zero_of(aval_of(found))
    change = instantiate(tangents[0])
    rotate_pair = adjoint(change)
    out = -(found @ change @ found)
    # Terms outside of the column space and the row space of a; for matrices of full rank, one of them is zero.
    across = found @ adjoint(found) @ rotate_pair
    along = rotate_pair @ adjoint(found) @ found
    return found, out + (across - across @ a @ found) + (along - found @ (a @ along))


pinv_p = factorization(
    SinglePrimitive, "pinv", shape=_shape, eval=_eval, algorithm=_algorithm, jvp=_jvp, ranks=(2, 0), divided=24
)

"""The singular value decomposition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, overload

import numpy as np

from stagec.core import dtypes, errors, location
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.graph import Equation
from stagec.core.primitive import MultiplePrimitive
from stagec.factorizations.bidiagonal import bidiagonal, singular_values, singular_vectors
from stagec.factorizations.lapack import finite, of_stack, with_nan
from stagec.factorizations.qr import product
from stagec.factorizations.row import adjoint, diagonal, factorization, matrix_argument
from stagec.factorizations.tridiagonal import columns_of
from stagec.factorizations.vectors import to_unit_scale
from stagec.numpy.conditionals import where
from stagec.numpy.creation import eye
from stagec.numpy.joining import concatenate
from stagec.numpy.padding import pad
from stagec.primitives.complex import complex, imag, real
from stagec.primitives.operand import Operand, as_operand, aval_of


def _shape(a: ShapedArray, *, full_matrices: bool, compute_uv: bool) -> list[ShapedArray]:
    *lead, m, n = a.shape
    k = min(m, n)
    values = ShapedArray.of((*lead, k), dtypes.real_dtype(a.dtype))
    if not compute_uv:
        return [values]
    left, right = (m, n) if full_matrices else (k, k)
    return [values, ShapedArray.of((*lead, m, left), a.dtype), ShapedArray.of((*lead, right, n), a.dtype)]


def _eval(a: Any, *, full_matrices: bool, compute_uv: bool) -> list[Any]:
    shaped = _shape(ShapedArray.of(a.shape, a.dtype), full_matrices=full_matrices, compute_uv=compute_uv)
    a, good = finite(a)
    if not compute_uv:
        return with_nan(of_stack("svd", lambda a: np.linalg.svd(a, compute_uv=False), a, shaped), good)
    values, u, vh = shaped
    name = "svd_f" if full_matrices else "svd_s"
    u, values, vh = of_stack(name, lambda a: np.linalg.svd(a, full_matrices), a, [u, values, vh])
    return with_nan([values, u, vh], good)


def _algorithm(a: Array, *, full_matrices: bool, compute_uv: bool) -> list[Operand]:
    m, n = aval_of(a).shape
    if m < n:
        found = _algorithm(adjoint(a), full_matrices=full_matrices, compute_uv=compute_uv)
        return [found[0], adjoint(found[2]), adjoint(found[1])] if compute_uv else found
    is_complex = dtypes.is_complex(aval_of(a).dtype)
    whole, scale, usable = to_unit_scale(a)
    parts = bidiagonal(whole)
    values = singular_values(parts.main, parts.beside)
    if not compute_uv:
        return [where(usable, values * scale, np.nan)]
    k = m if full_matrices else n
    left = product(pad(parts.left, ((0, 0), (0, k - n))) if k > n else parts.left, parts.left_scales)
    right = columns_of(parts.right, parts.right_scales)

    def as_rows(x: Array) -> Array:
        # The rotations are real, so real and imaginary parts are rotated side by side.
        return concatenate([real(x).T, imag(x).T], 1) if is_complex else x.T

    def as_columns(x: Array, size: int) -> Array:
        return complex(x[:, :size], x[:, size:]).T if is_complex else x.T

    u, v = singular_vectors(parts.main, parts.beside, as_rows(left[:, :n]), as_rows(right))
    u, v = as_columns(u, m), as_columns(v, n)
    if k > n:
        u = concatenate([u, left[:, n:]], 1)
    return [where(usable, x, np.nan) for x in (values * scale, u, adjoint(v))]


def _jvp(primitive: Any, primals: Any, tangents: Any, params: dict[str, Any]) -> Any:
    *_, m, n = aval_of(primals[0]).shape
    if params["compute_uv"] and params["full_matrices"] and m != n:
        raise location.error(
            errors.UnsupportedError,
            f"svd has no derivative for {m} rows and {n} columns with full_matrices=True",
            fix="pass full_matrices=False",
        )
    s, u, vh = primitive(*primals, full_matrices=False, compute_uv=True)
    (change,) = tangents
    v, uh = adjoint(vh), adjoint(u)
    inner = uh @ change @ v
    s_dot = diagonal(inner).real
    if not params["compute_uv"]:
        return [s], [s_dot]
    dtype = aval_of(u).dtype
    across, down = s[..., None, :], s[..., :, None]
    gaps = (across + down) * (across - down)
    # Vectors of equal singular values have no derivative: as in JAX, it is infinite or NaN. Vectors of zeros have no
    # tangent.
    same = eye(min(m, n), dtype=bool)
    weights = where(same, 0, 1 / where(same, 1, gaps)).astype(dtype)
    inverse = where(s == 0, 0, 1 / where(s == 0, 1, s)).astype(dtype)
    scaled, also = across.astype(dtype) * inner, down.astype(dtype) * inner
    # A change of phase, which both vectors of a pair could absorb, goes to the left one.
    phase = where(same, (inner - adjoint(inner)) / 2 * inverse[..., None, :], 0)
    u_dot = u @ (weights * (scaled + adjoint(scaled)) + phase)
    v_dot = v @ (weights * (also + adjoint(also)))
    if m > n:
        outside = change @ v
        u_dot = u_dot + (outside - u @ (uh @ outside)) * inverse[..., None, :]
    if n > m:
        outside = adjoint(change) @ u
        v_dot = v_dot + (outside - v @ (vh @ outside)) * inverse[..., None, :]
    return [s, u, vh], [s_dot, u_dot, adjoint(v_dot)]


def _trim(equation: Equation, live: Sequence[bool]) -> Equation:
    if any(live[1:]):
        return equation
    params = {"full_matrices": False, "compute_uv": False}
    return Equation(svd_p, equation.inputs, equation.outputs[:1], params, equation.location)


svd_p = factorization(
    MultiplePrimitive, "svd", shape=_shape, eval=_eval, algorithm=_algorithm, jvp=_jvp, trim=_trim, divided=24
)


@overload
def svd(x: Any, *, full_matrices: bool = True, compute_uv: Literal[True] = True) -> tuple[Array, Array, Array]: ...
@overload
def svd(x: Any, *, full_matrices: bool = True, compute_uv: Literal[False]) -> Array: ...
@overload
def svd(x: Any, *, full_matrices: bool = True, compute_uv: bool) -> Array | tuple[Array, Array, Array]: ...
def svd(x: Any, *, full_matrices: bool = True, compute_uv: bool = True) -> Array | tuple[Array, Array, Array]:
    """Factorize x = U diag(s) V^H, with orthonormal columns in U and rows in V^H, and s descending.

    Args:
      full_matrices: U and V^H are square; otherwise they have as many columns and rows as there are singular values.
      compute_uv: return U, s and V^H; otherwise s alone.

    >>> import stagec.numpy as snp
    >>> svd(snp.array([[0.0, 2.0], [1.0, 0.0]]), compute_uv=False)
    Array([2., 1.], dtype=float32)
    """
    x = matrix_argument("svd", as_operand(x))
    found = svd_p(x, full_matrices=bool(full_matrices and compute_uv), compute_uv=bool(compute_uv))
    return (found[1], found[0], found[2]) if compute_uv else found[0]

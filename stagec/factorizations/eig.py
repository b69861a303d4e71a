"""Eigenvalues and eigenvectors of matrices that need not be Hermitian."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stagec.core import dtypes, errors, location
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.graph import Equation
from stagec.core.primitive import MultiplePrimitive
from stagec.factorizations.lapack import finite, of_stack, or_nan, with_nan
from stagec.factorizations.lu import solve_matrix
from stagec.factorizations.quasi import blocks_of, eigenvectors, triangle_of, triangle_vectors
from stagec.factorizations.row import adjoint, diagonal, each_matrix, factorization
from stagec.factorizations.schur import scaled_schur
from stagec.numpy.conditionals import where
from stagec.numpy.creation import eye
from stagec.numpy.manipulation import flip
from stagec.numpy.reductions import argmax
from stagec.numpy.rounding import conj
from stagec.numpy.selection import take_along_axis
from stagec.primitives.complex import complex, imag, real
from stagec.primitives.convert import convert_element_type
from stagec.primitives.operand import Operand, aval_of


def _complex(dtype: np.dtype[Any]) -> np.dtype[Any]:
    wide = dtype in (dtypes.float64, dtypes.complex128)
    return dtypes.complex128 if wide else dtypes.complex64


def _shape(a: ShapedArray, *, left: bool, right: bool, derivatives: bool) -> list[ShapedArray]:
    dtype = _complex(a.dtype)
    return [ShapedArray.of(a.shape[:-1], dtype), *[ShapedArray.of(a.shape, dtype)] * (left + right)]


def _eval(a: Any, *, left: bool, right: bool, derivatives: bool) -> list[Any]:
    shaped = _shape(ShapedArray.of(a.shape, a.dtype), left=left, right=right, derivatives=derivatives)
    a, good = finite(a)
    if left:
        found = each_matrix(lambda a: or_nan(_with_left, a, 3)[: 2 + right], a, out=shaped)
    elif right:
        found = of_stack("eig", np.linalg.eig, a, shaped)
    else:
        found = of_stack("eigvals", np.linalg.eigvals, a, shaped)
    return with_nan(found, good)


def _with_left(a: Any) -> tuple[Any, Any, Any]:
    """Return eigenvalues, left and right eigenvectors of a NumPy matrix."""
    try:
        from scipy import linalg
    except ImportError:
        values, vectors = np.linalg.eig(a)
        left = np.linalg.pinv(vectors).conj().T
        return values, left / np.linalg.norm(left, axis=0), vectors
    # Scaled first: for one row, LAPACK returns the eigenvalue of a matrix that it scaled itself.
    size = abs(a).max(initial=0) or 1
    values, left, vectors = linalg.eig(a / size, left=True, right=True)
    return values * size, left, vectors


def _algorithm(a: Any, *, left: bool, right: bool, derivatives: bool) -> list[Operand]:
    n = aval_of(a).shape[-1]
    dtype = _complex(aval_of(a).dtype)
    if n < 2:
        return [diagonal(a).astype(dtype), *[(a * 0 + 1).astype(dtype)] * (left + right)]
    t, q, scale, good = scaled_schur(a, left or right)
    unitary = None
    if dtypes.is_complex(aval_of(a).dtype):
        re, im = real(diagonal(t)), imag(diagonal(t))
    else:
        re, im, unitary = blocks_of(t)
    found = [(re * scale, im * scale)]
    if q is not None:
        triangle = (real(t), imag(t)) if unitary is None else triangle_of(t, unitary)
        parts = (real(q), imag(q)) if unitary is None else (q, None)
        vectors = []
        if left:
            # The left eigenvectors are those of the adjoint, which is upper triangular when it is flipped.
            flipped = triangle_vectors(flip(triangle[0].T), -flip(triangle[1].T))
            vectors.append(flip(flipped, (0, 2)))
        if right:
            vectors.append(triangle_vectors(*triangle))
        found += [eigenvectors(parts, x, unitary, im) for x in vectors]
    return [complex(where(good, re, np.nan), where(good, im, 0)) for re, im in found]


def _jvp(primitive: Any, primals: Any, tangents: Any, params: dict[str, Any]) -> Any:
    found = primitive(*primals, **params)
    left, right = params["left"], params["right"]
    if (left or right) and not params["derivatives"]:
        raise location.error(
            errors.UnsupportedError,
            "eig: eigenvectors of matrices that are not Hermitian have derivatives where eigenvalues are distinct only",
            fix="differentiate eigvals, or eigh; or pass enable_eigvec_derivs=True to stagec.lax.linalg.eig",
        )
    vectors = found[-1] if right else eig_p(*primals, left=False, right=True, derivatives=True)[1]
    change = convert_element_type(tangents[0], aval_of(vectors).dtype)
    values = found[0]
    inner = solve_matrix(vectors, change @ vectors)
    dots = [diagonal(inner)]
    if left:
        # Left eigenvectors are the eigenvectors of the adjoint.
        rotate_pair = solve_matrix(found[1], adjoint(change) @ found[1])
        dots.append(_vectors_dot(conj(values), found[1], rotate_pair))
    if right:
        dots.append(_vectors_dot(values, vectors, inner))
    return found, dots


def _vectors_dot(values: Any, vectors: Array, inner: Array) -> Array:
    """Return the tangents of eigenvectors of length 1 whose largest elements are real."""
    gaps = values[..., None, :] - values[..., :, None]
    same = eye(aval_of(values).shape[-1], dtype=bool)
    dot = vectors @ (inner * where(same, 0, 1 / where(same, 1, gaps)))
    best = argmax(abs(vectors), -2)[..., None, :]
    head, moved = take_along_axis(vectors, best, -2), take_along_axis(dot, best, -2)
    along = real((conj(vectors) * dot).sum(-2))[..., None, :]
    turn = imag(moved) / where(real(head) == 0, 1, real(head))
    return dot - vectors * complex(along, turn)


def _trim(equation: Equation, live: Sequence[bool]) -> Equation:
    if len(live) == 1 or any(live[1:]):
        return equation
    params = {"left": False, "right": False, "derivatives": equation.params["derivatives"]}
    return Equation(eig_p, equation.inputs, equation.outputs[:1], params, equation.location)


eig_p = factorization(
    MultiplePrimitive, "eig", shape=_shape, eval=_eval, algorithm=_algorithm, jvp=_jvp, trim=_trim, divided=24
)


def eig(a: Any, *, left: bool = False, right: bool = True, derivatives: bool = False) -> list[Array]:
    """Eigenvalues, and left and right eigenvectors as columns, of square matrices.

    Args:
      left, right: which eigenvectors to return.
      derivatives: whether these may be differentiated.

    >>> import stagec.numpy as snp
    >>> values, vectors = eig(snp.array([[0.0, 1.0], [-1.0, 0.0]]))
    >>> values
    Array([0.+1.j, 0.-1.j], dtype=complex64)
    """
    return eig_p(a, left=bool(left), right=bool(right), derivatives=bool(derivatives))

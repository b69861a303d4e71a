"""Eigenvalues and eigenvectors of Hermitian matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stagec.core import dtypes
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.graph import Equation
from stagec.core.primitive import MultiplePrimitive
from stagec.factorizations.bisection import bisected
from stagec.factorizations.lapack import finite, of_stack, with_nan
from stagec.factorizations.row import adjoint, diagonal, factorization, from_lower, matrix_argument
from stagec.factorizations.tridiagonal import columns_of, eigenvectors, tridiagonal
from stagec.factorizations.vectors import to_unit_scale
from stagec.numpy.conditionals import where
from stagec.numpy.creation import eye
from stagec.numpy.joining import concatenate
from stagec.primitives.complex import complex, imag, real
from stagec.primitives.logic import is_finite
from stagec.primitives.operand import Operand, as_operand, aval_of


def _shape(a: ShapedArray) -> list[ShapedArray]:
    return [*_values_shape(a), a.strip_weak_type()]


def _values_shape(a: ShapedArray) -> list[ShapedArray]:
    return [ShapedArray.of(a.shape[:-1], dtypes.real_dtype(a.dtype))]


def eigh_eval(a: Any) -> list[Any]:
    """Return the eigenvalues and eigenvectors of NumPy matrices."""
    a, good = finite(a, triangle=True)
    found = of_stack("eigh_lo", np.linalg.eigh, a, _shape(ShapedArray.of(a.shape, a.dtype)))
    return with_nan(found, good)


def eigvalsh_eval(a: Any) -> list[Any]:
    """Return the eigenvalues of NumPy matrices."""
    a, good = finite(a, triangle=True)
    found = of_stack("eigvalsh_lo", np.linalg.eigvalsh, a, _values_shape(ShapedArray.of(a.shape, a.dtype)))
    return with_nan(found, good)


def _is_complex(a: Array) -> bool:
    return dtypes.is_complex(aval_of(a).dtype)


def _values_algorithm(a: Array) -> list[Operand]:
    if aval_of(a).shape[-1] == 1:
        return [diagonal(a).real]
    whole, scale, usable = to_unit_scale(from_lower(a))
    d, e, _, _ = tridiagonal(whole)
    values = bisected(d, e[:-1])
    return [where(usable, values * scale, np.nan)]


def _algorithm(a: Array) -> list[Operand]:
    n = aval_of(a).shape[-1]
    if n == 1:
        return [diagonal(a).real, where(is_finite(diagonal(a).real), a * 0 + 1, np.nan)]
    whole, scale, usable = to_unit_scale(from_lower(a))
    d, e, vectors, scales = tridiagonal(whole)
    q = columns_of(vectors, scales)
    # The rotations are real, so real and imaginary parts are rotated side by side.
    rows = concatenate([real(q).T, imag(q).T], 1) if _is_complex(a) else q.T
    values, found = bisected(d, e[:-1]), eigenvectors(d, e, rows)
    found = complex(found[:, :n], found[:, n:]).T if _is_complex(a) else found.T
    return [where(usable, values * scale, np.nan), where(usable, found, np.nan)]


def _jvp(primitive: Any, primals: Any, tangents: Any, params: dict[str, Any]) -> Any:
    values, vectors = primitive(*primals)
    change = adjoint(vectors) @ from_lower(tangents[0]) @ vectors
    return [values, vectors], eigen_tangents(values, vectors, change)


def eigen_tangents(values: Any, vectors: Any, change: Any) -> list[Any]:
    """Return the tangents of eigenvalues and eigenvectors V, where V^H dA V is `change`."""
    gaps = values[..., None, :] - values[..., :, None]
    same = eye(aval_of(values).shape[-1], dtype=bool)
    weights = where(same, 0, 1 / where(same, 1, gaps)).astype(aval_of(vectors).dtype)
    return [diagonal(change).real, vectors @ (change * weights)]


def _values_jvp(primitive: Any, primals: Any, tangents: Any, params: dict[str, Any]) -> Any:
    values, vectors = eigh_p(*primals)
    return [values], [diagonal(adjoint(vectors) @ from_lower(tangents[0]) @ vectors).real]


def _trim(equation: Equation, live: Sequence[bool]) -> Equation:
    if live[1]:
        return equation
    return Equation(eigvalsh_p, equation.inputs, equation.outputs[:1], {}, equation.location)


eigh_p = factorization(
    MultiplePrimitive, "eigh", shape=_shape, eval=eigh_eval, algorithm=_algorithm, jvp=_jvp, trim=_trim, divided=24
)
eigvalsh_p = factorization(
    MultiplePrimitive,
    "eigvalsh",
    shape=_values_shape,
    eval=eigvalsh_eval,
    algorithm=_values_algorithm,
    jvp=_values_jvp,
    divided=24,
)


def _argument(name: str, x: Array, symmetrize_input: bool, lower: bool) -> Any:
    x = matrix_argument(name, as_operand(x), square=True)
    if symmetrize_input:
        return (x + adjoint(x)) / 2
    return x if lower else adjoint(x)


def eigh(x: Any, *, lower: bool = True, symmetrize_input: bool = True) -> tuple[Operand, Operand]:
    """Eigenvalues in ascending order, and eigenvectors as columns, of Hermitian matrices.

    Args:
      lower: which triangle is read, if `symmetrize_input` is false.
      symmetrize_input: take the mean of the matrix and its adjoint first.

    >>> import stagec.numpy as snp
    >>> values, vectors = eigh(snp.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> values.round(5)
    Array([1., 3.], dtype=float32)
    """
    values, vectors = eigh_p(_argument("eigh", x, symmetrize_input, lower))
    return values, vectors


def eigvalsh(x: Any, *, lower: bool = True, symmetrize_input: bool = True) -> Array:
    """The eigenvalues of Hermitian matrices in ascending order; the arguments are those of `eigh`."""
    return eigvalsh_p(_argument("eigvalsh", x, symmetrize_input, lower))[0]

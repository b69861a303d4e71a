"""Schur's and Hessenberg's forms, and functions of matrices by them, by the names of `scipy.linalg`.

SciPy's arguments `overwrite_a` and `check_finite` change nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

import numpy as np

from stagec.control import custom
from stagec.control.linear_solve import custom_linear_solve
from stagec.core import dtypes, location
from stagec.core.array import Array
from stagec.core.dtype_info import finfo
from stagec.factorizations.hessenberg import hessenberg as packed_hessenberg
from stagec.factorizations.qr import householder_product
from stagec.factorizations.quasi import blocks_of, triangle_of
from stagec.factorizations.row import adjoint, diagonal
from stagec.factorizations.schur import schur as schur_form
from stagec.factorizations.triangles import sylvester_p, triangular_function_p, triangular_root_p
from stagec.numpy import systems
from stagec.numpy.arguments import array_argument
from stagec.numpy.conditionals import where
from stagec.numpy.diagonals import triu
from stagec.numpy.padding import pad
from stagec.numpy.promotion import promote_inexact
from stagec.primitives.axes import shape_error
from stagec.primitives.broadcast import instantiate
from stagec.primitives.complex import complex, real
from stagec.primitives.operand import aval_of
from stagec.typing import ArrayLike

__all__ = ["funm", "hessenberg", "rsf2csf", "schur", "solve_sylvester", "sqrtm"]


def schur(a: ArrayLike, output: str = "real") -> tuple[Array, Array]:
    """A matrix as Z T Z^H with a unitary Z and a triangular T.

    Args:
      output: `"real"` leaves blocks of two rows on the diagonal of T if the matrix is real; `"complex"` makes both
        factors complex.

    >>> import stagec.numpy as snp
    >>> t, z = schur(snp.array([[0.0, 1.0], [0.0, 2.0]]))
    >>> abs(z @ t @ z.T).round(4)
    Array([[0., 1.],
           [0., 2.]], dtype=float32)
    """
    if output not in ("real", "complex"):
        raise location.error(ValueError, f"schur: output is {output!r}", fix="pass 'real' or 'complex'")
    x = systems.inexact_matrix("schur", a, square=True)
    if output == "complex":
        x = x.astype(dtypes.complex_dtype(aval_of(x).dtype))
    t, z = schur_form(x)
    return t, z


@overload
def hessenberg(
    a: ArrayLike, *, calc_q: Literal[False] = False, overwrite_a: bool = False, check_finite: bool = True
) -> Array: ...
@overload
def hessenberg(
    a: ArrayLike, *, calc_q: Literal[True], overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, Array]: ...
def hessenberg(a: ArrayLike, *, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """A matrix as Q H Q^H, where H has nothing below its first subdiagonal: H, or H and Q.

    >>> import stagec.numpy as snp
    >>> hessenberg(snp.array([[1.0, 2.0, 3.0], [3.0, 1.0, 2.0], [4.0, 3.0, 1.0]])).round(2)
    Array([[ 1. , -3.6,  0.2],
           [-5. ,  3.4,  1.2],
           [ 0. ,  0.2, -1.4]], dtype=float32)
    """
    x = systems.inexact_matrix("hessenberg", a, square=True)
    packed, scales = packed_hessenberg(x)
    h = triu(packed, -1)
    if not calc_q:
        return h
    n = aval_of(x).shape[-1]
    if n < 2:
        return h, x * 0 + 1
    inner = householder_product(packed[..., 1:, :-1], scales)
    lead = [(0, 0)] * (aval_of(x).ndim - 2)
    return h, pad(inner, [*lead, (1, 0), (1, 0)]) + np.eye(1, n * n).reshape(n, n).astype(aval_of(x).dtype)


def rsf2csf(T: ArrayLike, Z: ArrayLike, check_finite: bool = True) -> tuple[Array, Array]:
    """Convert a real Schur form to a complex one, which is triangular.

    >>> import stagec.numpy as snp
    >>> t, z = rsf2csf(snp.array([[0.0, 1.0], [-1.0, 0.0]]), snp.eye(2))
    >>> t.imag.round(4)
    Array([[ 1.,  0.],
           [ 0., -1.]], dtype=float32)
    """
    t = systems.inexact_matrix("rsf2csf", T, square=True)
    t, z = promote_inexact(t, array_argument(Z, "Z"))
    if aval_of(z).shape != aval_of(t).shape or aval_of(t).ndim != 2:
        raise shape_error("rsf2csf", f"{aval_of(t).long()} and {aval_of(z).long()}", "pass both results of schur")
    if dtypes.is_complex(aval_of(t).dtype):
        return t, z
    if not aval_of(t).shape[-1]:
        found = t.astype(dtypes.complex_dtype(aval_of(t).dtype))
        return found, found
    unitary = blocks_of(t)[2]
    return complex(*triangle_of(t, unitary)), complex(*unitary.after(z))


def sqrtm(A: ArrayLike, blocksize: int = 1) -> Array:
    """The principal square root of matrices, always complex. That of a singular matrix may not exist, and is then NaN.

    Args:
      blocksize: accepted for compatibility, and ignored.

    >>> import stagec.numpy as snp
    >>> sqrtm(snp.array([[4.0, 0.0], [0.0, 9.0]])).real
    Array([[2., 0.],
           [0., 3.]], dtype=float32)
    """
    return custom.call(custom.custom_jvp_p, custom.Rule("sqrtm", _root, _root_derivative), [array_argument(A, "A")])[0]


def _root(a: Array) -> list[Array]:
    t, z = schur(a, "complex")
    return [z @ triangular_root_p(t) @ adjoint(z)]


def _root_derivative(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """From the derivative of `R @ R`."""
    root = sqrtm(*primals)
    return [root], [solve_sylvester(root, root, instantiate(tangents[0]))]


@overload
def funm(A: ArrayLike, func: Callable[[Any], Any], disp: Literal[True] = True) -> Array: ...
@overload
def funm(A: ArrayLike, func: Callable[[Any], Any], disp: Literal[False]) -> tuple[Array, Array]: ...
def funm(A: ArrayLike, func: Callable[[Any], Any], disp: bool = True) -> Any:
    """A function of matrices that is `func` of the eigenvalues, always complex.

    It is inaccurate where eigenvalues almost agree.

    Args:
      func: of an array of complex numbers.
      disp: return the matrix alone; otherwise an estimate of the relative error, too.

    >>> import stagec.numpy as snp
    >>> funm(snp.array([[0.0, 1.0], [0.0, 1.0]]), snp.exp).real.round(4)
    Array([[1.    , 1.7183],
           [0.    , 2.7183]], dtype=float32)
    """
    t, z = schur(A, "complex")
    values = array_argument(func(diagonal(t)), "func").astype(aval_of(t).dtype)
    found = z @ triangular_function_p(t, values) @ adjoint(z)
    if disp:
        return found
    main = diagonal(t)
    gaps = abs(main[..., :, None] - main[..., None, :])
    least = where(gaps == 0, np.inf, gaps).min((-2, -1))
    eps = float(finfo(dtypes.real_dtype(aval_of(t).dtype)).eps)
    error = eps * where(least < np.inf, abs(triu(t, 1)).sum(-2).max(-1) / least, 1)
    return found, where(error > 1, 1, where(error < eps, eps, error))


def solve_sylvester(A: ArrayLike, B: ArrayLike, C: ArrayLike, *, method: str = "schur", tol: float = 1e-8) -> Array:
    """The X for which `A @ X + X @ B` is `C`, by Schur's forms of A and B; NaN if there is no such X, or not one alone.

    Args:
      method: `"schur"` or `"eigen"`; both are computed by Schur's forms.
      tol: sums of an eigenvalue of A and one of B that are smaller, absolutely, or a few roundings, count as zero.

    >>> import stagec.numpy as snp
    >>> solve_sylvester(snp.eye(2), snp.eye(2), snp.full((2, 2), 4.0)).round(4)
    Array([[2., 2.],
           [2., 2.]], dtype=float32)
    """
    if method not in ("schur", "eigen"):
        raise location.error(ValueError, f"solve_sylvester: method is {method!r}", fix="pass 'schur' or 'eigen'")
    a, b, c = promote_inexact(array_argument(A, "A"), array_argument(B, "B"), array_argument(C, "C"))
    m, n = (aval_of(x).shape[-1] if aval_of(x).ndim > 1 else -1 for x in (a, b))
    if aval_of(c).shape[-2:] != (m, n) or aval_of(a).shape[-2:] != (m, m) or aval_of(b).shape[-2:] != (n, n):
        raise shape_error(
            "solve_sylvester",
            f"{aval_of(a).long()}, {aval_of(b).long()} and {aval_of(c).long()} do not match",
            "pass square A and B, and C with the rows of A and the columns of B",
        )
    return custom_linear_solve(
        lambda x: a @ x + x @ b,
        c,
        lambda _, c: _solved(a, b, c, tol),
        lambda _, c: _solved(a.mT, b.mT, c, tol),
    )


def _solved(a: Array, b: Array, c: Array, tol: float) -> Array:
    (s, u), (t, v) = schur(a, "complex"), schur(b, "complex")
    inner = adjoint(u) @ c.astype(aval_of(u).dtype) @ v
    first, second = diagonal(s), diagonal(t)
    sums = abs(first[..., :, None] + second[..., None, :])
    rounding = 10 * float(finfo(dtypes.real_dtype(aval_of(u).dtype)).eps)
    sizes = abs(first)[..., :, None] + abs(second)[..., None, :]
    good = ((sums >= tol) & (sums >= rounding * sizes)).all((-2, -1))[..., None, None]
    found = u @ sylvester_p(s, t, inner) @ adjoint(v)
    found = found if dtypes.is_complex(aval_of(c).dtype) else real(found)
    return where(good, found, np.nan)

"""Systems of equations and factorizations, by the names of `scipy.linalg`.

SciPy's arguments `overwrite_a`, `overwrite_b`, `check_finite`, `debug`, `lwork` and `lapack_driver` change nothing:
arrays are immutable, and what is not finite makes results that are not.
"""

from __future__ import annotations

from typing import Any, Literal, overload

from stagec.core import dtypes, errors, location
from stagec.core.array import Array
from stagec.factorizations.cholesky import cholesky as lower_factor
from stagec.factorizations.lu import lu as lu_factors, triangles
from stagec.factorizations.permutation import lu_pivots_to_permutation
from stagec.factorizations.row import adjoint, matrix_argument
from stagec.factorizations.triangular import triangular_solve
from stagec.numpy import decompositions, systems
from stagec.numpy.arguments import array_argument
from stagec.numpy.conditionals import where
from stagec.numpy.creation import arange
from stagec.numpy.diagonals import tril
from stagec.numpy.promotion import broadcast_shapes, broadcast_to_shape, promote_inexact
from stagec.numpy.selection import take_along_axis
from stagec.primitives.axes import shape_error
from stagec.primitives.operand import aval_of
from stagec.primitives.shape import reshape
from stagec.runtime.plans import planned
from stagec.typing import ArrayLike

__all__ = [
    "cho_factor", "cho_solve", "cholesky", "det", "eigh", "inv", "lu", "lu_factor", "lu_solve", "solve",
    "solve_triangular", "svd",
]  # fmt: skip


def _pair(name: str, a: Any, b: Any) -> tuple[Any, Any, bool]:
    """Matrices and right-hand sides of two axes with the same leading axes; whether b was vectors.

    A `b` with one axis less than `a` is a vector for each matrix if it may be, as in JAX.
    """
    a, b = promote_inexact(array_argument(a, "a"), array_argument(b, "b"))
    a = matrix_argument(name, a, square=True)
    a_shape, b_shape = aval_of(a).shape, aval_of(b).shape
    vector = len(b_shape) == 1 or (len(b_shape) == len(a_shape) - 1 and b_shape[-1] == a_shape[-1])
    if not b_shape or b_shape[-1 if vector else -2] != a_shape[-1]:
        raise shape_error(
            name, f"{aval_of(a).long()} and {aval_of(b).long()} do not match", "give b as many rows as a has"
        )
    b = reshape(b, (*b_shape, 1)) if vector else b
    lead = broadcast_shapes(a_shape[:-2], aval_of(b).shape[:-2])
    a = broadcast_to_shape(a, (*lead, *a_shape[-2:]))
    return a, broadcast_to_shape(b, (*lead, *aval_of(b).shape[-2:])), vector


def _as_given(x: Array, vector: bool) -> Array:
    return reshape(x, aval_of(x).shape[:-1]) if vector else x


def cholesky(a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """The triangular factor of positive definite matrices: U of U^H U, or L of L L^H if `lower`.

    >>> import stagec.numpy as snp
    >>> cholesky(snp.array([[4.0, 2.0], [2.0, 5.0]]))
    Array([[2., 1.],
           [0., 2.]], dtype=float32)
    """
    a = systems.inexact_matrix("cholesky", a, square=True)
    # One triangle is read, as in SciPy.
    found = lower_factor(a if lower else adjoint(a), symmetrize_input=False)
    return found if lower else adjoint(found)


def cho_factor(
    a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Any, bool]:
    """The argument of `cho_solve`: the factor, and whether it is the lower triangle."""
    return _planned_cholesky(a, lower), lower  # a plan of its own has no results but arrays


_planned_cholesky = planned(cholesky)


def cho_solve(
    c_and_lower: tuple[Any, bool], b: ArrayLike, overwrite_b: bool = False, check_finite: bool = True
) -> Array:
    """Solve systems of positive definite matrices by their factors.

    Args:
      b: a vector for each matrix if it has one axis less than the factor, and as long a last one; otherwise matrices.

    >>> import stagec.numpy as snp
    >>> cho_solve(cho_factor(snp.array([[4.0, 2.0], [2.0, 5.0]])), snp.array([8.0, 12.0]))
    Array([1., 2.], dtype=float32)
    """
    factor, lower = c_and_lower
    c, right, vector = _pair("cho_solve", factor, b)
    kind = {"left_side": True, "lower": bool(lower)}
    first = triangular_solve(c, right, transpose_a=not lower, conjugate_a=not lower, **kind)
    return _as_given(triangular_solve(c, first, transpose_a=bool(lower), conjugate_a=bool(lower), **kind), vector)


def lu_factor(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Array, Array]:
    """The factors of square matrices, and their pivots, as `lu_solve` takes them."""
    factors, pivots, _ = lu_factors(systems.inexact_matrix("lu_factor", a, square=True))
    return factors, pivots


def lu_solve(
    lu_and_piv: tuple[Any, Any], b: ArrayLike, trans: int = 0, overwrite_b: bool = False, check_finite: bool = True
) -> Array:
    """Solve systems of matrices by their factors.

    Args:
      b: as for `cho_solve`.
      trans: solve for the matrix (0), its transpose (1), or its adjoint (2).

    >>> import stagec.numpy as snp
    >>> lu_solve(lu_factor(snp.array([[0.0, 1.0], [2.0, 0.0]])), snp.array([1.0, 4.0]))
    Array([2., 1.], dtype=float32)
    """
    if trans not in (0, 1, 2):
        raise location.error(ValueError, f"lu_solve: trans is {trans!r}", fix="pass 0, 1 or 2")
    factors, right, vector = _pair("lu_solve", lu_and_piv[0], b)
    n = aval_of(factors).shape[-1]
    pivots = array_argument(lu_and_piv[1], "pivots")
    order = broadcast_to_shape(lu_pivots_to_permutation(pivots, n), aval_of(factors).shape[:-1])
    if trans == 0:
        x = take_along_axis(right, order[..., None], -2)
        x = triangular_solve(factors, x, left_side=True, lower=True, unit_diagonal=True)
        return _as_given(triangular_solve(factors, x, left_side=True), vector)
    kind = {"left_side": True, "transpose_a": True, "conjugate_a": trans == 2}
    x = triangular_solve(factors, right, **kind)
    x = triangular_solve(factors, x, lower=True, unit_diagonal=True, **kind)
    return _as_given(take_along_axis(x, order.argsort(-1)[..., None], -2), vector)


@overload
def lu(
    a: ArrayLike, permute_l: Literal[False] = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, Array, Array]: ...
@overload
def lu(
    a: ArrayLike, *, permute_l: Literal[True], overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, Array]: ...
def lu(
    a: ArrayLike, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, ...]:
    """Factorize `a` as P L U: a permutation, a lower triangle with ones on its diagonal, and an upper triangle.

    Args:
      permute_l: return P L and U.

    >>> import stagec.numpy as snp
    >>> p, low, up = lu(snp.array([[0.0, 1.0], [2.0, 0.0]]))
    >>> p @ low @ up
    Array([[0., 1.],
           [2., 0.]], dtype=float32)
    """
    factors, _, order = lu_factors(systems.inexact_matrix("lu", a))
    low, up = triangles(factors)
    m = aval_of(factors).shape[-2]
    p = where(order[..., None, :] == arange(m)[:, None], 1, 0).astype(dtypes.real_dtype(aval_of(factors).dtype))
    return (p @ low, up) if permute_l else (p, low, up)


def solve(
    a: ArrayLike,
    b: ArrayLike,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    debug: bool = False,
    check_finite: bool = True,
    assume_a: str = "gen",
) -> Array:
    """The x for which `a @ x` is `b`.

    Args:
      lower: which triangle is read, if `assume_a` is `"pos"`.
      assume_a: `"gen"`, `"sym"`, `"her"`, or `"pos"` for positive definite matrices.

    >>> import stagec.numpy as snp
    >>> solve(snp.array([[4.0, 2.0], [2.0, 5.0]]), snp.array([8.0, 12.0]), assume_a="pos")
    Array([1., 2.], dtype=float32)
    """
    if assume_a not in ("gen", "sym", "her", "pos"):
        raise location.error(ValueError, f"solve: assume_a is {assume_a!r}", fix="pass 'gen', 'sym', 'her' or 'pos'")
    if assume_a == "pos":
        a, b = promote_inexact(array_argument(a, "a"), array_argument(b, "b"))
        return cho_solve(cho_factor(a, lower), b)
    return systems.solve(a, b)


def solve_triangular(
    a: ArrayLike,
    b: ArrayLike,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    debug: None = None,
    check_finite: bool = True,
) -> Array:
    """Solve systems of triangular matrices.

    Args:
      b: as for `cho_solve`.
      trans: solve for the matrix (0 or `"N"`), its transpose (1 or `"T"`), or its adjoint (2 or `"C"`).
      lower: which triangle is read.
      unit_diagonal: assume that the diagonal is ones.

    >>> import stagec.numpy as snp
    >>> solve_triangular(snp.array([[2.0, 0.0], [1.0, 4.0]]), snp.array([2.0, 9.0]), lower=True)
    Array([1., 2.], dtype=float32)
    """
    if trans not in (0, 1, 2, "N", "T", "C"):
        raise location.error(
            ValueError, f"solve_triangular: trans is {trans!r}", fix="pass 0, 1 or 2, or 'N', 'T' or 'C'"
        )
    matrix, right, vector = _pair("solve_triangular", a, b)
    found = triangular_solve(
        matrix,
        right,
        left_side=True,
        lower=lower,
        transpose_a=trans not in (0, "N"),
        conjugate_a=trans in (2, "C"),
        unit_diagonal=unit_diagonal,
    )
    return _as_given(found, vector)


def det(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """The determinants of square matrices."""
    return systems.det(a)


def inv(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """The inverses of square matrices."""
    return systems.inv(a)


@overload
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: Literal[True] = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> tuple[Array, Array, Array]: ...
@overload
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    *,
    compute_uv: Literal[False],
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Array: ...
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """Factorize `a` as U diag(s) Vh; if not `compute_uv`, return only s."""
    found = decompositions.svd(a, full_matrices, compute_uv)
    return tuple(found) if compute_uv else found


@overload
def eigh(
    a: ArrayLike,
    b: ArrayLike | None = None,
    lower: bool = True,
    eigvals_only: Literal[False] = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: None = None,
    type: int = 1,
    check_finite: bool = True,
) -> tuple[Array, Array]: ...
@overload
def eigh(
    a: ArrayLike,
    b: ArrayLike | None = None,
    lower: bool = True,
    *,
    eigvals_only: Literal[True],
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: None = None,
    type: int = 1,
    check_finite: bool = True,
) -> Array: ...
def eigh(
    a: ArrayLike,
    b: ArrayLike | None = None,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: None = None,
    type: int = 1,
    check_finite: bool = True,
) -> Array | tuple[Array, Array]:
    """Eigenvalues and eigenvectors of symmetric or Hermitian matrices, `a v = w v`, or of one of three products.

    Args:
      b: positive definite matrices.
      lower: which triangles are read.
      eigvals_only: return no vectors.
      eigvals: None; all eigenvalues are returned.
      type: with `b`, 1 for `a v = w b v`, 2 for `a b v = w v`, 3 for `b a v = w v`.

    >>> import stagec.numpy as snp
    >>> w, v = eigh(snp.array([[2.0, 0.0], [0.0, 6.0]]), snp.array([[1.0, 0.0], [0.0, 2.0]]))
    >>> w.round(4)
    Array([2., 3.], dtype=float32)
    """
    if eigvals is not None:
        raise location.error(
            errors.UnsupportedError, "eigh: parts of the spectrum are not supported", fix="leave eigvals out"
        )
    if type not in (1, 2, 3):
        raise location.error(ValueError, f"eigh: type={type!r}", fix="use 1, 2 or 3")
    side = "L" if lower else "U"
    if b is None:
        if eigvals_only:
            return decompositions.eigvalsh(a, side, symmetrize_input=False)
        values, vectors = decompositions.eigh(a, side, symmetrize_input=False)
        return values, vectors
    a, b = promote_inexact(array_argument(a, "a"), array_argument(b, "b"))
    a = matrix_argument("eigh", a, square=True)
    if not lower:
        a, b = adjoint(a), adjoint(b)
    factor = lower_factor(b, symmetrize_input=False)
    low = tril(a, -1)
    whole = low + adjoint(tril(a))
    if type == 1:
        inner = triangular_solve(factor, whole, left_side=True, lower=True)
        inner = triangular_solve(factor, inner, lower=True, transpose_a=True, conjugate_a=True)
    else:
        inner = adjoint(factor) @ whole @ factor
    if eigvals_only:
        return decompositions.eigvalsh(inner)
    w, v = decompositions.eigh(inner)
    if type == 3:
        return w, factor @ v
    return w, triangular_solve(factor, v, left_side=True, lower=True, transpose_a=True, conjugate_a=True)

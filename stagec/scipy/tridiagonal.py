"""Eigenvalues of tridiagonal matrices, by the name of `scipy.linalg`."""

from __future__ import annotations

from typing import Any, Literal, overload

from stagec.core import dtypes, errors, location
from stagec.core.array import Array
from stagec.factorizations.tridiagonal_eigen import eigh_tridiagonal_p
from stagec.numpy.arguments import array_argument
from stagec.numpy.conditionals import where
from stagec.numpy.joining import concatenate
from stagec.numpy.promotion import promote_inexact
from stagec.numpy.running import cumprod
from stagec.primitives.axes import shape_error
from stagec.primitives.convert import convert_element_type
from stagec.primitives.operand import aval_of
from stagec.typing import ArrayLike


@overload
def eigh_tridiagonal(
    d: ArrayLike,
    e: ArrayLike,
    *,
    eigvals_only: Literal[False] = False,
    select: str = "a",
    select_range: tuple[float, float] | None = None,
    tol: float | None = None,
    key: object = None,
) -> tuple[Array, Array]: ...
@overload
def eigh_tridiagonal(
    d: ArrayLike,
    e: ArrayLike,
    *,
    eigvals_only: Literal[True],
    select: str = "a",
    select_range: tuple[float, float] | None = None,
    tol: float | None = None,
    key: object = None,
) -> Array: ...
def eigh_tridiagonal(
    d: ArrayLike,
    e: ArrayLike,
    *,
    eigvals_only: bool = False,
    select: str = "a",
    select_range: tuple[float, float] | None = None,
    tol: float | None = None,
    key: object = None,
) -> Array | tuple[Array, Array]:
    """Eigenvalues in ascending order, and eigenvectors as columns, of a Hermitian tridiagonal matrix.

    Args:
      d: the diagonal, of which the real part counts.
      e: the elements above the diagonal, one fewer; their conjugates are below it.
      eigvals_only: leave the eigenvectors out.
      select: `"a"` for all, or `"i"` for those whose numbers are in `select_range`.
      select_range: the first and the last number.
      tol, key: change nothing.

    >>> import stagec.numpy as snp
    >>> eigh_tridiagonal(snp.array([2.0, 2.0]), snp.array([1.0]), eigvals_only=True).round(4)
    Array([1., 3.], dtype=float32)
    """
    given, beside = promote_inexact(array_argument(d, "d"), array_argument(e, "e"))
    d_aval, e_aval = aval_of(given), aval_of(beside)
    if d_aval.ndim != 1 or not d_aval.shape[0] or e_aval.shape != (d_aval.shape[0] - 1,):
        raise shape_error(
            "eigh_tridiagonal",
            f"{d_aval.long()} and {e_aval.long()} do not match",
            "pass two vectors, the second one element shorter; stagec.vmap maps over batches",
        )
    chosen = _chosen(select, select_range, d_aval.shape[0])
    diagonal = convert_element_type(given.real, dtypes.real_dtype(d_aval.dtype))
    size = abs(beside)
    # A complex matrix is a real one between diagonal matrices of numbers of length 1.
    if eigvals_only:
        return eigh_tridiagonal_p(diagonal, size if dtypes.is_complex(e_aval.dtype) else beside, vectors=False)[0][
            chosen
        ]
    if not dtypes.is_complex(e_aval.dtype):
        values, vectors = eigh_tridiagonal_p(diagonal, convert_element_type(beside, e_aval.dtype), vectors=True)
        return values[chosen], vectors[:, chosen]
    values, vectors = eigh_tridiagonal_p(diagonal, size, vectors=True)
    turns = where(size > 0, beside.conj() / where(size > 0, size, 1), 1)
    phases = cumprod(concatenate([turns[:0].sum(keepdims=True) + 1, turns]))
    return values[chosen], (phases[:, None] * vectors)[:, chosen]


def _chosen(select: str, select_range: Any, n: int) -> slice:
    if select == "a":
        return slice(None)
    if select == "v":
        raise location.error(
            errors.UnsupportedError,
            "eigh_tridiagonal: how many eigenvalues are in a range depends on values",
            fix="compute all of them, and select with a mask outside of jit",
        )
    found = list(select_range) if select == "i" and select_range is not None else []
    if len(found) != 2 or not 0 <= found[0] <= found[1] < n:
        raise location.error(
            ValueError,
            f"eigh_tridiagonal: select is {select!r} and select_range is {select_range}, of {n} eigenvalues",
            fix="pass select='a', or select='i' and the numbers of the first and the last eigenvalue",
        )
    return slice(int(found[0]), int(found[1]) + 1)

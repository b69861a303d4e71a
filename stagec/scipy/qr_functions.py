"""The QR factorization, and products with its Q, by the names of `scipy.linalg`."""

from __future__ import annotations

from typing import Any, Literal, overload

from stagec.core import location
from stagec.core.array import Array
from stagec.factorizations.pivoted import permuted
from stagec.factorizations.qr import packed_qr_p
from stagec.factorizations.reflections import ormqr
from stagec.numpy import decompositions
from stagec.numpy.arguments import array_argument
from stagec.numpy.diagonals import triu
from stagec.numpy.manipulation import broadcast_to, matrix_transpose
from stagec.numpy.padding import pad
from stagec.numpy.promotion import broadcast_shapes, promote_inexact
from stagec.numpy.systems import inexact_matrix
from stagec.primitives.axes import shape_error
from stagec.primitives.operand import aval_of
from stagec.typing import ArrayLike

__all__ = ["qr", "qr_multiply"]


@overload
def qr(
    a: ArrayLike,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: Literal["full", "economic"] = "full",
    pivoting: Literal[False] = False,
    check_finite: bool = True,
) -> tuple[Array, Array]: ...
@overload
def qr(
    a: ArrayLike,
    overwrite_a: bool = False,
    lwork: Any = None,
    *,
    mode: Literal["r"],
    pivoting: Literal[False] = False,
    check_finite: bool = True,
) -> tuple[Array]: ...
@overload
def qr(
    a: ArrayLike,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> tuple[Array, ...]: ...
def qr(
    a: ArrayLike,
    overwrite_a: bool = False,
    lwork: None = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> tuple[Array, ...]:
    """Factorize `a` as orthonormal columns times an upper triangle.

    Args:
      mode: `"full"`, `"economic"`, or `"r"` for a tuple of the triangle alone.
      pivoting: choose the next column by its length, and return the order `p` of the columns as a last result:
        `a[:, p] = Q R`.

    >>> import stagec.numpy as snp
    >>> q, r = qr(snp.array([[3.0], [4.0]]), mode="economic")
    >>> abs(r)
    Array([[5.]], dtype=float32)
    """
    if mode not in ("full", "economic", "r"):
        raise location.error(ValueError, f"qr: {mode!r} is not a mode", fix="pass 'full', 'economic' or 'r'")
    x, order = permuted("qr", inexact_matrix("qr", a)) if pivoting else (a, None)
    found = decompositions.qr(x, "reduced" if mode == "economic" else "complete")
    results = (found.R,) if mode == "r" else tuple(found)
    return results if order is None else (*results, order)


def qr_multiply(
    a: ArrayLike,
    c: ArrayLike,
    mode: str = "right",
    pivoting: bool = False,
    conjugate: bool = False,
    overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> tuple[Array, ...]:
    """The product of Q and another matrix, and R, of the QR factorization of matrices; Q is not formed.

    Args:
      a: matrices `(..., m, n)`, with `k` columns of Q, the smaller number of both.
      c: `(..., k, p)` if mode is `"left"`, else `(..., p, m)`; or a vector.
      mode: `"left"` for `Q @ c`, `"right"` for `c @ Q`.
      pivoting: as in `qr`; the order of the columns is a third result.
      conjugate: use the conjugate of Q.

    >>> import stagec.numpy as snp
    >>> product, r = qr_multiply(snp.array([[3.0], [4.0]]), snp.array([5.0, 0.0]))
    >>> product.round(4), r.round(4)
    (Array([-3.], dtype=float32), Array([[-5.]], dtype=float32))
    """
    if mode not in ("right", "left"):
        raise location.error(ValueError, f"qr_multiply: {mode!r} is not a mode", fix="pass 'left' or 'right'")
    a, c = promote_inexact(inexact_matrix("qr_multiply", a), array_argument(c, "c"))
    vector = aval_of(c).ndim == 1
    if vector:
        c = c[:, None] if mode == "left" else c[None, :]
    m, n = aval_of(a).shape[-2:]
    count = min(m, n)
    if aval_of(c).ndim < 2 or aval_of(c).shape[-2 if mode == "left" else -1] != (count if mode == "left" else m):
        raise shape_error(
            "qr_multiply",
            f"{aval_of(a).long()} and {aval_of(c).long()} do not match for mode {mode!r}",
            "pass a c with as many rows as Q has columns, or, for 'right', as many columns as a has rows",
        )
    lead = broadcast_shapes(aval_of(a).shape[:-2], aval_of(c).shape[:-2])
    a, c = broadcast_to(a, (*lead, m, n)), broadcast_to(c, (*lead, *aval_of(c).shape[-2:]))
    order = None
    if pivoting:
        a, order = permuted("qr_multiply", a)
    packed, scales = packed_qr_p(a)
    if mode == "left":
        c = pad(c, [(0, 0)] * len(lead) + [(0, m - count), (0, 0)])
    if conjugate:
        # conj(Q) c is the transpose of c^T Q^H.
        found = ormqr(packed, scales, matrix_transpose(c), left=mode != "left", transpose=True)
        found = matrix_transpose(found)
    else:
        found = ormqr(packed, scales, c, left=mode == "left")
    found = found if mode == "left" else found[..., :count]
    results = found.ravel() if vector else found, triu(packed[..., :count, :])
    return results if order is None else (*results, order)

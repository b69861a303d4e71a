"""The polar decomposition by weighted Halley iterations."""

from __future__ import annotations

from typing import Any

from stagec.control.loops import while_loop
from stagec.core import dtypes
from stagec.core.array import Array
from stagec.core.dtype_info import finfo
from stagec.factorizations.cholesky import cholesky_p
from stagec.factorizations.qr import qr_factors
from stagec.factorizations.row import adjoint, matrix_argument
from stagec.factorizations.triangular import triangular_solve
from stagec.numpy.conditionals import where
from stagec.numpy.creation import arange, eye
from stagec.numpy.joining import concatenate
from stagec.primitives import arithmetic as ar
from stagec.primitives.axes import shape_error
from stagec.primitives.operand import Operand, as_operand, aval_of
from stagec.typing import ArrayLike


def _weights(low: Any) -> tuple[Any, Any, Any]:
    """Return the weights of a step for singular values between `low` and 1."""
    square = low * low
    d = (4 * (1 / square - 1) / square) ** (1 / 3)
    root = ar.sqrt(1 + d)
    a = root + ar.sqrt(8 - 4 * d + 8 * (2 - square) / (square * root)) / 2
    b = (a - 1) ** 2 / 4
    return a, b, a + b - 1


def _by_qr(u: Array, a: Array, b: Array, c: Array) -> Operand:
    """One step by QR, which is stable for all weights."""
    m, n = aval_of(u).shape
    unit = eye(n, dtype=aval_of(u).dtype)
    q, _ = qr_factors(concatenate([ar.sqrt(c) * u, unit], 0), False)
    return (b / c) * u + (a - b / c) / ar.sqrt(c) * (q[:m] @ adjoint(q[m:]))


def _by_cholesky(u: Array, a: Array, b: Array, c: Array) -> Operand:
    """One step by Cholesky, for a small weight c, so that the factorized matrix is well conditioned."""
    gram = c * (adjoint(u) @ u) + eye(aval_of(u).shape[1], dtype=aval_of(u).dtype)
    lower = cholesky_p(gram)
    half = triangular_solve(lower, adjoint(u), left_side=True, lower=True)
    found = triangular_solve(lower, half, left_side=True, lower=True, transpose_a=True, conjugate_a=True)
    return (b / c) * u + (a - b / c) * adjoint(found)


# The number of steps by QR. After two, the weight c is below 100 for every matrix.
_FIRST = 2


def qdwh(
    x: ArrayLike,
    *,
    is_hermitian: bool = False,
    max_iterations: int | None = None,
    eps: float | None = None,
    dynamic_shape: tuple[int, int] | None = None,
) -> tuple[Array, Array, Array, Array]:
    """The polar decomposition x = U H of a matrix of full rank, by products and factorizations alone.

    Source: Nakatsukasa, Bai and Gygi, "Optimizing Halley's iteration for computing the matrix polar decomposition"
    (2010).

    Args:
      x: a matrix with no more columns than rows.
      is_hermitian: accepted and ignored.
      max_iterations: how many steps to take at most; 10 by default.
      eps: the tolerance: the last step changes U by less than the cube root of 4 eps, relative to U; by default, the
        epsilon of the dtype.
      dynamic_shape: use only the first rows and columns of `x`; the others count as zeros.

    Returns:
      U with orthonormal columns, the positive semidefinite H, the number of steps, and whether they converged.

    >>> import stagec.numpy as snp
    >>> u, h, steps, converged = qdwh(snp.array([[0.0, -2.0], [3.0, 0.0]]))
    >>> abs(h).round(4)
    Array([[3., 0.],
           [0., 2.]], dtype=float32)
    """
    a = matrix_argument("qdwh", as_operand(x))
    aval = aval_of(a)
    if aval.ndim != 2 or aval.shape[0] < aval.shape[1] or not aval.shape[1]:
        raise shape_error(
            "qdwh", f"{aval.long()} is not one matrix with no more columns than rows", "pass x.mT, or vmap over batches"
        )
    steps = 10 if max_iterations is None else int(max_iterations)
    real = dtypes.real_dtype(aval.dtype)
    tolerance = (4 * (float(finfo(real).eps) if eps is None else float(eps))) ** (1 / 3)
    if dynamic_shape is not None:
        rows, columns = dynamic_shape
        inside = (arange(aval.shape[0]) < rows)[:, None] & (arange(aval.shape[1]) < columns)
        a = where(inside, a, 0)
    # `size` is at least the largest singular value; `low` is at most the smallest one of the scaled matrix.
    size = ar.sqrt(abs(a).sum(0).max() * abs(a).sum(1).max())
    start = a / where(size > 0, size, 1).astype(aval.dtype)
    low = 0 * size + float(finfo(real).eps)

    def advance(by: Any, u: Any, low: Any) -> tuple[Any, Any, Any]:
        a, b, c = _weights(low)
        found = by(u, *(w.astype(aval.dtype) for w in (a, b, c)))
        change = ar.sqrt((abs(found - u) ** 2).sum()) / where(size > 0, ar.sqrt((abs(found) ** 2).sum()), 1)
        # Rounding must not carry the bound above 1.
        return found, ar.min(low * (a + b * low * low) / (1 + c * low * low), 0 * low + 1), change

    u, change = start, low + 1
    first = min(_FIRST, steps)
    for _ in range(first):
        u, low, change = advance(_by_qr, u, low)

    # A small change alone is no proof: the first step changes little if only the smallest singular value is small.
    near = 5 * float(finfo(real).eps)

    def converged(low: Any, change: Array) -> Any:
        return (change <= tolerance) & (1 - low <= near)

    def unfinished(state: Any) -> Any:
        _, low, change, step = state
        return ~converged(low, change) & (step < steps)

    def another_step(state: Any) -> Any:
        u, low, _, step = state
        return *advance(_by_cholesky, u, low), step + 1

    u, low, change, step = while_loop(unfinished, another_step, (u, low, change, as_operand(first)))
    h = adjoint(u) @ a
    return u, (h + adjoint(h)) / 2, step, converged(low, change)

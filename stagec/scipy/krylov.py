"""Krylov methods: conjugate gradients, BiCGSTAB (van der Vorst, 1992) and GMRES (Saad and Schultz, 1986).

Vectors may be pytrees, which are raveled to one vector for the iterations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stagec.control.linear_call import check_like
from stagec.control.linear_solve import custom_linear_solve
from stagec.control.loops import fori_loop, while_loop
from stagec.core import dtypes, errors, location, pytree
from stagec.core.array import Array
from stagec.core.dtype_info import finfo
from stagec.flatten_util import ravel_pytree
from stagec.numpy.arguments import array_argument
from stagec.numpy.arithmetic import absolute, sqrt
from stagec.numpy.conditionals import where
from stagec.numpy.creation import ones, zeros, zeros_like
from stagec.numpy.decompositions import qr
from stagec.numpy.diagonals import diag, diagonal
from stagec.numpy.extremes import maximum
from stagec.numpy.linear import matmul, vdot
from stagec.numpy.promotion import promote_inexact
from stagec.numpy.rounding import conjugate, real
from stagec.primitives.operand import aval_of
from stagec.primitives.slicing import dynamic_update_index_in_dim
from stagec.scipy.solvers import solve_triangular

Vector = Any
Product = Callable[[Vector], Vector]
# `(product with the matrix, product with the preconditioner, b, first x, square of the tolerance) -> x`
Iteration = Callable[[Product, Product, Vector, Vector, Any], Vector]


def _norm2(x: Vector) -> Array:
    return real(vdot(x, x))


def _given_product(name: str, argument: str, given: Any) -> Callable[[Any], Any]:
    """Return the function that multiplies by a matrix, which may be given as a function."""
    if given is None and argument != "A":
        return lambda x: x
    if callable(given):
        product: Product = given
        return product
    matrix = array_argument(given, argument)
    aval = aval_of(matrix)
    if aval.ndim != 2 or aval.shape[0] != aval.shape[1]:
        raise location.error(
            errors.ShapeError,
            f"{name}: {argument} must be a square matrix or a function, got {aval.long()}",
            fix="pass lambda x: ... for what multiplies other arrays than vectors",
        )
    return lambda x: matmul(matrix, x)


def _solve(
    name: str,
    iteration: Iteration,
    A: Any,
    b: Any,
    x0: Any,
    tol: float,
    atol: float,
    M: Any,
    symmetric: bool,
) -> tuple[Any, None]:
    product, conditioned = _given_product(name, "A", A), _given_product(name, "M", M)
    leaves, tree = pytree.flatten(b)
    right = tree.unflatten(promote_inexact(*[array_argument(v, "b") for v in leaves]) if leaves else [])
    vector, unravel = ravel_pytree(right)
    start = zeros_like(vector) if x0 is None else _start(name, x0, right)

    def flat(function: Callable[[Any], Any]) -> Product:
        return lambda v: ravel_pytree(function(unravel(v)))[0]

    def solve(matvec: Product, b: Vector, first: Vector) -> Vector:
        limit = maximum(tol**2 * _norm2(b), atol**2)
        return iteration(matvec, flat(conditioned), b, first, limit)

    x = custom_linear_solve(
        flat(product),
        vector,
        lambda matvec, b: solve(matvec, b, start),
        # The guess is for the original system, not for the transposed one.
        lambda vecmat, b: solve(vecmat, b, zeros_like(b)),
        symmetric=symmetric and not dtypes.is_complex(aval_of(vector).dtype),
    )
    return unravel(x), None


def _start(name: str, x0: Any, right: Any) -> Vector:
    leaves, tree = pytree.flatten(right)
    avals = [aval_of(v) for v in leaves]
    first, own = pytree.flatten(x0)
    arrays = [array_argument(v, "x0") for v in first]
    if own == tree:
        arrays = [v.astype(a.dtype) for v, a in zip(arrays, avals)]
    check_like(f"{name}: x0", _start, "b", tree, avals, own, [aval_of(v) for v in arrays])
    return ravel_pytree(tree.unflatten(arrays))[0]


def _steps(maxiter: Any, b: Any) -> int:
    return 10 * sum(aval_of(array_argument(v, "b")).size for v in pytree.leaves(b)) if maxiter is None else maxiter


def cg(
    A: Any, b: Any, x0: Any = None, *, tol: float = 1e-5, atol: float = 0.0, maxiter: int | None = None, M: Any = None
) -> tuple[Any, None]:
    """Solve `A x = b` by conjugate gradients, for a Hermitian, positive definite A.

    Args:
      A: a matrix, or the function `x -> A x` of pytrees like `b`.
      b: a pytree of arrays.
      x0: the initial guess; zeros by default.
      tol, atol: the iteration ends when the norm of `b - A x` is at most `max(tol * norm(b), atol)`.
      maxiter: the maximum number of iterations; by default ten for each element of `b`.
      M: a preconditioner: a matrix or function that approximates the inverse of A.

    Returns:
      `(x, None)`. Derivatives follow from the equation, which is solved once more for them.

    >>> import stagec.numpy as snp
    >>> from stagec.scipy.sparse.linalg import cg
    >>> cg(snp.array([[4.0, 1.0], [1.0, 3.0]]), snp.array([1.0, 2.0]))[0].round(4)
    Array([0.0909, 0.6364], dtype=float32)
    """
    count = _steps(maxiter, b)

    def iteration(A: Product, M: Product, b: Vector, x: Vector, limit: Any) -> Vector:
        def unfinished(state: Any) -> Any:
            _, residual, _, _, k = state
            return (_norm2(residual) > limit) & (k < count)

        def step(state: Any) -> Any:
            x, residual, direction, size, k = state
            image = A(direction)
            alpha = (size / vdot(direction, image)).astype(x.dtype)
            x, residual = x + alpha * direction, residual - alpha * image
            preconditioned = M(residual)
            new_size = vdot(residual, preconditioned)
            return x, residual, preconditioned + (new_size / size).astype(x.dtype) * direction, new_size, k + 1

        residual = b - A(x)
        direction = M(residual)
        return while_loop(unfinished, step, (x, residual, direction, vdot(residual, direction), 0))[0]

    return _solve("cg", iteration, A, b, x0, tol, atol, M, symmetric=True)


def bicgstab(
    A: Any, b: Any, x0: Any = None, *, tol: float = 1e-5, atol: float = 0.0, maxiter: int | None = None, M: Any = None
) -> tuple[Any, None]:
    """Solve `A x = b` by stabilized biconjugate gradients, for any regular A.

    Arguments and results are those of `cg`. The iteration also stops on a breakdown.

    >>> import stagec.numpy as snp
    >>> from stagec.scipy.sparse.linalg import bicgstab
    >>> bicgstab(snp.array([[4.0, 1.0], [-1.0, 3.0]]), snp.array([1.0, 2.0]))[0].round(4)
    Array([0.0769, 0.6923], dtype=float32)
    """
    count = _steps(maxiter, b)

    def iteration(A: Product, M: Product, b: Vector, x: Vector, limit: Any) -> Vector:
        shadow = b - A(x)

        def unfinished(state: Any) -> Any:
            _, residual, *_, k, is_valid = state
            return (_norm2(residual) > limit) & (k < count) & is_valid

        def step(state: Any) -> Any:
            x, residual, direction, image, alpha, omega, rho, k, _ = state
            new_size = vdot(shadow, residual)
            beta = new_size / rho * alpha / omega
            direction = residual + beta * (direction - omega * image)
            preconditioned = M(direction)
            image = A(preconditioned)
            alpha = new_size / vdot(shadow, image)
            half = residual - alpha * image
            # The half step may have converged; then the second one would divide by zero.
            done = _norm2(half) <= limit
            smooth = M(half)
            smooth_image = A(smooth)
            omega = where(done, 0, vdot(smooth_image, half) / vdot(smooth_image, smooth_image)).astype(x.dtype)
            x = x + alpha * preconditioned + where(done, 0, omega * smooth)
            residual = where(done, half, half - omega * smooth_image)
            is_valid = done | ((omega != 0) & (new_size != 0))
            return x, residual, direction, image, alpha, omega, new_size, k + 1, is_valid

        one = ones((), dtype=aval_of(b).dtype)
        zero = zeros_like(b)
        begin = (x, shadow, zero, zero, one, one, one, 0, True)
        return while_loop(unfinished, step, begin)[0]

    return _solve("bicgstab", iteration, A, b, x0, tol, atol, M, symmetric=False)


def _least_squares(table: Any, length: Any) -> Any:
    """Return the y for which `table @ y` is nearest to `(length, 0, 0, ...)`.

    The last columns may be zeros; y is zero there.
    """
    q, r = qr(table)
    right = conjugate(q[0]) * length
    slopes = absolute(diagonal(r))
    empty = slopes <= slopes.max() * finfo(aval_of(r).dtype).eps
    r = where(diag(empty), ones((), dtype=aval_of(r).dtype), r)
    return solve_triangular(r, where(empty, 0, right))


def gmres(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    restart: int = 20,
    maxiter: int | None = None,
    M: Any = None,
    solve_method: str = "batched",
) -> tuple[Any, None]:
    """Solve `A x = b` by GMRES, for any regular A.

    Args:
      A, b, x0, tol, atol, M: as `cg` takes them.
      restart: the dimension of the Krylov space before a restart.
      maxiter: the maximum number of restarts; by default ten for each element of `b`.
      solve_method: "batched" or "incremental"; both build the whole space, and then solve for the best vector in it.

    Returns:
      `(x, None)`.

    >>> import stagec.numpy as snp
    >>> from stagec.scipy.sparse.linalg import gmres
    >>> gmres(snp.array([[4.0, 1.0], [-1.0, 3.0]]), snp.array([1.0, 2.0]))[0].round(4)
    Array([0.0769, 0.6923], dtype=float32)
    """
    if solve_method not in ("batched", "incremental"):
        what = f"gmres: solve_method={solve_method!r}"
        raise location.error(ValueError, what, fix="use 'batched' or 'incremental'")
    count = _steps(maxiter, b)

    def iteration(A: Product, M: Product, b: Vector, x: Vector, limit: Any) -> Vector:
        aval = aval_of(b)
        width = min(restart, aval.size)

        def unfinished(state: Any) -> Any:
            _, residual, k = state
            return (_norm2(residual) > limit) & (k < count)

        def build(state: Any) -> Any:
            x, residual, k = state
            preconditioned = M(residual)
            length = sqrt(_norm2(preconditioned))
            basis = zeros((width + 1, aval.size), dtype=aval.dtype)
            basis = dynamic_update_index_in_dim(basis, preconditioned / length, 0, 0)

            def grow(j: Any, both: Any) -> Any:
                basis, table = both
                new = M(A(basis[j]))
                before = sqrt(_norm2(new))
                column = zeros((width + 1,), dtype=aval.dtype)
                # Orthogonalize twice: once is not accurate enough in single precision.
                for _ in range(2):
                    parts = matmul(conjugate(basis), new)
                    new = new - matmul(parts, basis)
                    column = column + parts
                size = sqrt(_norm2(new))
                # A tiny remainder is rounding: the space is exhausted.
                size = where(size > before * (10 * finfo(aval.dtype).eps), size, 0)
                column = dynamic_update_index_in_dim(column, size.astype(aval.dtype), j + 1, 0)
                new = where(size > 0, new / where(size > 0, size, 1), 0)
                basis = dynamic_update_index_in_dim(basis, new.astype(aval.dtype), j + 1, 0)
                return basis, dynamic_update_index_in_dim(table, column, j, 1)

            table = zeros((width + 1, width), dtype=aval.dtype)
            basis, table = fori_loop(0, width, grow, (basis, table))
            x = x + matmul(_least_squares(table, length), basis[:width])
            return x, b - A(x), k + 1

        return while_loop(unfinished, build, (x, b - A(x), 0))[0]

    return _solve("gmres", iteration, A, b, x0, tol, atol, M, symmetric=False)

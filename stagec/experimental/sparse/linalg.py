"""Linear systems with sparse matrices, as JAX has them in `jax.experimental.sparse.linalg`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stagec.numpy as snp
from stagec.control.callback import pure_callback
from stagec.control.linear_solve import custom_linear_solve
from stagec.core import errors, location
from stagec.core.boundary import publish as _publish
from stagec.experimental.sparse.matrices import CSR

__all__ = ["spsolve"]


def spsolve(data: Any, indices: Any, indptr: Any, b: Any, tol: float = 1e-6, reorder: int = 1) -> Any:
    """The solution of a system whose matrix is sparse, computed by SciPy's `spsolve`, in compiled programs, too.

    Args:
      data, indices, indptr: the square matrix by rows, as in `CSR`.
      b: a vector of the same dtype.
      tol, reorder: accepted for code written for JAX; SciPy chooses the order, and a singular matrix has a solution of
        NaN.

    Raises:
      ShapeError: the arrays do not fit.
      DtypeError: `data` and `b` have different dtypes.

    >>> import stagec.numpy as snp
    >>> from stagec.experimental import sparse
    >>> m = sparse.CSR.fromdense(snp.array([[2.0, 0.0], [1.0, 4.0]]))
    >>> sparse.linalg.spsolve(m.data, m.indices, m.indptr, snp.array([2.0, 9.0]))
    Array([1., 2.], dtype=float32)
    """
    right = snp.asarray(b)
    mat = CSR((data, indices, indptr), shape=(right.size, right.size))
    if right.ndim != 1 or right.dtype != mat.dtype:
        raise location.error(
            errors.DtypeError if right.ndim == 1 else errors.ShapeError,
            f"spsolve: b is {right.aval.long()}, and data {mat.data.aval.long()}",
            fix="give a vector of the dtype of data",
        )

    def solver(transposed: bool) -> Callable[[Any, Any], Any]:
        def solve(data: Any, indices: Any, indptr: Any, right: Any) -> Any:
            import scipy.sparse.linalg

            found = scipy.sparse.csr_matrix((data, indices, indptr), shape=mat.shape)
            return scipy.sparse.linalg.spsolve(found.T if transposed else found, right).astype(right.dtype)

        def call(_: Any, right: Any) -> Any:
            return pure_callback(solve, right, *mat._parts, right, vmap_method="sequential")

        return call

    return custom_linear_solve(lambda x: mat @ x, right, solver(False), solver(True))


_publish(globals())

"""Solvers for linear equations that need products with the matrix only, by the names of `scipy.sparse.linalg`."""

from stagec.core.boundary import publish as _publish
from stagec.scipy.krylov import bicgstab as bicgstab, cg as cg, gmres as gmres

__all__ = ["bicgstab", "cg", "gmres"]


_publish(globals())

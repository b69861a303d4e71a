"""Linear algebra, by the names of `scipy.linalg`."""

from __future__ import annotations

from stagec.core.boundary import publish as _publish
from stagec.runtime.plans import cover as _cover
from stagec.scipy.matrix_functions import expm as expm, expm_frechet as expm_frechet, polar as polar
from stagec.scipy.more_matrices import (
    convolution_matrix as convolution_matrix,
    fiedler as fiedler,
    fiedler_companion as fiedler_companion,
    invhilbert as invhilbert,
    invpascal as invpascal,
)
from stagec.scipy.qr_functions import qr as qr, qr_multiply as qr_multiply
from stagec.scipy.schur_functions import (
    funm as funm,
    hessenberg as hessenberg,
    rsf2csf as rsf2csf,
    schur as schur,
    solve_sylvester as solve_sylvester,
    sqrtm as sqrtm,
)
from stagec.scipy.solvers import (
    cho_factor as cho_factor,
    cho_solve as cho_solve,
    cholesky as cholesky,
    det as det,
    eigh as eigh,
    inv as inv,
    lu as lu,
    lu_factor as lu_factor,
    lu_solve as lu_solve,
    solve as solve,
    solve_triangular as solve_triangular,
    svd as svd,
)
from stagec.scipy.special_matrices import (
    block_diag as block_diag,
    circulant as circulant,
    companion as companion,
    dft as dft,
    hadamard as hadamard,
    hankel as hankel,
    helmert as helmert,
    hilbert as hilbert,
    leslie as leslie,
    pascal as pascal,
    toeplitz as toeplitz,
)
from stagec.scipy.tridiagonal import eigh_tridiagonal as eigh_tridiagonal

__all__ = [
    "block_diag",
    "cho_factor",
    "cho_solve",
    "cholesky",
    "circulant",
    "companion",
    "convolution_matrix",
    "det",
    "dft",
    "eigh",
    "eigh_tridiagonal",
    "expm",
    "expm_frechet",
    "fiedler",
    "fiedler_companion",
    "funm",
    "hadamard",
    "hankel",
    "helmert",
    "hessenberg",
    "hilbert",
    "inv",
    "invhilbert",
    "invpascal",
    "leslie",
    "lu",
    "lu_factor",
    "lu_solve",
    "pascal",
    "polar",
    "qr",
    "qr_multiply",
    "rsf2csf",
    "schur",
    "solve",
    "solve_sylvester",
    "solve_triangular",
    "sqrtm",
    "svd",
    "toeplitz",
]


def __dir__() -> list[str]:
    return sorted(__all__)


_cover(globals())
_publish(globals())

"""Enumerations of algorithms and libraries, by JAX's names. Programs have one algorithm for each factorization."""

from __future__ import annotations

import enum


class EigImplementation(enum.Enum):
    """Libraries that JAX computes eigenvalues with. It is ignored here."""

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


class EighImplementation(enum.Enum):
    """Algorithms that JAX has for Hermitian matrices. It is ignored here: the algorithm is always QR."""

    QR = "qr"
    JACOBI = "jacobi"
    QDWH = "qdwh"


class SvdAlgorithm(enum.Enum):
    """Algorithms that JAX has for singular values. It is ignored here: the algorithm is always QR."""

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"
    DIVIDE_AND_CONQUER = "divide_and_conquer"

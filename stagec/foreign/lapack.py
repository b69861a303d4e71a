"""Rules for the LAPACK calls that JAX writes for the CPU, with the conventions of its foreign functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from passes import bindings
from stagec import lax, numpy as snp
from stagec.factorizations.pivoted import permuted
from stagec.factorizations.qr import packed_qr_p
from stagec.foreign.custom_calls import target
from stagec.foreign.products import adjoint, hermitian
from stagec.foreign.site import Site, Value
from stagec.lax import linalg


def routine(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function as the rule for LAPACK routines, for all element types."""
    return target(*(f"lapack_{kind}{name}_ffi" for name in names for kind in "sdcz"))


def _letter(site: Site, name: str) -> str:
    """An option of LAPACK, which is the code of a letter."""
    return chr(_option(site, name))


def _option(site: Site, name: str) -> int:
    config = bindings.ir.DictAttr(site.op.attributes["mhlo.backend_config"])
    return int(config[name].value)


def _success(site: Site, index: int) -> Value:
    """The `info` of a routine that succeeded."""
    return lax.full(site.shape(index), 0, site.dtype(index))


def _failed(site: Site, index: int, result: Value) -> Value:
    """`info`: 1 where a result of a matrix is not finite."""
    whole = snp.isfinite(result).all(tuple(range(len(site.shape(index)), len(result.shape))))
    return lax.convert_element_type(snp.where(whole, 0, 1), site.dtype(index))


def _unused(site: Site, index: int) -> Value:
    """Zeros for a result that nothing reads.

    Raises:
      UnsupportedError: something reads it.
    """
    if list(site.op.results[index].uses):
        what = f"has a result {index} that stagec does not compute"
        raise site.refusal(what, "compute it from the other results")
    return lax.full(site.shape(index), 0, site.dtype(index))


@routine("potrf")
def _potrf(site: Site, a: Value) -> list[Value]:
    lower = _letter(site, "uplo") == "L"
    factor = linalg.cholesky(hermitian(a, lower=lower), symmetrize_input=False)
    info = _failed(site, 1, factor)
    # LAPACK leaves the other triangle as it is.
    factor, other = (factor, snp.triu(a, 1)) if lower else (adjoint(factor), snp.tril(a, -1))
    return [lax.add(factor, other), info]


@routine("getrf")
def _getrf(site: Site, a: Value) -> list[Value]:
    packed, pivots, _ = linalg.lu(a)
    return [packed, _from_one(site, pivots), _success(site, 2)]


def _from_one(site: Site, positions: Value) -> Value:
    """Positions as LAPACK counts them, in the type of result 1."""
    return lax.convert_element_type(lax.add(positions, lax.full(positions.shape, 1, positions.dtype)), site.dtype(1))


@routine("geqrf")
def _geqrf(site: Site, a: Value) -> list[Value]:
    return list(packed_qr_p(a))


@routine("geqp3")
def _geqp3(site: Site, a: Value, order: Value) -> list[Value]:
    reordered, columns = permuted("geqp3", a)
    packed, scales = packed_qr_p(reordered)
    return [packed, _from_one(site, columns), scales]


@target(*(f"lapack_{name}_ffi" for name in ("sorgqr", "dorgqr", "cungqr", "zungqr")))
def _orgqr(site: Site, a: Value, scales: Value) -> Value:
    return linalg.householder_product(a, scales)


@target(*(f"lapack_{name}_ffi" for name in ("sormqr", "dormqr", "cunmqr", "zunmqr")))
def _ormqr(site: Site, a: Value, scales: Value, c: Value) -> Value:
    return linalg.ormqr(a, scales, c, left=bool(_option(site, "left")), transpose=bool(_option(site, "transpose")))


@routine("gesdd", "gesvd")
def _gesdd(site: Site, a: Value) -> list[Value]:
    mode = _letter(site, "mode")
    if mode == "N":
        values = linalg.svd(a, compute_uv=False)
        return [a, values, _unused(site, 2), _unused(site, 3), _failed(site, 4, values)]
    u, values, v = linalg.svd(a, full_matrices=mode == "A")
    return [a, values, u, v, _failed(site, 4, values)]


@target(*(f"lapack_{name}_ffi" for name in ("ssyevd", "dsyevd", "cheevd", "zheevd")))
def _syevd(site: Site, a: Value) -> list[Value]:
    vectors, values = linalg.eigh(a, lower=_letter(site, "uplo") == "L", symmetrize_input=False)
    return [vectors, values, _failed(site, 2, values)]


@routine("geev")
def _geev(site: Site, a: Value) -> list[Value]:
    left, right = (_letter(site, name) == "V" for name in ("compute_left", "compute_right"))
    values, *found = linalg.eig(a, compute_left_eigenvectors=left, compute_right_eigenvectors=right)
    parts = [values] if a.dtype.kind == "c" else [lax.real(values), lax.imag(values)]
    remaining = iter(found)
    first = len(parts)
    vectors = [next(remaining) if wanted else _unused(site, first + i) for i, wanted in enumerate((left, right))]
    return [*parts, *vectors, _failed(site, first + 2, values)]


@routine("gees")
def _gees(site: Site, a: Value) -> list[Value]:
    if _letter(site, "sort") != "N":
        what = f"sorts the eigenvalues of a Schur form, by its sort={_letter(site, 'sort')!r}"
        raise site.refusal(what, "export the Schur form without sorting, and reorder it afterwards")
    vectors = _letter(site, "mode") == "V"
    form, *found = linalg.schur(a, compute_schur_vectors=vectors)
    count = len(site.op.results)
    eigenvalues = [_unused(site, i) for i in range(2, count - 2)]
    return [
        form,
        found[0] if vectors else _unused(site, 1),
        *eigenvalues,
        _unused(site, count - 2),
        _success(site, count - 1),
    ]


@routine("gehrd")
def _gehrd(site: Site, a: Value) -> list[Value]:
    low, high, size = _option(site, "low"), _option(site, "high"), a.shape[-1]
    if (low, high) != (1, size):
        what = f"reduces a part of the matrix, from row {low} to row {high} of {size}"
        raise site.refusal(what, "export the reduction of the whole matrix")
    return [*linalg.hessenberg(a), _success(site, 2)]


@target(*(f"lapack_{name}_ffi" for name in ("ssytrd", "dsytrd", "chetrd", "zhetrd")))
def _sytrd(site: Site, a: Value) -> list[Value]:
    packed, diagonal, off_diagonal, scales = linalg.tridiagonal(a, lower=_letter(site, "uplo") == "L")
    return [packed, diagonal, off_diagonal, scales, _success(site, 4)]


@routine("gtsv")
def _gtsv(site: Site, below: Value, diagonal: Value, above: Value, b: Value) -> list[Value]:
    # The first of the lower diagonal and the last of the upper one lie outside; LAPACK's lower one begins inside.
    n = diagonal.shape[-1]
    edge = [(0, 0, 0)] * (len(diagonal.shape) - 1)
    zero = np.zeros((), diagonal.dtype)
    if below.shape[-1] == n - 1:
        below, above = lax.pad(below, zero, [*edge, (1, 0, 0)]), lax.pad(above, zero, [*edge, (0, 1, 0)])
    solved = linalg.tridiagonal_solve(below, diagonal, above, b)
    return [_unused(site, 0), _unused(site, 1), _unused(site, 2), solved, _failed(site, 4, solved)]


@routine("trsm")
def _trsm(site: Site, a: Value, b: Value, *scale: Value) -> Value:
    transpose = _letter(site, "trans_x")
    solved = linalg.triangular_solve(
        a,
        b,
        left_side=_letter(site, "side") == "L",
        lower=_letter(site, "uplo") == "L",
        transpose_a=transpose != "N",
        conjugate_a=transpose == "C",
        unit_diagonal=_letter(site, "diag") == "U",
    )
    return lax.mul(solved, lax.broadcast(scale[0], solved.shape)) if scale else solved

"""`stagec.lax.linalg`."""

from __future__ import annotations

import numpy as np
import scipy.linalg

import stagec.numpy as snp
from function_rows.drawing import Call, Draw, call
from function_rows.linear import (
    a_hermitian,
    eig_rebuilt,
    eigen_rebuilt,
    matrix,
    positive,
    rebuilt,
    schur_rebuilt,
    singular_rebuilt,
    svd_options,
    tall,
    triangle,
)
from function_rows.row import Row


def lax(name: str, draw, oracle=None, **options) -> Row:
    options = {"scaled": True, "loose": 30, **options}
    return Row(f"lax.linalg.{name}", draw, oracle, **options)


def _lax_triangular(s: Draw) -> Call:
    lower, left = s.chance(0.5), s.chance(0.5)
    a = triangle(s, lower)
    n, k = a.shape[-1], s.whole(1, 3)
    b = s.array((*a.shape[:-2], *((n, k) if left else (k, n))), a.dtype, -2, 2)
    return call(a, b, left_side=left, lower=lower, transpose_a=s.chance(0.4), conjugate_a=s.chance(0.3))


def _solve_lax_triangular(a, b, left_side, lower, transpose_a, conjugate_a):
    a = np.swapaxes(a, -1, -2) if transpose_a else a
    a = np.conj(a) if conjugate_a else a
    if left_side:
        return np.linalg.solve(a, b)
    return np.swapaxes(np.linalg.solve(np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2)), -1, -2)


def _lu_rebuilt(made: Call, found):
    lu, _, permutation = found
    m, n = lu.shape[-2:]
    k = min(m, n)
    lower = snp.tril(lu, -1)[..., :, :k] + np.eye(m, k, dtype=lu.dtype)
    return [lu, permutation, lower @ snp.triu(lu)[..., :k, :]]


def _lu(x):
    """LAPACK's, one matrix after the other."""
    m, n = x.shape[-2:]
    parts = [scipy.linalg.lu_factor(a) for a in x.reshape(-1, m, n)]
    k = min(m, n)
    lu = np.array([p[0] for p in parts], x.dtype).reshape(x.shape)
    pivots = np.array([p[1] for p in parts], np.int32).reshape(*x.shape[:-2], k)
    orders = np.zeros((len(parts), m), np.int32)
    for i, (_, places) in enumerate(parts):
        order = np.arange(m)
        for j, place in enumerate(places):
            order[[j, place]] = order[[place, j]]
        orders[i] = order
    return lu, pivots, orders.reshape(*x.shape[:-2], m)


def _tridiagonal(s: Draw) -> Call:
    batch, n, kind = s.shape(0, 1), s.whole(1, 4), s.kind("f")
    low, up = (s.array((*batch, n), kind, -1, 1) for _ in range(2))
    low[..., 0], up[..., -1] = 0, 0
    return call(low, s.array((*batch, n), kind, 3, 4), up, s.array((*batch, n, s.whole(1, 3)), kind, -2, 2))


def _solve_tridiagonal(low, middle, up, b):
    n = middle.shape[-1]
    a = np.zeros((*middle.shape, n), middle.dtype)
    i = np.arange(n)
    a[..., i, i], a[..., i[1:], i[:-1]], a[..., i[:-1], i[1:]] = middle, low[..., 1:], up[..., :-1]
    return np.linalg.solve(a, b)


def _symmetric_product(s: Draw) -> Call:
    batch, n, k, kind = s.shape(0, 1), s.whole(1, 3), s.whole(1, 3), s.kind("f")
    c = s.array((*batch, n, n), kind, -2, 2)
    return call(
        s.array((*batch, n, k), kind, -2, 2), c + np.swapaxes(c, -1, -2), alpha=0.5, beta=2.0, symmetrize_output=True
    )


def _symmetric_oracle(a, c, alpha, beta, symmetrize_output):
    return alpha * np.matmul(a, np.swapaxes(a, -1, -2)) + beta * c


def _update(s: Draw) -> Call:
    x = matrix(s, kinds="f", batch=())
    factor = np.linalg.cholesky((x @ x.T + np.eye(len(x))).astype(x.dtype)).T
    return call(np.ascontiguousarray(factor), s.array((len(x),), x.dtype, -1, 1))


def _update_oracle(factor, w):
    return np.linalg.cholesky(factor.T @ factor + np.outer(w, w)).T


def _reflectors(s: Draw) -> Call:
    n = s.whole(2, 4)
    (h, tau), _ = scipy.linalg.qr(s.array((n, n), s.kind("f"), -1, 1), mode="raw")
    return call(np.ascontiguousarray(h), tau)


def _reflected(h, tau):
    n = len(h)
    q = np.eye(n)
    for i, t in enumerate(tau):
        v = np.concatenate([np.zeros(i), [1.0], h[i + 1 :, i]])
        q = q @ (np.eye(n) - t * np.outer(v, v))
    return q


def _ormqr(s: Draw) -> Call:
    h, tau = _reflectors(s).args
    return call(h, tau, s.array((len(h), 2), h.dtype, -1, 1), left=True, transpose=s.chance(0.5))


def _ormqr_oracle(h, tau, c, left, transpose):
    q = _reflected(h, tau)
    return (q.T if transpose else q) @ c


def _pivots(s: Draw) -> Call:
    n = s.whole(1, 4)
    return call(np.minimum(s.index(n, (*s.shape(0, 1), n), False), n - 1), n)


def _permutation_of(pivots, size):
    out = np.zeros((*pivots.shape[:-1], size), np.int32)
    for at in np.ndindex(pivots.shape[:-1]):
        order = np.arange(size)
        for j, place in enumerate(pivots[at]):
            order[[j, place]] = order[[place, j]]
        out[at] = order
    return out


def _lax_eigh(x):
    w, v = np.linalg.eigh(x)
    return v, w


def _eigh_swapped(made: Call, found):
    return eigen_rebuilt(made, (found[1], found[0]))


ROWS = [
    lax("cholesky", positive, np.linalg.cholesky),
    lax("eigh", a_hermitian, _lax_eigh, invariant=_eigh_swapped),
    lax(
        "eig",
        lambda s: call(matrix(s), compute_left_eigenvectors=False),
        lambda x, **k: np.linalg.eig(x),
        invariant=eig_rebuilt,
        derivative="refused",
    ),
    lax("lu", tall, _lu, invariant=_lu_rebuilt),
    lax(
        "qr",
        lambda s: call(*tall(s).args, full_matrices=False),
        lambda x, full_matrices: np.linalg.qr(x),
        invariant=rebuilt,
    ),
    lax("svd", svd_options, np.linalg.svd, invariant=singular_rebuilt),
    lax("triangular_solve", _lax_triangular, _solve_lax_triangular),
    lax("tridiagonal_solve", _tridiagonal, _solve_tridiagonal),
    lax("symmetric_product", _symmetric_product, _symmetric_oracle),
    lax("cholesky_update", _update, _update_oracle),
    lax("householder_product", _reflectors, _reflected, derivative="refused"),
    lax("ormqr", _ormqr, _ormqr_oracle, derivative="refused"),
    lax(
        "schur",
        lambda s: call(matrix(s)),
        lambda x: (x, np.broadcast_to(np.eye(x.shape[-1]), x.shape)),
        invariant=schur_rebuilt,
        derivative="refused",
    ),
    lax("lu_pivots_to_permutation", _pivots, _permutation_of),
]

"""Writes the tables of backward errors of docs/explanation/factorizations.md; needs SciPy."""

from __future__ import annotations

import numpy as np
from scipy import linalg

import stagec
import stagec.numpy as snp
from stagec import lax
from stagec.factorizations.eig import eig

EPS = np.finfo("float32").eps


def matrices(n, rng):
    """By name: well and ill-conditioned, singular, and without a basis of eigenvectors."""
    yield "random", rng.standard_normal((n, n))
    u, v = (np.linalg.qr(rng.standard_normal((n, n)))[0] for _ in range(2))
    yield "of condition 10^12", u * np.logspace(0, -12, n) @ v
    yield "of rank 1", np.outer(rng.standard_normal(n), rng.standard_normal(n))
    yield "one Jordan block", np.eye(n, k=1) + np.eye(n)


def errors(a, t, q, values, vectors):
    """Of Schur's form, and of eigenvectors, in roundings of the matrix."""
    t, q, values, vectors = (np.asarray(x).astype("complex128") for x in (t, q, values, vectors))
    size = np.linalg.norm(a) * EPS
    return np.linalg.norm(q @ t @ q.conj().T - a) / size, np.linalg.norm(a @ vectors - vectors * values) / size


def spectra():
    rng = np.random.default_rng(1)
    compiled = stagec.jit(lambda a: (*lax.linalg.schur(a), *eig(a)))
    print("| Rows | Matrix | schur | LAPACK | eig | LAPACK |\n|---|---|---|---|---|---|")
    for n in (1, 4, 32, 128):
        for name, a in matrices(n, rng):
            a = a.astype("float32")
            ours, theirs = errors(a, *compiled(a)), errors(a, *linalg.schur(a), *linalg.eig(a))
            row = (ours[0], theirs[0], ours[1], theirs[1])
            print(f"| {n} | {name} | {' | '.join(f'{x:.1f}' for x in row)} |", flush=True)


NAMES = ("solve", "cholesky", "qr", "eigh", "svd")


def factorized(a, positive, b):
    """Everything of a matrix, of a positive definite one, and of the symmetric part."""
    xp = snp.linalg
    return (
        xp.solve(a, b),
        xp.cholesky(positive),
        tuple(xp.qr(a)),
        tuple(xp.eigh((a + a.T) / 2)),
        tuple(xp.svd(a)),
    )


def lapack(a, positive, b):
    """The same by SciPy, in float32: NumPy's functions compute in float64."""
    factor, failed = linalg.lapack.spotrf(positive, lower=1)
    x, singular = linalg.lapack.sgesv(a, b)[2:]
    return (
        np.full_like(x, np.nan) if singular else x,
        np.full_like(a, np.nan) if failed else np.tril(factor),
        linalg.qr(a),
        linalg.eigh((a + a.T) / 2),
        linalg.svd(a),
    )


def residuals(a, positive, b, x, factor, q_r, values_vectors, u_s_v):
    """In roundings of the matrix; NaN where there is no factorization."""
    wide = [np.asarray(v).astype("float64") for v in (a, positive, b, x, factor, *q_r, *values_vectors, *u_s_v)]
    a, positive, b, x, factor, q, r, w, v, u, s, vt = wide
    norm = np.linalg.norm
    symmetric = (a + a.T) / 2
    with np.errstate(all="ignore"):
        solved = norm(a @ x - b) / (norm(a) * norm(x) + norm(b)) if np.isfinite(x).all() else np.nan
        sizes = norm(positive), norm(a), norm(symmetric), norm(a)
        found = [factor @ factor.T - positive, q @ r - a, (v * w) @ v.T - symmetric, (u * s) @ vt - a]
        return [solved / EPS, *(norm(f) / size / EPS for f, size in zip(found, sizes))]


def systems(n, rng):
    """A matrix, a symmetric one with its spectrum that is positive definite or nearly so, by name."""
    for name, a in list(matrices(n, rng))[:3]:
        positive = a @ a.T
        yield name, a, positive + np.trace(positive) / n * (1e-3 if name == "random" else 0) * np.eye(n)


def main():
    rng = np.random.default_rng(1)
    compiled = stagec.jit(factorized)
    head = " | ".join(f"{name} | LAPACK" for name in NAMES)
    print(f"| Rows | Matrix | {head} |\n|{'---|' * (2 + 2 * len(NAMES))}")
    for n in (1, 2, 8, 32, 128, 512):
        for name, *given in systems(n, rng):
            given = [g.astype("float32") for g in given] + [rng.standard_normal(n).astype("float32")]
            ours, theirs = residuals(*given, *compiled(*given)), residuals(*given, *lapack(*given))
            cells = [x for pair in zip(ours, theirs) for x in pair]
            print(f"| {n} | {name} | {' | '.join('NaN' if np.isnan(x) else f'{x:.1f}' for x in cells)} |", flush=True)
    print()
    spectra()


if __name__ == "__main__":
    with stagec.config.override(host_libraries="never"):
        main()

"""Writes the table of backward errors of docs/explanation/factorizations.md; needs SciPy."""

from __future__ import annotations

import numpy as np
from scipy import linalg

import stagec
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


def main():
    rng = np.random.default_rng(1)
    compiled = stagec.jit(lambda a: (*lax.linalg.schur(a), *eig(a)))
    print("| Rows | Matrix | schur | LAPACK | eig | LAPACK |\n|---|---|---|---|---|---|")
    for n in (1, 4, 32, 128):
        for name, a in matrices(n, rng):
            a = a.astype("float32")
            ours, theirs = errors(a, *compiled(a)), errors(a, *linalg.schur(a), *linalg.eig(a))
            row = (ours[0], theirs[0], ours[1], theirs[1])
            print(f"| {n} | {name} | {' | '.join(f'{x:.1f}' for x in row)} |", flush=True)


if __name__ == "__main__":
    main()

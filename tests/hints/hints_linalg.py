"""Hints of linear algebra: the advice, what is wrong, and what the advice makes of it."""

import stagec
import stagec.numpy as snp
from stagec import lax

X = snp.ones((2, 3))
M = snp.eye(3)
V = snp.array([3.0, 1.0, 2.0])
LA = snp.linalg


CASES = [
    ("pass an array with two axes or more", lambda: LA.inv(V), lambda: LA.inv(snp.diag(V))),
    ("pass matrices with as many rows as columns", lambda: LA.inv(X), lambda: LA.inv(X[:, :2] + snp.eye(2))),
    (
        "give b as many rows as a has; a stack of vectors is b[..., None]",
        lambda: LA.solve(M, snp.ones((2, 2, 4))),
        lambda: (LA.solve(M, V), LA.solve(M, snp.ones((2, 3))[..., None])),
    ),
    ("pass 'lu' or 'qr'", lambda: LA.slogdet(M, method="x"), lambda: [LA.slogdet(M, method=m) for m in ("lu", "qr")]),
    (
        "pass 'reduced', 'complete', 'r' or 'raw'",
        lambda: LA.qr(X, "economic"),
        lambda: [LA.qr(X, mode) for mode in ("reduced", "complete", "r", "raw")],
    ),
    ("pass a positive number", lambda: LA.tensorinv(M, 0), lambda: LA.tensorinv(M, 1)),
    ("choose ind so that both agree", lambda: LA.tensorinv(snp.ones((2, 3, 6)), 1), lambda: LA.tensorinv(M, 1)),
    (
        "a needs the shape of b first, and as many elements in the rest",
        lambda: LA.tensorsolve(X, V),
        lambda: LA.tensorsolve(M, V),
    ),
    (
        "factorize a matrix with no more columns than rows, in mode 'reduced'",
        lambda: stagec.grad(lambda x: LA.qr(x)[1].sum())(X),
        lambda: stagec.grad(lambda x: LA.qr(x, "reduced")[1].sum())(M),
    ),
    (
        "differentiate qr",
        lambda: stagec.grad(lambda x: LA.qr(x, "raw")[0].sum())(M),
        lambda: stagec.grad(lambda x: LA.qr(x)[0].sum())(M),
    ),
    (
        "b needs the leading axes of a, and as many rows (columns, if not left_side)",
        lambda: lax.linalg.triangular_solve(M, X, left_side=True),
        lambda: (lax.linalg.triangular_solve(M, X.T, left_side=True), lax.linalg.triangular_solve(M, X)),
    ),
    (
        "convert one of them with astype",
        lambda: lax.linalg.triangular_solve(M, X.astype(complex)),
        lambda: lax.linalg.triangular_solve(M.astype(complex), X.astype(complex)),
    ),
    (
        "leave pivoting=True out",
        lambda: lax.linalg.qr(M, pivoting=True),
        lambda: lax.linalg.qr(M),
    ),
    (
        "pass integers, no more than there are rows",
        lambda: lax.linalg.lu_pivots_to_permutation(V, 3),
        lambda: lax.linalg.lu_pivots_to_permutation(snp.array([1, 1]), 3),
    ),
    (
        "pass one scale for each column, and no more columns than rows",
        lambda: lax.linalg.householder_product(X, V),
        lambda: lax.linalg.householder_product(M, V),
    ),
]

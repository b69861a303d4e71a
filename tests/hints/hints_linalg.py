"""Hints of linear algebra: the advice, what is wrong, and what the advice makes of it."""

import stagec
import stagec.numpy as snp
from stagec import lax, nn, random
from stagec.scipy import linalg

X = snp.ones((2, 3))
M = snp.eye(3)
V = snp.array([3.0, 1.0, 2.0])
LA = snp.linalg


CASES = [
    ("pass 'L' or 'U'", lambda: LA.eigh(M, "l"), lambda: (LA.eigh(M, "L"), LA.eigvalsh(M, "U"))),
    (
        "pass full_matrices=False, and numbers from 0 to 2",
        lambda: LA.svd(X, subset_by_index=(0, 1)),
        lambda: LA.svd(X, full_matrices=False, subset_by_index=(0, 1)),
    ),
    (
        "pass full_matrices=False",
        lambda: stagec.grad(lambda x: LA.svd(x)[1].sum())(X),
        lambda: stagec.grad(lambda x: LA.svd(x, full_matrices=False)[1].sum())(X),
    ),
    ("pass matrices with rows and columns", lambda: LA.cond(X[:0]), lambda: LA.cond(X)),
    (
        "pass one matrix, and a vector or a matrix of as many rows; stagec.vmap takes stacks",
        lambda: LA.lstsq(snp.ones((2, 3, 3)), snp.ones((2, 3))),
        lambda: (LA.lstsq(M, V), stagec.vmap(LA.lstsq)(snp.ones((2, 3, 3)), snp.ones((2, 3)))),
    ),
    (
        "differentiate eigvals, or eigh",
        lambda: stagec.jvp(lax.linalg.schur, (M,), (M,)),
        lambda: (stagec.jvp(LA.eigvals, (M,), (M,)), stagec.jvp(LA.eigh, (M,), (M,))),
    ),
    (
        "differentiate eigvals, or eigh; or pass enable_eigvec_derivs=True to lax.linalg.eig",
        lambda: stagec.jvp(LA.eig, (M,), (M,)),
        lambda: stagec.jvp(lambda x: lax.linalg.eig(x, enable_eigvec_derivs=True), (snp.diag(V),), (M,)),
    ),
    (
        "leave sort_eig_vals and select_callable out",
        lambda: lax.linalg.schur(M, sort_eig_vals=True),
        lambda: lax.linalg.schur(M),
    ),
    (
        "pass two numbers from 0 to the number of rows, the smaller one first",
        lambda: lax.linalg.eigh(M, subset_by_index=(1, 4)),
        lambda: lax.linalg.eigh(M, subset_by_index=(1, 3)),
    ),
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
        "a needs the shape of b first, and as many elements in its other axes",
        lambda: LA.tensorsolve(X, V),
        lambda: LA.tensorsolve(M, V),
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
        "differentiate eigh",
        lambda: stagec.grad(lambda x: lax.linalg.tridiagonal(x)[1][0])(M),
        lambda: stagec.grad(lambda x: lax.linalg.eigh(x)[1][0])(M),
    ),
    (
        "differentiate qr, and multiply by its Q",
        lambda: stagec.grad(lambda x: lax.linalg.ormqr(x, V, M).sum())(M),
        lambda: stagec.grad(lambda x: (lax.linalg.qr(x)[0] @ M).sum())(M),
    ),
    (
        "pass one scale for each reflection, and a c with as many rows (columns, if not left) as a has",
        lambda: lax.linalg.ormqr(X, V, M),
        lambda: (lax.linalg.ormqr(M, V, X.T), lax.linalg.ormqr(M, V, X, left=False)),
    ),
    (
        "pass a square matrix of floats and a vector with as many elements; stagec.vmap maps over batches",
        lambda: lax.linalg.cholesky_update(M[None], V),
        lambda: stagec.vmap(lax.linalg.cholesky_update)(M[None], V[None]),
    ),
    (
        "pass square matrices for c_matrix, with as many rows as those of a_matrix",
        lambda: lax.linalg.symmetric_product(X.T, M[:1, :1]),
        lambda: lax.linalg.symmetric_product(X.T, M),
    ),
    (
        "pass three arrays of one shape, and right-hand sides with one further axis",
        lambda: lax.linalg.tridiagonal_solve(V, V, V, V),
        lambda: lax.linalg.tridiagonal_solve(V, V, V, V[:, None]),
    ),
    (
        "pass x.mT, or vmap over batches",
        lambda: lax.linalg.qdwh(X),
        lambda: (lax.linalg.qdwh(X.mT), stagec.vmap(lax.linalg.qdwh)(M[None])),
    ),
    (
        "pass integers, at most one for each row",
        lambda: lax.linalg.lu_pivots_to_permutation(V, 3),
        lambda: lax.linalg.lu_pivots_to_permutation(snp.array([1, 1]), 3),
    ),
    (
        "pass one scale for each column, and no more columns than rows",
        lambda: lax.linalg.householder_product(X, V),
        lambda: lax.linalg.householder_product(M, V),
    ),
]

CASES += [
    ("give b as many rows as a has", lambda: linalg.lu_solve(linalg.lu_factor(M), X), lambda: linalg.solve(M, X.T)),
    (
        "pass 0, 1 or 2",
        lambda: linalg.lu_solve(linalg.lu_factor(M), V, 3),
        lambda: [linalg.lu_solve(linalg.lu_factor(M), V, t) for t in (0, 1, 2)],
    ),
    (
        "pass 'gen', 'sym', 'her' or 'pos'",
        lambda: linalg.solve(M, V, assume_a="spd"),
        lambda: [linalg.solve(M, V, assume_a=kind) for kind in ("gen", "sym", "her", "pos")],
    ),
    (
        "pass 0, 1 or 2, or 'N', 'T' or 'C'",
        lambda: linalg.solve_triangular(M, V, "H"),
        lambda: [linalg.solve_triangular(M, V, t) for t in (0, 1, 2, "N", "T", "C")],
    ),
    (
        "pass 'left' or 'right'",
        lambda: linalg.qr_multiply(M, V, "both"),
        lambda: [linalg.qr_multiply(M, V, mode) for mode in ("left", "right")],
    ),
    (
        "pass a c with as many rows as Q has columns, or, for 'right', as many columns as a has rows",
        lambda: linalg.qr_multiply(M, X, "left"),
        lambda: (linalg.qr_multiply(M, X.T, "left"), linalg.qr_multiply(M, X)),
    ),
    (
        "pass a direction of the shape of A",
        lambda: linalg.expm_frechet(M, V),
        lambda: linalg.expm_frechet(M, M),
    ),
    (
        "pass two vectors, the second one element shorter; stagec.vmap maps over batches",
        lambda: linalg.eigh_tridiagonal(M, M),
        lambda: stagec.vmap(linalg.eigh_tridiagonal)(M, M[:, :2]),
    ),
    (
        "compute all of them, and select with a mask outside of jit",
        lambda: linalg.eigh_tridiagonal(V, V[:2], select="v", select_range=(0, 1)),
        lambda: (values := linalg.eigh_tridiagonal(V, V[:2], eigvals_only=True))[values > 0],
    ),
    (
        "pass select='a', or select='i' and the numbers of the first and the last eigenvalue",
        lambda: linalg.eigh_tridiagonal(V, V[:2], select="i"),
        lambda: [linalg.eigh_tridiagonal(V, V[:2], select=s, select_range=(0, 1)) for s in "ai"],
    ),
    (
        "pass 'full', 'economic' or 'r'",
        lambda: linalg.qr(M, mode="reduced"),
        lambda: [linalg.qr(X, mode=mode) for mode in ("full", "economic", "r")],
    ),
    ("leave eigvals out", lambda: linalg.eigh(M, eigvals=(0, 1)), lambda: linalg.eigh(M)),
    ("use 1, 2 or 3", lambda: linalg.eigh(M, M, type=4), lambda: [linalg.eigh(M, M, type=t) for t in (1, 2, 3)]),
    (
        "pass 'right' or 'left', and 'svd' or 'qdwh'",
        lambda: linalg.polar(M, "both"),
        lambda: [linalg.polar(M, side, method=how) for side in ("right", "left") for how in ("svd", "qdwh")],
    ),
    (
        "pass arrays with at most two axes",
        lambda: linalg.block_diag(snp.ones((2, 2, 2))),
        lambda: linalg.block_diag(X, V, 1.0),
    ),
    ("pass two coefficients or more", lambda: linalg.companion(V[:1]), lambda: linalg.companion(V)),
    (
        "pass None, 'sqrtn' or 'n'",
        lambda: linalg.dft(4, "ortho"),
        lambda: [linalg.dft(4, s) for s in (None, "sqrtn", "n")],
    ),
    ("pass 1, 2, 4, 8, ...", lambda: linalg.hadamard(3), lambda: [linalg.hadamard(n) for n in (1, 2, 4, 8)]),
    (
        "pass 'symmetric', 'lower' or 'upper'",
        lambda: linalg.pascal(3, "left"),
        lambda: [linalg.pascal(3, kind) for kind in ("symmetric", "lower", "upper")],
    ),
    (
        "pass 'cholesky', 'eigh' or 'svd'",
        lambda: random.multivariate_normal(random.key(0), V, M, method="qr"),
        lambda: [random.multivariate_normal(random.key(0), V, M, method=m) for m in ("cholesky", "eigh", "svd")],
    ),
    (
        "pass vectors of n elements and matrices of n rows and columns",
        lambda: random.multivariate_normal(random.key(0), V, X),
        lambda: random.multivariate_normal(random.key(0), V, X.T @ X + M),
    ),
    (
        "leave the last coefficient of survival out, or add a fecundity",
        lambda: linalg.leslie(V, V),
        lambda: linalg.leslie(V, V[1:]),
    ),
    ("pass coefficients, the highest power first", lambda: snp.polymul(X, V), lambda: snp.polymul(X[0], V)),
    (
        "pass 0 or a positive number",
        lambda: snp.polyder(V, -1),
        lambda: (snp.polyder(V, 0), snp.polyint(V, 1), snp.polyfit(V, V, 1)),
    ),
    ("pass one, or one for each", lambda: snp.polyint(V, 2, V), lambda: snp.polyint(V, 2, V[:2])),
    ("pass a vector of roots, or a square matrix", lambda: snp.poly(X), lambda: (snp.poly(V), snp.poly(M))),
    ("pass a vector x, and as many rows of y", lambda: snp.polyfit(V, X, 1), lambda: snp.polyfit(V, M, 1)),
    ("pass one weight for each point", lambda: snp.polyfit(V, V, 1, w=V[:2]), lambda: snp.polyfit(V, V, 1, w=V)),
    (
        "fit more points than coefficients, or pass cov='unscaled'",
        lambda: snp.polyfit(V, V, 2, cov=True),
        lambda: (snp.polyfit(V, V, 1, cov=True), snp.polyfit(V, V, 2, cov="unscaled")),
    ),
    (
        "pass a vector that is not empty, and a positive n",
        lambda: linalg.convolution_matrix(V, 0),
        lambda: linalg.convolution_matrix(V, 1),
    ),
    (
        "pass 'full', 'same' or 'valid' to it",
        lambda: linalg.convolution_matrix(V, 2, "x"),
        lambda: [linalg.convolution_matrix(V, 2, mode) for mode in ("full", "same", "valid")],
    ),
    ("pass one coefficient or more", lambda: linalg.fiedler_companion(V[:0]), lambda: linalg.fiedler_companion(V[:1])),
    (
        "give orthogonal weights two axes or more",
        lambda: nn.initializers.orthogonal()(random.key(0), (3,)),
        lambda: nn.initializers.orthogonal()(random.key(0), (3, 1)),
    ),
    (
        "give a window of one to three axes, then inputs, and at least as many outputs",
        lambda: nn.initializers.delta_orthogonal()(random.key(0), (3, 3, 2)),
        lambda: nn.initializers.delta_orthogonal()(random.key(0), (3, 2, 3)),
    ),
    (
        "pass 'real' or 'complex'",
        lambda: linalg.schur(M, "x"),
        lambda: [linalg.schur(M, output) for output in ("real", "complex")],
    ),
    ("pass both results of schur", lambda: linalg.rsf2csf(M, X), lambda: linalg.rsf2csf(*linalg.schur(M))),
    (
        "pass 'schur' or 'eigen'",
        lambda: linalg.solve_sylvester(M, M, M, method="x"),
        lambda: [linalg.solve_sylvester(M, M, M, method=method) for method in ("schur", "eigen")],
    ),
    (
        "pass square A and B, and C with the rows of A and the columns of B",
        lambda: linalg.solve_sylvester(M, M, X),
        lambda: linalg.solve_sylvester(snp.eye(2), M, X),
    ),
]

"""`stagec.scipy.linalg`."""

from __future__ import annotations

import numpy as np
import scipy.linalg

import stagec.numpy as snp
from function_rows.drawing import Call, Draw, call
from function_rows.linear import (
    eigen_rebuilt,
    matrix,
    one_square,
    one_system,
    positive,
    rebuilt,
    schur_rebuilt,
    singular_rebuilt,
    transposed,
)
from function_rows.row import Row


def row(name: str, draw, oracle=None, **options) -> Row:
    options = {"scaled": True, "loose": 60, **options}
    return Row(f"scipy.linalg.{name}", draw, oracle or getattr(scipy.linalg, name), **options)


def _vector(s: Draw, low: int = 1) -> np.ndarray:
    return s.array((s.whole(low, 5),), s.kind("if"), edges=False)


def _toeplitz(s: Draw) -> Call:
    kind = s.kind("if")
    c, r = s.array((s.whole(1, 4),), kind), s.array((s.whole(1, 4),), kind)
    return s.one_of(call(c), call(c, r))


def _size(low: int, high: int):
    return lambda s: call(s.whole(low, high))


def _cho_solve(s: Draw) -> Call:
    x = positive(s, ()).args[0]
    return call((np.linalg.cholesky(x), True), s.array((len(x), 2), x.dtype, -2, 2))


def _a_triangle(made: Call, found):
    return (snp.tril if made.kwargs["lower"] else snp.triu)(found[0])


def _lu_solve(s: Draw) -> Call:
    x = matrix(s, kinds="f", batch=())
    lu, pivots = scipy.linalg.lu_factor(x)
    return call((lu, pivots.astype(np.int32)), s.array((len(x), 2), x.dtype, -2, 2), s.one_of(0, 1))


def _solve_triangular(s: Draw) -> Call:
    lower = s.chance(0.5)
    a = (np.tril if lower else np.triu)(matrix(s, batch=()))
    return call(
        a, s.array((len(a), 2), a.dtype, -2, 2), trans=s.one_of(0, 1, 2), lower=lower, unit_diagonal=s.chance(0.3)
    )


def _sylvester(s: Draw) -> Call:
    a, b = matrix(s, batch=(), kinds="f"), matrix(s, batch=(), kinds="f")
    return call(a, b, s.array((len(a), len(b)), a.dtype, -2, 2))


def _tridiagonal_eigh(s: Draw) -> Call:
    n, kind = s.whole(2, 5), s.kind("f")
    return call(s.array((n,), kind, -2, 2), s.array((n - 1,), kind, 0.5, 2), eigvals_only=True)


def _blocks(s: Draw) -> Call:
    kind = s.kind("if")
    return call(*(s.array((s.whole(1, 3), s.whole(1, 3)), kind) for _ in range(s.whole(1, 3))))


def _small(s: Draw) -> np.ndarray:
    return s.array((n := s.whole(1, 4), n), s.kind("fc"), -1, 1)


def _expm(x):
    return scipy.linalg.expm(x.astype(np.complex128 if x.dtype.kind == "c" else np.float64))


def _frechet(s: Draw) -> Call:
    x = s.array((n := s.whole(1, 4), n), s.kind("f"), -1, 1)
    return call(x, s.array(x.shape, x.dtype, -1, 1))


def _sqrtm(s: Draw) -> Call:
    return call(np.asarray(positive(s, ()).args[0]))


def _polar_draw(s: Draw) -> Call:
    return call(matrix(s, batch=(), kinds="f"))


ROWS = [
    row("block_diag", _blocks),
    *(row(n, lambda s: call(_vector(s))) for n in ("circulant", "fiedler")),
    row("companion", lambda s: call(s.array((s.whole(2, 5),), s.kind("f"), 0.5, 2))),
    row("fiedler_companion", lambda s: call(s.array((s.whole(2, 5),), s.kind("f"), 0.5, 2))),
    row("toeplitz", _toeplitz),
    row("hankel", _toeplitz),
    row(
        "leslie",
        lambda s: call(s.array((n := s.whole(2, 4),), "float32", 1, 2), s.array((n - 1,), "float32", 0.2, 1)),
    ),
    row("convolution_matrix", lambda s: call(_vector(s), s.whole(1, 4), s.one_of("full", "same", "valid"))),
    row("dft", _size(1, 5), static=True),
    row("hadamard", lambda s: call(s.one_of(1, 2, 4, 8)), static=True),
    row("helmert", _size(2, 5), static=True),
    row("hilbert", _size(1, 5), static=True),
    row("invhilbert", _size(1, 4), static=True),
    row("pascal", _size(1, 5), static=True, like_jax=False, note="JAX has float32 under 64 bits too"),
    row("invpascal", _size(1, 5), static=True),
    row(
        "cho_factor",
        lambda s: call(*positive(s, ()).args, lower=s.chance(0.5)),
        batched=False,
        like_jax=False,
        invariant=_a_triangle,
    ),
    row("cho_solve", _cho_solve),
    row("cholesky", lambda s: call(*positive(s, ()).args, lower=s.chance(0.5))),
    row("det", one_square),
    row("inv", one_square),
    row(
        "eigh",
        lambda s: call((lambda x: (x + transposed(x)).astype(x.dtype))(matrix(s, batch=()))),
        invariant=eigen_rebuilt,
    ),
    row("eigh_tridiagonal", _tridiagonal_eigh),
    row("expm", lambda s: call(_small(s)), _expm),
    row("expm_frechet", _frechet),
    row(
        "hessenberg",
        lambda s: call(matrix(s, batch=(), kinds="f")),
        lambda x: scipy.linalg.hessenberg(x),
        invariant=lambda made, found: abs(found),
        derivative="refused",
    ),
    row("lu", lambda s: call(matrix(s, s.whole(1, 4), s.whole(1, 4), batch=()))),
    row("lu_factor", one_square),
    row("lu_solve", _lu_solve),
    row("polar", _polar_draw),
    row(
        "qr",
        lambda s: call(matrix(s, s.whole(1, 4), s.whole(1, 4), batch=()), mode="economic"),
        invariant=rebuilt,
    ),
    row("schur", lambda s: call(matrix(s, batch=(), kinds="f")), invariant=schur_rebuilt, derivative="refused"),
    row("solve", one_system),
    row("solve_triangular", _solve_triangular),
    row("solve_sylvester", _sylvester, loose=600),
    row("sqrtm", _sqrtm),
    row(
        "svd",
        lambda s: call(matrix(s, s.whole(1, 4), s.whole(1, 4), batch=()), full_matrices=s.chance(0.5) and not s.smooth),
        invariant=singular_rebuilt,
    ),
]

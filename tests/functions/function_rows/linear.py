"""`stagec.numpy.linalg`, and what decides about factors that are not unique."""

from __future__ import annotations

import itertools

import numpy as np

import stagec.numpy as snp
from function_rows.drawing import Call, Draw, call
from function_rows.row import Row


def transposed(x):
    return x.conj().swapaxes(-1, -2)


def matrix(
    s: Draw, m: int | None = None, n: int | None = None, kinds: str = "fc", batch=None, low: int = 1
) -> np.ndarray:
    """A matrix, or several, of random elements. Square ones are far from singular."""
    m = s.whole(low, 4) if m is None else m
    n = m if n is None else n
    batch = s.shape(0, 2) if batch is None else batch
    x = s.array((*batch, m, n), s.kind(kinds), -1, 1)
    return x + (2.5 + np.arange(m) * 0.7)[:, None].astype(x.dtype) * np.eye(m, n, dtype=x.dtype)


def square(s: Draw) -> Call:
    return call(matrix(s, low=0))


def a_square(s: Draw) -> Call:
    return call(matrix(s))


def one_square(s: Draw) -> Call:
    return call(matrix(s, batch=()))


def tall(s: Draw) -> Call:
    return call(matrix(s, s.whole(1, 4), s.whole(1, 4)))


def hermitian(s: Draw, low: int = 1) -> np.ndarray:
    x = matrix(s, low=low)
    return (x + transposed(x)).astype(x.dtype)


def a_hermitian(s: Draw) -> Call:
    return call(hermitian(s))


def triangle(s: Draw, lower: bool) -> np.ndarray:
    return (np.tril if lower else np.triu)(matrix(s))


def product(*parts):
    """Values that do not depend on signs or phases of vectors."""
    return parts[0] if len(parts) == 1 else parts[0] @ parts[1]


def system(s: Draw) -> Call:
    a = matrix(s)
    return call(a, s.array((*a.shape[:-1], s.whole(1, 3)), a.dtype, -2, 2))


def one_system(s: Draw) -> Call:
    a = matrix(s, batch=())
    return call(a, s.array(s.one_of(a.shape[:1], (*a.shape[:1], 2)), a.dtype, -2, 2))


def least_squares(s: Draw) -> Call:
    a = matrix(s, s.whole(4, 5), s.whole(1, 3), "f", ())
    return call(a, s.array(s.one_of(a.shape[:1], (*a.shape[:1], 2)), a.dtype, -2, 2))


def _norm(s: Draw) -> Call:
    x = s.array(s.shape(1, 3, empty=False), s.kind("ifc"), *((0.5, 2) if s.smooth else ()))
    if x.ndim > 1 and s.chance(0.4):
        return call(x, s.one_of(None, "fro", 1, -1, np.inf, -np.inf), (0, 1), keepdims=s.chance(0.5))
    return call(x, s.one_of(None, 1, 2, 3, np.inf, -np.inf, 0), s.axis(x.ndim, none=False), keepdims=s.chance(0.5))


def _matrix_norm(s: Draw) -> Call:
    return call(
        matrix(s, s.whole(1, 4), s.whole(1, 4)),
        ord=s.one_of("fro", "nuc", 1, -1, 2, -2, np.inf),
        keepdims=s.chance(0.5),
    )


def _vector_norm(s: Draw) -> Call:
    x = s.array(s.shape(1, 3, empty=False), s.kind("fc"), 0.5, 2)
    return call(x, axis=s.axis(x.ndim, True), keepdims=s.chance(0.5), ord=s.one_of(1, 2, 3, np.inf, -np.inf, 0))


def _power(s: Draw) -> Call:
    return call(matrix(s, kinds="ifc"), s.whole(0, 4))


def _cross(s: Draw) -> Call:
    kind, batch = s.kind("if"), s.shape(0, 2)
    return call(s.array((*batch, 3), kind), s.array((*batch, 3), kind))


def _chain(s: Draw) -> Call:
    sizes = [s.whole(1, 4) for _ in range(s.whole(3, 5))]
    kind = s.kind("fc")
    return call([s.array(p, kind, -2, 2) for p in itertools.pairwise(sizes)])


def _tensorinv(s: Draw) -> Call:
    x = matrix(s, 4, batch=())
    return call(x.reshape(2, 2, 4), 2) if s.chance(0.5) else call(x.reshape(4, 2, 2), 1)


def _tensorsolve(s: Draw) -> Call:
    x = matrix(s, 4, batch=())
    return call(x.reshape(2, 2, 4), s.array((2, 2), x.dtype, -2, 2))


def _mode(s: Draw) -> Call:
    return call(*tall(s).args, mode=s.one_of("reduced", "complete", "r"))


def rebuilt(made: Call, found):
    """Q R."""
    return abs(found) if made.kwargs.get("mode") == "r" else product(*found)


def eigen_rebuilt(made: Call, found):
    values, vectors = found
    return [snp.sort(values, -1), (vectors * values[..., None, :]) @ transposed(vectors)]


def singular_rebuilt(made: Call, found):
    u, s, vh = found
    k = s.shape[-1]
    return [s, (u[..., :, :k] * s[..., None, :]) @ vh[..., :k, :]]


def svd_options(s: Draw) -> Call:
    return call(*tall(s).args, full_matrices=s.chance(0.5) and not s.smooth)


def in_order(made: Call, found):
    order = snp.lexsort((found.imag.round(2), found.real.round(2)), axis=-1)
    return snp.take_along_axis(found, order, -1)


def eig_rebuilt(made: Call, found):
    values, vectors = map(np.asarray, found)
    return [in_order(made, values), np.matmul(vectors * values[..., None, :], np.linalg.inv(vectors))]


def _outer(s: Draw) -> Call:
    kind = s.kind("ifc")
    return call(s.array((s.whole(0, 4),), kind), s.array((s.whole(0, 4),), kind))


def _vecdot(s: Draw) -> Call:
    shape, kind = s.shape(1, 3), s.kind("ifc")
    return call(s.array(shape, kind), s.array(shape, kind))


def _matmul(s: Draw) -> Call:
    kind, batch, k = s.kind("ifc"), s.shape(0, 2), s.whole(0, 3)
    return call(s.array((*batch, s.whole(0, 3), k), kind), s.array((*batch, k, s.whole(0, 3)), kind))


def _tensordot(s: Draw) -> Call:
    kind, k = s.kind("ifc"), s.whole(0, 3)
    return call(s.array((*s.shape(0, 2), k), kind), s.array((k, *s.shape(0, 2)), kind), axes=1)


def row(name: str, draw, oracle=None, **options) -> Row:
    options = {"scaled": True, "loose": 30, **options}
    return Row(f"numpy.linalg.{name}", draw, oracle or getattr(np.linalg, name), **options)


def positive(s: Draw, batch=None) -> Call:
    x = matrix(s, batch=batch)
    return call((np.matmul(x, transposed(x)) + np.eye(x.shape[-1])).astype(x.dtype))


def schur_rebuilt(made: Call, found):
    t, z = found
    return z @ t @ transposed(z)


ROWS = [
    row("cholesky", positive),
    row("cond", a_square),
    row("cross", _cross),
    row("det", square),
    row("slogdet", square),
    row("inv", square),
    row("pinv", tall),
    row("diagonal", lambda s: call(s.array(s.shape(2, 4), s.kind()), offset=s.whole(-2, 2))),
    row("trace", lambda s: call(s.array(s.shape(2, 4), s.kind("ifc")), offset=s.whole(-2, 2))),
    row("matrix_transpose", lambda s: call(s.array(s.shape(2, 4), s.kind()))),
    row("eig", square, invariant=eig_rebuilt, derivative="refused"),
    row("eigvals", square, invariant=in_order),
    row("eigh", a_hermitian, invariant=eigen_rebuilt),
    row("eigvalsh", a_hermitian),
    row("qr", _mode, invariant=rebuilt),
    row("svd", svd_options, invariant=singular_rebuilt),
    row("svdvals", tall),
    row("solve", system),
    row("lstsq", least_squares, lambda a, b: np.linalg.lstsq(a, b)),
    row("matrix_norm", _matrix_norm),
    row("vector_norm", _vector_norm),
    row("norm", _norm),
    row("matrix_power", _power),
    row("matrix_rank", tall),
    row("multi_dot", _chain),
    row("outer", _outer),
    row("vecdot", _vecdot),
    row("matmul", _matmul),
    row("tensordot", _tensordot),
    row("tensorinv", _tensorinv),
    row("tensorsolve", _tensorsolve),
]

"""`stagec.numpy`: products of arrays, and polynomials."""

from __future__ import annotations

import numpy as np

from function_rows.drawing import Call, Draw, call
from function_rows.row import Row, promoted

KINDS = "biufc"


def _pair(s: Draw, *shapes) -> Call:
    kind = s.kind(KINDS)
    other = kind if s.smooth or s.chance(0.7) else s.kind(KINDS)
    return call(s.array(shapes[0], kind), s.array(shapes[1], other))


def _matmul(s: Draw) -> Call:
    batch, m, k, n = s.shape(0, 2), s.whole(0, 4), s.whole(0, 4), s.whole(0, 4)
    left = s.one_of((k,), (*batch, m, k))
    right = s.one_of((k,), (*s.broadcast(batch), k, n))
    return _pair(s, left, right)


def _dot(s: Draw) -> Call:
    k = s.whole(0, 4)
    if s.chance(0.2):
        kind = s.kind(KINDS)  # NumPy's 0 * inf is 0 here
        return call(s.array((), kind), s.array(s.shape(), kind, edges=False))
    return _pair(s, (*s.shape(0, 2), k), s.one_of((k,), (*s.shape(0, 1), k, s.whole(0, 3))))


def _inner(s: Draw) -> Call:
    k = s.whole(0, 4)
    return _pair(s, (*s.shape(0, 2), k), (*s.shape(0, 2), k))


def _vdot(s: Draw) -> Call:
    shape = s.shape(0, 2)
    return _pair(s, shape, shape)


def _vecdot(s: Draw) -> Call:
    k, batch = s.whole(0, 4), s.shape(0, 2)
    return _pair(s, (*batch, k), (*s.broadcast(batch), k))


def _matvec(s: Draw) -> Call:
    batch, m, k = s.shape(0, 2), s.whole(0, 4), s.whole(0, 4)
    return _pair(s, (*batch, m, k), (*s.broadcast(batch), k))


def _vecmat(s: Draw) -> Call:
    batch, k, n = s.shape(0, 2), s.whole(0, 4), s.whole(0, 4)
    return _pair(s, (*batch, k), (*s.broadcast(batch), k, n))


def _tensordot(s: Draw) -> Call:
    shared = s.shape(0, 2)
    pair = _pair(s, (*s.shape(0, 2), *shared), (*shared, *s.shape(0, 2))).args
    n = len(shared)
    axes = s.one_of(n, (list(range(pair[0].ndim - n, pair[0].ndim)), list(range(n))))
    return call(*pair, axes)


EINSUMS = (
    ("ij,jk->ik", "ab", "bc"), ("ij,ij->", "ab", "ab"), ("ii->i", "aa"), ("ii", "aa"), ("bij,bjk->bik", "cab", "cbd"),
    ("ij->ji", "ab"), ("i,j", "a", "b"), ("...i,...i->...", "dca", "ca"), ("ij,jk,kl->il", "ab", "bc", "cd"),
    ("ijk,k->ji", "abc", "c"), ("i,i,i->i", "a", "a", "a"), ("ij->", "ab"), ("iij->j", "aab"),
)  # fmt: skip


def _einsum(s: Draw) -> Call:
    text, *letters = EINSUMS[s.rng.integers(len(EINSUMS))]
    sizes, kind = {c: s.whole(1, 4) if s.smooth else s.whole(0, 4) for c in "abcd"}, s.kind("iufc")
    return call(text, *(s.array([sizes[c] for c in word], kind) for word in letters))


def _cross(s: Draw) -> Call:
    batch = s.shape(0, 2)
    return _pair(s, (*batch, 3), (*s.broadcast(batch), 3))


def _polynomials(s: Draw, low: int = 1) -> Call:
    kind = s.kind("ifc")
    return call(*(s.array((s.whole(low, 5),), kind, 1, 3) for _ in range(2)))


def _polyval(s: Draw) -> Call:
    kind = s.kind("ifc")
    return call(s.array((s.whole(1, 4),), kind, -2, 2), s.array(s.shape(0, 3), kind, -2, 2))


def _polyder(s: Draw) -> Call:
    return call(s.array((s.whole(1, 5),), s.kind("fc")), s.whole(0, 3))


def _polyint(s: Draw) -> Call:
    return call(s.array((s.whole(1, 5),), s.kind("fc"), -2, 2), s.whole(0, 3))


def _polydiv(s: Draw) -> Call:
    kind = s.kind("f")
    return call(s.array((s.whole(3, 5),), kind, 0.5, 2), s.array((s.whole(2, 3),), kind, 0.5, 2))


def _divided(u, v):
    """Zeros in front are kept, as in JAX."""
    return [np.pad(part, (n - part.size, 0)) for part, n in zip(np.polydiv(u, v), (u.size - v.size + 1, u.size))]


def _polyfit(s: Draw) -> Call:
    n, kind = s.whole(4, 7), s.kind("f")
    x = (np.arange(n) * 0.7 - 1 + s.values.uniform(-0.2, 0.2, n)).astype(kind)
    return call(x, s.array(s.one_of((n,), (n, 2)), kind, -2, 2), s.whole(0, 2))


def _polyfit_oracle(x, y, degree):
    return np.polyfit(x.astype(np.float64), y.astype(np.float64), degree)


def _poly(s: Draw) -> Call:
    return call(s.array((s.whole(0, 4),), s.kind("fc"), -2, 2))


def _roots(s: Draw) -> Call:
    return call(s.array((s.whole(1, 5),), s.kind("f"), 0.5, 2))


def _in_order(made: Call, found):
    found = np.asarray(found)
    return found[np.lexsort((found.imag.round(3), found.real.round(3)))]


def row(name: str, draw, oracle=None, **options) -> Row:
    options = {"scaled": True, "loose": 4, **options}
    return Row(f"numpy.{name}", draw, oracle or promoted(getattr(np, name)), **options)


def _cast(function):
    def run(a, b, *rest):
        common = np.result_type(a, b)
        return function(a.astype(common), b.astype(common), *rest)

    return run


ROWS = [
    *(row(n, draw, _cast(getattr(np, n))) for n, draw in {
        "matmul": _matmul, "dot": _dot, "inner": _inner, "vdot": _vdot, "vecdot": _vecdot, "matvec": _matvec,
        "vecmat": _vecmat, "tensordot": _tensordot, "cross": _cross, "polyadd": _polynomials, "polysub": _polynomials,
        "polymul": _polynomials,
    }.items()),
    row("outer", lambda s: _pair(s, s.shape(0, 2), s.shape(0, 2))),
    row("kron", lambda s: _pair(s, s.shape(0, 3), s.shape(0, 3))),
    row("einsum", _einsum, np.einsum),
    row("polyval", _polyval, loose=8),
    row("polyder", _polyder, np.polyder),
    row("polyint", _polyint, np.polyint),
    row("polydiv", _polydiv, _divided, loose=64),
    row("polyfit", _polyfit, _polyfit_oracle, loose=64),
    row("poly", _poly, np.poly, loose=16),
    row("roots", _roots, np.roots, loose=100, invariant=_in_order, concrete=True, derivative="refused"),
]  # fmt: skip

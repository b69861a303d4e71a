"""Products: NumPy decides values and shapes, eagerly and compiled."""

from __future__ import annotations

import numpy as np
import pytest
from differential import check

import stagec
import stagec.numpy as snp

RNG = np.random.default_rng(0)


def integers(*shape: int) -> np.ndarray:
    return RNG.integers(-4, 5, shape).astype(np.float32)


M, N, V, W = integers(3, 4), integers(4, 5), integers(4), integers(3)
B, C = integers(2, 3, 4), integers(2, 4, 5)
Z = (integers(3, 3) + 1j * integers(3, 3)).astype(np.complex64)


def test_matmul_matches_numpy() -> None:
    check(
        [
            lambda xp, m, n, v, w, b, c: xp.matmul(m, n),
            lambda xp, m, n, v, w, b, c: xp.matmul(m, v),
            lambda xp, m, n, v, w, b, c: xp.matmul(w, m),
            lambda xp, m, n, v, w, b, c: xp.matmul(v, v),
            lambda xp, m, n, v, w, b, c: b @ c,
            lambda xp, m, n, v, w, b, c: xp.matmul(b, n),
            lambda xp, m, n, v, w, b, c: xp.matmul(m, c),
            lambda xp, m, n, v, w, b, c: xp.matmul(b, v),
            lambda xp, m, n, v, w, b, c: xp.matmul(w, b),
            lambda xp, m, n, v, w, b, c: xp.matmul(b[:, None], c[None]),
            lambda xp, m, n, v, w, b, c: xp.matmul(b[:1], c),
            lambda xp, m, n, v, w, b, c: xp.matmul(b[None, :1], c[:, None]),
            lambda xp, m, n, v, w, b, c: xp.matmul(m[:, :1], n[:1]),
            lambda xp, m, n, v, w, b, c: xp.matmul(b[:1, :1], c[:1]),
        ],
        [M, N, V, W, B, C],
    )


def test_other_products_match_numpy() -> None:
    check(
        [
            lambda xp, m, n, v, w, b, z: xp.dot(m, n),
            lambda xp, m, n, v, w, b, z: xp.dot(b, n),
            lambda xp, m, n, v, w, b, z: xp.dot(v, v),
            lambda xp, m, n, v, w, b, z: xp.dot(m, 2),
            lambda xp, m, n, v, w, b, z: xp.dot(b, b.transpose(0, 2, 1)),
            lambda xp, m, n, v, w, b, z: xp.vdot(z, z),
            lambda xp, m, n, v, w, b, z: xp.vdot(m, m),
            lambda xp, m, n, v, w, b, z: xp.vecdot(b, v),
            lambda xp, m, n, v, w, b, z: xp.vecdot(z, z, axis=0),
            lambda xp, m, n, v, w, b, z: xp.matvec(b, v),
            lambda xp, m, n, v, w, b, z: xp.vecmat(z[0], z),
            lambda xp, m, n, v, w, b, z: xp.inner(m, b),
            lambda xp, m, n, v, w, b, z: xp.inner(v, v),
            lambda xp, m, n, v, w, b, z: xp.outer(v, w),
            lambda xp, m, n, v, w, b, z: xp.outer(m, w),
            lambda xp, m, n, v, w, b, z: xp.tensordot(b, n, 1),
            lambda xp, m, n, v, w, b, z: xp.tensordot(b, m, ([1, 2], [0, 1])),
            lambda xp, m, n, v, w, b, z: xp.tensordot(v, w, 0),
            lambda xp, m, n, v, w, b, z: xp.kron(m, n),
            lambda xp, m, n, v, w, b, z: xp.kron(v, m),
            lambda xp, m, n, v, w, b, z: xp.cross(b[..., :3], w),
            lambda xp, m, n, v, w, b, z: xp.cross(w, b[..., :3]),
            lambda xp, m, n, v, w, b, z: xp.cross(m[:, :3], n[:3, :3], axisa=0, axisc=0),
            lambda xp, m, n, v, w, b, z: xp.trace(z),
            lambda xp, m, n, v, w, b, z: xp.trace(b, 1, 2, 1),
            lambda xp, m, n, v, w, b, z: [xp.diagonal(b, k, 1, 2) for k in (-1, 0, 2, 9)],
            lambda xp, m, n, v, w, b, z: [xp.diag(v, k) for k in (-1, 0, 2)],
            lambda xp, m, n, v, w, b, z: [xp.diag(m, k) for k in (-1, 0, 2)],
            lambda xp, m, n, v, w, b, z: xp.diagflat(m, 1),
            lambda xp, m, n, v, w, b, z: [xp.tril(b, k) for k in (-1, 0, 2)],
            lambda xp, m, n, v, w, b, z: [xp.triu(b, k) for k in (-1, 0, 2)],
            lambda xp, m, n, v, w, b, z: [xp.vander(v, 3), xp.vander(w, 2, increasing=True)],
        ],
        [M, N, V, W, B, Z],
    )


def test_einsum_matches_numpy() -> None:
    s, t = integers(3, 3), integers(2, 2, 3)
    check(
        [
            lambda xp, m, n, v, b, s, t: xp.einsum("ij,jk->ik", m, n),
            lambda xp, m, n, v, b, s, t: xp.einsum("ij,jk", m, n),
            lambda xp, m, n, v, b, s, t: xp.einsum("ij,jk->ki", m, n),
            lambda xp, m, n, v, b, s, t: xp.einsum("ii", s),
            lambda xp, m, n, v, b, s, t: xp.einsum("ii->i", s),
            lambda xp, m, n, v, b, s, t: xp.einsum("iij->ji", t),
            lambda xp, m, n, v, b, s, t: xp.einsum("ij->", m),
            lambda xp, m, n, v, b, s, t: xp.einsum("ba", m),
            lambda xp, m, n, v, b, s, t: xp.einsum("i,j->ji", v, v),
            lambda xp, m, n, v, b, s, t: xp.einsum("i,i->i", v, v),
            lambda xp, m, n, v, b, s, t: xp.einsum("...ij,...jk->...ik", b, n),
            lambda xp, m, n, v, b, s, t: xp.einsum("...j,j->...", b, v),
            lambda xp, m, n, v, b, s, t: xp.einsum("b...j,jk", b, n),
            lambda xp, m, n, v, b, s, t: xp.einsum("bij,bij->b", b, b),
            lambda xp, m, n, v, b, s, t: xp.einsum("bij,ij->", b, m),
            lambda xp, m, n, v, b, s, t: xp.einsum("bij,jk,k->bi", b, n, xp.ones(5, "float32")),
            lambda xp, m, n, v, b, s, t: xp.einsum("ij,jk,kl,l->i", s, s, s, s[0]),
            lambda xp, m, n, v, b, s, t: xp.einsum("ij,jk,ki", s, s, s, optimize=False),
            lambda xp, m, n, v, b, s, t: xp.einsum(m, [0, 1], n, [1, 2], [0, 2]),
            lambda xp, m, n, v, b, s, t: xp.einsum(b, [..., 0, 1], [..., 1, 0]),
            lambda xp, m, n, v, b, s, t: xp.einsum("ij,kj->ikj", m[:1], m),
            lambda xp, m, n, v, b, s, t: xp.einsum("ij,ij->ij", m[:1], m),
        ],
        [M, N, V, B, s, t],
    )


def test_linalg_matches_numpy() -> None:
    check(
        [
            *[lambda xp, m, v, b, z, o=o: xp.linalg.norm(v, o) for o in (None, 0, 1, 2, 3, -1, np.inf, -np.inf)],
            *[lambda xp, m, v, b, z, o=o: xp.linalg.norm(m, o) for o in (None, "fro", 1, -1, np.inf, -np.inf)],
            lambda xp, m, v, b, z: xp.linalg.norm(b),
            lambda xp, m, v, b, z: xp.linalg.norm(z, axis=0, keepdims=True),
            lambda xp, m, v, b, z: xp.linalg.norm(b, 1, axis=(2, 0)),
            lambda xp, m, v, b, z: xp.linalg.norm(b, np.inf, axis=(0, 2), keepdims=True),
            lambda xp, m, v, b, z: xp.linalg.vector_norm(b, axis=(0, 1)),
            lambda xp, m, v, b, z: xp.linalg.matrix_norm(b),
            lambda xp, m, v, b, z: [xp.linalg.matrix_power(z, k) for k in (0, 1, 2, 5)],
            lambda xp, m, v, b, z: xp.linalg.multi_dot([v, m.T, m, m.T]),
            lambda xp, m, v, b, z: xp.linalg.outer(v, v),
            lambda xp, m, v, b, z: xp.linalg.trace(b),
            lambda xp, m, v, b, z: xp.linalg.diagonal(b, offset=1),
            lambda xp, m, v, b, z: xp.linalg.cross(b[..., :3], b[..., 1:]),
            lambda xp, m, v, b, z: xp.linalg.vecdot(b, v),
            lambda xp, m, v, b, z: xp.linalg.tensordot(b, b, axes=3),
        ],
        [M, V, B, Z],
        1e-4,
    )


def test_integer_and_bool_products_keep_their_dtypes() -> None:
    for dtype in ("bool", "int8", "uint8", "int32", "bfloat16", "float16"):
        x = snp.ones((2, 3), dtype)
        for f in (snp.matmul, stagec.jit(snp.matmul)):
            assert f(x, x.T).dtype == x.dtype
    assert (
        snp.matmul(snp.ones((2, 3), "int8"), snp.ones((3, 2), "int8"), preferred_element_type="int32").dtype == "int32"
    )
    assert snp.einsum("ij->i", snp.ones((2, 3), "bfloat16"), preferred_element_type="float32").dtype == "float32"


def test_half_precision_products_are_summed_in_single() -> None:
    x = np.full((1, 4096), 1.0, snp.bfloat16.dtype)
    for f in (snp.matmul, stagec.jit(snp.matmul)):
        assert float(f(x, x.T)[0, 0]) == 4096.0


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: snp.matmul(snp.ones((2, 3)), snp.ones((2, 3))), "do not match"),
        (lambda: snp.matmul(snp.ones(()), snp.ones(3)), "has no axes"),
        (lambda: snp.dot(snp.ones((2, 3)), snp.ones((2, 3))), "contracting dimensions differ"),
        (lambda: snp.einsum("ij,jk->ik", snp.ones((2, 3)), snp.ones((2, 3))), "label 'j'"),
        (lambda: snp.einsum("ij->k", snp.ones((2, 3))), "label 'k'"),
        (lambda: snp.einsum("ijk", snp.ones((2, 3))), "does not fit"),
        (lambda: snp.einsum("ij,ij", snp.ones((2, 3))), "names 2 operands"),
        (lambda: snp.trace(snp.ones(3)), "less than two axes"),
        (lambda: snp.linalg.norm(snp.ones((2, 2, 2)), 1), "needs a vector or a matrix"),
        (lambda: snp.linalg.matrix_power(snp.ones((2, 3)), 2), "square"),
    ],
)
def test_products_that_do_not_fit_say_why(call, text) -> None:
    with pytest.raises(ValueError, match=text) as caught:
        call()
    assert "Fix:" in str(caught.value)


def test_products_of_bools_are_logical() -> None:
    a, b = M > 0, N > 1
    check(
        [
            lambda xp, a, b: xp.dot(True, a),
            lambda xp, a, b: xp.inner(a, True),
            lambda xp, a, b: xp.outer(a, b),
            lambda xp, a, b: xp.kron(a, b),
            lambda xp, a, b: xp.einsum("ij->", a),
            lambda xp, a, b: xp.einsum("ij,jk->k", a, b),
        ],
        [a, b],
    )
    assert snp.einsum("ij->j", a).dtype == np.bool_ and snp.outer(a, b).dtype == np.bool_


@pytest.mark.parametrize(
    ("a", "b", "fix"),
    [
        ((2, 2), (7, 7), ""),
        ((3,), (4,), ""),
        ((2, 3), (4, 3), "a @ b.mT"),
        ((3, 2), (3, 4), "a.mT @ b"),
        ((2, 3), (2, 3), "a @ b.mT or a.mT @ b"),
        ((3, 2), (4, 3), "b @ a or a.mT @ b.mT"),
        ((3,), (4, 3), "a @ b.mT"),
        ((3, 2), (3,), "a.mT @ b"),
        ((5, 3, 2), (5, 3, 4), "a.mT @ b"),
        ((5, 3, 2), (6, 3, 4), ""),
    ],
)
def test_a_product_that_does_not_match_says_what_would(a, b, fix) -> None:
    values = {"a": snp.ones(a), "b": snp.ones(b)}
    with pytest.raises(stagec.errors.ShapeError, match="do not match") as raised:
        values["a"] @ values["b"]
    assert str(raised.value).partition("  Fix: ")[2] == fix
    for way in fix.split(" or ") if fix else []:
        assert eval(way, values).ndim

"""Orthogonal matrices, and normal vectors with a covariance."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import stagec
import stagec.numpy as snp
from stagec import random

COV = np.array([[2.0, 0.6, 0.0], [0.6, 1.0, -0.3], [0.0, -0.3, 0.5]], "float32")
MEAN = np.array([1.0, -2.0, 0.5], "float32")


def test_orthogonal_matrices():
    for shape, n, m in (((), 3, None), ((2,), 4, 2), ((), 2, 5), ((), 1, None)):
        q = np.asarray(random.orthogonal(random.key(1), n, shape, m=m))
        columns = n if m is None else m
        assert q.shape == (*shape, n, columns)
        gram = q @ q.swapaxes(-1, -2) if n < columns else q.swapaxes(-1, -2) @ q
        np.testing.assert_allclose(gram, np.broadcast_to(np.eye(min(n, columns)), gram.shape), atol=1e-6)
    u = np.asarray(random.orthogonal(random.key(1), 3, dtype=complex))
    np.testing.assert_allclose(u.conj().T @ u, np.eye(3), atol=1e-6)


def test_angles_of_orthogonal_matrices_are_uniform():
    q = np.asarray(random.orthogonal(random.key(3), 2, (2000,)))
    assert stats.kstest(np.arctan2(q[:, 1, 0], q[:, 0, 0]), stats.uniform(-np.pi, 2 * np.pi).cdf).pvalue > 0.01
    assert abs(np.linalg.det(q).mean()) < 0.1


@pytest.mark.parametrize("method", ["cholesky", "eigh", "svd"])
def test_normal_vectors_have_their_mean_and_covariance(method):
    drawn = np.asarray(random.multivariate_normal(random.key(2), MEAN, COV, (20000,), method=method))
    np.testing.assert_allclose(drawn.mean(0), MEAN, atol=0.04)
    np.testing.assert_allclose(np.cov(drawn.T), COV, atol=0.06)


def test_shapes_broadcast():
    covs = np.stack([COV, 2 * COV])
    assert random.multivariate_normal(random.key(0), MEAN, covs).shape == (2, 3)
    assert random.multivariate_normal(random.key(0), np.zeros((4, 1, 3)), covs).shape == (4, 2, 3)
    assert random.multivariate_normal(random.key(0), MEAN, covs, (5, 2)).shape == (5, 2, 3)
    with pytest.raises(stagec.errors.ShapeError):
        random.multivariate_normal(random.key(0), MEAN, covs, (5,))


def test_the_numbers_are_those_of_jax():
    jax = pytest.importorskip("jax")
    key, other = random.key(7), jax.random.key(7)
    made = random.orthogonal(key, 3, (2,)), random.orthogonal(key, 2, m=4), random.orthogonal(key, 3, dtype=complex)
    expected = (
        jax.random.orthogonal(other, 3, (2,)),
        jax.random.orthogonal(other, 2, m=4),
        jax.random.orthogonal(other, 3, dtype=complex),
    )
    drawn = random.multivariate_normal(key, MEAN, COV, (4,))
    for x, y in zip((*made, drawn), (*expected, jax.random.multivariate_normal(other, MEAN, COV, (4,)))):
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), atol=1e-5)


def test_compiled_draws_and_their_derivative():
    def draw(mean):
        return random.multivariate_normal(random.key(0), mean, COV)

    np.testing.assert_allclose(np.asarray(stagec.jit(draw)(MEAN)), np.asarray(draw(MEAN)), rtol=1e-5)
    assert np.asarray(stagec.jacfwd(draw)(snp.asarray(MEAN))).tolist() == np.eye(3).tolist()
    many = stagec.vmap(lambda k: random.orthogonal(k, 2))(random.split(random.key(0), 3))
    assert many.shape == (3, 2, 2)


def test_normal_vectors_of_half_precision():
    mean, cov = np.zeros(2, np.float32), np.eye(2, dtype=np.float32)
    for dtype in ("float16", "bfloat16"):
        assert random.multivariate_normal(random.key(0), mean, cov, (3,), dtype).dtype == dtype

"""Densities by normal kernels: as SciPy's, evaluated and compiled, and drawn from as JAX does."""

from __future__ import annotations

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec.scipy.stats import gaussian_kde

reference = pytest.importorskip("scipy.stats")

RNG = np.random.default_rng(3)
NUMBERS, PAIRS = RNG.normal(size=12), RNG.normal(size=(2, 12))
WEIGHTS = RNG.uniform(size=12)

CASES = [
    (NUMBERS, RNG.normal(size=4), None, None),
    (NUMBERS, RNG.normal(size=4), "silverman", WEIGHTS),
    (PAIRS, RNG.normal(size=(2, 4)), 0.5, None),
    (PAIRS, RNG.normal(size=2), lambda kde: kde.neff**-0.3, WEIGHTS),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_densities_and_integrals_are_those_of_scipy(case):
    samples, points, method, weights = CASES[case]
    expected = reference.gaussian_kde(samples, method, weights)
    made = gaussian_kde(snp.asarray(samples), method, weights)
    center, spread = np.full(made.d, 0.5), np.eye(made.d) / 2

    def results(kde):
        found = [kde(points), kde.pdf(points), kde.logpdf(points), kde.neff, kde.covariance, kde.inv_cov]
        found += [kde.integrate_gaussian(center, spread), kde.integrate_kde(type(kde)(samples * 2, method))]
        return found + ([kde.integrate_box_1d(-0.5, 1.0)] if kde.d == 1 else [])

    for found in (results(made), stagec.jit(results)(made)):
        for x, y in zip(found, results(expected), strict=True):
            np.testing.assert_allclose(np.asarray(x), y, rtol=5e-4, atol=1e-5)


def test_draws_are_those_of_jax():
    made = gaussian_kde(snp.array([0.0, 1.0, 3.0])).resample(stagec.random.key(3), (4,))
    np.testing.assert_allclose(np.asarray(made), [[0.6172059, 3.1285264, 2.9416454, 3.3752112]], rtol=1e-4)


def test_an_estimate_is_a_pytree_with_derivatives():
    kde = gaussian_kde(snp.array([0.0, 1.0, 3.0]))
    leaves, structure = stagec.tree.flatten(kde)
    assert len(leaves) == 5
    again = stagec.tree.unflatten(structure, leaves)
    assert float(again(0.5)[0]) == float(kde(0.5)[0])
    slope = stagec.grad(lambda x: kde.logpdf(x)[0])(0.5)
    ahead, behind = (float(kde.logpdf(0.5 + s)[0]) for s in (1e-2, -1e-2))
    assert float(slope) == pytest.approx((ahead - behind) / 2e-2, rel=1e-2)
    samples = snp.asarray(RNG.normal(size=(3, 6)))
    many = stagec.vmap(lambda x: gaussian_kde(x)(0.5))(samples)
    np.testing.assert_allclose(np.asarray(many), [gaussian_kde(s)(0.5) for s in samples], rtol=1e-5)

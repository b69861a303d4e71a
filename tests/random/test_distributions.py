"""Draws have the distributions that their names promise, and the derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import stagec
import stagec.numpy as snp
from stagec import random

N = 4000

CONTINUOUS = {
    "uniform": (lambda k: random.uniform(k, (N,), minval=-1.0, maxval=3.0), stats.uniform(-1, 4)),
    "normal": (lambda k: random.normal(k, (N,)), stats.norm()),
    "truncated_normal": (lambda k: random.truncated_normal(k, -0.5, 2.0, (N,)), stats.truncnorm(-0.5, 2.0)),
    "exponential": (lambda k: random.exponential(k, (N,)), stats.expon()),
    "cauchy": (lambda k: random.cauchy(k, (N,)), stats.cauchy()),
    "laplace": (lambda k: random.laplace(k, (N,)), stats.laplace()),
    "logistic": (lambda k: random.logistic(k, (N,)), stats.logistic()),
    "gumbel": (lambda k: random.gumbel(k, (N,)), stats.gumbel_r()),
    "gumbel, high": (lambda k: random.gumbel(k, (N,), mode="high"), stats.gumbel_r()),
    "pareto": (lambda k: random.pareto(k, 2.5, (N,)), stats.pareto(2.5)),
    "rayleigh": (lambda k: random.rayleigh(k, 1.5, (N,)), stats.rayleigh(scale=1.5)),
    "weibull_min": (lambda k: random.weibull_min(k, 2.0, 1.5, (N,)), stats.weibull_min(1.5, scale=2)),
    "lognormal": (lambda k: random.lognormal(k, 0.7, (N,)), stats.lognorm(0.7)),
    "maxwell": (lambda k: random.maxwell(k, (N,)), stats.maxwell()),
    "double_sided_maxwell": (
        lambda k: (random.double_sided_maxwell(k, 1.0, 2.0, (N,)) - 1) / 2,
        type("two-sided", (), {"cdf": staticmethod(lambda x: 0.5 + 0.5 * np.sign(x) * stats.maxwell.cdf(abs(x)))}),
    ),
    "triangular": (lambda k: random.triangular(k, 1.0, 2.0, 4.0, (N,)), stats.triang(1 / 3, 1, 3)),
    "wald": (lambda k: random.wald(k, 2.0, (N,)), stats.invgauss(2.0)),
    "gamma": (lambda k: random.gamma(k, 2.5, (N,)), stats.gamma(2.5)),
    "gamma of a small parameter": (lambda k: random.gamma(k, 0.3, (N,)), stats.gamma(0.3)),
    "loggamma": (lambda k: random.loggamma(k, 0.3, (N,)), stats.loggamma(0.3)),
    "approximate gamma": (lambda k: random.gamma(k, 0.3, (N,), method="approximate"), stats.gamma(0.3)),
    "approximate loggamma": (lambda k: random.loggamma(k, 4.0, (N,), method="approximate"), stats.loggamma(4.0)),
    "beta": (lambda k: random.beta(k, 2.0, 0.7, (N,)), stats.beta(2.0, 0.7)),
    "approximate beta": (lambda k: random.beta(k, 2.0, 0.7, (N,), method="approximate"), stats.beta(2.0, 0.7)),
    "dirichlet": (lambda k: random.dirichlet(k, [1.0, 2.0, 3.0], (N,))[:, 1], stats.beta(2, 4)),
    "chisquare": (lambda k: random.chisquare(k, 3.0, (N,)), stats.chi2(3)),
    "f": (lambda k: random.f(k, 3.0, 8.0, (N,)), stats.f(3, 8)),
    "t": (lambda k: random.t(k, 3.0, (N,)), stats.t(3)),
    "generalized_normal": (lambda k: random.generalized_normal(k, 3.0, (N,)), stats.gennorm(3)),
    # The radius of a uniform point in a ball of d dimensions has the distribution function r**d.
    "ball": (lambda k: (random.ball(k, 3, shape=(N,)) ** 2).sum(-1) ** 1.5, stats.uniform()),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous_draws_pass_kolmogorov_and_smirnov(name):
    draw, distribution = CONTINUOUS[name]
    sample = np.asarray(draw(random.key(11)), np.float64)
    assert np.isfinite(sample).all()
    assert stats.kstest(sample, distribution.cdf).pvalue > 0.001


DISCRETE = {
    "randint": (lambda k: random.randint(k, (N,), -2, 5), stats.randint(-2, 5)),
    "bernoulli": (lambda k: random.bernoulli(k, 0.3, (N,)), stats.bernoulli(0.3)),
    "bernoulli, high": (lambda k: random.bernoulli(k, 0.3, (N,), "high"), stats.bernoulli(0.3)),
    "rademacher": (lambda k: (random.rademacher(k, (N,)) + 1) // 2, stats.bernoulli(0.5)),
    "geometric": (lambda k: random.geometric(k, 0.35, (N,)), stats.geom(0.35)),
    "approximate poisson": (lambda k: random.poisson(k, 5.0, (N,), method="approximate"), stats.poisson(5.0)),
    "approximate poisson of many": (
        lambda k: random.poisson(k, 20.0, (N,), method="approximate"),
        stats.poisson(20.0),
    ),
    "poisson": (lambda k: random.poisson(k, 3.5, (N,)), stats.poisson(3.5)),
    "poisson, many": (lambda k: random.poisson(k, 25.0, (N,)), stats.poisson(25.0)),
    "binomial": (lambda k: random.binomial(k, 12.0, 0.2, (N,)), stats.binom(12, 0.2)),
    "binomial, many": (lambda k: random.binomial(k, 60.0, 0.7, (N,)), stats.binom(60, 0.7)),
    "multinomial": (
        lambda k: random.multinomial(k, 12.0, np.float32([0.2, 0.5, 0.3]), shape=(N, 3))[:, 1],
        stats.binom(12, 0.5),
    ),
    "categorical": (
        lambda k: random.categorical(k, snp.log(snp.array([0.25, 0.75])), shape=(N,)),
        stats.bernoulli(0.75),
    ),
    "choice": (lambda k: random.choice(k, 5, (N,)), stats.randint(0, 5)),
    "choice, weighted": (lambda k: random.choice(k, 2, (N,), p=np.float32([0.4, 0.6])), stats.bernoulli(0.6)),
    "permutation": (
        lambda k: random.permutation(k, snp.broadcast_to(snp.arange(5), (N, 5)), 1, independent=True)[:, 3],
        stats.randint(0, 5),
    ),
}


@pytest.mark.parametrize("name", DISCRETE)
def test_discrete_draws_pass_chi_squared(name):
    draw, distribution = DISCRETE[name]
    sample = np.asarray(draw(random.key(13))).astype(np.int64)
    low, high = sample.min(), sample.max()
    values = np.arange(low, high + 1)
    expected = N * distribution.pmf(values)
    observed = np.array([(sample == v).sum() for v in values])
    # Rare values, and what was never drawn, go into one class.
    rare = expected < 5
    rest = N - expected[~rare].sum()
    classes = [*zip(observed[~rare], expected[~rare])]
    if rest > 1e-6 * N:
        classes.append((observed[rare].sum(), rest))
    got, wanted = np.array(classes).T
    assert got.sum() == N
    assert stats.chisquare(got, wanted * N / wanted.sum()).pvalue > 0.001


def test_bits_are_balanced():
    drawn = np.asarray(random.bits(random.key(1), (10_000,)))
    ones = np.unpackbits(drawn.view(np.uint8)).reshape(-1, 32).mean(0)
    assert (abs(ones - 0.5) < 5 * 0.5 / 100).all()


@pytest.mark.parametrize("a", [0.05, 0.5, 1.0, 3.0, 30.0, 500.0])
def test_gamma_numbers_follow_their_parameter(a):
    """The derivative is that of the quantile which the number stands at."""
    with stagec.enable_x64():
        x, slope = stagec.jvp(lambda a: random.gamma(random.key(2), snp.full(50, a)), (a,), (1.0,))
        quantile = stats.gamma.cdf(np.asarray(x), a)
        step = 1e-4 * a
        expected = (stats.gamma.ppf(quantile, a + step) - stats.gamma.ppf(quantile, a - step)) / (2 * step)
        usable = (quantile > 1e-8) & (quantile < 1 - 1e-8) & (np.asarray(x) > 1e-280)
        np.testing.assert_allclose(np.asarray(slope)[usable], expected[usable], 2e-3)


@pytest.mark.parametrize("a", [0.7, 2.5, 8.0])
def test_gamma_numbers_have_second_derivatives(a):
    def draw(a):
        return random.gamma(random.key(3), a, dtype="float64")

    with stagec.enable_x64():
        x, second = draw(a), stagec.jacfwd(stagec.jacfwd(draw))(np.float64(a))
    quantile, step = stats.gamma.cdf(float(x), a), 1e-3
    below, here, above = (stats.gamma.ppf(quantile, a + k * step) for k in (-1, 0, 1))
    np.testing.assert_allclose(second, (below - 2 * here + above) / step**2, 1e-3)


def test_draws_of_gamma_numbers_have_gradients():
    key = random.key(4)
    for draw in (
        lambda a: random.beta(key, a, 2.0),
        lambda a: random.dirichlet(key, snp.stack([a, a + 1]))[0],
        lambda a: random.t(key, a),
        lambda a: random.chisquare(key, a),
        lambda a: snp.exp(random.loggamma(key, a)),
    ):
        with stagec.enable_x64():
            slope = float(stagec.grad(draw)(1.5))
        assert np.isfinite(slope) and slope != 0


def test_parameters_that_make_no_sense_give_nan_or_minus_one():
    key = random.key(0)
    assert random.poisson(key, snp.array([float("nan"), -1.0, 0.0])).tolist() == [-1, -1, 0]
    drawn = np.asarray(random.binomial(key, snp.array([10.0, -1.0, 10.0]), snp.array([-0.5, 0.5, 0.0])))
    assert np.isnan(drawn[:2]).all() and drawn[2] == 0

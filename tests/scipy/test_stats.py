"""`stagec.scipy.stats` against SciPy: values, ends, tails, derivatives."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import errors
from stagec.scipy import stats as ours

stats = pytest.importorskip("scipy.stats")
RNG = np.random.default_rng(0)

WIDE = np.concatenate([RNG.normal(size=20) * 3, [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, 8.0, -8.0, 1e-10]])
POSITIVE = abs(WIDE)
UNIT = np.concatenate([RNG.uniform(size=20), [0.0, 1.0, -0.1, 1.1, np.nan, 1e-6, 0.999]])
COUNTS = np.array([0.0, 1, 2, 3, 5, 8, 30, -1, 2.5, np.nan])
# The argument, and the shape parameters.
CONTINUOUS: dict[str, Any] = {
    "norm": (WIDE, ()),
    "cauchy": (WIDE, ()),
    "laplace": (WIDE, ()),
    "logistic": (WIDE, ()),
    "gumbel_l": (WIDE, ()),
    "gumbel_r": (WIDE, ()),
    "expon": (WIDE, ()),
    "uniform": (WIDE / 4, ()),
    "gamma": (WIDE, (2.5,)),
    "beta": (WIDE / 4, (2.0, 0.7)),
    "chi2": (WIDE, (3.0,)),
    "pareto": (WIDE * 2, (2.5,)),
    "t": (WIDE, (3.0,)),
    "truncnorm": (WIDE, (-1.0, 4.0)),
}
BARE = {"gennorm": (WIDE, (1.5,)), "vonmises": (WIDE[:20], (2.0,)), "wrapcauchy": (POSITIVE, (0.4,))}
DISCRETE = {
    "bernoulli": (0.3,),
    "binom": (8.0, 0.3),
    "betabinom": (8.0, 2.0, 3.0),
    "geom": (0.3,),
    "nbinom": (4.5, 0.3),
    "poisson": (2.5,),
}
FUNCTIONS = ("logpdf", "pdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf", "logpmf", "pmf")


def functions(name: str) -> list[str]:
    return [f for f in FUNCTIONS if hasattr(getattr(ours, name), f)]


def calls() -> Any:
    for name, (x, shapes) in {**CONTINUOUS, **BARE}.items():
        for f in functions(name):
            given = UNIT if f in ("ppf", "isf") else x
            yield name, f, (given, *shapes, *((0.5, 2.0) if name in CONTINUOUS else ()))
    for name, shapes in DISCRETE.items():
        for f in functions(name):
            yield name, f, (UNIT if f == "ppf" else COUNTS, *shapes)


CALLS = list(calls())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "function", "args"), CALLS, ids=lambda v: v if isinstance(v, str) else "")
def test_values_are_those_of_scipy(name: str, function: str, args: Any, dtype: str) -> None:
    with stagec.enable_x64(dtype == "float64"):
        given = [np.asarray(a, dtype) for a in args]
        with np.errstate(all="ignore"):
            expected = getattr(getattr(stats, name), function)(*[a.astype(np.float64) for a in given])
        if function in ("logpdf", "pdf") and name in ("gamma", "chi2"):
            expected[given[0] == np.inf] = 0.0 if function == "pdf" else -np.inf  # SciPy has NaN
        found = getattr(getattr(ours, name), function)(*given)
        assert found.dtype == dtype
        loose = 2e-5 if dtype == "float32" else 1e-11
        np.testing.assert_allclose(np.asarray(found, np.float64), expected, loose, loose / 10)


def test_compiled_values_are_those_outside_of_jit() -> None:
    chosen = {("norm", "logpdf"), ("gumbel_r", "logcdf"), ("pareto", "ppf"), ("binom", "logpmf")}
    some = [c for c in CALLS if c[:2] in chosen]

    @stagec.jit
    def run(arguments: Any) -> Any:
        return [getattr(getattr(ours, n), f)(*args) for (n, f, _), args in zip(some, arguments)]

    given = [[np.asarray(a, np.float32) for a in args] for _, _, args in some]
    for (name, f, _), args, out in zip(some, given, run(given)):
        expected = getattr(getattr(ours, name), f)(*args)
        np.testing.assert_allclose(np.asarray(out), np.asarray(expected), 1e-4, 1e-5, err_msg=f"{name}.{f}")


def test_tails_keep_their_digits() -> None:
    with stagec.enable_x64():
        for name, f, x, shapes in (
            ("norm", "logcdf", -40.0, ()),
            ("norm", "logsf", 40.0, ()),
            ("norm", "isf", 1e-30, ()),
            ("cauchy", "cdf", -1e10, ()),
            ("cauchy", "ppf", 1e-12, ()),
            ("expon", "logcdf", 1e-12, ()),
            ("expon", "ppf", 1e-14, ()),
            ("gumbel_r", "sf", 40.0, ()),
            ("gumbel_l", "cdf", -40.0, ()),
            ("gamma", "sf", 60.0, (2.0,)),
            ("pareto", "cdf", 1 + 1e-10, (2.0,)),
            ("truncnorm", "logpdf", 31.0, (30.0, 40.0)),
            ("truncnorm", "sf", 31.0, (30.0, 40.0)),
            ("truncnorm", "logcdf", -39.0, (-40.0, -30.0)),
        ):
            expected = getattr(getattr(stats, name), f)(x, *shapes)
            np.testing.assert_allclose(float(getattr(getattr(ours, name), f)(x, *shapes)), expected, 1e-9, err_msg=name)


@pytest.mark.parametrize("name", list({**CONTINUOUS, **BARE}))
def test_densities_are_the_derivatives_of_probabilities_and_have_their_own(name: str) -> None:
    module = getattr(ours, name)
    shapes = {**CONTINUOUS, **BARE}[name][1]
    point = 1.6 if name == "pareto" else 0.37
    with stagec.enable_x64():
        at = snp.asarray([point, point + 0.2])
        if hasattr(module, "cdf"):
            slope = stagec.vmap(stagec.grad(lambda x: module.cdf(x, *shapes)))(at)
            np.testing.assert_allclose(np.asarray(slope), np.asarray(module.pdf(at, *shapes)), 1e-9)
        # A point outside of the support does not spoil the sum's derivative.
        slope = stagec.grad(lambda x: module.pdf(x, *shapes).sum())(snp.asarray([point, -50.0]))
        step = 1e-6
        scipy_pdf = getattr(stats, name).pdf
        expected = (scipy_pdf(point + step, *shapes) - scipy_pdf(point - step, *shapes)) / (2 * step)
        np.testing.assert_allclose(float(slope[0]), expected, 1e-5)
        assert np.isfinite(np.asarray(slope)).all()


def test_parameters_have_derivatives() -> None:
    with stagec.enable_x64():
        for name, x, shapes, f in (
            ("gamma", 1.3, (2.0,), "cdf"),
            ("gamma", 1.3, (2.0,), "logpdf"),
            ("beta", 0.3, (2.0, 3.0), "logpdf"),
            ("t", 0.3, (2.0,), "logpdf"),
            ("poisson", 3.0, (2.0,), "logpmf"),
            ("truncnorm", 0.3, (-1.0, 2.0), "logpdf"),
            ("gennorm", 0.4, (1.5,), "logpdf"),
        ):
            for i in range(len(shapes)):
                step = 1e-6
                up, down = ([v + s * step * (i == j) for j, v in enumerate(shapes)] for s in (1, -1))
                function = getattr(getattr(stats, name), f)
                expected = (function(x, *up) - function(x, *down)) / (2 * step)
                slope = stagec.grad(getattr(getattr(ours, name), f), 1 + i)(x, *shapes)
                np.testing.assert_allclose(float(slope), expected, 1e-5, err_msg=f"{name} {i}")


def test_quantiles_undo_probabilities_and_have_derivatives() -> None:
    with stagec.enable_x64():
        for name in ("norm", "cauchy", "expon", "gumbel_l", "gumbel_r", "logistic", "uniform", "pareto"):
            module, shapes = getattr(ours, name), CONTINUOUS[name][1]
            q = snp.asarray([0.01, 0.3, 0.8])
            x = module.ppf(q, *shapes, 0.5, 2.0)
            np.testing.assert_allclose(np.asarray(module.cdf(x, *shapes, 0.5, 2.0)), np.asarray(q), 1e-12, err_msg=name)
            slope = stagec.vmap(stagec.grad(lambda q, m=module, s=shapes: m.ppf(q, *s, 0.5, 2.0)))(q)
            np.testing.assert_allclose(np.asarray(slope * module.pdf(x, *shapes, 0.5, 2.0)), 1, 1e-9, err_msg=name)


@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (2, 3, 1)])
def test_arguments_broadcast_and_may_be_empty(shape: Any) -> None:
    x = np.ones(shape, np.float32)
    assert ours.norm.logpdf(x, np.zeros((1,) * len(shape), np.float32)).shape == shape
    assert ours.gamma.cdf(x, 2.0).shape == shape
    assert ours.poisson.logpmf(1, x).shape == shape
    assert ours.poisson.entropy(x).shape == shape


def test_integers_and_half_precision_are_taken() -> None:
    assert ours.norm.pdf(1).dtype == "float32"
    assert ours.norm.pdf(snp.asarray(1.0, "bfloat16")).dtype == "bfloat16"
    assert ours.gamma.cdf(snp.asarray(1.0, "float16"), 2).dtype == "float16"
    with pytest.raises(errors.DtypeError, match="complex"):
        ours.norm.pdf(1j)


@pytest.mark.parametrize("function", ["logpdf", "pdf", "cdf", "logsf", "ppf"])
def test_strict_promotion_refuses_what_a_function_and_what_follows_from_it_promote(function: str) -> None:
    with stagec.numpy_dtype_promotion("strict"), pytest.raises(errors.DtypeError, match="strict"):
        getattr(ours.pareto, function)(snp.ones(2, "float16"), snp.ones(2, "float32"))


@pytest.mark.parametrize("name", ["norm", "gamma", "expon", "truncnorm"])
def test_scales_that_are_none_give_nan(name: str) -> None:
    shapes = CONTINUOUS[name][1]
    found = getattr(ours, name).logpdf(0.5, *shapes, 0.0, np.float32([-1.0, 0.0, 1.0]))
    np.testing.assert_array_equal(np.isnan(np.asarray(found)), [True, True, False])


def test_parameters_that_are_none_give_nan() -> None:
    for value in (
        ours.gamma.cdf(1.0, -1.0),
        ours.beta.pdf(0.5, -1.0, 1.0),
        ours.binom.pmf(1, 3.5, 0.5),
        ours.binom.pmf(1, 3, 1.5),
        ours.bernoulli.pmf(1, -0.5),
        ours.geom.pmf(1, 0.0),
        ours.poisson.pmf(1, -1.0),
        ours.t.pdf(1.0, -1.0),
        ours.truncnorm.pdf(0.0, 1.0, -1.0),
        ours.vonmises.pdf(0.0, -1.0),
    ):
        assert np.isnan(float(value))


def test_certain_events_have_the_probability_one() -> None:
    assert float(ours.bernoulli.pmf(1, 1.0)) == float(ours.binom.pmf(0, 3, 0.0)) == 1
    assert float(ours.poisson.pmf(0, 0.0)) == 1
    assert np.isfinite(float(stagec.grad(lambda p: ours.binom.logpmf(2, 3, p))(0.5)))


@pytest.mark.parametrize("mu", [0.0, 0.5, 3.0, 50.0, 150.0, 250.0, 1e4])
def test_the_entropy_of_poisson_numbers(mu: float) -> None:
    k = np.arange(40000)
    with np.errstate(all="ignore"):
        logs = stats.poisson.logpmf(k, mu)
        expected = -np.sum(np.where(np.isfinite(logs), np.exp(logs) * logs, 0))
    with stagec.enable_x64():
        np.testing.assert_allclose(float(ours.poisson.entropy(mu)), expected, 1e-9, 1e-12)


def test_points_of_a_simplex() -> None:
    alpha = np.array([1.0, 2.0, 3.0])
    x = np.array([[0.2, 0.1], [0.3, 0.9], [0.5, 0.0]])
    with stagec.enable_x64():
        expected = stats.dirichlet.logpdf(x[:, 0], alpha)
        np.testing.assert_allclose(float(ours.dirichlet.logpdf(x[:, 0], alpha)), expected, 1e-12)
        np.testing.assert_allclose(float(ours.dirichlet.logpdf(x[:2, 0], alpha)), expected, 1e-12)
        np.testing.assert_allclose(np.asarray(ours.dirichlet.pdf(x, alpha)), [np.exp(expected), 0.0], 1e-12)
        assert float(ours.dirichlet.logpdf(np.array([0.2, 0.3, 0.6]), alpha)) == -np.inf
        assert np.isfinite(
            np.asarray(stagec.grad(lambda a: ours.dirichlet.logpdf(x[:, 0], a))(snp.asarray(alpha)))
        ).all()
    with pytest.raises(errors.ShapeError, match="as many components"):
        ours.dirichlet.pdf(np.ones(5) / 5, alpha)


def test_counts_of_outcomes() -> None:
    p = np.array([0.2, 0.3, 0.5])
    x = np.array([[1, 2, 3], [6, 0, 0], [1, 2, 4], [-1, 3, 4]])
    with stagec.enable_x64():
        np.testing.assert_allclose(np.asarray(ours.multinomial.pmf(x, 6, p)), stats.multinomial.pmf(x, 6, p), 1e-12)
        found = ours.multinomial.logpmf(np.array([2, 0]), 2, np.array([1.0, 0.0]))
        assert float(found) == 0


def test_densities_of_vectors() -> None:
    cov = np.array([[2.0, 0.6, 0.1], [0.6, 1.0, -0.2], [0.1, -0.2, 0.7]])
    mean, x = np.array([0.1, -0.4, 1.0]), RNG.normal(size=(4, 3))
    with stagec.enable_x64():
        expected = stats.multivariate_normal.logpdf(x, mean, cov)
        np.testing.assert_allclose(np.asarray(ours.multivariate_normal.logpdf(x, mean, cov)), expected, 1e-12)
        run = stagec.vmap(ours.multivariate_normal.pdf, (0, None, None))
        np.testing.assert_allclose(np.asarray(run(x, mean, cov)), np.exp(expected), 1e-12)
        both = np.stack([cov, 2 * cov])[:, None]
        found = ours.multivariate_normal.logpdf(x, mean, both)
        np.testing.assert_allclose(np.asarray(found[1]), stats.multivariate_normal.logpdf(x, mean, 2 * cov), 1e-12)
        found = ours.multivariate_normal.logpdf(x, mean, 2.0)
        np.testing.assert_allclose(np.asarray(found), stats.multivariate_normal.logpdf(x, mean, 2.0), 1e-12)
        np.testing.assert_allclose(float(ours.multivariate_normal.pdf(0.3, 0.1, 2.0)), stats.norm.pdf(0.3, 0.1, 2**0.5))
        slope = stagec.grad(lambda m: ours.multivariate_normal.logpdf(x[0], m, cov))(snp.asarray(mean))
        np.testing.assert_allclose(np.asarray(slope), np.linalg.solve(cov, x[0] - mean), 1e-10)
        assert np.isnan(float(ours.multivariate_normal.logpdf(x[0], mean, -cov)))
    with pytest.raises(errors.ShapeError, match="rows and columns"):
        ours.multivariate_normal.pdf(x, mean, cov[:2, :2])


SAMPLES = np.random.default_rng(1).integers(0, 4, (4, 5, 3)).astype(np.float32)


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("keepdims", [False, True])
def test_modes_are_those_of_scipy(axis: Any, keepdims: bool) -> None:
    expected = stats.mode(SAMPLES, axis=axis, keepdims=keepdims)
    found = ours.mode(SAMPLES, axis, keepdims=keepdims)
    np.testing.assert_array_equal(np.asarray(found.mode), expected.mode)
    np.testing.assert_array_equal(np.asarray(found.count), expected.count)
    assert ours.mode(SAMPLES, axis, keepdims=keepdims).mode.shape == np.shape(expected.mode)


def test_modes_compile() -> None:
    found = stagec.jit(lambda x: ours.mode(x))(SAMPLES[:, 0, 0])
    assert found == ours.mode(SAMPLES[:, 0, 0])


def test_modes_of_nothing_and_of_nan() -> None:
    assert np.isnan(float(ours.mode(np.zeros(0, np.float32)).mode))
    assert np.isnan(float(ours.mode(np.float32([np.nan, 1, np.nan])).mode))
    assert int(ours.mode(np.float32([np.nan, 1, np.nan])).count) == 2
    with pytest.raises(errors.UnsupportedError, match="nan_policy"):
        ours.mode(SAMPLES, nan_policy="omit")


@pytest.mark.parametrize("method", ["average", "min", "max", "dense", "ordinal"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_ranks_are_those_of_scipy(method: str, axis: Any) -> None:
    found = ours.rankdata(SAMPLES, method, axis=axis)
    expected = stats.rankdata(SAMPLES, method, axis=axis)
    np.testing.assert_array_equal(np.asarray(found).reshape(expected.shape), expected)


def test_ranks_with_nan_are_nan() -> None:
    x = np.float32([[1, 2, 2], [np.nan, 1, 0]])
    np.testing.assert_array_equal(np.asarray(ours.rankdata(x, axis=1)), [[1, 2.5, 2.5], [np.nan] * 3])
    assert stagec.jit(lambda x: ours.rankdata(x, "min"))(np.array([5, 3, 5])).tolist() == [2, 1, 2]
    assert ours.rankdata(np.zeros(0, np.float32)).shape == (0,)
    with pytest.raises(errors.UnsupportedError, match="'ordinal'"):
        ours.rankdata(x, "best")


def test_standard_errors_are_those_of_scipy() -> None:
    with_nan = np.where(SAMPLES == 3, np.nan, SAMPLES)
    for axis in (None, 0, -1):
        for ddof in (0, 1):
            expected = stats.sem(SAMPLES, axis, ddof)
            np.testing.assert_allclose(np.asarray(ours.sem(SAMPLES, axis, ddof)), expected, 1e-5)
    expected = stats.sem(with_nan, 1, nan_policy="omit")
    np.testing.assert_allclose(np.asarray(ours.sem(with_nan, 1, nan_policy="omit")), expected, 1e-5)
    assert ours.sem(SAMPLES, 1, keepdims=True).shape == (4, 1, 3)
    assert ours.sem(np.zeros((0, 3), np.float32), keepdims=True).shape == (1, 3)


def test_a_distribution_is_imported_when_it_is_used() -> None:
    import subprocess
    import sys

    code = (
        "import sys, stagec.scipy; print('stagec.scipy.stats' in sys.modules); "
        "stagec.scipy.stats; print('stagec.scipy.stats.norm' in sys.modules); "
        "from stagec.scipy.stats import norm; print(float(norm.cdf(0.0)), 'gamma' in dir(stagec.scipy.stats))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False", "0.5", "True"]


def test_every_distribution_is_tested() -> None:
    modules = {n for n in ours._DISTRIBUTIONS if hasattr(importlib.import_module(f"stagec.scipy.stats.{n}"), "__all__")}
    others = {"dirichlet", "multinomial", "multivariate_normal"}
    assert modules == {*CONTINUOUS, *BARE, *DISCRETE, *others}

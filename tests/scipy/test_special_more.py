"""Incomplete gamma and beta functions, exponential and other integrals, hypergeometric functions: against SciPy."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
import stagec.scipy.special as ours
from stagec import errors, lax

special = pytest.importorskip("scipy.special")
RNG = np.random.default_rng(0)

REAL = np.concatenate([10 ** RNG.uniform(-4, 2, 60), -(10 ** RNG.uniform(-4, 0.7, 40))])
SHAPE = 10 ** RNG.uniform(-2, 3.5, 100)
NEAR = SHAPE * (1 + RNG.normal(size=100) / np.sqrt(SHAPE + 1)).clip(0.02)
SMALL = 10 ** RNG.uniform(-1, 0.7, (3, 100))
UNIT = RNG.beta(SHAPE, SHAPE[::-1]).clip(1e-5, 1 - 1e-5)

# Operands, and how many units in the last place of the largest operand's own uncertainty are allowed.
CASES: dict[str, tuple[Any, float]] = {
    "gammainc": ((SHAPE, NEAR), 200),
    "gammaincc": ((SHAPE, NEAR), 200),
    "betainc": ((SHAPE, SHAPE[::-1], UNIT), 4000),
    "erfcx": ((REAL,), 30),
    "dawsn": ((REAL,), 120),
    "expi": ((REAL,), 60),
    "exp1": ((abs(REAL),), 10),
    "expn": ((np.tile([1, 2, 3, 5, 40], 20), abs(REAL)), 60),
    "spence": ((abs(REAL),), 30),
    "owens_t": ((REAL, REAL[::-1]), 120),
    "comb": ((np.array([5.0, 30, 100, 8, 3, -1, 0]), np.array([2.0, 15, 3, 8, 7, 2, 0])), 60),
    "hyp1f1": ((SMALL[0], SMALL[0] + SMALL[1], RNG.normal(size=100) * 8), 100),
    "hyp2f1": ((*SMALL, RNG.uniform(-3, 0.99, 100)), 500),
    "gammaln": ((SHAPE,), 30),
    "betaln": ((SHAPE * 10, SHAPE[::-1]), 100),
    "log_ndtr": ((RNG.normal(size=100) * 15,), 400),
}


def reference(name: str) -> Any:
    """SciPy's function, or mpmath's where SciPy is less exact."""
    if name not in ("expi", "betaln"):
        return getattr(special, name)
    mpmath = pytest.importorskip("mpmath")

    def betaln(a: float, b: float) -> Any:
        with mpmath.workdps(40):
            a, b = mpmath.mpf(a), mpmath.mpf(b)
            return mpmath.loggamma(a) + mpmath.loggamma(b) - mpmath.loggamma(a + b)

    exact = np.frompyfunc(mpmath.ei if name == "expi" else betaln, 1 if name == "expi" else 2, 1)
    return lambda *args: exact(*args).astype(np.float64)


def close(name: str, actual: Any, expected: Any, ulps: float, dtype: Any) -> None:
    """Within so many units in the last place, or below the smallest normal number."""
    info = np.finfo(dtype)
    usable = np.isfinite(expected) & (abs(expected) < float(info.max)) & (abs(expected) > 1e3 * float(info.tiny))
    actual = np.asarray(actual).astype(np.float64)
    # Near zeros of a function, its rounding errors are those of its neighbours.
    near_zero = {"expi": 16.0, "gammaln": 16.0, "betaln": 100.0}.get(name, 0.0) * float(info.eps)
    np.testing.assert_allclose(actual[usable], expected[usable], ulps * float(info.eps), near_zero, err_msg=name)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_values_are_those_of_scipy(name: str, dtype: str) -> None:
    args, ulps = CASES[name]
    with stagec.enable_x64(dtype == "float64"):
        given = [np.asarray(a, dtype) for a in args]
        exact = reference(name)(*[a.astype(np.float64) for a in given])
        found = getattr(ours, name)(*given)
        assert found.dtype == dtype
        close(name, found, exact, ulps, dtype)


@pytest.mark.parametrize("index", [0, 1])
@pytest.mark.parametrize("name", ["sici", "fresnel"])
def test_pairs_of_integrals_are_those_of_scipy(name: str, index: int) -> None:
    with stagec.enable_x64():
        found = np.asarray(getattr(ours, name)(REAL)[index])
        np.testing.assert_allclose(found, getattr(special, name)(REAL)[index], 2e-14, 1e-16)


def test_compiled_values_are_those_outside_of_jit() -> None:
    names = ["erfcx", "expi", "spence", "log_ndtr"]

    @stagec.jit
    def run(arguments: Any) -> Any:
        return [getattr(ours, name)(*args) for name, args in zip(names, arguments)]

    given = [[np.asarray(a[:20], np.float32) for a in CASES[name][0]] for name in names]
    for name, args, out in zip(names, given, run(given)):
        close(name, out, np.asarray(getattr(ours, name)(*args)).astype(np.float64), 2 * CASES[name][1], np.float32)


@pytest.mark.parametrize("name", ["gammainc", "hyp2f1"])
def test_loops_compile(name: str) -> None:
    given = [np.asarray(a[:20], np.float32) for a in CASES[name][0]]
    found = stagec.jit(getattr(ours, name))(*given)
    close(name, found, np.asarray(getattr(ours, name)(*given)).astype(np.float64), 100, np.float32)


EDGES = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 1e-30, 1e10], np.float32)


@pytest.mark.parametrize("name", ["erfcx", "dawsn", "expi", "exp1", "spence", "sici", "fresnel"])
def test_values_at_the_ends_are_those_of_scipy(name: str) -> None:
    expected = getattr(special, name)(EDGES.astype(np.float64))
    found = getattr(ours, name)(EDGES)
    if name == "spence":
        expected[2] = -np.inf  # the limit, where SciPy has NaN
    np.testing.assert_allclose(np.asarray(found, np.float64), np.asarray(expected), 1e-5, 1e-40)


@pytest.mark.parametrize("name", ["gammainc", "gammaincc"])
def test_incomplete_gamma_functions_know_their_ends(name: str) -> None:
    inf, nan = np.inf, np.nan
    a = np.array([0, 0, 0, inf, inf, inf, -1, 1, 1, 1, nan, 2])
    x = np.array([0, 1, inf, 0, 1, inf, 1, -1, 0, inf, 1, nan])
    np.testing.assert_array_equal(
        np.asarray(getattr(ours, name)(*np.float32([a, x]))), np.float32(getattr(special, name)(a, x))
    )


def test_incomplete_beta_functions_know_their_ends() -> None:
    inf = np.inf
    a = np.array([0, 0, 1, 1, inf, -1, 0, 1, inf, 1, 1, 1, 1, inf])
    b = np.array([1, 0, 0, 1, 1, 1, 1, 0, inf, 1, 1, 0, inf, 1])
    x = np.array([0.5, 0.5, 0.5, 1.5, 0.5, 0.5, 0, 0, 0.5, 0, 1, 1, 0.5, 1])
    np.testing.assert_array_equal(
        np.asarray(ours.betainc(*np.float32([a, b, x]))), np.float32(special.betainc(a, b, x))
    )


def test_large_and_tiny_parameters_keep_their_digits() -> None:
    with stagec.enable_x64():
        a = np.array([1e6, 1e6, 1e6, 1e-10, 1e-10, 1e-3])
        x = np.array([1e6, 1.002e6, 0.998e6, 1e-3, 0.5, 1e-8])
        for name in ("gammainc", "gammaincc"):
            np.testing.assert_allclose(np.asarray(getattr(ours, name)(a, x)), getattr(special, name)(a, x), 1e-11)
        p, q, u = np.array([1e5, 1e5, 3.0]), np.array([1e5, 2e5, 1e-3]), np.array([0.5001, 0.333, 0.999999])
        np.testing.assert_allclose(np.asarray(ours.betainc(p, q, u)), special.betainc(p, q, u), 1e-10)


Z = RNG.normal(size=(40, 2)) @ np.array([5, 5j])
Z = np.concatenate([Z, Z.real + 1e-3j, [0.5 + 0j, 3 - 0.5j, 1e-8j, 20 + 1j]])


@pytest.mark.parametrize("name", ["wofz", "loggamma"])
def test_complex_functions_are_those_of_scipy(name: str) -> None:
    with stagec.enable_x64():
        expected = getattr(special, name)(Z)
        np.testing.assert_allclose(np.asarray(getattr(ours, name)(Z)), expected, 5e-13, 1e-13)
    usable = abs(expected) < 1e30
    found = np.asarray(getattr(ours, name)(Z.astype(np.complex64)))
    assert found.dtype == np.complex64
    np.testing.assert_allclose(found[usable], getattr(special, name)(Z.astype(np.complex64))[usable], 5e-4, 1e-5)


def test_loggamma_of_real_numbers_is_real() -> None:
    assert ours.loggamma(np.float32(2.5)).dtype == "float32"
    assert np.isnan(float(ours.loggamma(-0.5)))
    assert ours.wofz(np.float32(1.0)).dtype == "complex64"


def test_bessel_functions_are_those_of_scipy() -> None:
    x = np.array([0.0, 1e-3, 0.5, 2.0, -7.0, 13.0, 20.0])
    expected = np.stack([special.jv(n, x) for n in range(5)])
    with stagec.enable_x64():
        np.testing.assert_allclose(np.asarray(ours.bessel_jn(x, v=4)), expected, 1e-8, 1e-12)
    found = stagec.jit(lambda x: ours.bessel_jn(x, v=4))(x.astype(np.float32))
    np.testing.assert_allclose(np.asarray(found), expected, 1e-4, 1e-6)
    assert ours.bessel_jn(x, v=0).shape == (1, 7)


@pytest.mark.parametrize("wrap", [lambda f: f, stagec.jit])
def test_derivatives_of_bessel_functions_are_those_of_scipy(wrap: Any) -> None:
    x = np.float32([0.0, 1e-30, 1e-6, -1e-3, 0.5, -7.0, 13.0])
    slopes = wrap(stagec.vmap(stagec.jacfwd(lambda x: ours.bessel_jn(x, v=3)), out_axes=1))(x)
    np.testing.assert_allclose(np.asarray(slopes), special.jvp(np.arange(4)[:, None], x), 1e-5, 1e-7)
    total = wrap(stagec.vmap(stagec.grad(lambda x: ours.bessel_jn(x, v=1)[0])))(x)
    np.testing.assert_allclose(np.asarray(total), special.jvp(0, x), 1e-5, 1e-37)


def test_bessel_functions_of_tiny_numbers_keep_their_digits() -> None:
    x = np.array([1e-30, 1e-10, 1e-5, 2e-4])
    found = ours.bessel_jn(x.astype(np.float32), v=2)
    np.testing.assert_allclose(np.asarray(found), special.jv(np.arange(3)[:, None], x), 1e-6, 1e-37)


def test_bernoulli_numbers_are_those_of_scipy() -> None:
    for n in (0, 1, 2, 13, 270):
        expected = special.bernoulli(max(n, 2))[: n + 1].astype("f")
        np.testing.assert_allclose(np.asarray(ours.bernoulli(n)), expected, 1e-6)


def test_spherical_harmonics_are_those_of_scipy() -> None:
    n, m = RNG.integers(0, 9, 80), RNG.integers(-9, 10, 80)
    theta, phi = RNG.uniform(0, np.pi, 80), RNG.uniform(0, 6, 80)
    theta[:2] = 0, np.pi
    with stagec.enable_x64():
        found = np.asarray(ours.sph_harm_y(n, m, theta, phi))
        np.testing.assert_allclose(found, special.sph_harm_y(n, m, theta, phi), 1e-12, 1e-14)
        slope = stagec.jvp(lambda t: ours.sph_harm_y(3, 1, t, 0.4), (0.7,), (1.0,))[1]
        step = 1e-6
        expected = (special.sph_harm_y(3, 1, 0.7 + step, 0.4) - special.sph_harm_y(3, 1, 0.7 - step, 0.4)) / (2 * step)
        np.testing.assert_allclose(complex(slope), expected, 1e-6)
    with pytest.raises(errors.ConcretizationError, match="n_max"):
        stagec.jit(lambda n: ours.sph_harm_y(n, 0, 0.1, 0.2))(np.array([2]))


POINTS = {
    "gammainc": (2.3, 1.7),
    "gammaincc": (2.3, 4.1),
    "erfcx": (0.7,),
    "dawsn": (1.2,),
    "expi": (-0.8,),
    "exp1": (2.5,),
    "spence": (0.3,),
    "owens_t": (0.6, 1.7),
    "hyp1f1": (1.3, 2.2, -0.7),
    "log_ndtr": (-30.0,),
    "betaln": (2.5, 30.0),
}
PARTLY = {"betainc": ((2.0, 3.0, 0.3), 2), "hyp2f1": ((0.5, 1.2, 2.0, -0.4), 3), "expn": ((2.0, 1.3), 1)}


def slope_of(function: Any, at: Any, i: int) -> float:
    step = 1e-5
    up, down = ([v + sign * step * (i == j) for j, v in enumerate(at)] for sign in (1, -1))
    return float((function(*up) - function(*down)) / (2 * step))


@pytest.mark.parametrize("name", [*POINTS, *PARTLY])
def test_derivatives_are_those_of_differences(name: str) -> None:
    at, places = (POINTS[name], range(len(POINTS[name]))) if name in POINTS else (PARTLY[name][0], [PARTLY[name][1]])
    with stagec.enable_x64():
        for i in places:
            expected = slope_of(getattr(special, name), at, i)
            arrays = [snp.asarray(v) for v in at]
            np.testing.assert_allclose(float(stagec.grad(getattr(ours, name), i)(*arrays)), expected, 2e-7)
            tangents = [snp.asarray(float(i == j)) for j in range(len(at))]
            if name in POINTS:
                slope = stagec.jvp(getattr(ours, name), arrays, tangents)[1]
                np.testing.assert_allclose(float(slope), expected, 2e-7)


def test_integrals_have_derivatives_and_second_ones() -> None:
    with stagec.enable_x64():
        x = snp.asarray(1.3)
        assert abs(float(stagec.grad(lambda x: ours.sici(x)[1])(x)) - np.cos(1.3) / 1.3) < 1e-12
        assert abs(float(stagec.grad(lambda x: ours.fresnel(x)[0])(x)) - np.sin(np.pi / 2 * 1.69)) < 1e-12
        second = stagec.grad(stagec.grad(ours.erfcx))(x)
        expected = slope_of(lambda x: 2 * x * special.erfcx(x) - 2 / np.sqrt(np.pi), (1.3,), 0)
        np.testing.assert_allclose(float(second), expected, 1e-7)
        mapped = stagec.vmap(stagec.grad(lambda a, x: ours.gammainc(a, x), 1), (0, None))(snp.asarray([1.0, 2.0]), x)
        np.testing.assert_allclose(np.asarray(mapped), [np.exp(-1.3), 1.3 * np.exp(-1.3)], 1e-12)


@pytest.mark.parametrize("order, degree", [(0, 1), (1, 2)])
def test_derivatives_of_exponential_integrals_go_below_the_order_zero(order: int, degree: int) -> None:
    """Each derivative is minus the integral of one order less, and that of order -1 is `exp(-x) (1 + x) / x**2`."""
    with stagec.enable_x64():
        f = functools.partial(ours.expn, np.float64(order))
        for _ in range(degree):
            f = stagec.grad(f)
        np.testing.assert_allclose(float(f(0.7)), (-1) ** degree * np.exp(-0.7) * 1.7 / 0.49, 1e-12)


FAR = {
    "erfcx": (lambda x: -1 / np.sqrt(np.pi) / x**2 * (1 - 1.5 / x**2), 1000.0),
    "dawsn": (lambda x: -1 / 2 / x**2 * (1 + 1.5 / x**2), -1000.0),
    "log_ndtr": (lambda x: -x - 1 / x, -100.0),
    "ndtri": (lambda x: np.sqrt(2 * np.pi) * np.exp(special.ndtri(x) ** 2 / 2), 1e-30),
}


@pytest.mark.parametrize("name", FAR)
def test_derivatives_far_from_zero_keep_their_digits(name: str) -> None:
    exact, x = FAR[name]
    slope, second = stagec.grad(getattr(ours, name)), stagec.grad(stagec.grad(getattr(ours, name)))
    np.testing.assert_allclose(float(slope(x)), exact(np.float64(x)), 2e-5 if name == "ndtri" else 1e-6)
    assert np.isfinite(float(second(x))) or name == "ndtri"


@pytest.mark.parametrize("z", [100 + 3j, -50 - 1j])
def test_derivatives_of_wofz_far_from_zero_keep_their_digits(z: complex) -> None:
    slope = stagec.jvp(ours.wofz, (np.complex64(z),), (np.complex64(1),))[1]
    np.testing.assert_allclose(complex(slope), -1j / np.sqrt(np.pi) / z**2 * (1 + 1.5 / z**2), 1e-6)


@pytest.mark.parametrize(
    "name, at, expected",
    [
        ("entr", (0.0,), [np.inf]),
        ("logit", (0.0,), [np.inf]),
        ("logit", (1.0,), [np.inf]),
        ("xlogy", (0.0, 2.0), [np.log(2), 0]),
        ("xlogy", (0.0, 0.0), [-np.inf, 0]),
        ("xlog1py", (0.0, 2.0), [np.log(3), 0]),
        ("xlog1py", (0.0, -1.0), [-np.inf, 0]),
    ],
)
def test_derivatives_at_the_ends_of_logarithms(name: str, at: Any, expected: Any) -> None:
    found = stagec.grad(getattr(ours, name), tuple(range(len(at))))(*at)
    np.testing.assert_allclose(np.asarray(found), np.float32(expected), 1e-6)


def test_the_derivative_of_log1mexp_at_zero_is_infinite() -> None:
    slopes = stagec.vmap(stagec.grad(stagec.nn.log1mexp))(np.float32([0.0, 1e-30, 1.0]))
    np.testing.assert_allclose(np.asarray(slopes), np.float32([np.inf, 1e30, 1 / np.expm1(1)]), 1e-6)


@pytest.mark.parametrize("wide", [False, True])
def test_zeta_of_large_exponents_is_that_of_scipy(wide: bool) -> None:
    x, q = (v.ravel() for v in np.meshgrid([100, 1e3, 1e4, 1e7, 1e10, 1e30], [1, 2, 1.25, 0.5, -0.5, -2, 1e5]))
    with stagec.enable_x64(wide):
        expected = np.asarray(ours.zeta(x, q))
        np.testing.assert_allclose(np.asarray(stagec.jit(ours.zeta)(x, q)), expected, 1e-5, 1e-37)


def test_parameters_without_a_derivative_say_so() -> None:
    with pytest.raises(errors.UnsupportedError, match="betainc has no derivative by its parameters"):
        stagec.grad(ours.betainc)(2.0, 3.0, 0.5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_is_rounded_once(dtype: str) -> None:
    x = snp.asarray([0.5, 2.0], dtype)
    found = ours.gammainc(x, x)
    assert found.dtype == dtype
    np.testing.assert_allclose(np.asarray(found).astype(float), special.gammainc([0.5, 2.0], [0.5, 2.0]), 1e-2)


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (2, 1, 3)])
def test_shapes_broadcast_and_may_be_empty(shape: Any) -> None:
    other = (*shape[:-1], 1) if shape else (3,)
    assert ours.gammainc(np.ones(shape, np.float32), np.ones(other, np.float32)).shape == (
        np.broadcast_shapes(shape, other)
    )
    assert ours.erfcx(np.ones(shape, np.float32)).shape == shape


def test_operations_do_not_promote() -> None:
    a, x = np.float32([2.0, 3.0]), np.float32([1.0, 5.0])
    np.testing.assert_allclose(np.asarray(lax.igamma(a, x)), special.gammainc(a, x), 1e-6)
    np.testing.assert_allclose(np.asarray(lax.igammac(a, 5.0)), special.gammaincc(a, 5.0), 1e-6)
    np.testing.assert_allclose(np.asarray(lax.betainc(a, a, x / 10)), special.betainc(a, a, x / 10), 1e-6)
    step = 1e-4
    a, x = a.astype(np.float64), x.astype(np.float64)
    by_a = (special.gammainc(a + step, x) - special.gammainc(a - step, x)) / (2 * step)
    np.testing.assert_allclose(np.asarray(lax.igamma_grad_a(np.float32(a), np.float32(x))), by_a, 1e-3)
    density = special.gammainc(a, x + step) - special.gammainc(a, x - step)
    np.testing.assert_allclose(
        np.asarray(lax.random_gamma_grad(np.float32(a), np.float32(x))), -by_a * 2 * step / density, 1e-3
    )
    with pytest.raises(errors.DtypeError):
        lax.igamma(np.float32(a), np.array([1, 2]))
    with pytest.raises(errors.ShapeError):
        lax.igamma(np.float32(a), np.float32([1.0, 2.0, 3.0]))


def test_the_tables_hold_the_coefficients_of_their_functions() -> None:
    """Read back as sums of cosines, some of them are what they are said to be."""
    mpmath = pytest.importorskip("mpmath")
    from stagec.scipy.chebyshev_tables import TABLES

    functions = {
        "SPENCE": lambda x: mpmath.polylog(2, 1 - x) / (1 - x),
        "E1_MID": lambda u: mpmath.exp(1 / u) * mpmath.e1(1 / u) / u,
        "EI_1": lambda x: x * mpmath.exp(-x) * mpmath.ei(x),
        "SI_NEAR": lambda u: mpmath.si(mpmath.sqrt(u)) / mpmath.sqrt(u),
        "FRESNEL_C": lambda u: mpmath.fresnelc(mpmath.root(u, 4)) / mpmath.root(u, 4),
        "LOG_GAMMA_1P": lambda x: mpmath.loggamma(1 + x) / x,
    }
    for name, function in functions.items():
        low, high, coefficients = TABLES[name]
        for t in (-0.93, -0.2, 0.61):
            exact = float(function(mpmath.mpf(low + (high - low) * (t + 1) / 2)).real)
            assert abs(np.polynomial.chebyshev.chebval(t, coefficients) / exact - 1) < 1e-14, name


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_zeta_counts_the_terms_of_negative_bases(dtype: str) -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(2, 9, 200).astype(dtype)
    q = -rng.uniform(0, 40, 200).astype(dtype)
    expected = special.zeta(x.astype(float), q.astype(float))
    # Where terms of both signs cancel, their rounding is left.
    scale = np.abs(expected) + special.zeta(x.astype(float), np.mod(q.astype(float), 1))
    with stagec.enable_x64():
        for found in (ours.zeta(x, q), stagec.jit(ours.zeta)(x, q)):
            assert found.dtype == dtype
            assert np.max(np.abs(np.asarray(found, float) - expected) / scale) < 16 * np.finfo(dtype).eps

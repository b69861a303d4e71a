"""Derivatives where a function has a kink, an end, or an infinity; the values are those of JAX, or of the limit."""

import math

import numpy as np
import pytest

import stagec
import stagec.numpy as snp

INF, NAN = math.inf, math.nan


def slopes(f, *at):
    return [float(v) for v in stagec.grad(f, tuple(range(len(at))))(*at)]


@pytest.mark.parametrize("name, at, expected", [("abs", 0.0, 1), ("abs", -0.0, 1), ("i0", 0.0, 0), ("sign", 0.0, 0)])
def test_kinks(name, at, expected):
    assert slopes(getattr(snp, name), at) == [expected]


@pytest.mark.parametrize(
    "x, y, expected",
    [
        (1, 1, [0.5, 0.5]),
        (0, INF, [0, 1]),
        (INF, 0, [1, 0]),
        (INF, INF, [1, 1]),
        (-INF, 0, [0, 1]),
        (1, 2, [1 / 3, 2 / 3]),
    ],
)
def test_logaddexp2(x, y, expected):
    np.testing.assert_allclose(slopes(snp.logaddexp2, float(x), float(y)), expected, rtol=1e-6)
    second = stagec.grad(stagec.grad(snp.logaddexp2))(1.0, 1.0)
    np.testing.assert_allclose(float(second), math.log(2) / 4, rtol=1e-6)


@pytest.mark.parametrize("x", [1.5, -3.0, 0.0, -0.0, INF, 1e38])
def test_scaling_by_a_power_of_two_has_this_power_as_its_derivative(x):
    assert slopes(lambda x: snp.ldexp(x, 2), x) == [4]
    assert slopes(lambda x: snp.ldexp(x, 300), x) == [INF]
    assert slopes(lambda x: snp.ldexp(x, -3), x) == [0.125]


def test_the_mantissa_has_a_derivative_and_the_exponent_has_none():
    assert slopes(lambda x: snp.frexp(x)[0], 3.0) == slopes(lambda x: snp.frexp(x)[0], -3.5) == [0.25]
    mantissa, exponent = stagec.jvp(snp.frexp, (3.0,), (1.0,))[1]
    assert (float(mantissa), exponent.dtype) == (0.25, stagec.dtypes.float0)


@pytest.mark.parametrize("x", [0.0, -0.0, 1.0, -2.0, 2.5, -1.5])
def test_the_fraction_of_a_number_rises_with_it(x):
    assert slopes(lambda x: snp.modf(x)[0], x) == [1]


def test_of_two_equal_ones_fmax_and_fmin_follow_the_second():
    assert slopes(snp.fmax, 2.0, 2.0) == slopes(snp.fmin, 2.0, 2.0) == [0, 1]


def test_the_deviation_of_a_constant_has_no_derivative():
    constant = snp.ones(3)
    assert np.isnan(stagec.grad(snp.std)(constant).numpy()).all()
    assert stagec.grad(snp.var)(constant).tolist() == [0, 0, 0]


XP, FP = snp.array([0.0, 1.0, 2.0]), snp.array([1.0, 3.0, 2.0])


@pytest.mark.parametrize(
    "x, value, slope", [(-1, 1, 0), (0, 1, 2), (0.5, 2, 2), (1, 3, -1), (2, 2, -1), (3, 2, 0), (NAN, NAN, -1)]
)
def test_interp(x, value, slope):
    got, derivative = stagec.value_and_grad(snp.interp)(float(x), XP, FP)
    np.testing.assert_array_equal([float(got), float(derivative)], [value, slope])


@pytest.mark.parametrize("x, value, slope", [(-1, -1, 2), (0.5, 2, 2), (3, 1, -1), (INF, -INF, -1), (-INF, -INF, 2)])
def test_interp_extrapolates(x, value, slope):
    f = stagec.jit(lambda x: snp.interp(x, XP, FP, left="extrapolate", right="extrapolate"))
    assert float(f(float(x))) == value
    assert slopes(f, float(x)) == [slope]


def test_interp_names_what_it_takes():
    with pytest.raises(ValueError, match=r"left is 'nearest'.*\n(.*\n)*.*extrapolate"):
        snp.interp(1.0, XP, FP, left="nearest")


@pytest.mark.parametrize("base", [np.float32(2), np.float64(2), 2.0, 2])
def test_a_number_to_the_power_of_a_tracer(base):
    assert stagec.jit(lambda x: base**x)(3.0).tolist() == 8
    np.testing.assert_allclose(slopes(lambda x: base**x, 3.0), [8 * math.log(2)], rtol=1e-6)


@pytest.mark.parametrize("order", ["nuc", 2, -2])
def test_norms_have_no_second_derivative_where_singular_values_are_equal(order):
    norm = lambda x: snp.linalg.norm(x, order)  # noqa: E731
    assert np.isfinite(np.asarray(stagec.grad(norm)(snp.eye(2)))).all()
    assert np.isnan(np.asarray(stagec.hessian(norm)(snp.eye(2)))).any()


def test_lists_are_compared_as_arrays():
    assert snp.array_equal([snp.array(1), 2], [1, 2])
    assert not snp.array_equal([1, 2], snp.array([1, 3]))
    assert snp.array_equiv(snp.array([1, 2]), [[1, 2], [1, 2]])
    assert stagec.jit(lambda x: snp.array_equal([x, x], [3, 3]))(3)


def _custom(kind, x):
    if kind == "custom_jvp":
        f = stagec.custom_jvp(lambda y: snp.sin(y) * x)
        f.defjvp(lambda primals, tangents: (f(*primals), tangents[0] * snp.cos(primals[0]) * x))
    else:
        f = stagec.custom_vjp(lambda y: snp.sin(y) * x)
        f.defvjp(lambda y: (f(y), (y, x)), lambda kept, ct: (ct * snp.cos(kept[0]) * kept[1],))
    return f


@pytest.mark.parametrize("kind", ["custom_jvp", "custom_vjp"])
def test_custom_rules_close_over_values_that_are_mapped(kind):
    ys, xs = np.linspace(0, 1, 4, dtype=np.float32), np.arange(3, dtype=np.float32)

    def outer(x):
        f = _custom(kind, x)
        return (
            stagec.vmap(f)(ys),
            stagec.vmap(stagec.grad(f))(ys),
            stagec.lax.scan(lambda c, y: (c + f(y), f(y)), 0.0, ys),
        )

    value, slope, (total, steps) = stagec.vmap(outer)(xs)
    np.testing.assert_allclose(value, np.outer(xs, np.sin(ys)), rtol=1e-5)
    np.testing.assert_allclose(slope, np.outer(xs, np.cos(ys)), rtol=1e-5)
    np.testing.assert_allclose(steps, np.outer(xs, np.sin(ys)), rtol=1e-5)
    np.testing.assert_allclose(total, xs * np.sin(ys).sum(), rtol=1e-5)


@pytest.mark.parametrize(
    "x, y, expected",
    [(0, 0, [0.5, 0.5]), (0, 1, [0, 1]), (3, -4, [0.6, -0.8]), (NAN, 1, [NAN, NAN]), (0, NAN, [NAN, NAN])],
)
def test_hypot(x, y, expected):
    x, y = float(x), float(y)
    np.testing.assert_allclose(slopes(snp.hypot, x, y), expected, rtol=1e-6)
    forward = [stagec.jvp(snp.hypot, (x, y), dots)[1] for dots in ((1.0, 0.0), (0.0, 1.0))]
    # Forward, the slopes at the origin are those along the axes.
    np.testing.assert_allclose(np.asarray(forward), expected, rtol=1e-6)

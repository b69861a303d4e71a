"""`stagec.test_util`: derivatives are compared with differences."""

import functools

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import test_util

X = np.array([0.3, 0.7, 1.1], np.float32)


def wrong_in(mode):
    """The sine, whose derivative is wrong."""
    if mode == "fwd":
        f = stagec.custom_jvp(snp.sin)
        f.defjvp(lambda primals, tangents: (snp.sin(*primals), 2 * tangents[0]))
        return f
    f = stagec.custom_vjp(snp.sin)
    f.defvjp(lambda x: (snp.sin(x), None), lambda _, ct: (2 * ct,))
    return f


@pytest.mark.parametrize("mode", ["fwd", "rev"])
def test_a_wrong_derivative_is_found(mode):
    with pytest.raises(AssertionError, match=r"(jvp of sin tangent|vjp of sin cotangent)"):
        test_util.check_grads(wrong_in(mode), (X,), order=1, modes=[mode])


@pytest.mark.parametrize(
    "args", [(X, 2 * X), (0.5, 2.0), (X + 1j * X, X * (1 - 1j))], ids=["float", "number", "complex"]
)
def test_right_derivatives_pass_to_the_second_order(args):
    test_util.check_grads(lambda x, y: snp.sin(x) * y, args, order=2)


def test_trees_and_integers_are_taken():
    test_util.check_grads(lambda p, n: {"y": p["w"] ** 2 * n}, ({"w": X}, np.int32(3)), order=1)


def test_a_wrong_second_derivative_is_found_at_the_second_order_only():
    @stagec.custom_jvp
    def f(x):
        return snp.sin(x)

    f.defjvp(lambda primals, tangents: (f(*primals), stagec.lax.stop_gradient(snp.cos(primals[0])) * tangents[0]))
    test_util.check_grads(f, (X,), order=1)
    with pytest.raises(AssertionError, match="jvp of jvp of f tangent"):
        test_util.check_grads(f, (X,), order=2, modes=["fwd"])


def test_a_derivative_of_another_function_is_found():
    with pytest.raises(AssertionError, match="value"):
        test_util.check_jvp(snp.sin, functools.partial(stagec.jvp, snp.cos), (X,))
    with pytest.raises(AssertionError, match="theirs value"):
        test_util.check_vjp(snp.sin, functools.partial(stagec.vjp, snp.cos), (X,), err_msg="theirs")


def test_tolerances_are_numbers_or_by_dtype():
    def slightly_wrong(primals, tangents):
        value, slope = stagec.jvp(snp.sin, primals, tangents)
        return value, slope * 1.01

    for tolerance in (0.1, {np.float32: 0.1}):
        test_util.check_jvp(snp.sin, slightly_wrong, (X,), atol=tolerance, rtol=tolerance)
    with pytest.raises(AssertionError):
        test_util.check_jvp(snp.sin, slightly_wrong, (X,), atol={np.float64: 0.1}, rtol={np.float64: 0.1})


def test_the_verdicts_are_those_of_jax():
    jax, theirs = pytest.importorskip("jax"), pytest.importorskip("jax.test_util")
    for package, numpy, util in ((stagec, snp, test_util), (jax, jax.numpy, theirs)):
        util.check_grads(lambda x, np=numpy: np.tanh(x) * x, (X,), order=2)
        with pytest.raises(AssertionError):
            util.check_grads(lambda x, p=package: x * p.lax.stop_gradient(x), (X,), order=1)

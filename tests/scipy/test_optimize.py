"""`optimize.minimize`, on functions whose minima are known."""

import math

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec.errors import DtypeError, ShapeError
from stagec.scipy.line_search import wolfe_step
from stagec.scipy.optimize import minimize

METHODS = ["BFGS", "L-BFGS"]


def rosenbrock(x):
    return snp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("size", [2, 6])
def test_a_curved_valley(method, size):
    found = minimize(rosenbrock, snp.zeros(size), method=method)
    np.testing.assert_allclose(found.x, np.ones(size), atol=1e-3)
    assert float(found.fun) < 1e-6 and int(found.status) in (0, 4)
    assert bool(found.success) == (int(found.status) == 0)
    np.testing.assert_allclose(found.jac, stagec.grad(rosenbrock)(found.x), atol=1e-6)
    assert int(found.nfev) == int(found.njev) > int(found.nit) > 5


@pytest.mark.parametrize("method", METHODS)
def test_it_is_one_program_of_its_arguments(method):
    @stagec.jit
    def nearest(target, start):
        return minimize(lambda x, t: snp.sum(snp.cosh(x - t)), start, (target,), method=method, tol=1e-4)

    target = snp.array([1.0, -2.0, 0.5])
    found = nearest(target, snp.zeros(3))
    assert bool(found.success)
    np.testing.assert_allclose(found.x, target, atol=1e-4)
    batch = stagec.vmap(nearest, in_axes=(0, None))(snp.stack([target, -target]), snp.zeros(3))
    np.testing.assert_allclose(batch.x, np.stack([target, -target]), atol=1e-4)


def test_the_inverse_hessian_of_a_quadratic():
    a = snp.array([[3.0, 1.0], [1.0, 2.0]])
    found = minimize(lambda x: 0.5 * x @ a @ x - x.sum(), snp.array([5.0, -3.0]), method="BFGS", tol=1e-6)
    np.testing.assert_allclose(found.hess_inv, np.linalg.inv(a), atol=0.05)
    np.testing.assert_allclose(found.x, np.linalg.solve(a, np.ones(2)), atol=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_it_says_why_it_ended(method):
    one = minimize(rosenbrock, snp.zeros(2), method=method, options={"maxiter": 1})
    assert (int(one.status), int(one.nit), bool(one.success)) == (1, 1, False)
    there = minimize(rosenbrock, snp.ones(2), method=method)
    assert (int(there.status), int(there.nit), int(there.nfev), bool(there.success)) == (0, 0, 1, True)
    # A slope without a minimum, and a function that is nowhere finite but at the start.
    assert int(minimize(lambda x: x[0], snp.zeros(1), method=method).status) == 5
    assert int(minimize(lambda x: snp.where(x[0] == 1, x[0], snp.nan), snp.ones(1), method=method).status) in (0, 3, 5)


def test_calls_are_bounded():
    found = minimize(rosenbrock, snp.zeros(2), method="L-BFGS", options={"maxfun": 5, "ftol": 0.0})
    assert int(found.status) == 2 and 5 <= int(found.nfev) <= 25
    found = minimize(rosenbrock, snp.zeros(2), method="L-BFGS", options={"ftol": 1e3})
    assert int(found.status) == 4


def test_the_norm_of_the_gradient_is_a_choice():
    x = snp.array([3e-6, 3e-6])
    for order, steps in ((math.inf, 0), (1, 1)):
        found = minimize(lambda x: snp.sum(x**2), x, method="BFGS", options={"norm": order, "gtol": 1e-5})
        assert int(found.nit) == steps


def test_numbers_without_a_derivative_stay():
    found = minimize(lambda x: 2.0, snp.arange(3), method="BFGS")
    assert found.x.tolist() == [0, 1, 2] and bool(found.success) and found.hess_inv.shape == (3, 3)


def test_what_is_no_problem_is_refused():
    for x0, kind in [(snp.zeros((2, 2)), ShapeError), (1.0, ShapeError), (snp.zeros(2, "complex64"), DtypeError)]:
        with pytest.raises(kind, match="minimize: x0 must be a vector of real numbers"):
            minimize(rosenbrock, x0, method="BFGS")
    with pytest.raises(ShapeError, match=r"must return a real number, got float32\[2\]"):
        minimize(lambda x: x, snp.zeros(2), method="BFGS")
    with pytest.raises(ValueError, match="method='CG'"):
        minimize(rosenbrock, snp.zeros(2), method="CG")
    with pytest.raises(TypeError, match=r"BFGS has no option 'maxls'"):
        minimize(rosenbrock, snp.zeros(2), method="BFGS", options={"maxls": 1})


@pytest.mark.parametrize("first", [1e-3, 0.1, 1.0, 30.0])
def test_a_step_satisfies_the_strong_wolfe_conditions(first):
    def f(x):
        value = (x[0] - 2) ** 2 + 0.3 * snp.sin(8 * x[0])
        return value, snp.array([2 * (x[0] - 2) + 2.4 * snp.cos(8 * x[0])])

    x = snp.zeros(1)
    value, gradient = f(x)
    direction = -gradient / snp.linalg.norm(gradient)
    slope = float(direction @ gradient)
    found = wolfe_step(f, x, direction, value, gradient, snp.float32(first), 30)
    assert bool(found.success)
    there, slopes = f(x + found.step * direction)
    assert float(found.value) == pytest.approx(float(there))
    # A kernel rounds the product with 2.4 and the sum once, operations outside of jit twice.
    assert float(found.gradient[0]) == pytest.approx(float(slopes[0]), abs=2**-22)
    assert float(there) <= float(value) + 1e-4 * float(found.step) * slope
    assert abs(float(slopes @ direction)) <= 0.9 * abs(slope)

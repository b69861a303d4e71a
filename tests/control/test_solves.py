"""`custom_linear_solve`, `custom_root` and `linear_call`: derivatives that do not go through the solver."""

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import lax
from stagec.custom_derivatives import linear_call
from stagec.errors import DtypeError, PytreeError, ShapeError, UnsupportedError

A = snp.asarray(np.random.default_rng(0).normal(size=(3, 3)) + 4 * np.eye(3), np.float32)
B = snp.arange(1.0, 4.0)


def richardson(matvec, b):
    """A loop that reverse mode cannot go through."""

    def step(state):
        i, x = state
        return i + 1, x + 0.2 * (b - matvec(x))

    return lax.while_loop(lambda s: s[0] < 60, step, (0, snp.zeros_like(b)))[1]


def solve(a, b):
    return lax.custom_linear_solve(lambda x: a @ x, b, richardson, richardson)


def direct(a, b):
    return snp.linalg.solve(a, b)


def close(actual, expected):
    for x, y in zip(stagec.tree.leaves(actual), stagec.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(x, y, rtol=2e-4, atol=1e-5)


def test_a_solution_solves():
    close(solve(A, B), direct(A, B))


@pytest.mark.parametrize("argnums", [0, 1, (0, 1)])
def test_derivatives_follow_from_the_equation(argnums):
    close(stagec.jacrev(solve, argnums)(A, B), stagec.jacrev(direct, argnums)(A, B))
    close(stagec.jacfwd(solve, argnums)(A, B), stagec.jacfwd(direct, argnums)(A, B))


def test_second_derivatives_follow_too():
    close(stagec.hessian(lambda a: solve(a, B).sum())(A), stagec.hessian(lambda a: direct(a, B).sum())(A))


def test_derivatives_are_compiled():
    close(stagec.jit(stagec.jacrev(solve, (0, 1)))(A, B), stagec.jacrev(direct, (0, 1))(A, B))


@pytest.mark.parametrize("axes", [(None, 0), (0, None), (0, 0)])
def test_batches_of_equations(axes):
    args = [snp.stack([v, v + 0.1]) if axis == 0 else v for v, axis in zip((A, B), axes)]
    close(stagec.vmap(solve, axes)(*args), stagec.vmap(direct, axes)(*args))
    close(
        stagec.vmap(stagec.jacrev(solve, (0, 1)), axes)(*args), stagec.vmap(stagec.jacrev(direct, (0, 1)), axes)(*args)
    )


def test_trees_and_auxiliary_results():
    def f(scale):
        def solver(matvec, b):
            return {"u": b["u"] / scale}, snp.int32(7)

        return lax.custom_linear_solve(lambda x: {"u": scale * x["u"]}, {"u": B}, solver, symmetric=True, has_aux=True)

    x, aux = f(2.0)
    assert int(aux) == 7
    close(x, {"u": B / 2})
    close(stagec.grad(lambda s: f(s)[0]["u"].sum())(2.0), -6 / 4)


def test_reverse_mode_needs_the_transposed_solver():
    def f(b):
        return lax.custom_linear_solve(lambda x: 2 * x, b, lambda _, b: b / 2)

    close(stagec.jvp(f, (B,), (B,))[1], B / 2)
    with pytest.raises(UnsupportedError, match=r"got no transpose_solve\n(.*\n)*  Fix: give transpose_solve"):
        stagec.grad(lambda b: f(b).sum())(B)


def test_a_solver_that_returns_something_else_is_refused():
    for matvec, solver, kind in [
        (lambda x: x[:2], lambda _, b: b, ShapeError),
        (lambda x: (x,), lambda _, b: b, PytreeError),
        (lambda x: x, lambda _, b: b.astype("int32"), DtypeError),
    ]:
        with pytest.raises(kind, match=r"custom_linear_solve: (matvec|solve)"):
            lax.custom_linear_solve(matvec, B, solver)
    with pytest.raises(PytreeError, match="as has_aux=True says"):
        lax.custom_linear_solve(lambda x: x, B, lambda _, b: b, has_aux=True)


def cube_root(a, b=0.0):
    def newton(f, x):
        return lax.while_loop(lambda x: abs(f(x)) > 1e-5, lambda x: x - f(x) / stagec.grad(f)(x), x)

    return lax.custom_root(lambda x: x**3 - a - b * x, 2.0, newton, lambda g, y: y / g(1.0))


def test_the_derivatives_of_a_root():
    assert float(cube_root(8.0)) == pytest.approx(2.0, rel=1e-5)
    slope, curve = 8.0 ** (-2 / 3) / 3, -2 / 9 * 8.0 ** (-5 / 3)
    for transform in (stagec.grad, stagec.jacfwd):
        assert float(transform(cube_root)(8.0)) == pytest.approx(slope, rel=1e-4)
    assert float(stagec.grad(stagec.grad(cube_root))(8.0)) == pytest.approx(curve, rel=1e-3)
    assert float(stagec.jit(stagec.grad(cube_root))(8.0)) == pytest.approx(slope, rel=1e-4)
    # x^3 = a + b x: dx/db = x / (3 x^2 - b).
    assert float(stagec.grad(cube_root, 1)(8.0, 0.0)) == pytest.approx(2 / 12, rel=1e-4)
    close(stagec.vmap(stagec.grad(cube_root))(snp.array([1.0, 8.0])), snp.array([1 / 3, slope]))


def test_a_root_of_a_system_with_auxiliary_results():
    def f(a):
        def newton(g, x):
            return lax.fori_loop(0, 8, lambda _, x: x - snp.linalg.solve(stagec.jacfwd(g)(x), g(x)), x), 5

        def tangent(g, y):
            return snp.linalg.solve(stagec.jacfwd(g)(y), y)

        return lax.custom_root(lambda x: x**2 - a, snp.ones(3), newton, tangent, has_aux=True)

    root, aux = f(B)
    close(root, snp.sqrt(B))
    assert int(aux) == 5
    close(stagec.jacrev(lambda a: f(a)[0])(B), snp.diag(0.5 / snp.sqrt(B)))


def test_a_tangent_solver_that_returns_something_else_is_refused():
    def f(a):
        return lax.custom_root(lambda x: x - a, 1.0, lambda f, x: x - f(x), lambda g, y: (y,))

    assert float(f(3.0)) == 3.0
    with pytest.raises(PytreeError, match="custom_root: tangent_solve"):
        stagec.grad(f)(3.0)


def divided(x, r):
    # Not its transpose, so that the tests see which function runs.
    return linear_call(lambda r, x: x / r, lambda r, ct: 7 * ct / r, r, x)


def test_a_given_transpose_is_used():
    assert float(divided(9.0, 3.0)) == 3.0
    assert float(stagec.grad(divided)(9.0, 4.0)) == 7 / 4
    assert float(stagec.jit(stagec.grad(divided))(9.0, 4.0)) == 7 / 4
    assert float(stagec.jvp(lambda x: divided(x, 4.0), (1.0,), (2.0,))[1]) == 0.5
    (twice,) = stagec.linear_transpose(lambda ct: stagec.linear_transpose(lambda x: divided(x, 2.0), 1.0)(ct)[0], 1.0)(
        1.0
    )
    assert float(twice) == 0.5


def test_residuals_are_differentiated_as_usual():
    assert float(stagec.grad(divided, 1)(9.0, 3.0)) == -1.0
    assert float(stagec.jvp(divided, (9.0, 3.0), (1.0, 1.0))[1]) == pytest.approx(1 / 3 - 1)


def test_batches_of_linear_calls():
    r = snp.array([1.0, 2.0, 4.0])
    close(stagec.vmap(stagec.grad(divided))(r, r), 7 / r)
    close(stagec.vmap(stagec.grad(divided), (None, 0))(1.0, r), 7 / r)
    close(stagec.vmap(stagec.grad(divided), (0, None))(r, 2.0), snp.full(3, 3.5))


def test_a_transpose_of_another_type_is_refused():
    with pytest.raises(ShapeError, match="linear_call: fun_transpose"):
        linear_call(lambda _, x: x.sum(), lambda _, ct: ct, (), B)
    with pytest.raises(UnsupportedError, match="linear in linear_args only"):
        stagec.linear_transpose(lambda r: linear_call(lambda r, x: r * x, lambda r, ct: r * ct, r, 1.0), 1.0)(1.0)

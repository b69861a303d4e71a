"""`vjp`'s function as a pytree, and `fwd_and_bwd`."""

import numpy as np
import pytest

import stagec
import stagec.numpy as snp

X = np.arange(1.0, 4.0, dtype=np.float32)


def weighted(x, w):
    return (snp.sin(x) * w).sum()


def test_the_function_of_vjp_passes_through_jit():
    value, pull = stagec.jit(lambda x: stagec.vjp(snp.sin, x))(X)
    np.testing.assert_allclose(value, np.sin(X), rtol=1e-6)
    (ct,) = stagec.jit(lambda pull, ct: pull(ct))(pull, X)
    np.testing.assert_allclose(ct, X * np.cos(X), rtol=1e-6)


def test_the_function_of_vjp_is_a_tree_of_its_residuals():
    _, pull = stagec.jit(lambda x, w: stagec.vjp(snp.multiply, x, w))(X, 2 * X)
    leaves, tree = stagec.tree.flatten(pull)
    assert len(leaves) == 2
    first, second = tree.unflatten([10 * leaf for leaf in leaves])(np.ones(3, np.float32))
    np.testing.assert_allclose(sorted([first.sum(), second.sum()]), [60.0, 120.0])


@pytest.mark.parametrize("jitted", [True, False])
def test_the_two_passes_are_those_of_vjp(jitted):
    fwd, bwd = stagec.fwd_and_bwd(weighted, argnums=(1, 0), jitted=jitted)
    value, residuals = fwd(X, 2 * X)
    np.testing.assert_allclose(value, (np.sin(X) * 2 * X).sum(), rtol=1e-6)
    of_w, of_x = bwd(residuals, np.float32(3))
    np.testing.assert_allclose(of_w, 3 * np.sin(X), rtol=1e-6)
    np.testing.assert_allclose(of_x, 3 * np.cos(X) * 2 * X, rtol=1e-5)


def test_one_argument_has_one_cotangent_and_aux_comes_last():
    fwd, bwd = stagec.fwd_and_bwd(lambda x, w: (weighted(x, w), x + w), argnums=0, has_aux=True)
    _, residuals, aux = fwd(X, X)
    np.testing.assert_array_equal(aux, 2 * X)
    np.testing.assert_allclose(bwd(residuals, np.float32(1)), np.cos(X) * X, rtol=1e-5)


def test_each_pass_is_traced_once():
    traces = []

    def counted(x):
        traces.append(0)
        return snp.tanh(x)

    fwd, bwd = stagec.fwd_and_bwd(counted, argnums=0)
    for i in range(3):
        value, residuals = fwd(X + i)
        bwd(residuals, value)
    assert len(traces) == 1


def test_they_are_those_of_jax():
    jax = pytest.importorskip("jax")
    found = []
    for package in (stagec, jax):
        fwd, bwd = package.fwd_and_bwd(lambda x, w: (x * x * w, w), (0,))
        (value, _), residuals = fwd(X, 2 * X)
        found.append((value, bwd(residuals, (X, X))[0]))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-6)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-6)

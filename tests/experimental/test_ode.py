"""`stagec.experimental.ode` against exact solutions, SciPy, finite differences and JAX."""

import numpy as np
import pytest
import scipy.integrate

import stagec
import stagec.numpy as snp
from stagec.experimental.ode import odeint

TIMES = np.linspace(0.0, 2.0, 6)


def pendulum(y, t, parameters, times):
    pull = parameters["pull"] * snp.sin(times * t)
    return {"x": y["v"], "v": -parameters["stiffness"] * snp.sin(y["x"]) + pull}


@pytest.fixture(autouse=True)
def _doubles():
    with stagec.config.override(enable_x64=True):
        yield


START = {"x": np.array([1.0, 2.0]), "v": np.array([0.0, 0.5])}
PARAMETERS = {"stiffness": np.array(2.0), "pull": np.array([0.3, -0.2])}


def test_an_exponential():
    found = odeint(lambda y, t, k: -k * y, np.array([1.0, 3.0]), TIMES, 0.5, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found, np.exp(-0.5 * TIMES)[:, None] * [1.0, 3.0], rtol=1e-8)
    turned = stagec.jit(lambda t: odeint(lambda y, t: 1j * y, np.array(1 + 0j), t, rtol=1e-9, atol=1e-9))(TIMES)
    np.testing.assert_allclose(turned, np.exp(1j * TIMES), rtol=1e-7)


def test_many_times_in_one_step_are_on_the_polynomial():
    times = np.linspace(0.0, 1.0, 200)
    found = odeint(lambda y, t: snp.cos(t) + 0 * y, np.array(0.0), times, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found, np.sin(times), atol=1e-5)


def test_containers_match_scipy():
    def f(t, y):
        found = pendulum({"x": y[:2], "v": y[2:]}, t, PARAMETERS, 3)
        return np.concatenate([found["x"], found["v"]])

    expected = scipy.integrate.solve_ivp(f, (0, 2), [1.0, 2.0, 0.0, 0.5], t_eval=TIMES, rtol=1e-10, atol=1e-10).y.T
    found = odeint(pendulum, START, TIMES, PARAMETERS, 3, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(np.concatenate([found["x"], found["v"]], 1), expected, atol=1e-7)


def _loss(start, times, parameters, count):
    found = odeint(pendulum, start, times, parameters, count, rtol=1e-10, atol=1e-10)
    return snp.sum(snp.sin(found["x"]) * np.arange(1, 7)[:, None]) + snp.sum(found["v"] ** 2)


def test_derivatives_match_finite_differences():
    loss = stagec.jit(_loss)
    found = stagec.tree.leaves(stagec.jit(stagec.grad(_loss, argnums=(0, 1, 2)))(START, TIMES, PARAMETERS, 3))
    leaves, structure = stagec.tree.flatten((START, TIMES, PARAMETERS))
    for i, leaf in enumerate(leaves):
        for place in np.ndindex(leaf.shape):
            values = []
            for change in (1e-5, -1e-5):
                moved = leaf.copy()
                moved[place] += change
                values.append(float(loss(*structure.unflatten([*leaves[:i], moved, *leaves[i + 1 :]]), 3)))
            np.testing.assert_allclose(found[i][place], (values[0] - values[1]) / 2e-5, rtol=1e-4, atol=1e-5)


def test_batches():
    found = stagec.vmap(lambda y: odeint(lambda y, t: -y * y, y, np.array([0.0, 1.0])))(np.array([1.0, 2.0]))
    np.testing.assert_allclose(found, [[1, 1 / 2], [2, 2 / 3]], rtol=1e-6)


def test_a_longest_step_is_kept():
    times = np.array([0.0, 10.0])
    seen = []

    def f(y, t):
        stagec.debug.callback(lambda t: seen.append(float(t)), t)
        return 0 * y

    odeint(f, np.array(1.0), times, hmax=2.0)[-1].block_until_ready()
    steps = np.diff(np.unique([round(t, 9) for t in seen]))
    assert len(seen) >= 30 and max(steps) <= 2.0


def test_states_that_were_not_reached_are_not_numbers():
    times = np.array([0.0, 1.0, 2.0])
    assert np.isnan(odeint(lambda y, t: y * np.nan, np.array(1.0), times)).tolist() == [False, True, True]
    assert np.isnan(odeint(lambda y, t: -y, np.array(1.0), times, mxstep=3)).tolist() == [False, True, True]


def test_times_that_are_the_same_have_one_state():
    found = odeint(lambda y, t: -y, np.array(1.0), np.array([0, 0, 1, 1]), rtol=1e-8)
    np.testing.assert_allclose(found, np.exp([0.0, 0, -1, -1]), rtol=1e-6)


def test_results_match_jax():
    jax = pytest.importorskip("jax")
    ode = pytest.importorskip("jax.experimental.ode")

    def f(xp):
        return lambda y, t, k: xp.stack([y[1], k * (1 - y[0] ** 2) * y[1] - y[0]])

    times = np.linspace(0.0, 5.0, 40)
    with jax.enable_x64(True):
        expected = ode.odeint(f(jax.numpy), jax.numpy.array([2.0, 0.0]), times, 3.0, rtol=1e-8, atol=1e-8)
    found = odeint(f(snp), np.array([2.0, 0.0]), times, 3.0, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(found, np.asarray(expected), atol=1e-5)

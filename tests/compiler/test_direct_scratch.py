"""Memory of programs of kernels alone: who allocates it, and that no call sees what another one left in it."""

import re
import threading

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import lax
from stagec.compiler import build
from stagec.compiler.direct import host


@pytest.fixture
def texts(monkeypatch):
    """The host programs that are written."""
    found, text = [], host.text

    def noted(*args):
        found.append(text(*args))
        return found[-1]

    monkeypatch.setattr(host, "text", noted)
    stagec.clear_caches()
    with stagec.config.override(enable_cache=False):
        yield found
    stagec.clear_caches()


def several(x):
    """Kernels that pass on what they computed."""
    return snp.tanh(x @ x) @ x


def rounds(x, n):
    """A loop of the host's, whose kernels read its counter."""
    return lax.fori_loop(0, n, lambda i, x: snp.sort(x + i)[::-1], x)


PROGRAMS = {"kernels": (several, 80), "a loop": (lambda x: rounds(x, 3), 30)}


def array(size):
    return np.random.default_rng(size).normal(size=(size, size)).astype(np.float32) / size


def queued(text):
    """How often a call allocates memory in the order of its queue."""
    return len(re.findall(r"@hal\.device\.queue\.alloca\(", text.partition("@main(")[2]))


@pytest.mark.parametrize("name", PROGRAMS)
def test_calls_that_wait_allocate_at_once(name, texts):
    function, size = PROGRAMS[name]
    x = array(size)
    result = stagec.jit(function)(x)
    assert not queued(texts[-1])
    with stagec.disable_jit():
        np.testing.assert_allclose(result, function(snp.asarray(x)), rtol=1e-4, atol=1e-5)


def test_calls_share_the_memory_of_large_stacks_of_states():
    def f(x):
        x = lax.while_loop(lambda x: x.sum() < 50, lambda x: x * x + 0.1, x)
        return (x * snp.arange(20.0)).sum()

    with stagec.config.override(loop_checkpoint_bytes=8 << 20):
        gradient = stagec.jit(stagec.grad(f))
        for start in (1.5, 0.9, 1.5):  # the second one keeps more states than the others
            x = np.full(20, start, np.float32)
            slopes, y = np.ones(20), x.astype(float)
            while y.sum() < 50:
                slopes, y = slopes * 2 * y, y * y + 0.1
            np.testing.assert_allclose(gradient(x), slopes * np.arange(20), rtol=1e-4)


def test_programs_that_run_while_python_goes_on_allocate_what_is_temporary_in_turn(texts, monkeypatch):
    stagec.jit(several)(array(600)).block_until_ready()
    assert queued(texts[-1]) == 1
    monkeypatch.setattr(build, "choose_driver", lambda graph, target: "local-task")
    stagec.jit(several)(array(80)).block_until_ready()
    assert queued(texts[-1]) == 1


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_call_does_not_see_what_the_one_before_left(name, texts):
    function, size = PROGRAMS[name]
    f, x = stagec.jit(function), array(size)
    first = np.array(f(x))
    for other in (np.full_like(x, np.nan), np.full_like(x, np.inf), -x):
        f(other)
        assert np.array(f(x)).tobytes() == first.tobytes()


@pytest.mark.parametrize("name", PROGRAMS)
def test_calls_at_the_same_time_have_memory_of_their_own(name, texts):
    function, size = PROGRAMS[name]
    f = stagec.jit(function)
    inputs = [array(size) * scale for scale in (1, 2, 3, 4)]
    wanted = [np.array(f(x)).tobytes() for x in inputs]
    wrong = []

    def calls(i):
        wrong.extend(n for n in range(200) if np.array(f(inputs[i])).tobytes() != wanted[i])

    threads = [threading.Thread(target=calls, args=(i,)) for i in range(len(inputs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong

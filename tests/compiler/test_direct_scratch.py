"""Temporary memory of programs of kernels alone: small one is kept from call to call."""

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


def allocations(text):
    """How often a call allocates memory for kernels, and whether the module does when it is loaded."""
    _, _, initializer = text.partition("@__init()")
    initializer, _, main = initializer.partition("@main(")
    return len(re.findall(r"@hal\.device\.queue\.alloca\(", main)), "@hal.allocator.allocate(" in initializer


@pytest.mark.parametrize("name", PROGRAMS)
def test_calls_that_wait_allocate_their_results_alone(name, texts):
    function, size = PROGRAMS[name]
    x = array(size)
    result = stagec.jit(function)(x)
    assert allocations(texts[-1]) == (1, True)
    with stagec.disable_jit():
        np.testing.assert_allclose(result, function(snp.asarray(x)), rtol=1e-4, atol=1e-5)


def test_stacks_of_states_are_kept_although_they_are_large(texts):
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
    assert allocations(texts[-1])[0] <= 1 and host._KEPT_BYTES < 8 << 20


def test_large_memory_is_free_after_a_call(texts):
    stagec.jit(several)(array(600))
    assert allocations(texts[-1]) == (2, False)


def test_programs_that_run_while_python_goes_on_have_memory_for_each_call(texts, monkeypatch):
    monkeypatch.setattr(build, "choose_driver", lambda graph, target: "local-task")
    stagec.jit(several)(array(80)).block_until_ready()
    assert allocations(texts[-1]) == (2, False)


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

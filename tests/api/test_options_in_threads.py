"""Options that one thread changes while another one traces: the next call is under the new ones."""

import threading

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec.runtime import plans

X = np.linspace(0, 1, 4)


@pytest.fixture(autouse=True)
def usual_options():
    yield
    stagec.config.update("enable_x64", False)


def changed_within(call, started, going):
    """Call in another thread, and change an option while it runs."""
    thread = threading.Thread(target=call)
    thread.start()
    assert started.wait(60)
    stagec.config.update("enable_x64", True)
    going.set()
    thread.join(60)
    assert not thread.is_alive()


@pytest.mark.parametrize("argument", [lambda: X, lambda: snp.asarray(np.float32(X))])
def test_a_fast_path_of_the_old_options_is_not_kept(argument):
    started, going = threading.Event(), threading.Event()

    @stagec.jit
    def f(x):
        y = x + np.pi * snp.arange(4.0)
        started.set()
        assert going.wait(60)
        return y

    x = argument()
    changed_within(lambda: f(x), started, going)
    assert f(x).dtype == np.float64


def test_a_plan_of_the_old_options_is_not_kept(monkeypatch):
    started, going = threading.Event(), threading.Event()
    recorded = plans._recorded

    def slow(*args):
        found = recorded(*args)
        started.set()
        assert going.wait(60)
        return found

    x = snp.asarray(np.arange(4, dtype=np.int32))
    monkeypatch.setattr(plans, "_recorded", slow)
    changed_within(lambda: snp.sum(x), started, going)
    # The first call records, the second makes the plan.
    assert [snp.sum(x).dtype for _ in range(3)] == [np.int64] * 3

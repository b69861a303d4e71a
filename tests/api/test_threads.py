"""Threads that call a function for the first time: one traces it, the others wait, and none waits for ever."""

import os
import signal
import sys
import threading
import time

import numpy as np
import pytest

import stagec
from stagec.api import traces

X = np.ones(2, np.float32)
# No test comes near; a deadlock would.
LIMIT = 60


def in_threads(count, work):
    """What `work(i)` returned or raised in each of `count` threads that start together."""
    found = [None] * count
    barrier = threading.Barrier(count)

    def run(i):
        barrier.wait()
        try:
            found[i] = work(i)
        except Exception as error:
            found[i] = error

    threads = [threading.Thread(target=run, args=(i,), daemon=True) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT)
        assert not thread.is_alive(), "a thread waits for ever"
    return found


@pytest.fixture
def waits(monkeypatch):
    """Threads that are about to wait for another one's trace; none gives up waiting."""
    monkeypatch.setattr(traces, "_PATIENCE_SECONDS", LIMIT)
    seen = []
    wait = threading.Event.wait

    def watched(event, timeout=None):
        if timeout == LIMIT:
            seen.append(threading.get_ident())
        return wait(event, timeout)

    monkeypatch.setattr(threading.Event, "wait", watched)
    return seen


def until(condition):
    end = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.001)


def test_eight_threads_trace_a_function_once(waits):
    traced = []

    @stagec.jit
    def f(x):
        traced.append(threading.get_ident())
        until(lambda: len(waits) == 7)
        return x + 1

    results = in_threads(8, lambda i: f(X))
    assert [r.tolist() for r in results] == [[2.0, 2.0]] * 8
    assert len(traced) == 1


def test_other_signatures_are_traced_meanwhile(waits):
    inside = threading.Event()

    @stagec.jit
    def f(x):
        # Both traces are under way before either may end.
        if x.shape == (2,):
            assert inside.wait(30)
        else:
            inside.set()
        return x + 1

    assert [r.shape for r in in_threads(2, lambda i: f(np.ones(2 + i, np.float32)))] == [(2,), (3,)]
    assert waits == []


def test_an_error_while_tracing_lets_the_next_thread_try(waits):
    traced = []

    @stagec.jit
    def f(x):
        traced.append(0)
        if len(traced) == 1:
            until(lambda: len(waits) == 3)
            raise ValueError("the first one fails")
        return x + 1

    results = in_threads(4, lambda i: f(X))
    assert sorted(type(r).__name__ for r in results) == ["Array", "Array", "Array", "ValueError"]
    assert len(traced) == 2


def test_two_threads_that_need_each_others_traces_do_not_wait_for_ever(waits):
    entered = [threading.Event(), threading.Event()]
    depth = threading.local()

    def body(mine, other, x):
        if getattr(depth, "inner", False):
            return x + mine
        entered[mine].set()
        assert entered[1 - mine].wait(30)
        depth.inner = True
        return other(x) * 2

    @stagec.jit
    def first(x):
        return body(0, second, x)

    @stagec.jit
    def second(x):
        return body(1, first, x)

    results = in_threads(2, lambda i: (first, second)[i](X))
    assert [type(r).__name__ for r in results] == ["Array", "Array"]
    assert len(waits) == 1, "one waits, and the other sees that it must not"


def test_a_function_may_call_itself_with_the_same_signature():
    depth = []

    @stagec.jit
    def f(x):
        depth.append(0)
        return f(x) + 1 if len(depth) < 3 else x

    assert f(X).tolist() == [3.0, 3.0]


def test_a_thread_that_holds_a_lock_of_the_trace_gives_up_waiting(monkeypatch):
    monkeypatch.setattr(traces, "_PATIENCE_SECONDS", 0.05)
    lock = threading.RLock()
    started, held = threading.Event(), threading.Event()

    @stagec.jit
    def f(x):
        started.set()
        assert held.wait(30)
        with lock:
            return x + 1

    def work(i):
        if i == 0:
            return f(X)
        assert started.wait(30)
        with lock:
            held.set()
            return f(X)

    assert [r.tolist() for r in in_threads(2, work)] == [[2.0, 2.0]] * 2


@pytest.mark.skipif(sys.platform == "win32", reason="signals to threads")
def test_a_waiting_thread_can_be_interrupted(waits):
    # A shell that starts pytest in the background has it ignore the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    going = threading.Event()
    started = threading.Event()

    @stagec.jit
    def f(x):
        started.set()
        assert going.wait(30)
        return x + 1

    other = threading.Thread(target=f, args=(X,))
    other.start()
    assert started.wait(30)

    def interrupt():
        until(lambda: len(waits) == 1)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            f(X)
    finally:
        signal.signal(signal.SIGINT, before)
    going.set()
    other.join(LIMIT)
    assert f(X).tolist() == [2.0, 2.0]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_does_not_wait_for_a_thread_that_is_not_there(waits):
    key = ("a signature",)
    cache = traces.TraceCache()
    started, going = threading.Event(), threading.Event()

    class Made:
        captured, references = (), None

    def slow():
        started.set()
        assert going.wait(30)
        return Made()

    thread = threading.Thread(target=cache.made, args=(key, slow))
    thread.start()
    assert started.wait(30)
    child = os.fork()
    if child == 0:
        # Whatever happens, the child must not go on with the tests.
        try:
            signal.alarm(20)
            cache.made(key, Made)
        finally:
            os._exit(0 if not waits and key in cache.traces else 1)
    _, status = os.waitpid(child, 0)
    going.set()
    thread.join(LIMIT)
    assert os.waitstatus_to_exitcode(status) == 0

"""Work on helper threads, with the state of the thread that waits for it."""

import _thread
import contextvars
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import lax
from stagec.core import location
from stagec.core.config import config
from stagec.runtime import interruptible


class Interrupt(BaseException):
    """What the handler of the tests raises."""


@pytest.fixture
def interrupt():
    """A function that lets the main thread be interrupted so many seconds from now."""

    def handler(*_):
        raise Interrupt

    before = signal.signal(signal.SIGALRM, handler)
    yield lambda seconds: signal.setitimer(signal.ITIMER_REAL, seconds)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def interrupted(work):
    with pytest.raises(Interrupt):
        interruptible.call(work)


def test_work_runs_on_a_helper_in_the_main_thread_and_directly_elsewhere():
    assert interruptible.call(threading.get_ident) != threading.get_ident()
    found = []
    other = threading.Thread(target=lambda: found.append(interruptible.call(threading.get_ident)))
    other.start()
    other.join()
    assert found == [other.ident]


def test_one_helper_does_all_that_is_not_interrupted():
    interruptible.call(int)
    count = len(interruptible._helpers)
    assert {interruptible.call(threading.get_ident) for _ in range(20)} <= {h.ident for h in interruptible._idle}
    assert len(interruptible._helpers) == count


def test_a_helper_has_the_options_the_context_and_the_line_of_who_waits():
    variable = contextvars.ContextVar("variable", default=0)
    variable.set(3)
    with config.override(enable_x64=True):
        found = interruptible.call(lambda: (config.enable_x64, variable.get(), location.capture().function))
    assert found == (True, 3, "test_a_helper_has_the_options_the_context_and_the_line_of_who_waits")
    assert interruptible.call(lambda: config.enable_x64) is False


def test_an_error_is_raised_where_the_work_is_waited_for():
    def fail():
        raise LookupError("no such thing")

    with pytest.raises(LookupError, match="no such thing") as raised:
        interruptible.call(fail)
    assert [entry.name for entry in raised.traceback][-1] == "fail"


def test_work_goes_on_after_an_interrupt_and_what_it_uses_lives_until_then(interrupt):
    release, done = threading.Event(), threading.Event()

    def work():
        release.wait(10)
        done.set()

    interrupt(0.05)
    interrupted(work)
    assert not done.is_set()
    # The next piece of work has a helper of its own.
    assert interruptible.call(lambda: 3) == 3
    release.set()
    assert done.wait(10)


def test_a_helper_asks_the_thread_that_waits(interrupt):
    def asks():
        return interruptible.on_caller(threading.get_ident), interruptible.on_caller(nested), threading.get_ident()

    def nested():
        return interruptible.call(lambda: interruptible.on_caller(threading.get_ident))

    caller, inner, helper = interruptible.call(asks)
    assert caller == inner == threading.get_ident() != helper
    assert interruptible.on_caller(threading.get_ident) == threading.get_ident()


def test_what_is_asked_may_fail():
    def fail():
        raise LookupError("no such thing")

    def asks():
        with pytest.raises(LookupError, match="no such thing"):
            interruptible.on_caller(fail)
        return "it went on"

    assert interruptible.call(asks) == "it went on"


def test_nobody_answers_after_an_interrupt(interrupt):
    release, ended = threading.Event(), []

    def asks():
        is_abandoned = interruptible.is_abandoned()
        release.wait(10)
        try:
            interruptible.on_caller(lambda: ended.append("answered"))
        except interruptible.Abandoned:
            ended.append(is_abandoned())

    # Python looks for this signal where a slice ends, not within it.
    threading.Timer(0.05, _thread.interrupt_main, [signal.SIGALRM]).start()
    interrupted(asks)
    release.set()
    deadline = time.monotonic() + 10
    while not ended and time.monotonic() < deadline:
        time.sleep(0.01)
    assert ended == [True]


def test_a_wait_in_slices_ends_when_it_is_done_and_lets_signals_in(interrupt):
    waits = []

    def wait(nanoseconds):
        time.sleep(0.01)
        waits.append(nanoseconds)
        return len(waits) == 3

    interruptible.until(wait)
    # It looks once without waiting, which took longer here than it goes on looking.
    assert waits == [0, *[int(1e9 * interruptible.SLICE_SECONDS)] * 2]
    interrupt(0.05)
    with pytest.raises(Interrupt):
        interruptible.until(lambda _: time.sleep(0.01))


def test_another_thread_waits_in_one_piece():
    waits = []
    other = threading.Thread(target=lambda: interruptible.until(lambda n: waits.append(n) or n > 0))
    other.start()
    other.join()
    assert set(waits[:-1]) == {0}
    assert waits[-1] > 1e17


def test_a_forked_child_has_helpers_of_its_own():
    interruptible.call(int)
    child = os.fork()
    if child == 0:
        try:
            os._exit(interruptible.call(lambda: 5))
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5


def test_a_callback_that_forks_leaves_its_program_to_the_parent():
    def note(i):
        nonlocal child
        if child is None:
            child = os.fork()

    child = None
    noting = stagec.jit(lambda n: lax.fori_loop(0, n, lambda i, s: (stagec.debug.callback(note, i), s + 1)[1], 0))
    noting(0)
    try:
        result = int(noting(2))
    except stagec.errors.ExecutionError as error:
        os._exit(7 if child == 0 and "in the parent alone" in str(error) else 1)
    if child == 0:
        os._exit(2)
    assert result == 2
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


# What runs on the calling thread.


X = snp.ones(10)


def executable(function, *args):
    return stagec.jit(function).lower(*args).compile()._lowered._runnable.executable()


def repeat(x, n):
    return lax.fori_loop(0, n, lambda i, x: snp.sin(x), x)


@pytest.mark.parametrize(
    ("function", "args", "quick"),
    [
        (lambda x: snp.sin(x) + 1, (X,), True),
        (lambda x: lax.fori_loop(0, 10, lambda i, x: snp.sin(x), x), (X,), True),
        (lambda x: lax.fori_loop(0, 10**6, lambda i, x: snp.sin(x), x), (X,), False),
        (repeat, (X, 3), False),
        # On a queue only what the host takes part in counts.
        (lambda x: snp.sin(x) @ x, (snp.ones((500, 500)),), True),
        (repeat, (snp.ones((500, 500)), 3), False),
    ],
)
def test_only_calls_known_to_be_quick_run_on_the_calling_thread(function, args, quick):
    assert executable(function, *args).quick is quick


@pytest.mark.parametrize(("size", "count", "queue"), [(10, 10**4, "local-sync"), (600 * 600, 20, "local-task")])
def test_a_short_call_shows_that_a_bounded_program_is_quick(monkeypatch, size, count, queue):
    monkeypatch.setattr("stagec.runtime.executable.SHORT_SECONDS", 1e9)
    x = snp.ones(size)

    def rounds(x):
        return lax.fori_loop(0, count, lambda i, y: snp.where(i < 2, y + 1, y), snp.sin(x))

    def varying(x):
        return lax.cond(x[0] > 2, lambda x: lax.fori_loop(0, 10**6, lambda i, y: snp.sin(y), x), lambda x: x, x)

    bounded, unknown = executable(rounds, x), executable(varying, x)
    unknown.run([x])
    assert bounded.driver == queue and not bounded.quick and not unknown.quick
    for _ in range(2):  # on a helper, then on this thread
        np.testing.assert_allclose(bounded.run([x])[0], np.sin(np.float32(1)) + 2, rtol=1e-6)
        assert bounded.quick


def test_a_bounded_program_whose_call_was_long_stays_on_helpers(monkeypatch):
    monkeypatch.setattr("stagec.runtime.executable.SHORT_SECONDS", -1.0)
    bounded = executable(lambda x: lax.fori_loop(0, 10**6, lambda i, x: snp.sin(x), x), X)
    bounded.run([X])
    assert not bounded.quick


@pytest.mark.parametrize(("function", "args", "quick"), [(lambda x: x + 1, (X,), True), (repeat, (X, 3), False)])
def test_a_loaded_function_is_as_quick_as_the_one_that_was_saved(tmp_path, function, args, quick):
    path = tmp_path / "model.stagec"
    stagec.save(path, stagec.export(stagec.jit(function))(*args))
    loaded = stagec.load(path)
    loaded(*args)
    (program,) = loaded._programs.values()
    assert program.executable().quick is quick


def test_a_call_begins_while_another_one_of_the_same_program_runs(interrupt):
    f = stagec.jit(repeat)
    x = snp.ones(2)
    f(x, 1)
    interrupt(0.2)
    started = time.monotonic()
    with pytest.raises(Interrupt):
        f(x, 80_000_000)
    assert float(f(x, 1)[0]) == pytest.approx(0.8414710)
    busy = [h for h in interruptible._helpers if h.job is not None]
    assert busy, "the first call was over before the second one began"
    deadline = started + 300
    while any(h.job is not None for h in busy) and time.monotonic() < deadline:
        time.sleep(0.05)
    # Its context is free again, beside the one that was made meanwhile.
    assert len(f.lower(x, 1)._runnable.executable()._contexts.free) == 2


def test_what_is_stopped_in_a_function_that_a_library_calls_says_nothing_and_is_stopped_after_it():
    code = """
import ctypes, signal, time
from stagec.runtime import interruptible
kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
def compare(a, b):
    pause()
    return 0
def pause():
    for _ in range(6000):  # until it is stopped
        time.sleep(0.01)
def work():
    try:
        ctypes.CDLL(None).qsort((ctypes.c_int * 2)(), ctypes.c_size_t(2), ctypes.c_size_t(4), kind(compare))
        pause()
    except interruptible.Abandoned:
        print("stopped", flush=True)
        raise
def alarm(*_):
    raise TimeoutError
signal.signal(signal.SIGALRM, alarm)
signal.setitimer(signal.ITIMER_REAL, 0.1)
try:
    interruptible.call(work)
except TimeoutError:
    print("left", flush=True)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("left\nstopped\n", "")


@pytest.mark.parametrize(
    ("work", "helpers"),
    [
        (lambda: snp.fft.fft(np.ones((3000, 3000))), 1),
        (lambda: lax.linalg.lu(np.eye(2500)), 1),
        (lambda: snp.ones((300, 300)) @ snp.ones(300), 0),
        (lambda: stagec.pure_callback(lambda v: v, SHAPE, snp.ones(SHAPE.shape)), 0),
    ],
    ids=["transform", "factorization", "short", "callback"],
)
def test_long_evaluations_outside_jit_run_on_helpers(monkeypatch, work, helpers):
    calls, call = [], interruptible.call
    monkeypatch.setattr("stagec.runtime.eager.interruptible.call", lambda work: calls.append(work) or call(work))
    work()
    assert len(calls) == helpers


SHAPE = stagec.ShapeDtypeStruct((1000, 1000), "float32")

"""Loops that may never end run on the calling thread up to a limit, and on a helper where it is too low."""

import os
import signal
import threading
import time

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import lax
from stagec.runtime import executable, interruptible


def rounds_of(n):
    """The rounds that a loop counts whose condition depends on data, and a sum over them."""
    return lax.while_loop(lambda s: s[0] < 0.5 * n, lambda s: (s[0] + 0.5, s[1] + 1, s[2] + s[1]), (0.0, 0, 0))[1:]


def expected(n):
    return n, n * (n - 1) // 2


def compiled(function, *args, **options):
    stagec.clear_caches()  # so that no test knows how long the calls of another one took
    return stagec.jit(function, **options).lower(*args).compile()._lowered._runnable.executable()


@pytest.fixture
def helpers(monkeypatch):
    """The jobs of helpers, one after the other. Any call is short enough for the calling thread."""
    found, call = [], interruptible.call
    monkeypatch.setattr(executable, "LIMITED_SECONDS", 1e9)
    monkeypatch.setattr(executable.interruptible, "call", lambda work: found.append(work) or call(work))
    return found


def run(loaded, n):
    return tuple([int(r) for r in loaded.run([snp.int32(n)])])


def test_short_calls_run_on_the_calling_thread_after_the_first_one(helpers):
    loaded = compiled(rounds_of, 3)
    del helpers[:]
    assert [run(loaded, n) for n in (3, 0, 5, 30)] == [*map(expected, (3, 0, 5, 30))]
    assert len(helpers) == 1 and loaded.quick


def test_a_call_that_needs_more_than_its_limit_is_run_again(helpers, monkeypatch):
    monkeypatch.setattr(executable, "_MOST", 3000)
    monkeypatch.setattr(executable, "_LEAST", 0)
    loaded = compiled(rounds_of, 3)
    del helpers[:]
    for n in (3, 10_000, 20_000, 3, 4, 10_000, 4):
        assert run(loaded, n) == expected(n)
    # The first one, three long ones, and short ones after those.
    assert len(helpers) == 6
    assert loaded.quick


def test_a_call_that_took_long_is_no_reason_to_try_the_next_one(helpers, monkeypatch):
    monkeypatch.setattr(executable, "LIMITED_SECONDS", -1.0)
    loaded = compiled(rounds_of, 3)
    del helpers[:]
    for n in (3, 4, 5):
        assert run(loaded, n) == expected(n)
    assert len(helpers) == 3 and not loaded.quick


def test_a_loaded_program_has_its_limit_from_the_disk(helpers, tmp_path):
    with stagec.config.override(cache_dir=str(tmp_path), enable_cache=True):
        for source in ("compiled", "disk"):
            stagec.clear_caches()
            lowered = stagec.jit(rounds_of).lower(3)
            loaded = lowered.compile()._lowered._runnable.executable()
            assert lowered._runnable.code.source == source
            assert [run(loaded, n) for n in (3, 4)] == [*map(expected, (3, 4))]
            assert loaded.quick


@pytest.mark.parametrize(
    ("function", "options"),
    [
        (lambda x: lax.while_loop(lambda x: x < 9, lambda x: x + 1, x), {"donate_argnums": 0}),
        (lambda x: rounds_of(stagec.pure_callback(lambda x: x, x, x))[0], {}),
    ],
)
def test_what_cannot_run_again_stays_on_helpers(helpers, function, options):
    x = snp.float32(3) + 0
    loaded = compiled(function, x, **options)
    for _ in range(2):
        del helpers[:]
        assert float(loaded.run([snp.float32(3) + 0])[0]) in (3, 6, 9)
        assert len(helpers) == 1


def test_packed_weights_follow_the_limit(helpers):
    weights = snp.asarray(np.random.default_rng(0).standard_normal((96, 96)).astype(np.float32) / 20)

    def powers(x, n):
        return lax.while_loop(lambda s: s[1] < 0.5 * n, lambda s: (s[0] @ weights, s[1] + 0.5), (x, 0.0))[0]

    f, x = stagec.jit(powers), np.ones((64, 96), np.float32)
    for n in (2, 3, 3):
        np.testing.assert_allclose(f(x, n), x @ np.linalg.matrix_power(np.asarray(weights), n), rtol=1e-4, atol=1e-5)


def test_threads_share_a_program_with_a_limit():
    f = stagec.jit(rounds_of)
    wrong = []

    def calls(seed):
        for n in np.random.default_rng(seed).choice([0, 1, 7, 1000, 60_000], 100):
            found = tuple(map(int, f(n)))
            if found != expected(n):
                wrong.append((n, found))

    threads = [threading.Thread(target=calls, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    calls(9)
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_forked_child_runs_a_program_with_a_limit(helpers):
    f = stagec.jit(rounds_of)
    f(3), f(3)
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if tuple(map(int, f(9))) == expected(9) else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.fixture
def on_alarm():
    """Sets what SIGALRM does, and has one sent every so many seconds."""

    def begin(handler, seconds):
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, seconds, seconds)

    before = signal.getsignal(signal.SIGALRM)
    yield begin
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def test_an_endless_loop_is_interrupted_after_short_ones(on_alarm):
    def wait(number, frame):
        raise TimeoutError

    f = stagec.jit(lambda n: lax.while_loop(lambda s: s[1] != n, lambda s: (snp.sin(s[0]), s[1] + 1), (1.0, 0)))
    for _ in range(3):
        assert f(3)[1] == 3
    on_alarm(wait, 0.1)
    started = time.monotonic()
    with pytest.raises(TimeoutError):
        f(10**8)  # it goes on in the background for a second or two
    signal.setitimer(signal.ITIMER_REAL, 0)
    assert time.monotonic() - started < 1
    assert f(4)[1] == 4


def test_a_handler_that_returns_changes_no_result(on_alarm):
    f = stagec.jit(rounds_of)
    seen = []
    on_alarm(lambda *_: seen.append(1), 0.002)
    deadline = time.monotonic() + 5
    while len(seen) < 50 and time.monotonic() < deadline:
        for n in (5, 2000, 60_000):
            assert tuple(map(int, f(n))) == expected(n)
    assert len(seen) >= 50

"""Calls of Python functions in progress: exceptions, calls inside calls, threads."""

import os
import threading
import traceback

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import lax

f32 = stagec.ShapeDtypeStruct((), "float32")


# Exceptions.


class Custom(Exception):
    pass


@pytest.mark.parametrize("kind", [Custom, RuntimeError, KeyboardInterrupt, SystemExit, StopIteration, GeneratorExit])
def test_an_exception_reaches_the_caller_as_the_same_object(kind):
    mistake = kind("boom")
    fail = True

    def callback(x):
        if fail:
            raise mistake
        return np.asarray(x) * 2

    @stagec.jit
    def f(x):
        return lax.fori_loop(0, 2, lambda i, x: stagec.pure_callback(callback, f32, x), x)

    for _ in range(3):
        with pytest.raises(kind) as info:
            f(np.float32(1))
        assert info.value is mistake
        frames = [frame.name for frame in traceback.extract_tb(info.value.__traceback__)]
        assert frames[-1] == "callback"
        assert info.value.__context__ is None
        mistake.__traceback__ = None
    fail = False
    assert float(f(np.float32(1))) == 4.0


def test_the_traceback_shows_the_callers_lines_only():
    def deep(x):
        return 1 // 0

    def callback(x):
        return deep(x)

    f = stagec.jit(lambda x: stagec.pure_callback(callback, f32, x))
    with pytest.raises(ZeroDivisionError) as info:
        f(np.float32(1))
    text = "".join(traceback.format_exception(info.value))
    assert "return deep(x)" in text
    assert "1 // 0" in text
    assert "RuntimeError" not in text
    assert f"stagec{os.sep}core" not in text


def test_an_exception_after_results_leaves_the_next_call_clean():
    seen = []

    def callback(x):
        seen.append(float(x))
        if float(x) < 0:
            raise Custom("negative")

    f = stagec.jit(lambda x: (stagec.debug.callback(callback, x), stagec.debug.callback(callback, -x), x)[2] + 1)
    with pytest.raises(Custom):
        f(1.0)
    assert seen == [1.0, -1.0]
    assert float(f(0.0)) == 1.0


def test_an_exception_handled_inside_the_callback_is_no_error():
    def callback(x):
        try:
            raise Custom("inner")
        except Custom:
            return np.asarray(x)

    assert float(stagec.jit(lambda x: stagec.pure_callback(callback, f32, x))(np.float32(3))) == 3.0


# Calls inside calls, and threads.


def test_a_callback_may_call_jitted_functions():
    inner = stagec.jit(lambda x: x * 2 + 1)
    f = stagec.jit(lambda x: stagec.pure_callback(lambda x: inner(x), f32, x) + 100)
    assert float(f(np.float32(3))) == 107.0
    assert float(f(np.float32(4))) == 109.0


def test_a_callback_may_call_the_function_that_called_it():
    @stagec.jit
    def factorial(n):
        rest = stagec.pure_callback(lambda n: factorial(n - 1) if n > 1 else np.float32(1), f32, n)
        return n * rest

    assert float(factorial(np.float32(5))) == 120.0
    assert float(factorial(np.float32(4))) == 24.0


def test_an_exception_from_far_inside_comes_out():
    mistake = Custom("deep")

    def callback(n):
        if n <= 0:
            raise mistake
        return f(n - 1)

    f = stagec.jit(lambda n: stagec.pure_callback(callback, f32, n) + n)
    with pytest.raises(Custom) as info:
        f(np.float32(4))
    assert info.value is mistake


def test_endless_recursion_is_a_recursion_error():
    f = stagec.jit(lambda n: stagec.pure_callback(lambda n: f(n + 1), f32, n))
    with pytest.raises(RecursionError):
        f(np.float32(0))


def test_a_callback_may_trace_and_compile():
    def callback(x):
        return stagec.jit(lambda x: snp.cos(x) * 3)(x)

    f = stagec.jit(lambda x: stagec.pure_callback(callback, f32, x))
    np.testing.assert_allclose(float(f(np.float32(1))), np.cos(1.0) * 3, rtol=1e-6)


def test_a_callback_runs_outside_of_a_trace_around_the_call():
    seen = []
    compiled = stagec.jit(lambda x: (stagec.debug.callback(lambda x: seen.append(x + 1), x), x)[1] * 2).lower(1.0)
    compiled = compiled.compile()
    graph = stagec.make_graph(lambda y: (compiled(3.0), y)[1])(1.0)
    assert "add" not in str(graph)
    assert [float(x) for x in seen] == [4.0]


def test_threads_call_one_program_at_once():
    gate = threading.Barrier(4, timeout=30)

    def meet(x):
        gate.wait()  # every thread is inside its callback at the same time
        return np.asarray(x) * 2

    f = stagec.jit(lambda x: stagec.pure_callback(meet, f32, x) + 1)
    results = {}

    def work(i):
        results[i] = [float(f(np.float32(i + 10 * k))) for k in range(5)]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert results == {i: [2.0 * (i + 10 * k) + 1 for k in range(5)] for i in range(4)}


def test_exceptions_of_threads_do_not_mix():
    def fail(x):
        raise Custom(int(x))

    f = stagec.jit(lambda x: stagec.pure_callback(fail, f32, x))
    found = {}

    def work(i):
        for _ in range(20):
            try:
                f(np.float32(i))
            except Custom as error:
                found.setdefault(i, set()).add(error.args[0])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert found == {i: {i} for i in range(4)}


def test_a_callback_may_wait_for_a_thread_that_calls_the_same_program():
    depth = []

    def callback(x):
        if not depth:
            depth.append(1)
            thread = threading.Thread(target=lambda: depth.append(float(f(np.float32(5)))))
            thread.start()
            thread.join(30)
            assert not thread.is_alive()
        return np.asarray(x)

    f = stagec.jit(lambda x: stagec.pure_callback(callback, f32, x) + 1)
    assert float(f(np.float32(1))) == 2.0
    assert depth == [1, 6.0]

"""Programs that call Python: order, caches, stages."""

import gc
import os
import subprocess
import sys
import textwrap
import threading
import weakref

import ml_dtypes
import numpy as np
import pytest

import stagec
from stagec import lax
from stagec.core.graph import has_callbacks, host_callbacks
from stagec.experimental import io_callback
from stagec.runtime import interruptible

f32 = stagec.ShapeDtypeStruct((), "float32")


def like(x):
    return stagec.ShapeDtypeStruct(x.shape, x.dtype)


# Order, side effects, and what the compiler may do.


def test_calls_keep_the_order_of_the_program():
    seen = []

    @stagec.jit
    def f(x):
        for i in range(20):
            stagec.debug.callback(lambda v, i=i: seen.append(("debug", i)), x, ordered=bool(i % 2))
            io_callback(lambda v, i=i: seen.append(("io", i)), None, x * i, ordered=bool(i % 3))
        return x

    f(1.0)
    assert seen == [(kind, i) for i in range(20) for kind in ("debug", "io")]


def test_equal_calls_with_side_effects_are_neither_merged_nor_dropped():
    calls = []

    def draw(x):
        calls.append(float(x))
        return np.float32(len(calls))

    @stagec.jit
    def f(x):
        a = io_callback(draw, f32, x)
        b = io_callback(draw, f32, x)
        io_callback(draw, f32, x)
        return a * 10 + b

    assert float(f(7.0)) == 12.0
    assert calls == [7.0] * 3


def test_a_pure_call_without_readers_is_left_out():
    calls = []
    f = stagec.jit(lambda x: (stagec.pure_callback(lambda v: calls.append(v), f32, x), x + 1)[1])
    assert float(f(1.0)) == 2.0
    assert calls == []


def nothing(*args):
    return None


@pytest.mark.parametrize("where", ["jit", "cond", "while_loop", "scan", "fori_loop"])
def test_effects_inside_are_kept_though_results_are_not_used(where):
    seen = []

    def body(x):
        stagec.debug.callback(lambda v: seen.append(float(v)), x)
        return x + 1

    @stagec.jit
    def f(x):
        if where == "jit":
            stagec.jit(body)(x)
        elif where == "cond":
            lax.cond(x > 0, body, lambda x: x, x)
        elif where == "while_loop":
            lax.while_loop(lambda x: x < 3, body, x)
        elif where == "scan":
            lax.scan(lambda c, _: (body(c), None), x, None, length=2)
        else:
            lax.fori_loop(0, 2, lambda i, x: body(x), x)
        return x * 2

    for _ in range(2):
        seen.clear()
        assert float(f(1.0)) == 2.0
        assert seen == ([1.0] if where in ("jit", "cond") else [1.0, 2.0])


def test_calls_in_control_flow_happen_where_the_program_goes():
    seen = []

    def note(name):
        return lambda *v: seen.append((name, *[np.asarray(x).tolist() for x in v]))

    @stagec.jit
    def f(n, xs):
        def condition(state):
            stagec.debug.callback(note("condition"), state[0])
            return state[0] < n

        def loop(state):
            i, total = state
            picked = stagec.pure_callback(lambda i, xs: np.asarray(xs)[int(i)], f32, i, xs)
            lax.switch(i, [lambda: stagec.debug.callback(note("zero")), lambda: stagec.debug.callback(note("one"))])
            return i + 1, total + picked

        return lax.while_loop(condition, loop, (0, np.float32(0)))

    i, total = f(2, np.array([5.0, 7.0], np.float32))
    assert (int(i), float(total)) == (2, 12.0)
    assert seen == [("condition", 0), ("zero",), ("condition", 1), ("one",), ("condition", 2)]


def test_the_condition_of_a_loop_that_never_runs_is_still_asked_once():
    seen = []

    @stagec.jit
    def f(x):
        def condition(x):
            stagec.debug.callback(lambda x: seen.append(float(x)), x)
            return False

        return lax.while_loop(condition, lambda x: x + 1, x)

    assert float(f(4.0)) == 4.0
    assert seen == [4.0]


def test_equal_operands_and_unused_results_are_kept_apart():
    c = np.arange(3, dtype=np.float32)

    @stagec.jit
    def f(x):
        found = io_callback(lambda *v: v, (f32, like(c), f32, f32), x, c, x, np.float32(2))
        stagec.pure_callback(lambda: 1 / 0, f32)
        return found[2], found[1]

    for i in range(2):
        again, same = f(np.float32(i))
        assert float(again) == i
        np.testing.assert_array_equal(same, c)


@pytest.mark.parametrize("unroll", [1, 2, 5])
def test_an_unrolled_loop_calls_as_often(unroll):
    seen = []

    @stagec.jit
    def f(xs):
        def body(c, x):
            y = io_callback(lambda x: (seen.append(float(x)), np.asarray(x) * 2)[1], f32, x)
            return c + y, y

        return lax.scan(body, np.float32(0), xs, unroll=unroll)

    total, ys = f(np.arange(5.0, dtype=np.float32))
    assert (float(total), np.asarray(ys).tolist()) == (20.0, [0.0, 2.0, 4.0, 6.0, 8.0])
    assert seen == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_unsigned_state_goes_through_callbacks_in_loops():
    u = np.uint32(2**31 + 5)

    @stagec.jit
    def f(u):
        return lax.fori_loop(
            0, 3, lambda i, u: stagec.pure_callback(lambda v: np.asarray(v) + np.uint32(1), like(u), u), u
        )

    assert int(f(u)) == int(u) + 3


# Caches.


def test_programs_that_differ_in_their_functions_share_code_and_not_functions(compiles):
    def make(k):
        return stagec.jit(lambda x: stagec.pure_callback(lambda x: np.asarray(x) * k, f32, x) + 0.125)

    functions = [make(k) for k in (2, 3, 5)]
    assert float(functions[0](np.float32(1))) == 2.125
    with compiles() as made:
        assert [float(f(np.float32(1))) for f in functions] == [2.125, 3.125, 5.125]
        assert [float(f(np.float32(2))) for f in functions] == [4.125, 6.125, 10.125]
    assert made == []


def test_which_calls_are_of_one_function_is_part_of_the_program():
    def program(first, second):
        one, two = (stagec.jit(lambda x, g=g: stagec.pure_callback(g, f32, x)) for g in (first, second))

        def same(x):
            return one(x) + one(x)

        def different(x):
            return one(x) + two(x)

        return stagec.jit(same), stagec.jit(different)

    same, different = program(lambda x: np.asarray(x) * 2, lambda x: np.asarray(x) * 3)
    x = np.float32(1)
    digests = {f.trace(x).graph.graph.digest() for f in (same, different)}
    assert len(digests) == 2
    assert (float(same(x)), float(different(x))) == (4.0, 5.0)
    assert len(host_callbacks(same.trace(x).graph.graph)) == 1


def test_the_digest_does_not_know_the_function():
    def make(k, shape=()):
        spec = stagec.ShapeDtypeStruct(shape, "float32")
        f = stagec.jit(lambda x: stagec.pure_callback(lambda x: np.full(shape, k, np.float32), spec, x))
        return f.trace(1.0).graph.graph

    assert make(1).digest() == make(2).digest()
    assert make(1).digest() != make(1, (2,)).digest()
    assert has_callbacks(make(1))
    assert not has_callbacks(stagec.make_graph(lambda x: x + 1)(1.0).graph)


def test_a_function_is_freed_with_the_program_that_calls_it():
    class Thing:
        def __call__(self, x):
            return None

    thing = Thing()
    alive = weakref.ref(thing)

    def run(thing):
        f = stagec.jit(lambda x: (stagec.debug.callback(thing, x), x + 1)[1])
        f(1.0), f(1.0)

    run(thing)
    del thing
    # A free-threaded interpreter frees what a thread has made when that runs again, and helpers compile.
    interruptible.call(lambda: None)
    gc.collect()
    assert alive() is None


SCRIPT = """
import numpy as np, sys, stagec
from stagec.compiler import log

@stagec.jit
def f(x):
    y = stagec.pure_callback(lambda x: np.asarray(x) * {k}, stagec.ShapeDtypeStruct((), "float32"), x)
    stagec.debug.print("{word} {{}}", y)
    return y + 1

print(float(f(np.float32(2))))
print("iree.compiler" in sys.modules)
"""


def test_a_program_from_the_disk_calls_the_functions_of_the_new_process(tmp_path):
    def run(k, word):
        code = textwrap.dedent(SCRIPT).format(k=k, word=word)
        environment = {**os.environ, "STAGEC_CACHE_DIR": str(tmp_path)}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout.split("\n")[:3]

    assert run(3, "first") == ["first 6.0", "7.0", "True"]
    assert run(10, "second") == ["second 20.0", "21.0", "False"]


def test_clear_caches_leaves_working_functions():
    f = stagec.jit(lambda x: stagec.pure_callback(lambda x: np.asarray(x) * 2, f32, x))
    assert float(f(np.float32(2))) == 4.0
    stagec.clear_caches()
    assert float(f(np.float32(2))) == 4.0


# Stages.


@pytest.mark.parametrize("stage", ["graph", "stablehlo", "optimized", "input", "flow", "stream", "hal", "vm", "asm"])
def test_every_stage_can_be_printed(stage):
    lowered = stagec.jit(lambda x: stagec.pure_callback(nothing, f32, x) + 1).lower(np.float32(1))
    text = lowered.as_text(stage)
    assert text
    if stage in ("stablehlo", "optimized", "input", "flow", "vm"):
        assert "host.callback0" in text
    if stage == "graph":
        assert "pure_callback[callback=nothing" in text


def test_a_user_sees_the_same_program_in_every_process():
    a, b = (stagec.jit(lambda x: stagec.pure_callback(nothing, f32, x)).lower(1.0).as_text() for _ in range(2))
    assert a == b


def test_large_programs_with_callbacks_run_on_the_calling_thread():
    threads = []
    f = stagec.jit(
        lambda x: (stagec.debug.callback(lambda s: threads.append(threading.get_ident()), x.sum()), x @ x)[1]
    )
    x = np.ones((512, 512), np.float32)
    f(x)
    assert threads == [threading.get_ident()]
    assert f.lower(x)._runnable.executable().driver == "local-sync"


def test_explain_and_lowering_work_for_programs_with_callbacks():
    f = stagec.jit(lambda x: stagec.pure_callback(lambda x: np.asarray(x), f32, x))
    assert f.lower(1.0).compile()(1.0) == 1.0
    assert f.eval_shape(1.0).shape == ()
    assert str(stagec.explain(f, 1.0))


def test_bfloat16_prints_as_numbers(capsys):
    stagec.jit(lambda x: stagec.debug.print("{}", x))(np.array([1.5, 2], ml_dtypes.bfloat16))
    assert capsys.readouterr().out == "[1.5 2]\n"

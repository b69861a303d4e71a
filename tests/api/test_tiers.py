"""Tiers: NumPy evaluates while a program is compiled, and calls go on with the program as soon as it is there."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import lax
from stagec.api import tiers
from stagec.compiler import build, log
from stagec.core.config import config
from stagec.runtime import interruptible

# No test comes near; a deadlock would.
LIMIT = 60


class Compiler:
    """The compiler, which waits at a gate before each program."""

    def __init__(self):
        self.gate = threading.Event()
        self.error = None
        self.began = threading.Event()
        self.count = 0
        self.names = []
        self._work = build.fetch

    def fetched(self, *args):
        self.names.append(args[1])
        self.began.set()
        assert self.gate.wait(LIMIT), "the test never opened the gate"
        self.count += 1
        if self.error is not None:
            raise self.error
        return self._work(*args)


@pytest.fixture
def compiler(monkeypatch):
    """A closed compiler, and calls in tiers."""
    made = Compiler()
    monkeypatch.setattr(build, "fetch", interruptible.function(made.fetched))
    before = config.enable_cache
    config.update("enable_cache", False)
    config.update("tiered", True)
    stagec.clear_caches()
    log.clear()
    yield made
    made.gate.set()
    config.update("tiered", None)
    config.update("enable_cache", before)


def runnable(function, *args):
    return function._settings.runnable(function.trace(*args)._trace)


def until_ready(compiler, function, *args):
    """Open the gate, and wait for the program."""
    compiler.gate.set()
    runnable(function, *args).executable()


def ends(background):
    """Wait until a compile in the background has ended."""
    end = time.monotonic() + LIMIT
    while not background.done:
        assert time.monotonic() < end, "a compile never ended"
        time.sleep(0.001)


@pytest.fixture
def opened_after(compiler, monkeypatch):
    """Open the gate in an evaluation, after so many operations, and wait there for the compiler."""

    def opened(operations, program):
        class Watched(tiers.Evaluation):
            def __init__(self, is_over, refuses):
                asked = 0

                def watched():
                    nonlocal asked
                    asked += 1
                    if asked == operations + 1:
                        compiler.gate.set()
                        ends(program().code.background)
                    return is_over()

                super().__init__(watched, refuses)

        monkeypatch.setattr(tiers, "Evaluation", Watched)

    return opened


def said():
    return [r.message for r in log.records("tier")]


def test_a_call_does_not_wait_for_the_compiler(compiler):
    double = stagec.jit(lambda x: 2 * x + 1)
    assert double(snp.arange(3)).tolist() == [1, 3, 5]
    assert said() == ["evaluated by NumPy"]
    until_ready(compiler, double, snp.arange(3))
    assert double(snp.arange(3)).tolist() == [1, 3, 5]
    assert said() == ["evaluated by NumPy"] and compiler.count == 1


def test_an_evaluation_ends_between_the_rounds_of_a_loop(compiler, opened_after):
    count = stagec.jit(lambda n: lax.fori_loop(0, n, lambda i, c: c + i % 3, 0))
    opened_after(100, lambda: runnable(count, 50_000_000))
    assert int(count(50_000_000)) == 49_999_999  # NumPy alone would take minutes
    assert said() == ["the compiled program replaces an evaluation"]


@pytest.mark.parametrize("operations", range(4))
def test_an_evaluation_ends_between_any_two_operations(compiler, opened_after, operations):
    compute = stagec.jit(lambda x: snp.tanh(snp.sin(x) * 3 + 1))
    x = np.arange(5, dtype=np.float32)
    opened_after(operations, lambda: runnable(compute, x))
    np.testing.assert_allclose(compute(x), np.tanh(np.sin(np.arange(5.0)) * 3 + 1), rtol=1e-5)
    assert said() == ["the compiled program replaces an evaluation"]


def test_results_have_the_avals_of_the_compiled_program(compiler):
    make = stagec.jit(lambda x, n: (x.T, x + n, n + 1, x, 3, x.sum(0), {"mean": x.mean()}))
    args = (snp.ones((2, 3)), 2)
    evaluated = make(*args)
    until_ready(compiler, make, *args)
    compiled = make(*args)
    assert said() == ["evaluated by NumPy"]
    for a, b in zip(*map(stagec.tree.leaves, (evaluated, compiled)), strict=True):
        assert (a.aval, a.signature, type(a)) == (b.aval, b.signature, type(b))
        np.testing.assert_array_equal(a, b)


def test_donated_arguments_are_deleted_and_no_result_is_their_memory(compiler):
    turn = stagec.jit(lambda x, y: (x.reshape(3, 2), x + y), donate_argnums=0)
    write = stagec.jit(lambda x: x * 0, donate_argnums=0)
    x = snp.arange(6)
    turned, added = turn(x, 1)
    assert x.is_deleted() and said() == ["evaluated by NumPy"]
    until_ready(compiler, turn, snp.arange(6), 1)
    until_ready(compiler, write, snp.arange(6))
    assert write(added).tolist() == [0] * 6
    assert turned.tolist() == [[0, 1], [2, 3], [4, 5]]


def test_an_evaluation_that_ends_early_leaves_donated_arguments_to_the_program(compiler, opened_after):
    step = stagec.jit(lambda x: snp.cumsum(x * 2) + 1, donate_argnums=0)
    x = snp.arange(4)
    opened_after(2, lambda: runnable(step, snp.arange(4)))
    assert step(x).tolist() == [1, 3, 7, 13]
    assert x.is_deleted() and said() == ["the compiled program replaces an evaluation"]


def test_programs_that_call_the_users_functions_wait_for_the_compiler(compiler):
    calls = []

    @stagec.jit
    def told(x):
        stagec.debug.callback(lambda v: calls.append(float(v)), x)
        return x + 1

    compiler.gate.set()
    assert float(told(snp.float32(1))) == 2
    assert calls == [1] and said() == []


def test_a_program_that_the_compiler_refuses_is_evaluated_after_one_warning(compiler):
    compiler.error = stagec.errors.CompileError("no such luck")
    compiler.gate.set()
    double = stagec.jit(lambda x: 2 * x)
    with pytest.warns(stagec.errors.CompilerWarning) as warned:
        assert double(snp.arange(3)).tolist() == [0, 2, 4]
        ends(runnable(double, snp.arange(3)).code.background)
        for _ in range(3):
            assert double(snp.arange(3)).tolist() == [0, 2, 4]
    assert [str(w.message) for w in warned] == ["<lambda> is evaluated by NumPy, which is slow: no such luck"]
    assert warned[0].filename == __file__ and compiler.count == 1
    with pytest.raises(stagec.errors.CompileError, match="no such luck"):
        double.lower(snp.arange(3)).compile()


def test_any_other_error_is_raised_by_the_call(compiler, opened_after):
    compiler.error = OSError("the disk is gone")
    double = stagec.jit(lambda x: 2 * x + 1)
    opened_after(1, lambda: runnable(double, snp.arange(3)))
    with pytest.raises(OSError, match="the disk is gone"):
        double(snp.arange(3))


def test_programs_on_disk_are_loaded_at_once(compiler, tmp_path):
    compiler.gate.set()
    with config.override(enable_cache=True, cache_dir=str(tmp_path)):
        stagec.jit(lambda x: 5 * x - 2).lower(snp.arange(3)).compile()
        stagec.clear_caches()
        assert stagec.jit(lambda x: 5 * x - 2)(snp.arange(3)).tolist() == [-2, 3, 8]
    assert said() == []


def test_the_argument_of_jit_goes_before_the_option(compiler):
    config.update("tiered", False)
    assert stagec.jit(lambda x: x + 1, tiered=True)(1).tolist() == 2
    assert said() == ["evaluated by NumPy"]
    config.update("tiered", True)
    compiler.gate.set()
    assert stagec.jit(lambda x: x + 2, tiered=False)(1).tolist() == 3
    assert said() == ["evaluated by NumPy"]


def test_the_users_own_passes_wait_for_the_compiler(compiler):
    compiler.gate.set()
    assert stagec.jit(lambda x: x + 1, passes=lambda module: None)(1).tolist() == 2
    assert said() == []


def test_gradients_and_batches_are_evaluated_too(compiler):
    slope = stagec.jit(stagec.vmap(stagec.grad(lambda x: snp.sin(x) * x)))
    x = np.linspace(0, 1, 5, dtype=np.float32)
    np.testing.assert_allclose(slope(x), np.cos(x) * x + np.sin(x), rtol=1e-6)
    assert said() == ["evaluated by NumPy"]


def test_nan_is_found_in_both_tiers(compiler):
    root = stagec.jit(lambda x: snp.sqrt(x) + 1)
    messages = []
    with stagec.debug_nans():
        for _ in range(2):
            with pytest.raises(stagec.errors.NonFiniteError, match="sqrt made NaN") as caught:
                root(snp.float32(-1))
            messages.append(str(caught.value).splitlines())
            until_ready(compiler, root, snp.float32(-1))
    assert messages[0] == messages[1]
    assert said() == ["evaluated by NumPy"]


def test_an_evaluation_does_not_look_at_values_on_the_way(compiler):
    chosen = stagec.jit(lambda x: snp.where(x > 0, snp.log(x), 0.0))
    with stagec.debug_nans():
        assert chosen(snp.float32(-1)) == 0
    assert said() == ["evaluated by NumPy"]


def test_small_dtypes_are_evaluated(compiler):
    total = stagec.jit(lambda x: (x + x, x * 3, x.astype(snp.float32)))
    x = snp.array([1, -2, 3], snp.int4)
    evaluated = total(x)
    until_ready(compiler, total, x)
    for a, b in zip(evaluated, total(x), strict=True):
        assert a.dtype == b.dtype and a.astype(int).tolist() == b.astype(int).tolist()
    assert said() == ["evaluated by NumPy"]


def test_threads_that_call_at_the_same_time_start_one_compile(compiler):
    cube = stagec.jit(lambda x: x * x * x)
    found = []
    threads = [threading.Thread(target=lambda i=i: found.append(cube(np.int32(i)).tolist())) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT)
    assert sorted(found) == [i**3 for i in range(8)]
    until_ready(compiler, cube, np.int32(1))
    assert compiler.count == 1 and said() == ["evaluated by NumPy"] * 8


def test_an_interrupt_ends_an_evaluation_and_not_the_compile(compiler):
    def handler(*_):
        raise TimeoutError("long enough")

    wait = stagec.jit(lambda n: lax.fori_loop(0, n, lambda i, c: c + i % 5, 0))
    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(TimeoutError, match="long enough"):
            wait(50_000_000)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    until_ready(compiler, wait, 50_000_000)
    assert int(wait(50_000_000)) == 100_000_000 and compiler.count == 1


def test_forgotten_traces_and_programs_are_made_again(compiler):
    half = stagec.jit(lambda x: x / 2)
    assert half(3.0) == 1.5
    stagec.clear_caches()
    assert half(5.0) == 2.5
    compiler.gate.set()
    assert half.lower(5.0).compile()(5.0) == 2.5
    assert said() == ["evaluated by NumPy"] * 2


def in_a_process(text):
    """What a process prints that runs tiers without a cache."""
    # From 3.12 on, Python warns that a process with threads forks.
    ignored = "ignore:This process:DeprecationWarning"
    environment = {**os.environ, "STAGEC_CACHE": "0", "STAGEC_TIERED": "1", "PYTHONWARNINGS": ignored}
    code = "import os, sys, stagec, stagec.numpy as snp\n" + textwrap.dedent(text)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=LIMIT)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


@pytest.mark.parametrize("seconds", [0, 0.2, 0.4])
def test_a_process_may_end_while_the_compiler_works(seconds):
    text = f"""
        import time
        @stagec.jit
        def many(x):
            for i in range(20):
                x = snp.tanh(x * i) @ x + snp.where(x > i, x, snp.exp(-x))
            return x
        print(many(snp.zeros((4, 4))).shape)
        time.sleep({seconds})
    """
    assert in_a_process(text) == ["(4,", "4)"]


def test_a_child_that_was_forked_while_the_compiler_works_calls_the_function_too():
    text = """
        double = stagec.jit(lambda x: 2 * x + 1)
        say = lambda x: os.write(1, f"{x} ".encode())  # at once, as two processes write
        say(double(3))
        child = os.fork()
        say(double(4))
        if child:
            assert os.waitpid(child, 0)[1] == 0
            say(double.lower(3).compile()(5))
    """
    assert in_a_process(text) == ["7", "9", "9", "11"]


def test_the_first_result_of_a_process_needs_no_compiler():
    text = """
        print(stagec.jit(lambda x: 2 * x + 1)(3), "iree.compiler" in sys.modules, "iree.runtime" in sys.modules)
    """
    assert in_a_process(text) == ["7", "False", "False"]


def test_a_call_for_which_numpy_has_no_memory_waits_for_the_program(compiler, monkeypatch):
    def evaluated(self, graph, inputs):
        compiler.gate.set()
        raise MemoryError("Unable to allocate 1 TiB")

    monkeypatch.setattr(tiers.Evaluation, "run", evaluated)
    assert stagec.jit(lambda x: x * 7 - 1)(2) == 13
    assert said() == ["not evaluated: Unable to allocate 1 TiB"]


def test_exact_tiers_evaluate_what_has_the_same_bits(compiler):
    config.update("tiered", "exact")
    compiler.gate.set()
    assert stagec.jit(lambda x: x // 3 + x.sum())(snp.arange(4)).tolist() == [6, 6, 6, 7]
    assert said() == ["evaluated by NumPy"]
    stagec.jit(lambda x: snp.sin(x) * x)(snp.ones(3))
    stagec.jit(lambda x: x + 1, fast_math=True)(snp.ones(3))
    assert said() == ["evaluated by NumPy"]


def test_exact_tiers_wait_for_the_program_where_a_number_is_subnormal(compiler):
    compiler.gate.set()
    half = stagec.jit(lambda x: x / 2 - 0, tiered="exact")
    assert half(np.float32([1e-38])).tolist() == [0]
    assert said() == ["the compiled program replaces an evaluation"]


def test_other_settings_are_refused():
    with pytest.raises(
        ValueError, match=r"jit: tiered='always' is not a setting(.|\n)*Fix: give True, False or 'exact'"
    ):
        stagec.jit(lambda x: x, tiered="always")
    with pytest.raises(ValueError, match="option tiered: 'always' is not one of 0, 1, exact"):
        config.update("tiered", "always")


def test_results_of_a_device_are_placed_there(compiler, vulkan):
    x = stagec.device_put(np.arange(4, dtype=np.float32), vulkan)
    scale = stagec.jit(lambda x: x * 3)
    there, weak = scale(x), stagec.jit(lambda x: x + 1, device=vulkan)(2.0)
    assert said() == ["evaluated by NumPy"] * 2
    assert (there.device, there.committed, weak.device, weak.weak_type) == (vulkan, True, vulkan, True)
    compiler.gate.set()
    scale.lower(x).compile()
    np.testing.assert_array_equal(np.asarray(scale(there)), [0, 9, 18, 27])


def test_two_programs_compile_at_a_time_and_those_called_last_are_next(compiler):
    def named(name):
        def function(x):
            return x * len(name)

        function.__name__ = name
        return stagec.jit(function)

    functions = {name: named(name) for name in ("a", "bb", "ccc", "dddd", "eeeee")}
    for name in ("a", "bb", "ccc", "dddd", "eeeee", "ccc"):
        assert functions[name](10) == 10 * len(name)
    end = time.monotonic() + LIMIT
    while len(compiler.names) < 2:
        assert time.monotonic() < end, "nothing was compiled"
        time.sleep(0.001)
    assert sorted(compiler.names) == ["a", "bb"]
    assert [b._name for b in tiers._waiting] == ["dddd", "eeeee", "ccc"]
    for function in functions.values():
        until_ready(compiler, function, 10)
    while tiers._working:
        assert time.monotonic() < end, "a compile never ended"
        time.sleep(0.001)
    assert tiers._waiting == [] and sorted(compiler.names) == sorted(functions)


def test_functions_of_open_dimensions_wait_for_the_compiler(compiler):
    compiler.gate.set()
    double = stagec.jit(lambda x: 2 * x, dynamic={"x": "b"})
    assert [double(snp.arange(n)).tolist() for n in (2, 3)] == [[0, 2], [0, 2, 4]]
    assert said() == [] and compiler.count == 1


@pytest.mark.parametrize(
    ("flags", "setting", "evaluated"), [(["-i"], "auto", True), ([], "auto", False), (["-i"], "0", False)]
)
def test_tiers_are_on_where_a_person_types(flags, setting, evaluated):
    code = "import stagec; print(stagec.jit(lambda x: x * 3)(2))\n"
    environment = {**os.environ, "STAGEC_CACHE": "0", "STAGEC_TIERED": setting}
    done = subprocess.run(
        [sys.executable, *flags], input=code, capture_output=True, text=True, env=environment, check=True
    )
    assert done.stdout.strip() == "6"
    assert done.stderr.count("NumPy computes") == evaluated

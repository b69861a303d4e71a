"""A forked child uses what the parent had, and never waits for the parent's threads.

Each test forks in a process of its own: a child that hangs is ended by its alarm, and its status says so.
"""

import os
import pathlib
import re
import subprocess
import sys
import textwrap

import pytest

from stagec.backends import Target
from stagec.errors import CompileError

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")

PRELUDE = """
import os, signal, sys, threading, time, warnings
import numpy as np
import stagec, stagec.numpy as snp
from stagec.compiler import alone, build, log
from stagec.core import forking

warnings.simplefilter("ignore", DeprecationWarning)  # Python warns of forks beside threads

def in_child(work, leave=os._exit):
    "Fork, run `work` in the child, and return the child's status."
    child = os.fork()
    if child == 0:
        signal.alarm(40)
        try:
            work()
        except SystemExit:  # of a child of the child
            raise
        except BaseException as error:
            print("in the child:", type(error).__name__, error, file=sys.stderr, flush=True)
            leave(1)
        leave(0)
    return os.waitpid(child, 0)[1]

def succeeds(work, leave=os._exit):
    status = in_child(work, leave)
    assert status == 0, f"status {status}"

def message_of(call):
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""

@stagec.jit
def small(x):
    return snp.sin(x) * 2

@stagec.jit
def large(x):  # runs on worker threads
    return snp.exp(x) * snp.sin(x) + x

x, big = stagec.block_until_ready((snp.linspace(0, 1, 5), snp.linspace(0, 1, 1 << 21)))
"""


def run(script, **environment):
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, **environment},
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def test_a_child_reads_arrays_and_calls_programs_of_the_parent():
    run("""
    from stagec.api import signature
    y, z = small(x), large(big)
    small(np.ones(5, np.float32)), small(np.ones(5, np.float32))
    want = np.asarray(large(z)).copy()
    def work():
        assert not signature._copier.cache_info().currsize
        small(np.ones(5, np.float32))
        np.testing.assert_array_equal(np.asarray(y), np.asarray(small(x)))
        np.testing.assert_array_equal(np.asarray(large(z)), want)
        np.testing.assert_allclose(large(large(big))[:3], want[:3])
        small(y)
        assert not log.records("compile")
    log.clear()
    for leave in (os._exit, sys.exit):
        succeeds(work, leave)
    np.testing.assert_array_equal(np.asarray(large(z)), want)
    """)


def test_a_child_loads_programs_from_memory_without_a_disk():
    run("""
    stagec.config.enable_cache = False
    def count(v):
        calls.append(len(calls))
        return v
    calls = []
    calling = stagec.jit(lambda x: stagec.pure_callback(count, x, x) + 1)
    donating = stagec.jit(lambda x: x * 3, donate_argnums=0)
    for f in (small, large, calling, donating):
        f(snp.ones(5))
    def work():
        log.clear()
        np.testing.assert_array_equal(np.asarray(small(x)), want)
        assert float(calling(snp.ones(5))[0]) == 2 and len(calls) == 2
        assert float(donating(snp.ones(5))[0]) == 3
        large(snp.ones(5))
        assert not log.records("compile")
    want = np.asarray(small(x))
    succeeds(work)
    """)


@pytest.mark.parametrize("leave", ["os._exit", "sys.exit"])
def test_a_child_and_its_child_compile(leave):
    run(f"""
    stagec.config.enable_cache = False
    small(x)
    def work():
        assert float(stagec.jit(lambda x: x * 3 + 1)(2.0)) == 7
        large(big)
        stagec.jit(lambda x: x - 3).lower(x).as_text("flow")
        succeeds(lambda: float(stagec.jit(lambda x: x * 5 + 1)(2.0)) == 11 or 1 / 0, {leave})
    large(big)
    succeeds(work, {leave})
    """)


def test_a_pool_of_forked_processes_maps_a_jitted_function():
    run("""
    import multiprocessing
    large(big)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        found = pool.map(small, [x, x + 1])
        new = pool.map(large, [big] * 3)
    np.testing.assert_allclose(found[1], np.sin(np.asarray(x) + 1) * 2, rtol=1e-6)
    np.testing.assert_array_equal(np.asarray(new[2]), np.asarray(large(big)))
    """)


@pytest.mark.parametrize("backend", ["loky", "multiprocessing"])
def test_joblib_maps_a_jitted_function(backend):
    run(f"""
    import joblib
    large(big)
    import multiprocessing
    multiprocessing.set_start_method("fork")  # others need a file to import, from Python 3.14 on for multiprocessing
    with joblib.parallel_config({backend!r}, n_jobs=2):
        found = joblib.Parallel()(joblib.delayed(small)(x + i) for i in range(4))
    np.testing.assert_allclose(found[3], np.sin(np.asarray(x) + 3) * 2, rtol=1e-6)
    """)


def test_a_child_of_a_process_that_compiles_compiles_too():
    run("""
    stagec.config.enable_cache = False
    def compile_always():
        for i in range(1000):
            stagec.jit(lambda x: snp.cos(x) * snp.tanh(x) - i)(x)
    threading.Thread(target=compile_always, daemon=True).start()
    for i in range(4):
        time.sleep(0.1 + 0.07 * i)
        succeeds(lambda: stagec.jit(lambda x: snp.exp(x) - 3)(x))
    os._exit(0)  # a compile is under way
    """)


def test_a_child_that_was_forked_amid_a_long_compile_compiles_in_another_process():
    run("""
    from stagec.compiler import session
    stagec.config.enable_cache = False
    session._REST_SECONDS = 0.05
    small(x)
    begun = threading.Event()
    def compile_slowly():
        with session.under_way():
            begun.set()
            time.sleep(1000)
    threading.Thread(target=compile_slowly, daemon=True).start()
    begun.wait()
    def work():
        def refuse():
            raise AssertionError("the library is used")
        session.api = refuse
        assert float(stagec.jit(lambda x: x * 3 + 1)(2.0)) == 7
    succeeds(work)
    os._exit(0)
    """)


def test_a_compile_in_another_process_refuses_as_one_in_this_process_does(tmp_path, monkeypatch):
    from stagec.compiler import driver, outside

    (tmp_path / "random.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    given = b"func.func @main() { nonsense }", Target.parse("cpu")
    with pytest.raises(CompileError, match="f is not a valid module") as here:
        driver.compile_module(*given, name="f")
    with pytest.raises(CompileError) as there:
        outside.compile_module(*given, name="f")
    assert str(here.value).splitlines()[0] == str(there.value).splitlines()[0]


def test_a_child_does_not_wait_for_the_same_compile_of_another_thread():
    run("""
    from stagec.compiler import session
    stagec.config.enable_cache, session._REST_SECONDS = False, 0.05
    parent, begun, compile_graph = os.getpid(), threading.Event(), build.compile_graph
    def slow(*args, **options):
        if os.getpid() == parent:
            begun.set()
            time.sleep(1000)
        return compile_graph(*args, **options)
    build.compile_graph = slow
    threading.Thread(target=small, args=(x,), daemon=True).start()
    begun.wait()
    succeeds(lambda: small(x))
    os._exit(0)
    """)


def test_a_child_frees_modules_of_the_parent():
    run("""
    from passes import bindings
    context = bindings.new_context()
    function = "func.func @f{}(%x: tensor<4xf32>) -> tensor<4xf32> {{ return %x : tensor<4xf32> }}"
    module = bindings.ir.Module.parse("".join(map(function.format, range(20))), context)
    assert module.operation.verify()
    def work():
        global context, module
        del context, module
    for leave in (os._exit, sys.exit):
        succeeds(work, leave)
    """)


def test_a_fork_waits_for_imports_of_another_thread():
    run("""
    begun, ended = threading.Event(), []
    def slow():
        with forking.importing():
            begun.set()
            time.sleep(0.3)
            ended.append(True)
    threading.Thread(target=slow).start()
    begun.wait()
    succeeds(lambda: ended == [True] or 1 / 0)
    """)


def test_all_that_a_compile_imports_is_imported_at_its_beginning():
    found = run("""
    from stagec.compiler import mlir
    stagec.config.enable_cache = False
    f = stagec.jit(lambda a, b: stagec.lax.fori_loop(0, 3, lambda i, c: c @ b + snp.sort(c), a @ b), donate_argnums=0)
    a = snp.ones((9, 9))
    f.trace(a, a)
    mlir.load()
    mlir.load_phases()
    before = set(sys.modules)
    f(a, a)
    print(sorted(n for n in set(sys.modules) - before if n.startswith(("iree.compiler.dialects.", "passes", "stagec"))))
    """)
    assert found.strip() == "[]"


def test_a_compile_on_the_short_way_imports_no_more_than_it_needs():
    found = run("""
    import gc
    from stagec.compiler import mlir
    stagec.config.enable_cache = False
    mlir.load()
    before = set(sys.modules)
    a = snp.ones((9, 9))
    stagec.jit(lambda a: snp.exp(a @ a).sum(0))(a)
    print(sorted(n for n in set(sys.modules) - before if n.startswith(("iree.compiler.dialects.", "passes"))))
    print("iree.compiler.dialects.vm" in sys.modules, gc.isenabled())
    """)
    assert found.splitlines() == ["[]", "False True"]


def test_a_fork_waits_for_programs_and_queues_of_other_threads():
    run("""
    from stagec.runtime.devices import cpu
    small(x), large(big).block_until_ready()
    locks = [small.lower(x)._runnable.executable()._contexts.free[0], cpu().timeline("local-task").lock]
    for lock in locks:
        begun, ended = threading.Event(), []
        def hold():
            with lock:
                begun.set()
                time.sleep(0.2)
                ended.append(True)
        threading.Thread(target=hold).start()
        begun.wait()
        succeeds(lambda: ended == [True] or 1 / 0)
    """)


def test_a_fork_goes_on_beside_a_program_that_takes_long():
    run("""
    from stagec.runtime import contexts, device
    device._REST_SECONDS = contexts._REST_SECONDS = 0.05
    y = small(x)
    lock, begun = small.lower(x)._runnable.executable()._contexts.free[0], threading.Event()
    def hold():
        with lock, cpu_lock:
            begun.set()
            time.sleep(1000)
    cpu_lock = device._lock
    threading.Thread(target=hold, daemon=True).start()
    begun.wait()
    def work():
        global y
        np.testing.assert_array_equal(np.asarray(small(x)), np.asarray(y))
        del y
        large(big)
    succeeds(work)
    os._exit(0)
    """)


CHAIN = """
    from stagec.runtime import device
    def chain(a):
        for _ in range(12):
            a = a @ a * 1e-3
        return a
    chain = stagec.jit(chain)
    a = snp.ones((768, 768))
    want = np.asarray(chain(a))
"""


def test_a_child_has_results_that_were_computed_at_the_fork():
    run(f"""{CHAIN}
    r = chain(a)
    assert not r.is_ready()
    succeeds(lambda: np.testing.assert_array_equal(np.asarray(r), want))
    """)


def test_a_child_is_told_of_results_that_the_parent_has_alone():
    run(f"""{CHAIN}
    device._REST_SECONDS = 0.0
    r = chain(a)
    def work():
        found = message_of(lambda: np.asarray(r))
        assert found.startswith("ExecutionError: chain, called at <string>:"), found
        assert "had not ended when this process was forked" in found and "block_until_ready" in found, found
        np.testing.assert_array_equal(np.asarray(chain(a)), want)
    succeeds(work)
    np.testing.assert_array_equal(np.asarray(r), want)
    """)


def test_an_attribute_that_another_thread_computes_does_not_stop_a_child():
    run("""
    from stagec.core.cached import cached_property
    class Slow:
        def __init__(self, seconds):
            self.seconds = seconds
        @cached_property
        def value(self):
            begun.set()
            time.sleep(self.seconds)
            return self.seconds
    begun = threading.Event()
    threading.Thread(target=lambda: Slow(1000).value, daemon=True).start()
    begun.wait()
    succeeds(lambda: Slow(0).value)
    os._exit(0)
    """)


def test_a_device_that_the_parent_used_names_spawn_in_a_child(vulkan):
    run("""
    f = stagec.jit(lambda x: snp.cos(x) * 2)
    there = stagec.device_put(x, "vulkan")
    y, z = f(there), f(there)
    seen = np.asarray(y)
    def work():
        global there, y, z
        np.testing.assert_array_equal(np.asarray(y), seen)
        for call in (lambda: np.asarray(z), lambda: f(there), lambda: stagec.jit(lambda x: -x, device="vulkan")(x)):
            found = message_of(call)
            assert found.startswith("DeviceError: vulkan does not work in this process") and "spawn" in found, found
        f(x)
        del there, y, z
    for leave in (os._exit, sys.exit):
        succeeds(work, leave)
    np.testing.assert_array_equal(np.asarray(z), seen)
    """)


def test_a_child_exits_where_the_parent_used_a_device(vulkan):
    # Mesa waits at exit for threads that the child does not have, whose stacks are gone once others needed much memory.
    out = run("""
    import atexit, ctypes
    np.asarray(small(stagec.device_put(x, "vulkan")))
    def work():
        threading.stack_size(64 << 20)
        threads = [threading.Thread(target=time.sleep, args=(0.05,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        atexit.register(print, "Python's handler", flush=True)
        ctypes.CDLL(None).printf(b"C's file\\n")
        sys.exit(7)
    status = in_child(work, sys.exit)
    assert os.waitstatus_to_exitcode(status) == 7, status
    """)
    assert sorted(out.splitlines()) == ["C's file", "Python's handler"]


def test_a_child_frees_no_array_where_the_parent_did_not_come_to_rest():
    run("""
    from stagec.runtime import contexts, device
    device._REST_SECONDS = contexts._REST_SECONDS = 0.01
    y = small(x)
    lock = small.lower(x)._runnable.executable()._contexts.free[0]
    threading.Thread(target=lambda: lock.acquire()).start()
    count = sys.getrefcount(y._view)
    succeeds(lambda: sys.getrefcount(y._view) == count + 1 or 1 / 0)
    lock.release()
    succeeds(lambda: sys.getrefcount(y._view) == count or 1 / 0)
    """)


def test_locks_that_another_thread_holds_do_not_stop_a_child():
    run("""
    from passes import bindings
    from stagec.api import program
    from stagec.compiler import session
    from stagec.compiler.progress import Progress
    from stagec.runtime import contexts, device, executable
    stagec.config.enable_cache = False
    device._REST_SECONDS = contexts._REST_SECONDS = session._REST_SECONDS = forking._IMPORT_SECONDS = 0.01
    small(x)
    locks = [program._guard, alone._locks_guard, executable._starting, device._lock, bindings._lock, Progress._shown]
    locks += [contexts._making, session._entry, forking._importing, small.lower(x)._runnable._lock]
    begun = threading.Event()
    def hold():
        for lock in locks:
            lock.acquire()
        begun.set()
        time.sleep(1000)
    threading.Thread(target=hold, daemon=True).start()
    begun.wait()
    def work():
        np.asarray(small(x)), small(big)
        with Progress.silent():
            assert float(stagec.jit(lambda x: x * 3 + 1)(2.0)) == 7
    succeeds(work)
    os._exit(0)
    """)


def test_every_module_with_a_lock_says_what_a_fork_does_to_it():
    root = pathlib.Path(__file__).resolve().parents[2]
    made = re.compile(r"\b(Lock|RLock|Condition|Event|Semaphore|Barrier)\(\)|@functools\.cached_property")
    for package in ("stagec", "passes"):
        for path in sorted((root / package).rglob("*.py")):
            text = path.read_text()
            known = "forking." in text or "register_at_fork" in text
            assert known or not made.search(text), f"{path} has a lock: register it in stagec.core.forking"

"""What the compiler or its runtime does wrong unless guarded against, each seen on a real program."""

import os
import subprocess
import sys

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import lax
from stagec.compiler import driver
from stagec.core.threads import worker_count
from stagec.runtime import device, memory


def aligned(values, dtype=np.float32):
    values = np.asarray(values, dtype)
    out = memory.aligned_empty(values.shape, values.dtype)
    out[...] = values
    return out


VALUES = [5.0, 3.0, 9.0, 1.0, 7.0, 2.0, 8.0, 4.0]

# Each reaches an operation that works in place, directly or through what folds away.
PATHS = {
    "directly": lambda x: x,
    "reshape": lambda x: x.reshape(2, 4).reshape(8),
    "minus zero": lambda x: x + -0.0,
    "times one": lambda x: x * 1.0,
    "select": lambda x: snp.where(np.True_, x, x),
    "double reverse": lambda x: x[::-1][::-1],
}
IN_PLACE = {
    "sort": lambda x: snp.sort(x),
    "dynamic_update_slice": lambda x: lax.dynamic_update_slice(x, np.zeros(2, np.float32), (np.int32(3),)),
    "scatter": lambda x: x.at[np.array([1, 2])].set(0.0),
    "at add": lambda x: x.at[np.array([1, 1])].add(1.0),
}


@pytest.mark.parametrize("kind", ["numpy", "array"])
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("operation", IN_PLACE)
def test_arguments_are_never_overwritten(operation, path, kind):
    x = aligned(VALUES)
    given = x if kind == "numpy" else snp.array(x)
    f = stagec.jit(lambda x: (IN_PLACE[operation](PATHS[path](x)), x, x + 1))
    changed, same, plus = f(given)
    assert np.array_equal(given, VALUES)
    assert np.array_equal(same, VALUES)
    assert np.array_equal(plus, np.add(VALUES, 1))
    assert not np.array_equal(changed, VALUES)


def test_gather_out_of_range_reads_nothing_foreign():
    x = snp.arange(4.0)
    i = np.array([-9, -4, 0, 3, 4, 1000000, -(2**31), 2**31 - 1], np.int32)
    filled = stagec.jit(lambda x, i: x.at[i].get(mode="fill", fill_value=-1.0))(x, i)
    clipped = stagec.jit(lambda x, i: x.at[i].get(mode="clip"))(x, i)
    assert np.array_equal(filled, [-1, 0, 0, 3, -1, -1, -1, -1])
    assert set(np.asarray(clipped).tolist()) <= {0.0, 1.0, 2.0, 3.0}


@pytest.mark.parametrize("method", ["set", "add", "multiply", "min", "max"])
def test_scatter_out_of_range_writes_nothing(method):
    i = np.array([-9, 4, 1000000, -(2**31), 2**31 - 1], np.int32)
    out = stagec.jit(lambda x, i: getattr(x.at[i], method)(7.0))(snp.arange(4.0), i)
    assert np.array_equal(out, np.arange(4))


def test_float_to_integer_saturates_and_nan_is_zero():
    x = np.array([np.nan, np.inf, -np.inf, 1e20, -1e20, 3.9, -3.9], np.float32)
    for dtype in (np.int32, np.int8, np.uint8, np.uint32):
        info = np.iinfo(dtype)
        small = [3, -3 if info.min else 0]
        expected = np.array([0, info.max, info.min, info.max, info.min, *small], dtype)
        assert np.array_equal(stagec.jit(lambda x, dtype=dtype: x.astype(dtype), static_argnames="dtype")(x), expected)
        assert np.array_equal(snp.asarray(x).astype(dtype), expected)


def test_integer_division_by_zero_does_not_trap():
    x = np.array([7, -7, 0, -(2**31)], np.int32)
    for zero in (np.zeros(4, np.int32), np.array([0, 0, 0, -1], np.int32)):
        for f in (lambda a, b: a // b, lambda a, b: a % b, lax.div, lax.rem):
            compiled, eager = stagec.jit(f)(x, zero), f(snp.asarray(x), snp.asarray(zero))
            assert np.array_equal(compiled, eager)


def test_arrays_without_elements_reach_no_loop():
    f = stagec.jit(lambda x: (snp.sort(x), snp.cumsum(x), x @ x.T if x.ndim == 2 else x.sum()))
    for shape in ((0,), (0, 3), (3, 0)):
        out = f(np.zeros(shape, np.float32))
        assert out[0].shape == shape


def test_workers_are_as_many_as_the_process_may_use():
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert worker_count() == count


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="threads are not bound to cores here")
def test_workers_are_bound_to_cores_where_these_are_few_and_known(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 3})
    monkeypatch.setattr(os.path, "exists", lambda path: True)
    # The first worker has another core than the thread that waits for it.
    for core, ids in ((0, "3,0"), (3, "0,3"), (-1, "0,3")):
        monkeypatch.setattr(device, "_core", lambda core=core: core)
        assert device._topology_flag() == f"--task_topology_cpu_ids={ids}"
    monkeypatch.setattr(os.path, "exists", lambda path: "cpu3/" not in path)
    assert device._topology_flag() == "--task_topology_group_count=2"
    monkeypatch.setattr(os.path, "exists", lambda path: True)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(16)))
    assert device._topology_flag() == "--task_topology_group_count=16"


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="threads are not bound to cores here")
def test_an_option_limits_the_number_of_workers(monkeypatch):
    monkeypatch.setattr(device, "_core", lambda: 3)
    monkeypatch.setattr(os.path, "exists", lambda path: True)
    for cores, count, flag in (
        ({0, 3, 5}, 2, "cpu_ids=5,0"),
        ({0, 3, 5}, 1, "group_count=1"),
        ({0, 3, 5}, 9, "cpu_ids=5,0,3"),
        (set(range(16)), 4, "group_count=4"),
        (set(range(16)), 0, "group_count=16"),
    ):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, cores=cores: cores)
        with stagec.config.override(num_threads=count):
            assert device._topology_flag() == f"--task_topology_{flag}"


WORKERS = """
import os
import numpy as np
import stagec

x = np.ones((700, 700), np.float32)
print(float(stagec.jit(lambda x: x @ x + 1)(x)[3, 4]))
threads = [open(f"/proc/self/task/{thread}/comm").read() for thread in os.listdir("/proc/self/task")]
print(sum(name.startswith("iree-worker") for name in threads))
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="threads have no names here")
def test_a_process_with_one_worker_runs_large_programs():
    for count in 1, 2:
        env = {**os.environ, "STAGEC_NUM_THREADS": str(count)}
        done = subprocess.run([sys.executable, "-c", WORKERS], env=env, capture_output=True, text=True)
        assert done.stdout.split() == ["701.0", str(min(count, worker_count()))], done.stderr


def test_doubles_stay_doubles():
    with stagec.enable_x64():
        x = np.float64(1) + np.float64(1e-12)
        out = stagec.jit(lambda x: x * 1.5)(x)
        assert out.dtype == np.float64
        assert float(out) == x * 1.5


def test_a_large_fused_kernel_compiles_and_runs_on_worker_threads():
    def f(x):
        parts = [snp.tanh(x * (i + 1)) for i in range(40)]
        while len(parts) > 1:
            parts = [a * b + a for a, b in zip(parts[::2], parts[1::2] + parts[:1])]
        return snp.stack([parts[0], parts[0] + 1]).sum(axis=0)

    x = np.linspace(-1, 1, 1 << 16, dtype=np.float32).reshape(256, 256)
    expected = f(snp.asarray(x))
    np.testing.assert_allclose(stagec.jit(f)(x), expected, rtol=2e-3, atol=1e-4)


def test_the_interpreter_exits_quietly():
    code = (
        "import numpy as np, stagec, stagec.numpy as snp\n"
        "f = stagec.jit(lambda x: snp.tanh(x).sum())\n"
        "kept = [f(np.ones(n, np.float32)) for n in (3, 1 << 20)]\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_device_that_is_opened_during_the_exit_is_not_reported():
    # As a compile in the background opens it. Exit handlers run last registered first.
    code = (
        "import atexit\n"
        "atexit.register(lambda: print(stagec.runtime.devices.cpu().hal_device() is not None))\n"
        "import stagec\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")


def test_results_that_outlive_the_devices_at_exit_do_not_crash():
    # The interpreter frees modules in any order: here, all of stagec's before the last result.
    code = (
        "import atexit, gc, sys, numpy as np, stagec\n"
        "x = stagec.jit(lambda x: x * 2 + 1)(np.ones(1 << 21, np.float32)).numpy()\n"
        "atexit._clear()\n"
        "for name, module in list(sys.modules.items()):\n"
        "    if name.startswith('stagec'):\n"
        "        vars(module).clear()\n"
        "gc.collect()\n"
        "del x\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_complex128_constants_do_not_abort_the_compiler():
    with stagec.enable_x64():
        c = np.array([1 + 2j, 3 - 4j], np.complex128)
        assert np.array_equal(stagec.jit(lambda x: x + c)(np.zeros(2, np.complex128)), c)


def test_kernels_run_in_the_order_of_the_program():
    # The four start from shared memory, that one of them updates while another has yet to read it.
    def widest(x, least):
        return lax.reduce_window(x, least, lax.max, (2, 3), (1, 2), ((1, 0), (0, 2)), (2, 1), (1, 2))

    x = np.random.default_rng(0).integers(0, 100, (6, 9))
    inputs = [x > 50, (x - 50).astype(np.int8), x.astype(np.uint8), x.astype(np.uint16)]
    least = [np.bool_(False), np.int8(-128), np.uint8(0), np.uint16(0)]
    results = stagec.jit(lambda xs: [widest(x, low) for x, low in zip(xs, least)])(inputs)
    for got, given, low in zip(results, inputs, least):
        assert np.array_equal(got, widest(snp.asarray(given), low))


def resident():
    """The bytes of this process that are in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/statm")
@pytest.mark.parametrize("name", ["fft", "pure_callback"])
def test_results_that_come_from_a_library_or_from_python_are_freed(name):
    def called(x):
        return snp.fft.fft(x) if name == "fft" else stagec.pure_callback(lambda v: np.asarray(v) + 1, x, x)

    x = snp.zeros((512, 1024), snp.complex64)
    f = stagec.jit(called)
    before = [(f(x).block_until_ready(), resident())[1] for _ in range(30)][4]
    assert resident() - before < 6 * x.nbytes


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/statm")
def test_the_memory_of_a_loops_rounds_is_free_after_the_call():
    x = snp.ones(4_000_000)
    loop = stagec.jit(lambda x: lax.fori_loop(0, 30, lambda i, x: x * 1.5 - 0.5, x)).lower(x).compile()
    before = [(loop(x).block_until_ready(), resident())[1] for _ in range(8)][1]
    for _ in range(4):
        assert loop(x)[7] == 1.0
    assert resident() - before < 6 * x.nbytes


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/statm")
def test_the_memory_of_many_large_results_is_free_when_they_are():
    x = snp.ones(2_000_000)
    multiples = stagec.jit(lambda x: tuple(x * n for n in range(20)))
    for call in range(6):
        results = stagec.block_until_ready(multiples(x))
        assert results[19][7] == 19.0
        del results
        if call == 1:
            before = resident()
    assert resident() - before < 6 * x.nbytes


def taking_turns(x):
    """A loop that begins with one value twice, and whose carries take turns."""

    def step(c, row):
        n, a, b, d = c
        return (n + 1, b, d, snp.sin(d) * row + n), a

    one = snp.exp(x[0])
    (_, a, b, d), ys = lax.scan(step, (0, snp.zeros(3), one, one), x)
    return (a * b + d).sum() + (ys * ys).sum()


def test_loops_may_begin_with_one_value_twice():
    x = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    assert stagec.jit(taking_turns)(x) == pytest.approx(float(taking_turns(snp.asarray(x))), rel=1e-5)


def test_a_program_whose_buffers_the_compiler_lost_runs_through_numpy(monkeypatch, tmp_path):
    monkeypatch.delitem(driver.WORKAROUNDS, "end")
    monkeypatch.setattr(driver, "may_crash", lambda *_: False)  # compiles loops in this process, too
    x = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    stagec.clear_caches()  # the sound program may be there
    warned = pytest.warns(stagec.errors.CompilerWarning, match="is evaluated by NumPy")
    with stagec.config.override(cache_dir=str(tmp_path), cpu_kernels=False), warned:
        result = stagec.jit(taking_turns)(x)
    stagec.clear_caches()
    assert result == pytest.approx(float(taking_turns(snp.asarray(x))), rel=1e-5)


@pytest.mark.parametrize("even", [True, False])
def test_a_branch_may_give_back_one_value_twice(even):
    def f(p, x):
        def loop():
            return lax.scan(lambda c, row: (c + row, (c * row, c)), x[0], x)[1]

        outside = x * 2
        constants, mixed = (
            lax.cond(p, lambda: (snp.zeros((5, 3)),) * 2, loop),
            lax.cond(p, lambda: (outside,) * 2, loop),
        )
        return [snp.tanh(v) for v in (*constants, *mixed, outside)]

    x = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    for got, expected in zip(stagec.jit(f)(even, x), f(even, snp.asarray(x))):
        np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_memory_filled_with_a_wide_number_is_not_shared():
    def f(a, b):
        padded = [lax.pad(x, np.float64(np.inf), [(0, 3, 0)]) for x in (a, b)]
        whole = snp.full(9, 7.5)
        widest = [lax.reduce_window(x, np.float64(-np.inf), lax.max, (3,), (1,), ((1, 1),)) for x in (a, b)]
        return [*padded, whole.at[:5].set(a), whole.at[2:7].set(b), *widest]

    with stagec.enable_x64():
        a, b = np.arange(5.0), np.arange(5.0)[::-1] * 2
        for got, expected in zip(stagec.jit(f)(a, b), f(snp.asarray(a), snp.asarray(b))):
            assert np.array_equal(got, expected)


def test_arrays_of_one_complex128_number_compile():
    def f(x):
        ends, rows = lax.scan(lambda c, row: (c + row, c * row), snp.zeros(3, np.complex128), x)
        return snp.ones(4, np.complex128), ends, rows, snp.concatenate([x, snp.full((1, 3), 1 + 2j)])

    with stagec.enable_x64():
        x = np.arange(12.0).reshape(4, 3) * (1 + 1j)
        for got, expected in zip(stagec.jit(f)(x), f(snp.asarray(x))):
            assert np.array_equal(got, expected)


@pytest.mark.parametrize("function", [snp.multiply, snp.add, snp.maximum, snp.minimum])
def test_a_kernel_may_compute_one_value_twice(function):
    def f(x, y):
        v = x * y - x
        return v, function(v, x), function(x, v), snp.cos(function(v, x)), snp.cos(function(x, v))

    x, y = np.float32([3, 5, 7]), np.float32([1, 2, 3])
    for got, expected in zip(stagec.jit(f)(x, y), f(snp.asarray(x), snp.asarray(y))):
        np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_a_value_may_be_computed_in_two_shapes():
    def f(x, y):
        v = x * y - x
        return v, v * x, (v.reshape(-1) * x.reshape(-1)).reshape(2, 3)

    x, y = np.arange(6, dtype=np.float32).reshape(2, 3), np.float32([[3, 1, 4], [1, 5, 9]])
    for got, expected in zip(stagec.jit(f)(x, y), f(snp.asarray(x), snp.asarray(y))):
        assert np.array_equal(got, expected)

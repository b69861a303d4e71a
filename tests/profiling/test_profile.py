"""`stagec.profile`: what calls spend, the times of kernels, and the trace."""

import json
import os
import threading
import time
import types

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import lax
from stagec.compiler import outside, stages
from stagec.runtime import recording
from stagec.runtime.executable import Executable
from tests.platforms import first_device

SPEC = stagec.ShapeDtypeStruct


@pytest.fixture
def fresh(tmp_path):
    """No program is in memory or on disk."""
    stagec.clear_caches()
    with stagec.config.override(cache_dir=str(tmp_path)):
        yield


def layer():
    @stagec.jit
    def layer(x, w):
        y = snp.tanh(x @ w)
        return snp.sum(y, axis=0)

    return layer


def row(found, name):
    (only,) = [r for r in found.calls if r.name == name]
    return only


def line_of(text):
    """This file and the number of the first line with a text."""
    with open(__file__, encoding="utf-8") as file:
        return f"{__file__}:{next(n for n, line in enumerate(file, start=1) if text in line)}"


def test_a_notebook_displays_the_tables(fresh):
    with stagec.profile(kernels=False) as found:
        layer()(snp.ones((4, 8)), snp.ones((8, 3)))
    shown = []
    found._repr_pretty_(types.SimpleNamespace(text=shown.append), cycle=False)
    assert shown == [found.table()]
    assert repr(found).startswith("<stagec.profile of ")


def test_a_first_call_is_traced_and_compiled_and_later_ones_only_run(fresh):
    f, x, w = layer(), snp.ones((4, 8)), snp.ones((8, 3))
    with stagec.profile(kernels=False) as first:
        f(x, w)
    with stagec.profile(kernels=False) as later:
        f(x, w)
        f(x, w)
    one, two = row(first, "layer"), row(later, "layer")
    assert one.count == 1 and min(one.parts[p] for p in ("trace", "compile", "run")) > 0
    assert two.count == 2 and two.parts["run"] > 0
    assert two.parts["trace"] == two.parts["compile"] == two.parts["cache"] == 0
    assert sum(one.parts.values()) <= one.seconds
    assert one.arguments == (4 * 8 + 8 * 3) * 4 and one.results == 3 * 4
    assert two.arguments == 2 * one.arguments


def test_a_program_from_the_disk_spends_time_on_the_cache(fresh):
    f, x, w = layer(), snp.ones((4, 8)), snp.ones((8, 3))
    f(x, w)
    stagec.clear_caches()
    with stagec.profile(kernels=False) as found:
        f(x, w)
    parts = row(found, "layer").parts
    assert parts["cache"] > 0 and parts["compile"] == 0


def test_each_kernel_has_a_time_and_the_users_line():
    f, x, w = layer(), snp.ones((256, 128)), snp.ones((128, 64))
    with stagec.profile() as found:
        for _ in range(3):
            f(x, w)
    assert found.unmeasured == {}
    assert {k.program for k in found.kernels} == {"layer"}
    assert all(k.seconds > 0 and k.launches == 1 and k.runs == 3 for k in found.kernels)
    assert {k.line for k in found.kernels} >= {line_of("y = snp.tanh(x @ w)")}
    product = next(k for k in found.kernels if "product" in k.name)
    assert product.line == line_of("y = snp.tanh(x @ w)")


def test_lines_are_found_in_a_process_of_their_own_where_the_compiler_cannot_be_used(monkeypatch):
    f, x, w = layer(), snp.ones((256, 128)), snp.ones((128, 64))
    f(x, w)
    monkeypatch.setattr(outside, "is_disturbed", lambda: True)
    monkeypatch.delattr(stages, "_launches")
    with stagec.profile() as found:
        f(x, w)
    assert line_of("y = snp.tanh(x @ w)") in {k.line for k in found.kernels}


def test_kernels_of_a_slow_operation_take_most_of_the_time():
    @stagec.jit
    def both(x):
        small = snp.sin(x[0])
        return snp.sort(x, axis=1), small

    x = snp.array(np.random.default_rng(0).normal(size=(400, 400)))
    with stagec.profile() as found:
        both(x)
    assert found.kernels[0].line == line_of("return snp.sort(x, axis=1), small")


def test_launches_in_a_loop_are_counted():
    @stagec.jit
    def f(x):
        return lax.while_loop(lambda c: snp.sum(c) < 1e4, lambda c: snp.sort(c * 2), x)

    with stagec.profile() as found:
        f(snp.ones(64))
    assert max(k.launches for k in found.kernels) >= 8  # 64 * 2**8 is the first sum above 10**4


def test_kernels_of_one_dispatch_are_measured_one_by_one():
    @stagec.jit
    def f(x):
        return lax.fori_loop(0, 20, lambda i, x: x / snp.sqrt((x * x).sum() + 1), x), snp.sort(x, axis=1)

    with stagec.profile() as found:
        f(snp.ones((1000, 1000)))
    kernels = {k.name: k for k in found.kernels}
    assert not any("persistent" in name for name in kernels)
    loops = [k for k in found.kernels if k.line == line_of("return lax.fori_loop(0, 20, lambda i, x: x / snp.sqrt(")]
    assert max(k.launches for k in loops) == 20 and all(k.seconds > 0 for k in loops)


def test_a_donated_argument_is_measured_with_its_first_value():
    @stagec.jit
    def f(x):
        return lax.while_loop(lambda c: snp.sum(c) < 1e4, lambda c: snp.sort(c * 2), x)

    step = stagec.jit(lambda x, i: x.at[i].set(snp.sum(x)), donate_argnums=0)
    x = snp.ones(64)
    with stagec.profile() as found:
        for i in range(3):
            x = step(x, i)
        f(x)
    assert found.unmeasured == {}
    expected = np.ones(64, np.float32)
    for i in range(3):
        expected[i] = expected.sum()
    np.testing.assert_allclose(np.asarray(x), expected)


def test_arguments_of_all_kinds_of_dtypes_reach_the_measurement():
    given = [snp.ones(3, d) for d in ("bfloat16", "float16", "int8", "uint16", "bool", "complex64", "float8_e4m3fn")]
    f = stagec.jit(lambda xs: [snp.where(x == x, x, x)[::-1] for x in xs])
    with stagec.profile() as found:
        f(given)
    assert found.unmeasured == {} and found.kernels


def test_a_program_that_calls_python_says_why_it_has_no_kernels():
    @stagec.jit
    def talks(x):
        stagec.debug.callback(lambda v: None, x)
        return x + 1

    with stagec.profile() as found:
        talks(snp.ones(3))
    assert found.kernels == []
    assert "calls Python" in found.unmeasured["talks"]
    assert "kernels of talks were not measured: it calls Python" in str(found)


def test_a_loaded_function_has_kernels_without_lines(tmp_path):
    path = str(tmp_path / "layer.stagec")
    layer().lower(SPEC((64, 8), "float32"), SPEC((8, 3), "float32")).compile().save(path)
    loaded = stagec.load(path)
    with stagec.profile() as found:
        loaded(snp.ones((64, 8)), snp.ones((8, 3)))
    assert row(found, "layer").count == 1
    assert found.kernels and {k.line for k in found.kernels} == {""}


def test_kernels_of_a_vulkan_device_are_measured_and_transfers_recorded():
    first_device("vulkan")
    f = layer()
    with stagec.profile() as found:
        x = stagec.device_put(snp.ones((64, 8)), "vulkan")
        np.asarray(f(x, snp.ones((8, 3))))
    assert found.kernels and all(k.seconds > 0 for k in found.kernels)
    moved = [s for s in found.spans if s.kind == "transfer"]
    assert {s.name.split()[0] for s in moved} == {"to", "from"}
    assert sum(s.details["bytes"] for s in moved) >= (64 * 8 + 8 * 3 + 3) * 4


def test_operations_outside_jit_are_counted_by_name():
    x = snp.ones(1000)
    with stagec.profile(kernels=False) as found:
        for _ in range(4):
            snp.tanh(x)
            snp.mean(x)
    eager = {r.name: r for r in found.calls if r.kind == "eager"}
    assert eager["tanh"].count == 4
    assert all(r.seconds > 0 for r in eager.values())


def test_a_gradient_and_inner_calls_are_one_call():
    inner = layer()
    w = snp.ones((8, 3))

    @stagec.jit
    def outer(w):
        return stagec.grad(lambda w: snp.sum(inner(snp.ones((4, 8)), w)))(w)

    with stagec.profile(kernels=False) as found:
        outer(w)
        outer(w)
    assert [(r.kind, r.name, r.count) for r in found.calls if r.kind == "call"] == [("call", "outer", 2)]


def test_calls_of_other_threads_are_recorded_with_their_names():
    f, x, w = layer(), snp.ones((4, 8)), snp.ones((8, 3))
    with stagec.profile(kernels=False) as found:
        threads = [threading.Thread(target=f, args=(x, w), name=f"worker {n}") for n in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert row(found, "layer").count == 3
    assert {s.thread for s in found.spans if s.kind == "call"} == {"worker 0", "worker 1", "worker 2"}


def test_a_run_on_worker_threads_takes_until_its_end():
    x = snp.ones((1024, 1024))
    f = stagec.jit(lambda x: x @ x @ x)
    f(x).block_until_ready()
    with stagec.profile(kernels=False) as found:
        f(x)
    (run,) = [s for s in found.spans if s.kind == "run"]
    others = []
    for _ in range(5):  # the shortest, as the machine may do other things
        started = time.perf_counter()
        f(x).block_until_ready()
        others.append(time.perf_counter() - started)
    assert run.details["driver"] == "local-task"
    assert run.seconds > min(others) / 20


def test_the_trace_is_in_chromes_format(tmp_path):
    f, x, w = layer(), snp.ones((64, 8)), snp.ones((8, 3))
    with stagec.profile() as found:
        f(x, w)
    path = tmp_path / "trace.json"
    found.save(path)
    events = json.loads(path.read_text())["traceEvents"]
    timed = [e for e in events if e["ph"] == "X"]
    assert {e["ph"] for e in events} == {"M", "X"}
    assert all(e["ts"] >= 0 and e["dur"] >= 0 and {"name", "cat", "pid", "tid", "args"} <= e.keys() for e in timed)
    (call,) = [e for e in timed if e["cat"] == "call"]
    (run,) = [e for e in timed if e["cat"] == "run"]
    assert (call["pid"], call["tid"]) == (run["pid"], run["tid"])
    assert call["ts"] <= run["ts"] and run["ts"] + run["dur"] <= call["ts"] + call["dur"]
    assert f"{os.path.basename(__file__)}:" in call["args"]["line"]
    kernels = [e for e in timed if e["cat"] == "kernel"]
    assert len(kernels) == len(found.kernels) and {e["pid"] for e in kernels} == {call["pid"] + 1}
    named = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert named[call["pid"], call["tid"]] == "MainThread" and named[kernels[0]["pid"], kernels[0]["tid"]] == "layer"


def test_the_table_has_calls_and_kernels():
    f, x, w = layer(), snp.ones((64, 8)), snp.ones((8, 3))
    with stagec.profile() as found:
        f(x, w)
    text = found.table()
    assert text == str(found)
    head, first = text.splitlines()[:2]
    assert head.split() == "count trace compile cache transfer run rest total bytes in bytes out".split()
    assert "layer" in text and "y = snp.tanh(x @ w)" in text and first
    assert "and 1 more" in found.table(limit=len(found.kernels) - 1) or len(found.kernels) == 1


def test_nothing_remains_of_a_profile_after_its_block():
    f, x, w = layer(), snp.ones((4, 8)), snp.ones((8, 3))
    f(x, w)
    (before,) = f._fast.values()
    with pytest.raises(KeyError), stagec.profile():
        f(x, w)
        raise KeyError
    assert recording.active is None
    f(x, w)
    (after,) = f._fast.values()
    assert before == after  # the executable's own bound method
    assert type(after.__self__) is Executable


def test_blocks_do_not_overlap_and_a_profile_records_one():
    used = stagec.profile()
    with used:
        snp.sin(1.0)
        with pytest.raises(stagec.StagecError, match=r"Fix: profile the outer block alone"), stagec.profile():
            pass
    with pytest.raises(stagec.StagecError, match=r"Fix: make another"), used:
        pass
    assert recording.active is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_records_nothing():
    f, x, w = layer(), snp.ones((4, 8)), snp.ones((8, 3))
    f(x, w)
    with stagec.profile(kernels=False) as found:
        child = os.fork()
        if child == 0:
            ok = recording.active is None and np.asarray(f(x, w)).shape == (3,)
            os._exit(0 if ok else 1)
        assert os.waitpid(child, 0)[1] == 0
        f(x, w)
    assert row(found, "layer").count == 1

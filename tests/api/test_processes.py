"""The disk cache from the outside: what one process compiled, the next one runs at once."""

import json
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec.compiler import alone, build

PROGRAM = """
import json, sys
import numpy as np
import stagec, stagec.numpy as snp
from stagec.compiler import log

@stagec.jit
def f(x, scale):
    return snp.tanh(x) * scale + {constant}

out = f(np.arange(5, dtype=np.float32), 2.0)
print(json.dumps({{
    "out": np.asarray(out).tolist(),
    "compiled": sum(r.message == "compiled" for r in log.records("compile")),
    "disk": sum("disk" in r.message for r in log.records("cache")),
    "compiler": "iree.compiler" in sys.modules,
}}))
"""


def environment(directory, **more):
    return {**os.environ, "STAGEC_CACHE_DIR": str(directory), **more}


def run(directory, constant=1.0, **more):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(constant=constant)],
        capture_output=True,
        text=True,
        env=environment(directory, **more),
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


def expected(constant=1.0):
    return (np.tanh(np.arange(5, dtype=np.float32)) * 2 + np.float32(constant)).tolist()


def test_the_next_process_runs_without_the_compiler(tmp_path):
    first, _ = run(tmp_path)
    second, _ = run(tmp_path)
    np.testing.assert_allclose(first["out"], expected(), rtol=1e-6)
    assert first["out"] == second["out"]
    assert first["compiled"] and first["compiler"]
    assert (second["compiled"], second["disk"], second["compiler"]) == (0, 1, False)


def test_a_damaged_entry_is_compiled_again_with_a_warning(tmp_path):
    run(tmp_path)
    (entry,) = tmp_path.glob("*.stagec")
    content = bytearray(entry.read_bytes())
    content[len(content) // 2] ^= 0x10
    entry.write_bytes(content)
    again, stderr = run(tmp_path)
    np.testing.assert_allclose(again["out"], expected(), rtol=1e-6)
    assert again["compiled"]
    assert stderr.count("CacheWarning") == 1


def test_without_a_usable_directory_everything_works(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a directory")
    out, stderr = run(blocked / "cache")
    np.testing.assert_allclose(out["out"], expected(), rtol=1e-6)
    assert stderr.count("CacheWarning") == 1
    out, stderr = run(tmp_path / "off", STAGEC_CACHE="0")
    assert out["compiled"] and stderr == ""
    assert not (tmp_path / "off").exists()


def test_eight_processes_compile_the_same_and_different_programs(tmp_path):
    constants = [float(i % 3) for i in range(8)]
    children = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM.format(constant=c)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(tmp_path),
        )
        for c in constants
    ]
    for child, constant in zip(children, constants):
        out, err = child.communicate(timeout=300)
        assert (child.returncode, err) == (0, "")
        np.testing.assert_allclose(json.loads(out)["out"], expected(constant), rtol=1e-6)
    assert len(list(tmp_path.glob("*.stagec"))) == 3
    assert run(tmp_path, 2.0)[0]["compiled"] == 0


def test_a_kill_while_compiling_leaves_a_working_cache(tmp_path):
    for delay in (0.4, 0.7, 1.0):
        child = subprocess.Popen(
            [sys.executable, "-c", PROGRAM.format(constant=1.0)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment(tmp_path),
        )
        try:
            child.wait(timeout=delay)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
    out, stderr = run(tmp_path)
    np.testing.assert_allclose(out["out"], expected(), rtol=1e-6)
    assert stderr == ""


@pytest.mark.parametrize("count", [8])
def test_threads_call_and_compile_the_same_functions(count):
    functions = [stagec.jit(lambda x, i=i: snp.sin(x) * (i + 0.5), keep_unused=False) for i in range(3)]
    x = np.linspace(0, 1, 100, dtype=np.float32)
    failures = []

    def work():
        try:
            for _ in range(20):
                for i, f in enumerate(functions):
                    np.testing.assert_allclose(f(x), np.sin(x) * np.float32(i + 0.5), rtol=1e-5)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert failures == []


@pytest.mark.parametrize("fails", [False, True], ids=["", "the first one fails"])
def test_threads_that_want_one_program_compile_it_once_without_a_disk_cache(monkeypatch, fails):
    count = 6
    compiled = []
    compile_graph = build.compile_graph

    def slow(*args, **options):
        compiled.append(threading.get_ident())
        time.sleep(0.2)
        if fails and len(compiled) == 1:
            raise stagec.errors.CompileError("on purpose")
        return compile_graph(*args, **options)

    monkeypatch.setattr(build, "compile_graph", slow)
    start = threading.Barrier(count)
    results, failures = [], []

    def work(i):
        # Functions of their own with one program.
        f = stagec.jit(lambda x: snp.cos(x) * 1.2345 + len("once"))
        with stagec.config.override(enable_cache=False):
            start.wait()
            # Late ones come while the first compiles, and after it is done.
            time.sleep(0.1 * i)
            try:
                results.append(float(f(0.0)))
            except stagec.errors.CompileError as error:
                failures.append(error)

    stagec.clear_caches()
    threads = [threading.Thread(target=work, args=(i,)) for i in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(compiled) == 1 + fails and len(failures) == fails
    assert results == pytest.approx([5.2345] * (count - fails))
    assert not alone._locks

"""The disk cache under many processes at once, killed processes, and the runtime that maps its payloads."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
import weakref

import pytest

import stagec.compiler.cache as cache_module
from stagec.compiler.cache import DiskCache
from stagec.compiler.key import digest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(cache_module.__file__))))

WORKER = """
import sys, time, warnings
warnings.simplefilter("error")
from stagec.compiler.cache import DiskCache
from stagec.compiler.key import digest
directory, number, max_bytes = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
cache = DiskCache(directory, max_bytes)
def program(k): return (b"%05d" % k) * 3000
print("ready", flush=True)
sys.stdin.readline()
found = 0
for step in range(40):
    k = (step * 7 + number * (step % 2) * 13) % 64
    key = digest({"program": str(k)})
    entry = cache.get(key)
    if entry is None:
        entry = cache.put(key, {"program": str(k)}, {"k": k}, program(k))
    if entry is not None:
        found += 1
        assert entry.meta == {"k": k} and entry.payload == program(k), k
print(found)
"""


def start(code, *arguments):
    env = {**os.environ, "PYTHONPATH": ROOT}
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("max_bytes", [1 << 24, 24 * 20480])
def test_sixteen_processes_share_a_cache(tmp_path, max_bytes):
    workers = [start(WORKER, tmp_path, n, max_bytes) for n in range(16)]
    for worker in workers:
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        worker.stdin.write("go\n")
        worker.stdin.flush()
    outputs = [worker.communicate(timeout=60)[0] for worker in workers]
    assert [worker.returncode for worker in workers] == [0] * 16
    if max_bytes == 1 << 24:
        assert [int(text) for text in outputs] == [40] * 16
    cache = DiskCache(tmp_path, max_bytes)
    info = cache.info()
    assert info.temporary_files == 0
    assert info.entries == len(list(cache.entries())) > 10
    # Each process may have one entry under way that the others have not seen.
    assert info.bytes <= max_bytes + 16 * 20480


def test_sixteen_threads_share_a_cache_object(tmp_path):
    cache = DiskCache(tmp_path, 30 * 8192)
    wrong = []

    def work(number):
        for step in range(30):
            k = (step * 5 + number) % 40
            key = digest({"k": str(k)})
            entry = cache.get(key) or cache.put(key, {}, {"k": k}, b"%d" % k)
            if entry is not None and (entry.meta, bytes(entry.payload)) != ({"k": k}, b"%d" % k):
                wrong.append(k)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        threads = [threading.Thread(target=work, args=(n,)) for n in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []
    assert cache.info().temporary_files == 0


KILLED = """
import os, sys, time
from stagec.compiler.cache import DiskCache
from stagec.compiler.key import digest
cache = DiskCache(sys.argv[1], 1 << 30)
def stop_before_the_rename(source, target):
    os.truncate(source, os.path.getsize(source) // int(sys.argv[2]))
    print("writing", flush=True)
    time.sleep(600)
print("ready", flush=True)
step = 0
while True:
    step += 1
    if step == 6 and int(sys.argv[2]):
        os.replace = stop_before_the_rename
    cache.put(digest({"k": str(step % 4)}), {}, {"size": 1 << 20}, bytes([step % 256]) * (1 << 20))
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_process_killed_while_it_writes_leaves_only_sound_entries(tmp_path):
    """Killed at any time, and for certain with the whole or half of an entry in its temporary file."""
    for attempt in range(12):
        part = attempt % 3
        worker = start(KILLED, tmp_path, part)
        assert worker.stdout.readline() == "ready\n"
        if part:
            assert worker.stdout.readline() == "writing\n"
        else:
            time.sleep(0.01 + 0.003 * attempt)
        worker.kill()
        worker.communicate()
        cache = DiskCache(tmp_path, 1 << 30)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for k in range(4):
                entry = cache.get(digest({"k": str(k)}))
                if entry is not None:
                    assert bytes(entry.payload) == entry.payload[:1].tobytes() * (1 << 20)
        assert cache.info().temporary_files >= bool(part)
    assert cache.info().entries > 0
    for name in os.listdir(tmp_path):
        if name.endswith(".tmp"):
            os.utime(tmp_path / name, (1, 1))
    DiskCache(tmp_path, 1 << 30).put(digest({}), {}, {}, b"")
    assert cache.info().temporary_files == 0


def test_the_runtime_runs_a_program_from_the_memory_that_was_checked(tmp_path):
    compiler = pytest.importorskip("iree.compiler")
    runtime = pytest.importorskip("iree.runtime")
    import numpy as np

    program = compiler.compile_str(
        "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {"
        " %0 = stablehlo.add %a, %a : tensor<4xf32> return %0 : tensor<4xf32> }",
        input_type="stablehlo",
        extra_args=["--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu"],
    )
    cache = DiskCache(tmp_path, 1 << 24)
    cache.put(digest({}), {}, {}, program)
    payload = cache.get(digest({})).payload
    memory = weakref.ref(payload.obj)
    cache.clear()

    instance = runtime.VmInstance()
    device = runtime.get_device("local-sync")
    released = []
    # Raises ValueError rather than copying if the payload were not aligned.
    module = runtime.VmModule.wrap_buffer(instance, payload, destroy_callback=lambda: released.append(True))
    del payload
    gc.collect()
    assert memory() is not None  # the module uses the memory itself
    context = runtime.VmContext(instance, [runtime.create_hal_module(instance, device), module])
    invoke = runtime.FunctionInvoker(context, device, module.lookup_function("main"))
    assert np.asarray(invoke(np.arange(4, dtype=np.float32))).tolist() == [0, 2, 4, 6]
    del invoke, context, module
    gc.collect()
    assert released == [True]
    assert memory() is None

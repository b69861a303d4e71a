"""The memory of results is kept for the next ones of their size, up to a limit."""

import os
import subprocess
import sys

import pytest

import stagec
import stagec.numpy as snp


def printed(program):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_"))}
    return subprocess.run([sys.executable, "-c", program], env=clean, capture_output=True, text=True, check=True).stdout


@pytest.mark.skipif(sys.platform != "linux", reason="counts page faults")
def test_results_and_copies_take_the_memory_of_earlier_ones():
    faults = printed("""
import resource
import numpy as np
import stagec

f = stagec.jit(lambda x: x + 1)
x = np.ones(1 << 18, np.float32)[1:]  # copied in each call
for _ in range(5):
    stagec.block_until_ready(f(x))
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    stagec.block_until_ready(f(x))
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
""")
    assert int(faults) < 20 * 64  # a result has 256 pages, and so has a copy


def test_what_is_kept_has_a_limit():
    kept = printed("""
import stagec, stagec.numpy as snp
from stagec.runtime import device, devices

device._POOL = device._POOL.replace(str(512 << 20), str(8 << 20))
f = stagec.jit(lambda x: tuple(x + n for n in range(8)))
for size in (1 << 18, 1 << 18, 1 << 19):
    for result in f(snp.zeros(size)):
        result.block_until_ready()
del result
cpu = devices.cpu()
counts = [item for queue in cpu.backend.queues for item in cpu.hal_device(queue).allocator.statistics.items()]
print(sum(count if "allocated" in name else -count if "freed" in name else 0 for name, count in counts))
""")
    assert 0 < int(kept) <= 10 << 20  # eight results of 1 or 2 MiB


def test_what_is_kept_is_not_in_use():
    f = stagec.jit(lambda x: x + 1)
    x = snp.zeros(1 << 16)
    f(x).block_until_ready()
    before = stagec.memory_stats()["bytes_in_use"]
    result = f(x).block_until_ready()
    assert stagec.memory_stats()["bytes_in_use"] - before >= x.nbytes
    del result
    assert stagec.memory_stats()["bytes_in_use"] - before < x.nbytes

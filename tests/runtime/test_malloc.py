"""The memory of results is kept for the next ones, where the C library is glibc."""

import os
import platform
import subprocess
import sys

import pytest

PROGRAM = """
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
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
@pytest.mark.parametrize(("setting", "kept"), [({}, True), ({"MALLOC_TRIM_THRESHOLD_": "131072"}, False)])
def test_the_memory_of_results_is_kept_unless_the_user_decides(setting, kept):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_"))}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env={**clean, **setting}, capture_output=True, text=True, check=True
    )
    # A result has 256 pages.
    assert (int(done.stdout) < 20 * 64) == kept

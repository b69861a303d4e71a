"""Sessions of the compiler leave no memory behind."""

import subprocess
import sys

import pytest

SCRIPT = """
import ctypes, gc, sys
import numpy as np
import stagec, stagec.numpy as snp

stagec.config.update("enable_cache", False)
stagec.config.update("cpu_kernels", sys.argv[1] == "kernels")
sizes = []
for i in range(26):
    f = stagec.jit(lambda x: snp.exp(x + i) * 3)
    f(np.ones(8, np.float32))
    gc.collect()  # a module that is part of a cycle is freed when Python looks for cycles
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/status") as status:
        sizes.append(next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) / 1024)
print(sizes[-1] - sizes[5])
"""


@pytest.mark.parametrize(("kernels", "most"), [("kernels", 20), ("compiler", 12)])
def test_compiling_many_programs_keeps_no_memory(kernels, most):
    done = subprocess.run([sys.executable, "-c", SCRIPT, kernels], capture_output=True, text=True, timeout=300)
    assert float(done.stdout) < most, done.stderr

"""Fresh processes with a warm disk cache: from the start of Python to the first result."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence

PRELUDES = {
    "numpy": "import numpy as np\njit = lambda f: f\nwait = lambda v: v\n",
    "jax": "import jax, jax.numpy as np\njit, wait = jax.jit, jax.block_until_ready\n",
    "stagec": "import stagec, stagec.numpy as np\njit = stagec.jit\nwait = lambda v: v.block_until_ready()\n",
    # What a machine without the compiler does: the function comes from a file, the arguments from NumPy.
    "artifact": """
import os, stagec, numpy as np
jit = lambda f: stagec.load(os.environ["ARTIFACT"])
wait = lambda v: v.block_until_ready()
""",
    # Where that file comes from.
    "export": """
import os, stagec, stagec.numpy as np
def jit(f):
    def call(*args):
        stagec.export(f)(*args).save(os.environ["ARTIFACT"])
        return stagec.jit(f)(*args)
    return call
wait = lambda v: v.block_until_ready()
""",
}

PROGRAMS = {
    "selu": """
@jit
def f(x):
    return 1.05 * np.where(x > 0, x, 1.67 * np.exp(x) - 1.67)
wait(f(np.arange(100.0)))
""",
    "mlp": """
@jit
def f(params, x):
    for w, b in params[:-1]:
        x = np.maximum(x @ w + b, 0.0)
    w, b = params[-1]
    x = x @ w + b
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)
sizes = [64, 128, 128, 10]
params = [(np.ones((m, n)) * 0.01, np.zeros(n)) for m, n in zip(sizes, sizes[1:])]
wait(f(params, np.ones((32, 64))))
""",
    "import alone": "",
}

# Group and program: `start` traces and finds the compiled program on disk, `aot` loads a file.
NAMES = (*(f"start/{name}" for name in PROGRAMS), "aot/selu", "aot/mlp")
AIMS = {"start": 2.0, "aot": 3.0}

_REPORT = "\nimport sys\nprint('iree.compiler' in sys.modules, flush=True)\n"


def caches(folder: str) -> dict[str, str]:
    """The environment in which stagec and JAX keep all programs in a folder."""
    return {
        "STAGEC_CACHE_DIR": os.path.join(folder, "stagec"),
        "JAX_COMPILATION_CACHE_DIR": os.path.join(folder, "jax"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "0",
    }


def first_line(arguments: Sequence[str], environment: Mapping[str, str]) -> tuple[float, str]:
    """The seconds from starting Python to the first line that it prints, and the line.

    Raises:
      RuntimeError: the process failed.
    """
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdout is not None, "stdout is a pipe"
    line = process.stdout.readline()
    seconds = time.perf_counter() - started
    _, errors = process.communicate()
    if process.returncode or not line:
        raise RuntimeError((errors.strip().splitlines() or ["no output"])[-1])
    return seconds, line


class Starts:
    """Starts processes that run one program, with cache folders that live as long as this object."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()

    def close(self) -> None:
        self._folder.cleanup()

    def seconds(self, library: str, program: str) -> float:
        """Time from starting a process until its first result.

        Raises:
          RuntimeError: the process failed.
          AssertionError: stagec loaded the compiler although the cache was warm.
        """
        seconds, loaded = self._run(library, program)
        assert not (library in ("stagec", "artifact") and loaded), f"{program}: a warm start loaded iree.compiler"
        return seconds

    def warm(self, library: str, program: str) -> None:
        """Fill the caches: of the disk, of bytecode, of the operating system."""
        if library == "artifact":
            self._run("export", program)
        self._run(library, program)

    def artifact_bytes(self, program: str) -> int:
        """The size of the file that `artifact` loads."""
        return os.path.getsize(self._artifact(program))

    def _artifact(self, program: str) -> str:
        return os.path.join(self._folder.name, f"{program}.stagec")

    def _run(self, library: str, program: str) -> tuple[float, bool]:
        environment = {
            **os.environ,
            # Bytecode on disk for all three, as after an installation.
            "PYTHONDONTWRITEBYTECODE": "",
            "ARTIFACT": self._artifact(program),
            "JAX_PLATFORMS": "cpu",
            **caches(self._folder.name),
        }
        seconds, line = first_line(["-c", PRELUDES[library] + PROGRAMS[program] + _REPORT], environment)
        return seconds, line.strip() == "True"

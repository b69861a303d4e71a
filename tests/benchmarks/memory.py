"""Memory at the peak: `python -m tests.benchmarks memory [group or part of a name ...] [--json] [--tiny]`.

How much a process grows by a program's calls, the program itself and its results included, after it has made the
arguments and run another program on all cores. Each library and case has a process of its own, which finds the program
in a cache on disk, so that a compiler's memory does not count. Linux only.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from tests.benchmarks.case import Case, sample
from tests.benchmarks.cases import CASES
from tests.benchmarks.libraries import Library, load
from tests.benchmarks.loops import geometric_mean
from tests.benchmarks.start import caches

LIBRARIES = ("jax", "stagec")
_GROUPS = ("kernels", "products", "convolutions", "steps", "sizes")
# The largest growth of so many calls counts, since threads overlap in different ways.
_CALLS = 10
# What proc(5) says resets a process's peak, in /proc/self/clear_refs.
_RESET_PEAK = "5"


def measure(lib: Library, case: Case, tiny: bool) -> int:
    """Bytes that this process grows by at the peak of a few calls."""
    lib.wait(lib.jit(lambda x: lib.np.max(x))(lib.array(sample(10**6))))
    call = case.setup(lib, tiny)
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/clear_refs", "w") as file:
        file.write(_RESET_PEAK)
    before = _field("VmRSS")
    for _ in range(_CALLS):
        call()
    return _field("VmHWM") - before


def _field(name: str) -> int:
    """A size in the process's status, which the kernel states in KiB."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(f"{name}:"))


def _in_process(library: str, case: Case, tiny: bool, folder: str) -> int:
    """`measure` in a process of its own."""
    command = [sys.executable, "-m", "tests.benchmarks", "memory", "--library", library, case.id]
    environment = {**os.environ, **caches(folder)}
    done = subprocess.run(
        command + ["--tiny"] * tiny, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, env=environment
    )
    return int(done.stdout.splitlines()[-1])


def run(cases: Sequence[Case], libraries: Sequence[str], tiny: bool) -> list[dict[str, Any]]:
    """Bytes by case and library."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            found = {}
            for library in libraries:
                _in_process(library, case, tiny, folder)  # fills the cache on disk
                found[library] = _in_process(library, case, tiny, folder)
            rows.append({"group": case.group, "name": case.name, "bytes": found})
    return rows


def table(rows: Sequence[dict[str, Any]]) -> Table:
    """MiB and ratios."""
    out = Table(title="stagec's memory over JAX's at the peak (below 1: stagec takes less)")
    out.add_column("case", no_wrap=True)
    for name in ("ratio", "stagec MiB", "jax MiB"):
        out.add_column(name, justify="right")
    ratios = []
    for row in rows:
        sizes = row["bytes"]
        ratios += [sizes["stagec"] / sizes["jax"]] if len(sizes) == len(LIBRARIES) else []
        mine, other = (f"{sizes[k] / 2**20:.1f}" if k in sizes else "" for k in ("stagec", "jax"))
        out.add_row(f"{row['group']}  {row['name']}", f"{ratios[-1]:.2f}" if mine and other else "", mine, other)
    out.add_section()
    out.add_row("geometric mean", f"{geometric_mean(ratios):.2f}")
    return out


def main(arguments: Sequence[str]) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks memory", description=__doc__)
    parser.add_argument("case", nargs="*", help=f"a group ({', '.join(_GROUPS)}), or a part of a case's name")
    parser.add_argument("--libraries", default=",".join(LIBRARIES), help="which to compare")
    parser.add_argument("--json", action="store_true", help="print bytes as JSON instead of a table")
    parser.add_argument("--tiny", action="store_true", help="small arrays only: does every case run?")
    parser.add_argument("--library", help="measure the one case in this process, and print its bytes")
    options = parser.parse_args(arguments)
    if options.library:
        (case,) = [c for c in CASES if c.id == options.case[0]]
        print(measure(load(options.library), case, options.tiny))
        return
    cases = [c for c in CASES if c.group in _GROUPS and "jax" in c.libraries]
    if options.case:
        cases = [c for c in cases if any(c.group == p or p in c.name for p in options.case)]
    rows = run(cases, options.libraries.split(","), options.tiny)
    if options.json:
        print(json.dumps({"rows": rows}))
        return
    Console().print(table(rows))

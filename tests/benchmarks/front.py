"""Times of the README's chart: `python -m tests.benchmarks front [program ...] [-o FILE]`.

Programs as each library wants them written (`written_for_each.py`), in processes of their own: one whose cache on disk
is empty, which gives the time of the first call, and one that finds the program there. Both give the time from the
start of the process to the first result, and that of later calls. Libraries take turns, and the fastest turn counts,
also of former runs of the same versions in the file. Numba and PyTorch need not be in this environment: `--python
torch=/path/to/python` names another one's interpreter. Libraries that are not installed are left out.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.benchmarks import written_for_each

ROOT = Path(__file__).parents[2]
PROGRAMS = tuple(written_for_each.arguments(True))
LIBRARIES = tuple(written_for_each.CACHES)


def machine() -> str:
    """The processor and the number of its cores that this process may use."""
    found = re.search(r"^model name\s*: (.*)", _read("/proc/cpuinfo"), re.MULTILINE)
    return f"{found[1] if found else platform.machine()}, {len(os.sched_getaffinity(0))} cores"


def _read(path: str) -> str:
    return Path(path).read_text("utf-8") if os.path.exists(path) else ""


def process(python: str, library: str, program: str, folder: str, tiny: bool) -> dict[str, Any] | None:
    """What a new process measured, with `start`, the seconds until its first result; None if the program is not there.

    Raises:
      RuntimeError: the process failed.
    """
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "JAX_PLATFORMS": "cpu"}
    if cache := written_for_each.CACHES[library]:
        environment[cache] = folder
    command = [python, "-m", written_for_each.__name__, library, program, *["--tiny"] * tiny]
    with tempfile.TemporaryFile("w+") as errors:
        started = time.perf_counter()
        with subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment
        ) as running:
            assert running.stdout is not None, "stdout is a pipe"
            first = running.stdout.readline()
            start = time.perf_counter() - started
            second = running.stdout.read()
        errors.seek(0)
        said = errors.read().strip()
    if running.returncode:
        if said.endswith(f"KeyError: {program!r}"):
            return None
        raise RuntimeError(f"{library}, {program}: {said.splitlines()[-1]}")
    return {**json.loads(first), **json.loads(second), "start": start}


def measure(programs: list[str], pythons: dict[str, str], repeat: int, tiny: bool) -> dict[str, Any]:
    """The least times of each program and library, and the versions.

    Raises:
      AssertionError: two libraries computed different things.
    """
    versions: dict[str, str] = {}
    rows: dict[str, dict[str, dict[str, float]]] = {}
    for program in programs:
        rows[program], sizes = {}, dict[str, float]()
        active = list(pythons)
        for _ in range(repeat):
            for library in list(active):
                with tempfile.TemporaryDirectory() as folder:
                    turns = [process(pythons[library], library, program, folder, tiny) for _ in range(2)]
                cold, warm = turns
                if cold is None or warm is None:
                    active.remove(library)
                    continue
                versions[library], sizes[library] = cold["version"], cold["size"]
                times = {
                    "first": cold["first"],
                    "cold start": cold["start"],
                    "start": warm["start"],
                    "steady": min(cold["steady"], warm["steady"]),
                }
                best = rows[program].setdefault(library, times)
                best.update({name: min(best[name], seconds) for name, seconds in times.items()})
        least, most = min(sizes.values()), max(sizes.values())
        assert math.isclose(least, most, rel_tol=1e-3), f"{program}: results differ: {sizes}"
    return {"machine": machine(), "python": platform.python_version(), "versions": versions, "rows": rows}


def merged(former: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """Two runs, with the least times of both if they are of the same machine and versions; the latter one if not."""
    if any(former[name] != found[name] for name in found if name != "rows"):
        return found
    for program, times in found["rows"].items():
        for library, seconds in former["rows"].get(program, {}).items():
            now = times.get(library, seconds)
            times[library] = {name: min(value, seconds.get(name, value)) for name, value in now.items()}
    return {**found, "rows": {**former["rows"], **found["rows"]}}


def has(python: str, library: str) -> bool:
    """Whether a Python has a library."""
    return subprocess.run([python, "-c", f"import {library}"], cwd=ROOT, capture_output=True).returncode == 0


def main(arguments: list[str]) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks front", description=__doc__)
    parser.add_argument("program", nargs="*", choices=[*PROGRAMS, []], help=f"all of {', '.join(PROGRAMS)} by default")
    parser.add_argument("--python", action="append", default=[], metavar="LIBRARY=PROGRAM", help="whose Python has it")
    parser.add_argument("--libraries", default=",".join(LIBRARIES), help="which to compare")
    parser.add_argument("--repeat", type=int, default=3, help="turns of each library; the best one counts")
    parser.add_argument("--tiny", action="store_true", help="small inputs, one turn")
    parser.add_argument("-o", "--output", type=Path, help="the file to write, instead of printing JSON")
    options = parser.parse_args(arguments)
    others = dict(text.split("=", 1) for text in options.python)
    pythons = {library: others.get(library, sys.executable) for library in options.libraries.split(",")}
    there = {library: python for library, python in pythons.items() if has(python, library)}
    for library in sorted({*pythons} - {*there}):
        print(f"{library} is not installed, and was left out", file=sys.stderr)
    found = measure(options.program or [*PROGRAMS], there, 1 if options.tiny else options.repeat, options.tiny)
    if options.output is None:
        print(json.dumps(found, indent=1))
        return
    if options.output.exists():
        found = merged(json.loads(options.output.read_text("utf-8")), found)
    options.output.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

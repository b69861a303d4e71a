"""Measure and print: `python -m tests.benchmarks [case ...] [--repeat N] [--json]`.

`python -m tests.benchmarks gpu [--device D]` checks and measures a device instead, and `python -m tests.benchmarks
loops` loops, and `libraries` random numbers, factorizations and transforms, beside JAX. `outside` calls all public
functions outside `jit`, beside JAX and beside their jitted forms. `rounds` compares loops that are one kernel with
loops whose bodies are kernels, `gradients` those through `while_loop` with those through `scan`, and `host`
factorizations and transforms by NumPy and SciPy with those by stagec's own algorithms. `compiles` are those of programs
that grow to thousands of operations, and of all public functions, beside JAX's. `dynamic` compares programs for
open dimensions with those for one size, `devices` two devices with one, and `processes` several processes of Dask with
one. `front` compares five libraries, for the README's chart. `tiers` measures first results and stalls while the
compiler works, `pages` the documentation's examples beside JAX, `passes` what the laws of the passes are worth,
`reproducible` what the same bits everywhere cost, `memory` the memory that calls take beside JAX's, and `native` calls
and those of the same kernels from C. `browser` compares WebAssembly modules with onnxruntime-web, and `sources` the
programs of npbench with Numba's.

`contractions/` and `axes/` are generated: all products of two arrays of up to three axes, and operations along each
axis, by dtype, as in `axes/int8`. For `compile`, the table has the share of stagec's own code in the processor time of
its compile, too.

`--beside v0.2` adds stagec as it is in another revision of the repository, such as the last release.

Each library has a process of its own. Their turns alternate, so that a slow
moment of the machine meets all of them, and the fastest turn counts.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tests.benchmarks import (
    browser,
    compiles,
    devices,
    dynamic,
    front,
    generated,
    gpu,
    gradients,
    host,
    library_programs,
    loops,
    memory,
    native,
    outside,
    pages,
    processes,
    reproducible,
    rounds,
    simplified,
    sources,
    start,
    tiers,
)
from tests.benchmarks.case import Case
from tests.benchmarks.cases import CASES
from tests.benchmarks.libraries import NAMES
from tests.benchmarks.worker import CPU
from tests.revisions import checked_out

GROUPS = (
    *("call", "trace", "start", "aot", "kernels", "products", "narrow", "convolutions", "steps", "sizes", "eager"),
    "compile",
    *generated.GROUPS,
)
# Those with a command line of their own, by the first argument.
MEASUREMENTS: dict[str, Callable[[list[str]], None]] = {
    "browser": browser.main,
    "compiles": compiles.main,
    "devices": devices.main,
    "dynamic": dynamic.main,
    "front": front.main,
    "gpu": gpu.main,
    "gradients": gradients.main,
    "host": host.main,
    "libraries": lambda arguments: loops.main(arguments, library_programs.PROGRAMS),
    "loops": loops.main,
    "memory": memory.main,
    "native": native.main,
    "outside": outside.main,
    "pages": pages.main,
    "passes": simplified.main,
    "processes": processes.main,
    "reproducible": reproducible.main,
    "rounds": rounds.main,
    "sources": sources.main,
    "tiers": tiers.main,
}


class Worker:
    """A process that measures with one library, or with stagec as it is in another folder."""

    def __init__(self, library: str, cold: bool = False, cpu: bool = False, folder: str | None = None) -> None:
        environment = dict(os.environ)
        self.library = library
        if folder is not None:
            environment["PYTHONPATH"] = folder
        if cold:
            environment["STAGEC_CACHE"] = "0"
        if cpu:
            environment[CPU] = "1"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.benchmarks.worker", library],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
            cwd=folder,
        )
        self.greeting = self._read()

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin is not None, "stdin is a pipe"
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return {"error": "the process has ended"}
        return self._read()

    def _read(self) -> dict[str, Any]:
        assert self.process.stdout is not None, "stdout is a pipe"
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"error": f"the process ended with {self.process.wait()}"}

    def close(self) -> None:
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.process.wait()


def disagreement(results: dict[str, list[Any]]) -> str:
    """A word where libraries computed different things."""
    found = [r for r in results.values() if r]
    for other in found[1:]:
        if other[0] != found[0][0] or not math.isclose(other[1], found[0][1], rel_tol=1e-3, abs_tol=1e-5):
            return "results differ: " + ", ".join(f"{k} {v}" for k, v in results.items())
    return ""


def run_case(case: Case, workers: dict[str, Worker], repeat: int, tiny: bool) -> dict[str, Any]:
    """Best seconds of each library, and what went wrong."""
    row: dict[str, Any] = {"group": case.group, "name": case.name, "aim": case.aim, "seconds": {}, "notes": []}
    results: dict[str, list[Any]] = {}
    active = [n for n in workers if workers[n].library in case.libraries]
    for _ in range(repeat):
        for name in list(active):
            reply = workers[name].ask({"case": case.id, "tiny": tiny})
            if "seconds" not in reply:
                row["notes"].append(f"{name}: {reply.get('error', 'no answer')}")
                row["seconds"].pop(name, None)
                active.remove(name)
                continue
            results.setdefault(name, reply.get("result", []))
            row["seconds"][name] = min(reply["seconds"], row["seconds"].get(name, math.inf))
            if "own" in reply:
                row["own"] = min(reply["own"], row.get("own", math.inf))
    for name in active:
        workers[name].ask({"drop": case.id})
    problem = disagreement(results)
    if problem:
        row["notes"].append(problem)
    return row


def run_starts(names: list[str], libraries: list[str], repeat: int) -> list[dict[str, Any]]:
    """The `start` and `aot` rows; in the latter, stagec loads a file."""
    rows = []
    starts = start.Starts()
    try:
        for identity in names:
            group, program = identity.split("/")
            row: dict[str, Any] = {
                "group": group,
                "name": program,
                "aim": start.AIMS[group],
                "seconds": {},
                "notes": [],
            }
            ways = {name: name for name in libraries}
            if group == "aot" and "stagec" in ways:
                ways = {**ways, "stagec": "artifact", "jitted": "stagec"}
            found = _alternate(starts, program, ways, repeat, row["notes"])
            if group == "aot" and not row["notes"] and "jitted" in found:
                size = starts.artifact_bytes(program) / 1024
                row["notes"].append(
                    f"a file of {size:.0f} KiB; jitted with a warm cache {1e3 * found['jitted']:.0f} ms"
                )
            row["seconds"] = {name: found[name] for name in libraries if name in found}
            rows.append(row)
    finally:
        starts.close()
    return rows


def _alternate(
    starts: start.Starts, program: str, ways: dict[str, str], repeat: int, notes: list[str]
) -> dict[str, float]:
    """The best seconds of each way to start a program, in turns."""
    seconds: dict[str, float] = {}
    active = dict(ways)
    for turn in range(-1, repeat):
        for name, way in list(active.items()):
            try:
                if turn < 0:
                    starts.warm(way, program)
                else:
                    seconds[name] = min(starts.seconds(way, program), seconds.get(name, math.inf))
            except (RuntimeError, AssertionError) as error:
                notes.append(f"{name}: {error}")
                del active[name]
    return seconds


def ratio(row: dict[str, Any], other: str) -> float | None:
    """How many times faster stagec is than another library."""
    seconds = row["seconds"]
    return seconds[other] / seconds["stagec"] if other in seconds and "stagec" in seconds else None


def table(rows: list[dict[str, Any]], libraries: list[str]) -> Table:
    """Ratios; above 1, stagec is the faster one."""
    out = Table(title="stagec's speed over the others' (above 1: stagec is faster)")
    out.add_column("case", no_wrap=True)
    for other in libraries:
        if other != "stagec":
            out.add_column(f"over {other}", justify="right")
    out.add_column("aim over jax", justify="right")
    shares = any("own" in row for row in rows)
    if shares:
        out.add_column("own code", justify="right")
    out.add_column("notes")
    group = ""
    for row in rows:
        if row["group"] != group:
            group = row["group"]
            out.add_section()
        cells = [escape(f"{row['group']}  {row['name']}")]
        for other in libraries:
            if other == "stagec":
                continue
            value = ratio(row, other)
            text = "" if value is None else f"{value:.2f}"
            if value is not None and other == "jax" and row["aim"]:
                text = f"[{'green' if value >= row['aim'] else 'red'}]{text}[/]"
            cells.append(text)
        cells.append(f"{row['aim']:g}" if row["aim"] else "")
        if shares:
            cells.append(f"{row['own']:.0%}" if "own" in row else "")
        cells.append(escape("; ".join(row["notes"])))
        out.add_row(*cells)
    return out


def chosen(patterns: list[str]) -> tuple[list[Case], list[str]]:
    """The cases and starts whose `group/name` begins with, or whose name contains, one of the patterns.

    Those that are generated, which are thousands, are only found by what they begin with.
    """

    def wanted(identity: str) -> bool:
        group, name = identity.split("/", 1)
        if group in generated.GROUPS:
            return any(identity.startswith(p) for p in patterns)
        return not patterns or any(identity.startswith(p) or p in name for p in patterns)

    return [c for c in CASES if wanted(c.id)], [n for n in start.NAMES if wanted(n)]


def measure_all(
    cases: list[Case],
    starts: list[str],
    libraries: list[str],
    repeat: int,
    tiny: bool,
    cpu: bool,
    folders: dict[str, str] | None = None,
) -> list[dict[str, Any]]:
    """Every row, in the order of `GROUPS`; `folders` has other versions of stagec, by their names."""
    rows: list[dict[str, Any]] = []
    for cold in (False, True):
        some = [c for c in cases if (c.group == "compile") == cold]
        if not some:
            continue
        workers = {name: Worker(name, cold, cpu) for name in libraries}
        workers |= {name: Worker("stagec", cold, cpu, folder) for name, folder in (folders or {}).items()}
        try:
            rows += [run_case(c, workers, 1 if tiny else min(repeat, 3) if cold else repeat, tiny) for c in some]
        finally:
            for worker in workers.values():
                worker.close()
    if starts:
        rows += run_starts(starts, libraries, 1 if tiny else repeat)
    return sorted(rows, key=lambda r: GROUPS.index(r["group"]))


def main() -> None:
    """The command line."""
    other = MEASUREMENTS.get(sys.argv[1]) if len(sys.argv) > 1 else None
    if other is not None:
        other(sys.argv[2:])
        return
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("case", nargs="*", help=f"a group ({', '.join(GROUPS)}), or a part of a case's name")
    parser.add_argument("--repeat", type=int, default=7, help="turns of each library; the best one counts")
    parser.add_argument("--libraries", default=",".join(NAMES), help="which to compare")
    parser.add_argument("--json", action="store_true", help="print seconds as JSON instead of a table")
    parser.add_argument("--tiny", action="store_true", help="small inputs, one turn: does every case run?")
    parser.add_argument("--cpu", action="store_true", help="time of all processors instead of the clock's")
    parser.add_argument("--beside", metavar="REVISION", help="a release, branch or commit of stagec, to compare with")
    options = parser.parse_args()
    libraries = options.libraries.split(",")
    unknown = sorted(set(libraries) - set(NAMES))
    if unknown:
        parser.error(f"unknown library {unknown[0]}; there are {', '.join(NAMES)}")
    missing = [n for n in libraries if importlib.util.find_spec(n) is None]
    libraries = [n for n in libraries if n not in missing]
    cases, starts = chosen(options.case)
    if not cases and not starts:
        parser.error(f"no case matches {' '.join(options.case)}; groups are {', '.join(GROUPS)}")
    with contextlib.ExitStack() as copies:
        folders = {name: str(copies.enter_context(checked_out(name))) for name in filter(None, [options.beside])}
        rows = measure_all(
            cases, [] if folders else starts, libraries, options.repeat, options.tiny, options.cpu, folders
        )
    libraries += folders
    if options.json:
        print(json.dumps({"libraries": libraries, "missing": missing, "rows": rows}))
        return
    console = Console()
    console.print(table(rows, libraries))
    for name in missing:
        console.print(f"{name} is not installed, and was skipped")


if __name__ == "__main__":
    main()

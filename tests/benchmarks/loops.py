"""Loops beside JAX: `python -m tests.benchmarks loops [part of a name ...] [--repeat N] [--json]`.

`python -m tests.benchmarks libraries` measures random numbers, factorizations and transforms in the same way, in
float32 and complex64.

Each library has a process of its own, without a cache on disk. The first call is measured once, the following
ones in turns, the fastest of which counts. Ratios are stagec's time over JAX's: below 1, stagec is the faster one.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from tests.benchmarks import library_programs, loop_programs
from tests.benchmarks.loop_programs import Names, Program

LIBRARIES = ("stagec", "jax")
_SECONDS = 0.02
PROGRAMS = [*loop_programs.PROGRAMS, *library_programs.PROGRAMS]


class Worker:
    """A process that runs programs with one library."""

    def __init__(self, library: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.benchmarks.loops", library],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "STAGEC_CACHE": "0", "STAGEC_ENABLE_X64": "1", "JAX_ENABLE_X64": "1"},
        )

    def ask(self, name: str, tiny: bool) -> dict[str, Any]:
        """One turn of a program."""
        assert self.process.stdin is not None and self.process.stdout is not None, "both are pipes"
        self.process.stdin.write(json.dumps([name, tiny]) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"error": f"the process ended with {self.process.wait()}"}

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None, "it is a pipe"
        self.process.stdin.close()
        self.process.wait()


def run(programs: Sequence[Program], libraries: Sequence[str], repeat: int, tiny: bool) -> list[dict[str, Any]]:
    """Seconds of the first call and of the following ones, by program and library."""
    workers = {library: Worker(library) for library in libraries}
    rows = []
    for program in programs:
        row: dict[str, Any] = {"name": program.name, "first": {}, "steady": {}, "notes": []}
        sums: dict[str, list[float]] = {}
        for _ in range(1 if tiny else repeat):
            for library, worker in workers.items():
                reply = worker.ask(program.name, tiny)
                if "error" in reply:
                    row["notes"].append(f"{library}: {reply['error']}")
                    continue
                if "first" in reply:
                    row["first"][library], sums[library] = reply["first"], reply["sum"]
                row["steady"][library] = min(reply["steady"], row["steady"].get(library, math.inf))
        if not all(np.allclose(a, b, rtol=1e-3, atol=1e-4) for a in sums.values() for b in sums.values()):
            row["notes"].append(f"results differ: {sums}")
        rows.append(row)
    for worker in workers.values():
        worker.close()
    return rows


def ratios(rows: Sequence[dict[str, Any]], kind: str) -> list[float]:
    """stagec's time over JAX's, of the programs that both have run."""
    return [r[kind]["stagec"] / r[kind]["jax"] for r in rows if len(r[kind]) == len(LIBRARIES)]


def geometric_mean(numbers: Sequence[float]) -> float:
    """The geometric mean; NaN of nothing.

    >>> geometric_mean([0.5, 2.0])
    1.0
    """
    return math.exp(sum(map(math.log, numbers)) / len(numbers)) if numbers else math.nan


def table(rows: Sequence[dict[str, Any]]) -> Table:
    """Times and ratios."""
    out = Table(title="stagec's time over JAX's (below 1: stagec is faster)")
    out.add_column("program", no_wrap=True)
    for name in ("steady", "first call", "stagec ms", "jax ms", "stagec first ms", "jax first ms"):
        out.add_column(name, justify="right")
    out.add_column("notes")

    def cell(seconds: float | None) -> str:
        return "" if seconds is None else f"{seconds * 1e3:.3g}"

    for row in rows:
        each = [ratios([row], kind) for kind in ("steady", "first")]
        out.add_row(
            row["name"],
            *(f"{found[0]:.2f}" if found else "" for found in each),
            *(cell(row[kind].get(library)) for kind in ("steady", "first") for library in LIBRARIES),
            "; ".join(row["notes"]),
        )
    out.add_section()
    means = [geometric_mean(ratios(rows, kind)) for kind in ("steady", "first")]
    out.add_row("geometric mean", *(f"{mean:.2f}" for mean in means))
    return out


def main(arguments: Sequence[str], programs: Sequence[Program] = loop_programs.PROGRAMS) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks loops", description=__doc__)
    parser.add_argument("program", nargs="*", help="a part of a program's name")
    parser.add_argument("--repeat", type=int, default=5, help="turns of each library; the best one counts")
    parser.add_argument("--libraries", default=",".join(LIBRARIES), help="which to compare")
    parser.add_argument("--json", action="store_true", help="print seconds as JSON instead of a table")
    parser.add_argument("--tiny", action="store_true", help="small inputs, one turn: does every program run?")
    options = parser.parse_args(arguments)
    programs = [p for p in programs if not options.program or any(part in p.name for part in options.program)]
    rows = run(programs, options.libraries.split(","), options.repeat, options.tiny)
    if options.json:
        print(json.dumps(rows))
    else:
        Console(width=160).print(table(rows))


def names_of(library: str) -> tuple[Names, Any]:
    """The names that programs use of a library, and its `jit`."""
    if library == "jax":
        os.environ.setdefault("JAX_PLATFORMS", "cpu")
        import jax
        import jax.numpy

        return Names(jax.numpy, jax.lax, jax.grad, jax.vmap, jax.random), jax.jit
    import stagec

    return Names(stagec.numpy, stagec.lax, stagec.grad, stagec.vmap, stagec.random), stagec.jit


def serve(library: str) -> None:
    """Answer requests on standard input, a line each, until it ends."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    names, jit = names_of(library)
    jit(lambda x: x + 1)(np.ones(3))
    ready: dict[str, Any] = {}
    for line in sys.stdin:
        try:
            reply = _answer(*json.loads(line), names, jit, ready)
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {error}".splitlines()[0]}
        out.write(json.dumps(reply) + "\n")
        out.flush()


def _answer(name: str, tiny: bool, names: Names, jit: Any, ready: dict[str, Any]) -> dict[str, Any]:
    reply: dict[str, Any] = {}
    if name not in ready:
        program = next(p for p in PROGRAMS if p.name == name)
        function = jit(program.make(names))
        operands = [names.np.asarray(x) for x in program.operands(tiny)]

        def call() -> Any:
            found = function(*operands)
            return found.block_until_ready()

        started = time.perf_counter()
        found = np.asarray(call()).astype(np.float64)
        reply["first"] = time.perf_counter() - started
        reply["sum"] = [float(found.mean()), float(np.abs(found).mean())]
        ready.clear()
        ready[name] = call
    call, count = ready[name], 1
    while True:
        started = time.perf_counter()
        for _ in range(count):
            call()
        seconds = time.perf_counter() - started
        if tiny or seconds >= _SECONDS:
            break
        count *= 2
    return {**reply, "steady": seconds / count}


if __name__ == "__main__":
    serve(sys.argv[1])

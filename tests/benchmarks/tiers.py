"""Tiers beside JAX: `python -m tests.benchmarks tiers [part of a name ...] [--repeat N] [--json]`.

Two tables. *First results*: from the start of a process, without caches, to the first result of a program. *Stalls*:
the longest of the first hundred steps of a training loop, where JAX's is its compile. Ratios are the time over JAX's:
below 1, stagec is the faster one. `stagec` is without tiers. Processes take turns, and the fastest one counts.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from tests.benchmarks import loops, start, steps
from tests.benchmarks.libraries import load

LIBRARIES = ("tiers", "stagec", "jax")
_ENVIRONMENT = {
    "tiers": {"STAGEC_CACHE": "0", "STAGEC_TIERED": "1"},
    "stagec": {"STAGEC_CACHE": "0", "STAGEC_TIERED": "0"},
    "jax": {"JAX_PLATFORMS": "cpu", "JAX_ENABLE_COMPILATION_CACHE": "false"},
}
_STEPS = 100
_PROGRAMS = {p.name: p for p in loops.PROGRAMS}
STARTS = [name for name, text in start.PROGRAMS.items() if text]
# A few of the loops and of the calls of libraries: of each kind one.
FIRST = [
    *STARTS,
    *steps.NETWORKS,
    *("LU 60", "conjugate gradients 100, 50 steps", "Jacobi 2-D, 150x150, 50 steps", "game of life 128, 50 steps"),
    *("Kalman filter, 4 states, 500 samples", "edit distance 200x200", "sieve of 20000", "pendulum, adaptive steps"),
    *("Lorenz, Runge-Kutta 4, 2000 steps", "RNN of 64, gradient, 100 steps", "Mandelbrot 64x64, 100 steps"),
]


def measure(library: str, kind: str, name: str, tiny: bool) -> dict[str, Any]:
    """One process of one library.

    Raises:
      RuntimeError: it failed.
    """
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", **_ENVIRONMENT[library]}
    command = ["-m", "tests.benchmarks.tiers", "jax" if library == "jax" else "stagec", kind, name]
    seconds, line = start.first_line(command + ["tiny"] * tiny, environment)
    return {"seconds": seconds, **json.loads(line)}


def run(kind: str, names: Sequence[str], libraries: Sequence[str], repeat: int, tiny: bool) -> list[dict[str, Any]]:
    """The best seconds of each library, by program."""
    rows = []
    for name in names:
        row: dict[str, Any] = {"name": name, "seconds": dict.fromkeys(libraries, math.inf), "notes": []}
        sums = {}
        for _ in range(1 if tiny else repeat):
            for library in libraries:
                try:
                    found = measure(library, kind, name, tiny)
                except RuntimeError as error:
                    row["notes"].append(f"{library}: {error}")
                    continue
                sums[library] = found["sum"]
                row["seconds"][library] = min(row["seconds"][library], found["seconds"])
        if not all(np.allclose(a, b, rtol=1e-2, atol=1e-3) for a in sums.values() for b in sums.values()):
            row["notes"].append(f"results differ: {sums}")
        rows.append(row)
    return rows


def table(title: str, rows: Sequence[dict[str, Any]]) -> Table:
    """Ratios to JAX, and milliseconds."""
    libraries = list(rows[0]["seconds"])
    out = Table(title=title)
    out.add_column("program", no_wrap=True)
    own = [name for name in libraries if name != "jax" and "jax" in libraries]
    for column in (*(f"{name} over jax" for name in own), *(f"{name} ms" for name in libraries), "notes"):
        out.add_column(column, justify="right")
    for row in rows:
        seconds = row["seconds"]
        cells = [f"{seconds[name] / seconds['jax']:.2f}" for name in own]
        out.add_row(row["name"], *cells, *(f"{s * 1e3:.0f}" for s in seconds.values()), "; ".join(row["notes"]))
    return out


def main(arguments: Sequence[str]) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks tiers", description=__doc__)
    parser.add_argument("program", nargs="*", help="a part of a program's name")
    parser.add_argument("--repeat", type=int, default=3, help="turns of each library; the best one counts")
    parser.add_argument("--libraries", default=",".join(LIBRARIES), help="which to compare")
    parser.add_argument("--json", action="store_true", help="print seconds as JSON instead of tables")
    parser.add_argument("--tiny", action="store_true", help="small inputs, one turn: does every program run?")
    options = parser.parse_args(arguments)

    def rows(kind: str, names: Sequence[str]) -> list[dict[str, Any]]:
        chosen = [n for n in names if not options.program or any(part in n for part in options.program)]
        return run(kind, chosen, options.libraries.split(","), options.repeat, options.tiny)

    found = {"first results": rows("first", FIRST), "stalls": rows("stalls", list(steps.NETWORKS))}
    if options.json:
        print(json.dumps(found))
        return
    for title, some in found.items():
        if some:
            Console(width=160).print(table(title, some))


def _call(library: str, name: str, tiny: bool) -> Callable[[], Any]:
    """A function that calls a program, and returns a result that is computed."""
    if name in STARTS:
        namespace: dict[str, Any] = {}
        text = start.PRELUDES[library] + start.PROGRAMS[name].replace("\nwait(", "\ncall = lambda: wait(")
        exec(text, namespace)
        return lambda: np.asarray(namespace["call"]())
    if name in steps.NETWORKS:
        step = steps.training_step(steps.NETWORKS[name], load(library), tiny)
        return lambda: np.asarray(step())
    names, jit = loops.names_of(library)
    program = _PROGRAMS[name]
    function, operands = jit(program.make(names)), program.operands(tiny)
    return lambda: np.asarray(function(*operands))


def serve(library: str, kind: str, name: str, tiny: bool) -> None:
    """Run one program, and print a line when it has its result."""
    call = _call(library, name, tiny)
    found: dict[str, Any] = {}
    if kind == "stalls":
        seconds = []
        for _ in range(_STEPS):
            started = time.perf_counter()
            result = call()
            seconds.append(time.perf_counter() - started)
        found["seconds"] = max(seconds)
    else:
        result = call()
    values = np.asarray(result).astype(np.float64)
    print(json.dumps({**found, "sum": [float(values.mean()), float(np.abs(values).mean())]}), flush=True)


if __name__ == "__main__":
    serve(*sys.argv[1:4], tiny="tiny" in sys.argv[4:])

"""What the laws are worth: `python -m tests.benchmarks passes [--json] [--tiny]`.

Ten real programs, each with all passes and with those only that compiling needs (`forms`, `legalize` and `cse`). For
both: the operations that the compiler gets, the time of a compile, and the time of a call; and for all passes the time
per operation and their share of the compile's processor time.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from rich.console import Console
from rich.table import Table

import stagec
import stagec.numpy as snp
from stagec import lax
from stagec.api.settings import JitSettings
from stagec.compiler.build import ProgramOptions
from tests.benchmarks.case import sample
from tests.benchmarks.libraries import load
from tests.benchmarks.steps import NETWORKS

_CALLS = 9


class Program(NamedTuple):
    """A function of arrays whose result is one number, and its arguments; derivatives are by the first."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]


def _network(name: str, tiny: bool) -> Program:
    network, lib = NETWORKS[name], load("stagec")
    weights, examples, wanted = network.shapes(tiny)
    ws = [sample(*shape) * np.float32(0.05) for shape in weights]
    return Program(lambda ws, x, y: network.loss(lib, ws, x, y), (ws, sample(*examples), sample(*wanted)))


def _attractor(tiny: bool) -> Program:
    """Lorenz's equations from many starts, by Runge and Kutta's fourth-order steps."""

    def slope(state: Any) -> Any:
        x, y, z = state
        return snp.stack([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z])

    def solve(state: Any, h: Any) -> Any:
        def step(state: Any, _: None) -> tuple[Any, None]:
            a = slope(state)
            b = slope(state + h / 2 * a)
            c = slope(state + h / 2 * b)
            d = slope(state + h * c)
            return state + h / 6 * (a + 2 * b + 2 * c + d), None

        return snp.sum(lax.scan(step, state, None, length=10 if tiny else 200)[0])

    return Program(solve, (sample(3, 8 if tiny else 1000), np.float32(0.01)))


def _waves(tiny: bool) -> Program:
    """The wave equation in two dimensions with fixed edges."""

    def solve(height: Any, speed: Any) -> Any:
        def step(_: Any, state: Any) -> Any:
            before, now = state
            inner = now[1:-1, 1:-1]
            around = now[2:, 1:-1] + now[:-2, 1:-1] + now[1:-1, 2:] + now[1:-1, :-2]
            after = 2 * inner - before[1:-1, 1:-1] + speed * (around - 4 * inner)
            return now, snp.pad(after, 1)

        return snp.sum(lax.fori_loop(0, 10 if tiny else 50, step, (height, height))[1] ** 2)

    size = 8 if tiny else 200
    return Program(solve, (sample(size, size), np.float32(0.1)))


def _clusters(tiny: bool) -> Program:
    """Five rounds of k-means: the mean squared distance of points to the nearest centre."""

    def distances(points: Any, centres: Any) -> Any:
        return snp.sum((points[:, None, :] - centres[None, :, :]) ** 2, axis=-1)

    def inertia(points: Any, centres: Any) -> Any:
        for _ in range(5):
            nearest = snp.argmin(distances(points, centres), axis=1)
            member = stagec.nn.one_hot(nearest, centres.shape[0])
            centres = (member.T @ points) / snp.maximum(snp.sum(member, axis=0), 1.0)[:, None]
        return snp.mean(snp.min(distances(points, centres), axis=1))

    n, k, d = (20, 3, 2) if tiny else (5000, 10, 8)
    return Program(inertia, (sample(n, d), sample(k, d)))


PROGRAMS: dict[str, Callable[[bool], Program]] = {
    "transformer": lambda tiny: _network("transformer", tiny),
    "convolutional network": lambda tiny: _network("convolutional network", tiny),
    "equations in a scan": _attractor,
    "waves": _waves,
    "k-means": _clusters,
}


def _compiled(function: Callable[..., Any], arguments: tuple[Any, ...], laws: bool) -> tuple[Any, float, float, Any]:
    """The program, seconds on the clock and of processors for a cold compile, and the report of the passes."""
    stagec.clear_caches()
    given = JitSettings.options

    def options(settings: JitSettings, *chosen: Any) -> ProgramOptions:
        return dataclasses.replace(given(settings, *chosen), simplify=laws)

    with mock.patch.object(JitSettings, "options", options):
        lowered = stagec.jit(function).lower(*arguments)
        clock, processors = time.perf_counter(), time.process_time()
        compiled = lowered.compile()
        seconds = time.perf_counter() - clock, time.process_time() - processors
        return compiled, *seconds, lowered.report()


def _call_seconds(compiled: Any, arguments: tuple[Any, ...]) -> float:
    start = time.perf_counter()
    stagec.block_until_ready(compiled(*arguments))
    return time.perf_counter() - start


def _row(name: str, function: Callable[..., Any], arguments: tuple[Any, ...], turns: int) -> dict[str, Any]:
    row: dict[str, Any] = {"name": name}
    programs: dict[bool, Any] = {}
    for _ in range(turns):
        for laws in (True, False):
            compiled, seconds, processors, report = _compiled(function, arguments, laws)
            programs[laws] = compiled
            kind = "laws" if laws else "plain"
            row[f"{kind}_compile"] = min(seconds, row.get(f"{kind}_compile", seconds))
            row[f"{kind}_operations"] = report.ops_after
            if laws:
                row["operations"] = report.ops_before
                row["hits"] = sum(report.hits.values())
                row["passes"] = min(report.seconds, row.get("passes", report.seconds))
                row["processors"] = min(processors, row.get("processors", processors))
    values = {laws: np.asarray(stagec.tree.leaves(program(*arguments))[0]) for laws, program in programs.items()}
    row["agree"] = bool(np.allclose(values[True], values[False], rtol=2e-3, atol=1e-4))
    for _ in range(_CALLS):
        for laws, kind in ((True, "laws"), (False, "plain")):
            seconds = _call_seconds(programs[laws], arguments)
            row[f"{kind}_call"] = min(seconds, row.get(f"{kind}_call", seconds))
    return row


def measure(tiny: bool, turns: int) -> list[dict[str, Any]]:
    """A row for each program and its gradient; of tiny ones the gradient alone, which holds the program."""
    rows = []
    with stagec.config.override(enable_cache=False):
        for name, make in PROGRAMS.items():
            program = make(tiny)
            if not tiny:
                rows.append(_row(name, program.function, program.arguments, turns))
            rows.append(_row(f"{name}, gradient", stagec.grad(program.function), program.arguments, turns))
    return rows


def table(rows: Sequence[dict[str, Any]]) -> Table:
    """Operations and ratios; below 1, the passes pay."""
    out = Table(title="with all passes over without laws (below 1: the laws pay)")
    out.add_column("program", no_wrap=True)
    for heading in ("ops traced", "ops left", "hits", "compile", "call", "passes per op", "passes of compile"):
        out.add_column(heading, justify="right")
    for row in rows:
        out.add_row(
            row["name"],
            str(row["operations"]),
            f"{row['laws_operations']} ({row['plain_operations']})",
            str(row["hits"]),
            f"{row['laws_compile'] / row['plain_compile']:.2f}",
            f"{row['laws_call'] / row['plain_call']:.2f}",
            f"{1e3 * row['passes'] / row['operations']:.3f} ms",
            f"{row['passes'] / row['processors']:.1%}",
        )
    return out


def main(arguments: Sequence[str]) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks passes", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print seconds as JSON instead of a table")
    parser.add_argument("--tiny", action="store_true", help="small arrays only: does every program run?")
    parser.add_argument("--turns", type=int, default=3, help="compiles of each; the fastest one counts")
    options = parser.parse_args(arguments)
    rows = measure(options.tiny, 1 if options.tiny else options.turns)
    if options.json:
        print(json.dumps(rows))
    else:
        Console(width=120).print(table(rows))

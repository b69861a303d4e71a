"""Compiles beside JAX's: `python -m tests.benchmarks compiles [part of a name ...] [--counts N ...] [--functions]`.

Programs of N operations, for a few N, show how the time grows; `--functions` compiles all public functions that both
libraries have, of about 1,000 elements, instead. Each library has a process of its own without a cache on disk, in
which it has compiled before. Their turns alternate, and the least processor time counts. `lower` is trace and lowering
of a new function, `compile` those and the compilation after all caches in memory are cleared.

Ratios are stagec's time over JAX's: below 1, stagec is the faster one.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from tests.benchmarks.case import sample
from tests.benchmarks.cases import mixed
from tests.benchmarks.loops import geometric_mean
from tests.benchmarks.outside import LIBRARIES, Library, arguments, kinds, names
from tests.benchmarks.workers import Worker, serve

COUNTS = (300, 2000, 10_000)
# The most seconds that a compile may take; the process ends then.
_LONGEST = 60
# A program: its operations, given the library's modules, their number and its arguments; and the shapes of these.
Program = tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]


def _arithmetic(m: Any, count: int, x: Any, y: Any) -> Any:
    for _ in range(count // 3):
        x = (x + y) * x - y
    return x


def _mixed(m: Any, count: int, x: Any) -> Any:
    return mixed(m["numpy"], count, x)


def _products(m: Any, count: int, x: Any, y: Any) -> Any:
    for _ in range(count):
        x = x @ y
    return x


def _conditionals(m: Any, count: int, x: Any) -> Any:
    """Conditionals in conditionals, three deep."""

    def nested(x: Any, depth: int) -> Any:
        if not depth:
            return x * 0.5
        return m["lax"].cond(x[depth] > 0.5, lambda x: nested(x, depth - 1), lambda x: x + depth, x)

    for _ in range(count // 9):
        x = nested(x, 3)
    return x


def _independent(m: Any, count: int, x: Any) -> Any:
    return [x * i for i in range(count)]


def _columns(m: Any, count: int, x: Any) -> Any:
    """Elements that are computed from one another and gathered, as programs of scalars are written."""
    found = [x[0], x[1]]
    for i in range(count // 2):
        found.append(found[-1] * 0.5 + found[-2] * float(i % 7))
    return m["numpy"].stack(found)


PROGRAMS: dict[str, Program] = {
    "arithmetic of scalars": (_arithmetic, ((), ())),
    "arithmetic of 20": (_arithmetic, ((20,), (20,))),
    "arithmetic of 1000": (_arithmetic, ((1000,), (1000,))),
    "mixed of 20": (_mixed, ((20,),)),
    "products of 8 x 8": (_products, ((8, 8), (8, 8))),
    "nested conditionals": (_conditionals, ((5,),)),
    "independent results": (_independent, ((10,),)),
    "a stack of scalars": (_columns, ((2,),)),
}


def prepared(library: Library, request: dict[str, Any]) -> Callable[[], Any]:
    """A function that lowers what is asked for, anew at each call."""
    if "kind" in request:
        function = library.function(request["name"])
        given = arguments((1000,))[request["kind"]](library)
        static = tuple(i for i, a in enumerate(given) if isinstance(a, (tuple, str)) or type(a) is int)
        return lambda: library.jit(lambda *xs: function(*xs), static_argnums=static).lower(*given)
    program, shapes = PROGRAMS[request["name"]]
    given = tuple(library["numpy"].asarray(sample(*shape)) for shape in shapes)
    return lambda: library.jit(lambda *xs: program(library, request["count"], *xs)).lower(*given)


def measured(library: Library, request: dict[str, Any]) -> dict[str, float]:
    """Seconds of the processor for `lower` and `compile`."""
    lower = prepared(library, request)
    found = {}
    for stage in ("lower", "compile"):
        if stage == "compile":
            library.clear_caches()
        gc.collect()
        start = time.process_time()
        made = lower()
        if stage == "compile":
            made.compile()
        found[stage] = time.process_time() - start
        del made
    return found


def answer(name: str) -> None:
    """Answer requests with a library, until the input ends."""
    library = Library(name)
    sys.setrecursionlimit(100_000)
    serve(lambda request: measured(library, request), _LONGEST)


def turns(workers: dict[str, Worker], repeat: int, **request: Any) -> dict[str, Any]:
    """The least seconds of each library and stage, or what went wrong."""
    best: dict[str, Any] = {}
    active = dict(workers)
    for _ in range(repeat):
        for library, worker in [*active.items()]:
            reply = worker.ask(request)
            if "error" in reply:
                best[library] = reply
                del active[library]
                continue
            known = best.setdefault(library, reply)
            best[library] = {stage: min(seconds, known[stage]) for stage, seconds in reply.items()}
    return best


def rows(
    wanted: Sequence[str], counts: Sequence[int], functions: bool, repeat: int, libraries: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """A row for each program and number of operations, or for each function that both libraries compile."""

    def is_wanted(name: str) -> bool:
        return not wanted or any(part in name for part in wanted)

    workers = {library: Worker("compiles", library) for library in libraries}
    try:
        if not functions:
            for count in counts:
                for name in filter(is_wanted, PROGRAMS):
                    yield {"name": name, "count": count, **turns(workers, repeat, name=name, count=count)}
            return
        for name in filter(is_wanted, names()):
            if name.startswith(("array.", "calls.")):
                continue
            for kind in kinds(name):
                found = turns(workers, repeat, name=name, kind=kind)
                if "error" in found["jax"]:
                    continue
                yield {"name": name, "kind": kind, **found}
                break
    finally:
        for worker in workers.values():
            worker.close()


def ratio(row: dict[str, Any], stage: str) -> float:
    """stagec's time over JAX's."""
    return float(row["stagec"][stage] / row["jax"][stage])


def table(found: Sequence[dict[str, Any]], above: float) -> Table:
    """The rows, the slowest compile first, and geometric means."""
    out = Table(title="stagec's time over JAX's (below 1: stagec is faster)")
    for column in ("name", "operations", "lower ms", "compile ms", "lower", "compile", "notes"):
        out.add_column(column, justify="left" if column in ("name", "notes") else "right")
    bad = [row for row in found if any("error" in row[library] for library in LIBRARIES)]
    good = [row for row in found if row not in bad]
    for row in sorted(good, key=lambda row: -ratio(row, "compile")):
        if ratio(row, "compile") >= above:
            ours = row["stagec"]
            times = [f"{1e3 * ours[stage]:.1f}" for stage in ours] + [f"{ratio(row, stage):.2f}" for stage in ours]
            out.add_row(row["name"], str(row.get("count", "")), *times, row.get("kind", ""))
    if good:
        means = [f"{geometric_mean([ratio(row, stage) for row in good]):.2f}" for stage in ("lower", "compile")]
        out.add_row("geometric mean", "", "", "", *means, f"{len(good)} rows")
    for row in bad:
        ours = [f"{1e3 * row['stagec'][stage]:.1f}" if stage in row["stagec"] else "" for stage in ("lower", "compile")]
        notes = "; ".join(f"{library}: {row[library]['error']}" for library in LIBRARIES if "error" in row[library])
        out.add_row(row["name"], str(row.get("count", "")), *ours, "", "", notes)
    return out


def main(given: list[str]) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks compiles", description=__doc__)
    parser.add_argument("name", nargs="*", help="a part of a program's or function's name")
    parser.add_argument("--counts", type=int, nargs="*", default=list(COUNTS), help="numbers of operations")
    parser.add_argument("--functions", action="store_true", help="public functions instead of programs")
    parser.add_argument("--repeat", type=int, default=3, help="turns; the least time counts")
    parser.add_argument("--above", type=float, default=0, help="show only rows whose compile's ratio is at least this")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON, a line each")
    parser.add_argument("--libraries", default="jax,stagec", help="those that compile; for the table, both")
    parser.add_argument("--tiny", action="store_true", help="few operations, one turn: does every program compile?")
    parser.add_argument("--serve", choices=LIBRARIES, help=argparse.SUPPRESS)
    options = parser.parse_args(given)
    if options.serve:
        answer(options.serve)
        return
    if options.tiny:
        options.counts, options.repeat = [30], 1
    found = []
    libraries = options.libraries.split(",")
    for row in rows(options.name, options.counts, options.functions, options.repeat, libraries):
        found.append(row)
        if options.json:
            print(json.dumps(row), flush=True)
    if not options.json:
        Console().print(table(found, options.above))


if __name__ == "__main__":
    main(sys.argv[1:])

"""What `reproducible=True` costs: `python -m tests.benchmarks reproducible [case ...] [--turns N] [--tiny]`.

Kernels, products, convolutions and training steps, jitted with and without it, are called in turns; the fastest turn
counts. Above 1, calls take longer with it.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import math
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

import stagec
from stagec import errors
from tests.benchmarks.case import Call, Case
from tests.benchmarks.cases import CASES
from tests.benchmarks.libraries import load
from tests.benchmarks.worker import measure

_GROUPS = ("kernels", "products", "narrow", "convolutions", "steps")


def ratio(case: Case, tiny: bool, turns: int) -> float | str:
    """The time of a call with `reproducible=True` over that without; or why there is none."""
    usual = load("stagec")
    same = dataclasses.replace(usual, jit=functools.partial(stagec.jit, reproducible=True))
    calls: list[Call] = []
    try:
        for lib in (same, usual):
            calls.append(case.setup(lib, tiny))
            calls[-1]()
    except errors.UnsupportedError as error:
        return str(error).splitlines()[0]
    times = [[measure(call, tiny) for call in calls] for _ in range(turns)]
    return min(row[0] for row in times) / min(row[1] for row in times)


def main(arguments: Sequence[str]) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks reproducible", description=__doc__)
    parser.add_argument("cases", nargs="*", help="parts of the names of cases; by default all")
    parser.add_argument("--turns", type=int, default=5, help="how often each is measured")
    parser.add_argument("--tiny", action="store_true", help="small arrays only: does every program run?")
    options = parser.parse_args(arguments)
    table = Table(title="calls with reproducible=True over calls without it")
    table.add_column("case", no_wrap=True)
    table.add_column("ratio", justify="right")
    groups: dict[str, list[float]] = {}
    for case in CASES:
        wanted = any(part in case.id for part in options.cases) if options.cases else case.group in _GROUPS
        if not wanted or "stagec" not in case.libraries:
            continue
        found = ratio(case, options.tiny, 1 if options.tiny else options.turns)
        table.add_row(case.id, found if isinstance(found, str) else f"{found:.2f}")
        if not isinstance(found, str):
            groups.setdefault(case.group, []).append(found)
    for group, ratios in [*groups.items(), ("all", [r for rows in groups.values() for r in rows])]:
        mean = math.exp(sum(map(math.log, ratios)) / max(1, len(ratios)))
        table.add_row(f"{group}, geometric mean of {len(ratios)}", f"{mean:.2f}")
    Console(width=120).print(table)

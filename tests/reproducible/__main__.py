"""Compare the bits of results between processors: `python -m tests.reproducible [COUNT] [--first SEED] [--steps N]`.

Random programs and four trainings are compiled with `reproducible=True`: for levels of x86-64, which this machine runs
itself, for aarch64 as C libraries, which QEMU runs, and as WebAssembly modules, which Node runs. They are also computed
outside `jit`, one operation at a time. The table has how many of them have the SHA-256 of the results of the first row;
NaN counts as NaN, whatever its bits.

`--sums` takes random programs of sums and products in all surroundings instead (`tests/reproducible/sums.py`).
`--without` leaves `reproducible=True` out, and shows what it is for.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from stagec import errors
from stagec.backends.cpu import cpu_levels
from tests.reproducible.programs import Program, program, trainings
from tests.reproducible.sums import sums
from tests.reproducible.ways import Results, jitted, outside, run_c, run_wasm, written

WAYS = (*[level for level in cpu_levels() if level != "x86-64"], "outside", "aarch64", "wasm")
# Programs in one run of an emulator, and the number of the first training.
_BATCH, _TRAININGS = 20, 10**6


def digest(results: Results) -> str:
    """SHA-256 of results; all NaN are the same."""
    made = hashlib.sha256()
    for array in results:
        if array.dtype.kind in "fc":
            parts = array.reshape(-1).view(array.real.dtype)
            array = np.where(np.isnan(parts), np.array(np.nan, parts.dtype), parts)
        made.update(array.tobytes())
    return made.hexdigest()


def digests(programs: Mapping[int, Program], way: str, reproducible: bool = True) -> dict[int, str]:
    """A hash for each program's results; or why there are none."""
    found: dict[int, str] = {}

    @contextlib.contextmanager
    def noting(number: int) -> Iterator[None]:
        try:
            yield
        except errors.UnsupportedError as error:
            found[number] = "refused: " + str(error).splitlines()[0]

    if way in (*cpu_levels(), "outside"):
        for number, given in programs.items():
            with noting(number):
                compiled = way != "outside"
                found[number] = digest(jitted(given, way, reproducible) if compiled else outside(given, reproducible))
        return found
    if not programs:
        return {}
    exports: dict[int, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for number, given in programs.items():
            with noting(number):
                exports[number] = written(given, way, folder, f"run{number}", reproducible)
        if way == "wasm":
            results = run_wasm(programs, exports, Path(folder))
        else:
            results = run_c(programs, exports, way, Path(folder))
    return found | {number: digest(values) for number, values in results.items()}


def compared(
    programs: Mapping[int, Program], ways: tuple[str, ...] = WAYS, reproducible: bool = True
) -> dict[str, dict[int, str]]:
    """What `digests` returns, by way."""
    return {way: digests(programs, way, reproducible) for way in ways}


def differing(found: Mapping[str, Mapping[int, str]]) -> dict[int, list[str]]:
    """The ways in which programs have other results than in the first one, for those that have results in both."""
    first, *others = found
    rows = {n: [way for way in others if _differs(text, found[way][n])] for n, text in found[first].items()}
    return {number: ways for number, ways in rows.items() if ways}


def _differs(one: str, other: str) -> bool:
    return "refused" not in one + other and one != other


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", nargs="?", type=int, default=100, help="how many random programs")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--steps", type=int, default=50, help="the steps of each training; 0 leaves them out")
    parser.add_argument("--sums", action="store_true", help="programs of sums in all surroundings")
    parser.add_argument("--without", action="store_true", help="compile without reproducible=True")
    given = parser.parse_args()
    started, found = time.perf_counter(), {way: dict[int, str]() for way in WAYS}
    seeds = range(given.first, given.first + given.count)
    make = sums if given.sums else program
    batches = [{n: make(n) for n in seeds[i : i + _BATCH]} for i in range(0, given.count, _BATCH)]
    trained = trainings(given.steps).items() if given.steps else ()
    batches.append({_TRAININGS + i: p._replace(operations=(name,)) for i, (name, p) in enumerate(trained)})
    for batch in batches:
        for way, rows in compared(batch, reproducible=not given.without).items():
            found[way] |= rows
    programs = {number: program for batch in batches for number, program in batch.items()}
    table = Table(title="Programs with the bits of the first row")
    for column in ("processor", "random programs", "refused", "trainings"):
        table.add_column(column)
    for way, rows in found.items():
        refused = [number for number, text in rows.items() if "refused" in text]
        same = [n for n in rows if n not in refused and rows[n] == found[WAYS[0]][n]]
        ended = sum(number >= _TRAININGS for number in same)
        shown = f"{len(same) - ended} of {given.count}", str(len(refused)), f"{ended} of {len(batches[-1])}"
        table.add_row(way, *shown)
    console = Console()
    console.print(table)
    for number, ways in differing(found).items():
        console.print(f"{number} differs in {', '.join(ways)}: {programs[number].shown}")
    for text, number in {text: n for rows in found.values() for n, text in rows.items() if "refused" in text}.items():
        console.print(f"{number} ({programs[number].shown}): {text}")
    console.print(f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()

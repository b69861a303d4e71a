"""Programs of npbench under `jit(python=True)` and Numba: `python -m tests.benchmarks sources DIRECTORY [program ...]`.

DIRECTORY is a checkout of https://github.com/spcl/npbench, whose sources are not part of this repository. NumPy runs
each program's NumPy source, and stagec compiles it as it stands; Numba runs the variants that the collection has for
it. Numbers that the preset gives as integers are static arguments. Floats have 64 bits where the initialization lets
one choose.

Each variant has a process of its own. Their turns alternate, and the fastest call counts; arrays are copied for each
call, outside of the time. Numba's best variant is the fastest of those whose results are NumPy's.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import json
import math
import pathlib
import pickle
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

_TURN_SECONDS, _TURNS, _MOST_CALLS = 0.1, 5, 50


@dataclasses.dataclass(frozen=True)
class Program:
    """A program of the collection: its description, the folder of its sources, and the sizes."""

    info: dict[str, Any]
    folder: pathlib.Path
    preset: str

    @property
    def name(self) -> str:
        return str(self.info["short_name"])

    def variants(self) -> list[str]:
        """`numpy`, `stagec`, and Numba's where it is installed, by the ends of the files' names."""
        numba = ("numba_n", "numba_np", "numba_npr") if importlib.util.find_spec("numba") else ()
        files = (self.folder / f"{self.info['module_name']}_{v}.py" for v in numba)
        return ["numpy", "stagec", *(v for v, file in zip(numba, files, strict=True) if file.exists())]

    def module(self, ending: str) -> ModuleType:
        path = self.folder / f"{self.info['module_name']}{ending}.py"
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None, "the path ends in .py"
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def arguments(self) -> dict[str, Any]:
        """The values of the program's arguments, by name."""
        values = dict(self.info["parameters"][self.preset])
        init = self.info.get("init")
        if init:
            initialize = getattr(self.module(""), init["func_name"])
            code = initialize.__code__
            named = code.co_varnames[: code.co_argcount]
            more = {"datatype": np.float64} if "datatype" in named else {}
            made = initialize(*(values[n] for n in init["input_args"]), **more)
            outputs = init["output_args"]
            values.update(zip(outputs, made if len(outputs) > 1 else (made,), strict=True))
        return {n: values[n] for n in self.info["input_args"]}

    def function(self, variant: str, given: dict[str, Any]) -> Callable[..., Any]:
        """The program as the variant computes it."""
        source = "numpy" if variant == "stagec" else variant
        function: Callable[..., Any] = getattr(self.module(f"_{source}"), self.info["func_name"])
        if variant != "stagec":
            return function
        import stagec

        stagec.config.update("enable_x64", True)
        stagec.config.update("enable_cache", False)
        code = function.__code__
        parameters = code.co_varnames[: code.co_argcount]
        static = [p for p, value in zip(parameters, given.values(), strict=False) if type(value) is int]
        return stagec.jit(function, python=True, static_argnames=static)


def programs(directory: pathlib.Path, preset: str, names: list[str]) -> list[Program]:
    """Those of the checkout that have the preset and a NumPy source, or those of them that are named."""
    found = []
    for path in sorted((directory / "bench_info").glob("*.json")):
        info = json.loads(path.read_text())["benchmark"]
        folder = directory / "npbench" / "benchmarks" / info["relative_path"]
        wanted = not names or path.stem in names or info["short_name"] in names
        if wanted and preset in info["parameters"] and (folder / f"{info['module_name']}_numpy.py").exists():
            found.append(Program(info, folder, preset))
    return found


def call(function: Callable[..., Any], given: dict[str, Any]) -> tuple[float, Any, dict[str, Any]]:
    """The seconds of one call with copies of the arrays, its result, and the arrays after it."""
    copies = {n: v.copy() if isinstance(v, np.ndarray) else v for n, v in given.items()}
    started = time.perf_counter()
    returned = function(*copies.values())
    results = [np.asarray(r) for r in (returned if isinstance(returned, tuple) else (returned,)) if r is not None]
    return time.perf_counter() - started, results, {n: v for n, v in copies.items() if isinstance(v, np.ndarray)}


def serve(directory: str, preset: str, name: str, variant: str, results: str) -> None:
    """The process of a variant: a line for the first call, and one for each turn that is asked for."""
    (program,) = programs(pathlib.Path(directory), preset, [name])
    given = program.arguments()
    function = program.function(variant, given)
    seconds, *computed = call(function, given)
    pathlib.Path(results).write_bytes(pickle.dumps(computed))
    print(json.dumps(seconds), flush=True)
    for _ in sys.stdin:
        best, until = math.inf, time.perf_counter() + _TURN_SECONDS
        for _ in range(_MOST_CALLS):
            best = min(best, call(function, given)[0])
            if time.perf_counter() > until:
                break
        print(json.dumps(best), flush=True)


class Variant:
    """A variant in its process; `error` is the last line of what it printed when it failed."""

    def __init__(self, directory: str, program: Program, variant: str, results: pathlib.Path, limit: float) -> None:
        self.name, self.limit, self.best, self.error = variant, limit, math.inf, ""
        self.results = results / variant
        self.errors = (results / f"{variant}.errors").open("w+")
        arguments = (directory, program.preset, program.name, variant, str(self.results))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.benchmarks.sources", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
        )
        self.first = self._read()
        self.computed = None if self.error else pickle.loads(self.results.read_bytes())

    def _read(self) -> float:
        assert self.process.stdout is not None, "stdout is a pipe"
        ready, _, _ = select.select([self.process.stdout], [], [], self.limit)
        line = self.process.stdout.readline() if ready else ""
        if line:
            return float(json.loads(line))
        self.process.kill()
        self.errors.seek(0)
        lines = [t for t in self.errors.read().splitlines() if t and not t.startswith(" ")]
        told = [t for t in lines if "Error" in t or "Exception" in t]
        self.error = (told or lines or ["no result"])[-1] if ready else f"no result in {self.limit:.0f} s"
        return math.inf

    def turn(self) -> None:
        if not self.error:
            assert self.process.stdin is not None, "stdin is a pipe"
            self.process.stdin.write("\n")
            self.process.stdin.flush()
            self.best = min(self.best, self._read())

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()
        self.errors.close()


def same(found: Any, expected: Any) -> bool:
    """Whether arrays have the same shapes, and elements that are equal but for rounding, relative to the largest.

    Programs of many rounds, such as those of several bodies, amplify rounding by some orders of magnitude.
    """
    if len(found) != len(expected):
        return False
    for a, b in zip(found, expected, strict=True):
        share = 1e-4 if b.dtype in (np.float32, np.complex64) else 1e-7
        largest = np.max(np.abs(np.nan_to_num(b)), initial=0)
        if a.shape != b.shape or not np.allclose(a, b, rtol=share, atol=largest * share, equal_nan=True):
            return False
    return True


def agrees(variant: Variant, numpy: Variant, program: Program) -> bool:
    """Whether results and written arrays are NumPy's; Numba's variants may return other things than those."""
    assert variant.computed is not None and numpy.computed is not None, "both have run"
    (results, arrays), (expected, written) = variant.computed, numpy.computed
    if variant.name == "stagec":
        return same([*results, *arrays.values()], [*expected, *written.values()])
    outputs = program.info["output_args"]
    compared = same([arrays[n] for n in outputs], [written[n] for n in outputs])
    return compared and (bool(outputs) or same(results, expected))


def measure(directory: str, program: Program, only: list[str], limit: float, turns: int) -> dict[str, Any]:
    """A row: errors, agreement, first call, and seconds by variant."""
    variants: list[Variant] = []
    with tempfile.TemporaryDirectory() as folder:
        try:
            for name in program.variants():
                if not only or name in ("numpy", *only):
                    variants.append(Variant(directory, program, name, pathlib.Path(folder), limit))
            numpy = variants[0]
            assert not numpy.error, f"{program.name}: NumPy: {numpy.error}"
            wrong = [v.name for v in variants if not v.error and not agrees(v, numpy, program)]
            for _ in range(turns):
                for variant in variants:
                    variant.turn()
        finally:
            for variant in variants:
                variant.close()
    return {
        "name": program.name,
        "errors": {v.name: v.error for v in variants if v.error},
        "differ": wrong,
        "first": {v.name: v.first for v in variants if not v.error},
        "seconds": {v.name: v.best for v in variants if not v.error},
    }


def numba_best(row: dict[str, Any]) -> str:
    """The fastest of Numba's variants that has NumPy's results, or nothing."""
    right = [n for n in row["seconds"] if n.startswith("numba") and n not in row["differ"]]
    return min(right, key=lambda n: row["seconds"][n], default="")


def cells(row: dict[str, Any]) -> list[str]:
    """The texts of a row."""
    seconds, best = row["seconds"], numba_best(row)
    error = row["errors"].get("stagec")
    if error:
        return [row["name"], error[:60], "", "", "", "", best]
    agreement = "differs" if "stagec" in row["differ"] else "agrees"
    ours = seconds["stagec"]
    return [
        row["name"],
        agreement,
        f"{row['first']['stagec']:.1f} s",
        f"{1e3 * ours:.2f} ms",
        f"{ours / seconds['numpy']:.2g}",
        f"{ours / seconds[best]:.2g}" if best else "",
        best,
    ]


def summary(rows: list[dict[str, Any]]) -> str:
    """How many run and agree, and the mean and the extremes of the ratios."""
    right = [r for r in rows if "stagec" not in r["errors"] and "stagec" not in r["differ"]]
    ratios = {
        other: [r["seconds"]["stagec"] / r["seconds"][name] for r in right if (name := of(r))]
        for other, of in (("NumPy", lambda r: "numpy"), ("Numba's best variant", numba_best))
    }
    told = [f"{len(right)} of {len(rows)} programs run and agree with NumPy."]
    for other, found in ratios.items():
        if found:
            mean = math.exp(sum(map(math.log, found)) / len(found))
            above = sum(r > 1.5 for r in found)
            told.append(
                f"Time over {other}'s: geometric mean {mean:.2f} of {len(found)} programs, highest {max(found):.2f}, "
                f"{above} above 1.5."
            )
    return "\n".join(told)


def main(given: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks sources", description=__doc__)
    parser.add_argument("directory", help="a checkout of npbench")
    parser.add_argument("names", nargs="*", help="the programs to measure; all, if there are none")
    parser.add_argument("--preset", default="S", help="the sizes, by their name in the collection")
    parser.add_argument("--variants", default="", help="those to run next to NumPy, as stagec,numba_n; all by default")
    parser.add_argument("--limit", type=float, default=120, help="seconds that a first call or a turn may take")
    parser.add_argument("--turns", type=int, default=_TURNS)
    parser.add_argument("--json", action="store_true", help="print the rows as JSON instead of a table")
    options = parser.parse_args(given)
    table = Table(title=f"NumPy's sources in npbench, preset {options.preset}: times over NumPy's and Numba's")
    for column in ("program", "stagec", "first call", "a call", "/ NumPy", "/ Numba", "Numba's best"):
        table.add_column(column, justify="left" if column in ("program", "stagec", "Numba's best") else "right")
    rows = []
    for program in programs(pathlib.Path(options.directory), options.preset, options.names):
        only = [v for v in options.variants.split(",") if v]
        row = measure(options.directory, program, only, options.limit, options.turns)
        rows.append(row)
        print("  ".join(cells(row)), file=sys.stderr, flush=True)
        table.add_row(*map(escape, cells(row)))
    if options.json:
        print(json.dumps(rows))
        return
    console = Console(width=140)
    console.print(table)
    console.print(summary(rows))


if __name__ == "__main__":
    serve(*sys.argv[1:])

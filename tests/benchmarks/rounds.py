"""When a loop is worth its kernel: `python -m tests.benchmarks rounds [--json] [--tiny]`.

A loop that is one kernel runs on one core; one that stays with the host calls kernels that all cores share, in each
round. For bodies of several kinds and sizes, this prints the time of a round outside over the time inside of a
kernel, on one core and on all of them, and marks what `passes.kernels.cost` chooses.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any
from unittest import mock

import numpy as np
from rich.console import Console
from rich.table import Table

import stagec
import stagec.numpy as snp
from passes.kernels import cost
from passes.kernels.elements import RefusedError
from stagec import lax

SIZES = (10**3, 10**4, 10**5, 4 * 10**5, 10**6, 10**7)
_WIDTH = 100
# Elements that the rounds of one call compute, and calls of which the fastest counts.
_ELEMENTS, _CALLS = 2 * 10**7, 7


def _heat(x: Any) -> Any:
    around = snp.roll(x, 1, 0) + snp.roll(x, -1, 0) + snp.roll(x, 1, 1) + snp.roll(x, -1, 1)
    return x + 0.1 * (around - 4 * x)


# Of an array of rows.
BODIES: dict[str, Callable[[Any], Any]] = {
    "x * a + b": lambda x: x * 1.0001 + 0.1,
    "tanh": lambda x: snp.tanh(x) * 0.99 + 0.01,
    "stencil of one axis": lambda x: x.at[1:-1].set(0.25 * x[:-2] + 0.5 * x[1:-1] + 0.25 * x[2:]),
    "stencil of two axes": _heat,
    "norm": lambda x: x / snp.sqrt(snp.sum(x * x) + 1),
    "softmax of rows": lambda x: stagec.nn.softmax(x, -1) + x,
}


def _outside(*_: Any) -> None:
    raise RefusedError("this measures the loop with the host")


def _inside(*_: Any) -> None:
    pass


def _chooses_outside(body: Callable[[Any], Any], size: int) -> bool:
    """What the cost model says about a loop."""
    said = []

    def check(*given: Any) -> None:
        try:
            real(*given)
        except RefusedError:
            said.append(given)
            raise

    real = cost.check_round
    with mock.patch.object(cost, "check_round", check):
        stagec.jit(_loop(body, 2)).lower(stagec.ShapeDtypeStruct((size // _WIDTH, _WIDTH), np.float32)).as_text(
            "kernels"
        )
    return bool(said)


def _loop(body: Callable[[Any], Any], rounds: int) -> Callable[[Any], Any]:
    return lambda x: lax.fori_loop(0, rounds, lambda i, x: body(x), x)


def _seconds(body: Callable[[Any], Any], size: int, check: Callable[..., None]) -> float:
    """A round's time."""
    rounds = max(2, min(200, _ELEMENTS // size))
    x = snp.asarray(np.random.default_rng(0).random((size // _WIDTH, _WIDTH), np.float32))
    stagec.clear_caches()  # programs of equal graphs would be one
    with mock.patch.object(cost, "check_round", check):
        run = stagec.jit(_loop(body, rounds)).lower(x).compile()
    found = []
    for _ in range(_CALLS + 1):
        start = time.perf_counter()
        stagec.block_until_ready(run(x))
        found.append(time.perf_counter() - start)
    return min(found[1:]) / rounds


def measure(sizes: Sequence[int]) -> list[dict[str, Any]]:
    """A row for each body and size, in this process."""
    rows = []
    with stagec.config.override(enable_cache=False):
        for name, body in BODIES.items():
            for size in sizes:
                inside, outside = (_seconds(body, size, check) for check in (_inside, _outside))
                chosen = "outside" if _chooses_outside(body, size) else "inside"
                rows.append({"body": name, "size": size, "inside": inside, "outside": outside, "chosen": chosen})
    return rows


def table(rows: Sequence[dict[str, Any]], cores: int) -> Table:
    """Bodies by sizes."""
    out = Table(title=f"outside over inside, {cores} core(s); * outside is chosen")
    sizes = list(dict.fromkeys(row["size"] for row in rows))
    out.add_column("body", no_wrap=True)
    for size in sizes:
        out.add_column(f"{size:.0e}".replace("e+0", "e"), justify="right")
    for name in dict.fromkeys(row["body"] for row in rows):
        mine = {row["size"]: row for row in rows if row["body"] == name}
        cells = [mine[size]["outside"] / mine[size]["inside"] for size in sizes]
        stars = ["*" if mine[size]["chosen"] == "outside" else "" for size in sizes]
        out.add_row(name, *(f"{ratio:.2f}{star}" for ratio, star in zip(cells, stars)))
    return out


def main(arguments: Sequence[str]) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks rounds", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print seconds as JSON instead of tables")
    parser.add_argument("--tiny", action="store_true", help="small arrays only: does every body run?")
    parser.add_argument("--cores", type=int, help="measure in this process, on so many cores")
    options = parser.parse_args(arguments)
    if options.cores:
        os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[: options.cores]))
        print(json.dumps(measure(SIZES[:1] if options.tiny else SIZES)))
        return
    results = {}
    for cores in sorted({1, len(os.sched_getaffinity(0))}):
        command = [sys.executable, "-m", "tests.benchmarks", "rounds", "--cores", str(cores)]
        done = subprocess.run(command + ["--tiny"] * options.tiny, stdout=subprocess.PIPE, check=True)
        results[cores] = json.loads(done.stdout)
    if options.json:
        print(json.dumps(results))
        return
    for cores, rows in results.items():
        Console().print(table(rows, cores))

"""Compare processes of Dask with one: `python -m tests.benchmarks processes [--counts 1 2 4] [--repeat N] [--json]`.

The same work by 1, 2 and 4 workers with one thread each, and by one worker with a thread for each core: `tasks` are
independent calls, `steps` are steps of training, with gradients of a part of the rows in each worker and a tree
reduction. All workers stay; the ways take turns, and the fastest turn of each counts. `compiles` is how many programs
were compiled in total for the first calls, with an empty cache.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import stagec
import stagec.numpy as snp
from stagec import lax
from stagec.compiler import log
from stagec.core.threads import worker_count

ALL_CORES = "1, all cores"


class Sizes:
    """How much there is to do: `tiny` for a test."""

    def __init__(self, tiny: bool) -> None:
        self.tasks, self.rounds, self.side = (4, 2, 8) if tiny else (24, 80, 256)
        self.rows, self.width, self.steps = (16, 8, 1) if tiny else (8192, 256, 4)


@stagec.jit
def task(seed: Any, rounds: Any, start: Any) -> Any:
    """Products of matrices, one after another: compute alone, with a number as its argument and its result."""
    step = start * seed
    return snp.sum(lax.fori_loop(0, rounds, lambda _, m: snp.tanh(m @ step), step))


@stagec.jit
def gradients(layers: Any, rows: Any) -> Any:
    """The sum of the gradients of each row's loss."""

    def loss(layers: Any, row: Any) -> Any:
        hidden = row
        for weights in layers:
            hidden = snp.tanh(hidden @ weights)
        return snp.sum((hidden - row) ** 2)

    return stagec.tree.map(lambda g: snp.sum(g, axis=0), stagec.vmap(stagec.grad(loss), (None, 0))(layers, rows))


@stagec.jit
def added(one: Any, other: Any) -> Any:
    """The sum of two trees."""
    return stagec.tree.map(snp.add, one, other)


def run_tasks(client: Any, sizes: Sizes, workers: int) -> Callable[[], float]:
    """A function that has all tasks computed, and returns their sum."""
    start = np.linspace(-0.1, 0.1, sizes.side**2, dtype=np.float32).reshape(sizes.side, sizes.side)
    sent = client.scatter(start, broadcast=True)
    seeds = [np.float32(1 + i / sizes.tasks) for i in range(sizes.tasks)]

    def run() -> float:
        futures = [client.submit(task, seed, sizes.rounds, sent, pure=False) for seed in seeds]
        return float(sum(float(found) for found in client.gather(futures)))

    return run


def run_steps(client: Any, sizes: Sizes, workers: int) -> Callable[[], float]:
    """A function that takes some steps of training, and returns the largest weight afterwards."""
    rows = np.random.default_rng(0).normal(size=(sizes.rows, sizes.width)).astype(np.float32)
    places = list(client.scheduler_info(n_workers=-1)["workers"])
    parts = [client.scatter(part, workers=[place]) for part, place in zip(np.split(rows, workers), places)]
    first = [np.eye(sizes.width, dtype=np.float32) * 0.5 for _ in range(2)]

    def run() -> float:
        layers = first
        for _ in range(sizes.steps):
            sent = client.scatter(layers, broadcast=True, hash=False)
            sums = [client.submit(gradients, sent, part, pure=False) for part in parts]
            while len(sums) > 1:
                sums = [client.submit(added, *pair, pure=False) for pair in zip(sums[::2], sums[1::2])]
            layers = [np.asarray(p - 0.1 / sizes.rows * g) for p, g in zip(layers, sums[0].result())]
        return float(max(np.abs(weights).max() for weights in layers))

    return run


WORK = {"tasks": run_tasks, "steps": run_steps}


def compiles() -> int:
    """How many programs this process has compiled."""
    return sum(record.message == "compiled" for record in log.records("compile"))


def measure(counts: Sequence[int], repeat: int, tiny: bool) -> list[dict[str, Any]]:
    """For each kind of work: seconds, results and compiles by way."""
    from distributed import Client, LocalCluster

    sizes = Sizes(tiny)
    ways = {**{str(count): (count, 1) for count in counts}, ALL_CORES: (1, 0)}
    rows: list[dict[str, Any]] = [
        {"name": name, "seconds": dict.fromkeys(ways, math.inf), "results": {}, "compiles": {}} for name in WORK
    ]
    with contextlib.ExitStack() as opened:
        clients = {}
        for way, (workers, threads) in ways.items():
            folder = opened.enter_context(tempfile.TemporaryDirectory())
            environment = {
                "STAGEC_CACHE_DIR": folder,
                "STAGEC_NUM_THREADS": str(threads),
                "OPENBLAS_NUM_THREADS": "1",
            }
            cluster = LocalCluster(
                n_workers=workers, threads_per_worker=1, env=environment, dashboard_address=":0", silence_logs=50
            )
            clients[way] = opened.enter_context(Client(opened.enter_context(cluster)))
        for row in rows:
            runs = {way: WORK[row["name"]](client, sizes, ways[way][0]) for way, client in clients.items()}
            for way, run in runs.items():
                before = sum(clients[way].run(compiles).values())
                row["results"][way] = run()
                row["compiles"][way] = sum(clients[way].run(compiles).values()) - before
            for _ in range(repeat):
                for way, run in runs.items():
                    started = time.perf_counter()
                    run()
                    row["seconds"][way] = min(time.perf_counter() - started, row["seconds"][way])
    return rows


def table(rows: list[dict[str, Any]]) -> Table:
    """The speed of each way as a multiple of that of one worker with one thread."""
    out = Table(title=f"speed over one worker with one thread; {worker_count()} cores")
    out.add_column("work")
    for way in rows[0]["seconds"]:
        out.add_column(f"{way} worker{'s' if way.isdigit() and way != '1' else ''}", justify="right")
    out.add_column("compiles")
    for row in rows:
        one = next(iter(row["seconds"].values()))
        speeds = [f"{one / seconds:.2f}" for seconds in row["seconds"].values()]
        out.add_row(row["name"], *speeds, ", ".join(map(str, row["compiles"].values())))
    return out


def main(arguments: list[str]) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks processes", description=__doc__)
    parser.add_argument("--counts", type=int, nargs="+", default=[1, 2, 4], help="powers of two; default: 1 2 4")
    parser.add_argument("--repeat", type=int, default=5, help="turns of each way; the best one counts")
    parser.add_argument("--tiny", action="store_true", help="next to nothing to do, to see whether all runs")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    rows = measure(options.counts, 1 if options.tiny else options.repeat, options.tiny)
    if options.json:
        print(json.dumps({"cores": worker_count(), "rows": rows}))
    else:
        Console().print(table(rows))

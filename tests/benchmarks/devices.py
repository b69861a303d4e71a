"""Compare two devices with one: `python -m tests.benchmarks devices [--repeat N] [--json]`.

The same program on one device with one thread, on two devices of one process with two threads, and in two processes of
MPI with one thread each. `mlp` and `cnn` are steps of training whose rows are split, `chains` Markov chains that do not
communicate, `waits` chains with loops that end sooner in one than in another; all four do the same work in each way.
`stencil` exchanges halos, and each device has a grid of its own size, so that two devices do twice the work: its speed
is work over time. `psum` adds numbers of all devices up, and is compared with a copy of as many bytes. The ways take
turns, and the fastest call of each counts.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

WAYS = {"1": (1, 1, 1), "2 devices": (1, 2, 2), "2 processes": (2, 1, 1)}  # processes, devices and threads of each
BYTES = {"psum of 1 MB": 2**20, "psum of 8 bytes": 8}


def main(arguments: list[str]) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks devices", description=__doc__)
    parser.add_argument("--repeat", type=int, default=4, help="turns of each way; the fastest call counts")
    parser.add_argument("--tiny", action="store_true", help="next to nothing to do, to see whether all runs")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    rows = measure(1 if options.tiny else options.repeat, options.tiny)
    if options.json:
        print(json.dumps(rows))
        return
    out = Table(title="speed over one device with one thread; psum: microseconds")
    for column in ("program", *WAYS, "a copy"):
        out.add_column(column)
    for name, seconds in rows.items():
        if name in BYTES:
            out.add_row(name, *(f"{1e6 * seconds[way]:.1f}" for way in WAYS), f"{1e6 * seconds['copy']:.1f}")
        else:
            work = 2 if name == "stencil" else 1
            shown = (f"{seconds['1'] / seconds[way] * (1 if way == '1' else work):.2f}" for way in WAYS)
            out.add_row(name, *shown)
    Console().print(out)


def measure(repeat: int, tiny: bool) -> dict[str, dict[str, float]]:
    """For each program, the seconds of a call by way."""
    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(repeat):
            for way, (processes, devices, threads) in WAYS.items():
                environment = {
                    **os.environ,
                    "STAGEC_CACHE_DIR": folder,
                    "STAGEC_NUM_CPU_DEVICES": str(devices),
                    "STAGEC_NUM_THREADS": str(threads),
                    "OPENBLAS_NUM_THREADS": "1",
                }
                command = [sys.executable, "-m", __name__, *(["--tiny"] if tiny else [])]
                if processes > 1:
                    command = [os.path.join(os.path.dirname(sys.executable), "mpiexec"), "-n", str(processes), *command]
                printed = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout
                for name, seconds in json.loads(printed).items():
                    times = found.setdefault(name, {})
                    times[way] = min(seconds, times.get(way, math.inf))
    for name, size in BYTES.items():
        found[name]["copy"] = best(np.ones(size // 4, np.float32).copy, tiny)
    return found


def best(call: Callable[[], Any], tiny: bool, count: int = 300) -> float:
    """The seconds of the fastest of some calls, after some that compile; in all processes there are as many."""
    for _ in range(3):
        call()
    times = []
    for _ in range(1 if tiny else count):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return min(times)


def programs(tiny: bool) -> dict[str, Callable[[], Any]]:
    """The calls to be measured, over all devices that there are."""
    import stagec
    import stagec.numpy as snp
    from stagec import NamedSharding, P, lax, nn

    count = stagec.device_count("cpu")
    mesh = stagec.make_mesh((count,), ("i",))
    rng = np.random.default_rng(0)

    def put(spec: P, *shape: int) -> Any:
        return stagec.device_put(rng.standard_normal(shape, np.float32) / 16, NamedSharding(mesh, spec))

    def training(loss: Callable[..., Any], weights: list[Any], rows: Any) -> Callable[[], Any]:
        step = stagec.jit(lambda w, x: stagec.tree.map(lambda a, d: a - 0.1 * d, w, stagec.grad(loss)(w, x)))
        return lambda: stagec.block_until_ready(step(weights, rows))

    def mlp(weights: list[Any], x: Any) -> Any:
        for w in weights:
            x = snp.tanh(x @ w)
        return (x**2).mean()

    def cnn(weights: list[Any], x: Any) -> Any:
        for w in weights:
            x = nn.relu(lax.conv_general_dilated(x, w, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")))
        return (x**2).mean()

    def chain(key: Any) -> Any:
        """Steps of Metropolis' algorithm for a standard normal distribution."""

        def step(x: Any, key: Any) -> tuple[Any, None]:
            moves, accepts = stagec.random.split(key)
            proposed = x + 0.5 * stagec.random.normal(moves, x.shape)
            better = 0.5 * ((x**2).sum() - (proposed**2).sum())
            return snp.where(snp.log(stagec.random.uniform(accepts)) < better, proposed, x), None

        return lax.scan(
            step, lax.pcast(snp.zeros(32), "i", to="varying"), stagec.random.split(key, 4 if tiny else 500)
        )[0]

    data = snp.asarray(rng.standard_normal((2000, 8), np.float32))

    def trajectories(key: Any) -> Any:
        """Hamiltonian steps of 1 to 9 rounds for a logistic regression, half of which are taken."""
        slope = stagec.grad(lambda x: nn.softplus(data @ x).sum() + (x**2).sum())

        def step(x: Any, key: Any) -> tuple[Any, None]:
            rounds = stagec.random.randint(key, (), 1, 10)

            def move(state: Any) -> Any:
                i, x, p = state
                p = p - 0.01 * slope(x)
                return i + 1, x + 0.01 * p, p

            _, found, _ = lax.while_loop(lambda s: s[0] < rounds, move, (0, x, stagec.random.normal(key, (8,))))
            return snp.where(stagec.random.bernoulli(key), found, x), None

        return lax.scan(step, lax.pcast(snp.zeros(8), "i", to="varying"), stagec.random.split(key, 4 if tiny else 500))[
            0
        ]

    def diffuse(u: Any) -> Any:
        """Rounds of a five-point stencil, with the neighbours' rows as halos."""
        up, down = [(i, (i + 1) % count) for i in range(count)], [(i, (i - 1) % count) for i in range(count)]

        def step(_: Any, u: Any) -> Any:
            above, below = lax.ppermute(u[-1:], "i", up), lax.ppermute(u[:1], "i", down)
            tall = snp.concatenate([above, u, below])
            wide = snp.pad(u, ((0, 0), (1, 1)))
            return 0.2 * (u + tall[:-2] + tall[2:] + wide[:, :-2] + wide[:, 2:])

        return lax.fori_loop(0, 10, step, u)

    rows, width, side = (8, 4, 8) if tiny else (4096, 256, 1024)
    keys = stagec.device_put(stagec.random.split(stagec.random.key(0), 64), NamedSharding(mesh, P("i")))
    few = stagec.device_put(stagec.random.split(stagec.random.key(0), 2), NamedSharding(mesh, P("i")))
    chains, waits, stencil, sums = (
        stagec.jit(stagec.shard_map(f, mesh=mesh, in_specs=P("i"), out_specs=out))
        for f, out in (
            (stagec.vmap(chain), P("i")),
            (stagec.vmap(trajectories), P("i")),
            (diffuse, P("i")),
            (lambda x: lax.psum(x, "i"), P()),
        )
    )
    grid = put(P("i"), side * count, side)
    calls = {
        "mlp": training(mlp, [put(P(), width, width) for _ in range(3)], put(P("i"), rows, width)),
        "cnn": training(cnn, [put(P(), 3, 3, 3, 16), put(P(), 3, 3, 16, 32)], put(P("i"), rows // 64, 32, 32, 3)),
        "chains": lambda: stagec.block_until_ready(chains(keys)),
        "waits": lambda: stagec.block_until_ready(waits(few)),
        "stencil": lambda: stagec.block_until_ready(stencil(grid)),
    }
    for name, size in BYTES.items():
        part = put(P("i"), size // 4 * count)
        calls[name] = lambda part=part: stagec.block_until_ready(sums(part))
    return calls


def work() -> None:
    """Measure in this process, which may be one of several."""
    import stagec

    tiny = "--tiny" in sys.argv
    if "PMI_RANK" in os.environ:
        stagec.distributed.initialize()
    calls = programs(tiny)
    seconds = {name: best(call, tiny, 300 if name in BYTES else 25) for name, call in calls.items()}
    if stagec.process_index() == 0:
        print(json.dumps(seconds))


if __name__ == "__main__":
    work()

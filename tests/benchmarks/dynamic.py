"""Open dimensions: how many compiles a thousand batch sizes take, and the speed beside programs for one size."""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import stagec
import stagec.numpy as snp
from stagec import nn
from stagec.api import program

FEATURES = 784
SIZES = (1, 7, 64, 256, 1024)
COUNT = 1000


def programs() -> dict[str, Callable[[Any], Any]]:
    rng = np.random.default_rng(0)
    first, second = (
        snp.asarray(0.05 * rng.standard_normal(shape).astype(np.float32)) for shape in ((FEATURES, 256), (256, 10))
    )
    return {
        "elementwise": lambda x: snp.tanh(x) * 2 + snp.exp(-x * x),
        "softmax": lambda x: nn.softmax(x),
        "layer normalization": lambda x: (x - x.mean(-1, keepdims=True)) / snp.sqrt(x.var(-1, keepdims=True) + 1e-5),
        "sum of columns": lambda x: x.sum(0),
        "two layers": lambda x: nn.softmax(nn.relu(x @ first) @ second),
    }


def compiles(function: Callable[[Any], Any], count: int) -> int:
    """How many programs the sizes from 1 to `count` load."""
    loads = 0
    load = program.GraphCode._found_or_made

    def counted(self: program.GraphCode, key: str) -> Any:
        nonlocal loads
        loads += 1
        return load(self, key)

    program.clear_executables()
    program.GraphCode._found_or_made = counted  # type: ignore[method-assign]
    try:
        # A function of its own, which shares no traces.
        compiled = stagec.jit(lambda x: function(x), dynamic={"x": "b, _"})
        for size in range(1, count + 1):
            compiled(np.zeros((size, FEATURES), np.float32))
    finally:
        program.GraphCode._found_or_made = load  # type: ignore[method-assign]
    return loads


def seconds(functions: Sequence[Callable[[Any], Any]], x: Any, repeat: int) -> list[float]:
    """The best time of each function; they take turns."""
    best = [math.inf] * len(functions)
    for function in functions:
        function(x).block_until_ready()
    for _ in range(repeat):
        for i, function in enumerate(functions):
            started = time.perf_counter()
            function(x).block_until_ready()
            best[i] = min(best[i], time.perf_counter() - started)
    return best


def main(arguments: Sequence[str]) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks dynamic", description=__doc__)
    parser.add_argument("--repeat", type=int, default=50, help="turns of each program; the best one counts")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--tiny", action="store_true", help="few sizes, one turn: does every program run?")
    options = parser.parse_args(arguments)
    sizes, repeat, count = ((1, 3), 1, 5) if options.tiny else (SIZES, options.repeat, COUNT)
    found = []
    for name, function in programs().items():
        opened = stagec.jit(function, dynamic={"x": "b, _"})
        ratios = {}
        for size in sizes:
            x = snp.asarray(np.random.default_rng(size).standard_normal((size, FEATURES)).astype(np.float32))
            static, dynamic = seconds([stagec.jit(function), opened], x, repeat)
            ratios[size] = round(dynamic / static, 2)
        found.append({"name": name, "programs": compiles(function, count), "ratios": ratios})
    if options.json:
        print(json.dumps(found))
        return
    table = Table(title=f"Open batch, over the program for one size; programs for {count} sizes")
    for column in ("program", "programs", *map(str, sizes)):
        table.add_column(column, justify="right")
    for row in found:
        table.add_row(row["name"], str(row["programs"]), *(f"{r:.2f}" for r in row["ratios"].values()))
    Console().print(table)

"""What a device reaches: `python -m tests.benchmarks gpu [--device cuda] [--size small]`.

It prints how much of the primitive table is right on the device, the bandwidth
of a fused elementwise kernel and the throughput of a float32 matrix product,
against the card's own limits and against JAX where that is installed for it.
"""

from __future__ import annotations

import argparse
import importlib.util
import pathlib
import re
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

# A part of the device's name -> memory bandwidth in GB/s and float32 TFLOP/s outside tensor cores, of data sheets.
LIMITS = (
    (r"H200", 4800, 67.0),
    (r"H100.*PCIe", 2000, 51.0),
    (r"H100", 3350, 67.0),
    (r"A100.*80GB", 2039, 19.5),
    (r"A100", 1555, 19.5),
    (r"L40S", 864, 91.6),
    (r"L4\b", 300, 30.3),
    (r"T4\b", 320, 8.1),
    (r"V100", 900, 15.7),
    (r"RTX 4090", 1008, 82.6),
    (r"RTX 3090", 936, 35.6),
)
SIZES = {"large": (1 << 26, 4096), "small": (1 << 20, 256)}


def limits(name: str) -> tuple[int, float] | None:
    """GB/s and TFLOP/s of a device, by its name; nothing for unknown ones.

    >>> limits("NVIDIA H200")
    (4800, 67.0)
    """
    return next(((b, f) for pattern, b, f in LIMITS if re.search(pattern, name)), None)


def seconds(call: Callable[[], Any], wait: Callable[[Any], Any], budget: float = 1.0) -> float:
    """The best time of one call, of batches that are waited for at their end."""
    wait(call())
    best, count, end = float("inf"), 1, time.perf_counter() + budget
    while True:
        started = time.perf_counter()
        for _ in range(count):
            result = call()
        wait(result)
        spent = time.perf_counter() - started
        best = min(best, spent / count)
        if time.perf_counter() > end:
            return best
        count = count * 2 if spent < budget / 8 else count


def measure(numpy: Any, jit: Any, put: Any, wait: Any, size: str) -> tuple[float, float]:
    """GB/s of `x * 2 + sin(y)`, which reads two arrays and writes one, and TFLOP/s of a product."""
    elements, side = SIZES[size]
    fused = jit(lambda x, y: x * 2 + numpy.sin(y))
    x, y = (put(np.full(elements, v, np.float32)) for v in (0.5, 0.25))
    bandwidth = 3 * 4 * elements / seconds(lambda: fused(x, y), wait) / 1e9
    product = jit(lambda a, b: a @ b)
    a, b = (put(np.full((side, side), v, np.float32)) for v in (0.5, 0.25))
    return bandwidth, 2 * side**3 / seconds(lambda: product(a, b), wait) / 1e12


def of_stagec(device: str, size: str) -> tuple[float, float]:
    import stagec

    put = lambda v: stagec.device_put(v, device)  # noqa: E731
    return measure(stagec.numpy, stagec.jit, put, lambda v: v.block_until_ready(), size)


def of_jax(device: str, size: str) -> tuple[float, float] | str:
    """JAX on the same kind of device, or why not."""
    if importlib.util.find_spec("jax") is None:
        return "not installed"
    import jax
    import jax.numpy

    try:
        found = jax.devices("cuda" if device == "cuda" else device)[0]
    except RuntimeError as error:
        return str(error).splitlines()[0]
    # Full float32, as stagec computes.
    with jax.default_matmul_precision("highest"):
        return measure(jax.numpy, jax.jit, lambda v: jax.device_put(v, found), lambda v: v.block_until_ready(), size)


def correctness(device: str) -> str:
    """The last line of the table's tests on a device."""
    path = pathlib.Path(__file__).resolve().parents[1] / "primitives" / "test_gpus.py"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(path), "-k", f"agree and {device}"]
    done = subprocess.run(command, cwd=path.parents[2], capture_output=True, text=True)
    return (done.stdout.strip().splitlines() or [done.stderr.strip()])[-1]


def main(arguments: list[str]) -> None:
    """The command line."""
    import stagec

    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks gpu", description=__doc__)
    parser.add_argument("--device", default="cuda", help="cuda, vulkan or cpu")
    parser.add_argument("--size", default="large", choices=SIZES, help="of the arrays")
    parser.add_argument("--no-table", action="store_true", help="only measure")
    options = parser.parse_args(arguments)
    try:
        device = stagec.devices(options.device)[0]
    except stagec.errors.DeviceError as error:
        parser.exit(1, f"{error}\n")
    known = limits(device.device_kind)
    out = Table(title=f"{options.device}: {device.device_kind}")
    for column in ("", "elementwise GB/s", "product TFLOP/s (float32)"):
        out.add_column(column, justify="left" if not column else "right")
    rows: list[tuple[str, tuple[float, float] | str]] = [
        ("stagec", of_stagec(options.device, options.size)),
        ("jax", of_jax(options.device, options.size)),
    ]
    for name, found in rows:
        if isinstance(found, str):
            out.add_row(name, found, "")
            continue
        cells = [f"{found[0]:.1f}", f"{found[1]:.3f}"]
        if known:
            cells = [f"{c} ({100 * v / limit:.0f} %)" for c, v, limit in zip(cells, found, known)]
        out.add_row(name, *cells)
    if known:
        out.add_row("the card", str(known[0]), f"{known[1]}")
    console = Console()
    console.print(out)
    if not options.no_table:
        console.print(f"primitive table and programs: {correctness(options.device)}")


if __name__ == "__main__":
    main(sys.argv[1:])

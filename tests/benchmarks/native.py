"""Calls of compiled functions and of the same kernels from C: `python -m tests.benchmarks native [part ...]`.

Each program is exported as a C library, which a C program calls many times without a runtime. The difference is what a
call from Python costs. The host part is the time of a call whose kernels do nothing, which is what the library adds to
its kernels; programs that wait for what a kernel computes have none. The programs are some quick ones, and the
benchmark's loops with few elements.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from tests import c_libraries
from tests.benchmarks.loop_programs import PROGRAMS, Names

_SECONDS, _TURNS = 0.1, 5


def _quick() -> dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    """Functions of a few microseconds, and their operands."""
    import stagec.numpy as snp
    from stagec import lax

    x, z = np.linspace(0, 1, 1000, dtype=np.float32), np.exp(1j * np.arange(1024)).astype(np.complex64)
    matrix = np.linspace(0, 1, 64 * 64, dtype=np.float32).reshape(64, 64)
    return {
        "digits network": digits(),
        "one addition": (lambda x: x + 1, (x,)),
        "1,000 rounds": (lambda x: lax.fori_loop(0, 1000, lambda i, x: x * 0.999 + 0.001, x), (x[:1],)),
        "cumulative sum": (snp.cumsum, (x,)),
        "FFT of 1,024": (snp.fft.fft, (z,)),
        "conditional with a product": (
            lambda x, m: lax.cond(x[0] < 0.5, lambda m: m @ m, lambda m: m + 1, m),
            (x, matrix),
        ),
    }


def programs() -> Iterator[tuple[str, Callable[..., Any], tuple[Any, ...]]]:
    """Names, functions and operands."""
    import stagec

    for name, (function, operands) in _quick().items():
        yield name, function, operands
    names = Names(stagec.numpy, stagec.lax, stagec.grad, stagec.vmap, stagec.random)
    for program in PROGRAMS:
        yield program.name, program.make(names), program.operands(True)


def in_python(function: Callable[..., Any], operands: tuple[Any, ...]) -> float:
    """Seconds of a call of the jitted function with arrays of stagec's, for the processor that the C library is for."""
    import stagec

    jitted, given = stagec.jit(function), [stagec.numpy.asarray(a) for a in operands]
    stagec.block_until_ready(jitted(*given))
    best, until = np.inf, time.perf_counter() + _SECONDS
    while time.perf_counter() < until:
        started = time.perf_counter()
        for _ in range(10):
            stagec.block_until_ready(jitted(*given))
        best = min(best, (time.perf_counter() - started) / 10)
    return float(best)


def digits() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The network that is compared in browsers, too."""
    from tests.benchmarks.browser_models import models

    model = models()["digits, 32x32 pixels"]
    (shape,) = model.inputs.values()
    return model.function, (np.linspace(0, 1, int(np.prod(shape)), dtype=np.float32).reshape(shape),)


def in_c(function: Callable[..., Any], operands: tuple[Any, ...], about: float, folder: str) -> tuple[float, float]:
    """Seconds of a call from C, and of its host part; `about` is what the call may take."""
    exported = c_libraries.written(function, operands, folder)
    with open(os.path.join(folder, "given"), "wb") as file:
        file.writelines(np.asarray(a, aval.dtype).tobytes() for a, aval in zip(operands, exported.in_avals))
    objects = [f for f in os.listdir(folder) if f.endswith(".o")]
    source = pathlib.Path(folder, "f.c").read_text()
    if "for (;;)" in source:
        return _seconds(exported, objects, about, folder), np.nan
    kernels = re.findall(r"^kernel (\w+);", source, re.MULTILINE)
    text = "int {}(const void *a, const void *b, const void *c) {{ (void)a, (void)b, (void)c; return 0; }}\n"
    pathlib.Path(folder, "empty.c").write_text("".join(map(text.format, kernels)))
    constants = [f for f in objects if f == "f-constants.o"]
    return _seconds(exported, objects, about, folder), _seconds(exported, [*constants, "empty.c"], 1e-7, folder)


def _seconds(exported: Any, objects: list[str], about: float, folder: str) -> float:
    """Seconds of a call of a library, by programs that call it once and many times."""
    calls = max(int(0.05 / about), 10)
    seconds = {}
    for count in (1, 1 + calls):
        with open(os.path.join(folder, "main.c"), "w") as file:
            file.write(c_libraries.main_source(exported, calls=count))
        compiler = c_libraries.tool("gcc", "clang", "cc")
        subprocess.run([compiler, "-O2", "main.c", "f.c", *objects, "-o", f"run{count}", "-lm"], cwd=folder, check=True)
        turns = []
        for _ in range(_TURNS):
            started = time.perf_counter()
            subprocess.run([f"./run{count}", "given", "made"], cwd=folder, check=True)
            turns.append(time.perf_counter() - started)
        seconds[count] = min(turns)
    return (seconds[1 + calls] - seconds[1]) / calls


def main(given: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks native")
    parser.add_argument("names", nargs="*", help="parts of the names to measure")
    options = parser.parse_args(given)
    import stagec

    table = Table(title="A call from Python, and the same kernels called from C: microseconds")
    for column in ("program", "Python", "C", "difference", "host part"):
        table.add_column(column, justify="left" if column == "program" else "right")
    for name, function, operands in programs():
        if options.names and not any(part in name for part in options.names):
            continue
        with stagec.config.override(target=c_libraries.LEVEL):
            seconds = in_python(function, operands)
        with tempfile.TemporaryDirectory() as folder:
            try:
                direct, host = in_c(function, operands, seconds, folder)
            except Exception as error:
                table.add_row(name, f"{1e6 * seconds:.1f}", str(error).splitlines()[0][:70], "", "")
                continue
        table.add_row(name, *(f"{1e6 * s:.2f}" for s in (seconds, direct, seconds - direct, host)))
    Console(width=140).print(table)

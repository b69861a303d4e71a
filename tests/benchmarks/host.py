"""Calls of NumPy and SciPy beside algorithms: `python -m tests.benchmarks host [part of a name ...] [--dtypes ...]`.

`stagec/lowering/host_choices.py` is the record of what this measures. Programs of one operation run in one process, in
turns, with `host_libraries` as `always` and as `never`; the fastest turn counts. Times are those of all processors
together, and LAPACK has one thread: so what else the machine does counts least.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

WAYS = ("always", "never")
_SECONDS = 0.2


def _operations() -> dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]]:
    """By name: a function of one array, and the sizes to measure."""
    import stagec.numpy as snp
    from stagec import lax

    la, rows = snp.linalg, (32, 64, 128, 256, 512)
    return {
        "cholesky": (lambda a: lax.linalg.cholesky(a, symmetrize_input=False), rows),
        "det": (la.det, rows),
        "eig": (la.eig, rows),
        "eigvals": (la.eigvals, rows),
        "eigh": (lambda a: lax.linalg.eigh(a, symmetrize_input=False), rows),
        "eigvalsh": (lambda a: la.eigvalsh(a, symmetrize_input=False), rows),
        "geqrf": (lambda a: la.qr(a, mode="raw"), rows),
        "hessenberg": (lax.linalg.hessenberg, rows),
        "householder_product": (lambda a: lax.linalg.householder_product(a / 10, a[0] / 10), rows),
        "lu": (lax.linalg.lu, rows),
        "ormqr": (lambda a: lax.linalg.ormqr(a / 10, a[0] / 10, a), rows),
        "pinv": (la.pinv, rows),
        "qr": (la.qr, rows),
        "schur": (lax.linalg.schur, rows),
        "solve": (lambda a: la.solve(a, a[:, 0]), rows),
        "solve_triangular": (lambda a: lax.linalg.triangular_solve(a, a, left_side=True), rows),
        "solve_triangular_vector": (lambda a: lax.linalg.triangular_solve(a, a[0], left_side=True), rows),
        "svd": (lambda a: la.svd(a, full_matrices=False), rows),
        "svdvals": (la.svdvals, rows),
        "tridiagonal": (lax.linalg.tridiagonal, rows),
        "fft": (snp.fft.fft, (1 << 10, 1 << 12, 1 << 13, 1 << 14, 1 << 16, 10007, 10**5, 1 << 18)),
    }


def _operand(name: str, size: int, dtype: str) -> Any:
    """Positive definite for what needs it, and else without structure."""
    rng = np.random.default_rng(size)
    shape = (size,) if name == "fft" else (size, size)
    a = rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else 0)
    if name in ("cholesky", "eigh", "eigvalsh"):
        a = a @ a.conj().T + size * np.eye(size)
    return a.astype(dtype)


def measure(name: str, function: Callable[[Any], Any], size: int, dtype: str, tiny: bool) -> dict[str, Any]:
    """Seconds of the first call and of the fastest following one, each way."""
    import stagec

    given = stagec.numpy.asarray(_operand(name, 6 if tiny else size, dtype))
    row: dict[str, Any] = {"name": name, "size": size, "dtype": dtype, "first": {}, "steady": {}}
    programs = {}
    for way in WAYS:
        with stagec.config.override(host_libraries=way, enable_cache=False):
            started = time.process_time()
            programs[way] = stagec.jit(lambda a: function(a)).lower(given).compile()
            stagec.block_until_ready(programs[way](given))
            row["first"][way] = time.process_time() - started
    turns = 0
    until = time.perf_counter() + _SECONDS
    while turns < (1 if tiny else 3) or (not tiny and time.perf_counter() < until):
        for way, program in programs.items():
            started = time.process_time()
            stagec.block_until_ready(program(given))
            row["steady"][way] = min(time.process_time() - started, row["steady"].get(way, math.inf))
        turns += 1
    row["chosen"] = _chosen(function, given)
    return row


def _chosen(function: Callable[[Any], Any], given: Any) -> bool:
    """Whether the record has the library compute it."""
    import stagec

    with stagec.config.override(host_libraries="auto"):
        return "@host." in stagec.jit(lambda a: function(a)).lower(given).as_text()


def table(rows: Sequence[dict[str, Any]]) -> Table:
    """Milliseconds, and the library's time over the algorithm's."""
    out = Table(title="NumPy's and SciPy's time over that of the algorithm (below 1: the library is faster)")
    for column in ("operation", "dtype", "size", "steady", "first call", "library ms", "algorithm ms", "chosen"):
        out.add_column(column, justify="left" if column in ("operation", "dtype", "chosen") else "right")
    for row in rows:
        ratios = [row[kind]["always"] / row[kind]["never"] for kind in ("steady", "first")]
        times = [f"{row['steady'][way] * 1e3:.3g}" for way in WAYS]
        name = row["name"], row["dtype"], str(row["size"])
        out.add_row(*name, *(f"{r:.2f}" for r in ratios), *times, "library" if row["chosen"] else "")
    return out


def main(arguments: Sequence[str]) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks host", description=__doc__)
    parser.add_argument("operation", nargs="*", help="names of operations")
    parser.add_argument("--dtypes", default="single,double", help="kinds: single, double, and their complex ones")
    parser.add_argument("--sizes", default="", help="rows, or elements of transforms, instead of the usual ones")
    parser.add_argument("--json", action="store_true", help="print seconds as JSON instead of a table")
    parser.add_argument("--tiny", action="store_true", help="small inputs, one turn: does every operation run?")
    options = parser.parse_args(arguments)
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":
        # Read when NumPy is loaded.
        os.environ["OPENBLAS_NUM_THREADS"] = "1"
        os.execv(sys.executable, [sys.executable, "-m", "tests.benchmarks", "host", *arguments])
    import stagec

    rows = []
    with stagec.config.override(enable_x64=True):
        stagec.jit(lambda x: x + 1)(np.ones(3))
        for name, (function, sizes) in _operations().items():
            if options.operation and name not in options.operation:
                continue
            kinds = {"single": "float32", "double": "float64", "complex64": "complex64", "complex128": "complex128"}
            if name == "fft":
                kinds |= {"single": "complex64", "double": "complex128"}
            sizes = tuple(map(int, options.sizes.split(","))) if options.sizes else sizes
            for kind in options.dtypes.split(","):
                for size in sizes[:1] if options.tiny else sizes:
                    rows.append(measure(name, function, size, kinds[kind], options.tiny))
                    if not options.json:
                        print(name, kinds[kind], size, file=sys.stderr, flush=True)
    if options.json:
        print(json.dumps(rows))
    else:
        Console(width=120).print(table(rows))

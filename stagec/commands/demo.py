"""`stagec demo`: one function from Python to machine code, timed against NumPy."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from typing import Any

import click
import numpy as np

import stagec
import stagec.numpy as snp
from stagec.commands.common import bytes_text, print_json, seconds_text
from stagec.compiler import cache
from stagec.runtime import devices

_MEASURED_SECONDS = 0.3


# Shown to the user as it stands, so without annotations.
def selu(x, alpha=1.67, lmbda=1.05):
    return lmbda * snp.where(x > 0, x, alpha * snp.exp(x) - alpha)


def _numpy_selu(x: Any, alpha: float = 1.67, lmbda: float = 1.05) -> Any:
    return lmbda * np.where(x > 0, x, alpha * np.exp(x) - alpha)


@click.command(short_help="Compile a function, and compare it with NumPy.", epilog="Example: stagec demo --size 1000")
@click.option(
    "--size", default=1_000_000, show_default=True, type=click.IntRange(1, 1 << 28), help="How many floats to compute."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def demo(size: int, as_json: bool) -> None:
    """Compile selu, run it on a million floats, and compare it with NumPy.

    Run it twice: the second time, the program comes from disk.
    """
    found = measure(size)
    if as_json:
        print_json(found)
    else:
        _show(found)


def measure(size: int) -> dict[str, Any]:
    """Trace, compile or load, run and time the demonstration; the results as values for JSON."""
    started = time.perf_counter()
    devices.cpu().hal_device("local-sync")
    start_seconds = time.perf_counter() - started
    function = stagec.jit(selu)
    values = np.random.default_rng(0).standard_normal(size, dtype=np.float32)
    x = snp.array(values)

    started = time.perf_counter()
    traced = function.trace(x)
    trace_seconds = time.perf_counter() - started
    runnable = function._settings.runnable(traced._trace)
    started = time.perf_counter()
    executable = runnable.executable()
    ready_seconds = time.perf_counter() - started
    program_key = stagec.explain(function, x).key

    result = np.asarray(function(x))
    exact = _numpy_selu(values.astype(np.float64))
    # A call may return before its result is there.
    calls = _seconds_per_call(lambda: function(x).block_until_ready())
    numpy_calls = _seconds_per_call(lambda: _numpy_selu(values))
    store = cache.default_cache()
    header = next((e for e in store.entries() if e.key == program_key), None) if store is not None else None
    return {
        "size": size,
        "start_seconds": start_seconds,
        "equations": len(traced.graph.eqns),
        "graph": str(traced.graph),
        "trace_seconds": trace_seconds,
        "source": runnable.code.source,
        "ready_seconds": ready_seconds,
        "compile_seconds": header.meta.get("seconds") if header is not None else None,
        "queue": executable.driver,
        "call_seconds": calls,
        "numpy_seconds": numpy_calls,
        "speed_ratio": numpy_calls / calls,
        "max_error": float(np.max(np.abs(result - exact))),
        "numpy_max_error": float(np.max(np.abs(_numpy_selu(values) - exact))),
        "key": program_key,
        "entry": header.path if header is not None else None,
        "entry_bytes": header.file_bytes if header is not None else None,
    }


def _seconds_per_call(call: Callable[[], Any]) -> float:
    """The median over a third of a second; at least three calls."""
    call()
    times: list[float] = []
    ends = time.perf_counter() + _MEASURED_SECONDS
    while len(times) < 3 or time.perf_counter() < ends:
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return float(np.median(times))


def _show(found: dict[str, Any]) -> None:
    from rich.console import Console  # not needed for JSON
    from rich.markup import escape
    from rich.panel import Panel
    from rich.syntax import Syntax
    from rich.table import Table

    console = Console(highlight=False)
    source = "@stagec.jit\n" + inspect.getsource(selu).rstrip()
    syntax = Syntax(source, "python", background_color="default", word_wrap=True)
    console.print(Panel(syntax, title="stagec demo", title_align="left", border_style="cyan", expand=False))
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(justify="right", style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row("start", seconds_text(found["start_seconds"]), "the runtime's library")
    table.add_row("trace", seconds_text(found["trace_seconds"]), f"a graph of {found['equations']} equations")
    ready = seconds_text(found["ready_seconds"])
    if found["source"] == "disk":
        spent = found["compile_seconds"]
        earlier = f"; an earlier process compiled it in {seconds_text(spent)}" if spent else ""
        table.add_row("load", ready, f"[green]cache hit[/]: the program came from disk{earlier}")
    elif found["entry"]:
        table.add_row("compile", ready, "[yellow]cache miss[/]: compiled, and kept on disk; run the demo again")
    else:
        table.add_row("compile", ready, "[yellow]compiled[/], and not kept: the disk cache is off or refuses it")
    ratio = found["speed_ratio"]
    verdict = (
        f"[green]{ratio:.1f} times as fast as NumPy[/]" if ratio >= 1 else f"NumPy is {1 / ratio:.1f} times as fast"
    )
    table.add_row(
        "call", seconds_text(found["call_seconds"]), f"{found['size']:,} floats on {found['queue']}; {verdict}"
    )
    table.add_row("NumPy", seconds_text(found["numpy_seconds"]), "the same function, operation by operation")
    table.add_row(
        "error",
        f"{found['max_error']:.1e}",
        f"largest, against float64 (NumPy in float32: {found['numpy_max_error']:.1e})",
    )
    console.print(table)
    console.print()
    if found["entry"]:
        size = bytes_text(found["entry_bytes"])
        console.print(f"[bold]program[/]   {escape(found['entry'])} ({size})", soft_wrap=True)
    spec = escape(f"f32[{found['size']}]")
    console.print(f'[bold]graph[/]     stagec dump stagec.commands.demo:selu "{spec}" --stage graph', soft_wrap=True)
    console.print(f'[bold]assembly[/]  stagec dump stagec.commands.demo:selu "{spec}" --stage asm', soft_wrap=True)
    console.print("[bold]cache[/]     stagec cache list")

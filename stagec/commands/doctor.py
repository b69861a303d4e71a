"""`stagec doctor`: is everything here, and does it work?"""

from __future__ import annotations

import os
import platform
import sys
import time
from typing import Any

import click
import numpy as np

import stagec
from stagec.backends import host
from stagec.backends.cpu import cpu_levels
from stagec.commands.common import bytes_text, print_json, seconds_text, unwritable, versions
from stagec.compiler import cache
from stagec.core.config import config
from stagec.runtime import device


@click.command(short_help="Check this installation, and report it.", epilog="Example: stagec doctor")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def doctor(as_json: bool) -> None:
    """Check the installation: versions, processor, devices, cache, and one small compile."""
    report = examine()
    if as_json:
        print_json(report)
    else:
        _show(report)
    if not report["ok"]:
        raise click.exceptions.Exit(1)


def examine() -> dict[str, Any]:
    """Everything that `stagec doctor` says, as values for JSON."""
    report: dict[str, Any] = {
        "versions": versions(),
        "machine": {
            "system": platform.platform(),
            "processor": host.cpu_model(),
            "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
            "levels": list(cpu_levels()),
            "features": sorted(host.cpu_features()),
        },
        "options": {k: v for k, v in sorted(os.environ.items()) if k.startswith("STAGEC_")},
        "cache": _cache(),
    }
    checks = {"runtime": _attempt(_drivers), "compile and run": _attempt(_compile_and_run)}
    report["drivers"] = checks["runtime"].pop("result", [])
    report["checks"] = checks
    missing = [name for name, version in report["versions"].items() if version is None]
    report["ok"] = not missing and all(row["ok"] for row in checks.values())
    return report


def _cache() -> dict[str, Any]:
    store = cache.default_cache()
    if store is None:
        return {"enabled": False}
    info = store.info()
    return {
        "enabled": True,
        "directory": info.directory,
        "refusal": info.refusal,
        "writable": not unwritable(info.directory),
        "entries": info.entries,
        "bytes": info.bytes,
        "max_bytes": info.max_bytes,
        "layers": [layer._asdict() for layer in info.layers],
        "remote": info.remote,
    }


def _drivers() -> list[dict[str, Any]]:
    """The runtime's drivers, and the devices that each finds."""
    binding = device.binding()
    found = []
    for name in binding.HalDriver.query():
        try:
            devices = [
                str(row.get("name", "")) for row in binding.get_cached_hal_driver(name).query_available_devices()
            ]
        except Exception:  # a driver whose library is not on this machine
            devices = []
        found.append({"driver": name, "devices": devices})
    return found


def _compile_and_run() -> dict[str, Any]:
    """Compile and run a program that no cache holds."""
    x = np.arange(8, dtype=np.float32)
    with config.override(enable_cache=False, disable_jit=False, dump=""):
        started = time.perf_counter()
        found = np.asarray(stagec.jit(lambda x: x * 2 + 1)(x))
        seconds = time.perf_counter() - started
    if not np.array_equal(found, x * 2 + 1):
        raise RuntimeError(f"x * 2 + 1 gave {found.tolist()} for {x.tolist()}")
    return {"seconds": round(seconds, 3)}


def _attempt(check: Any) -> dict[str, Any]:
    try:
        result = check()
    except Exception as error:  # whatever is broken is what the user wants to know
        return {"ok": False, "error": f"{type(error).__name__}: {error}"}
    return {"ok": True, "result": result}


def _show(report: dict[str, Any]) -> None:
    from rich.console import Console  # not needed for JSON
    from rich.markup import escape
    from rich.table import Table

    console = Console(highlight=False)
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")

    def row(name: str, text: Any, good: bool | None = None) -> None:
        mark = "" if good is None else "[green]ok[/]  " if good else "[red]no[/]  "
        table.add_row(f"[bold]{name}[/]", mark + escape(str(text)))

    for name, version in report["versions"].items():
        row(name, version or f"not installed; pip install {name}", False if version is None else None)
    machine = report["machine"]
    row("system", machine["system"])
    row("processor", f"{machine['processor']}, {machine['cores']} cores")
    row("x86-64 levels", ", ".join(machine["levels"]) or "none")
    row("features", f"{len(machine['features'])}, see --json")
    for found in report["drivers"]:
        row(f"driver {found['driver']}", ", ".join(filter(None, found["devices"])) or "no device")
    for name, value in report["options"].items():
        row(name, value)
    state = report["cache"]
    if not state["enabled"]:
        row("cache", "off (STAGEC_CACHE, STAGEC_CACHE_MAX_BYTES)")
    else:
        size = f"{state['entries']} programs, {bytes_text(state['bytes'])} of {bytes_text(state['max_bytes'])}"
        trouble = state["refusal"] or ("" if state["writable"] else "it is not writable")
        for layer in state["layers"]:
            held = f"{layer['entries']} programs, {bytes_text(layer['bytes'])}"
            row("cache layer", f"{layer['directory']}: {layer['refusal'] or held}", not layer["refusal"])
        if state["remote"]:
            row("remote cache", state["remote"])
        row("cache", f"{state['directory']}: {trouble or size}", not trouble)
    for name, check in report["checks"].items():
        text = check.get("error", "")
        if check["ok"] and isinstance(check.get("result"), dict):
            text = seconds_text(check["result"]["seconds"])
        row(name, text or "works", check["ok"])
    console.print(table)
    if report["ok"]:
        console.print("\n[green]stagec is ready.[/]")
    else:
        console.print("\n[red]stagec does not work here;[/] the rows marked 'no' say why.")
        console.print(f"Python: {sys.executable}")

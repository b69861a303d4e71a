"""`stagec cache`: what is on disk."""

from __future__ import annotations

import os
from datetime import datetime, timezone

import click

from stagec.commands.common import ago_text, bytes_text, failure, print_json, seconds_text, unwritable
from stagec.compiler.cache import DiskCache, default_cache
from stagec.compiler.cache_file import EntryHeader
from stagec.core.config import config


def disk_cache() -> DiskCache:
    """The disk cache, or the error that says why there is none."""
    store = default_cache()
    if store is None:
        raise failure(
            "the disk cache is off", "unset STAGEC_CACHE, and set STAGEC_CACHE_MAX_BYTES to a positive number"
        )
    return store


@click.group(short_help="List, measure or remove the programs on disk.", epilog="Example: stagec cache list --limit 5")
def cache() -> None:
    """Look at the compiled programs on disk, or remove them."""


@cache.command("list", epilog="Example: stagec cache list --limit 5")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(min=1), help="Show this many at most.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with everything that each key covers.")
def list_entries(limit: int, as_json: bool) -> None:
    """List the programs, the most recently used first; those of read-only layers follow."""
    store = disk_cache()
    found = list(store.entries())
    if as_json:
        print_json(
            [
                {
                    "key": e.key,
                    "name": e.meta.get("name"),
                    "inputs": e.contributors.get("inputs"),
                    "target": e.contributors.get("target"),
                    "bytes": e.file_bytes,
                    "used": datetime.fromtimestamp(e.used, timezone.utc).isoformat(timespec="seconds"),
                    "path": e.path,
                    "layer": _layer(store, e),
                    "meta": e.meta,
                    "contributors": e.contributors,
                }
                for e in found[:limit]
            ]
        )
        return
    if not found:
        click.echo(f"no programs in {', '.join(p.directory for p in (store, *store.layers))}")
        return
    from rich.console import Console  # takes 30 ms, which JSON output does not need
    from rich.table import Table

    headings = ["key", "program", "inputs", "target", "compiled", "size", "used"]
    table = Table(*headings, *(["layer"] if store.layers else []), box=None, pad_edge=False)
    table.columns[0].no_wrap = True
    table.columns[2].overflow = "fold"
    for e in found[:limit]:
        seconds = e.meta.get("seconds")
        table.add_row(
            e.key[:12],
            str(e.meta.get("name", "?")),
            e.contributors.get("inputs", ""),
            e.contributors.get("target", ""),
            seconds_text(seconds) if isinstance(seconds, (int, float)) else "",
            bytes_text(e.file_bytes),
            ago_text(e.used),
            *([_layer(store, e) or ""] if store.layers else []),
        )
    Console(highlight=False, markup=False).print(table)
    if len(found) > limit:
        click.echo(f"and {len(found) - limit} more (--limit)")


def _layer(store: DiskCache, entry: EntryHeader) -> str | None:
    """The layer that an entry lies in; None for the writable directory."""
    directory = os.path.dirname(entry.path)
    return None if directory == store.directory else directory


@cache.command(epilog="Example: stagec cache info")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def info(as_json: bool) -> None:
    """Say where the cache is, how full it is, and whether it is used."""
    found = disk_cache().info()
    refusal = found.refusal or unwritable(found.directory)
    rows = {
        "directory": found.directory,
        "refusal": refusal,
        "entries": found.entries,
        "kernels": found.kernels,
        "bytes": found.bytes,
        "temporary_files": found.temporary_files,
        "max_bytes": found.max_bytes,
        "layers": [
            {"directory": p.directory, "refusal": p.refusal, "entries": p.entries, "bytes": p.bytes}
            for p in found.layers
        ],
        "remote": found.remote,
    }
    if as_json:
        print_json(rows)
        return
    full = f"{100 * found.bytes / found.max_bytes:.1f} %"
    click.echo(f"directory  {found.directory}")
    click.echo(f"programs   {found.entries}")
    click.echo(f"kernels    {found.kernels}")
    click.echo(f"size       {bytes_text(found.bytes)} of {bytes_text(found.max_bytes)} ({full})")
    if found.temporary_files:
        click.echo(f"unfinished {found.temporary_files} temporary files")
    click.echo(f"used       {'no: ' + refusal if refusal else 'yes'}")
    for layer in found.layers:
        held = f"{layer.entries} programs, {bytes_text(layer.bytes)}, read only"
        click.echo(f"layer      {layer.directory}: {'not used: ' + layer.refusal if layer.refusal else held}")
    if found.remote:
        click.echo(f"remote     {found.remote}, {'read and written' if config.cache_remote_write else 'read only'}")


@cache.command(epilog="Example: stagec cache clear")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def clear(as_json: bool) -> None:
    """Remove every program and kernel, which are compiled again when needed, and the modules that the compiler refused.

    Read-only layers stay as they are.
    """
    store = disk_cache()
    size = store.info().bytes
    removed = store.clear()
    after = store.info()
    if after.entries:
        raise failure(
            f"{after.entries} programs could not be removed from {store.directory}", "check who owns the files"
        )
    if as_json:
        print_json({"directory": store.directory, "removed": removed, "bytes": size})
        return
    click.echo(f"removed {removed} programs ({bytes_text(size)}) from {store.directory}")


@cache.command(epilog="Example: stagec cache path --layers")
@click.option("--layers", is_flag=True, help="Print the read-only layers too, in the order of look-up, before it.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, layers included.")
def path(layers: bool, as_json: bool) -> None:
    """Print the directory that programs are written to."""
    store = disk_cache()
    found = [layer.directory for layer in store.layers]
    if as_json:
        print_json({"directory": store.directory, "layers": found})
        return
    for directory in [*(found if layers else []), store.directory]:
        click.echo(directory)

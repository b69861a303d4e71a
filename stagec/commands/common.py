"""What the subcommands share: messages and units."""

from __future__ import annotations

import json
import time
from typing import Any

import click

from stagec.compiler import cache
from stagec.core.errors import message


def failure(what: str, fix: str = "") -> click.ClickException:
    """An error that ends the command with exit code 1."""
    return click.ClickException(message(what, fix=fix))


def usage(what: str, fix: str = "") -> click.UsageError:
    """A mistake on the command line: exit code 2."""
    return click.UsageError(message(what, fix=fix))


def disk_cache() -> cache.DiskCache:
    """The disk cache, or the error that says why there is none."""
    store = cache.default_cache()
    if store is None:
        raise failure(
            "the disk cache is off", "unset STAGEC_CACHE, and set STAGEC_CACHE_MAX_BYTES to a positive number"
        )
    return store


def print_json(value: Any) -> None:
    """Print a value as indented JSON."""
    click.echo(json.dumps(value, indent=2))


def bytes_text(count: float) -> str:
    """A size in the unit that suits it.

    >>> bytes_text(13709)
    '13.4 KiB'
    >>> bytes_text(12)
    '12 B'
    """
    if count < 1024:
        return f"{count:.0f} B"
    for unit in ("KiB", "MiB", "GiB"):
        count /= 1024
        if count < 1024 or unit == "GiB":
            return f"{count:.1f} {unit}"
    raise AssertionError("the last unit takes every size")


def seconds_text(seconds: float) -> str:
    """A duration in the unit that suits it.

    >>> seconds_text(0.00025), seconds_text(0.31), seconds_text(12.0)
    ('250 us', '310 ms', '12.0 s')
    """
    if seconds < 1e-3:
        return f"{seconds * 1e6:.3g} us"
    if seconds < 1:
        return f"{seconds * 1e3:.3g} ms"
    return f"{seconds:.1f} s"


def ago_text(moment: float) -> str:
    """How long ago a time (seconds since the epoch) was.

    >>> import time
    >>> ago_text(time.time() - 7201)
    '2 h ago'
    """
    seconds = max(0.0, time.time() - moment)
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{int(seconds // length)} {unit} ago"
    return "just now" if seconds < 5 else f"{int(seconds)} s ago"

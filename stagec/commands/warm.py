"""`stagec warm`: programs compiled into a cache directory before anyone needs them."""

from __future__ import annotations

import contextlib
import os
import shlex
import stat
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import click

from stagec.commands.cache import disk_cache
from stagec.commands.calls import described
from stagec.commands.common import (
    bytes_text,
    describe,
    failure,
    print_json,
    seconds_text,
    target_option,
    usage,
    user_output,
)
from stagec.compiler import build, key
from stagec.compiler.cache import DiskCache
from stagec.compiler.progress import Progress
from stagec.core.config import config

# Without a bound, so that no program is evicted from an image.
_UNBOUNDED = 1 << 62

_EMPTY = "nothing to compile"
_STATUSES = ("compiled", "already there", _EMPTY, "failed")


class Job(NamedTuple):
    """One signature of one function, as it was written."""

    function: str
    arguments: tuple[str, ...]
    static: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    x64: bool = False
    fast_math: bool = False
    origin: str = ""


_SIGNATURE = [
    click.Argument(["function"], required=False),
    click.Argument(["arguments"], nargs=-1),
    click.Option(
        ["--target", "targets"],
        multiple=True,
        callback=target_option,
        help="What to compile for; may be repeated. By default STAGEC_TARGET, or this machine's own CPU.",
    ),
    click.Option(["--static"], multiple=True, metavar="NAME=VALUE", help="A static argument; may be repeated."),
    click.Option(["--x64"], is_flag=True, help="Enable 64-bit dtypes, as STAGEC_ENABLE_X64 does."),
    click.Option(["--fast-math"], is_flag=True, help="Allow rewrites that change rounding, as STAGEC_FAST_MATH does."),
]
# A line of a list is read as a command line of its own.
_LINE = click.Command("line", params=_SIGNATURE, add_help_option=False)


@click.option(
    "--cache-dir",
    type=click.Path(file_okay=False),
    help="The directory to write the programs to, readable for all users.",
)
@click.option(
    "--from",
    "lists",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False),
    help="A file with one function a line, with its arguments and options; may be repeated.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def _warm(
    function: str | None,
    arguments: tuple[str, ...],
    targets: tuple[str, ...],
    static: tuple[str, ...],
    x64: bool,
    fast_math: bool,
    cache_dir: str | None,
    lists: tuple[str, ...],
    as_json: bool,
) -> None:
    """Compile FUNCTION (module:name or file.py:name) for ARGUMENTS into the disk cache, without running it.

    ARGUMENTS are described as for `stagec dump`: f32[2,3], 2.0, {'w': f32[3]}.
    Programs that are there already are not compiled again. If one fails, the others
    are compiled nevertheless, and the exit code is 1.
    """
    jobs = [] if function is None else [Job(function, arguments, static, (), x64, fast_math)]
    if function is None and static:
        raise usage("--static goes with a function", "write --static into the lines of the list")
    for path in lists:
        jobs += read_list(path, x64, fast_math)
    if not jobs:
        raise usage("there is nothing to compile", "name a function with its arguments, or a list with --from")
    overrides: dict[str, Any] = {}
    if cache_dir is not None:
        # Layers would keep programs out of the directory.
        overrides = {
            "cache_dir": os.path.abspath(cache_dir),
            "cache_layers": "",
            "cache_max_bytes": _UNBOUNDED,
            "enable_cache": True,
        }
    with config.override(**overrides):
        store = disk_cache()
        _check_writable(store)
        rows = list(_shown(_run(jobs, targets, store), _count(jobs, targets), quiet=as_json))
        if cache_dir is not None:
            open_for_all(store, [row["key"] for row in rows if row["key"]])
            store.clear_kernels()
    failed = [row for row in rows if row["status"] == "failed"]
    if as_json:
        print_json({"directory": store.directory, "programs": rows})
    else:
        counts = Counter(row["status"] for row in rows)
        told = [status for status in _STATUSES if counts[status] or status != _EMPTY]
        click.echo(", ".join(f"{counts[status]} {status}" for status in told) + f", in {store.directory}")
    if failed:
        raise click.exceptions.Exit(1)


warm = click.command(
    "warm",
    short_help="Compile functions into a cache, ahead of their use.",
    epilog='Example: stagec warm serve:predict "f32[64,784]" --target cpu:x86-64-v3 --cache-dir /opt/programs',
)(_warm)
warm.params = [*_SIGNATURE, *warm.params]


def _check_writable(store: DiskCache) -> None:
    """Fail now rather than after each compile."""
    refusal = store.info().refusal
    if not refusal:
        try:
            os.makedirs(store.directory, exist_ok=True)
        except OSError as error:
            refusal = error.strerror or type(error).__name__
        else:
            refusal = "" if os.access(store.directory, os.W_OK | os.X_OK) else "it is not writable"
    if refusal:
        raise failure(
            f"programs cannot be written to {store.directory}: {refusal}", "name another directory with --cache-dir"
        )


def read_list(path: str, x64: bool = False, fast_math: bool = False) -> list[Job]:
    """The jobs of a text file: on each line what could follow `stagec warm`; `#` begins a comment.

    Raises:
      click.UsageError: a line cannot be parsed; the error names it.
    """
    jobs: list[Job] = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            origin = f"{os.path.basename(path)}:{number}"
            try:
                words = shlex.split(line, comments=True)
                if not words:
                    continue
                found = _LINE.make_context("line", words).params
            except (ValueError, click.UsageError) as error:
                reason = error.message if isinstance(error, click.UsageError) else f"{error}".lower()
                fix = "write what could follow `stagec warm`; quote arguments that hold quotes or spaces"
                raise usage(f"{origin}: {reason}", fix) from None
            jobs.append(
                Job(
                    found["function"],
                    found["arguments"],
                    found["static"],
                    found["targets"],
                    x64 or found["x64"],
                    fast_math or found["fast_math"],
                    origin,
                )
            )
    return jobs


def _count(jobs: Sequence[Job], targets: Sequence[str]) -> int:
    return sum(len(job.targets or targets) or 1 for job in jobs)


def _run(jobs: Sequence[Job], targets: Sequence[str], store: DiskCache) -> Iterator[dict[str, Any]]:
    for job in jobs:
        for target in job.targets or targets or (config.target,):
            yield _compile(job, target, store)


def _compile(job: Job, target: str, store: DiskCache) -> dict[str, Any]:
    """One line of the report."""
    row: dict[str, Any] = {
        "status": "failed",
        "function": job.function,
        "arguments": list(job.arguments),
        "target": target,
        "seconds": 0.0,
        "bytes": 0,
        "key": "",
        "error": "",
    }
    started = time.perf_counter()
    try:
        # The options that the process that runs the program will have from its environment.
        with config.override(
            target=target, enable_x64=job.x64 or config.enable_x64, fast_math=job.fast_math or config.fast_math
        ):
            _obtain(job, store, row)
    except Exception as error:  # one bad line must not keep the others from being compiled
        row["error"] = error.format_message() if isinstance(error, click.ClickException) else describe(error)
        if job.origin:
            row["error"] = f"{job.origin}: {row['error']}"
    row["seconds"] = round(time.perf_counter() - started, 3)
    return row


def _obtain(job: Job, store: DiskCache, row: dict[str, Any]) -> None:
    with user_output():
        function, args, kwargs = described(job.function, job.arguments, job.static)
        runnable = function.lower(*args, **kwargs)._runnable
    # A function that was jitted for a target keeps it, as it does at a call.
    row["target"] = str(runnable.code.options.target)
    if runnable.trivial:
        row["status"] = _EMPTY
        return
    digest = key.digest(runnable.code.options.contributors(runnable.code.graph))
    there = store.get(digest)
    if there is None:
        code = runnable.code
        build.obtain(code.graph, code.options, runnable.name, code.used_names, code.definition)
        there = store.get(digest)
        if there is None:
            raise failure(f"{job.function} was compiled, but could not be stored in {store.directory}")
        row["status"] = "compiled"
    else:
        row["status"] = "already there"
    row["key"] = digest
    row["bytes"] = os.path.getsize(there.path)


def open_for_all(store: DiskCache, keys: Sequence[str]) -> None:
    """Let every user read the programs: an image is built by root, and seldom run by it."""
    readable = stat.S_IRUSR | stat.S_IWUSR | stat.S_IRGRP | stat.S_IROTH
    searchable = stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH
    with contextlib.suppress(OSError):  # files of other users cannot be changed
        if keys:
            os.chmod(store.directory, readable | searchable)
    for name in keys:
        with contextlib.suppress(OSError):
            os.chmod(store._path(name), readable)


def _shown(rows: Iterator[dict[str, Any]], count: int, quiet: bool) -> Iterator[dict[str, Any]]:
    """Print a line for each row as it comes, and on a terminal a bar below them."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress as Bar, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = [TextColumn("compiling"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()]
    with Progress.silent(), Bar(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=count)
        for row in rows:
            if not quiet:
                click.echo(_line(row))
            if row["error"]:
                click.echo("  " + row["error"].replace("\n", "\n  "), err=True)
            bar.advance(task)
            yield row


def _line(row: dict[str, Any]) -> str:
    what = " ".join([row["function"], *row["arguments"]])
    cost = f"  {seconds_text(row['seconds'])}, {bytes_text(row['bytes'])}" if row["status"] == "compiled" else ""
    return f"{row['status']:<{max(map(len, _STATUSES))}}  {what}  for {row['target']}{cost}"

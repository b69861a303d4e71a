"""`stagec view`: a function at all stages, on one page, which may follow the function's file."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click
import numpy as np

import stagec
from stagec.api.arguments import ShapeDtypeStruct
from stagec.api.jit import JitFunction
from stagec.commands.calls import add_import_path, described, enabled_dtypes, trace_options
from stagec.commands.common import OutputFile, bytes_text, describe, failure, target_option, usage, user_output
from stagec.core.dims import is_open
from stagec.viewing.form import form
from stagec.viewing.gather import gather
from stagec.viewing.live import serve
from stagec.viewing.page import page


@click.command(
    short_help="Show a function at all stages, side by side, as you edit it.",
    epilog='Example: stagec view train:loss "f32[8,784]" "{\'w\': f32[784,10]}" --run -o loss.html',
)
@click.argument("function")
@click.argument("arguments", nargs=-1)
@click.option("-o", "--output", type=OutputFile(), help="The page to write.")
@click.option("--live", is_flag=True, help="Serve the page to this machine, and renew it when the file is saved.")
@click.option("--port", type=click.IntRange(0, 65535), help="Of --live: where to serve; by default any free port.")
@click.option("--run", "runs", is_flag=True, help="Run the function on random numbers, and show the kernels' times.")
@click.option("--target", callback=target_option, help="What to compile for, such as cpu:x86-64-v3 or cuda:sm_80.")
@trace_options
def view(
    function: str,
    arguments: tuple[str, ...],
    output: str | None,
    live: bool,
    port: int | None,
    runs: bool,
    target: str | None,
    fast_math: bool,
    x64: bool,
    static: tuple[str, ...],
) -> None:
    """Show FUNCTION (module:name or file.py:name) at each stage, from Python to assembly.

    The stages stand side by side. A click on a row shows what it comes from and
    what it becomes. The page is one file, and loads nothing from a network.
    With --live it is served instead, and shows what each change of the source
    changes in each stage. ARGUMENTS are written as for `stagec dump`.
    """
    if live == (output is not None):
        raise usage("one of -o and --live is needed", "write the page with -o page.html, or serve it with --live")
    if port is not None and not live:
        raise usage("--port goes with --live", "leave it out, or add --live")

    def data() -> tuple[Any, Callable[[], dict[str, str]]]:
        with user_output():
            call = described(function, arguments, static, target, fast_math)
            return _data(function, call, runs), lambda: form(*call)

    with enabled_dtypes(function, x64):
        if live:
            _serve(function, data, port or 0)
            return
        found, made = data()
        text = page({**found, "form": made()})
    with open(str(output), "w", encoding="utf-8") as file:
        file.write(text)
    click.echo(f"wrote {bytes_text(len(text.encode()))} to {output}", err=True)


def _serve(function: str, data: Callable[[], tuple[Any, Callable[[], dict[str, str]]]], port: int) -> None:
    where = function.rpartition(":")[0] or function
    file, folder = where, os.path.dirname(where)
    if not os.path.isfile(file):  # a module, which is not imported yet: it would not be followed
        add_import_path(os.getcwd())
        names = [os.path.join(*where.split("."), *more) + ".py" for more in ((), ("__init__",))]
        found = [path for f in sys.path for name in names if os.path.isfile(path := os.path.join(f, name))]
        if not found:
            raise failure(f"there is no file of {where!r} to follow", "name a file, as in model.py:loss")
        file, folder = found[0], os.getcwd()

    def started(address: str) -> None:
        click.echo(f"{address} follows {os.path.relpath(file)}; Ctrl-C ends it", err=True)

    def said(error: BaseException) -> str:
        if isinstance(error, click.ClickException):
            return error.format_message()
        return describe(error) if isinstance(error, Exception) else f"{type(error).__name__}: {error}"

    try:
        serve(data, said, file, folder, port, started)
    except OSError as error:
        raise failure(
            f"port {port} cannot be used: {error.strerror}", "choose another --port, or leave it out"
        ) from None


def _data(function: str, call: tuple[JitFunction[..., Any], list[Any], dict[str, Any]], runs: bool) -> Any:
    chosen, args, kwargs = call
    sizes = [n for leaf in stagec.tree.leaves((args, kwargs)) for n in getattr(leaf, "shape", ())]
    if runs and any(map(is_open, sizes)):
        open_sizes = ", ".join(dict.fromkeys(str(n) for n in sizes if is_open(n)))
        fix = "write numbers in their place to run it, or leave out --run"
        raise usage(f"--run needs sizes, but {function} is described with the open dimensions {open_sizes}", fix)
    found = gather(chosen, args, kwargs, (lambda: _profiled(chosen, args, kwargs)) if runs else None)
    if found is None:
        if 0 in sizes:
            raise failure(f"{function} computes nothing: an argument has no elements", "give sizes above 0")
        raise failure(f"{function} computes nothing", "choose a function that has operations on its arguments")
    return found


def _profiled(function: JitFunction[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> stagec.profile:
    """The profile of a call on random numbers."""
    numbers = np.random.default_rng(0)
    try:
        values = [_filled(a, numbers) for a in args]
        named = {name: _filled(a, numbers) for name, a in kwargs.items()}
    except MemoryError as error:
        fix = "describe smaller arrays, or leave out --run"
        raise failure(f"--run: there is no memory for the arguments: {error}", fix) from None
    with stagec.profile() as ran:
        function(*values, **named)
    return ran


def _filled(value: Any, numbers: np.random.Generator) -> Any:
    """An argument with random numbers in place of shapes; integers are 0, which is a valid index."""
    if isinstance(value, ShapeDtypeStruct):
        shape, dtype = value.shape, np.dtype(value.dtype)
        if dtype.kind in "biu":
            return np.zeros(shape, dtype)
        return numbers.standard_normal(shape).astype(dtype)
    if isinstance(value, Mapping):
        return type(value)({key: _filled(v, numbers) for key, v in value.items()})  # type: ignore[call-arg]
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return type(value)(_filled(v, numbers) for v in value)  # type: ignore[call-arg]
    return value

"""What the subcommands share: messages and units."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import sys
import tempfile
import time
import traceback
from importlib import metadata
from typing import Any

import click

import stagec
from stagec.artifact.container import ARTIFACT
from stagec.backends import Target
from stagec.core import location
from stagec.core.errors import StagecError, TargetError, message

_PACKAGES = ("numpy", "ml_dtypes", "iree-base-compiler", "iree-base-runtime", "platformdirs", "click", "rich")


def failure(what: str, fix: str = "") -> click.ClickException:
    """An error that ends the command with exit code 1."""
    return click.ClickException(message(what, fix=fix))


def usage(what: str, fix: str = "") -> click.UsageError:
    """A mistake on the command line: exit code 2."""
    return click.UsageError(message(what, fix=fix))


def target_option(_: click.Context, __: click.Parameter, value: Any) -> Any:
    """What was given for `--target`, once or several times: targets that are known."""
    for text in value if isinstance(value, tuple) else filter(None, [value]):
        try:
            Target.parse(text)
        except TargetError as error:
            raise click.UsageError(str(error)) from None
    return value


def user_output() -> contextlib.AbstractContextManager[Any]:
    """Send what the user's code prints, when it is imported and traced, to standard error: the rest is the result."""
    return contextlib.redirect_stdout(sys.stderr)


def describe(error: Exception) -> str:
    """An exception as one message: its own text, or its type and the user's line."""
    if isinstance(error, StagecError):
        return str(error)
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if isinstance(error, OSError) and error.strerror:
        text = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith((package, "<"))]
    # Errors of NumPy and of the standard library are raised in their files: show the user's line that called them.
    own = [f for f in frames if "site-packages" not in f.filename and f"{os.sep}lib{os.sep}python" not in f.filename]
    if own:
        line = location.Location(own[-1].filename, own[-1].lineno or 0, own[-1].name)
        text += f"\n  {line}"
    return text if "\n  Fix: " in text else text + "\n  Fix: see the whole traceback with `stagec --traceback ...`"


def unwritable(directory: str) -> str:
    """Why a directory, which need not exist yet, cannot be written to; empty if it can."""
    parent = os.path.abspath(directory)
    while not os.path.exists(parent):
        parent = os.path.dirname(parent)
    if not os.path.isdir(parent):
        return f"{parent} is not a directory"
    # Permissions are not enough: a file system can be mounted read-only, or be one of the kernel's, such as /proc.
    try:
        os.rmdir(tempfile.mkdtemp(prefix=".stagec-", dir=parent))
    except OSError as error:
        return f"{parent} cannot be written to: {error.strerror or type(error).__name__}"
    return ""


class OutputFile(click.Path):
    """A file that a command writes at its end; before, the option checks that it can be written."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False, writable=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = os.fsdecode(super().convert(value, param, ctx))
        folder = os.path.dirname(path) or "."
        if not os.path.exists(folder):
            raise failure(f"{path} cannot be written: there is no directory {folder}", f"mkdir -p {folder}")
        if refusal := unwritable(folder):
            raise failure(f"{path} cannot be written: {refusal}", "write to another directory")
        return path


def versions() -> dict[str, str | None]:
    """The versions of Python, of stagec and of the packages it uses; None for what is not installed."""
    found: dict[str, str | None] = {"python": platform.python_version(), "stagec": stagec.__version__}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = None
    return found


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


def is_module(path: str) -> bool:
    """Whether a path is a file with a StableHLO module, and not a function or an artifact."""
    if path.endswith((".py", ".stagec")) or not os.path.isfile(path):
        return False
    if path.endswith(".mlir"):
        return True
    with open(path, "rb") as file:
        return file.read(len(ARTIFACT.magic)) not in (ARTIFACT.magic, b"")

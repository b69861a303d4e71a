"""Calls of functions in a new process of Python, which may crash without harm to this one."""

from __future__ import annotations

import os
import pathlib
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from stagec.compiler import scratch
from stagec.compiler.mlir import load
from stagec.compiler.session import is_disturbed
from stagec.core.config import config
from stagec.core.errors import CompileError, message

# The directory that has the packages of this project.
_ROOT = str(pathlib.Path(__file__).resolve().parents[2])
# Whether this is such a process.
serves = False
# Where a refused module is kept.
_CACHE_OPTIONS = ("enable_cache", "cache_dir", "cache_max_bytes")


class CrashError(Exception):
    """The process was ended by what the argument names, such as a signal."""


def call(function: Callable[..., Any], program: str, /, *args: Any, timeout: float | None = None, **kwargs: Any) -> Any:
    """Call a function in a new process of Python.

    Args:
      function: a function of a module, which the new process imports.
      program: the program's name in errors.
      timeout: seconds, after which `subprocess.TimeoutExpired` is raised.

    Raises:
      CompileError: the function raised it, or the process failed.
      CrashError: the process was ended by the system.
    """
    with scratch.folder("compile") as folder:
        request, answer = (os.path.join(folder, n) for n in ("request", "answer"))
        with open(request, "wb") as file:
            pickle.dump((function, args, kwargs, {name: getattr(config, name) for name in _CACHE_OPTIONS}), file)
        # The new process searches the same directories, but Python's own first: this process may have imported a module
        # of the standard library before a directory with a module of the same name came first.
        script = (
            f"import sys; sys.path[0:1] = [{_ROOT!r}]; sys.path += {list(filter(None, sys.path))!r}; "
            f"from stagec.compiler import process; process._serve({request!r}, {answer!r})"
        )
        command = [sys.executable, "-c", script]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=timeout)
        if crash := _crash(done.returncode):
            raise CrashError(crash)
        printed = done.stderr.decode(errors="replace")
        if done.returncode:
            said = printed.strip().splitlines()
            raise CompileError(
                message(
                    f"{program} was not compiled: the compiler's process ended with status {done.returncode}"
                    + (f" ({said[-1]})" if said else ""),
                    fix="compile it before the process forks, or start processes with "
                    'multiprocessing.get_context("spawn")'
                    if is_disturbed()
                    else "",
                )
            )
        sys.stderr.write(printed)
        with open(answer, "rb") as file:
            found = pickle.load(file)
    if isinstance(found, CompileError):
        raise found
    return found


# What ends a process on Windows, where there are no signals: some of its statuses for errors.
_STATUSES = {
    0xC0000005: "access violation",
    0xC000001D: "illegal instruction",
    0xC0000094: "integer division by zero",
    0xC00000FD: "stack overflow",
    0xC0000374: "heap corruption",
    0xC0000409: "fail-fast exception",
}


def _crash(status: int) -> str:
    """What ended a process, by the status that `subprocess` has for it; empty if the process ended itself."""
    if status >= 0xC0000000:
        return _STATUSES.get(status, f"status {status:#x}")
    if status >= 0:
        return ""
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"


def _serve(request: str, answer: str) -> None:
    """Serve one request, in the new process."""
    global serves
    serves = True
    with open(request, "rb") as file:
        function, args, kwargs, options = pickle.load(file)
    load()
    # The parent process removes its folder.
    scratch.use(os.path.dirname(request))
    try:
        with config.override(**options):
            found = function(*args, **kwargs)
    except CompileError as error:
        found = error
    with open(answer, "wb") as file:
        pickle.dump(found, file)

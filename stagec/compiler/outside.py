"""Compilation in a new process, where the compiler's library cannot be used in this one or may crash it."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection
from typing import Any

from stagec.backends import Target
from stagec.compiler import culprit, diagnostics as diag, dispatches, driver, log, scratch, stages
from stagec.compiler.diagnostics import Attempt, Diagnostic
from stagec.compiler.flags import CompileOptions, ladder
from stagec.compiler.mlir import load
from stagec.compiler.session import is_disturbed, serialize
from stagec.core.config import config
from stagec.core.errors import CompileError, message

# The directory that has the packages of this project.
_ROOT = str(pathlib.Path(__file__).resolve().parents[2])
# Where a refused module is kept.
_CACHE_OPTIONS = ("enable_cache", "cache_dir", "cache_max_bytes")
# Time limit in seconds of the search for the operation that crashes the compiler.
_SEARCH_SECONDS = 60.0


class _CrashError(Exception):
    """The compiler's process was ended by what the argument names, such as a signal."""


def is_needed(target: Target) -> bool:
    """Whether compiles for a target need a process of their own."""
    return is_disturbed() or target.on.crashes


def compile_module(
    module: Any, target: Target, *, options: CompileOptions | None = None, name: str = "main"
) -> driver.CompilerResult:
    """As `driver.compile_module`, in a new process of Python, which takes half a second longer.

    After a crash, the remaining flag sets are tried, each in another process.

    Raises:
      CompileError: the compiler refused the module, or its process ended.
    """
    source, options = serialize(module), options or CompileOptions()
    first, *others = (flag_set.name for flag_set in ladder(target, options))
    attempts: list[Attempt] = []
    for flag_set in ("", *others):
        started = time.perf_counter()
        chosen = dataclasses.replace(options, flag_set=flag_set) if flag_set else options
        try:
            made = call(driver.compile_module, name, source, target, options=chosen, name=name)
            log.event("compile", "compiled", name=name, target=str(target), flags=made.flags, seconds=made.seconds)
            return made
        except _CrashError as crash:
            said = (Diagnostic("error", f"the compiler crashed ({crash})"),)
        except CompileError as error:
            if not attempts:
                raise
            said = (Diagnostic("error", str(error).splitlines()[0]),)
        attempts.append(Attempt(flag_set or first, time.perf_counter() - started, False, said))
    raise _crash_error(source, target, options, name, attempts)


def stage_text(
    module: Any, target: Target, stage: str, options: CompileOptions | None = None, name: str = "main"
) -> str:
    """As `stages.stage_text`, in a new process.

    Raises:
      CompileError: the compiler refused the module, or its process ended.
    """
    return _reported(stages.stage_text, serialize(module), target, stage, options or CompileOptions(), name)


def followed(
    module: Any, target: Target, phase: str, options: CompileOptions | None = None, name: str = "main"
) -> stages.Followed:
    """As `stages.followed`, in a new process.

    Raises:
      CompileError: the compiler refused the module, or its process ended.
    """
    return _reported(stages.followed, serialize(module), target, phase, options or CompileOptions(), name)


def dump_all(
    module: Any, target: Target, directory: str, options: CompileOptions | None = None, prefix: str = "main"
) -> list[str]:
    """As `stages.dump_all`, in a new process.

    Raises:
      CompileError: the module is not valid, or the process ended.
    """
    return _reported(stages.dump_all, serialize(module), target, directory, options or CompileOptions(), prefix)


def kernel_lines(
    module: Any, target: Target, kernels: Collection[str], options: CompileOptions, name: str
) -> dict[str, str]:
    """As `dispatches.kernel_lines`, in a new process.

    Raises:
      CompileError: the process ended.
    """
    return _reported(dispatches.kernel_lines, serialize(module), target, kernels, options, name)


def _reported(
    function: Callable[..., Any], source: bytes, target: Target, what: Any, options: CompileOptions, name: str
) -> Any:
    """Call a function for a module in a new process; a crash becomes a CompileError."""
    started = time.perf_counter()
    try:
        return call(function, name, source, target, what, options, name)
    except _CrashError as crash:
        said = (Diagnostic("error", f"the compiler crashed ({crash})"),)
        tried = Attempt(ladder(target, options)[0].name, time.perf_counter() - started, False, said)
        raise _crash_error(source, target, options, name, [tried]) from None


def _crash_error(
    source: bytes, target: Target, options: CompileOptions, name: str, attempts: list[Attempt]
) -> CompileError:
    """The error for a module that crashes the compiler; it names the operation if one alone does so."""
    with scratch.folder("compile") as folder:
        path = os.path.join(folder, "operation")
        try:
            call(culprit.search, name, source, target, path, timeout=_SEARCH_SECONDS)
        except _CrashError:
            first = attempts[0].diagnostics[0]
            found = culprit.found(path, first.message) if os.path.exists(path) else first  # ended before an operation
            attempts[0] = dataclasses.replace(attempts[0], diagnostics=(found,))
        except (CompileError, subprocess.TimeoutExpired):
            pass  # no operation is named
    saved = diag.save_module(source, name, options.dump)
    return diag.compile_error(name, str(target), attempts, saved, options.is_open)


def call(function: Callable[..., Any], program: str, /, *args: Any, timeout: float | None = None, **kwargs: Any) -> Any:
    """Call a function in a new process of Python.

    Args:
      function: a function of a module, which the new process imports.
      program: the program's name in errors.
      timeout: seconds, after which `subprocess.TimeoutExpired` is raised.

    Raises:
      CompileError: the function raised it, or the process failed.
    """
    with scratch.folder("compile") as folder:
        request, answer = (os.path.join(folder, n) for n in ("request", "answer"))
        with open(request, "wb") as file:
            pickle.dump((function, args, kwargs, {name: getattr(config, name) for name in _CACHE_OPTIONS}), file)
        # The new process searches the same directories, but Python's own first: this process may have imported a module
        # of the standard library before a directory with a module of the same name came first.
        script = (
            f"import sys; sys.path[0:1] = [{_ROOT!r}]; sys.path += {list(filter(None, sys.path))!r}; "
            f"from stagec.compiler import outside; outside._serve({request!r}, {answer!r})"
        )
        command = [sys.executable, "-c", script]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=timeout)
        if crash := _crash(done.returncode):
            raise _CrashError(crash)
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

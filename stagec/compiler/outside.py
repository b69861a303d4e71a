"""The compiler as the rest of stagec calls it: in a new process where it may crash, or cannot be used in this one."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import time
from collections.abc import Callable, Collection
from typing import Any

from stagec.backends import Target
from stagec.compiler import culprit, diagnostics as diag, dispatches, driver, process, scratch, stages
from stagec.compiler.diagnostics import Attempt
from stagec.compiler.flags import CompileOptions, ladder
from stagec.compiler.session import is_disturbed, serialize
from stagec.core.errors import CompileError

# Time limit in seconds of the search for the operation that crashes the compiler.
_SEARCH_SECONDS = 60.0


def compile_module(
    module: Any, target: Target, *, options: CompileOptions | None = None, name: str = "main"
) -> driver.CompilerResult:
    """As `driver.compile_module`; the error for a crash names the operation if one alone causes it.

    Raises:
      CompileError: the compiler refused the module, or its process ended.
    """
    options = options or CompileOptions()
    started = time.perf_counter()
    try:
        if is_disturbed():
            source = serialize(module)
            made: driver.CompilerResult = process.call(
                driver.compile_module, name, source, target, options=options, name=name
            )
            return made
        return driver.compile_module(module, target, options=options, name=name)
    except driver.CrashedError as error:
        attempts = error.attempts
    except process.CrashError as crash:
        attempts = [_crashed(target, options, started, crash)]
    raise _crash_error(serialize(module), target, options, name, attempts)


def stage_text(
    module: Any, target: Target, stage: str, options: CompileOptions | None = None, name: str = "main"
) -> str:
    """As `stages.stage_text`.

    Raises:
      CompileError: the compiler refused the module, or its process ended.
    """
    if stage in stages.OWN:
        return stages.stage_text(module, target, stage, options, name)
    return _called(stages.stage_text, module, target, stage, options or CompileOptions(), name)


def followed(
    module: Any, target: Target, phase: str, options: CompileOptions | None = None, name: str = "main"
) -> stages.Followed:
    """As `stages.followed`.

    Raises:
      CompileError: the compiler refused the module, or its process ended.
    """
    return _called(stages.followed, module, target, phase, options or CompileOptions(), name)


def dump_all(
    module: Any, target: Target, directory: str, options: CompileOptions | None = None, prefix: str = "main"
) -> list[str]:
    """As `stages.dump_all`.

    Raises:
      CompileError: the module is not valid, or the process ended.
    """
    return _called(stages.dump_all, module, target, directory, options or CompileOptions(), prefix)


def kernel_lines(
    module: Any, target: Target, kernels: Collection[str], options: CompileOptions, name: str
) -> dict[str, str]:
    """As `dispatches.kernel_lines`.

    Raises:
      CompileError: the process ended.
    """
    return _called(dispatches.kernel_lines, module, target, kernels, options, name)


def _called(
    function: Callable[..., Any], module: Any, target: Target, what: Any, options: CompileOptions, name: str
) -> Any:
    """Call a function for a module, in a new process if the compiler may crash; a crash becomes a CompileError."""
    source = serialize(module)
    if not (is_disturbed() or driver.may_crash(source, target)):
        return function(source, target, what, options, name)
    started = time.perf_counter()
    try:
        return process.call(function, name, source, target, what, options, name)
    except process.CrashError as crash:
        raise _crash_error(source, target, options, name, [_crashed(target, options, started, crash)]) from None


def _crashed(target: Target, options: CompileOptions, started: float, crash: Exception) -> Attempt:
    return driver.crashed(ladder(target, options)[0].name, time.perf_counter() - started, crash)


def _crash_error(
    source: bytes, target: Target, options: CompileOptions, name: str, attempts: list[Attempt]
) -> CompileError:
    """The error for a module that crashes the compiler; it names the operation if one alone does so."""
    if target.on.crashes:
        with scratch.folder("compile") as folder:
            path = os.path.join(folder, "operation")
            try:
                process.call(culprit.search, name, source, target, path, timeout=_SEARCH_SECONDS)
            except process.CrashError:
                first = attempts[0]
                if os.path.exists(path):  # else it ended before an operation
                    found = culprit.found(path, first.error)
                    attempts = [dataclasses.replace(first, diagnostics=(found,)), *attempts[1:]]
            except (CompileError, subprocess.TimeoutExpired):
                pass  # no operation is named
    saved = diag.save_module(source, name, options.dump)
    return diag.compile_error(name, str(target), attempts, saved, options.is_open)

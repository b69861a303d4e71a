"""The compiler as the rest of stagec calls it: in a new process where it may crash, or cannot be used in this one."""

from __future__ import annotations

import dataclasses
import functools
import os
import subprocess
import time
from collections.abc import Callable
from typing import Any, TypeVar, cast

from stagec.backends import Target
from stagec.compiler import culprit, diagnostics as diag, driver, process, scratch
from stagec.compiler.diagnostics import Attempt
from stagec.compiler.flags import DEFAULT, CompileOptions, ladder
from stagec.compiler.session import is_disturbed, serialize
from stagec.core.errors import CompileError

_F = TypeVar("_F", bound=Callable[..., Any])
# Time limit in seconds of the search for the operation that crashes the compiler.
_SEARCH_SECONDS = 60.0


def compile_module(
    module: Any, target: Target, *, options: CompileOptions = DEFAULT, name: str = "main"
) -> driver.CompilerResult:
    """As `driver.compile_module`; the error for a crash names the operation if one alone causes it.

    Raises:
      CompileError: the compiler refused the module, or its process ended.
    """
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


def guarded(function: _F) -> _F:
    """Let a function of a module run in a new process if the compiler may crash on it; a crash becomes a CompileError.

    Its arguments are the module's bytes, the target, whatever else it needs, the `CompileOptions`, and the program's
    name in errors. The function that it becomes takes every kind of module that `driver.compile_module` takes.
    """

    @functools.wraps(function)
    def call(module: Any, target: Target, what: Any, options: CompileOptions = DEFAULT, name: str = "main") -> Any:
        source = serialize(module)
        if process.serves or not (is_disturbed() or driver.may_crash(source, target)):
            return function(source, target, what, options, name)
        started = time.perf_counter()
        try:
            return process.call(call, name, source, target, what, options, name)
        except process.CrashError as crash:
            raise _crash_error(source, target, options, name, [_crashed(target, options, started, crash)]) from None

    return cast("_F", call)


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
    return diag.compile_error(source, name, str(target), attempts, options.is_open)

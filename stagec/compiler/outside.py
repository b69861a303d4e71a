"""Compiles in a process of their own, for one in which the compiler's library cannot be used."""

from __future__ import annotations

import importlib
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
from typing import Any

from stagec.backends import Target
from stagec.compiler.flags import CompileOptions
from stagec.core.errors import CompileError, message

# The directory that has the packages of this project.
_ROOT = str(pathlib.Path(__file__).resolve().parents[2])


def compile_module(source: bytes, target: Target, options: CompileOptions, name: str) -> Any:
    """As `driver.compile_module`, in a new process of Python, which takes half a second longer.

    Raises:
      CompileError: the compiler refused the module, or its process ended.
    """
    with tempfile.TemporaryDirectory(prefix="stagec-compile-") as folder:
        request, answer = (os.path.join(folder, n) for n in ("request", "answer"))
        with open(request, "wb") as file:
            pickle.dump((source, target, options, name), file)
        # Modules are found where they are here; but first come Python's own, which this process may have imported
        # before a directory with one of the same name was put in front.
        script = (
            f"import sys; sys.path[0:1] = [{_ROOT!r}]; sys.path += {list(filter(None, sys.path))!r}; "
            f"from stagec.compiler import outside; outside._serve({request!r}, {answer!r})"
        )
        done = subprocess.run([sys.executable, "-c", script], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        printed = done.stderr.decode(errors="replace")
        if done.returncode:
            said = printed.strip().splitlines()
            raise CompileError(
                message(
                    f"{name} was not compiled: the compiler's process ended with status {done.returncode}"
                    + (f" ({said[-1]})" if said else ""),
                    fix="compile it before the process forks, or start processes with "
                    'multiprocessing.get_context("spawn")',
                )
            )
        sys.stderr.write(printed)
        with open(answer, "rb") as file:
            found = pickle.load(file)
    if isinstance(found, CompileError):
        raise found
    return found


def _serve(request: str, answer: str) -> None:
    """What the new process does."""
    driver = importlib.import_module("stagec.compiler.driver")  # which imports this module
    with open(request, "rb") as file:
        source, target, options, name = pickle.load(file)
    try:
        found = driver.compile_module(source, target, options=options, name=name)
    except CompileError as error:
        found = error
    with open(answer, "wb") as file:
        pickle.dump(found, file)

"""Direct compilation of modules that hold nothing but kernels written by stagec and callbacks.

The compiler's pipelines for whole programs take three quarters of the time of a small compile, and have nothing to do
for such a module. So the compiler generates machine code for the kernels only; they are linked here, and the host
program is written in the instructions of IREE's virtual machine.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from passes.printed import PrintedError
from stagec.compiler import log, scratch
from stagec.compiler.diagnostics import Attempt, Diagnostic
from stagec.compiler.direct import host, library, linker, reading
from stagec.compiler.direct.program import NotDirectError, Program
from stagec.compiler.direct.reading import is_direct as is_direct
from stagec.compiler.flags import FlagSet
from stagec.compiler.invocation import invoked
from stagec.compiler.mlir import ir
from stagec.compiler.session import new_session
from stagec.runtime import interruptible
from stagec.runtime.device import worker_count


def run(session: Any, module: Any, source: bytes, flag_set: FlagSet, asynchronous: bool) -> tuple[bytes, Attempt, bool]:
    """Compile a module of kernels.

    Args:
      session: the compiler's, whose flags are set.
      module: an `ir.Module` of that session, in which kernels have been formed; they are moved out of it.
      source: the same as bytes.
      flag_set: a name for the attempt, and the compiler's flags.
      asynchronous: whether results are signalled by a fence.

    Returns:
      the program (empty if the module is not one of kernels alone, or the compiler refuses it), a record, and whether
      a result may be the memory of an argument or of another result.
    """
    return interruptible.call(lambda: _run(session, module, source, flag_set, asynchronous))


def _run(
    session: Any, module: Any, source: bytes, flag_set: FlagSet, asynchronous: bool
) -> tuple[bytes, Attempt, bool]:
    started = time.perf_counter()
    output, reasons, may_alias = b"", [], True
    try:
        output, may_alias = _compiled(session, module, source, flag_set.flags, asynchronous)
    except NotDirectError as error:
        reasons.append(Diagnostic("error", str(error)))
    except PrintedError:  # the release of the compiler is not the one that stagec knows
        raise
    except Exception as error:  # a fault of stagec's, which compilation through all phases does not have
        log.event("compile", f"no direct compilation: {type(error).__name__}: {error}")
        reasons.append(Diagnostic("error", "a fault of stagec's"))
    return output, Attempt(flag_set.name, time.perf_counter() - started, bool(output), tuple(reasons)), may_alias


def _compiled(
    session: Any, module: Any, source: bytes, flags: tuple[str, ...], asynchronous: bool
) -> tuple[bytes, bool]:
    described = reading.read(module)
    shares = [s for s in library.shared_out(module, library.describe(module, described), worker_count()) if s]
    if asynchronous and described.host_calls:
        raise NotDirectError("a callback of a program that runs while Python goes on")
    target = library.description(flags) if shares else ""
    flags = (*flags, *library.FLAGS)
    # The compiler makes the code of one library in one thread; other threads have sessions of their own.
    others = [_Work(partial(_parsed_library, source, described, share, flags, target)) for share in shares[1:]]
    for other in others:
        other.start()
    made = []
    try:
        session.set_flags(*flags)
        made = [_library(session, module, described, share, target) for share in shares[:1]]
    finally:
        for other in others:
            other.join()
    made += [other.result() for other in others]
    with invoked(session) as run:
        text = host.text(described, [host.Library(*row) for row in zip(made, shares)], asynchronous)
        _check(run.parse(text.encode()), run.found)
        return run.bytecode(), described.may_alias


class _Work(threading.Thread):
    """A thread with a result.

    `concurrent.futures` is not used: importing it here could deadlock with a fork in another thread.
    """

    def __init__(self, function: Callable[[], bytes]) -> None:
        super().__init__(name="stagec-library", daemon=True)
        self._function = function
        self._made = b""
        self._error: BaseException | None = None

    def run(self) -> None:
        try:
            self._made = self._function()
        except BaseException as error:
            self._error = error

    def result(self) -> bytes:
        """What the function returned, or raised, once it is done."""
        if self._error is not None:
            raise self._error
        return self._made


def _parsed_library(
    source: bytes, described: Program, kernels: Sequence[library.Kernel], flags: tuple[str, ...], target: str
) -> bytes:
    """A shared library with some kernels of a module, made in a session of its own."""
    with new_session() as session:
        session.set_flags(*flags)
        return _library(session, ir().Module.parse(source, session.context), described, kernels, target)


def _library(session: Any, module: Any, described: Program, kernels: Sequence[library.Kernel], target: str) -> bytes:
    """A shared library with some kernels of a module, which are moved out of it."""
    with scratch.folder() as folder, invoked(session) as run:
        path = os.path.join(folder, "kernels.o")
        run.verify_between_passes(False)
        run.take(library.assembled(module, described, kernels, target, path).operation)
        _check(run.execute(1), run.found)
        with open(path, "rb") as file:
            return linker.linked(file.read(), f"{library.EXECUTABLE}_library_query")


def _check(ok: bool, found: list[Diagnostic]) -> None:
    if not ok:
        errors = [d.headline for d in found if d.severity == "error"]
        raise NotDirectError(errors[0] if errors else "the compiler gave no reason")

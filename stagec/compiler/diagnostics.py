"""The compiler's diagnostics as values, and the error that names the user's line."""

from __future__ import annotations

import contextlib
import ctypes
import linecache
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from stagec.compiler import cache, refused, scratch
from stagec.core.errors import CompileError, message, notebook_cell

_SEVERITIES = ("note", "warning", "error", "remark")
_LOCATED = re.compile(r"^(?P<file>[^\n]*?):(?P<line>\d+):(?P<column>\d+): (?P<text>.*)$", re.DOTALL)
# The file names of operations without a location, and of modules given as text.
_NO_FILE = ("", "-", "source.mlir", "[unknown]", "unknown")


@dataclass(frozen=True)
class Diagnostic:
    """One message of the compiler, with the line that it is about (0 if it named none)."""

    severity: str
    message: str
    file: str = ""
    line: int = 0

    @property
    def headline(self) -> str:
        """The message's first line, without the dump of the operation that follows."""
        return self.message.split("\n", 1)[0].strip()

    def __str__(self) -> str:
        prefix = f"{self.file}:{self.line}: " if self.file else ""
        return f"{prefix}{self.severity}: {self.headline}"


@dataclass(frozen=True)
class Attempt:
    """One run of the compiler: the flag set, the time it took, and its diagnostics."""

    flag_set: str
    seconds: float
    ok: bool
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def error(self) -> str:
        """The first error, or empty."""
        return next((d.headline for d in self.diagnostics if d.severity == "error"), "")


def parse(severity: int, text: str) -> Diagnostic:
    """Read one diagnostic as the compiler words it: `file:line:column: message`.

    >>> parse(2, "model.py:12:5: failed to legalize operation 'x'").line
    12
    """
    name = _SEVERITIES[severity] if 0 <= severity < len(_SEVERITIES) else "error"
    match = _LOCATED.match(text)
    if match is None:
        return Diagnostic(name, text.strip())
    file, line = match["file"], int(match["line"])
    if file in _NO_FILE or line == 0:
        file, line = "", 0
    return Diagnostic(name, match["text"].strip(), file, line)


_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)


@contextlib.contextmanager
def collecting(library: Any, invocation_pointer: Any) -> Iterator[list[Diagnostic]]:
    """Gather an invocation's diagnostics; leave the block only after the invocation is closed.

    Args:
      library: the compiler's ctypes library.
      invocation_pointer: its `iree_compiler_invocation_t`.
    """
    found: list[Diagnostic] = []

    def receive(severity: int, pointer: int | None, size: int, _: object) -> None:
        # The whole module may follow the first lines of a message.
        text = ctypes.string_at(pointer, min(size, 4096)).decode(errors="replace") if pointer else ""
        found.append(parse(severity, text))

    callback = _CALLBACK(receive)
    # A fresh prototype: argtypes set on the shared function would race between threads.
    prototype = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, _CALLBACK, ctypes.c_void_p)
    prototype(("ireeCompilerInvocationEnableCallbackDiagnostics", library))(invocation_pointer, 0, callback, None)
    yield found
    # The callback must outlive the invocation; this reference keeps it.
    del callback


@dataclass(frozen=True)
class LinkerLog:
    """Where the linker's own output goes, instead of to this process's stderr.

    The compiler runs the linker through the shell and does not quote its path. So on POSIX, the
    "path" that it gets is a small command, which quotes the real path (it may contain spaces),
    redirects the linker's messages to a file, and records a failure there.
    """

    path: str

    def flags(self) -> tuple[str, ...]:
        """Flags that send the embedded linker's messages to this log."""
        linker = linker_path()
        if not linker or "'" in linker or any(c in linker for c in '"$`\\'):
            return ()
        # A process that ends while it links has removed the log.
        script = f'{{ "{linker}" "$@" 2>>"{self.path}" || echo linking failed >>"{self.path}"; }} 2>/dev/null'
        return (f"--iree-llvmcpu-embedded-linker-path=sh -c '{script}' iree-lld",)

    def diagnostics(self) -> list[Diagnostic]:
        """The linker's errors; empty when it succeeded."""
        text = ""
        if os.path.exists(self.path):
            with open(self.path, encoding="utf-8", errors="replace") as file:
                text = file.read()
        if "linking failed" not in text:
            return []
        errors = [line.split("error: ", 1)[1] for line in text.splitlines() if "error: " in line]
        return [Diagnostic("error", f"the linker failed: {error}") for error in dict.fromkeys(errors)] or [
            Diagnostic("error", f"the linker failed: {text.strip()}")
        ]


@contextlib.contextmanager
def linker_log() -> Iterator[LinkerLog | None]:
    """A log for one compile's links, or None where the shell is not a POSIX one."""
    if os.name != "posix":
        yield None
        return
    with scratch.folder("link") as folder:
        path = os.path.join(folder, "log")
        yield LinkerLog(path) if re.fullmatch(r"[\w./+-]+", path) else None


def linker_path() -> str:
    """The linker in the compiler's package; empty if it is not there."""
    import iree.compiler._mlir_libs as libraries

    path = os.path.join(os.path.dirname(libraries.__file__ or ""), "iree-lld")
    return path if os.path.exists(path) else ""


def save_module(source: bytes, name: str) -> str:
    """Keep a refused module in the disk cache, or among temporary files; its path, or why it was not written."""
    store = cache.default_cache()
    if store is not None:
        with contextlib.suppress(OSError):
            return store.keep_refused(source, name)
    try:
        return refused.keep(source, name, tempfile.gettempdir())
    except OSError as error:
        return f"not saved ({error.strerror or error})"


def compile_error(
    source: bytes, name: str, target: str, attempts: Sequence[Attempt], is_open: bool = False
) -> CompileError:
    """The error for a module, with open dimensions or without, that every flag set refused; the module is kept."""
    errors = [d for attempt in attempts for d in attempt.diagnostics if d.severity == "error"]
    located = next((d for d in errors if d.file.endswith(".py")), next((d for d in errors if d.file), None))
    # The linker's own messages say more than the "failed to serialize executables" of the compiler.
    told = next((d for d in errors if d.message.startswith("the linker failed")), errors[0] if errors else None)
    reason = told.headline if told else "the compiler gave no reason"
    rows = [("target", target, "")]
    rows += [(f"flags {a.flag_set!r}", a.error or "no message", f"{a.seconds:.2f} s") for a in attempts]
    rows.append(("module", save_module(source, name), ""))
    advice = _advice(reason, target)
    fix = f"{advice}; or leave the dimensions static" if is_open else advice
    return CompileError(message(f"{name} was not compiled: {reason}", source_line(located), rows, fix))


def source_line(diagnostic: Diagnostic | None) -> str:
    """`file.py:12:  the line's text`, or empty when the location is not known."""
    if diagnostic is None or not diagnostic.file:
        return ""
    text = linecache.getline(diagnostic.file, diagnostic.line).strip()
    return f"{notebook_cell(diagnostic.file) or diagnostic.file}:{diagnostic.line}:  {text}".rstrip(": ")


def _advice(reason: str, target: str) -> str:
    if "undefined symbol" in reason:
        return "this function has no portable form in this dtype; compute it in float32, or outside jit"
    if "crashed" in reason:
        return f"use another operation, dtype or shape for {target}, or compute it outside jit; report the saved module"
    if "legalize" in reason or "unsupported" in reason or "unregistered" in reason:
        return f"the operation above does not exist for {target}; use another operation or dtype, or do it outside jit"
    if "stack allocation" in reason:
        return "split the expression above, so that less of it becomes one kernel"
    return "run the function under stagec.disable_jit(), and report the saved module"


def warnings(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """The warnings among `diagnostics`, each once."""
    return tuple(dict.fromkeys(d for d in diagnostics if d.severity == "warning"))

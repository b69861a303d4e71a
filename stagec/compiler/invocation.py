"""One use of the compiler's library: a session with its flags, an invocation, and its diagnostics."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
from collections.abc import Iterator
from typing import Any

from passes.bindings import new_context
from stagec.compiler import diagnostics as diag
from stagec.compiler.diagnostics import Diagnostic
from stagec.compiler.session import api, new_session, parsed, serialize, shares_contexts

# The library keeps pointers to option texts; this keeps the texts.
_kept: dict[str, bytes] = {}


class Invocation:
    """A module on its way through the compiler.

    Attributes:
      session: the session that it belongs to.
      found: the diagnostics so far.
    """

    def __init__(self, session: Any, pointer: Any, found: list[Diagnostic]) -> None:
        self.session, self.found, self._invocation = session, found, pointer

    def parse(self, source: bytes) -> bool:
        """Take in MLIR bytecode or text."""
        # The parser wants text to end in a null byte, and bytecode to be as it is.
        data = source if source[:4] == b"ML\xefR" or source.endswith(b"\0") else source + b"\0"
        return bool(self._invocation.parse_source(api().Source.wrap_buffer(self.session, data)))

    def execute(self, pipeline: int = 0, **phases: str) -> bool:
        """Run one of the compiler's pipelines: 0 for programs, 1 for executables alone.

        Args:
          phases: `CompileFromPhase` and `CompileToPhase`.
        """
        for name, value in phases.items():
            if value:
                self._set(name, _kept.setdefault(value, value.encode()))
        return bool(self._invocation.execute(pipeline))

    def verify_between_passes(self, on: bool) -> None:
        """Whether the compiler verifies the module after every pass."""
        self._set("VerifyIR", on)

    @property
    def context(self) -> Any:
        """The context of modules for `take`."""
        return self.session.context if shares_contexts() else new_context()

    def exported(self) -> Any:
        """The module, as an operation of `ir`; in a free-threaded build of Python, a copy of it."""
        if shares_contexts():
            return self._invocation.export_module()
        return parsed(readable(self._output("ir_bytecode"))).operation

    def take(self, module: Any) -> bool:
        """Continue with another module of the context; returns whether it verifies.

        The module's faults are among the diagnostics.
        """
        if not shares_contexts():
            return self.parse(readable(serialize(module)))  # which verifies it
        self._invocation.import_module(module)
        # `module.verify()` would hold the GIL, which the compiler's own threads need to report diagnostics.
        bindings = _bindings()
        pointer = bindings.PyCapsule_GetPointer(module._CAPIPtr, bindings.MLIR_PYTHON_CAPSULE_OPERATION)
        return bool(ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p)(("mlirOperationVerify", _library()))(pointer))

    def text(self) -> bytes:
        """The module as MLIR text."""
        return self._output("ir")

    def bytecode(self) -> bytes:
        """The program for the runtime."""
        return self._output("vm_bytecode")

    def _output(self, kind: str) -> bytes:
        with api().Output.open_membuffer() as memory:
            getattr(self._invocation, f"output_{kind}")(memory)
            return bytes(memory.map_memory())

    def _set(self, name: str, value: bytes | bool) -> None:
        # A fresh prototype: argtypes set on the shared function would race between threads.
        kind = ctypes.c_char_p if isinstance(value, bytes) else ctypes.c_bool
        function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, kind)((f"ireeCompilerInvocationSet{name}", _library()))
        function(self._invocation._inv_p, value)


@contextlib.contextmanager
def invocation(*flags: str) -> Iterator[Invocation]:
    """A new invocation, in a session with these flags.

    Raises:
      ValueError: a flag is unknown.
    """
    with new_session() as session:
        session.set_flags(*flags)
        with invoked(session) as found:
            yield found


@contextlib.contextmanager
def invoked(session: Any) -> Iterator[Invocation]:
    """A new invocation in a session."""
    found = session.invocation()
    with diag.collecting(_library(), found._inv_p) as said:
        try:
            yield Invocation(session, found, said)
        finally:
            found.close()


def readable(bytecode: bytes) -> bytes:
    """Bytecode with the schedule of `phase_workarounds.before_stream` as the compiler reads it."""
    written, read = (b"#stream.partitioning_config<%s>" % text for text in (b"favor-debug", b'"debug"    '))
    return bytecode.replace(written, read)  # of the same length


def _bindings() -> Any:
    return importlib.import_module("iree.compiler.api.ctypes_dl")


def _library() -> Any:
    return _bindings()._dylib

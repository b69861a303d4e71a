"""Parses modules that others wrote in a process of its own first: they may crash MLIR's parser, or keep it busy."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
from typing import Any

from passes import nesting

# Time limit in seconds for ordinary modules; large ones get more.
_SECONDS = 20
_BYTES_A_SECOND = 1 << 20
# What the process says, at most.
_CHARACTERS = 4000
# The script of the process. It executes nothing that it reads. Modules are printed after they are parsed, since this
# expands aliases, and finds how deep bytecode nests. The stack and the memory are smaller than those of the process
# that parses the module next.
_SCRIPT = """
import json, sys, threading
sys.path[:] = {path!r}
from passes import nesting
from iree.compiler import ir

def limit(size):
    try:
        import resource
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_DATA, ((2 << 30) + 32 * size,) * 2)
    except (ImportError, OSError, ValueError):
        pass

def fault(source):
    context = ir.Context()
    context.enable_multithreading(False)
    context.allow_unregistered_dialects = True
    try:
        operation = ir.Module.parse(source, context).operation
    except Exception as error:
        return str(error).strip() or "MLIR's parser refused it"
    shown = operation.get_asm(binary=True, large_elements_limit=8, large_resource_limit=8, enable_debug_info=True)
    found = nesting.depth(shown)
    return nesting.too_deep(found) if found > nesting.DEEPEST else ""

def run():
    while size := int(sys.stdin.buffer.readline() or 0):
        limit(size)
        said = fault(sys.stdin.buffer.read(size))[:{characters}]
        sys.stdout.write("\\0" + json.dumps(said) + "\\n")
        sys.stdout.flush()

threading.stack_size(2 << 20)
thread = threading.Thread(target=run)
thread.start()
thread.join()
"""


class Trial:
    """A process that parses modules, for a `with` block. It starts at once, and the caller may work meanwhile."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Trial:
        # Without an interpreter, as in applications that embed Python, only the nesting of text is looked at.
        if sys.executable:
            script = _SCRIPT.format(path=[entry for entry in sys.path if entry], characters=_CHARACTERS)
            command = [sys.executable, "-I", "-c", script]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
        return self

    def __exit__(self, *_: Any) -> None:
        if self._process is not None:
            self._process.kill()
            with contextlib.suppress(OSError):
                self._process.communicate()

    def fault(self, source: bytes) -> str:
        """What is wrong with text or bytecode; empty where it can be parsed."""
        found = nesting.depth(source) if not source.startswith(b"ML\xefR") else 0
        if found > nesting.DEEPEST:
            return nesting.too_deep(found)
        if self._process is None or not source:
            return ""
        late = threading.Timer(_SECONDS + len(source) // _BYTES_A_SECOND, self._process.kill)
        late.daemon = True
        late.start()
        try:
            return self._answer(self._process, source, late)
        finally:
            late.cancel()

    def _answer(self, process: subprocess.Popen[bytes], source: bytes, late: threading.Timer) -> str:
        assert process.stdin is not None and process.stdout is not None
        with contextlib.suppress(BrokenPipeError):  # its last words are read below
            process.stdin.write(b"%d\n" % len(source) + source)
            process.stdin.flush()
        said = b""
        for line in process.stdout:
            if line.startswith(b"\0"):
                return str(json.loads(line[1:]))
            said += line
        status = process.wait()
        if not late.is_alive():
            return "MLIR's parser does not terminate"
        words = said.decode(errors="replace").strip()[-_CHARACTERS:]
        return f"MLIR's parser ended its process with status {status}" + (f": {words}" if words else "")

"""Parses bytecode in a new process first: damaged bytecode may crash MLIR's parser, or keep it busy forever."""

from __future__ import annotations

import subprocess
import sys

# Time limit in seconds for ordinary modules; large ones get more.
_SECONDS = 20
_BYTES_A_SECOND = 1 << 20
# The script of the process: it runs no code of stagec, and executes nothing that it reads.
_SCRIPT = """
import sys
sys.path += {path!r}
from iree.compiler import ir
context = ir.Context()
context.allow_unregistered_dialects = True
try:
    ir.Module.parse(sys.stdin.buffer.read(), context)
except (ir.MLIRError, ValueError) as error:
    sys.exit(str(error))
"""


def fault(bytecode: bytes) -> str:
    """What is wrong with bytecode; empty where it can be parsed."""
    if not sys.executable:
        return ""
    script = _SCRIPT.format(path=[entry for entry in sys.path if entry])
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-c", script],
            input=bytecode,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=_SECONDS + len(bytecode) // _BYTES_A_SECOND,
        )
    except subprocess.TimeoutExpired:
        return "MLIR's parser does not terminate"
    if done.returncode == 0:
        return ""
    if done.returncode == 1:
        return done.stderr.decode(errors="replace").strip() or "MLIR's parser refused it"
    return f"MLIR's parser ended its process with status {done.returncode}"

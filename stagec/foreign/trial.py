"""Parses bytecode in a process of its own first: damaged bytecode may crash MLIR's parser, or keep it busy for ever."""

from __future__ import annotations

import subprocess
import sys

# For ordinary modules; more for large ones.
_SECONDS = 20
_BYTES_A_SECOND = 1 << 20
# What the process runs: no code of stagec, and nothing of what it reads is executed.
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
        return "MLIR's parser does not come to an end"
    if done.returncode == 0:
        return ""
    if done.returncode == 1:
        return done.stderr.decode(errors="replace").strip() or "MLIR's parser refused it"
    return f"MLIR's parser ended its process with status {done.returncode}"

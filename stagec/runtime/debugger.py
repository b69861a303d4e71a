"""Python's debugger at a line of a compiled program."""

from __future__ import annotations

import bdb
import pdb
from typing import Any


class _Debugger(pdb.Pdb):
    """Remembers whether the user left it to end the program."""

    left = False

    def set_quit(self) -> None:
        self.left = True
        super().set_quit()


def stop(filename: str, line: int, variables: dict[str, Any]) -> None:
    """Debug at a line of a file, with these variables.

    Raises:
      BdbQuit: the user quit.
    """
    # A statement at that line, so that the debugger lists the source around it.
    code = compile("\n" * (line - 1) + "pass", filename, "exec")
    debugger = _Debugger(nosigint=True)  # Ctrl-C stays stagec's
    debugger.run(code, variables)
    if debugger.left:
        raise bdb.BdbQuit

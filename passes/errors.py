"""The errors of this package, and the layout of every message.

`StagecError` is defined here, below everything else, so that the errors of both packages
have one base. `stagec.core.errors` defines the rest of the tree.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from types import FrameType

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def message(what: str, where: str = "", values: Iterable[Sequence[str]] = (), fix: str = "") -> str:
    """Format an error message in the layout that all of them share.

    Args:
      what: the headline, one sentence.
      where: `file.py:12 in function:  source line`, or empty.
      values: rows of one length: name, description, and in stagec the origin.
      fix: what the user can do.
    """
    lines = [what]
    if where:
        lines.append(f"  {where}")
    rows = list(values)
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines += ["    " + "  ".join([f"{text:<{n}}" for text, n in zip(row, widths)]).rstrip() for row in rows]
    if fix:
        lines.append(f"  Fix: {fix}")
    return "\n".join(lines)


def is_internal(file: str) -> bool:
    """Whether a source file belongs to this package."""
    return os.path.abspath(file).startswith(_PACKAGE)


def caller() -> str:
    """The innermost running line outside this package, as `file.py:12`."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_internal(frame.f_code.co_filename):
        frame = frame.f_back
    return f"{shown_file(frame.f_code.co_filename)}:{frame.f_lineno}" if frame is not None else ""


def shown_file(file: str) -> str:
    """What users call a source file: its name without folders, or the notebook's cell."""
    return notebook_cell(file) or os.path.basename(file)


def notebook_cell(file: str) -> str:
    """The cell that IPython compiled under a file name, as in `Cell In[15]`; empty for other files."""
    find = getattr(sys.modules.get("IPython"), "get_ipython", None)
    shell = find() if find is not None else None
    label = getattr(getattr(shell, "compile", None), "format_code_name", lambda file: None)(file)
    return " ".join(label) if label is not None else ""


class StagecError(Exception):
    """The base of every error that stagec raises on purpose."""


# Users import it from this module.
StagecError.__module__ = "stagec.errors"


class PassError(StagecError):
    """The base of every error that this package raises on purpose."""


class PatternError(PassError, RuntimeError):
    """A pattern raised an exception, never stopped, or returned something that cannot replace its op.

    Attributes:
      pattern: the name of the pattern that raised or returned it; empty for other errors.
    """

    pattern = ""


class EndlessError(PatternError):
    """Patterns that never stop rewriting; `hits` says how often each of them matched."""

    def __init__(self, text: str, hits: dict[str, int]) -> None:
        super().__init__(text)
        self.hits = hits


class PassWarning(UserWarning):
    """A pass stopped early: the program is correct, but less simplified than it could be."""


class UnknownOpError(PatternError, ValueError):
    """A pattern names an op that does not exist, or builds one."""


class PipelineError(PassError, ValueError):
    """A pipeline names a pass that does not exist, or an extra pass has no usable form."""


class InvalidModuleError(PassError, ValueError):
    """A module does not parse or does not verify, before or after a pass."""


class InterpretError(PassError, NotImplementedError):
    """The NumPy interpreter does not implement an op, or the arguments do not fit the function."""

"""Locations: the user's lines that operations come from."""

from __future__ import annotations

import contextlib
import linecache
import os
import re
import sys
import threading
import warnings
from collections.abc import Iterable, Iterator
from types import CodeType, FrameType, ModuleType
from typing import TypeVar

import numpy as np

from stagec.core.errors import is_internal as _is_in_passes, message, shown_file

E = TypeVar("E", bound=Exception)
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_NUMPY = os.path.dirname(np.__file__) + os.sep
_COMMANDS = os.path.join(_PACKAGE, "cli.py")
_internal_files: dict[str, bool] = {}
# The layers that call functions which users pass to them.
_CALLERS = tuple(os.path.join(_PACKAGE, name, "") for name in ("api", "control", "core", "primitives", "transforms"))
_assisting_files: set[str] = set()


class Location:
    """A line of the user's program. Interned for each instruction of the bytecode."""

    __slots__ = ("_pulled", "file", "function", "is_backward", "line", "scope")

    def __init__(self, file: str, line: int, function: str, scope: str = "", is_backward: bool = False) -> None:
        self.file = file
        self.line = line
        self.function = function
        # Whether the backward pass of a derivative comes here, and not the function that the line is a part of.
        self.is_backward = is_backward
        self._pulled: Location | None = None
        # Names that the user gave to the part of the program around it: `encoder/norm`.
        self.scope = scope

    @property
    def name(self) -> str:
        """The function, within the scopes around it."""
        return f"{self.scope}/{self.function}" if self.scope else self.function

    @property
    def name_stack(self) -> str:
        """`scope`, under JAX's name."""
        return self.scope

    def backward(self) -> Location:
        """The line in the backward pass, one object for each line."""
        if self.is_backward or self is UNKNOWN:
            return self
        if self._pulled is None:
            self._pulled = Location(self.file, self.line, self.function, self.scope, is_backward=True)
        return self._pulled

    def source(self) -> str:
        return linecache.getline(self.file, self.line).strip()

    def brief(self) -> str:
        """`train.py:27`, or `Cell In[3]:27` in a notebook"""
        return f"{shown_file(self.file)}:{self.line}"

    def __str__(self) -> str:
        source = self.source()
        return f"{self.brief()} in {self.function}:" + (f"  {source}" if source else "")

    def __repr__(self) -> str:
        return f"Location({self.file}:{self.line} in {self.function})"


UNKNOWN = Location("<unknown>", 0, "<unknown>")


class _Ambient(threading.local):
    location: Location | None = None
    scope: str = ""
    # Where warnings go instead of to the user.
    withheld: list[str] | None = None


ambient = _Ambient()
_known: dict[tuple[CodeType, int, str], Location] = {}


def is_internal(file: str) -> bool:
    """Whether frames of a source file are hidden from users."""
    found = _internal_files.get(file)
    if found is None:
        path = os.path.abspath(file)
        found = _internal_files[file] = (
            path.startswith(_PACKAGE)
            or _is_in_passes(path)
            or file.startswith("<frozen")
            or f"{os.sep}site-packages{os.sep}click{os.sep}" in path
            or (os.path.basename(file) in ("contextlib.py", "functools.py") and "lib" in path)
        )
    return found


def hide(file: str) -> None:
    """Count a source file of a library as stagec's own: its frames are not in tracebacks, its lines not in errors."""
    _internal_files[file] = True


def is_hidden(file: str) -> bool:
    """Whether frames of a source file are skipped in the search for the user's line: those of stagec and of NumPy."""
    return is_internal(file) or file.startswith(_NUMPY)


def user_frame(start: FrameType | None = None) -> FrameType | None:
    """The innermost frame outside stagec, if the user's code runs at all: not where the command line is at work."""
    frame: FrameType | None = start if start is not None else sys._getframe(1)
    while frame is not None and is_hidden(frame.f_code.co_filename):
        frame = None if frame.f_code.co_filename == _COMMANDS else frame.f_back
    return frame


def assists(file: str) -> None:
    """Count a source file's functions as parts of the public functions that they call, or are called by."""
    _assisting_files.add(file)


def is_called_by_user() -> bool:
    """Whether the public function that is running, or its helper that asks, does what the user wrote.

    It does not where it is a step of another of stagec's functions.
    """
    frame = _unassisted(sys._getframe(1))
    own = frame.f_code.co_filename if frame is not None else ""
    while frame is not None and frame.f_code.co_filename == own:
        frame = frame.f_back
    caller = _unassisted(frame)
    if caller is None or ambient.location is not None:
        return False
    file = caller.f_code.co_filename
    return not is_internal(file) or (caller is not frame and file.startswith(_CALLERS))


def is_entered_by_user(own: str) -> bool:
    """Whether the user's code called into the source file `own`, which asks."""
    frame = _unassisted(sys._getframe(1))
    while frame is not None and frame.f_code.co_filename == own:
        frame = _unassisted(frame.f_back)
    return frame is not None and not is_internal(frame.f_code.co_filename)


def _unassisted(frame: FrameType | None) -> FrameType | None:
    while frame is not None and frame.f_code.co_filename in _assisting_files:
        frame = frame.f_back
    return frame


def capture() -> Location:
    """The user's line that is running now, or the one that a replay restored."""
    if ambient.location is not None:
        return ambient.location
    frame = user_frame(sys._getframe(1))
    if frame is None:
        return UNKNOWN
    key = (frame.f_code, frame.f_lasti, ambient.scope)
    found = _known.get(key)
    if found is None:
        code = frame.f_code
        name = getattr(code, "co_qualname", code.co_name).replace("<locals>.", "")
        found = _known[key] = Location(code.co_filename, frame.f_lineno, name, ambient.scope)
    return found


def error(kind: type[E], what: str, values: Iterable[tuple[str, str, str]] = (), fix: str = "") -> E:
    """An error about the user's line that is running now; the other parts are those of `errors.message`."""
    where = capture()
    return kind(message(what, "" if where is UNKNOWN else str(where), values, as_imported(fix)))


# Public modules as hints name them. The whole of a path is replaced if the user imported that, else its beginning.
_PATH = re.compile(r"(?<![\w./`])(stagec(?:\.[a-z_]+)*|numpy)(?=\.\w)")


def as_imported(text: str) -> str:
    """A hint, with modules under the names that the user's code has for them: `snp.where`, not `stagec.numpy.where`."""
    frame = user_frame(sys._getframe(1))
    if frame is None or not _PATH.search(text):
        return text
    names = {
        value.__name__: name
        for scope in (frame.f_globals, frame.f_locals)
        for name, value in scope.items()
        if type(value) is ModuleType and name[:1] != "_"
    }

    def replaced(match: re.Match[str]) -> str:
        parts = match[1].split(".")
        for end in range(len(parts), 0, -1):
            name = names.get(".".join(parts[:end]))
            if name is not None:
                return ".".join([name, *parts[end:]])
        return match[1]

    return _PATH.sub(replaced, text)


def warn(text: str, category: type[Warning]) -> None:
    """Warn of the user's line that is running now."""
    if ambient.withheld is not None:
        ambient.withheld.append(text)
        return
    frame = user_frame(sys._getframe(1))
    file, line = (frame.f_code.co_filename, frame.f_lineno) if frame else ("<unknown>", 0)
    warnings.warn_explicit(text, category, file, line)


@contextlib.contextmanager
def withheld_warnings() -> Iterator[list[str]]:
    """Keep the warnings of `warn` in this thread from the user, for a block, and collect them."""
    before = ambient.withheld
    found: list[str] = []
    ambient.withheld = found
    try:
        yield found
    finally:
        ambient.withheld = before


def of_function(function: object) -> str:
    """`name at file.py:3`, for messages about a function itself."""
    given = (getattr(function, name, None) for name in ("__qualname__", "__name__"))
    name = next((name for name in given if isinstance(name, str) and name), None) or repr(function)
    code = getattr(function, "__code__", None)
    # What stagec wraps is described as it was defined.
    while code is not None and is_internal(code.co_filename) and hasattr(function, "__wrapped__"):
        function = function.__wrapped__
        code = getattr(function, "__code__", None)
    if code is None:
        return str(name)
    return f"{name} at {shown_file(code.co_filename)}:{code.co_firstlineno}"

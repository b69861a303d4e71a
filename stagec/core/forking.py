"""Forks of this process: what is finished before one, and what the child replaces.

A forked child has one thread. Locks that other threads held stay locked in it, and objects that wait for threads of
their own wait for ever. So modules register here what a fork has to find at rest, and what the child replaces.
"""

from __future__ import annotations

import contextlib
import ctypes
import logging  # noqa: F401  its lock is taken before a fork by what it registers; what is registered later runs before
import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

# Seconds that a fork waits for another thread to import the compiler or the runtime.
_IMPORT_SECONDS = 10.0


class Rest:
    """The locks that a thread holds while it forks.

    Attributes:
      complete: all of them were free in time. Otherwise what they guard may be in any state in the child.
      compiling: another thread is compiling.
    """

    def __init__(self) -> None:
        self._locks: list[Any] = []
        self.complete = True
        self.compiling = False

    def hold(self, lock: Any, deadline: float) -> bool:
        """Acquire a lock until the fork is over; give up at a time of `time.monotonic`."""
        left = deadline - time.monotonic()
        got: bool = lock.acquire(timeout=left) if left > 0 else lock.acquire(blocking=False)
        if got:
            self._locks.append(lock)
        else:
            self.complete = False
        return got

    def end(self) -> None:
        """Release the locks."""
        while self._locks:
            self._locks.pop().release()


_importing = threading.RLock()
_before: list[Callable[[Rest], None]] = []
_in_child: list[Callable[[Rest], None]] = []
# Two threads may fork at once.
_forking = threading.local()


def before_fork(function: Callable[[Rest], None]) -> Callable[[Rest], None]:
    """Call `function` before each fork, after those that were registered earlier."""
    _before.append(function)
    return function


def in_child(function: Callable[[Rest], None]) -> Callable[[Rest], None]:
    """Call `function` in each forked child, after those that were registered earlier."""
    _in_child.append(function)
    return function


@contextlib.contextmanager
def importing() -> Iterator[None]:
    """Imports that a fork waits for: the child could neither finish nor repeat those of another thread."""
    with _importing:
        yield


def leak(*objects: Any) -> None:
    """Let objects of the parent process never be destroyed in this one, not even at exit."""
    for each in objects:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(each))


def _come_to_rest() -> None:
    rest = _forking.rest = Rest()
    for function in _before:
        function(rest)
    rest.hold(_importing, time.monotonic() + _IMPORT_SECONDS)


def _go_on() -> None:
    _forking.rest.end()


def _begin_anew() -> None:
    global _importing
    rest = _forking.rest
    rest.end()
    _importing = threading.RLock()
    for function in _in_child:
        function(rest)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_come_to_rest, after_in_parent=_go_on, after_in_child=_begin_anew)

"""Forks of this process: what a fork waits for, and what the child replaces.

A forked child has one thread. Locks that other threads held stay locked in it, and objects that wait for threads of
their own wait forever. So modules make their locks here, and register what a fork acquires first, and what the child
replaces.
"""

from __future__ import annotations

import contextlib
import ctypes
import logging  # noqa: F401  imported first: its own handlers acquire its lock after the ones registered here
import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from stagec.core.weak import WeakSet

# Seconds that a fork, or the end of the process, waits for another thread to import the compiler or the runtime.
_IMPORT_SECONDS = 10.0


class HeldLocks:
    """The locks that a thread holds while it forks.

    Attributes:
      complete: whether all of them were free in time. If not, the data that they guard may be inconsistent in the
        child.
      compiling: whether another thread is compiling.
    """

    def __init__(self) -> None:
        self._locks: list[Any] = []
        self.complete = True
        self.compiling = False

    def hold(self, lock: Any, deadline: float) -> bool:
        """Acquire a lock until the fork is over, by a deadline in the time of `time.monotonic`; returns whether it
        was.
        """
        left = deadline - time.monotonic()
        got: bool = lock.acquire(timeout=left) if left > 0 else lock.acquire(blocking=False)
        if got:
            self._locks.append(lock)
        else:
            self.complete = False
        return got

    def release(self) -> None:
        """Release the locks."""
        while self._locks:
            self._locks.pop().release()


_locks: WeakSet[Any] = WeakSet()
_before: list[Callable[[HeldLocks], None]] = []
_in_child: list[Callable[[HeldLocks], None]] = []
# Two threads may fork at once.
_forking = threading.local()


def lock() -> Any:
    """A lock that a thread may acquire again, and that no other thread holds in a forked child."""
    made = threading.RLock()
    _locks.add(made)
    return made


_importing = lock()


def before_fork(function: Callable[[HeldLocks], None]) -> Callable[[HeldLocks], None]:
    """Call `function` before each fork, after those that were registered earlier."""
    _before.append(function)
    return function


def in_child(function: Callable[[HeldLocks], None]) -> Callable[[HeldLocks], None]:
    """Call `function` in each forked child, after those that were registered earlier."""
    _in_child.append(function)
    return function


@contextlib.contextmanager
def importing() -> Iterator[None]:
    """Let a fork wait for the imports of a block: the child could neither finish nor repeat those of another thread."""
    with _importing:
        yield


@contextlib.contextmanager
def between_imports() -> Iterator[bool]:
    """Wait until no other thread runs such imports, and let none begin in a block; yields whether it was so in time."""
    free = _importing.acquire(timeout=_IMPORT_SECONDS)
    try:
        yield free
    finally:
        if free:
            _importing.release()


def leak(*objects: Any) -> None:
    """Keep objects from being destroyed in this process, even at exit, and in those that are forked from it."""
    for each in objects:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(each))


def skip_exit_handlers() -> None:
    """Have this process end without the handlers that libraries registered with `atexit` of C in its parent.

    They may wait for threads that a fork does not copy. Python's handlers run, and C's files are written.
    """
    library = ctypes.CDLL(None)
    if not hasattr(library, "on_exit"):  # glibc has it
        return
    # The last one that is registered runs first.
    library.on_exit(library._exit, None)
    library.__cxa_atexit(library.fflush, None, None)


def _before_fork() -> None:
    held = _forking.held = HeldLocks()
    for function in _before:
        function(held)
    held.hold(_importing, time.monotonic() + _IMPORT_SECONDS)


def _after_fork_in_parent() -> None:
    _forking.held.release()


def _after_fork_in_child() -> None:
    held = _forking.held
    held.release()
    for each in _locks:
        if not each._is_owned():  # by the thread that forked, which goes on to release it
            each._at_fork_reinit()
    for function in _in_child:
        function(held)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)

"""The runtime's contexts, each of which runs one call at a time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from stagec.core import forking
from stagec.core.weak import WeakSet

# Seconds that a fork waits for programs that run on other threads.
_REST_SECONDS = 0.5
_all: WeakSet[Context] = WeakSet()
_making = forking.lock()


class Context:
    """A context of the runtime. It is free while it is in its pool; a thread that takes it out may call `invoke`.

    A fork acquires it like a lock.
    """

    __slots__ = ("__weakref__", "_free", "invoke")

    def __init__(self, invoke: Callable[[Any, Any, Any], Any], free: list[Context]) -> None:
        self.invoke = invoke
        self._free = free

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Take it out of the pool, when it is free."""
        deadline = time.monotonic() + timeout if timeout >= 0 else math.inf
        while True:
            try:
                self._free.remove(self)
                return True
            except ValueError:  # it is in use
                if not blocking or time.monotonic() > deadline:
                    return False
            time.sleep(0.001)

    def release(self) -> None:
        """Put it back."""
        self._free.append(self)

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


class Pool:
    """The contexts of one program.

    Args:
      make: returns the `invoke` of a new context.
      settles: whether a fork waits for calls in progress.

    Attributes:
      free: the contexts that no call uses; a call takes one out, and puts it back.
    """

    def __init__(self, make: Callable[[], Any], settles: bool = True) -> None:
        self._make = make
        self._settles = settles
        self.free: list[Context] = []
        self.free.append(self.another())

    def another(self) -> Context:
        """One more context, where all are in use."""
        with _making:
            made = Context(self._make(), self.free)
        if self._settles:
            _all.add(made)
        return made


@forking.before_fork
def _before_fork(held: forking.HeldLocks) -> None:
    """Wait for programs on other threads: the child could not free arrays if one were allocating at the fork."""
    deadline = time.monotonic() + _REST_SECONDS
    held.hold(_making, deadline)
    for context in _all:
        held.hold(context, deadline)


@forking.in_child
def _after_fork_in_child(_: forking.HeldLocks) -> None:
    forking.leak(*_all)
    _all.clear()

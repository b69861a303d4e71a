"""Compiles of one program by several threads: one of them compiles, and the others wait for it."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterator
from typing import Any

from stagec.core import forking

# A lock lasts for as long as a thread holds it or waits for it.
_locks: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()
_locks_guard = forking.lock()


@contextlib.contextmanager
def alone(digest: str) -> Iterator[None]:
    """Let only one thread at a time compile a program; others that want it wait for the block to end.

    The block must look for the program again, which another thread may have compiled. A thread may nest such blocks.
    """
    with _locks_guard:
        lock = _locks.setdefault(digest, forking.lock())
    with lock:
        yield

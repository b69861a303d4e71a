"""Folders for the files of a compile; none is left when the process ends."""

from __future__ import annotations

import atexit
import contextlib
import shutil
import tempfile
from collections.abc import Iterator

from stagec.core import forking

# Where the folders are made; None is the system's place for temporary files.
_parent: str | None = None
_in_use: set[str] = set()


@contextlib.contextmanager
def folder(purpose: str = "") -> Iterator[str]:
    """A new folder, which is removed with its files after the block, or when the process ends during it."""
    path = tempfile.mkdtemp(prefix=f"stagec-{purpose}-" if purpose else "stagec-", dir=_parent)
    _in_use.add(path)
    try:
        yield path
    finally:
        _in_use.discard(path)
        shutil.rmtree(path, ignore_errors=True)


def use(parent: str) -> None:
    """Make all further folders in one that another process removes, should this one crash."""
    global _parent
    _parent = parent


@atexit.register
def _remove() -> None:
    # Another thread may still be in the compiler.
    while _in_use:
        shutil.rmtree(_in_use.pop(), ignore_errors=True)


@forking.in_child
def _after_fork_in_child(_: forking.HeldLocks) -> None:
    """Leave the parent's folders to the parent."""
    _in_use.clear()

"""Let one process at a time compile a program, by locking a file next to the entry that it will write.

The system releases the lock when the process ends, even if it is killed. A process that finds the lock taken waits for
the entry, in Python and for a bounded time. Where files cannot be locked, each process compiles for itself.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator

from stagec.compiler import log
from stagec.compiler.progress import Progress
from stagec.core import forking
from stagec.runtime import interruptible

if sys.platform != "win32":
    import fcntl

SUFFIX = ".claim"
# How long others wait for a process that holds the lock; one that is stopped, or hangs, never releases it.
WAIT_SECONDS = 600.0
# The first and the longest interval between two looks at the lock.
_INTERVALS = 0.002, 0.05

# Descriptors that a forked child must close, because a lock is held until all copies of its descriptor are closed.
_open: set[int] = set()


@contextlib.contextmanager
def claimed(path: str, name: str, made: Callable[[], bool]) -> Iterator[None]:
    """Run the block in one process at a time; others wait until it is done.

    The block must look for the entry again. It also runs, without the lock, after another process has finished,
    after `WAIT_SECONDS`, and where there are no locks.

    Args:
      path: a file in a directory that belongs to the user; it is removed afterwards.
      name: of the program, for the log.
      made: whether the entry is there.

    Raises:
      Abandoned: nobody waits for the program any more.
    """
    descriptor = _opened(path)
    if descriptor is None:
        yield
        return
    try:
        if _locked(descriptor, name, made) and _is_at(path, descriptor):
            with contextlib.suppress(OSError):
                os.utime(descriptor)  # the file may be one that a killed process left
            try:
                yield
            finally:
                # Before the lock is released: a process that gets the lock of a removed file knows that the one before
                # it has finished.
                with contextlib.suppress(OSError):
                    if _is_at(path, descriptor):
                        os.unlink(path)
        else:
            yield
    finally:
        if descriptor in _open:  # not in a child that was forked in the block
            _open.discard(descriptor)
            # Closing is not enough: the child of a fork has a copy for a moment.
            with contextlib.suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)


def _opened(path: str) -> int | None:
    """The descriptor of the file, which only this user may have made; None if there cannot be one."""
    if sys.platform == "win32":
        return None
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    except OSError:
        return None
    _open.add(descriptor)
    if os.fstat(descriptor).st_uid != os.geteuid():  # its owner could keep the lock for ever
        _open.discard(descriptor)
        os.close(descriptor)
        return None
    return descriptor


def _locked(descriptor: int, name: str, made: Callable[[], bool]) -> bool:
    """Whether this process has the lock now; if not, another one may have made the entry."""
    found = _tried(descriptor)
    if found is not False:
        return bool(found)
    log.event("cache", f"{name}: another process compiles it, waiting")
    started = time.monotonic()
    interval, longest = _INTERVALS
    is_abandoned = interruptible.is_abandoned()
    with Progress(f"{name} in another process"):
        while True:
            time.sleep(interval)
            interval = min(2 * interval, longest)
            if is_abandoned():
                raise interruptible.Abandoned
            found = _tried(descriptor)
            if found is not False:
                return bool(found)
            if made():
                return False
            if time.monotonic() - started > WAIT_SECONDS:
                log.event("cache", f"{name}: the other process has not finished; compiling here")
                return False


def _tried(descriptor: int) -> bool | None:
    """Whether the lock was free, and is held now; None if files here cannot be locked."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return None
    return True


def _is_at(path: str, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path, follow_symlinks=False), os.fstat(descriptor))
    except OSError:
        return False


@forking.in_child
def _after_fork_in_child(_: forking.HeldLocks) -> None:
    """Leave the locks to the parent."""
    while _open:
        with contextlib.suppress(OSError):
            os.close(_open.pop())

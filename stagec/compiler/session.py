"""Sessions of the compiler, and what a fork means for them.

The compiler's library has threads and locks of its own. A forked child has none of the threads, and finds the locks
as they were. So a fork waits for the compiles of other threads, if they do not take long. In the child, sessions get
threads of this process; and where a compile was still under way, the child leaves compiling to a new process.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

from stagec.compiler.mlir import ir
from stagec.core import forking

# Seconds that a fork waits for compiles.
_REST_SECONDS = 2.0

_entry = threading.Lock()
_under_way: set[Any] = set()
# Of a forked child: whether the parent had loaded the library, and whether it was compiling.
_forked = False
_disturbed = False
_threads: Any = None


def api() -> Any:
    """The module `iree.compiler.api`."""
    return importlib.import_module("iree.compiler.api")


def new_session() -> Any:
    """A session of the compiler, a context manager."""
    global _threads
    session = api().Session()
    if _forked:
        if _threads is None:
            _threads = ir().ThreadPool()
        session.context.enable_multithreading(False)
        session.context.set_thread_pool(_threads)
    return session


@contextlib.contextmanager
def under_way() -> Iterator[None]:
    """A compile, which a fork in another thread waits for."""
    lock = threading.RLock()
    with lock:
        with _entry:
            _under_way.add(lock)
        try:
            yield
        finally:
            _under_way.discard(lock)


def is_disturbed() -> bool:
    """Whether the library may wait for ever in this process, which was forked while another thread compiled."""
    return _disturbed


@forking.before_fork
def _come_to_rest(rest: forking.Rest) -> None:
    deadline = time.monotonic() + _REST_SECONDS
    free = rest.hold(_entry, deadline)
    for lock in list(_under_way):
        free = rest.hold(lock, deadline) and free
    rest.compiling = not free


@forking.in_child
def _begin_anew(rest: forking.Rest) -> None:
    global _disturbed, _entry, _forked, _threads
    _entry = threading.Lock()
    _under_way.clear()
    library = sys.modules.get("iree.compiler.api.ctypes_dl")
    if library is not None:
        # It waits for the library's threads when it is destroyed.
        forking.leak(library._global_init, _threads)
        _forked, _threads = True, None
        _disturbed = _disturbed or rest.compiling

"""Sessions of the compiler, and what a fork means for them.

The compiler's library has threads and locks of its own. A forked child has none of the threads, and the locks stay as
they were. So a fork waits a short time for the compiles of other threads. In the child, sessions get a new pool of
threads; if a compile was still under way, the child compiles in a new process.
"""

from __future__ import annotations

import atexit
import collections
import contextlib
import ctypes
import functools
import importlib
import io
import sys
import sysconfig
import threading
import time
from collections.abc import Iterator
from typing import Any

from stagec.compiler.mlir import ir
from stagec.core import forking

# Seconds that a fork waits for compiles.
_REST_SECONDS = 2.0

_entry = forking.lock()
_under_way: set[Any] = set()
# In a forked child: whether the parent had loaded the library, and whether it was compiling.
_forked = False
_disturbed = False
_threads: Any = None
# Contexts of sessions that were closed.
_retired: collections.deque[Any] = collections.deque()
# Sessions that are used again, each with the bytes that it has parsed.
_idle: list[tuple[Any, int]] = []
# What a context has parsed once, such as constants, stays in its memory. So it is used for so many bytes.
_KEPT_BYTES = 16 << 20


def api() -> Any:
    """The module `iree.compiler.api`."""
    return importlib.import_module("iree.compiler.api")


@functools.cache
def _session_class() -> Any:
    class Session(api().Session):  # type: ignore[misc]
        """A session whose context is destroyed, some time after the session is closed."""

        def close(self) -> None:
            super().close()
            context = self.__dict__.pop("_owned_context", None)
            if context is not None:
                _retired.append(context)

    return Session


@functools.cache
def _alone() -> int:
    """What `getrefcount` says of an object that only a variable refers to: 2, and 1 from Python 3.14 on."""
    found = object()
    return sys.getrefcount(found)


def _destroy_contexts() -> None:
    """Destroy the contexts of closed sessions to which nothing refers any more.

    MLIR's bindings do not destroy a context that the library made. Every object of the bindings that belongs to a
    context refers to it, so the number of references says whether there are any.
    """
    library = importlib.import_module("iree.compiler.api.ctypes_dl")
    destroy = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(("mlirContextDestroy", library._dylib))
    for _ in range(len(_retired)):
        try:
            context = _retired.popleft()
        except IndexError:  # another thread took it
            return
        if sys.getrefcount(context) > _alone():
            _retired.append(context)
        else:
            destroy(library.PyCapsule_GetPointer(context._CAPIPtr, library.MLIR_PYTHON_CAPSULE_CONTEXT))


def new_session() -> Any:
    """A session of the compiler, which is a context manager."""
    global _threads
    _destroy_contexts()
    session = _session_class()()
    if _forked:
        if _threads is None:
            _threads = ir().ThreadPool()
        session.context.enable_multithreading(False)
        session.context.set_thread_pool(_threads)
    return session


@contextlib.contextmanager
def kept_session(size: int) -> Iterator[Any]:
    """A session without flags, which later blocks may use again: to make one takes longer than to use it.

    Args:
      size: bytes of the text that is parsed in it.
    """
    try:
        session, used = _idle.pop()
    except IndexError:
        session, used = new_session(), 0
    try:
        yield session
    finally:
        if used + size <= _KEPT_BYTES:
            _idle.append((session, used + size))
        else:
            session.close()


class _Contexts(threading.local):
    kept: Any = None
    used = 0


_contexts = _Contexts()


def parsed(source: bytes) -> Any:
    """A module from text or bytecode, in a context of this thread; no dialect may be unknown.

    Raises:
      MLIRError, ValueError: it is not a valid module.
    """
    _contexts.used += len(source)
    if _contexts.kept is None or _contexts.used > _KEPT_BYTES:
        _contexts.kept, _contexts.used = importlib.import_module("passes.bindings").new_context(), len(source)
    return ir().Module.parse(source, _contexts.kept)


def serialize(module: Any) -> bytes:
    """A module as bytes, locations included: bytecode for an `ir.Module`, UTF-8 for text.

    A refused compile leaves a module half rewritten, so every attempt parses these bytes anew.
    """
    if isinstance(module, bytes):
        return module
    if isinstance(module, str):
        return module.encode()
    buffer = io.BytesIO()
    module.operation.write_bytecode(buffer)
    return buffer.getvalue()


def shares_contexts() -> bool:
    """Whether MLIR's bindings can be used on the context of a session.

    In a free-threaded build of Python they block forever: the function that looks up a context which they have not made
    locks a mutex, and so does the constructor that it calls. In other builds, these locks are left out. What counts is
    the build, and not whether the interpreter's lock is on.
    """
    return not sysconfig.get_config_var("Py_GIL_DISABLED")


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
    """Whether the library may block forever in this process, which was forked while another thread compiled."""
    return _disturbed


@forking.before_fork
def _before_fork(held: forking.HeldLocks) -> None:
    deadline = time.monotonic() + _REST_SECONDS
    free = held.hold(_entry, deadline)
    for lock in list(_under_way):
        free = held.hold(lock, deadline) and free
    held.compiling = not free


@forking.in_child
def _after_fork_in_child(held: forking.HeldLocks) -> None:
    global _disturbed, _forked, _retired, _threads
    _under_way.clear()
    # Threads of the parent may have been using the contexts.
    forking.leak(_retired, list(_idle))
    _retired = collections.deque()
    _idle.clear()
    library = sys.modules.get("iree.compiler.api.ctypes_dl")
    if library is not None:
        # Its destructor would wait for the library's threads.
        forking.leak(library._global_init, _threads)
        _forked, _threads = True, None
        # Without the bindings, no session gets another pool of threads.
        _disturbed = _disturbed or held.compiling or not shares_contexts()


# While the modules that a session's end needs are still there.
atexit.register(_idle.clear)

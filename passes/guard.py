"""Run rewrites in a helper thread, so that signal handlers do not run inside them.

MLIR calls Python for patterns and walks, and an exception that a signal handler raises there ends the process. Handlers
run in the main thread only. So a helper thread does the work, and the main thread waits for it in Python.
"""

from __future__ import annotations

import atexit
import contextlib
import contextvars
import os
import threading
import time
from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from passes import bindings
from passes.errors import PassError, message

T = TypeVar("T")

# How long the main thread waits before it checks for signals: not every system wakes it for one.
_SLICE_SECONDS = 0.1
# How long it waits, after a handler has raised, for the helper to stop changing the module.
_LEAVE_SECONDS = 0.3
# How long interpreter shutdown waits for helpers.
_EXIT_SECONDS = 1.0
# The usual stack size of main threads.
_STACK_BYTES = 16 << 20


class Job:
    """One piece of work.

    Attributes:
      abandoned: no thread waits for it any more, and it should end soon.
    """

    def __init__(self, work: Callable[[], Any]) -> None:
        self.abandoned = False
        self._work = work
        self._context = contextvars.copy_context()
        self._location = _current_location()
        self._process = _process
        # Holds one item when the work is done.
        self._done = SimpleQueue[None]()
        self._result: Any = None
        self._error: BaseException | None = None

    def _run(self) -> None:
        _local.job = self
        try:
            with self._location:
                self._result = self._context.run(self._work)
        except BaseException as error:
            self._error = error
        finally:
            self._done.put(None)

    def _is_done(self, timeout: float) -> bool:
        try:
            self._done.get(timeout=timeout)
        except Empty:
            return False
        return True

    def outcome(self) -> Any:
        """Start the work, wait for it, and return its result or raise its exception."""
        thread = threading.Thread(target=self._run, name="passes-helper", daemon=True)
        try:
            _start(thread)
            while not self._is_done(_SLICE_SECONDS):
                if self._process is not _process:
                    raise PassError(
                        message(
                            "a pass forked this process, and the passes run in the parent alone",
                            fix="end the child inside the pass, with os._exit",
                        )
                    )
        except BaseException:
            self.abandoned = True
            if self._process is _process:
                self._is_done(_LEAVE_SECONDS)
            raise
        try:
            if self._error is not None:
                raise self._error
            return self._result
        finally:
            self._error = None  # its traceback holds this frame


def _start(thread: threading.Thread) -> None:
    _helpers[:] = [t for t in _helpers if t.is_alive()]
    before = threading.stack_size(_STACK_BYTES)
    try:
        thread.start()
    finally:
        threading.stack_size(before)
    _helpers.append(thread)


def _current_location() -> Any:
    return bindings.ir.Location.current or contextlib.nullcontext()


class _Local(threading.local):
    # The value in threads that this module did not start.
    job: Job | None = None
    is_left: Callable[[], bool] = staticmethod(lambda: False)


_local = _Local()
_helpers: list[threading.Thread] = []
# The identity of this process: a forked child replaces it.
_process = object()


def call(work: Callable[[], T]) -> T:
    """The result of `work()`. In the main thread, signal handlers run meanwhile, and their exceptions are raised here.

    >>> call(lambda: 1 + 1)
    2
    """
    if threading.current_thread() is not threading.main_thread():
        return work()  # no handler runs in this thread
    return Job(work).outcome()


def is_abandoned() -> Callable[[], bool]:
    """A function that says whether the caller of this thread's work has stopped waiting for it."""
    job, is_left = _local.job, _local.is_left
    return lambda: (job is not None and job.abandoned) or is_left()


@contextlib.contextmanager
def heeding(is_left: Callable[[], bool]) -> Iterator[None]:
    """For a block in a thread that works for nobody: let it end early once `is_left()` says so."""
    before = _local.is_left
    _local.is_left = is_left
    try:
        yield
    finally:
        _local.is_left = before


def _wait_for_helpers() -> None:
    # A thread that returns to Python while the interpreter shuts down can crash the process.
    deadline = time.monotonic() + _EXIT_SECONDS
    for thread in list(_helpers):
        thread.join(max(0.0, deadline - time.monotonic()))


def _reset_after_fork() -> None:
    """Forget the parent's helpers, which do not exist in a forked child; `outcome` raises if it was waiting for one."""
    global _process
    _process = object()
    _helpers.clear()
    _local.job = None


atexit.register(_wait_for_helpers)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)

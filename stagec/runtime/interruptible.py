"""Long native calls on helper threads, so that a signal interrupts the main thread that waits for them.

Python runs signal handlers in the main thread, between two bytecodes. A native
call that takes long would keep Ctrl-C waiting, and cannot be stopped. So a
helper makes the call, and the main thread waits in Python. After an interrupt
the call goes on to its end, and what it returns is dropped.
"""

from __future__ import annotations

import _thread
import atexit
import contextlib
import contextvars
import ctypes
import functools
import math
import os
import sys
import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, ParamSpec, TypeVar

from stagec.core import errors, forking, location
from stagec.core.config import state

P = ParamSpec("P")
T = TypeVar("T")

# How long a thread waits before it checks for signals: not every system wakes it for one.
SLICE_SECONDS = 0.1
# How long a thread waits for a helper without sleeping: waking up takes tens of microseconds, as long as many calls.
_SPIN_SECONDS = 0.0002
# On Windows there is no such function.
_yield: Callable[[], None] = getattr(os, "sched_yield", functools.partial(time.sleep, 0))
# How long the end of the process waits for helpers to stop.
EXIT_SECONDS = 2.0
# The usual stack of main threads, which the compiler and large kernels need.
_STACK_BYTES = 16 << 20


class Abandoned(BaseException):
    """Stops what a helper does for a thread that no longer waits for it."""


def _raised_or(error: BaseException | None, result: Any) -> Any:
    try:
        if error is not None:
            raise error
        return result
    finally:
        # The error's traceback holds this frame.
        del error


class _Request:
    """What a helper wants the waiting thread to do."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self._work = work
        self._answered = SimpleQueue[None]()
        self._result: Any = None
        self._error: BaseException | None = None

    def answer(self) -> None:
        try:
            self._result = self._work()
        except BaseException as error:
            self._error = error
        finally:
            self._answered.put(None)

    def outcome(self, job: Job) -> Any:
        while True:
            try:
                self._answered.get(timeout=SLICE_SECONDS)
                break
            except Empty:
                if job.abandoned:
                    raise Abandoned from None
        return _raised_or(self._error, self._result)


def _is_soon(ready: Callable[[], bool]) -> bool:
    """Whether something is ready within `_SPIN_SECONDS`, for which the thread does not sleep."""
    end = time.perf_counter() + _SPIN_SECONDS
    while not ready():
        if time.perf_counter() > end:
            return False
        _yield()
    return True


class Job:
    """One piece of work on a helper, with the thread state of whoever asked for it.

    Args:
      awaited: whether a thread waits for it.
    """

    def __init__(self, work: Callable[[], Any], awaited: bool = True) -> None:
        self._work: Callable[[], Any] | None = work
        # Requests of the helper; None is the end.
        self._messages = SimpleQueue[_Request | None]()
        self._result: Any = None
        self._error: BaseException | None = None
        self._context = contextvars.copy_context()
        self._overrides = state.overrides
        self._location = location.capture()
        self._process = _process
        self.awaited = awaited
        self.abandoned = False

    def outcome(self, seconds: float = math.inf) -> Any:
        """Wait for the work, and return its result or raise its exception.

        Raises:
          TimeoutError: it takes longer than a number of seconds.
        """
        messages = self._messages
        end = time.monotonic() + seconds
        _is_soon(lambda: not messages.empty())
        while True:
            try:
                request = messages.get(timeout=SLICE_SECONDS)
            except Empty:
                if self._process is not _process:
                    raise _unfinished() from None
                if time.monotonic() > end:
                    raise TimeoutError from None
                continue
            if request is None:
                return _raised_or(self._error, self._result)
            request.answer()

    def ask(self, work: Callable[[], T]) -> T:
        """The result of `work()` on the waiting thread.

        Raises:
          Abandoned: it no longer waits.
        """
        if self.abandoned:
            raise Abandoned
        request = _Request(work)
        self._messages.put(request)
        return request.outcome(self)

    def run(self) -> None:
        """Do the work; called by the helper."""
        work, self._work = self._work, None
        assert work is not None, "a job runs once"
        state.override(self._overrides)
        location.ambient.location = self._location
        _current.job = self
        try:
            result = self._context.run(work)
            if not self.abandoned:
                self._result = result
        except BaseException as error:
            self._error = error
        finally:
            _current.job = None


def _unfinished() -> errors.ExecutionError:
    return errors.ExecutionError(
        errors.message(
            "a callback forked this process, and the program that called it runs in the parent alone",
            fix="end the child inside the callback, with os._exit",
        )
    )


class _Current(threading.local):
    job: Job | None = None


_current = _Current()


class _Helper:
    """A thread that does one job after another."""

    def __init__(self) -> None:
        self.jobs = SimpleQueue[Job]()
        self.job: Job | None = None
        before = threading.stack_size(_STACK_BYTES)
        try:
            # `Thread.start` waits for the thread, in a condition. An exception that a signal handler raises in there
            # may leave the condition's lock released, and ends as a RuntimeError about it. The end of the process does
            # not wait for such a thread, which may run a program that never ends.
            self.ident = _thread.start_new_thread(self._run, ())
        finally:
            threading.stack_size(before)

    def _run(self) -> None:
        threading.current_thread().name = "stagec-helper"
        with contextlib.suppress(Abandoned):
            while True:
                self.job = self.jobs.get()
                self.job.run()
                messages = self.job._messages
                # Nothing of a job outlives it here: it may hold large arrays.
                self.job = None
                _idle.append(self)
                messages.put(None)


_idle: list[_Helper] = []
# Another object in each forked child.
_process = object()
_helpers: list[_Helper] = []


def call(work: Callable[[], T], seconds: float = math.inf) -> T:
    """The result of `work()`. In the main thread, signal handlers run meanwhile.

    What a handler raises is raised here. The work then goes on; its result is dropped.

    Raises:
      TimeoutError: it takes longer than a number of seconds; it goes on, too.
      Abandoned: the process ends, and this is a helper for which nobody waits.

    >>> call(lambda: 1 + 1)
    2
    """
    if threading.get_ident() != threading.main_thread().ident and seconds == math.inf:
        if is_left():
            raise Abandoned
        return work()  # no handler runs in this thread
    try:
        helper = _helper()
    except RuntimeError:  # there can be no new thread: from Python 3.12 on while the interpreter exits
        return work()
    job = Job(work)
    try:
        helper.jobs.put(job)
        return job.outcome(seconds)
    except BaseException:
        # Here, not around the loop in `outcome`: a signal handler may raise just before that loop is entered.
        job.abandoned = True
        raise


def function(fn: Callable[P, T]) -> Callable[P, T]:
    """Have a function run as `call` runs its work.

    >>> function(max)(1, 2)
    2
    """

    @functools.wraps(fn)
    def wrapped(*arguments: P.args, **options: P.kwargs) -> T:
        return call(functools.partial(fn, *arguments, **options))

    return wrapped


def detached(work: Callable[[], object]) -> Callable[[], None]:
    """What starts `work()` on a helper, for which nobody waits: what it returns or raises is dropped.

    The work has the state of the thread that calls this, not of the one that starts it.
    """
    job = Job(work, awaited=False)
    return lambda: _helper().jobs.put(job)


def _helper() -> _Helper:
    """A helper without work."""
    try:
        return _idle.pop()
    except IndexError:
        helper = _Helper()
        _helpers.append(helper)
        return helper


def on_caller(work: Callable[[], T]) -> T:
    """The result of `work()` on the thread that waits for this one; here, if none does.

    Raises:
      Abandoned: the thread no longer waits.
    """
    job = _current.job
    return work() if job is None or not job.awaited else job.ask(work)


def is_abandoned() -> Callable[[], bool]:
    """A function that returns whether the current job of this thread was abandoned."""
    job = _current.job
    return lambda: job is not None and job.abandoned


def is_awaited() -> bool:
    """Whether a thread waits for what this one does, or this one has no job."""
    job = _current.job
    return job is None or job.awaited


def is_left() -> bool:
    """Whether this is a helper for which nobody waits, and the process ends."""
    job = _current.job
    return job is not None and job.abandoned and not job.awaited


def until(wait: Callable[[int], bool]) -> None:
    """Wait in slices, between which signal handlers run.

    Args:
      wait: waits for at most so many nanoseconds, and says whether it is done.
    """
    if threading.get_ident() != threading.main_thread().ident:
        # Longer than any program runs, and within the range of the runtime's integers.
        nanoseconds = int(1e18)
    else:
        nanoseconds = int(SLICE_SECONDS * 1e9)
    if _is_soon(lambda: wait(0)):
        return
    while not wait(nanoseconds):
        pass


def _stop() -> None:
    """Stop the helpers' Python code, and wait for them a short time.

    A thread that returns to Python during the interpreter's finalization can end the process with an error. So does
    an exception in what MLIR calls; compiles for which nobody waits stop by themselves, between two steps. An exception
    in an import of the compiler's or the runtime's bindings ends it, too, so those are waited for.
    """
    busy = [(h, job) for h in _helpers if (job := h.job) is not None]
    for _, job in busy:
        job.abandoned = job.abandoned or not job.awaited
    wanted = [helper.ident for helper, job in busy if job.awaited]
    sys.unraisablehook = functools.partial(_noted, wanted, sys.unraisablehook)
    deadline = math.inf
    while any(h.job is not None for h, _ in busy):
        with forking.between_imports() as free:
            while wanted and free:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(wanted.pop()), ctypes.py_object(Abandoned))
        deadline = min(deadline, time.monotonic() + EXIT_SECONDS)
        if time.monotonic() > deadline or not free:
            _leave_libraries_alone()
            break
        time.sleep(0.005)


def _noted(wanted: list[int], usual: Callable[[Any], Any], lost: Any) -> None:
    """Record a helper that was stopped in a callback of a library, such as the compiler: it must be stopped again."""
    if lost.exc_type is Abandoned:
        wanted.append(threading.get_ident())
    else:
        usual(lost)


def _leave_libraries_alone() -> None:
    """End the process without the libraries' exit handlers, which would free what the helpers in them still use.

    Python's own exit handlers run before. Only glibc offers this.
    """
    library = ctypes.CDLL(None) if os.name == "posix" else None
    if library is not None and hasattr(library, "on_exit"):
        library.fflush(None)
        # What is registered last is called first, with the exit status.
        library.on_exit(ctypes.cast(library._exit, ctypes.c_void_p), None)


@forking.in_child
def _after_fork_in_child(_: forking.HeldLocks) -> None:
    """Forget the parent's helpers, which do not exist in the child; waiting for one raises an error."""
    global _process
    _process = object()
    _idle.clear()
    _helpers.clear()
    _current.job = None


atexit.register(_stop)

"""Timeline semaphores: the order of programs on a queue that works while Python goes on."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from stagec.core import errors, forking
from stagec.runtime import interruptible
from stagec.runtime.exhausted import is_exhausted


class Pending:
    """A call that may still be running; its results wait for it when they are read."""

    __slots__ = ("_error", "_fence", "_lost", "_semaphore", "_value", "by", "kept", "timeline")

    def __init__(self, timeline: TimelineSemaphore, semaphore: Any, value: int, fence: Any, by: str, kept: Any) -> None:
        self.timeline = timeline
        self._semaphore = semaphore
        self._value = value
        self._fence = fence
        self._error: str | None = None
        self._lost: errors.StagecError | None = None
        self.kept = kept
        self.by = by

    def is_done(self) -> bool:
        """Whether the call has ended."""
        try:
            return self._fence is None or bool(self._semaphore.query() >= self._value)
        except Exception:  # it failed, and raises where somebody waits for it
            return True

    def wait(self) -> None:
        """Return when the call is done.

        Raises:
          ExecutionError: it failed; the message names it.
        """
        fence = self._fence
        if fence is not None:
            try:
                interruptible.until(lambda nanoseconds: self._wait(fence, nanoseconds))
            except BaseException:
                self.timeline.leave()
                raise
            self._fence = self.kept = None
        if self._lost is not None:
            raise type(self._lost)(*self._lost.args)
        if self._error is not None:
            kind = errors.OutOfMemoryError if is_exhausted(self._error) else errors.ExecutionError
            raise kind(errors.message(f"{self.by} failed while it ran: {self._error}"))

    def settle(self, seconds: float) -> bool:
        """Wait for so long without raising; returns whether the call has ended."""
        fence = self._fence  # another thread may take it away
        if fence is not None:
            try:
                if not fence.wait(timeout=max(0, int(seconds * 1e9))):
                    return False
            except Exception as error:  # for whoever waits
                self._error = str(error)
            self._fence = self.kept = None
        return True

    def lose(self, error: errors.StagecError) -> None:
        """Let those who wait for the call get `error`: the call belongs to another process."""
        forking.leak(self._fence, self._semaphore)
        self._fence, self._lost = None, error

    def _wait(self, fence: Any, nanoseconds: int) -> bool:
        """Whether the call has ended after so long."""
        with self.timeline.waiting:
            try:
                return fence.wait(timeout=nanoseconds)
            except Exception as error:  # the runtime's own, of several kinds
                reason = error
            # A signal handler may have raised it instead; then a second wait does not fail.
            try:
                fence.wait(timeout=0)
            except Exception:
                self._error = str(reason)
                return True
        raise reason


class _Shared:
    """Used instead of a lock where several threads may wait at the same time."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


class TimelineSemaphore:
    """The semaphore of a queue, on which each call begins when the one before it is done.

    A semaphore counts the calls that are done. In this order, memory that one
    call reads can be donated to the next without a wait on the host.

    Args:
      exclusive: a lock that a thread holds while it submits work to the device or waits for it, where the device is
        lost if several threads do so at the same time (see `turn`).
      previous: the timeline that this one replaces.

    Attributes:
      left: the main thread was interrupted while it waited here. Later calls use another timeline, so that they
        need not wait for the call that was abandoned.
    """

    def __init__(
        self, binding: Any, hal_device: Any, exclusive: Any = None, previous: TimelineSemaphore | None = None
    ) -> None:
        self._binding = binding
        self._hal_device = hal_device
        self._semaphore = hal_device.create_semaphore(0)
        self._value = 0
        # Pending calls, which keep their arguments alive until they are done.
        self._running: deque[Pending] = deque()
        self._starting = False
        # Calls that were interrupted while they were submitted: whether they run is not known.
        self._doubtful: list[Pending] = [] if previous is None else previous._doubtful
        # Timelines before this one on which calls still run.
        self._before: list[TimelineSemaphore] = [] if previous is None else [*previous._before, previous]
        self.left = False
        self._exclusive = exclusive is not None
        # The thread that submitted the last work.
        self._submitter: int | None = None if previous is None else previous._submitter
        self.lock = threading.RLock() if exclusive is None else exclusive
        self.waiting: Any = _Shared() if exclusive is None else exclusive

    def submit(self, start: Callable[[Any, Any], None], by: str, kept: Any) -> Pending:
        """Call `start(wait_fence, signal_fence)` in this queue's order.

        Args:
          by: describes the call, should it fail.
          kept: what must stay alive until it is done.
        """
        at = self._binding.HalFence.create_at
        with self.turn():
            if self.left:  # by an interrupt in the meantime: the count may be wrong
                self._restart()
            semaphore, value = self._semaphore, self._value
            before, after = at(semaphore, value), at(semaphore, value + 1)
            pending = Pending(self, semaphore, value + 1, after, by, kept)
            self._starting = True
            try:
                start(before, after)
                self._value += 1
                self._running.append(pending)
            except Exception:
                self._restart()
                raise
            except BaseException:
                self._doubtful.append(pending)
                self.leave()
                raise
            finally:
                self._starting = False
            self._drop_done()
        return pending

    def turn(self) -> contextlib.AbstractContextManager[Any]:
        """Let only this thread submit work for a block; on an exclusive device after the work of other threads.

        IREE wakes the thread that watches the device by counting up a semaphore. Threads that do so at the same time
        may signal their counts in the wrong order, for which Mesa declares the device lost. A lock around the
        submission does not prevent it: IREE's own thread submits the rest of a call, when its first part has ended.
        """
        return self._after_others() if self._exclusive else self.lock

    @contextlib.contextmanager
    def _after_others(self) -> Iterator[None]:
        with self.lock:
            if self._submitter != threading.get_ident():
                running = [pending for timeline in self.lineage() for pending in timeline._running]
                interruptible.until(lambda nanoseconds: all(p.settle(nanoseconds / 1e9) for p in running))
                self._submitter = threading.get_ident()
            yield

    def leave(self) -> None:
        """Let later calls use another timeline."""
        self.left = True

    def lineage(self) -> list[TimelineSemaphore]:
        """This timeline, after those before it on which calls may still run."""
        return [*self._before, self]

    def has_abandoned(self) -> bool:
        """Whether calls still run whose caller was interrupted while it waited here, or on a timeline before."""
        self._before = [t for t in self._before if not t._is_idle()]
        return bool(self._before) or (self.left and not self._is_idle())

    def _is_idle(self) -> bool:
        return not self._starting and all(pending.is_done() for pending in list(self._running))

    def _drop_done(self) -> None:
        if self._doubtful:
            self._doubtful[:] = [p for p in self._doubtful if not p.is_done()]
        if self._before:
            self.has_abandoned()
        try:
            done = self._semaphore.query()
        except Exception:  # a call failed: it raises where somebody waits for it, and the queue goes on
            self._restart()
            return
        running = self._running
        while running and running[0]._value <= done:
            pending = running.popleft()
            pending._fence = pending.kept = None

    def _restart(self) -> None:
        """Start again after a failure, when what was submitted before has ended."""
        semaphore, value = self._semaphore, self._value
        try:
            if value:
                interruptible.until(lambda nanoseconds: semaphore.wait(value, timeout=nanoseconds))
        except Exception:  # it raises where its own callers wait
            pass
        except BaseException:
            self.leave()
            raise
        for pending in self._running:
            pending.settle(0)
        self._running.clear()
        self._semaphore = self._hal_device.create_semaphore(0)
        self._value = 0

    def drain(self) -> None:
        """Wait until everything submitted so far has come to its end."""
        for timeline in self._before:
            timeline.drain()
        with self.lock:
            last = self._running[-1] if self._running else None
        if last is not None:
            last.wait()

    def settle(self, deadline: float) -> bool:
        """Wait until everything submitted has come to its end, or for so long; returns whether it has."""
        while self._running and self._running[0].settle(deadline - time.monotonic()):
            self._running.popleft()
        return not self._running

    def keep_memory(self) -> None:
        """Never free the arguments of pending calls, which may still run at the end of the process."""
        for pending in [*self._running, *self._doubtful]:
            forking.leak(pending.kept)

    def abandon(self, error: errors.StagecError | None = None) -> None:
        """In a forked child: let waiting for a call of the parent raise an error."""
        for pending in [*self._running, *self._doubtful]:
            pending.lose(error or _unfinished(pending.by))


def _unfinished(by: str) -> errors.ExecutionError:
    return errors.ExecutionError(
        errors.message(
            f"{by} had not ended when this process was forked, so its results are in the parent alone",
            fix="wait with stagec.block_until_ready(...) before the fork",
        )
    )

"""The order of programs on a queue that works while Python goes on."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from stagec.core import errors, forking


class Pending:
    """A call that may still be running: its results wait for it before anybody looks at them."""

    __slots__ = ("_error", "_fence", "_lost", "by", "kept", "timeline")

    def __init__(self, timeline: Timeline, fence: Any, by: str, kept: Any) -> None:
        self.timeline = timeline
        self._fence = fence
        self._error: str | None = None
        self._lost: errors.StagecError | None = None
        self.kept = kept
        self.by = by

    def is_done(self) -> bool:
        """Whether the call has ended."""
        fence = self._fence
        waiting = self.timeline.waiting
        if fence is None or not waiting.acquire(blocking=False):
            return fence is None
        try:
            return fence.wait(timeout=0)
        except Exception:  # it failed, which whoever waits is told
            return True
        finally:
            waiting.release()

    def wait(self) -> None:
        """Return when the call is done.

        Raises:
          ExecutionError: it failed; the message names it.
        """
        fence = self._fence
        if fence is not None:
            with self.timeline.waiting:
                try:
                    fence.wait()
                except Exception as error:  # the runtime's own, of several kinds
                    self._error = str(error)
            self._fence = self.kept = None
        if self._lost is not None:
            raise type(self._lost)(*self._lost.args)
        if self._error is not None:
            raise errors.ExecutionError(errors.message(f"{self.by} failed while it ran: {self._error}"))

    def settle(self, seconds: float) -> bool:
        """Wait for so long without raising; returns whether the call has ended."""
        if self._fence is not None:
            try:
                if not self._fence.wait(timeout=max(0, int(seconds * 1e9))):
                    return False
            except Exception as error:  # for whoever waits
                self._error = str(error)
            self._fence = self.kept = None
        return True

    def lose(self, error: errors.StagecError) -> None:
        """Have whoever waits told `error`: the call is another process's."""
        forking.leak(self._fence)
        self._fence, self._lost = None, error


class _Shared:
    """In the place of a lock where several threads may wait at once."""

    def acquire(self, blocking: bool = True) -> bool:
        return True

    def release(self) -> None:
        pass

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


class Timeline:
    """One queue's calls, each of which begins when the one before it is done.

    A semaphore counts the calls that are done. In this order, memory that one
    call reads can be donated to the next without a wait on the host.

    Args:
      exclusive: one thread at a time gives work to the queue or waits for it. Mesa's drivers for Vulkan lose the
        device when several threads do.
    """

    def __init__(self, binding: Any, hal_device: Any, exclusive: bool = False) -> None:
        self._binding = binding
        self._hal_device = hal_device
        self._semaphore = hal_device.create_semaphore(0)
        self._value = 0
        # What calls under way read, kept alive until they are done.
        self._running: deque[tuple[int, Pending]] = deque()
        self.lock = threading.RLock()
        self.waiting: Any = self.lock if exclusive else _Shared()

    def submit(self, start: Callable[[Any, Any], None], by: str, kept: Any) -> Pending:
        """Call `start(wait_fence, signal_fence)` in this queue's order.

        Args:
          by: describes the call, should it fail.
          kept: what must stay alive until it is done.
        """
        at = self._binding.HalFence.create_at
        with self.lock:
            before, after = at(self._semaphore, self._value), at(self._semaphore, self._value + 1)
            try:
                start(before, after)
            except BaseException:
                self._restart()
                raise
            self._value += 1
            pending = Pending(self, after, by, kept)
            self._running.append((self._value, pending))
            self._drop_done()
        return pending

    def _drop_done(self) -> None:
        try:
            done = self._semaphore.query()
        except Exception:  # a call failed: who waits for it is told, and the queue goes on
            self._restart()
            return
        running = self._running
        while running and running[0][0] <= done:
            pending = running.popleft()[1]
            pending._fence = pending.kept = None

    def _restart(self) -> None:
        """Begin anew after a failure, when what was submitted before has come to its end."""
        try:
            if self._value:
                self._semaphore.wait(self._value)
        except Exception:  # its own callers are told when they wait
            pass
        for _, pending in self._running:
            pending.settle(0)
        self._running.clear()
        self._semaphore = self._hal_device.create_semaphore(0)
        self._value = 0

    def drain(self) -> None:
        """Wait until everything submitted so far has come to its end."""
        with self.lock:
            last = self._running[-1][1] if self._running else None
        if last is not None:
            last.wait()

    def settle(self, deadline: float) -> bool:
        """Wait until everything submitted has come to its end, or for so long; returns whether it has."""
        while self._running and self._running[0][1].settle(deadline - time.monotonic()):
            self._running.popleft()
        return not self._running

    def abandon(self, error: errors.StagecError | None = None) -> None:
        """In a forked child: tell whoever waits for a call of the parent that its result is not here."""
        for _, pending in self._running:
            pending.lose(error or _unfinished(pending.by))


def _unfinished(by: str) -> errors.ExecutionError:
    return errors.ExecutionError(
        errors.message(
            f"{by} had not ended when this process was forked, so its results are in the parent alone",
            fix="wait with stagec.block_until_ready(...) before the fork",
        )
    )

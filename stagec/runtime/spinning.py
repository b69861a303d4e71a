"""Restricts the spinning threads of a driver to one core.

Mesa's lavapipe implements a wait for one of several fences as a busy loop, and
the runtime waits like that in two threads for as long as it has a device. By
default they keep two cores busy, and contend for locks. On one core they use
only that one: on two cores, programs for the CPU compiled 1.7 times as fast at
the same time, and calls of the device took no longer. With a lower priority
instead, calls took up to thirty times as long, because a thread that held a
lock of the driver did not get to run.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator

# How long threads are watched, in seconds, and the part of this time from which they count as spinning.
_WATCHED = 0.02
_BUSY = 0.5


@contextlib.contextmanager
def kept_to_one_core() -> Iterator[None]:
    """Restrict the threads that begin inside the block and spin to the last core of the process.

    It does nothing where the system is not Linux, or does not allow it.
    """
    known = set(busy_times())
    yield
    before = busy_times()
    if set(before) <= known:
        return
    time.sleep(_WATCHED)
    for thread, nanoseconds in busy_times().items():
        if thread not in known and nanoseconds - before.get(thread, nanoseconds) > _BUSY * _WATCHED * 1e9:
            with contextlib.suppress(OSError):
                os.sched_setaffinity(thread, {max(os.sched_getaffinity(0))})


def busy_times() -> dict[int, int]:
    """For each thread of this process, the nanoseconds in which it ran or was ready to run."""
    times = {}
    with contextlib.suppress(OSError):
        for thread in os.listdir("/proc/self/task"):
            with contextlib.suppress(OSError, ValueError), open(f"/proc/self/task/{thread}/schedstat") as file:
                ran, waited, _ = map(int, file.read().split())
                times[int(thread)] = ran + waited
    return times

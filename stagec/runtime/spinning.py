"""Threads of a driver that wait without ever sleeping, put behind whatever else wants to run.

Mesa's lavapipe waits for "one of several" in a loop. The runtime waits like
that in two threads for as long as it has a device, which keeps two cores busy
and takes half of two cores from everybody else: on such a machine, programs
for the CPU were compiled 1.8 times as fast with these threads put last.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator

# How long threads are watched, in seconds, and from which part of it on they never sleep.
_WATCHED = 0.02
_BUSY = 0.5


@contextlib.contextmanager
def put_last() -> Iterator[None]:
    """Of the threads that begin inside the block, let those that spin have only the time that nobody else wants.

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
                os.sched_setscheduler(thread, os.SCHED_IDLE, os.sched_param(0))


def busy_times() -> dict[int, int]:
    """For each thread of this process, the nanoseconds in which it ran, or wanted to and another one did."""
    times = {}
    with contextlib.suppress(OSError):
        for thread in os.listdir("/proc/self/task"):
            with contextlib.suppress(OSError, ValueError), open(f"/proc/self/task/{thread}/schedstat") as file:
                ran, waited, _ = map(int, file.read().split())
                times[int(thread)] = ran + waited
    return times

"""Threads that never sleep are put behind all others; the others are left as they are."""

import hashlib
import os
import threading
import time

import pytest

from stagec.runtime import spinning

pytestmark = pytest.mark.skipif(not hasattr(os, "SCHED_IDLE"), reason="only Linux says how its threads are scheduled")


def test_only_threads_that_never_sleep_are_put_last():
    stop = threading.Event()
    waiting = threading.Thread(target=stop.wait)
    busy = threading.Thread(target=hashlib.pbkdf2_hmac, args=("sha256", b"", b"", 1_000_000))  # without Python's lock
    with spinning.put_last():
        waiting.start()
        busy.start()
    policies = [os.sched_getscheduler(t.native_id) for t in (waiting, busy, threading.main_thread())]
    stop.set()
    waiting.join()
    busy.join()
    assert policies == [os.SCHED_OTHER, os.SCHED_IDLE, os.SCHED_OTHER]


def test_a_device_that_does_nothing_takes_no_time_from_others(vulkan):
    vulkan.hal_device()
    before = spinning.busy_times()
    time.sleep(0.1)
    spent = {t: ns - before[t] for t, ns in spinning.busy_times().items() if t in before}
    never_sleep = [t for t, ns in spent.items() if ns > 0.08e9]
    assert [t for t in never_sleep if os.sched_getscheduler(t) != os.SCHED_IDLE] == []

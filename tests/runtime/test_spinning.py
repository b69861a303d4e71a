"""Threads that never sleep are kept to one core; the others are left as they are."""

import hashlib
import os
import subprocess
import sys
import threading

import pytest

from stagec.runtime import spinning

pytestmark = pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2, reason="needs Linux and two cores"
)


def test_only_threads_that_never_sleep_are_kept_to_one_core():
    stop = threading.Event()
    waiting = threading.Thread(target=stop.wait)
    busy = threading.Thread(target=hashlib.pbkdf2_hmac, args=("sha256", b"", b"", 1_000_000))  # without Python's lock
    with spinning.kept_to_one_core():
        waiting.start()
        busy.start()
    cores = [os.sched_getaffinity(t.native_id) for t in (waiting, busy, threading.main_thread())]
    stop.set()
    waiting.join()
    busy.join()
    everywhere = os.sched_getaffinity(0)
    assert cores == [everywhere, {max(everywhere)}, everywhere]


# In a process of its own: what other tests have left to the background may be busy too.
IDLE = """
import os
import time

import stagec
from stagec.runtime import spinning

stagec.devices("vulkan")[0].hal_device()
before = spinning.busy_times()
time.sleep(0.1)
spent = {t: ns - before[t] for t, ns in spinning.busy_times().items() if t in before}
never_sleep = [t for t, ns in spent.items() if ns > 0.08e9]
assert {core for t in never_sleep for core in os.sched_getaffinity(t)} <= {max(os.sched_getaffinity(0))}
"""


@pytest.mark.usefixtures("vulkan")
def test_a_device_that_does_nothing_leaves_all_cores_but_one_to_others():
    # On a machine with more to do than cores, a thread may begin to spin after it was watched: more tries.
    assert any(subprocess.run([sys.executable, "-c", IDLE]).returncode == 0 for _ in range(10))

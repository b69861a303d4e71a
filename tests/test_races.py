"""The hunt for races finds one that is there, and a round of it finds none in stagec."""

import subprocess
import sys
import threading

import numpy as np
import pytest

from tests import races


def test_a_result_of_another_thread_is_found(monkeypatch):
    monkeypatch.setattr(
        races.Jobs, "job_looks", lambda self: [np.asarray(threading.current_thread() is threading.main_thread())]
    )
    rounds, wrong = races.hunt(60, 2, names=["job_looks", "job_donation"])
    assert rounds == 1 and len(wrong) == 2 and all("job_looks: result 0 is" in text for text in wrong)


def test_so_is_an_error(monkeypatch):
    def failing(self):
        raise ValueError("in all threads")

    monkeypatch.setattr(races.Jobs, "job_looks", failing)
    assert any("in all threads" in text for text in races.hunt(60, 2, names=["job_looks"])[1])


@pytest.mark.slow
def test_threads_do_the_same_and_different_things_at_once():
    assert races.hunt(300, 8, rounds=1) == (1, [])


FIRST = """
import sys, threading
sys.setswitchinterval(1e-6)
import numpy as np, stagec, stagec.numpy as snp
from stagec.runtime import device, devices

f, barrier, found = stagec.jit(lambda x: snp.sin(x).sum()), threading.Barrier(8), []

def run():
    barrier.wait()
    found.append((devices.cpu(), device.instance(), device.binding(), float(f(np.ones(3, np.float32)))))

threads = [threading.Thread(target=run) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert len(found) == 8 and len(set(map(id, (row[0] for row in found)))) == 1, found
assert len({id(row[1]) for row in found}) == len({row[2:] for row in found}) == 1, found
"""


def test_threads_that_use_stagec_first_get_one_runtime():
    done = subprocess.run([sys.executable, "-c", FIRST], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr

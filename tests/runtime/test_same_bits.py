"""The number of threads and the queue that runs a program do not change a bit of its results."""

import os
import subprocess
import sys
from pathlib import Path

# A longer hunt: STAGEC_FUZZ=40 STAGEC_FUZZ_START=1000 python -m pytest tests/runtime/test_same_bits.py
FUZZ = int(os.environ.get("STAGEC_FUZZ", "1"))
START = int(os.environ.get("STAGEC_FUZZ_START", "0"))
ROOT = Path(__file__).resolve().parents[2]


def printed(threads, queue):
    arguments = [str(n) for n in (START, 16 * FUZZ, 200 if FUZZ == 1 else 1000)]
    environment = {**os.environ, "STAGEC_NUM_THREADS": str(threads), "PYTHONPATH": str(ROOT)}
    if queue != "auto":  # programs on disk have the queue that was chosen for them
        environment["STAGEC_CACHE"] = "0"
    program = [sys.executable, str(ROOT / "tests/same_bits.py"), *arguments, queue]
    done = subprocess.run(program, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_threads_and_queues_do_not_change_a_bit():
    alone = printed(1, "auto")
    assert len(alone) == 16 * FUZZ + 1
    for threads, queue in ((2, "auto"), (4, "auto"), (8, "auto"), (2, "local-task"), (1, "local-sync")):
        other = printed(threads, queue)
        assert [a for a, b in zip(alone, other, strict=True) if a != b] == [], (threads, queue)

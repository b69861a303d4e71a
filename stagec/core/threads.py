"""How many threads compute at once."""

from __future__ import annotations

import os

from stagec.core.config import config


def worker_count() -> int:
    """How many threads of this process can run at once."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def thread_count() -> int:
    """How many of them compute: all, or as many as the option `num_threads` allows."""
    return min(worker_count(), config.num_threads) if config.num_threads > 0 else worker_count()

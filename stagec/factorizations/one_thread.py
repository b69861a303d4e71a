"""One thread for LAPACK's functions of small matrices.

OpenBLAS divides operations from a few elements on among as many threads as there are cores, which wait for each other
at every step. Small matrices gain nothing, and where another process or thread has one of the cores, each step waits
until the system gives it back: NumPy's `eigh` of 64 rows then takes 97 ms on the average, instead of 0.7 in one thread.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from stagec.core import forking

R = TypeVar("R")

# Larger matrices may gain.
_MOST = 1023
# How long a fork waits for a thread that changes the number of threads.
_REST_SECONDS = 0.5


class _Libraries:
    """The libraries of BLAS in this process, which have one thread while any thread is in `run`."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._calls: set[object] = set()
        self._limited: list[tuple[Callable[[int], None], int]] = []

    def run(self, function: Callable[..., R], *args: Any, **kwargs: Any) -> R:
        call = object()
        try:
            with self.lock:
                if not self._calls:
                    counted = [(change, count()) for count, change in _found("scipy.linalg" in sys.modules)]
                    self._limited = [(change, count) for change, count in counted if count > 1]
                    for change, _ in self._limited:
                        change(1)
                self._calls.add(call)
            return function(*args, **kwargs)
        finally:
            with self.lock:
                self._calls.discard(call)
                if not self._calls:
                    self.restore()

    def restore(self) -> None:
        """Have the libraries divide their work again."""
        while self._limited:
            change, count = self._limited.pop()
            change(count)


@functools.cache
def _found(scipy: bool) -> list[tuple[Callable[[], int], Callable[[int], None]]]:
    """What returns and what changes the number of threads of each OpenBLAS that is loaded; SciPy brings one of its own.

    One that is built with OpenMP has a number for each thread, and is left as it is.
    """
    from threadpoolctl import threadpool_info  # looks at all libraries of the process

    found = []
    for info in threadpool_info():
        if info["internal_api"] == "openblas" and info["threading_layer"] == "pthreads":
            library = ctypes.CDLL(info["filepath"])
            for prefix, suffix in itertools.product(("", "scipy_"), ("", "64_", "_64")):
                names = [f"{prefix}openblas_{what}_num_threads{suffix}" for what in ("get", "set")]
                if all(hasattr(library, name) for name in names):
                    found.append((getattr(library, names[0]), getattr(library, names[1])))
    return found


_libraries = _Libraries()


@forking.before_fork
def _before_fork(held: forking.HeldLocks) -> None:
    held.hold(_libraries.lock, time.monotonic() + _REST_SECONDS)


@forking.in_child
def _after_fork_in_child(_: forking.HeldLocks) -> None:
    global _libraries
    _libraries.restore()
    _libraries = _Libraries()


def in_one_thread(evaluate: Callable[..., R], least: int) -> Callable[..., R]:
    """Return the evaluation of a row that has one thread where the matrices of its first operand are small.

    Args:
      least: the number of rows from which OpenBLAS divides it.
    """

    @functools.wraps(evaluate)
    def limited(*arrays: Any, **params: Any) -> R:
        if min(arrays[0].shape[-2:]) >= least and max(arrays[0].shape[-2:]) <= _MOST:
            return _libraries.run(evaluate, *arrays, **params)
        return evaluate(*arrays, **params)

    return limited

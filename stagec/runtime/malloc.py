"""Settings of the C library's allocator, so that calls do not ask the system for the memory of each result."""

from __future__ import annotations

import ctypes
import os
import sys

# Parameters of mallopt(3), and their values in bytes: larger blocks come from the system, and more free memory than
# that at the end of the heap goes back to it.
_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, -1
_BLOCK, _KEPT = 32 << 20, 128 << 20
_SETTINGS = ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "MALLOC_TOP_PAD_", "GLIBC_TUNABLES")


def keep_memory() -> None:
    """Let glibc keep up to 128 MB of freed memory for the next arrays.

    By default, glibc returns the memory of a result to the system when it is freed, and the system clears each page of
    the next one: that takes longer than `x + 1` of a million elements. Settings of the user's, in the environment,
    stay.
    """
    if not sys.platform.startswith("linux") or any(name in os.environ for name in _SETTINGS):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:  # None in other C libraries
        mallopt(_MMAP_THRESHOLD, _BLOCK)
        mallopt(_TRIM_THRESHOLD, _KEPT)

"""How much memory a call takes at its peak, beyond what the process held before it. Linux only."""

from __future__ import annotations

import ctypes
import gc

from tests.benchmarks.case import Call

# Calls of which the largest peak counts: what runs on several threads overlaps in different ways.
_CALLS = 5
# What proc(5) calls the reset of the peak.
_RESET_PEAK = "5"
# What is less is not seen.
_PAGE = 4096


def measure(call: Call) -> int:
    """Bytes, the result included. Memory that the allocator only keeps for later is given back to the system before."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/clear_refs", "w") as file:
        file.write(_RESET_PEAK)
    before = _field("VmRSS")
    for _ in range(_CALLS):
        call()
    return max(_field("VmHWM") - before, _PAGE)


def _field(name: str) -> int:
    """A size in the process's status, which the kernel states in KiB."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(f"{name}:"))

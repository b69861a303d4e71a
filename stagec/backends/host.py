"""The processor that runs Python."""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import sys


def machine() -> str:
    """The architecture, as Linux calls it."""
    name = platform.machine().lower()
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(name, name)


@functools.lru_cache(maxsize=1)
def _cpuinfo() -> dict[str, str]:
    """The first processor's rows of /proc/cpuinfo; empty where there is no such file."""
    rows: dict[str, str] = {}
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if not line.strip():
                    break
                name, _, value = line.partition(":")
                rows[name.strip()] = value.strip()
    except OSError:
        pass
    return rows


def _sysctl(name: str) -> str:
    try:
        libc = ctypes.CDLL(None)
        size = ctypes.c_size_t(4096)
        text = ctypes.create_string_buffer(size.value)
        if libc.sysctlbyname(name.encode(), text, ctypes.byref(size), None, 0) == 0:
            return text.value.decode(errors="replace")
    except (OSError, AttributeError):
        pass
    return ""


def cpu_model() -> str:
    """This machine's processor: vendor, family, model and name."""
    rows = _cpuinfo()
    names = ("vendor_id", "cpu family", "model", "model name", "CPU implementer", "CPU part", "CPU variant")
    parts = [rows[name] for name in names if name in rows]
    if not parts and sys.platform == "darwin":
        parts = [_sysctl("machdep.cpu.brand_string")]
    return " ".join(parts) or os.environ.get("PROCESSOR_IDENTIFIER", "") or platform.processor() or machine()


@functools.lru_cache(maxsize=1)
def cpu_features() -> frozenset[str]:
    """The CPU features that this process may use, in the system's spelling; empty if the system does not tell.

    >>> cpu_features() == cpu_features()
    True
    """
    rows = _cpuinfo()
    text = rows.get("flags") or rows.get("Features") or ""
    if not text and sys.platform == "darwin":
        text = f"{_sysctl('machdep.cpu.features')} {_sysctl('machdep.cpu.leaf7_features')}".lower()
    found = frozenset(text.split())
    return found if "amx_tile" not in found or _may_use_amx() else found - {f for f in found if f.startswith("amx_")}


# The number of the system call on x86-64, its request, and the registers that it is for.
_ARCH_PRCTL, _REQUEST_PERMISSION, _TILES = 158, 0x1023, 18


def _may_use_amx() -> bool:
    """Whether this process may use the matrix unit: a process has to ask Linux first, once, for all of its threads."""
    try:
        return bool(ctypes.CDLL(None).syscall(_ARCH_PRCTL, _REQUEST_PERMISSION, _TILES) == 0)
    except (OSError, AttributeError):
        return False

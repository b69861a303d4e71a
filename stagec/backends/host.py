"""The processor that runs Python."""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import sys
from collections.abc import Mapping


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
    """The CPU features that this process may use, in Linux's spelling; empty if they are not known.

    >>> cpu_features() == cpu_features()
    True
    """
    rows = _cpuinfo()
    found = frozenset((rows.get("flags") or rows.get("Features") or "").split()) or _features_of(_numpy_table())
    return found if "amx_tile" not in found or _may_use_amx() else found - {f for f in found if f.startswith("amx_")}


def _numpy_table() -> Mapping[str, bool]:
    """What NumPy asked of the processor: whether it has some features, in NumPy's spelling."""
    # The table is not public; `import stagec` has imported NumPy.
    return dict(getattr(sys.modules.get("numpy._core._multiarray_umath"), "__cpu_features__", {}))


# NumPy's names and Linux's, where these differ by more than case. A name of NumPy's with `_` is a group of features.
_LINUX_NAMES = {
    **{"SSE3": "pni", "SSE41": "sse4_1", "SSE42": "sse4_2", "FMA3": "fma", "LZCNT": "abm", "BMI": "bmi1"},
    **{"LAHF": "lahf_lm", "AVX512VBMI2": "avx512_vbmi2", "AVX512VNNI": "avx512_vnni", "AVX512BF16": "avx512_bf16"},
    **{"AVX512FP16": "avx512_fp16", "AVX512BITALG": "avx512_bitalg", "AVX512VPOPCNTDQ": "avx512_vpopcntdq"},
}
# NumPy's table lacks features of the x86-64 levels: XSAVE, and before NumPy 2.4 also those that Haswell brought along
# with AVX2 and FMA. No processor was made that has the features on the left without those on the right. A hypervisor
# may hide some, so what the table does say is not overruled.
_IMPLIED: tuple[tuple[frozenset[str], frozenset[str]], ...] = (
    (frozenset({"sse4_2", "popcnt"}), frozenset({"cx16", "lahf_lm"})),
    (frozenset({"avx"}), frozenset({"xsave"})),
    (frozenset({"avx2", "fma"}), frozenset({"abm", "bmi1", "bmi2", "movbe"})),
    (frozenset({"vaes"}), frozenset({"aes"})),
)


def _features_of(table: Mapping[str, bool]) -> frozenset[str]:
    """The features in NumPy's table of a processor, in Linux's spelling.

    >>> sorted(_features_of({"SSE41": True, "AVX2": False, "X86_V2": False}))
    ['sse4_1']
    """
    known = {_LINUX_NAMES.get(name, name.lower()): has for name, has in table.items() if "_" not in name}
    found = frozenset(name for name, has in known.items() if has)
    return found.union(*(implied - known.keys() for having, implied in _IMPLIED if having <= found))


# The number of the system call on x86-64, its request, and the registers that it is for.
_ARCH_PRCTL, _REQUEST_PERMISSION, _TILES = 158, 0x1023, 18


def _may_use_amx() -> bool:
    """Whether this process may use the matrix unit: a process has to ask Linux first, once, for all of its threads."""
    try:
        return bool(ctypes.CDLL(None).syscall(_ARCH_PRCTL, _REQUEST_PERMISSION, _TILES) == 0)
    except (OSError, AttributeError):
        return False

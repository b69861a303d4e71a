"""Targets: what a program is compiled for, as a validated value.

The compiler ends the process on some unknown names, so nothing reaches it that
is not in the lists below. They were found by trying each name on the compiler
that stagec is pinned to.
"""

from __future__ import annotations

import ctypes
import difflib
import functools
import os
import platform
import re
import sys
from dataclasses import dataclass

from stagec.core import location
from stagec.core.errors import TargetError

# What each x86-64 level adds to the one before it, in the kernel's spelling.
_X86_LEVELS: dict[str, frozenset[str]] = {
    "x86-64": frozenset(),
    "x86-64-v2": frozenset({"cx16", "lahf_lm", "popcnt", "sse4_1", "sse4_2", "ssse3"}),
    "x86-64-v3": frozenset({"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"}),
    "x86-64-v4": frozenset({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}),
}
# Architecture name -> (LLVM triple, CPU). The embedded ELF ignores the triple's system part.
_CPU_ARCHITECTURES: dict[str, tuple[str, str]] = {
    **{level: ("x86_64-unknown-linux-gnu", level) for level in _X86_LEVELS},
    "aarch64": ("aarch64-unknown-linux-gnu", "generic"),
}

_CUDA_VERSIONS = (60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 120)
_CUDA_NAMES = {"pascal": 60, "volta": 70, "turing": 75, "ampere": 80, "ada": 89, "hopper": 90}
_CUDA_DEFAULT = "sm_80"

# SPIR-V profiles by architecture, then by product.
# Without vp_android_baseline_2022 and adreno, for which the compiler keeps 8 or 16 bits in 32-bit words: it gets
# float16 products, and the last elements of arrays whose bytes are no multiple of four, wrong.
_VULKAN_PROFILES = (
    *("portable", "pascal", "volta", "turing", "ampere", "ada"),
    *("rdna1", "rdna2", "rdna3", "rdna4", "cdna1", "cdna2", "cdna3"),
    *("valhall", "valhall1", "valhall2", "valhall3", "valhall4"),
    *("a100", "rtx3070", "rtx3080", "rtx3090", "rtx4060", "rtx4070", "rtx4080", "rtx4090"),
    *("rx7700xt", "rx7800xt", "rx7900xt", "rx7900xtx", "rx9060xt", "rx9070", "rx9070xt"),
    *("mali-g57", "mali-g78", "mali-g310", "mali-g510", "mali-g710", "mali-g715", "mali-g720", "mali-g725"),
)
_VULKAN_DEFAULT = "portable"
# What all GPUs of the last years have, and the least that Vulkan guarantees for the rest: no width of a subgroup
# is relied on.
_PORTABLE = (
    '#hal.device.target<"vulkan", [#hal.executable.target<"vulkan-spirv", "vulkan-spirv-fb", '
    '{iree_codegen.target_info = #iree_gpu.target<arch = "portable", features = "spirv:v1.3,cap:Shader", '
    "wgp = <compute = COMPUTE, storage = b64|b32|b16|b8, subgroup = none, subgroup_size_choices = [64], "
    "max_workgroup_sizes = [128, 128, 64], max_thread_count_per_workgroup = 128, "
    "max_workgroup_memory_bytes = 16384, max_workgroup_counts = [65535, 65535, 65535]>>}>]> : !hal.device"
)
_PORTABLE_FEATURES = ("fp64",)

_BACKENDS = ("cpu", "vulkan", "cuda")


@dataclass(frozen=True)
class Target:
    """What a program is compiled for; equal targets give the same code.

    Args:
      backend: `cpu`, `vulkan` or `cuda`.
      arch: the processor within it; `host` is this machine's own CPU.
      features: further features, sorted; those of CPUs in LLVM's spelling.

    >>> Target.parse("cpu:x86-64-v3")
    Target(backend='cpu', arch='x86-64-v3', features=())
    >>> str(Target.parse("cuda"))
    'cuda:sm_80'
    """

    backend: str
    arch: str
    features: tuple[str, ...] = ()

    @staticmethod
    def parse(text: str | Target) -> Target:
        """Read a target's description, such as `cpu`, `cpu:x86-64-v3+gfni` or `cuda:sm_86`.

        Raises:
          TargetError: the backend, architecture or feature is not known; close names are suggested.

        >>> Target.parse("vulkan:ampere").arch
        'ampere'
        """
        if isinstance(text, Target):
            return text
        if not isinstance(text, str):
            what = f"a target is a string, not {type(text).__name__}"
            raise location.error(TargetError, what, fix="pass a string such as 'cpu'")
        return _parse(text)

    def __str__(self) -> str:
        if self.backend == "cpu" and self.arch == "host":
            return "cpu"
        return f"{self.backend}:{self.arch}" + "".join(f"+{feature}" for feature in self.features)

    @property
    def compiled_arch(self) -> str:
        """The architecture that the compiler is given: the newest it knows that `arch` can run.

        >>> Target.parse("cuda:sm_90").compiled_arch
        'sm_89'
        """
        if self.backend != "cuda":
            return self.arch
        version = int(self.arch.removeprefix("sm_"))
        return f"sm_{max(known for known in _CUDA_VERSIONS if known <= version)}"

    @property
    def description(self) -> str:
        """The target as an attribute of the module, where no flag of the compiler names it, else empty."""
        if self.arch != "portable":
            return ""
        return _PORTABLE.replace("COMPUTE", "|".join((*self.features, "fp32|fp16|int64|int32|int16|int8")))

    @property
    def triple(self) -> str:
        """The LLVM triple of a CPU target that is not the host, else empty."""
        return _CPU_ARCHITECTURES[self.arch][0] if self.backend == "cpu" and self.arch in _CPU_ARCHITECTURES else ""

    def contributors(self) -> dict[str, str]:
        """Everything about the target that changes the compiled code, by name, for a cache key.

        For the host CPU this holds its model and features, so that an entry made on one
        machine is never run by another that lacks what the code uses.
        """
        parts = {"target": str(self)}
        if self.compiled_arch != self.arch:
            parts["target compiled as"] = self.compiled_arch
        if self.backend == "cpu" and self.arch in ("host", "generic"):
            parts["machine"] = _machine()
        if self.backend == "cpu" and self.arch == "host":
            parts["cpu model"] = cpu_model()
            parts["cpu features"] = " ".join(sorted(cpu_features()))
        return parts

    def missing_here(self) -> frozenset[str]:
        """CPU features that this target's code may use and this machine lacks."""
        if self.backend != "cpu" or self.arch in ("host", "generic"):
            return frozenset()
        if self.arch not in _X86_LEVELS:
            return frozenset() if _machine() == self.arch else frozenset({self.arch})
        if _machine() != "x86_64":
            return frozenset({"x86-64"})
        return self.required_features() - cpu_features()

    def required_features(self) -> frozenset[str]:
        """CPU features that this target's code may use, in the kernel's spelling; for `host`, all that there are.

        >>> sorted(Target.parse("cpu:x86-64-v2+gfni").required_features())
        ['cx16', 'gfni', 'lahf_lm', 'popcnt', 'sse4_1', 'sse4_2', 'ssse3']
        """
        if self.backend != "cpu" or self.arch == "generic":
            return frozenset()
        if self.arch == "host":
            return cpu_features()
        return _level_features(self.arch) | {_KERNEL_NAMES.get(f, f) for f in self.features}

    @property
    def machine(self) -> str:
        """The architecture that CPU code runs on, as `platform.machine` calls it; empty for other backends.

        >>> Target.parse("cpu:x86-64-v3").machine, Target.parse("vulkan").machine
        ('x86_64', '')
        """
        if self.backend != "cpu":
            return ""
        if self.arch in ("host", "generic"):
            return _machine()
        return "x86_64" if self.arch in _X86_LEVELS else self.arch


# Features that can be asked for by name, in LLVM's spelling; and the kernel's, where that differs.
_FEATURES: dict[str, tuple[str, ...]] = {
    "x86-64": (
        *("aes", "avx", "avx2", "avx512bf16", "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512fp16"),
        *("avx512ifma", "avx512vbmi", "avx512vbmi2", "avx512vl", "avx512vnni", "avxvnni", "bmi", "bmi2", "f16c"),
        *("fma", "gfni", "lzcnt", "movbe", "popcnt", "sse3", "sse4.1", "sse4.2", "ssse3"),
    ),
    "aarch64": ("bf16", "dotprod", "fp16fml", "fullfp16", "i8mm", "lse"),
}
_KERNEL_NAMES = {
    **{"avx512bf16": "avx512_bf16", "avx512fp16": "avx512_fp16", "avx512vbmi2": "avx512_vbmi2"},
    **{"avx512vnni": "avx512_vnni", "avxvnni": "avx_vnni", "bmi": "bmi1", "lzcnt": "abm", "sse3": "pni"},
    **{"sse4.1": "sse4_1", "sse4.2": "sse4_2"},
}


@functools.lru_cache(maxsize=256)
def _parse(text: str) -> Target:
    backend, _, arch = text.strip().lower().partition(":")
    if backend not in _BACKENDS:
        raise _unknown("target", text, backend, _BACKENDS, "use 'cpu', 'vulkan[:profile]' or 'cuda[:sm_NN]'")
    if backend == "cpu":
        return _parse_cpu(text, arch)
    if backend == "vulkan":
        arch, *features = (arch or _VULKAN_DEFAULT).split("+")
        if arch not in _VULKAN_PROFILES:
            raise _unknown("Vulkan profile", text, arch, _VULKAN_PROFILES, f"use 'vulkan' for {_VULKAN_DEFAULT}")
        for feature in features:
            if arch != "portable" or feature not in _PORTABLE_FEATURES:
                fix = "leave it out, or use 'vulkan:portable+fp64', which adds float64; other profiles take no features"
                raise _unknown(f"feature of {arch}", text, feature, _PORTABLE_FEATURES, fix)
        return Target("vulkan", arch, tuple(sorted(set(features))))
    arch = arch or _CUDA_DEFAULT
    if arch in _CUDA_NAMES:
        arch = f"sm_{_CUDA_NAMES[arch]}"
    known = tuple(f"sm_{version}" for version in _CUDA_VERSIONS)
    match = re.fullmatch(r"sm_([0-9]{2,3})a?", arch)
    if match is None or not _CUDA_VERSIONS[0] <= int(match[1]) < 200:
        fix = "use 'cuda:sm_NN' with the device's compute capability; 'cuda' means sm_80"
        raise _unknown("CUDA architecture", text, arch, (*known, *_CUDA_NAMES), fix)
    return Target("cuda", f"sm_{match[1]}")


def _parse_cpu(text: str, arch: str) -> Target:
    arch, *features = (arch or "host").split("+")
    known = ("host", "generic", *_CPU_ARCHITECTURES)
    if arch not in known:
        raise _unknown("CPU architecture", text, arch, known, "use 'cpu' for this machine's own CPU")
    allowed = _FEATURES["x86-64"] if arch in _X86_LEVELS else _FEATURES.get(arch, ())
    for feature in features:
        if feature not in allowed:
            fix = (
                f"leave it out; features can be added to {' or '.join(_FEATURES)} architectures only"
                if not allowed
                else ""
            )
            raise _unknown(f"feature of {arch}", text, feature, allowed, fix or f"use one of {', '.join(allowed)}")
    return Target("cpu", arch, tuple(sorted(set(features))))


def _unknown(kind: str, text: str, name: str, known: tuple[str, ...], fix: str) -> TargetError:
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.6)
    hint = f"did you mean {' or '.join(repr(c) for c in close)}? Otherwise {fix}" if close else fix
    rows = [("target", repr(text), "a `target` or `targets` argument, or STAGEC_TARGET")]
    return location.error(TargetError, f"{name!r} is not a known {kind}", rows, hint)


def _level_features(level: str) -> frozenset[str]:
    wanted: frozenset[str] = frozenset()
    if level not in _X86_LEVELS:
        return wanted
    for name, added in _X86_LEVELS.items():
        wanted |= added
        if name == level:
            break
    return wanted


def _machine() -> str:
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
    """This machine's processor, as its vendor, family, model and stepping name it."""
    rows = _cpuinfo()
    names = ("vendor_id", "cpu family", "model", "model name", "CPU implementer", "CPU part", "CPU variant")
    parts = [rows[name] for name in names if name in rows]
    if not parts and sys.platform == "darwin":
        parts = [_sysctl("machdep.cpu.brand_string")]
    return " ".join(parts) or os.environ.get("PROCESSOR_IDENTIFIER", "") or platform.processor() or _machine()


@functools.lru_cache(maxsize=1)
def cpu_features() -> frozenset[str]:
    """What this machine's processor can do, in the system's spelling; empty where it does not say.

    >>> cpu_features() == cpu_features()
    True
    """
    rows = _cpuinfo()
    text = rows.get("flags") or rows.get("Features") or ""
    if not text and sys.platform == "darwin":
        text = f"{_sysctl('machdep.cpu.features')} {_sysctl('machdep.cpu.leaf7_features')}".lower()
    return frozenset(text.split())


def cpu_levels() -> tuple[str, ...]:
    """The x86-64 levels that this machine can run, lowest first.

    >>> set(cpu_levels()) <= {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"}
    True
    """
    if _machine() != "x86_64":
        return ()
    return tuple(level for level in _X86_LEVELS if _level_features(level) <= cpu_features())


def lacking_here(machine: str, features: frozenset[str]) -> frozenset[str]:
    """What code for an architecture with these CPU features needs and this machine does not have.

    >>> lacking_here("pdp11", frozenset())
    frozenset({'pdp11'})
    """
    return features - cpu_features() if machine == _machine() else frozenset({machine})


def portable_host() -> str:
    """The target for every machine like this one: its own level, without what is particular to its model.

    >>> Target.parse(portable_host()).missing_here()
    frozenset()
    """
    levels = cpu_levels()
    if levels:
        return f"cpu:{levels[-1]}"
    return f"cpu:{_machine()}" if _machine() in _CPU_ARCHITECTURES else "cpu:generic"


def known_targets() -> tuple[str, ...]:
    """Every target description without extra features, for help texts and completion."""
    cuda = tuple(f"cuda:sm_{version}" for version in _CUDA_VERSIONS)
    cpu = tuple(f"cpu:{arch}" for arch in ("generic", *_CPU_ARCHITECTURES))
    return ("cpu", *cpu, *(f"vulkan:{profile}" for profile in _VULKAN_PROFILES), *cuda)

"""The CPU: programs run in Python's process, in kernels that stagec writes or IREE does."""

from __future__ import annotations

from stagec.backends import host
from stagec.backends.host import cpu_features, cpu_model
from stagec.backends.record import VECTOR_SUMS, Backend, Target, unknown

# What each x86-64 level adds to the one before it, in the kernel's spelling.
_X86_LEVELS: dict[str, frozenset[str]] = {
    "x86-64": frozenset(),
    "x86-64-v2": frozenset({"cx16", "lahf_lm", "popcnt", "sse4_1", "sse4_2", "ssse3"}),
    "x86-64-v3": frozenset({"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"}),
    "x86-64-v4": frozenset({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}),
}
# Architecture name -> flags of the compiler. The embedded ELF ignores the triple's system part.
_CPU_ARCHITECTURES: dict[str, dict[str, str]] = {
    **{level: {"triple": "x86_64-unknown-linux-gnu", "cpu": level} for level in _X86_LEVELS},
    "aarch64": {"triple": "aarch64-unknown-linux-gnu", "cpu": "generic"},
    # RV64GC, and ARMv7-A with NEON, as Linux distributions and boards have them.
    "riscv64": {
        **{"triple": "riscv64-unknown-linux-gnu", "cpu": "generic-rv64"},
        **{"cpu-features": "+m,+a,+f,+d,+c", "abi": "lp64d"},
    },
    "armv7": {"triple": "armv7a-unknown-linux-gnueabihf", "cpu": "generic", "cpu-features": "+neon,+vfp3"},
}
# IREE has no packages for these.
_WITHOUT_RUNTIME = ("riscv64", "armv7")

# Features that can be asked for by name, in LLVM's spelling; and the kernel's, where that differs.
_FEATURES: dict[str, tuple[str, ...]] = {
    "x86-64": (
        *("aes", "amx-bf16", "amx-int8", "amx-tile", "avx", "avx2", "avx512bf16", "avx512bw", "avx512cd"),
        *("avx512dq", "avx512f", "avx512fp16"),
        *("avx512ifma", "avx512vbmi", "avx512vbmi2", "avx512vl", "avx512vnni", "avxvnni", "bmi", "bmi2", "f16c"),
        *("fma", "gfni", "lzcnt", "movbe", "popcnt", "sse3", "sse4.1", "sse4.2", "ssse3"),
    ),
    "aarch64": ("bf16", "dotprod", "fp16fml", "fullfp16", "i8mm", "lse"),
}
_KERNEL_NAMES = {
    **{"amx-bf16": "amx_bf16", "amx-int8": "amx_int8", "amx-tile": "amx_tile"},
    **{"avx512bf16": "avx512_bf16", "avx512fp16": "avx512_fp16", "avx512vbmi2": "avx512_vbmi2"},
    **{"avx512vnni": "avx512_vnni", "avxvnni": "avx_vnni", "bmi": "bmi1", "lzcnt": "abm", "sse3": "pni"},
    **{"sse4.1": "sse4_1", "sse4.2": "sse4_2"},
}


class Cpu(Backend):
    """Processors."""

    name = "cpu"
    usage = "'cpu'"
    laws = "cpu"
    queues = ("local-sync", "local-task")
    is_host = True
    has_instrumentation = True
    has_linker = True

    def parse(self, text: str, arch: str) -> Target:
        arch, *features = (arch or "host").split("+")
        known = ("host", "generic", *_CPU_ARCHITECTURES)
        if arch not in known:
            raise unknown("CPU architecture", text, arch, known, "use 'cpu' for this machine's own CPU")
        allowed = _FEATURES["x86-64"] if arch in _X86_LEVELS else _FEATURES.get(arch, ())
        for feature in features:
            if feature not in allowed:
                fix = (
                    f"leave it out; features can be added to {' or '.join(_FEATURES)} architectures only"
                    if not allowed
                    else ""
                )
                raise unknown(f"feature of {arch}", text, feature, allowed, fix or f"use one of {', '.join(allowed)}")
        return Target("cpu", arch, tuple(sorted(set(features))))

    def known(self) -> tuple[str, ...]:
        return ("cpu", *(f"cpu:{arch}" for arch in ("generic", *_CPU_ARCHITECTURES)))

    def flags(self, target: Target) -> tuple[str, ...]:
        flags: tuple[str, ...] = (
            "--iree-hal-target-device=local",
            "--iree-hal-local-target-device-backends=llvm-cpu",
            # Large fused kernels need more than the default; the runtime's workers get 4 MiB stacks.
            "--iree-llvmcpu-stack-allocation-limit=1048576",
            "--iree-llvmcpu-debug-symbols=false",
            VECTOR_SUMS,
        )
        known = _CPU_ARCHITECTURES.get(target.arch, {"cpu": target.arch})
        flags += tuple([f"--iree-llvmcpu-target-{name}={value}" for name, value in known.items()])
        if target.features:
            features = ",".join(f"+{feature}" for feature in target.features)
            flags += (f"--iree-llvmcpu-target-cpu-features={features}",)
        return flags

    def flag_sets(self, target: Target, kernels: bool) -> dict[str, tuple[str, ...]]:
        is_linked = target.machine in ("x86_64", "aarch64")
        names = (("direct", "kernels") if is_linked else ("kernels",)) if kernels else ()
        return {**dict.fromkeys(names, ()), **super().flag_sets(target, kernels)}

    def contributors(self, target: Target) -> dict[str, str]:
        """For the host its model and features, so that another machine does not run code that it lacks features for."""
        parts = {}
        if target.arch in ("host", "generic"):
            parts["machine"] = host.machine()
        if target.is_host:
            parts["cpu model"] = cpu_model()
            parts["cpu features"] = " ".join(sorted(cpu_features()))
        return parts

    def has_runtime(self, target: Target) -> bool:
        return target.arch not in _WITHOUT_RUNTIME

    def missing_here(self, target: Target) -> frozenset[str]:
        if target.arch in ("host", "generic"):
            return frozenset()
        if target.arch not in _X86_LEVELS:
            return frozenset() if host.machine() == target.arch else frozenset({target.arch})
        if host.machine() != "x86_64":
            return frozenset({"x86-64"})
        return self.required_features(target) - cpu_features()

    def required_features(self, target: Target) -> frozenset[str]:
        if target.arch == "generic":
            return frozenset()
        if target.is_host:
            return cpu_features()
        return _level_features(target.arch) | {_KERNEL_NAMES.get(f, f) for f in target.features}

    def machine(self, target: Target) -> str:
        if target.arch in ("host", "generic"):
            return host.machine()
        return "x86_64" if target.arch in _X86_LEVELS else target.arch


def _level_features(level: str) -> frozenset[str]:
    wanted: frozenset[str] = frozenset()
    if level not in _X86_LEVELS:
        return wanted
    for name, added in _X86_LEVELS.items():
        wanted |= added
        if name == level:
            break
    return wanted


def cpu_levels() -> tuple[str, ...]:
    """The x86-64 levels that this machine can run, lowest first.

    >>> set(cpu_levels()) <= {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"}
    True
    """
    if host.machine() != "x86_64":
        return ()
    return tuple(level for level in _X86_LEVELS if _level_features(level) <= cpu_features())


def lacking_here(machine: str, features: frozenset[str]) -> frozenset[str]:
    """The features that code for an architecture needs and this machine lacks; or the architecture, if it is another
    one.

    >>> lacking_here("pdp11", frozenset())
    frozenset({'pdp11'})
    """
    return features - cpu_features() if machine == host.machine() else frozenset({machine})


def portable_host() -> str:
    """The target for machines of this x86-64 level, or of this architecture, without the features of this model.

    >>> Target.parse(portable_host()).missing_here()
    frozenset()
    """
    levels = cpu_levels()
    if levels:
        return f"cpu:{levels[-1]}"
    return f"cpu:{host.machine()}" if host.machine() in _CPU_ARCHITECTURES else "cpu:generic"

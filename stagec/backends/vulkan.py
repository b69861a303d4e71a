"""Vulkan: SPIR-V for GPUs of any vendor, and for Mesa's lavapipe, which needs no GPU."""

from __future__ import annotations

import re

from stagec.backends import vulkan_features
from stagec.backends.record import Backend, DeviceInfo, Gap, Target, unknown

# SPIR-V profiles by architecture, then by product.
# Left out: vp_android_baseline_2022 and adreno, for which the compiler stores 8 or 16 bits in 32-bit words. It
# miscompiles float16 products, and the last elements of arrays whose size in bytes is not a multiple of four.
_PROFILES = (
    *("portable", "pascal", "volta", "turing", "ampere", "ada"),
    *("rdna1", "rdna2", "rdna3", "rdna4", "cdna1", "cdna2", "cdna3"),
    *("valhall", "valhall1", "valhall2", "valhall3", "valhall4"),
    *("a100", "rtx3070", "rtx3080", "rtx3090", "rtx4060", "rtx4070", "rtx4080", "rtx4090"),
    *("rx7700xt", "rx7800xt", "rx7900xt", "rx7900xtx", "rx9060xt", "rx9070", "rx9070xt"),
    *("mali-g57", "mali-g78", "mali-g310", "mali-g510", "mali-g710", "mali-g715", "mali-g720", "mali-g725"),
)
_DEFAULT = "portable"
# The features of all recent GPUs, with the least limits that Vulkan guarantees; no width of subgroups is assumed.
_PORTABLE = (
    '#hal.device.target<"vulkan", [#hal.executable.target<"vulkan-spirv", "vulkan-spirv-fb", '
    '{iree_codegen.target_info = #iree_gpu.target<arch = "portable", features = "spirv:v1.3,cap:Shader", '
    "wgp = <compute = COMPUTE, storage = b64|b32|b16|b8, subgroup = none, subgroup_size_choices = [64], "
    "max_workgroup_sizes = [128, 128, 64], max_thread_count_per_workgroup = 128, "
    "max_workgroup_memory_bytes = 16384, max_workgroup_counts = [65535, 65535, 65535]>>}>]> : !hal.device"
)
_PORTABLE_FEATURES = ("fp64",)

# NVIDIA's and AMD's product lines, as drivers name them, and the profile that serves each.
_PRODUCTS = (
    (r"RTX 40|L40|\bL4\b|Ada", "ada"),
    (r"RTX 30|A100|\bA\d0\b|H100|H200|Ampere", "ampere"),
    (r"RTX 20|GTX 16|\bT4\b|Turing", "turing"),
    (r"V100|TITAN V|Volta", "volta"),
    (r"GTX 10|P100|\bP4\d?\b|Pascal", "pascal"),
    (r"RX 9\d{3}|GFX12", "rdna4"),
    (r"RX 7\d{3}|GFX11", "rdna3"),
    (r"RX 6\d{3}|GFX103", "rdna2"),
    (r"RX 5\d{3}|GFX101", "rdna1"),
)
# These have no 64-bit floats.
_NARROW = re.compile(r"portable|valhall\d?|mali-g(57|78|310|510|710|715)")
_DOUBLES = Gap(
    ("float64", "complex128"),
    (),
    "which has no 64-bit floats",
    "compute in float32 or complex64, or run this function on the CPU: stagec.jit(f, device='cpu')",
)


class Vulkan(Backend):
    """Devices that Vulkan lists."""

    name = "vulkan"
    usage = "'vulkan[:profile]'"
    laws = "spirv"
    queues = ("vulkan",)
    is_exclusive = True
    has_instrumentation = True
    has_races = True
    libraries = ("libvulkan.so.1", "vulkan-1.dll")
    missing = "install a Vulkan driver (on Debian: apt-get install mesa-vulkan-drivers, which needs no GPU)"

    def parse(self, text: str, arch: str) -> Target:
        arch, *features = (arch or _DEFAULT).split("+")
        if arch not in _PROFILES:
            raise unknown("Vulkan profile", text, arch, _PROFILES, f"use 'vulkan' for {_DEFAULT}")
        for feature in features:
            if arch != "portable" or feature not in _PORTABLE_FEATURES:
                fix = "leave it out, or use 'vulkan:portable+fp64', which adds float64; other profiles take no features"
                raise unknown(f"feature of {arch}", text, feature, _PORTABLE_FEATURES, fix)
        return Target("vulkan", arch, tuple(sorted(set(features))))

    def known(self) -> tuple[str, ...]:
        return tuple(f"vulkan:{profile}" for profile in _PROFILES)

    def flags(self, target: Target) -> tuple[str, ...]:
        if self.description(target):  # the module carries it
            return ()
        return (f"--iree-hal-target-device={self.name}", f"--iree-vulkan-target={target.arch}")

    def description(self, target: Target) -> str:
        if target.arch != "portable":
            return ""
        return _PORTABLE.replace("COMPUTE", "|".join((*target.features, "fp32|fp16|int64|int32|int16|int8")))

    def works_in_order(self, target: Target) -> bool:
        # Mesa's lavapipe declares the device lost if two threads signal the counts of a semaphore in the wrong order.
        # Drivers of GPUs that have a profile are not known to look, and work in order costs them time.
        return target.arch == _DEFAULT

    def gaps(self, target: Target) -> tuple[Gap, ...]:
        return (_DOUBLES,) if _NARROW.fullmatch(str(target).partition(":")[2]) else ()

    def architecture(self, device: DeviceInfo) -> str:
        """The profile for a device, from what its driver says of it; the portable one where none is known."""
        if not self.is_software(device):
            for pattern, profile in _PRODUCTS:
                if re.search(pattern, device.device_kind):
                    return profile
        return "portable+fp64" if vulkan_features.has_float64(device.device_kind) else "portable"

    def is_software(self, device: DeviceInfo) -> bool:
        return re.search(r"^type: cpu$", device.info(), re.MULTILINE) is not None

    def rank(self, target: Target, device: DeviceInfo) -> int:
        if target.arch != _DEFAULT:
            return 2 if target.arch == device.architecture else -1
        if not target.features:
            return 0
        return 1 if vulkan_features.has_float64(device.device_kind) else -1

"""ROCm: AMD's GPUs, through the compiler's target `rocm` and the runtime's driver `hip`.

Programs were compiled for these targets, but never run: no AMD GPU was available.
"""

from __future__ import annotations

import re

from stagec.backends.record import Backend, DeviceInfo, Target, unknown
from stagec.core import errors, location

# The architectures that the compiler supports. Code for one of them does not run on another.
_ARCHITECTURES = (
    *("gfx908", "gfx90a", "gfx942", "gfx950"),
    *("gfx1100", "gfx1101", "gfx1103", "gfx1150", "gfx1151", "gfx1200", "gfx1201", "gfx1250"),
)
_PRODUCTS = {
    **{"mi100": "gfx908", "mi210": "gfx90a", "mi250": "gfx90a", "mi250x": "gfx90a", "mi300a": "gfx942"},
    **{"mi300x": "gfx942", "mi325x": "gfx942", "mi350x": "gfx950", "mi355x": "gfx950"},
    **{"w7900": "gfx1100", "rx7900xt": "gfx1100", "rx7900xtx": "gfx1100", "rx7700xt": "gfx1101", "rx7800xt": "gfx1101"},
    **{"rx9060xt": "gfx1200", "rx9070": "gfx1201", "rx9070xt": "gfx1201"},
}
_DEFAULT = "gfx942"


class Rocm(Backend):
    """AMD's GPUs."""

    name = "rocm"
    usage = "'rocm[:gfxNNN]'"
    laws = "gpu"
    collectives = True
    queues = ("hip",)
    crashes = True
    libraries = ("libamdhip64.so", "amdhip64.dll")
    missing = "install ROCm, AMD's driver; `rocminfo` shows whether it works"

    def parse(self, text: str, arch: str) -> Target:
        arch = _PRODUCTS.get(arch, arch or _DEFAULT)
        if arch not in _ARCHITECTURES:
            fix = f"use 'rocm:gfxNNN' with the device's architecture; 'rocm' means {_DEFAULT}"
            raise unknown("ROCm architecture", text, arch, (*_ARCHITECTURES, *_PRODUCTS), fix)
        return Target("rocm", arch)

    def known(self) -> tuple[str, ...]:
        return tuple(f"rocm:{arch}" for arch in _ARCHITECTURES)

    def flags(self, target: Target) -> tuple[str, ...]:
        return ("--iree-hal-target-device=hip", f"--iree-rocm-target={target.arch}")

    def architecture(self, device: DeviceInfo) -> str:
        """The `gfx` name that the driver gives.

        Raises:
          DeviceError: the compiler does not know it.
        """
        found = re.search(r"gpu-arch-name: *(\w+)", device.info())
        arch = found[1] if found else "nothing"
        if arch not in _ARCHITECTURES:
            raise location.error(
                errors.DeviceError,
                f"the compiler has no code for {device.device_kind}: its architecture is {arch}",
                [("known", ", ".join(_ARCHITECTURES), "")],
                "run on it by Vulkan: device='vulkan'",
            )
        return arch

    def rank(self, target: Target, device: DeviceInfo) -> int:
        return 1 if target.arch == device.architecture else -1

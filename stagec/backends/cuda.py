"""CUDA: NVIDIA's cards. Code is PTX, which a card's driver compiles."""

from __future__ import annotations

import ctypes
import os
import re

from stagec.backends.record import Backend, DeviceInfo, Target, unknown
from stagec.core import errors

_VERSIONS = (60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 120)
_NAMES = {"pascal": 60, "volta": 70, "turing": 75, "ampere": 80, "ada": 89, "hopper": 90}
_DEFAULT = "sm_80"


class Cuda(Backend):
    """NVIDIA's cards."""

    name = "cuda"
    usage = "'cuda[:sm_NN]'"
    laws = "gpu"
    collectives = True
    queues = ("cuda",)
    libraries = ("libcuda.so.1", "nvcuda.dll")
    missing = "install NVIDIA's driver; `nvidia-smi` shows whether it works"

    def parse(self, text: str, arch: str) -> Target:
        arch = arch or _DEFAULT
        if arch in _NAMES:
            arch = f"sm_{_NAMES[arch]}"
        known = tuple(f"sm_{version}" for version in _VERSIONS)
        match = re.fullmatch(r"sm_([0-9]{2,3})a?", arch)
        if match is None or not _VERSIONS[0] <= int(match[1]) < 200:
            fix = "use 'cuda:sm_NN' with the device's compute capability; 'cuda' means sm_80"
            raise unknown("CUDA architecture", text, arch, (*known, *_NAMES), fix)
        return Target("cuda", f"sm_{match[1]}")

    def known(self) -> tuple[str, ...]:
        return tuple(f"cuda:sm_{version}" for version in _VERSIONS)

    def flags(self, target: Target) -> tuple[str, ...]:
        return ("--iree-hal-target-device=cuda", f"--iree-cuda-target={self.compiled_arch(target)}")

    def compiled_arch(self, target: Target) -> str:
        return f"sm_{max(known for known in _VERSIONS if known <= _version(target.arch))}"

    def architecture(self, device: DeviceInfo) -> str:
        """`sm_NN` of a device, asked of the driver."""
        driver = ctypes.CDLL(self.libraries[os.name == "nt"])
        found, major, minor = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
        # 75 and 76 are the compute capability among the driver's device attributes.
        status = driver.cuInit(0) or driver.cuDeviceGet(ctypes.byref(found), device.id)
        status = status or driver.cuDeviceGetAttribute(ctypes.byref(major), 75, found)
        status = status or driver.cuDeviceGetAttribute(ctypes.byref(minor), 76, found)
        if status:
            raise errors.DeviceError(errors.message(f"the CUDA driver does not answer (error {status})"))
        return f"sm_{major.value}{minor.value}"

    def rank(self, target: Target, device: DeviceInfo) -> int:
        # PTX for one architecture runs on all newer ones.
        have, wanted = _version(device.architecture), _version(target.arch)
        return wanted if wanted <= have else -1


def _version(arch: str) -> int:
    return int(arch.removeprefix("sm_"))

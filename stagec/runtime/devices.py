"""Which devices this machine has, and which of them is meant by a name or by default."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from typing import Any, NamedTuple

from stagec.backends import BACKENDS, CPU
from stagec.core import errors, location
from stagec.core.config import config
from stagec.core.exports import without
from stagec.runtime.device import HalDevice, driver_of, once


class Device(HalDevice):
    """A device, on which programs run and arrays are stored.

    The option `num_cpu_devices` divides the CPU into several devices for
    meshes. They share its memory, queues and cores.

    Attributes:
      home: the device whose memory and queues this one uses: the first CPU for every CPU, else the device itself.
      process_index: the process that the device belongs to.
    """

    home: Device
    process_index = 0

    @property
    def local_hardware_id(self) -> int:
        """The number of the device among those of its platform."""
        return self.id

    @property
    def client(self) -> Client:
        """The platform of the device."""
        return Client(self.platform)

    def default_memory(self) -> Memory:
        """Where arrays on the device are."""
        return Memory("device", self)

    def addressable_memories(self) -> list[Memory]:
        """The memories of the device that arrays can be in: one."""
        return [self.default_memory()]

    def memory_stats(self) -> dict[str, int]:
        """Bytes that the runtime allocated on the device: `bytes_in_use`, `peak_bytes_in_use`, `bytes_freed`.

        Memory that NumPy owns is not counted. For a device other than a CPU only `bytes_allocated`, which
        never falls: the runtime does not count what its queues free.
        """
        totals = dict.fromkeys(("peak", "allocated", "freed"), 0)
        for driver in self.backend.queues:
            allocator = self.hal_device(driver).allocator
            if self.is_cpu:  # what is kept for later results is not in use
                allocator.trim()
            for name, count in allocator.statistics.items():
                totals[name.rpartition("_")[2]] += count
        if not self.is_cpu:
            return {"bytes_allocated": totals["allocated"]}
        return {
            "bytes_in_use": totals["allocated"] - totals["freed"],
            "peak_bytes_in_use": totals["peak"],
            "bytes_freed": totals["freed"],
        }

    def __dir__(self) -> list[str]:
        return without(
            self,
            "address",
            "allocator",
            "architecture",
            "backend",
            "drain",
            "driver",
            "hal_device",
            "has_abandoned",
            "home",
            "info",
            "is_cpu",
            "timeline",
            "turn",
            "turn_of_others",
        )

    def __repr__(self) -> str:
        return f"{self.platform.capitalize()}Device(id={self.id})"

    def __str__(self) -> str:
        return f"{self.platform}:{self.id}"

    def __reduce__(self) -> Any:
        return find, (f"{self.platform}:{self.id}",)


class Memory(NamedTuple):
    """A memory of a device."""

    kind: str
    device: Device


class Client:
    """A platform and its devices."""

    def __init__(self, platform: str) -> None:
        self.platform = self.runtime_type = platform
        self.platform_version = f"stagec on {platform}"

    def devices(self) -> list[Device]:
        return devices(self.platform)

    def local_devices(self) -> list[Device]:
        return [d for d in self.devices() if d.process_index == processes[0]]

    def device_count(self) -> int:
        return len(self.devices())

    def local_device_count(self) -> int:
        return len(self.local_devices())

    def process_index(self) -> int:
        return processes[0]


@once
def cpu() -> Device:
    """The CPU of this machine; where it is divided into several devices, the first of them."""
    return Device(CPU.name, 0)


@once
def _part_of_cpu(number: int) -> Device:
    return Device(CPU.name, number, home=cpu()) if number else cpu()


@once
def _of_driver(platform: str) -> tuple[Device, ...]:
    """The devices that a driver finds, the hardware first."""
    infos = driver_of(BACKENDS[platform]).query_available_devices()
    found = [Device(platform, i, info["name"], info["device_id"]) for i, info in enumerate(infos)]
    if len(found) > 1:  # the number of a GPU does not depend on whether there is a software device too
        found.sort(key=Device._is_software)
        for i, device in enumerate(found):
            device.id = i
    return tuple(found)


def _of_platform(platform: str) -> tuple[Device, ...]:
    if BACKENDS[platform].is_host:
        rank, size = processes
        return tuple([d for process in range(size) for d in _cpus_of(process, rank)])
    return _of_driver(platform)


# The number of this process, and how many there are; `runtime/processes.py` sets it.
processes = (0, 1)
# What is called before the CPU's devices are next listed, once: it may set `num_cpu_devices`.
before_listing: list[Callable[[], None]] = []


def _cpus_of(process: int, rank: int) -> list[Device]:
    """The CPU devices of a process. Those of other processes only stand for their parts of arrays."""
    while before_listing:
        before_listing.pop()()
    count = config.num_cpu_devices
    numbers = range(process * count, (process + 1) * count)
    if process == rank:
        found = [_part_of_cpu(i) for i in range(count)]
        for number, device in zip(numbers, found):
            device.id, device.process_index = number, process
        return found
    return [_cpu_elsewhere(number, process) for number in numbers]


@once
def _cpu_elsewhere(number: int, process: int) -> Device:
    made = Device(CPU.name, number)
    made.process_index = process
    return made


def platforms() -> tuple[str, ...]:
    """The platforms that may be used, the default one first: `STAGEC_PLATFORMS`, or the CPU before the others.

    Raises:
      DeviceError: a name is not known.
    """
    text = config.platforms
    if not text:
        return tuple(BACKENDS)
    names = tuple(_platform(name.strip().lower()) for name in text.split(",") if name.strip())
    return tuple(dict.fromkeys(names))


def _platform(name: str) -> str:
    if name == "gpu":
        return _gpus()[0].platform
    if name not in BACKENDS:
        raise location.error(
            errors.DeviceError, f"{name!r} is not a known platform", fix=f"use one of {', '.join(BACKENDS)}"
        )
    return name


def _gpus() -> list[Device]:
    """The hardware GPUs: those of CUDA or ROCm if there are some, else those of Vulkan."""
    software: list[Device] = []
    for platform in [name for name in reversed(BACKENDS) if not BACKENDS[name].is_host]:
        known = _of_platform(platform) if _works(platform) else ()
        found = [d for d in known if not d._is_software()]
        if found:
            return found
        software += known
    fix = "install the GPU's driver; `stagec doctor` shows what is found"
    if software:
        fix += f", or name the software device, which runs on the CPU: device='{software[0].platform}'"
    rows = [(f"{d.platform}:{d.id}", d.device_kind, "software") for d in software]
    raise location.error(errors.DeviceError, "there is no GPU here", rows, fix)


def _works(platform: str) -> bool:
    try:
        return bool(_of_platform(platform))
    except (RuntimeError, ValueError):
        return False


def devices(backend: str | None = None) -> list[Device]:
    """The devices of a platform, by default of the default one.

    Args:
      backend: `cpu`, `vulkan`, `rocm`, `cuda`, or `gpu` for the GPUs of CUDA where there are some, else of ROCm, else
        of Vulkan. A software device, such as Mesa's lavapipe, is a CPU: it is among those of `vulkan`, after the
        GPUs.

    Raises:
      DeviceError: the platform is not known, not allowed by `STAGEC_PLATFORMS`, or has no device here.

    >>> import stagec
    >>> stagec.devices("cpu")
    [CpuDevice(id=0)]
    """
    allowed = platforms()
    name = allowed[0] if backend is None else str(backend).lower()
    platform = _platform(name)
    if platform not in allowed:
        raise location.error(
            errors.DeviceError,
            f"platform {platform!r} is not among those allowed",
            [("platforms", repr(config.platforms), "STAGEC_PLATFORMS, or the option `platforms`")],
            f"add {platform} to the list",
        )
    try:
        found = tuple(_gpus()) if name == "gpu" else _of_platform(platform)
        reason = "" if found else "its driver lists none"
    except (RuntimeError, ValueError) as error:
        found, reason = (), _why_missing(platform, str(error))
    if not found:
        raise location.error(
            errors.DeviceError, f"there is no {platform} device here: {reason}", fix=BACKENDS[platform].missing
        )
    return list(found)


def _why_missing(platform: str, text: str) -> str:
    """The reason why a driver has no devices, as the end of a sentence."""
    if "not available" in text or "libvulkan" in text:
        return f"the driver's library, {BACKENDS[platform].libraries[os.name == 'nt']}, was not found"
    return f"its driver answers {text.rpartition('; ')[2]}"


def default_backend() -> str:
    """The platform of the default device.

    >>> import stagec
    >>> stagec.default_backend()
    'cpu'
    """
    return default().platform


def local_device_count(backend: str | None = None) -> int:
    """The number of devices of a platform.

    >>> import stagec
    >>> stagec.local_device_count()
    1
    """
    return len(devices(backend))


def find(device: Device | str | None) -> Device:
    """A device from itself, or from a description such as `cpu`, `vulkan`, `gpu` or `cuda:1`.

    Raises:
      DeviceError: there is no such device.
    """
    if isinstance(device, Device):
        return device
    if not isinstance(device, str):
        raise location.error(
            errors.DeviceError,
            f"a device is a Device or a string such as 'cpu', not {type(device).__name__}",
            fix="pass one of stagec.devices()",
        )
    platform, _, number = device.partition(":")
    known = devices(platform)
    if (number and not number.isdigit()) or int(number or 0) >= len(known):
        raise location.error(
            errors.DeviceError,
            f"there is no device {device!r}",
            fix=f"use one of {', '.join(f'{d.platform}:{d.id}' for d in known)}",
        )
    return known[int(number or 0)]


def default() -> Device:
    """The device on which data is stored and programs run by default."""
    chosen = config.default_device
    if chosen:
        return find(chosen)
    # A target for another platform, set for all programs, asks for a device of it.
    platform = config.target.partition(":")[0].strip().lower()
    first = platforms()[0] if platform in ("", CPU.name) else platform
    return cpu() if first == CPU.name else devices(first)[0]


def default_device(new_val: Device | str | None) -> contextlib.AbstractContextManager[None]:
    """Use another default device, for a block and in this thread.

    Args:
      new_val: a `Device`, a description such as `"vulkan"`, or None for the usual one.

    >>> import stagec, stagec.numpy as snp
    >>> with stagec.default_device("cpu"):
    ...     stagec.jit(lambda x: x + 1)(snp.ones(2)).device
    CpuDevice(id=0)
    """
    return config.override(default_device=None if new_val is None else find(new_val))

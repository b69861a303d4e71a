"""Devices of this machine, and the runtime instance that they share."""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from stagec.backends import BACKENDS, CPU, Backend
from stagec.core import errors, forking, location
from stagec.core.cached import cached_property
from stagec.core.config import config
from stagec.core.exports import without
from stagec.core.threads import thread_count
from stagec.runtime import malloc, spinning
from stagec.runtime.timeline import TimelineSemaphore

_lock = threading.RLock()
# Threads of a parallel program need room for the large stack frames of fused kernels.
_WORKER_STACK_BYTES = 4 << 20

# Where there are at most so many cores, each worker thread is bound to one. Linux often runs two of two workers on one
# core, which the caller has just left: a product of matrices of 512 then took as long as on one thread.
_BOUND_CORES = 4

# Seconds that a fork waits for the CPU's queues.
_REST_SECONDS = 5.0

_devices: list[Device] = []
# Platforms whose drivers this process has opened, and those whose drivers only its parent can use.
_opened: set[str] = set()
_left_behind: set[str] = set()


@functools.cache
def binding() -> Any:
    """IREE's runtime bindings, set up once."""
    # Not needed until something runs; the package `iree.runtime` would import much more, which takes 30 ms.
    with forking.importing():
        from iree._runtime.libs import _runtime as _binding

    # Devices are kept for the life of the process, which the bindings would report as leaks at its end. Not left to an
    # exit handler: a compile in the background may open the runtime after it.
    _binding.disable_leak_checker()
    _binding.parse_flags(*runtime_flags())
    malloc.keep_memory()
    return _binding


def runtime_flags() -> tuple[str, ...]:
    """The runtime's flags for the threads of parallel programs."""
    return f"--task_worker_stack_size={_WORKER_STACK_BYTES}", _topology_flag()


def _topology_flag() -> str:
    """The runtime's flag for the number of its worker threads, and for their cores where there are few."""
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    # Without this folder, as in some sandboxes, the runtime finds no cores, and makes one worker.
    known = all(os.path.exists(f"/sys/devices/system/cpu/cpu{core}/topology") for core in cores)
    count = thread_count()
    if known and 1 < len(cores) <= _BOUND_CORES and count > 1:
        # The first worker does most; those of several processes begin on different cores.
        first = os.getpid() % len(cores)
        return "--task_topology_cpu_ids=" + ",".join(map(str, (cores[first:] + cores[:first])[:count]))
    return f"--task_topology_group_count={count}"


@functools.cache
def instance() -> Any:
    """The one VM instance of this process."""
    return binding().VmInstance()


class Device:
    """A device, on which programs run and arrays are stored.

    A CPU has two queues: `local-sync`, which runs on the calling thread and
    costs microseconds, and `local-task`, which spreads large programs over
    the cores. Other devices have one.

    The option `num_cpu_devices` divides the CPU into several devices for
    meshes. They share its memory, queues and cores.

    Attributes:
      home: the device whose memory and queues this one uses: the first CPU for every CPU, else the device itself.
      process_index: the process that the device belongs to.
    """

    process_index = 0

    def __init__(
        self, platform: str, id: int, device_kind: str = "", handle: Any = None, home: Device | None = None
    ) -> None:
        self.home = home or self
        self.platform = platform
        self.id = id
        self.device_kind = device_kind or platform
        self.backend = BACKENDS[platform]
        self.is_cpu = self.backend.is_host
        self._handle = handle
        self._devices: dict[str, Any] = {}
        self._timelines: dict[str, TimelineSemaphore] = {}
        _devices.append(self)
        self._exclusive = threading.RLock() if self.backend.is_exclusive else None

    @property
    def driver(self) -> str:
        """The queue that small programs and transfers use."""
        return self.backend.queues[0]

    def hal_device(self, driver: str = "") -> Any:
        """The runtime's device for a queue, made on first use."""
        if self.home is not self:
            return self.home.hal_device(driver)
        driver = driver or self.driver
        found = self._devices.get(driver)
        if found is None:
            with _lock:
                found = self._devices.get(driver)
                if found is None:
                    hal = binding().create_hal_driver(driver) if self.is_cpu else _driver(self.backend)
                    kept = spinning.kept_to_one_core() if self._is_software() else contextlib.nullcontext()
                    with kept, _outside_of_mpi():
                        found = hal.create_default_device() if self._handle is None else hal.create_device(self._handle)
                    # At exit, Python frees objects in any order; a driver must outlive its buffers and fences.
                    forking.leak(hal, found)
                    self._devices[driver] = found
        return found

    def timeline(self, driver: str = "") -> TimelineSemaphore:
        """The timeline semaphore of a queue."""
        if self.home is not self:
            return self.home.timeline(driver)
        driver = driver or self.driver
        with _lock:
            found = self._timelines.get(driver)
            if found is None or found.left:
                if found is not None:
                    found.has_abandoned()  # forgets the timelines that are idle
                found = TimelineSemaphore(binding(), self.hal_device(driver), self._exclusive, found)
                self._timelines[driver] = found
            return found

    def turn(self) -> contextlib.AbstractContextManager[Any]:
        """Let only this thread submit work for a block, where the driver requires that (see `TimelineSemaphore`)."""
        return contextlib.nullcontext() if self._exclusive is None else self.timeline().turn()

    @contextlib.contextmanager
    def turn_of_others(self) -> Iterator[None]:
        """Inside of `turn`, let other threads use the device for a block."""
        exclusive = self._exclusive
        if exclusive is None:
            yield
            return
        exclusive.release()
        try:
            yield
        finally:
            exclusive.acquire()

    def drain(self) -> None:
        """Wait until everything that runs outside Python has ended."""
        for timeline in list(self.home._timelines.values()):
            timeline.drain()

    def has_abandoned(self) -> bool:
        """Whether calls still run whose caller was interrupted while it waited for them."""
        return any(timeline.has_abandoned() for timeline in list(self.home._timelines.values()))

    def _all_timelines(self) -> list[TimelineSemaphore]:
        """The timelines of the queues, and earlier ones on which calls may still run."""
        return [timeline for last in self._timelines.values() for timeline in last.lineage()]

    def _after_fork_in_child(self) -> None:
        """In a forked child: keep what the parent made from being used and from being destroyed, as devices are kept
        anyway.
        """
        for timeline in self._all_timelines():
            forking.leak(timeline)
            timeline.abandon(None if self.is_cpu else _unusable(self.platform))
        self._devices, self._timelines = {}, {}
        self._exclusive = threading.RLock() if self.backend.is_exclusive else None
        self.__dict__.pop("allocator", None)

    @cached_property
    def allocator(self) -> Any:
        return self.hal_device().allocator

    @cached_property
    def architecture(self) -> str:
        """What the compiler generates code for, as the second part of a target; empty for a CPU."""
        return self.backend.architecture(self)

    def info(self) -> str:
        """The driver's description of the device, as lines of text."""
        return _driver(self.backend).dump_device_info(self._handle)

    def address(self, driver: str) -> str:
        """How the runtime's own tools name a queue of the device."""
        if self.is_cpu:
            return driver
        found = _driver(self.backend).query_available_devices()
        return f"{driver}://{next(info['path'] for info in found if info['device_id'] == self._handle)}"

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

    def _is_software(self) -> bool:
        """Whether a graphics driver does the work on the CPU."""
        return self.backend.is_software(self)

    def memory_stats(self) -> dict[str, int]:
        """Bytes that the runtime allocated on the device: `bytes_in_use`, `peak_bytes_in_use`, `bytes_freed`.

        Memory that NumPy owns is not counted. For a device other than a CPU only `bytes_allocated`, which
        never falls: the runtime does not count what its queues free.
        """
        totals = dict.fromkeys(("peak", "allocated", "freed"), 0)
        for driver in self.backend.queues:
            for name, count in self.hal_device(driver).allocator.statistics.items():
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
        return f"{self.platform.upper()}_{self.id}"

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


@contextlib.contextmanager
def _outside_of_mpi() -> Iterator[None]:
    """Keep the runtime from the MPI library that started the process, which it looks for in some folders only.

    Where it finds none, it cannot make a device. It has no use for it: processes talk to each other in
    `runtime/processes.py`.
    """
    names = [name for name in ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE") if name in os.environ]
    kept = {name: os.environ.pop(name) for name in names}
    try:
        yield
    finally:
        os.environ.update(kept)


def _driver(backend: Backend) -> Any:
    """The runtime's driver for a backend other than the CPU."""
    if backend.name in _left_behind:
        raise _unusable(backend.name)
    found = binding().get_cached_hal_driver(backend.queues[0])
    _opened.add(backend.name)
    return found


def _unusable(platform: str) -> errors.DeviceError:
    return location.error(
        errors.DeviceError,
        f"{platform} does not work in this process, which was forked from one that uses it",
        fix='start processes with multiprocessing.get_context("spawn"), or use the device in the child alone',
    )


@functools.cache
def cpu() -> Device:
    """The CPU of this machine; where it is divided into several devices, the first of them."""
    return Device(CPU.name, 0)


@functools.cache
def _part_of_cpu(number: int) -> Device:
    return Device(CPU.name, number, home=cpu()) if number else cpu()


@functools.cache
def _of_driver(platform: str) -> tuple[Device, ...]:
    """The devices that a driver finds, the hardware first."""
    infos = _driver(BACKENDS[platform]).query_available_devices()
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


@functools.cache
def _cpu_elsewhere(number: int, process: int) -> Device:
    made = Device(CPU.name, number)
    made.process_index = process
    _devices.remove(made)
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


def has_opened_drivers() -> bool:
    """Whether this process, or one that it was forked from, has opened a driver."""
    return bool(_opened or _left_behind)


@atexit.register
def _release() -> None:
    for device in _devices:
        for timeline in device._all_timelines():
            timeline.keep_memory()


@forking.before_fork
def _before_fork(held: forking.HeldLocks) -> None:
    """Wait for the CPU's queues, so that the child has their results."""
    if not binding.cache_info().currsize:
        return
    deadline = time.monotonic() + _REST_SECONDS
    if held.hold(_lock, deadline):
        for timeline in cpu()._all_timelines():
            if held.hold(timeline.lock, deadline) and not timeline.settle(deadline):
                held.complete = False


@forking.in_child
def _after_fork_in_child(_: forking.HeldLocks) -> None:
    global _lock
    _lock = threading.RLock()
    if _opened:
        forking.skip_exit_handlers()
    _left_behind.update(_opened)
    _opened.clear()
    if instance.cache_info().currsize:
        forking.leak(instance())
        instance.cache_clear()
    for device in _devices:
        device._after_fork_in_child()

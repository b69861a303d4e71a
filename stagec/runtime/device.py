"""What the runtime does on a device, and the runtime instance that all devices share."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from stagec.backends import BACKENDS, Backend
from stagec.core import errors, forking, location
from stagec.core.cached import cached_property
from stagec.core.threads import thread_count
from stagec.runtime import interruptible, spinning
from stagec.runtime.timeline import TimelineSemaphore

T = TypeVar("T")
# How the runtime allocates results and temporary memory on a CPU. It fills new memory with zeros, which takes half as
# long as `x + 1` does; so what is freed is kept, up to 64 blocks, for requests of the same size. It goes back to the
# system if all that is allocated is more than these bytes.
_POOL = f"caching:*=*;{512 << 20};64"

_lock = forking.lock()
# Threads of a parallel program need room for the large stack frames of fused kernels.
_WORKER_STACK_BYTES = 4 << 20

# Where there are at most so many cores, each worker thread is bound to one. Linux often runs two of two workers on one
# core, which the caller has just left: a product of matrices of 512 then took as long as on one thread.
_BOUND_CORES = 4

# Seconds that a fork waits for the CPU's queues.
_REST_SECONDS = 5.0

_devices: list[HalDevice] = []
# Platforms whose drivers this process has opened, and those whose drivers only its parent can use.
_opened: set[str] = set()
_left_behind: set[str] = set()


def once(make: Callable[..., T]) -> functools._lru_cache_wrapper[T]:
    """`functools.cache` for what has to be one object, also where several threads ask for it first."""
    cached = functools.cache(make)

    @functools.cache
    @functools.wraps(make)
    def locked(*args: Any) -> T:
        with _lock:
            return cached(*args)

    return locked


def _imported() -> Any:
    # Not needed until something runs; the package `iree.runtime` would import much more, which takes 30 ms.
    with forking.importing():
        from iree._runtime.libs import _runtime

    return _runtime


@once
def binding() -> Any:
    """IREE's runtime bindings, set up once."""
    # On a helper: an exception that a signal handler raises in there would end the process.
    _binding = interruptible.call(_imported)
    # Devices are kept for the life of the process, which the bindings would report as leaks at its end. Not left to an
    # exit handler: a compile in the background may open the runtime after it.
    _binding.disable_leak_checker()
    _binding.parse_flags(*runtime_flags())
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
        # The first worker does most, so it gets another core than the thread that waits for it.
        core = _core()
        first = cores.index(core) + 1 if core in cores else 0
        return "--task_topology_cpu_ids=" + ",".join(map(str, (cores[first:] + cores[:first])[:count]))
    return f"--task_topology_group_count={count}"


def _core() -> int:
    """The core on which this thread runs; -1 where that is not known."""
    found = getattr(ctypes.CDLL(None), "sched_getcpu", None) if os.name == "posix" else None
    return -1 if found is None else int(found())


_instance: Any = None


def instance() -> Any:
    """The one VM instance of this process."""
    global _instance
    if _instance is None:
        with _lock:
            if _instance is None:
                _instance = binding().VmInstance()
    return _instance


class HalDevice:
    """The queues of a device.

    A CPU has two: `local-sync`, which runs on the calling thread and costs
    microseconds, and `local-task`, which spreads large programs over the
    cores. Other devices have one.
    """

    def __init__(self, platform: str, id: int, device_kind: str = "", handle: Any = None, home: Any = None) -> None:
        self.home: Any = home or self
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
                    hal = binding().create_hal_driver(driver) if self.is_cpu else driver_of(self.backend)
                    kept = spinning.kept_to_one_core() if self._is_software() else contextlib.nullcontext()
                    with kept, _outside_of_mpi():
                        made = hal.create_default_device if self._handle is None else hal.create_device
                        given = () if self._handle is None else (self._handle,)
                        found = made(*given, allocators=[_POOL] if self.is_cpu else None)
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
        return [timeline for last in list(self._timelines.values()) for timeline in last.lineage()]

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
        return driver_of(self.backend).dump_device_info(self._handle)

    def address(self, driver: str) -> str:
        """How the runtime's own tools name a queue of the device."""
        if self.is_cpu:
            return driver
        found = driver_of(self.backend).query_available_devices()
        return f"{driver}://{next(info['path'] for info in found if info['device_id'] == self._handle)}"

    def _is_software(self) -> bool:
        """Whether a graphics driver does the work on the CPU."""
        return self.backend.is_software(self)


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


def driver_of(backend: Backend) -> Any:
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
        for timeline in [t for device in _devices if device.is_cpu for t in device._all_timelines()]:
            if held.hold(timeline.lock, deadline) and not timeline.settle(deadline):
                held.complete = False


@forking.in_child
def _after_fork_in_child(_: forking.HeldLocks) -> None:
    global _instance
    if _opened:
        forking.skip_exit_handlers()
    _left_behind.update(_opened)
    _opened.clear()
    forking.leak(_instance)
    _instance = None
    for device in _devices:
        device._after_fork_in_child()

"""Devices of this machine, and the runtime instance that they share."""

from __future__ import annotations

import atexit
import functools
import os
import threading
from typing import Any

import numpy as np

from stagec.core import dtypes

_lock = threading.Lock()
# Threads of a parallel program need room for the large stack frames of fused kernels.
_WORKER_STACK_BYTES = 4 << 20


@functools.cache
def binding() -> Any:
    """IREE's runtime bindings, set up once."""
    from iree.runtime import _binding  # not needed until something runs

    _binding.parse_flags(
        f"--task_worker_stack_size={_WORKER_STACK_BYTES}", f"--task_topology_group_count={_worker_count()}"
    )
    return _binding


def _worker_count() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@functools.cache
def instance() -> Any:
    """The one VM instance of this process."""
    return binding().VmInstance()


class Device:
    """A place where programs run and arrays live.

    A CPU has two queues: `local-sync`, which runs on the calling thread and
    costs microseconds, and `local-task`, which spreads large programs over
    the cores.
    """

    def __init__(self, platform: str, id: int) -> None:
        self.platform = platform
        self.id = id
        self._drivers: dict[str, Any] = {}

    @property
    def device_kind(self) -> str:
        return self.platform

    def hal_device(self, driver: str) -> Any:
        """The runtime's device for a driver name, made on first use."""
        with _lock:
            if driver not in self._drivers:
                self._drivers[driver] = binding().get_cached_hal_driver(driver).create_default_device()
            return self._drivers[driver]

    @functools.cached_property
    def allocator(self) -> Any:
        return self.hal_device("local-sync").allocator

    def __repr__(self) -> str:
        return f"{self.platform.capitalize()}Device(id={self.id})"

    def __str__(self) -> str:
        return f"{self.platform.upper()}_{self.id}"


@functools.cache
def cpu() -> Device:
    """The CPU of this machine."""
    return Device("cpu", 0)


_ALIGNMENT = 64


def aligned_empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Uninitialised memory at the alignment that compiled code relies on."""
    count = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    raw = np.empty(count + _ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % _ALIGNMENT
    return raw[start : start + count].view(dtype).reshape(shape)


def is_importable(array: np.ndarray[Any, Any]) -> bool:
    """Whether compiled code may read the array's memory in place."""
    return array.flags.c_contiguous and array.ctypes.data % _ALIGNMENT == 0 and array.dtype.isnative


@functools.cache
def _element_types() -> dict[Any, int]:
    kind = binding().HalElementType
    # Compiled modules take signless integers, whatever the sign of the program's.
    table = {np.dtype(f"{s}int{n}"): getattr(kind, f"INT_{n}") for s in ("", "u") for n in (8, 16, 32, 64)}
    table |= {np.dtype(f"float{n}"): getattr(kind, f"FLOAT_{n}") for n in (16, 32, 64)}
    table |= {
        dtypes.bool_: kind.BOOL_8,
        dtypes.bfloat16: kind.BFLOAT_16,
        dtypes.complex64: kind.COMPLEX_64,
        dtypes.complex128: kind.COMPLEX_128,
    }
    return {k: int(v) for k, v in table.items()}


@functools.cache
def _import_options() -> tuple[int, int]:
    b = binding()
    memory = int(b.MemoryType.HOST_LOCAL | b.MemoryType.DEVICE_VISIBLE)
    return memory, int(b.BufferUsage.DEFAULT | b.BufferUsage.MAPPING)


def import_numpy(device: Device, array: np.ndarray[Any, Any]) -> Any:
    """A buffer view of the array's own memory; the caller keeps the array alive."""
    memory, usage = _import_options()
    # The runtime takes writable buffers of types that it knows: hand it bytes.
    raw = array.reshape(-1).view(np.uint8)
    if not raw.flags.writeable:
        raw = writable_alias(raw)
    buffer = device.allocator.import_host_allocation(raw, memory_type=memory, allowed_usage=usage)
    return binding().HalBufferView(buffer, array.shape, _element_types()[array.dtype])


def copy_numpy(device: Device, array: np.ndarray[Any, Any]) -> Any:
    """A buffer view of a copy of the array, in memory that the runtime keeps for as long as a buffer uses it."""
    memory, usage = _import_options()
    raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    buffer = device.allocator.allocate_buffer_copy(memory, usage, device.hal_device("local-sync"), raw)
    return binding().HalBufferView(buffer, array.shape, _element_types()[array.dtype])


def host_memory(view: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """The memory of a buffer view, or of the runtime's reference to one, as a read-only NumPy array."""
    b = binding()
    if type(view) is b.VmRef:
        view = view.deref(b.HalBufferView)
    if 0 in shape:
        return np.empty(shape, dtype)
    # Three times as fast as the mapping's own `asarray`; the mapping is read-only, and kept alive.
    value = np.frombuffer(view.map(), dtype)
    return value if len(shape) == 1 else value.reshape(shape)


def writable_alias(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The same memory without NumPy's write protection, for interfaces that refuse it; it must not be written."""
    if array.size == 0:
        return np.empty_like(array)
    return np.asarray(_Memory(array))


class _Memory:
    """The buffer of an array, declared writable; keeps the array alive."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array
        self.__array_interface__ = {
            **array.__array_interface__,
            "data": (array.__array_interface__["data"][0], False),
        }


@atexit.register
def _release() -> None:
    # The bindings report what is alive after them at interpreter exit.
    if binding.cache_info().currsize:
        binding().disable_leak_checker()

"""Transfers of data between NumPy and the devices."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from stagec.core import dtypes
from stagec.runtime import recording
from stagec.runtime.device import binding
from stagec.runtime.devices import Device

_ALIGNMENT = 64


def aligned_empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Uninitialised memory at the alignment that compiled code relies on."""
    count = math.prod(shape) * dtype.itemsize
    raw = np.empty(count + _ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % _ALIGNMENT
    # Not a view of the bytes: elements of `float0` have none.
    return np.ndarray(shape, dtype, buffer=raw, offset=start)


def is_importable(array: np.ndarray[Any, Any], alignment: int = _ALIGNMENT) -> bool:
    """Whether compiled code that relies on an alignment may read the array's memory in place."""
    return array.flags.c_contiguous and array.ctypes.data % alignment == 0 and array.dtype.isnative


@functools.cache
def element_types() -> dict[Any, int]:
    """The runtime's number for each dtype."""
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
    table |= dict.fromkeys(dtypes.SMALL, kind.INT_8) | {dtypes.KEY: kind.INT_64}
    return {k: int(v) for k, v in table.items()}


@functools.cache
def host_options() -> tuple[int, int]:
    """Memory type and usage of buffers that the host and compiled code share.

    Of the host's own type, the runtime would keep no memory for later requests.
    """
    b = binding()
    memory = int(b.MemoryType.DEVICE_LOCAL | b.MemoryType.HOST_VISIBLE)
    return memory, int(b.BufferUsage.DEFAULT | b.BufferUsage.MAPPING)


@functools.cache
def _device_options() -> tuple[int, int]:
    b = binding()
    return int(b.MemoryType.DEVICE_LOCAL), int(b.BufferUsage.DEFAULT)


@functools.cache
def _staging_options() -> tuple[int, int]:
    b = binding()
    memory = int(b.MemoryType.HOST_LOCAL | b.MemoryType.DEVICE_VISIBLE)
    return memory, int(b.BufferUsage.TRANSFER | b.BufferUsage.MAPPING)


def _bytes(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    # The runtime accepts only writable buffers of some types: pass bytes.
    raw = array.reshape(-1).view(np.uint8)
    return raw if raw.flags.writeable else writable_alias(raw)


def import_numpy(device: Device, array: np.ndarray[Any, Any]) -> Any:
    """A buffer view of the array's own memory, for a CPU; the caller keeps the array alive."""
    memory, usage = host_options()
    buffer = device.allocator.import_host_allocation(_bytes(array), memory_type=memory, allowed_usage=usage)
    return binding().HalBufferView(buffer, array.shape, element_types()[array.dtype])


def upload(device: Device, array: np.ndarray[Any, Any]) -> Any:
    """A buffer view of a copy of the array, in memory that the runtime keeps for as long as a buffer uses it."""
    memory, usage = host_options() if device.is_cpu else _device_options()
    # An empty buffer cannot be made on every device, and nothing reads it.
    raw = _bytes(np.ascontiguousarray(array)) if array.size else np.zeros(1, np.uint8)
    with (
        device.turn(),  # it may give the queue work
        recording.span("transfer", f"to {device}", bytes=array.nbytes),
    ):
        buffer = device.allocator.allocate_buffer_copy(memory, usage, device.hal_device(), raw)
    return binding().HalBufferView(buffer, array.shape, element_types()[array.dtype])


def download(device: Device, view: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """A device's data as a read-only NumPy array: the memory itself on a CPU, a copy from elsewhere."""
    b = binding()
    if type(view) is b.VmRef:
        view = view.deref(b.HalBufferView)
    if 0 in shape:
        return np.empty(shape, dtype)
    if device.is_cpu:
        # Three times as fast as the mapping's own `asarray`; the mapping is read-only, and kept alive.
        value = np.frombuffer(view.map(), dtype)
        return value if len(shape) == 1 else value.reshape(shape)
    size = math.prod(shape)
    memory, usage = _staging_options()
    staging = device.allocator.allocate_buffer(memory, usage, size * dtype.itemsize)
    with recording.span("transfer", f"from {device}", bytes=size * dtype.itemsize):
        _copy(device, view.get_buffer(), staging)
    value = np.frombuffer(staging.map(), dtype, count=size).reshape(shape)
    value.flags.writeable = False
    return value


def copy_view(device: Device, view: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """A copy of a buffer view on its own device."""
    b = binding()
    if type(view) is b.VmRef:
        view = view.deref(b.HalBufferView)
    source = view.get_buffer()
    memory, usage = _device_options()
    target = device.allocator.allocate_buffer(memory, usage, max(1, math.prod(shape) * dtype.itemsize))
    with recording.span("transfer", f"on {device}", bytes=math.prod(shape) * dtype.itemsize):
        _copy(device, source, target)
    return b.HalBufferView(target, shape, element_types()[dtype])


def _copy(device: Device, source: Any, target: Any) -> None:
    """Copy between buffers after everything that the device was given to do, and wait for it."""

    def start(before: Any, after: Any) -> None:
        device.hal_device().queue_copy(source, target, before, after)

    device.timeline().submit(start, "a copy", (source, target)).wait()


def is_protected(array: np.ndarray[Any, Any]) -> bool:
    """Whether NumPy refuses to make the array writeable: its memory is not owned by a NumPy array."""
    base = array.base
    if type(base) is np.ndarray:
        base = base.base
    if type(base) is memoryview:  # of a mapping by the runtime, or of what an array was unpickled from
        return base.readonly
    return base is not None and type(base) is not np.ndarray


def protected(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A read-only array of the same memory, which users cannot make writeable."""
    array.flags.writeable = False
    if not array.dtype.itemsize:  # `float0` has no data
        return array
    # The array interface has no type code for bfloat16, and a wrong one for some dtypes of one byte.
    named = array if array.dtype.itemsize > 1 else array.view(np.uint8)
    found = np.asarray(_Protected(named))
    return found if found.dtype == array.dtype else found.view(array.dtype)


class _Protected:
    """The memory of a read-only array, which it keeps alive; NumPy sees no array here whose flag could be changed."""

    __slots__ = ("__array_interface__", "array")

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array
        self.__array_interface__ = array.__array_interface__


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

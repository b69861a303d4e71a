"""`Array`: immutable data on a device, which NumPy reads without a copy."""

from __future__ import annotations

import gc
from typing import Any, NamedTuple

import numpy as np

from stagec.core import errors, forking, location
from stagec.core.aval import ShapedArray
from stagec.core.boundary import shorten
from stagec.core.exports import without
from stagec.core.graph import Literal
from stagec.core.operators import ArrayOperators
from stagec.runtime import memory
from stagec.runtime.device import has_opened_drivers
from stagec.runtime.devices import Device, cpu, find
from stagec.runtime.host_protocols import HostProtocols
from stagec.runtime.sharding import Shard, Sharding, SingleDeviceSharding, shards
from stagec.runtime.timeline import TimelineSemaphore


class Placed(NamedTuple):
    """The signature of an array that is on another device than the CPU, or committed to a device."""

    aval: ShapedArray
    device: Device
    committed: bool


class Part:
    """Stands for the data of an array of several processes: this process's part of it."""

    def __init__(self, local: Array) -> None:
        self.local = local


class Split(NamedTuple):
    """The signature of an array that is split among the devices of a sharding."""

    aval: ShapedArray
    sharding: Sharding


def signature(aval: ShapedArray, device: Device, committed: bool) -> ShapedArray | Placed:
    """What a jitted call distinguishes arrays by; the aval alone for uncommitted data on the CPU."""
    return aval if device is cpu() and not committed else Placed(aval, device, committed)


_LENT = object()
# Names that programs and transfers use; completion shows the other ones.
_INTERNAL = (
    *("address", "buffer_view", "evaluated", "numpy", "of", "on", "origin", "owned_copy", "private_copy"),
    *("home", "local", "of_processes", "part", "queued_view", "signature", "split", "with_aval"),
)


class _ArrayType(type):
    """Counts tracers as arrays, as JAX does: `isinstance(x, stagec.Array)` holds while tracing too.

    Whether there is a value is asked with `type(x) is Array`.
    """

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, ArrayOperators)


class Array(HostProtocols, metaclass=_ArrayType):
    """An immutable multi-dimensional array.

    Made by `stagec.numpy` functions and by compiled functions. NumPy reads it
    without a copy: `np.asarray(x)` is a read-only view.

    >>> import stagec.numpy as snp
    >>> x = snp.array([1.0, 2.0])
    >>> x + 1
    Array([2., 3.], dtype=float32)
    """

    __slots__ = ("__weakref__", "_exposed", "_numpy", "_state", "_view", "aval", "signature")
    # The aval, or with it the device: what jitted calls look up.
    signature: Any
    # The data as a NumPy array and as a buffer of the runtime, or one of both. On a CPU they share memory; elsewhere
    # each is made when needed.
    _numpy: np.ndarray[Any, Any] | None
    _view: Any
    # None; the name of the call that took the data; `_LENT` for the caller's own memory; a pending call and its
    # result; or a `Part`.
    _state: Any
    # Whether NumPy owns the memory, or another array or NumPy views may share it: then a donation must not write to it.
    _exposed: bool

    def __new__(cls, *args: Any, **kwargs: Any) -> Array:
        fix = "use stagec.numpy.array or stagec.numpy.asarray"
        raise location.error(TypeError, "Array cannot be made directly", fix=fix)

    @staticmethod
    def of(value: np.ndarray[Any, Any], aval: ShapedArray, signature: Any = None) -> Array:
        """Wrap an array that nobody else writes to."""
        self = object.__new__(Array)
        self.aval = aval
        self.signature = aval if signature is None else signature
        self._numpy = value
        self._view = None
        self._state = None
        self._exposed = True
        value.setflags(write=False)
        return self

    @staticmethod
    def of_processes(local: Array, aval: ShapedArray, sharding: Sharding) -> Array:
        """An array of several processes, of this process's part."""
        self = object.__new__(Array)
        self.aval, self.signature = aval, Split(aval, sharding)
        self._numpy, self._view, self._state, self._exposed = None, None, Part(local), True
        return self

    @property
    def local(self) -> Array | None:
        """This process's part of an array of several processes; None for others."""
        return self._state.local if type(self._state) is Part else None

    def numpy(self) -> np.ndarray[Any, Any]:
        """The data as a read-only NumPy array; without a copy on a CPU."""
        self._exposed = True
        value = self._host()
        if not memory.is_protected(value):
            self._numpy = value = memory.protected(value)
        return value

    def evaluated(self) -> np.ndarray[Any, Any]:
        """The data for one of stagec's own evaluations, whose result may be a view of it."""
        self._exposed = True
        return self._host()

    def _host(self) -> np.ndarray[Any, Any]:
        value = self._numpy
        if value is None:
            view = self._view
            if view is None:
                view = self._awaited()
            aval = self.aval
            value = memory.download(self.home, view, aval.shape, aval.dtype)
            self._numpy = value
        return value

    def _awaited(self) -> Any:
        """The result of a pending call, once it is done."""
        state = self._state
        if type(state) is Part:
            raise location.error(
                errors.UnsupportedError,
                f"{self.aval.long()} is spread over several processes, and this one has a part of it",
                fix="look at x.addressable_shards, or gather it with "
                "stagec.experimental.multihost_utils.process_allgather(x, tiled=True)",
            )
        if type(state) is not tuple:
            raise self._deleted()
        state[0].wait()
        self._view = state[1]
        self._state = None
        return state[1]

    def buffer_view(self, anywhere: bool = False) -> Any:
        """The data as the runtime's buffer view, without a copy where memory is aligned.

        Args:
          anywhere: a caller's memory need not be aligned for the call that the view is for.
        """
        view = self._view
        if view is not None:
            return view
        value = self._numpy
        if value is None:
            return self._awaited()
        device = self.home
        if not device.is_cpu:
            view = memory.upload(device, value)
        else:
            if anywhere and self._state is _LENT and memory.is_importable(value, value.dtype.itemsize):
                return memory.import_numpy(device, value)
            if not memory.is_importable(value):
                fresh = memory.aligned_empty(value.shape, value.dtype)
                fresh[...] = value
                fresh.flags.writeable = False
                self._numpy = value = fresh
            view = memory.import_numpy(device, value)
        self._view = view
        return view

    def queued_view(self, timeline: TimelineSemaphore, anywhere: bool) -> Any:
        """The buffer view for a call on `timeline`, where the call that computes it may still be pending."""
        state = self._state
        if type(state) is tuple and state[0].timeline is timeline:
            return state[1]
        return self.buffer_view(anywhere)

    def address(self) -> int:
        """Where the data begins in the host's memory."""
        return self._host().__array_interface__["data"][0]

    def private_copy(self) -> Array:
        """A copy that nothing else refers to."""
        if self._numpy is None and not self.home.is_cpu:
            return self.owned_copy()
        value = memory.aligned_empty(self.aval.shape, self.aval.dtype)
        value[...] = self._host()
        return Array.of(value, self.aval, self.signature)

    def owned_copy(self) -> Array:
        """A copy in memory of the runtime, which a result may reuse after this array is gone."""
        device, aval = self.home, self.aval
        if device.is_cpu or self._numpy is not None:
            view = memory.upload(device, self._host())
        else:
            view = memory.copy_view(device, self.buffer_view(), aval.shape, aval.dtype)
        return from_view(view, aval, self.signature)

    def on(self, device: Device, committed: bool) -> Array:
        """The same data on a device; this array if it is there already."""
        return self._moved(signature(self.aval, device, committed), device.home)

    def split(self, sharding: Sharding) -> Array:
        """The same data, split among devices; this array if it is so already."""
        sharding.shard_shape(self.aval.shape)
        return self._moved(Split(self.aval, sharding), sharding.home)

    def _moved(self, wanted: Any, home: Device) -> Array:
        if wanted == self.signature:
            return self
        made = object.__new__(Array)
        made.aval, made.signature = self.aval, wanted
        if home is self.home:
            made._numpy, made._view, made._state = self._numpy, self._view, self._state
        else:
            made._numpy, made._view, made._state = self._host(), None, None
        made._exposed = self._exposed = True
        return made

    def part(self, index: tuple[slice, ...], device: Device, committed: bool) -> Array:
        """A part of the data as an array on a device, without a copy on a CPU."""
        value = self.numpy()[index]
        return Array.of(value, self.aval.update(shape=value.shape)).on(device, committed)

    def with_aval(self, aval: ShapedArray) -> Array:
        """Another array of the same data, whose aval may differ in its weak type."""
        made = object.__new__(Array)
        made.aval, made._numpy, made._view, made._state = aval, self._numpy, self._view, self._state
        signed = self.signature
        made.signature = aval if type(signed) not in (Placed, Split) else signed._replace(aval=aval)
        made._exposed = self._exposed = True
        return made

    def _give_up(self, by: str) -> None:
        """Give up the data to a call that donates it."""
        self._state = by
        self._numpy = None
        self._view = None

    def delete(self) -> None:
        """Free the memory now; using the array afterwards is an error."""
        self._give_up("delete()")

    def unsafe_buffer_pointer(self) -> int:
        """The address of the data on a CPU, for as long as the array exists; it must not be written to.

        Raises:
          UnsupportedError: the array is on another device.
        """
        if not self.home.is_cpu:
            raise location.error(
                errors.UnsupportedError,
                f"unsafe_buffer_pointer: {self.aval.long()} is on {self.device}, whose memory has no address here",
                fix="copy it to the CPU first, as with stagec.device_put(x, 'cpu')",
            )
        self._exposed = True
        return self.address()

    def is_deleted(self) -> bool:
        """Whether the data was donated or deleted."""
        return self._numpy is None and self._view is None and type(self._state) not in (tuple, Part)

    def is_ready(self) -> bool:
        """Whether the data is computed, so that looking at it does not wait."""
        state = self._state
        return type(state) is not tuple or state[0].is_done()

    def _unread(self) -> str:
        return "deleted" if self.is_deleted() else "of several processes" if self.local is not None else ""

    def _deleted(self) -> errors.DonationError:
        taken = self._state if isinstance(self._state, str) else "delete()"
        what = "was deleted" if taken == "delete()" else f"was donated to {taken}"
        return location.error(
            errors.DonationError,
            f"Array has been deleted: {self.aval.long()} {what}",
            fix="use the result of that call instead, or do not donate the argument (donate_argnums)",
        )

    def __dir__(self) -> list[str]:
        return without(self, *_INTERNAL)

    # Devices.

    @property
    def device(self) -> Device | Sharding:
        """The device that holds the data; the sharding where several hold parts of it."""
        placed = self.signature
        if type(placed) is Split:
            found = placed.sharding
            return found if found.num_devices > 1 else next(iter(found.device_set))
        return placed.device if type(placed) is Placed else cpu()

    @property
    def home(self) -> Device:
        """The device whose memory holds the data."""
        placed = self.signature
        if type(placed) is Split:
            return placed.sharding.home
        return placed.device.home if type(placed) is Placed else cpu()

    def devices(self) -> set[Device]:
        """The devices that hold the data, or parts of it."""
        return self.sharding.device_set

    @property
    def sharding(self) -> Sharding:
        """Which device holds which part of the data.

        >>> import stagec.numpy as snp
        >>> snp.ones(2).sharding
        SingleDeviceSharding(device=CpuDevice(id=0))
        """
        placed = self.signature
        if type(placed) is Split:
            return placed.sharding
        return SingleDeviceSharding(placed.device if type(placed) is Placed else cpu())

    @property
    def addressable_shards(self) -> list[Shard]:
        """The parts of the data, one for each device that holds one; they share its memory."""
        return shards(self, self.sharding)

    @property
    def global_shards(self) -> list[Shard]:
        """The same: all devices belong to this process."""
        return self.addressable_shards

    def to_device(self, device: Any, *, stream: Any = None) -> Array:
        """The same data, committed to a device; the name that the array API standard has for `device_put`.

        Raises:
          DeviceError: there is no such device.
        """
        return self.on(find(device), True)

    @property
    def committed(self) -> bool:
        """Whether the user fixed the device."""
        placed = self.signature
        return type(placed) is Split or (type(placed) is Placed and placed.committed)

    @property
    def is_fully_addressable(self) -> bool:
        """Whether all devices that have parts of the data belong to this process."""
        placed = self.signature
        return type(placed) is not Split or placed.sharding.is_fully_addressable

    @property
    def is_fully_replicated(self) -> bool:
        """Whether each device that holds data has all of it."""
        placed = self.signature
        return type(placed) is not Split or placed.sharding.is_fully_replicated

    def addressable_data(self, index: int) -> Array:
        """The part of the data on a device, by its position in `addressable_shards`.

        Raises:
          IndexingError: there is no such part.
        """
        if type(self.signature) is not Split and index in (0, -1):
            return self
        parts = self.addressable_shards
        if not -len(parts) <= index < len(parts):
            what = f"addressable_data: index {index} of an array with {len(parts)} part{'s'[: len(parts) - 1]}"
            raise location.error(errors.IndexingError, what, fix=f"use an index from 0 to {len(parts) - 1}")
        return parts[index].data

    def block_until_ready(self) -> Array:
        """Wait until the data is computed; returns the array.

        Raises:
          ExecutionError: the call that computes it failed.
        """
        if self.local is not None:
            self.local.block_until_ready()
        elif self._numpy is None and self._view is None:
            self._awaited()
        return self

    def copy_to_host_async(self) -> None:
        """Start a transfer to the host, if the data is computed already."""
        if self.is_ready():
            self._host()

    def __reduce__(self) -> Any:
        return _restore, (np.array(self.numpy()), self.aval.weak_type)

    def __copy__(self) -> Array:
        return self.private_copy()

    def __deepcopy__(self, memo: Any) -> Array:
        return self.private_copy()

    def origin(self) -> str:
        return ""


shorten(Array, "__reduce__ __copy__ __deepcopy__ numpy block_until_ready")


def _restore(value: np.ndarray[Any, Any], weak_type: bool) -> Array:
    return Array.of(value, ShapedArray.of(value.shape, value.dtype, weak_type))


def from_view(view: Any, aval: ShapedArray, signature: Any = None) -> Array:
    """Wrap a result of the runtime."""
    self = object.__new__(Array)
    self.aval = aval
    self.signature = aval if signature is None else signature
    self._view = view
    self._numpy = None
    self._state = None
    self._exposed = False
    return self


def borrow(value: Any) -> Array:
    """A caller's NumPy array or a literal as an Array that must not outlive the call."""
    self = object.__new__(Array)
    if type(value) is Literal:
        self._numpy, self.aval = value.value, value.aval
    else:
        self._numpy, self.aval = np.asarray(value), ShapedArray.of(value.shape, value.dtype)
    self.signature = self.aval
    self._view = None
    self._state = _LENT
    self._exposed = True
    return self


def is_lent(array: Array) -> bool:
    """Whether the memory is the caller's, who may write to it after the call."""
    return array._state is _LENT


def from_literal(literal: Literal) -> Array:
    """A constant of a graph as an array."""
    return Array.of(np.array(literal.value), literal.aval)


@forking.in_child
def _after_fork_in_child(held: forking.HeldLocks) -> None:
    """Keep arrays from freeing memory where that could wait for a lock of the parent's threads."""
    every_device = not held.complete
    if every_device or has_opened_drivers():
        for found in gc.get_objects():
            if type(found) is Array and (every_device or not found.home.is_cpu):
                forking.leak(found._view, found._state)

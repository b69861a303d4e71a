"""`Array`: immutable data on a device, NumPy's neighbour."""

from __future__ import annotations

from typing import Any

import numpy as np

from stagec.core import dtypes, errors, location
from stagec.core.aval import ShapedArray
from stagec.core.graph import Literal
from stagec.core.operators import ArrayOperators
from stagec.runtime import device as _device


class Array(ArrayOperators):
    """An immutable multi-dimensional array.

    Made by `stagec.numpy` functions and by compiled functions. NumPy reads it
    without a copy: `np.asarray(x)` is a read-only view.

    >>> import stagec.numpy as snp
    >>> x = snp.array([1.0, 2.0])
    >>> x + 1
    Array([2., 3.], dtype=float32)
    """

    __slots__ = ("__weakref__", "_exposed", "_numpy", "_taken", "_view", "aval")
    # An Array holds its data as a NumPy array, as a runtime buffer view, or as both.
    _numpy: np.ndarray[Any, Any] | None
    _view: Any
    _taken: str | None
    # Whether NumPy owns the memory, or others may hold NumPy views of it: then a donation must not write to it.
    _exposed: bool

    def __new__(cls, *args: Any, **kwargs: Any) -> Array:
        raise TypeError("Array cannot be made directly\n  Fix: use stagec.numpy.array or stagec.numpy.asarray")

    @staticmethod
    def of(value: np.ndarray[Any, Any], aval: ShapedArray) -> Array:
        """Wrap an array that nobody else writes to."""
        self = object.__new__(Array)
        self.aval = aval
        self._numpy = value
        self._view = None
        self._taken = None
        self._exposed = True
        value.flags.writeable = False
        return self

    def numpy(self) -> np.ndarray[Any, Any]:
        """The data as a read-only NumPy array, without a copy."""
        self._exposed = True
        return self._host()

    def _host(self) -> np.ndarray[Any, Any]:
        value = self._numpy
        if value is None:
            if self._view is None:
                raise self._deleted()
            aval = self.aval
            value = _device.host_memory(self._view, aval.shape, aval.dtype)
            self._numpy = value
        return value

    def buffer_view(self) -> Any:
        """The data as the runtime's buffer view, without a copy where memory is aligned."""
        view = self._view
        if view is None:
            value = self._numpy
            if value is None:
                raise self._deleted()
            cpu = _device.cpu()
            if not _device.is_importable(value):
                fresh = _device.aligned_empty(value.shape, value.dtype)
                fresh[...] = value
                fresh.flags.writeable = False
                self._numpy = value = fresh
            view = self._view = _device.import_numpy(cpu, value)
        return view

    def address(self) -> int:
        """Where the data begins in memory."""
        return self._host().__array_interface__["data"][0]

    def private_copy(self) -> Array:
        """A copy that nothing else refers to."""
        value = _device.aligned_empty(self.aval.shape, self.aval.dtype)
        value[...] = self._host()
        return Array.of(value, self.aval)

    def owned_copy(self) -> Array:
        """A copy in memory of the runtime, which a result may take over and outlive this array with."""
        return from_view(_device.copy_numpy(_device.cpu(), self._host()), self.aval)

    def with_aval(self, aval: ShapedArray) -> Array:
        """The same data under an aval that differs in its weak type only."""
        made = object.__new__(Array)
        made.aval, made._numpy, made._view, made._taken = aval, self._numpy, self._view, self._taken
        made._exposed = self._exposed = True
        return made

    def take(self, by: str) -> None:
        """Give up the data to a call that donates it."""
        self._taken = by
        self._numpy = None
        self._view = None

    def delete(self) -> None:
        """Free the memory now; using the array afterwards is an error."""
        self.take("delete()")

    def is_deleted(self) -> bool:
        """Whether the data was donated or deleted."""
        return self._numpy is None and self._view is None

    def _deleted(self) -> errors.DonationError:
        taken = self._taken or "delete()"
        what = "was deleted" if taken == "delete()" else f"was donated to {taken}"
        return errors.DonationError(
            errors.message(
                f"Array has been deleted: {self.aval.long()} {what}",
                str(location.capture()),
                fix="use the result of that call instead, or do not donate the argument (donate_argnums)",
            )
        )

    # Devices.

    @property
    def device(self) -> _device.Device:
        """The device that holds the data."""
        return _device.cpu()

    def devices(self) -> set[_device.Device]:
        """The device that holds the data, as a set of one."""
        return {_device.cpu()}

    @property
    def committed(self) -> bool:
        """Whether the user fixed the device."""
        return False

    def block_until_ready(self) -> Array:
        """Wait until the data is computed; returns the array."""
        if self.is_deleted():
            raise self._deleted()
        return self

    def copy_to_host_async(self) -> None:
        """Start a transfer to the host; CPU data is there already."""

    # NumPy and Python.

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        value = self.numpy()
        if dtype is not None and np.dtype(dtype) != value.dtype:
            if copy is False:
                raise ValueError(f"converting {self.aval.long()} to {np.dtype(dtype).name} needs a copy")
            return value.astype(dtype)
        return value.copy() if copy else value

    def __buffer__(self, flags: int) -> memoryview:
        value: Any = self.numpy()
        return memoryview(value)

    def __dlpack__(self, **kwargs: Any) -> Any:
        value = self.numpy()
        if value.dtype == dtypes.bfloat16:
            raise BufferError("NumPy cannot export bfloat16 through DLPack\n  Fix: x.view(uint16), or astype(float32)")
        # NumPy does not export read-only memory to consumers that could write to it.
        return _device.writable_alias(value).__dlpack__(**kwargs)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def item(self, *args: int) -> Any:
        """One element as a Python scalar."""
        return self.numpy().item(*args)

    def tolist(self) -> Any:
        """The elements as nested lists of Python scalars."""
        return self.numpy().tolist()

    def tobytes(self, order: Any = "C") -> bytes:
        """The elements as bytes."""
        return self.numpy().tobytes(order)

    def _scalar(self, kind: str) -> Any:
        if self.aval.ndim:
            raise TypeError(
                f"only arrays without axes convert to {kind}; this one has shape {self.aval.shape}\n"
                "  Fix: index it, or use .item() where it has one element"
            )
        return self.numpy()[()]

    def __bool__(self) -> bool:
        if self.aval.size != 1:
            size = "an empty array" if self.aval.size == 0 else "an array with more than one element"
            raise ValueError(f"The truth value of {size} is ambiguous\n  Fix: use .any() or .all()")
        return bool(self.numpy().reshape(())[()])

    def __int__(self) -> int:
        return int(self._scalar("int"))

    def __float__(self) -> float:
        return float(self._scalar("float"))

    def __complex__(self) -> complex:
        return complex(self._scalar("complex"))

    def __index__(self) -> int:
        value = self._scalar("an index")
        if not dtypes.is_integer(self.aval.dtype):
            raise TypeError(f"only integer arrays without axes convert to an index; this one is {self.aval.long()}")
        return int(value)

    def __hash__(self) -> int:
        raise TypeError(
            "unhashable type: 'Array'\n"
            "  Fix: arrays cannot be static arguments or dictionary keys; pass x.item() or x.tobytes()"
        )

    def __repr__(self) -> str:
        if self.is_deleted():
            return f"Array({self.aval.long()}, deleted)"
        aval = self.aval
        weak = ", weak_type=True" if aval.weak_type else ""
        suffix = f"dtype={aval.dtype.name}{weak})"
        if aval.size == 0:
            return f"Array([], shape={aval.shape}, {suffix}"
        text = np.array2string(self.numpy(), separator=", ", prefix="Array(")
        last = len(text) - text.rfind("\n") - 1 if "\n" in text else len("Array(") + len(text)
        glue = ",\n      " if last + len(suffix) + 2 > np.get_printoptions()["linewidth"] else ", "
        return f"Array({text}{glue}{suffix}"

    def __str__(self) -> str:
        return str(self.numpy()) if not self.is_deleted() else repr(self)

    def __format__(self, spec: str) -> str:
        return format(self.numpy()[()], spec) if self.aval.ndim == 0 else format(str(self), spec)

    def __reduce__(self) -> Any:
        return _restore, (np.array(self.numpy()), self.aval.weak_type)

    def __copy__(self) -> Array:
        return self.private_copy()

    def __deepcopy__(self, memo: Any) -> Array:
        return self.private_copy()

    def origin(self) -> str:
        return ""


def _restore(value: np.ndarray[Any, Any], weak_type: bool) -> Array:
    return Array.of(value, ShapedArray.of(value.shape, value.dtype, weak_type))


def from_view(view: Any, aval: ShapedArray) -> Array:
    """Wrap a result of the runtime."""
    self = object.__new__(Array)
    self.aval = aval
    self._view = view
    self._numpy = None
    self._taken = None
    self._exposed = False
    return self


def borrow(value: Any) -> Array:
    """A caller's NumPy array or a literal as an Array that must not outlive the call."""
    self = object.__new__(Array)
    if type(value) is Literal:
        self._numpy, self.aval = value.value, value.aval
    else:
        self._numpy, self.aval = value, ShapedArray.of(value.shape, value.dtype)
    self._view = None
    self._taken = None
    self._exposed = True
    return self


def from_literal(literal: Literal) -> Array:
    """A constant of a graph as an array."""
    return Array.of(np.array(literal.value), literal.aval)

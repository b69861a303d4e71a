"""What NumPy and Python ask of an array: its data, or one number of it, on the host."""

from __future__ import annotations

import abc
import sys
from typing import Any

import numpy as np

from stagec.core import advice, dtypes, errors, location
from stagec.core.aval import ShapedArray
from stagec.core.boundary import shorten
from stagec.core.operators import ArrayOperators

# The last array whose buffer could not be had, by its `id`, and the error.
_dropped: dict[int, tuple[HostProtocols, BaseException]] = {}
# NumPy speaks DLPack 1.0, where data can be read-only, from 2.1 on.
_READ_ONLY_DLPACK = np.lib.NumpyVersion(np.__version__) >= "2.1.0"


class HostProtocols(ArrayOperators):
    """The conversions of an array."""

    __slots__ = ()
    aval: ShapedArray

    @abc.abstractmethod
    def numpy(self) -> np.ndarray[Any, Any]:
        """The data as a read-only NumPy array."""

    @abc.abstractmethod
    def _unread(self) -> str:
        """Why there is no data to show; empty where there is."""

    def _numbers(self) -> np.ndarray[Any, Any]:
        """The data for users, to whom keys are not numbers, and for stagec."""
        if dtypes.is_key(self.aval.dtype) and location.is_entered_by_user(__file__):
            raise location.error(
                errors.ArgumentTypeError,
                "random keys are not numbers, and cannot become a NumPy array",
                fix="compare keys with ==; stagec.random.key_data(key) returns the bits of a key",
            )
        return self.numpy()

    # NumPy and Python.

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if _dropped and (found := _dropped.pop(id(self), None)):
            raise found[1]
        value = self._numbers()
        if dtype is not None and np.dtype(dtype) != value.dtype:
            if copy is False:
                what = f"converting {self.aval.long()} to {np.dtype(dtype).name} needs a copy"
                raise location.error(ValueError, what, fix="leave copy=False out, and get a copy")
            return value.astype(dtype)
        return value.copy() if copy else value

    if sys.version_info < (3, 12):  # where classes written in Python cannot have the buffer protocol

        @property
        def __array_struct__(self) -> Any:
            # NumPy asks for it before it calls `__array__`, and takes a microsecond longer to see that it is missing.
            value = self._numbers()
            if value.dtype.isbuiltin != 1:  # a dtype of ml_dtypes, which the structure cannot name
                raise AttributeError("__array_struct__")
            return value.__array_struct__

    def __buffer__(self, flags: int) -> memoryview:
        try:
            value: Any = self._numbers()
        except BaseException as error:
            # NumPy ignores it and calls `__array__`, which would wait again: an interrupt of the wait would be lost.
            _dropped.clear()
            _dropped[id(self)] = self, error
            raise
        _dropped.pop(id(self), None)
        return memoryview(value)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """The data for another library: read-only without a copy if the library knows of DLPack 1.0, else a copy.

        Raises:
          BufferError: there is no such device, or `copy=False` and the library could write to the data.
        """
        from stagec.core.dlpack import export_array  # needed by other libraries only

        value = self._numbers()
        flagged = max_version is not None and tuple(max_version) >= (1, 0) and _READ_ONLY_DLPACK
        if not copy and not flagged:
            if copy is False:
                raise location.error(
                    BufferError,
                    "only DLPack 1.0 can say that data is read-only, and without a copy the consumer could write to it",
                    [("array", self.aval.long(), "")],
                    "pass max_version=(1, 0), or let it copy",
                )
            value = value.copy()
        options: dict[str, Any] = {"stream": stream}
        if _READ_ONLY_DLPACK:
            options |= {"max_version": max_version, "dl_device": dl_device}
        # A copy is the consumer's own.
        return export_array(value.copy() if copy else value, **options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def item(self, *args: int) -> Any:
        """One element as a Python scalar."""
        return self._numbers().item(*args)

    def tolist(self) -> Any:
        """The elements as nested lists of Python scalars."""
        return self._numbers().tolist()

    def tobytes(self, order: Any = "C") -> bytes:
        """The elements as bytes."""
        return self._numbers().tobytes(order)

    def _scalar(self, kind: str) -> Any:
        if self.aval.ndim:
            raise location.error(
                TypeError,
                f"only arrays without axes convert to {kind}; this one has shape {self.aval.shape}",
                fix="index it, as in x[0], or use x.item() where it has one element",
            )
        return self._numbers()[()]

    def __bool__(self) -> bool:
        if self.aval.size != 1:
            size = "an empty array" if self.aval.size == 0 else "an array with more than one element"
            raise location.error(
                ValueError, f"The truth value of {size} is ambiguous", fix=advice.ambiguous(self.aval.dtype)
            )
        return bool(self._numbers().reshape(())[()])

    def __int__(self) -> int:
        return int(self._scalar("int"))

    def __float__(self) -> float:
        return float(self._scalar("float"))

    def __complex__(self) -> complex:
        return complex(self._scalar("complex"))

    def __index__(self) -> int:
        value = self._scalar("an index")
        if not dtypes.is_integer(self.aval.dtype):
            what = f"only integer arrays without axes convert to an index; this one is {self.aval.long()}"
            raise location.error(TypeError, what, fix="convert it with int(x)")
        return int(value)

    def __hash__(self) -> int:
        raise location.error(
            TypeError,
            "unhashable type: 'Array'",
            fix="arrays cannot be static arguments or dictionary keys; pass x.item() or x.tobytes()",
        )

    def __repr__(self) -> str:
        if self._unread():
            return f"Array({self.aval.long()}, {self._unread()})"
        aval = self.aval
        if dtypes.is_key(aval.dtype):
            return f"Array({aval.shape}, dtype={aval.dtype}) overlaying:\n{self.numpy()[aval.dtype.name]}"
        weak = ", weak_type=True" if aval.weak_type else ""
        suffix = f"dtype={aval.dtype.name}{weak})"
        if aval.size == 0:
            return f"Array([], shape={aval.shape}, {suffix}"
        text = np.array2string(self.numpy(), separator=", ", prefix="Array(")
        last = len(text) - text.rfind("\n") - 1 if "\n" in text else len("Array(") + len(text)
        glue = ",\n      " if last + len(suffix) + 2 > np.get_printoptions()["linewidth"] else ", "
        return f"Array({text}{glue}{suffix}"

    def __str__(self) -> str:
        shows_numbers = not self._unread() and not dtypes.is_key(self.aval.dtype)
        return str(self.numpy()) if shows_numbers else repr(self)

    def __format__(self, spec: str) -> str:
        if self.aval.ndim and spec:
            raise location.error(
                TypeError,
                f"only arrays without axes take a format; this one is {self.aval.long()}, and the format {spec!r}",
                fix="format its elements, x.tolist(), or the whole with numpy.array2string(x, precision=3)",
            )
        has_number = not (self.aval.ndim or self._unread() or dtypes.is_key(self.aval.dtype))
        return format(self.numpy()[()], spec) if has_number else str(self)


shorten(
    HostProtocols,
    "__array__ __dlpack__ __bool__ __int__ __float__ __complex__ __index__ __hash__ __format__ __repr__ __str__ item "
    "tolist tobytes",
)

"""Arrays of other libraries without a copy, by the names of `jax.dlpack`."""

from __future__ import annotations

from typing import Any

from stagec.core import dtypes
from stagec.core.array import Array
from stagec.core.boundary import publish as _publish
from stagec.numpy.creation import from_dlpack as _from_dlpack
from stagec.runtime.devices import Device
from stagec.typing import DTypeLike

__all__ = ["from_dlpack", "is_supported_dtype"]


def from_dlpack(external_array: Any, device: Device | str | None = None, copy: bool | None = None) -> Array:
    """Convert an array of another library; as `stagec.numpy.from_dlpack`.

    >>> import numpy as np
    >>> from_dlpack(np.arange(2, dtype="int32"))
    Array([0, 1], dtype=int32)
    """
    return _from_dlpack(external_array, device=device, copy=copy)


def is_supported_dtype(dtype: DTypeLike) -> bool:
    """Whether DLPack has a dtype.

    >>> is_supported_dtype("bfloat16"), is_supported_dtype("datetime64[s]")
    (True, False)
    """
    try:
        return dtypes.parse(dtype) in dtypes.ORDINARY
    except TypeError:
        return False


_publish(globals())

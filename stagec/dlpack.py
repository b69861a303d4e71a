"""Arrays of other libraries without a copy, by the names of `jax.dlpack`."""

from __future__ import annotations

from stagec.core import dtypes
from stagec.core.boundary import publish as _publish
from stagec.numpy.creation import from_dlpack as from_dlpack
from stagec.typing import DTypeLike

__all__ = ["from_dlpack", "is_supported_dtype"]


def is_supported_dtype(dtype: DTypeLike) -> bool:
    """Whether arrays of a dtype go through DLPack.

    >>> is_supported_dtype("bfloat16"), is_supported_dtype("datetime64[s]")
    (True, False)
    """
    try:
        return dtypes.parse(dtype) in dtypes.ORDINARY
    except TypeError:
        return False


def __dir__() -> list[str]:
    return sorted(__all__)


_publish(globals())

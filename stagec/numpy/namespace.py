"""Version and capabilities of the namespace, as the Python array API standard requires."""

from __future__ import annotations

import sys
from typing import Any, Literal, TypeAlias

import numpy as np

from stagec.core import dtype_info, dtypes, errors, location
from stagec.primitives.operand import aval_of, is_array_like
from stagec.runtime import devices as _devices
from stagec.typing import ArrayLike, DTypeLike

__all__ = ["__array_api_version__", "__array_namespace_info__", "can_cast"]

__array_api_version__ = "2024.12"
# The module that arrays name as theirs; None for `stagec.numpy`.
spoken: Any = None


# NumPy's rules for which conversions are allowed.
Casting: TypeAlias = Literal["no", "equiv", "safe", "same_kind", "unsafe"]


def can_cast(from_: ArrayLike | DTypeLike, to: DTypeLike, casting: Casting = "safe") -> bool:
    """Whether NumPy's rules convert one dtype, or an array's, to another.

    >>> can_cast("int8", "int32"), can_cast("float32", "int32")
    (True, False)
    """
    found = aval_of(from_).dtype if is_array_like(from_) and hasattr(from_, "dtype") else dtypes.parse(from_)
    return np.can_cast(found, dtypes.parse(to), casting)


class NamespaceInfo:
    """The capabilities of `stagec.numpy`, as the Python array API standard describes them."""

    def capabilities(self) -> dict[str, Any]:
        """Return supported features. Data-dependent shapes work outside `jit` only, so they are reported as missing.

        Those of `x[mask]` are among them.
        """
        return {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": 64}

    def default_device(self) -> Any:
        """Return the device of new arrays."""
        return _devices.default()

    def devices(self) -> list[Any]:
        """Return the devices of the default platform."""
        return list(_devices.devices())

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """Return the dtypes of Python numbers under the current options."""
        integer = dtypes.default_int()
        return {
            "real floating": dtypes.default_float(),
            "complex floating": dtypes.canonicalize("complex128"),
            "integral": integer,
            "indexing": integer,
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        """Return the standard's dtypes that are enabled, all or those of a kind."""
        sizes = (8, 16, 32, 64)
        names = ["bool", *[f"{sign}int{n}" for sign in ("", "u") for n in sizes]]
        names += ["float32", "float64", "complex64", "complex128"]
        found = {name: np.dtype(name) for name in names if dtypes.canonicalize(name) == np.dtype(name)}
        return {n: d for n, d in found.items() if kind is None or dtype_info.isdtype(d, kind)}


def __array_namespace_info__() -> NamespaceInfo:
    """The capabilities, dtypes and devices of this namespace.

    >>> __array_namespace_info__().default_dtypes()["real floating"]
    dtype('float32')
    """
    return NamespaceInfo()


def array_namespace(x: Any, *, api_version: str | None = None) -> Any:
    """The module of functions for an array: `x.__array_namespace__()`.

    Raises:
      UnsupportedError: another version of the standard is asked for.
    """
    known = ("2021.12", "2022.12", "2023.12", __array_api_version__)
    if api_version not in (None, *known):
        raise location.error(
            errors.UnsupportedError,
            f"stagec.numpy does not follow version {api_version} of the array API standard",
            fix=f"use one of {', '.join(known)}",
        )
    return spoken or sys.modules["stagec.numpy"]

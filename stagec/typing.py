"""Types for annotations, under the names that JAX gives them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from stagec.core.array import Array

# An Array, a tracer, a NumPy array or a number. A list is none of these. No part has parameters, for `isinstance`.
ArrayLike: TypeAlias = Array | np.ndarray | np.generic | bool | int | float | complex

# Several of them, or one whose rows they are.
Arrays: TypeAlias = Array | np.ndarray[Any, Any] | Sequence[ArrayLike]


class SupportsDType(Protocol):
    """What has a dtype, such as `stagec.numpy.bfloat16`."""

    @property
    def dtype(self) -> np.dtype[Any]: ...


# A name, a scalar type of NumPy or Python, a dtype, or what has one; None where the function chooses.
DTypeLike: TypeAlias = str | type[Any] | np.dtype[Any] | SupportsDType | None

__all__ = ["ArrayLike", "DTypeLike"]


def __dir__() -> list[str]:
    return sorted(__all__)

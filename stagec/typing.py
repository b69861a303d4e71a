"""Types for annotations, under the names that JAX gives them."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from stagec.core.operators import ArrayOperators

# An Array, a tracer, a NumPy array or a number. A list is none of these.
ArrayLike: TypeAlias = ArrayOperators | np.ndarray[Any, Any] | np.generic | bool | int | float | complex
# Whatever NumPy takes as a dtype, and bfloat16.
DTypeLike: TypeAlias = Any

__all__ = ["ArrayLike", "DTypeLike"]


def __dir__() -> list[str]:
    return sorted(__all__)

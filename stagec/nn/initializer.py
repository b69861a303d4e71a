"""The type of weight initializers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from stagec.core import dtypes
from stagec.core.array import Array
from stagec.numpy.arguments import requested_dtype
from stagec.typing import DTypeLike


class Initializer(Protocol):
    """A function that returns initial weights.

    >>> from stagec import random
    >>> from stagec.nn.initializers import normal
    >>> init: Initializer = normal(0.1)
    >>> init(random.key(0), (2, 3)).shape
    (2, 3)
    """

    def __call__(self, key: Any, shape: Sequence[int], dtype: DTypeLike = None) -> Array:
        """Return weights of this shape and dtype."""


def weights_dtype(asked: DTypeLike, default: DTypeLike = None) -> Any:
    """Return the dtype of initial weights: the requested one, a default, or the default float."""
    found = default if asked is None else asked
    return dtypes.default_float() if found is None else requested_dtype(found, "an initializer")

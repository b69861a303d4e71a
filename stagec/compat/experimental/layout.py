"""Stand-ins for `jax.experimental.layout`: names for annotations and `isinstance`.

A `Format` without a layout is its sharding. Creating a `Layout`, or a `Format` of one, raises `UnsupportedError`.
"""

from __future__ import annotations

from typing import Any

from stagec.compat.refusals import Absent
from stagec.runtime.sharding import Sharding


class Layout(Absent):
    """The order of an array's axes in memory, which the compiler chooses."""


class Format(Absent):
    """A layout and a sharding."""

    def __new__(cls, layout: Layout | None = None, sharding: Any = None) -> Any:
        return sharding if layout is None and isinstance(sharding, Sharding) else super().__new__(cls)

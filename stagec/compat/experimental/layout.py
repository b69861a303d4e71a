"""Stand-ins for `jax.experimental.layout`: names for annotations and `isinstance`.

Creating an instance raises `UnsupportedError`.
"""

from stagec.compat.sharding import _Absent


class Layout(_Absent):
    """The order of an array's axes in memory, which the compiler chooses."""


class Format(_Absent):
    """A layout and a sharding."""

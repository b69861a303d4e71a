"""Stand-ins for `jax.experimental.layout`: names for annotations and `isinstance`.

Creating an instance raises `UnsupportedError`.
"""

from stagec.compat.refusals import Absent


class Layout(Absent):
    """The order of an array's axes in memory, which the compiler chooses."""


class Format(Absent):
    """A layout and a sharding."""

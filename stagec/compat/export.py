"""Stand-ins for `jax.export`; `stagec.export` writes files in a format of its own instead.

Calling one of the functions raises `UnsupportedError`.
"""

from __future__ import annotations

from stagec.compat.refusals import refused

_WHY = "stagec has files of its own, and no symbolic shapes"
_FIX = "compile the function for its shapes with stagec.export, write it with stagec.save, and read it with stagec.load"


class Exported:
    """A function that JAX exported, for annotations and `isinstance`; it has no instances."""


deserialize = refused("jax.export.deserialize", _WHY, _FIX)
export = refused("jax.export.export", _WHY, _FIX)
is_symbolic_dim = refused("jax.export.is_symbolic_dim", _WHY, _FIX)
symbolic_args_specs = refused("jax.export.symbolic_args_specs", _WHY, _FIX)
symbolic_shape = refused("jax.export.symbolic_shape", _WHY, _FIX)
register_namedtuple_serialization = refused("jax.export.register_namedtuple_serialization", _WHY, _FIX)
register_pytree_node_serialization = refused("jax.export.register_pytree_node_serialization", _WHY, _FIX)

"""Stand-ins for `jax.extend.linear_util`: names that libraries look up when they are imported.

Calling one of the functions raises `UnsupportedError`.
"""

from __future__ import annotations

from stagec.compat.refusals import refused

WHY = "functions are traced by stagec's own graphs"
FIX = "trace with stagec.make_graph, or record shapes with stagec.eval_shape"


class WrappedFun:
    """A function in JAX's transformations, for annotations and `isinstance`; it has no instances."""


transformation = refused("jax.extend.linear_util.transformation", WHY, FIX)
transformation_with_aux = refused("jax.extend.linear_util.transformation_with_aux", WHY, FIX)
wrap_init = refused("jax.extend.linear_util.wrap_init", WHY, FIX)

"""`pjit`, which is `jit`."""

from stagec.api.jit import jit as pjit
from stagec.core.boundary import publish as _publish
from stagec.lax.tokens import with_sharding_constraint

__all__ = ["pjit", "with_sharding_constraint"]


_publish(globals())

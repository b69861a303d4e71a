"""What JAX keeps in `jax.experimental`, under the same names."""

from stagec.control.callback import io_callback as io_callback
from stagec.core.boundary import publish as _publish

_publish(globals(), "checkify", "mesh_utils", "multihost_utils", "ode", "pjit", "random", "shard_map", "sparse")

"""What JAX keeps in `jax.custom_batching`, under the same names."""

from stagec.api.custom_vmap import custom_vmap as custom_vmap, sequential_vmap as sequential_vmap
from stagec.core.boundary import publish as _publish

_publish(globals())

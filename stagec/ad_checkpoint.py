"""What JAX keeps in `jax.ad_checkpoint`, under the same names."""

from stagec.api.remat import *
from stagec.core.boundary import publish as _publish

_publish(globals())

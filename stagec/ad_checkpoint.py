"""What JAX keeps in `jax.ad_checkpoint`, under the same names."""

from stagec.api.remat import (
    checkpoint as checkpoint,
    checkpoint_name as checkpoint_name,
    checkpoint_policies as checkpoint_policies,
    print_saved_residuals as print_saved_residuals,
    remat as remat,
)
from stagec.core.boundary import publish as _publish

_publish(globals())

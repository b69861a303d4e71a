"""`jax._src.ad_util`: what libraries use of it."""

from stagec.core.zero import Zero
from stagec.primitives.barrier import stop_gradient_p

__all__ = ["Zero", "stop_gradient_p"]

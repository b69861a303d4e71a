"""`jax._src.ad_util`: a primitive that libraries name."""

from stagec.primitives.barrier import stop_gradient_p

__all__ = ["stop_gradient_p"]

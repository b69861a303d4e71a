"""`jax._src.dispatch`: what libraries call of it."""

from stagec.api.environment import effects_barrier as wait_for_tokens

__all__ = ["wait_for_tokens"]

"""`jax.extend`: what libraries build on that define primitives of their own."""

from stagec.compat.extend import core

__all__ = ["core"]

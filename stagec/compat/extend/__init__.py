"""`jax.extend`: the interface for libraries that define primitives."""

from stagec.compat.extend import core

__all__ = ["core"]

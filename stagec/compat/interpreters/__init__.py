"""`jax.interpreters`: rules of primitives that users define."""

from stagec.compat.interpreters import ad, batching, mlir

__all__ = ["ad", "batching", "mlir"]

"""`jax.interpreters.xla`: how values of other classes become arrays."""

from stagec.core.foreign import conversions as canonicalize_dtype_handlers

__all__ = ["canonicalize_dtype_handlers"]

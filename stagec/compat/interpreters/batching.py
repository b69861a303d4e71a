"""`jax.interpreters.batching`: batching rules of primitives that users define."""

from stagec.compat.primitive import axis_batchers as axis_primitive_batchers, batchers as primitive_batchers

__all__ = ["axis_primitive_batchers", "not_mapped", "primitive_batchers"]

# The dimension of an operand that is the same for all elements of a batch.
not_mapped = None

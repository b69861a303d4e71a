"""`jax.extend`: the interface for libraries that define primitives."""

"""`jax.interpreters`: rules of primitives that users define."""

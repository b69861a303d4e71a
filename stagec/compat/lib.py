"""`jax.lib`, which has no names."""

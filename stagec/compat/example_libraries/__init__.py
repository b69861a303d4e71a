"""`jax.example_libraries`: `optimizers` and `stax`."""

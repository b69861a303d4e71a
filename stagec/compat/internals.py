"""A stand-in for `jax._src`, JAX's internals: libraries import the module, but its names do not exist here."""

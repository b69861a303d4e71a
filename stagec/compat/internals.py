"""A stand-in for `jax._src`, JAX's internals: libraries import the module, and what they need of it is not there."""

"""What JAX keeps in `jax.experimental`, under the same names."""

from stagec.control.callback import io_callback as io_callback

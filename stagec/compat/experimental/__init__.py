"""Modules of `jax.experimental` that stagec lacks or has as stand-ins."""

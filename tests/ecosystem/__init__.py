"""Libraries written for JAX, unchanged, on stagec and on JAX: their own tests decide."""

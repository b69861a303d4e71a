"""How stagec compares with NumPy and JAX: `python -m tests.benchmarks`."""

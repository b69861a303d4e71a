"""Proofs of the passes' laws: `python -m tests.proving`."""

"""Proofs that two programs have the same results for all arguments."""

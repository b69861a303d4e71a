"""Proofs that two programs have the same results for all arguments."""

from passes.proving.verdict import Verdict, verdict

__all__ = ["Verdict", "verdict"]

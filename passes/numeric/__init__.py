"""What each StableHLO op means, in NumPy: constant folding, and the oracle of the pass tests."""

from passes.numeric.interpreter import evaluate, interpret

__all__ = ["evaluate", "interpret"]

"""What each StableHLO op means, in NumPy: constant folding, and the oracle of the pass tests.

Nothing is imported here: `passes.operations` takes its functions from these modules, and
the interpreter reads that table.
"""

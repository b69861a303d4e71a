"""The meaning of each StableHLO op in NumPy, for constant folding and as the reference of the pass tests.

This module imports nothing: `passes.operations` refers to functions of the modules here, and
the interpreter reads that table.
"""

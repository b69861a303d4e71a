"""StableHLO of other programs, imported as functions."""

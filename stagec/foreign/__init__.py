"""StableHLO that others wrote, as functions of stagec."""

"""Programs with the same bits on all processors: `python -m tests.reproducible`."""

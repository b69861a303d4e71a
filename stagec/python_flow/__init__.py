"""Python's own control flow in compiled functions: `jit(python=True)`."""

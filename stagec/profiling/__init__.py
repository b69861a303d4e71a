"""`profile`: records where the time of calls goes, and measures the kernels of their programs."""

"""Proofs of the passes' laws: `python -m tests.proving`."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "passes"))  # the modules of tests are not a package

"""How deep the text of a module nests: MLIR reads, prints and destroys what is nested by recursion, without a limit."""

from __future__ import annotations

import re

import numpy as np

# The deepest that modules which others wrote may nest. Frameworks write a tenth of this, and MLIR's parser ends its
# process at some 2,000.
DEEPEST = 256
# Brackets in these nest nothing: strings, comments, arrows, and comparisons.
_OTHER = re.compile(rb'"[^"\\\n]*(?:\\.[^"\\\n]*)*"|//[^\n]*|->|[<>]=')
_STEPS = np.zeros(256, np.int8)
_STEPS[list(b"([{<")] = 1
_STEPS[list(b")]}>")] = -1


def depth(text: bytes) -> int:
    """How many brackets are open at once, at most.

    >>> depth(b'func.func @f(%x: tensor<2xf32>) -> (tensor<2xf32>) attributes {a = "(((" } // {{{')
    2
    """
    steps = _STEPS[np.frombuffer(_OTHER.sub(b" ", text), np.uint8)]
    return int(np.cumsum(steps, dtype=np.int32).max(initial=0))


def too_deep(found: int) -> str:
    """What is wrong with a module that nests this deep."""
    return f"it nests {found} brackets deep, and at most {DEEPEST} can be read"

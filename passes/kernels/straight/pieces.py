"""The pieces into which an iteration space is cut, so that each reads one part of joined arrays."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from passes import attributes as attrs
from passes.kernels.kernel import Lowering
from passes.kernels.record import Recorder

# The most pieces of a space in a kernel, each of which has its own code; and in small spaces, where their code takes
# less time than a call of another kernel, the most operations of all pieces.
_PIECES = 12
_SMALL, _OPERATIONS = 1 << 12, 1 << 11


def are_few(pieces: int, size: int, length: int = 1) -> bool:
    """Whether a kernel may consist of so many pieces.

    Args:
      size: the elements of its space.
      length: the operations of one element.
    """
    return pieces <= _PIECES or (size <= _SMALL and pieces * length <= _OPERATIONS)


def parts_of(op: Any) -> int:
    """The number of parts of a padded array or a concatenation."""
    if op.name == "stablehlo.concatenate":
        return len(op.operands)
    edges = zip(attrs.ints(op, "edge_padding_low"), attrs.ints(op, "edge_padding_high"))
    return math.prod(1 + (low > 0) + (high > 0) for low, high in edges)


def pieces_of(cuts: Mapping[int, Collection[int]]) -> int:
    """The number of pieces into which cuts divide a space."""
    return math.prod(len(ends) + 1 for ends in cuts.values())


def cuts_of(recorder: Recorder, shape: Sequence[int], k: Lowering) -> dict[int, set[int]]:
    """The cuts of the axes of more than one element, by their order among these."""
    if not recorder.cuts:
        return {}
    space, axes = k.space(shape), [axis for axis, n in enumerate(shape) if n > 1]
    found = [recorder.cuts.get(space.symbol(axis), ()) for axis in axes]
    return {i: {at for at in ends if 0 < at < shape[axis]} for i, (axis, ends) in enumerate(zip(axes, found)) if ends}

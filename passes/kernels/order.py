"""The order of sums where equal sums have equal bits in all programs: it follows from shapes and dtypes alone.

What is added up may otherwise change the order: how its elements are read decides which axes are one and whether there
are vectors, its dtypes how many lanes these have, and its cost how many accumulators and workgroups there are. So sums
are computed together only with what changes none of these. Other operands are stored first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from typing import Any

from passes.kernels import contractions
from passes.kernels.kernel import Lowering, element_type
from passes.kernels.record import Recorder
from passes.kernels.sweep import STRIP
from passes.kernels.values import NotVectorsError, Value

# What counts as the cost of an element of a sum.
COST = 8


def lane_bytes(op: Any) -> int:
    """The bytes of an accumulator of a reduction that rounds; 0 if it does not, so that its order does not matter."""
    elements = [element_type(result.type)[1] for result in op.results]
    kinds = contractions.kinds_of(op) or ()
    return max(
        (e.wide.size for kind, e in zip(kinds, elements) if kind in ("add", "mul") and e.kind in "fc"), default=0
    )


def merges(k: Lowering, values: Iterable[Value], shape: Sequence[int]) -> frozenset[int] | None:
    """The axes, by their order among those of more than one element, that are read as one with the next axis.

    None if elements along the last axis are not read in vectors.
    """
    symbols = k.space(shape).symbols
    axes = [d for d, n in enumerate(shape) if n > 1]
    if not axes:
        return frozenset()
    once, last = Recorder(k.symbols), axes[-1]
    width = 1 << min(4, shape[last].bit_length() - 1)
    vectors, along = Recorder(k.symbols, width), list(symbols)
    along[last] = k.symbols.new("", 0, max(shape[last] - width, 1)).lanes()
    try:
        for value in values:
            once.get(value, symbols)
            vectors.get(value, tuple(along))
    except NotVectorsError:
        return None
    if vectors.gathers or once.undecided_parts:
        return None
    names = [symbols[d].terms[0][0] for d in axes]
    return frozenset(
        number
        for number, ((here, there), axis) in enumerate(zip(pairwise(names), axes[1:]))
        if once.fixed.isdisjoint((here, there))
        and all(form.coefficient(here) == form.coefficient(there) * shape[axis] for form in once.forms)
    )


def sets_of(strips: int, lanes: int, columns: int) -> int:
    """The accumulators of a strip of so many vectors: each column has as many, however many strips there are."""
    return strips * max(1, STRIP * lanes // columns)


def keeps_order(found: frozenset[int] | None, reduced: Collection[int]) -> bool:
    """Whether what is read so is added up as an array in memory is, over axes counted like those of `merges`."""
    return found is not None and found.issuperset(axis for axis in reduced if axis + 1 in reduced)

"""Dynamic slices move before ops of which not every part can be taken at a start that is not known. Exact."""

from __future__ import annotations

from typing import Any

from passes import build
from passes.analysis.strided import groups
from passes.match import shape_of
from passes.patterns import laws_of, pattern
from passes.simplify.moves import is_whole
from passes.simplify.slices import part, sliced

_SLICE = "stablehlo.dynamic_slice"


@pattern(_SLICE, of="stablehlo.reshape")
def dynamic_slice_of_reshape(op: Any) -> Any:
    """dynamic_slice(reshape(x)) -> reshape(dynamic_slice(x)), where the reshape keeps the dimensions that are cut.

    Exact. Other laws move the slice on.
    """
    inner = sliced(op, "stablehlo.reshape")
    found = groups(shape_of(inner.operand), shape_of(op.operand)) if inner is not None else None
    own = {}
    for left, right in found or ():
        if len(left) == len(right) == 1:
            own[left[0]] = right[0]
        elif not all(is_whole(op, d) for d in right):
            return None
    if found is None or not any(not is_whole(op, d) for d in own.values()):
        return None
    return build.reshape(part(op, inner.operand, own), shape_of(op.operation.results[0]))


PATTERNS = laws_of(globals())

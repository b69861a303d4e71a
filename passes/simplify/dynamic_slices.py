"""Dynamic slices move before ops of which not every part can be taken at a start that is not known. Exact."""

from __future__ import annotations

from typing import Any

from passes import attributes as attrs, build
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


@pattern(_SLICE, of="stablehlo.reverse")
def dynamic_slice_of_reverse(op: Any) -> Any:
    """dynamic_slice(reverse(x)) -> reverse(dynamic_slice(x)), where what is cut is not reversed.

    Exact: fewer elements are reversed.
    """
    inner = sliced(op, "stablehlo.reverse")
    dims = attrs.ints(inner, "dimensions") if inner is not None else ()
    if inner is None or not all(is_whole(op, d) for d in dims):
        return None
    return build.reverse(part(op, inner.operand, _same(op)), dims)


@pattern(_SLICE, of="stablehlo.pad")
def dynamic_slice_of_pad(op: Any) -> Any:
    """dynamic_slice(pad(x)) -> pad(dynamic_slice(x)), where what is cut is not padded. Exact: fewer elements move."""
    inner = sliced(op, "stablehlo.pad")
    if inner is None:
        return None
    padding = attrs.padding(inner)
    padded = [d for d, amounts in enumerate(zip(*padding)) if any(amounts)]
    if not all(is_whole(op, d) for d in padded):
        return None
    own = {d: d for d in range(len(padding.low)) if d not in padded}
    return build.pad(part(op, inner.operand, own), inner.padding_value, *padding)


@pattern(_SLICE, of="stablehlo.concatenate")
def dynamic_slice_of_concatenate(op: Any) -> Any:
    """dynamic_slice(concatenate(x, y)) -> concatenate(dynamic_slice(x), dynamic_slice(y)), cut along other dimensions.

    Exact: fewer elements are joined.
    """
    inner = sliced(op, "stablehlo.concatenate")
    dim = attrs.integer(inner, "dimension") if inner is not None else 0
    if inner is None or not is_whole(op, dim):
        return None
    own = {d: d for d in _same(op) if d != dim}
    return build.concatenate([part(op, value, own) for value in inner.operation.operands], dim)


def _same(op: Any) -> dict[int, int]:
    return {d: d for d in range(len(shape_of(op.operand)))}


PATTERNS = laws_of(globals())

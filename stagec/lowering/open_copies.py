"""Copies in programs with open dimensions, of arrays that the compiler would overwrite while they are still read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from passes import bindings, operations
from stagec.core import dtypes
from stagec.core.aval import ShapedArray
from stagec.core.dims import is_open

# Which overwrite their operands.
IN_PLACE = frozenset({*operations.IN_PLACE, "stablehlo.while"})


def held(cx: Any, values: Sequence[Any]) -> list[Any]:
    """Pass values through a barrier: the compiler computes them, and fuses nothing across it."""
    avals = [cx.trace.avals.get(v) for v in values]
    opened = [v for v, a in zip(values, avals) if a is not None]
    if not opened:
        return list(values)
    known = [a for a in avals if a is not None]
    results = iter(cx.create_all("stablehlo.optimization_barrier", opened, None, known))
    return [v if a is None else next(results) for v, a in zip(values, avals)]


def copied(cx: Any, values: Sequence[Any], of_loop: bool = False) -> list[Any]:
    """Values to be overwritten, each in memory of its own if it is open.

    The compiler updates arrays in place, loses track of what else is in their memory where there are loops and
    branches, and fuses what computes them with a sort, on a stack of unknown size. For known shapes,
    `passes.legalize.control_flow` finds out which need a copy; here all do that may.
    What an update made may also be read after a loop that starts from it, or in its body.

    Args:
      of_loop: whether the values are the initial state of a loop.
    """
    return [
        _copied(cx, v, cx.trace.avals[v]) if v in cx.trace.avals and (of_loop or not _is_own(v)) else v for v in values
    ]


def _is_own(value: Any) -> bool:
    """Whether a value is the state of a loop, or what an update made."""
    owner = value.owner
    if isinstance(owner, bindings.ir.Block):
        return False
    if owner.name == "flow.tensor.tie_shape":
        return isinstance(owner.operands[0].owner, bindings.ir.Block)
    return bool(owner.name == "tensor.insert_slice")


def _copied(cx: Any, value: Any, aval: ShapedArray) -> Any:
    """A copy by a selection that the compiler cannot fold: of the elements whose index is -n or more."""
    cx.trace.copies += 1
    axis = next(i for i, n in enumerate(aval.shape) if is_open(n))
    index, flags = (aval.update(dtype=np.dtype(d), weak_type=False) for d in (np.int32, np.bool_))
    (position,) = cx.emit_all("stablehlo.iota", [], {"iota_dimension": f"{axis} : i64"}, [index])
    least = cx.constant(-cx.trace.copies, index)
    direction = {"comparison_direction": "#stablehlo<comparison_direction GE>"}
    (always,) = cx.emit_all("stablehlo.compare", [position, least], direction, [flags])
    # No value is its own complement or negation; with two equal values, the selection would be folded.
    is_number = aval.dtype in dtypes.INEXACT - dtypes.SMALL
    (other,) = cx.emit_all("stablehlo.negate" if is_number else "stablehlo.not", [value], None, [aval])
    return held(cx, cx.emit_all("stablehlo.select", [always, value, other], None, [aval]))[0]


def region_results(cx: Any, region: Any, values: Sequence[Any]) -> list[Any]:
    """The results of a loop's body or a branch, each in memory of its own.

    The compiler also loses the sizes of results of branches that no operation there computes.
    """
    name = region.owner.operation.name
    found: list[Any] = []
    for value in values:
        aval = cx.trace.avals.get(value) if name in operations.CONTROL else None
        is_own = name not in operations.CONDITIONALS and value not in found and _is_made_in(value, region.blocks[0])
        found.append(value if aval is None or is_own else _copied(cx, value, aval))
    return found


def _is_made_in(value: Any, block: Any) -> bool:
    owner = value.owner
    return bool(owner == block if isinstance(owner, bindings.ir.Block) else owner.operation.block == block)

"""Operations on dtypes of up to eight bits: computed in a wider dtype, and rounded once.

The traces that record or evaluate ask here after the shape rule, so nothing below them computes with such bytes:
derivatives and batching see one operation, evaluation and compiled code the conversions around a wider one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stagec.core.aval import ShapedArray
from stagec.core.dtypes import COMPUTED_IN, SIGNED, SMALL, uint2, uint4
from stagec.core.primitive import Primitive
from stagec.core.trace import Trace

# Primitives that only move elements or call other graphs, for any dtype.
MOVING = frozenset(
    """
    bitcast_convert_type broadcast_in_dim checkpoint concatenate cond convert_element_type custom_jvp_call
    custom_lin custom_linear_solve custom_vjp_call debug_callback dynamic_slice dynamic_update_slice gather
    io_callback jit linear_call name optimization_barrier pad pure_callback remat_barrier reshape rev scan scatter
    select_n slice split squeeze stop_gradient transpose while
    """.split()
)
# Primitives that read bits above those of the number.
_OF_BITS = frozenset({"population_count", "shift_right_logical"})
_UNSIGNED = {2: uint2, 4: uint4}


def concerns(primitive: Primitive, avals: Sequence[ShapedArray], out: Any) -> bool:
    """Whether `primitive` computes on, or gives, arrays of small dtypes."""
    if any([a.small for a in avals]):  # noqa: C419  twice as fast as a generator
        return primitive.name not in MOVING
    gives = any(a.small for a in out) if primitive.multiple else out.small
    return gives and primitive.name not in MOVING


def computed(
    trace: Trace, primitive: Primitive, args: Sequence[Any], avals: Sequence[ShapedArray], outs: Any, params: Any
) -> Any:
    """`primitive` on arrays some of which have, or give, small dtypes."""
    convert = Primitive.registry["convert_element_type"]

    def to(value: Any, dtype: np.dtype[Any], weak_type: bool = False) -> Any:
        return trace.process(convert, (value,), {"new_dtype": dtype, "weak_type": weak_type})

    wide = []
    for value, aval in zip(args, avals, strict=True):
        dtype = aval.dtype
        if primitive.name in _OF_BITS and dtype in SIGNED:
            dtype = _UNSIGNED[int(dtype.name.removeprefix("int"))]
            value = to(value, dtype)
        wide.append(to(value, COMPUTED_IN[dtype], aval.weak_type) if aval.small else value)
    changed = {k: COMPUTED_IN[v] if isinstance(v, np.dtype) and v in SMALL else v for k, v in params.items()}
    assert changed != params or any(a.small for a in avals), f"{primitive} gives small numbers, whatever it is given"
    found = trace.process(primitive, tuple(wide), changed)
    if not primitive.multiple:
        return to(found, outs.dtype, outs.weak_type) if outs.small else found
    return [to(f, a.dtype, a.weak_type) if a.small else f for f, a in zip(found, outs, strict=True)]

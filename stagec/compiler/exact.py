"""Which programs NumPy and compiled code compute to the same bits.

Integers, booleans, and whatever only moves elements are the same everywhere. Of floating point, so are the operations
that IEEE 754 rounds, but for three things: compiled code rounds a multiplication and an addition together, it treats
subnormal numbers as zero, and it may return another NaN. A program with the first is not exact, and an evaluation
that meets the second is given up. All NaN count as one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stagec.backends import Target
from stagec.core import dtypes
from stagec.core.graph import Equation, Graph, all_equations

# Rows that move elements of any dtype, or evaluate other graphs.
MOVING = frozenset(
    """
    bitcast_convert_type broadcast_in_dim checkpoint concatenate cond custom_jvp_call custom_vjp_call dynamic_slice
    dynamic_update_slice gather iota jit optimization_barrier pad platform_index random_unwrap random_wrap reshape rev
    scan select_n slice split squeeze stop_gradient transpose while
    """.split()
)
# Rows that are exact where no operand is of another kind. Sums of integers wrap, so their order does not matter.
OF_INTEGERS = frozenset(
    """
    abs add and argmax argmin clamp clz convert_element_type cummax cummin cumprod cumsum div
    dot_general eq ge gt integer_pow le lt max min mul ne neg not or population_count reduce_and reduce_max reduce_min
    reduce_or reduce_prod reduce_sum reduce_xor rem scatter_add scatter_max scatter_min scatter_mul scatter_sub
    shift_left shift_right_arithmetic shift_right_logical sign sort square sub threefry2x32 xor
    """.split()
)
# Rows that IEEE 754 rounds, or that need no rounding.
OF_FLOATS = frozenset(
    "abs add ceil convert_element_type div eq floor ge gt is_finite le lt mul ne neg sqrt square sub".split()
)
# Those of them that compiled code may round together.
_PRODUCTS, _SUMS = frozenset({"mul", "square"}), frozenset({"add", "sub"})
_WHOLE = dtypes.BOOL | dtypes.INTEGER | {dtypes.KEY}
# Half precision is computed in float32.
_FLOATS = (dtypes.float32, dtypes.float64)


def is_exact(graph: Graph, target: Target, reproducible: bool = False) -> bool:
    """Whether NumPy and the program for a target compute the same bits, subnormal numbers apart.

    Args:
      reproducible: whether the program has the same bits on all processors: it rounds each operation by itself, and
        computes with subnormal numbers.
    """
    floating: set[str] = set()
    for equation in all_equations(graph):
        name = equation.primitive.name
        if name in MOVING:
            continue
        if name == "sort" and len(equation.inputs) > 1:
            return False  # what has equal keys may be in any order
        if name in OF_INTEGERS and _has_integers_alone(equation):
            continue
        if not (target.on.is_host and name in OF_FLOATS and _has_floats(equation)):
            return False
        floating.add(name)
    return reproducible or floating.isdisjoint(_PRODUCTS) or floating.isdisjoint(_SUMS)


def has_subnormals(value: np.ndarray[Any, Any]) -> bool:
    """Whether an array holds numbers that compiled code treats as zero."""
    if value.dtype not in _FLOATS:
        return False
    size = np.abs(value)
    return bool(np.any((size < np.finfo(value.dtype).tiny) & (size > 0)))


def _has_integers_alone(equation: Equation) -> bool:
    return all(a.aval.dtype in _WHOLE for a in _values(equation))


def _has_floats(equation: Equation) -> bool:
    return all(a.aval.dtype in (*_FLOATS, dtypes.bool_) for a in _values(equation))


def _values(equation: Equation) -> list[Any]:
    return [*equation.inputs, *equation.outputs]

"""Cost limits of kernels of loops: one core runs such a kernel, without a call for each operation and iteration."""

from __future__ import annotations

import math
from typing import Any

from passes.attributes import dot_dimensions
from passes.kernels.elements import RefusedError
from passes.match import is_static

# The most workgroups of a kernel, and the most buffers: the runtime refuses a dispatch of more.
MAX_WORKGROUPS, MAX_BUFFERS = 32, 32
# Nanoseconds for an addition of one byte, vectorized, from the L2 cache: a stencil of 10^6 floats takes 640 us.
_NANOSECONDS = 0.04
# A body that takes longer on one core stays outside, and all cores share its kernels. `python -m tests.benchmarks
# rounds` measures both: of such bodies, those that were measured take at most 1.1 times as long outside, even where two
# cores are busy with other programs.
_LONG = 1_000_000
# The same where all rounds outside are one dispatch.
_LONG_JOINED = 100_000
# The most work outside of loops, in nanoseconds, that may become a part of their kernel.
_STRAIGHT = 500_000
# The least work, in nanoseconds, that is worth a wait for other cores.
_SHARED = 60_000
# The least multiply-adds, and the least rows and columns, of a product for which packed operands may pay.
_PACKED, _PACKED_ROWS = 100**3, 64


def check_round(work: int, joins: bool = False) -> None:
    """Refuse a loop whose iterations would run faster on several cores.

    Args:
      work: additions times bytes of one iteration.
      joins: whether its rounds are one dispatch outside of a kernel.

    >>> check_round(10**6)
    """
    time = work * _NANOSECONDS
    if time > (_LONG_JOINED if joins else _LONG):
        raise RefusedError(f"{time / 1e6:.2f} ms of work in each round, which threads can share")


def is_packed(op: Any) -> bool:
    """Whether the compiler has faster code for a product, with packed operands, in programs without kernels."""
    if not all(is_static(value) for value in op.operands):
        return False
    numbers = dot_dimensions(op)
    left, right = (tuple(value.type.shape) for value in op.operands)
    inner = math.prod(left[axis] for axis in numbers.lhs_contract)
    batch = math.prod(left[axis] for axis in numbers.lhs_batch)
    if not inner * batch:
        return False
    rows, columns = math.prod(left) // (inner * batch), math.prod(right) // (inner * batch)
    return min(rows, columns) >= _PACKED_ROWS and rows * columns * inner >= _PACKED


def check_straight(work: int) -> None:
    """Refuse to make one kernel of a function with too much work outside of loops, in additions times bytes."""
    time = work * _NANOSECONDS
    if time > _STRAIGHT:
        raise RefusedError(f"{time / 1e6:.1f} ms of work outside of loops, which threads can share")


def check_shared(work: int) -> None:
    """Refuse to share the rounds of a loop among cores that would be done sooner by one, in additions times bytes."""
    if work * _NANOSECONDS < _SHARED:
        raise RefusedError("too little work for several cores")

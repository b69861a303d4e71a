"""When a loop is a kernel: one core does all of it, without the cost of a call for each operation and round."""

from __future__ import annotations

from collections.abc import Mapping

from passes.kernels.processor import Processor
from passes.kernels.values import RefusedError

# Nanoseconds for an addition of one byte, in vectors and from the second cache: a stencil of 10^6 floats takes 640 us.
_NANOSECONDS = 0.04
# What a round takes in addition if the loop stays outside and its body is spread over threads.
_ROUND = 20_000
# A body that takes longer on one core stays outside if there are more cores than two: all of them share its kernels.
_LONG = 2_000_000
# So much work outside of loops may become a part of their kernel.
_STRAIGHT = 500_000


def check(work: Mapping[int, int], processor: Processor, straight: bool = False) -> None:
    """Refuse what several cores would do faster.

    Args:
      work: by depth of loops, additions times bytes of one round; at depth 0, of all that is in no loop.
      straight: whether operations outside of loops are in the kernel.

    >>> check({1: 10**6}, Processor())
    """
    times = {depth: amount * _NANOSECONDS for depth, amount in work.items()}
    if straight and times.get(0, 0) > _STRAIGHT:
        raise RefusedError(f"{times[0] / 1e6:.1f} ms of work outside of loops, which threads can share")
    longest = max((time for depth, time in times.items() if depth), default=0)
    if processor.cores > 2 and longest > _LONG + _ROUND:
        raise RefusedError(f"{longest / 1e6:.1f} ms of work in each round, which threads can share")

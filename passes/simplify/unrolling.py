"""Loops of few rounds: the operations of all rounds, one after the other, take their place."""

from __future__ import annotations

from typing import Any

from passes import operations
from passes.analysis.counters import LOOP
from passes.match import before_barriers
from passes.patterns import laws_of, pattern
from passes.simplify.regions import has_effects, inlined_region, operations_of, rounds_of

# The most ops of an unrolled loop. A CPU runs a loop as one kernel. Only arithmetic gains, as elements stay in
# registers from round to round: 20 additions of 100,000 elements take a third of the time. Functions take longer.
_OPS = 32
# On a GPU, each round waits for the host.
_OPS_ON_GPU = 512


@pattern(LOOP)
def short_loop(op: Any) -> Any:
    """A loop of few rounds of elementwise arithmetic -> the ops of all rounds. Exact."""
    *inner, _ = [o.operation.name for o in op.operation.regions[1].blocks[0].operations]
    if len(inner) >= 2 * _OPS or not all(map(_is_arithmetic, inner)):
        return None
    return _unrolled(op, _OPS)


def _is_arithmetic(name: str) -> bool:
    row = operations.of(name)
    if name == "stablehlo.constant":
        return True
    return (row.layout and row.repeats) or (row.elementwise and row.precision is not operations.Precision.OPEN)


@pattern(LOOP, targets=("gpu", "spirv"))
def short_loop_on_a_gpu(op: Any) -> Any:
    """A loop of known length -> the ops of all rounds, where these are not many. Exact.

    The host need not wait for each round then.
    """
    return _unrolled(op, _OPS_ON_GPU)


def _unrolled(op: Any, most: int) -> Any:
    loop = op.operation
    count, body = rounds_of(loop), loop.regions[1].blocks[0]
    if count is None or not 1 < count <= most or len(body.operations) > 2 * most:
        return None
    inner = operations_of(body)
    if any(o.name == LOOP or has_effects(o) for o in inner):
        return None
    # Constants are shared by all rounds, and the ends of blocks have no results.
    if count * sum(o.name != "stablehlo.constant" and len(o.results) > 0 for o in inner) > most:
        return None
    values = [before_barriers(value) for value in loop.operands]
    for _ in range(count):
        values = inlined_region(op, 1, values)
    return values


PATTERNS = laws_of(globals())

"""Laws of state that only counts or changes places: it follows from the counter of the loop."""

from __future__ import annotations

from typing import Any

from passes import bindings, build
from passes.analysis.counters import LOOP, compared, counter, step_of, trip_count
from passes.match import before_barriers, rank_of, uses, yielded
from passes.patterns import laws_of, pattern
from passes.simplify.regions import without_state


@pattern(LOOP)
def counters_in_step(op: Any) -> Any:
    """A second counter of a loop -> a linear function of the counter that ends the loop.

    Exact: both wrap around in the same way. The second one may begin with any number.
    """
    loop = op.operation
    base = compared(loop)
    first = counter(loop, base) if base is not None else None
    if base is None or first is None or rank_of(loop.operands[base]) != 0:
        return None
    condition, body = (region.blocks[0] for region in loop.regions)
    for i, argument in enumerate(body.arguments):
        step = step_of(body, i) if i != base and argument.type == body.arguments[base].type else 0
        # Its own update reads it once.
        is_read = uses(argument) > 1 or uses(condition.arguments[i]) or uses(loop.results[i])
        if step and step % first.step == 0 and is_read:
            return _follows(loop, i, base, step // first.step, first.start)
    return None


def _follows(loop: Any, number: int, base: int, factor: int, start: int) -> list[Any]:
    """The results of a loop in which state is `factor` times the distance of a counter from its start."""
    begin = before_barriers(loop.operands[number])

    def at(count: Any) -> Any:
        distance = build.op("stablehlo.subtract", [count, build.full(start, count)])
        scaled = build.op("stablehlo.multiply", [distance, build.full(factor, count)])
        return build.op("stablehlo.add", [begin, scaled])

    copy = loop.clone(bindings.ir.InsertionPoint.current).operation
    for region in copy.regions:
        block = region.blocks[0]
        if uses(block.arguments[number]):
            with bindings.ir.InsertionPoint.at_block_begin(block):
                block.arguments[number].replace_all_uses_with(at(block.arguments[base]))
    return [at(copy.results[base]) if i == number else result for i, result in enumerate(copy.results)]


@pattern(LOOP)
def rotated_state(op: Any) -> Any:
    """State that only changes places, in a loop of known length -> the initial values in their last order. Exact."""
    loop = op.operation
    condition, body = (region.blocks[0] for region in loop.regions)
    following = {i: value.arg_number for i, value in enumerate(yielded(body)) if value.owner == body}
    count = trip_count(loop) if following else None
    if count is None:
        return None
    final: dict[int, Any] = {}
    for i in following:
        cycle = [i]
        while cycle[-1] in following and following[cycle[-1]] not in cycle:
            cycle.append(following[cycle[-1]])
        only_moves = all(uses(body.arguments[k]) == 1 and not uses(condition.arguments[k]) for k in cycle)
        if len(cycle) > 1 and following.get(cycle[-1]) == i and only_moves:
            final[i] = before_barriers(loop.operands[cycle[count % len(cycle)]])
    return without_state(op, final) if 0 < len(final) < len(loop.operands) else None


PATTERNS = laws_of(globals())

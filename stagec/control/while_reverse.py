"""Reverse mode of `while`, whose number of rounds is known only when it has run.

The rounds run once more, and some of their states are kept in a stack of fixed size: those of all rounds if it has
room, else those of every second, fourth, ... round. The way back takes the last state of the stack. If it is that of
the last round that is left, the round's derivative is pulled back; else the rounds up to there run again, and more
states are kept. With room for `n` states, `n**2` rounds run twice, `n**3` three times.

Which place holds which state does not change when the stack is thinned out: of `2**bits` places, state `m << shift` is
at the one whose number is `m`, rotated left by `shift` bits, so states of odd `m` are replaced and all others stay.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

from stagec.control.derived import (
    Flags,
    carry_cotangents,
    cotangents_of,
    cut,
    kept,
    merged,
    pick,
    pull,
    record_flat,
    split,
    stable,
)
from stagec.core import dtypes
from stagec.core.aval import ShapedArray
from stagec.core.config import config
from stagec.core.graph import Graph, prune, replay, without_effects
from stagec.core.primitive import Primitive
from stagec.core.zero import is_linear, is_zero
from stagec.primitives import arithmetic, logic
from stagec.primitives.broadcast import instantiate, spread_to, zeros
from stagec.primitives.convert import convert_element_type
from stagec.primitives.iota import uninitialized_p
from stagec.primitives.operand import aval_of, literal
from stagec.primitives.slicing import row_at, with_row

# How many states the first run keeps at least, whatever fits into `loop_checkpoint_bytes`.
_FEWEST = 4


class Reversed(NamedTuple):
    """The parts of a loop's way back.

    Attributes:
      cond: known consts of the condition, known state -> whether another round follows.
      step: known consts of the body, known state -> the next known state.
      pulled: known consts of the body, known state, cotangents of the unknown state after a round -> cotangents of
        the body's unknown consts, and of the unknown state before the round.
      known: which carries are in the known state.
      sums: which unknown consts of the body have cotangents.
      carries: which carries have cotangents.
    """

    cond: Graph
    step: Graph
    pulled: Graph
    known: Flags
    sums: Flags
    carries: Flags


def _reversed(cond: Graph, body: Graph, linear: Flags, active: Flags, sizes: tuple[int, int]) -> Reversed | None:
    c_on, b_on, i_on = map(tuple, cut(linear, *sizes))
    # Carries must agree in and out, so grow the set of unknown ones until it is stable.
    i_on = stable(i_on, lambda on: split(body, (*b_on, *on)).unknown)
    deciding = split(cond, (*c_on, *i_on))
    if deciding.unknown[0]:
        return None
    part = split(body, (*b_on, *i_on), i_on)
    count, first = len(i_on) - sum(i_on), sum(b_on)
    linear = (False,) * part.residuals + (True,) * (first + sum(i_on))
    on = stable(pick(active, i_on), lambda on: pull(part.late, linear, on)[1][first:])
    late, kinds = pull(part.late, linear, on, (False,) * first + on)

    def pulled(*values: Any) -> list[Any]:
        known, ends = cut(values, len(part.early.inputs))
        return replay(late, [*replay(part.early, known)[count:], *ends])

    whole = record_flat(pulled, [*part.early.in_avals, *late.in_avals[part.residuals :]])
    step = Graph(part.early.inputs, part.early.equations, part.early.outputs[:count])
    slim, whole = [prune(without_effects(g), keep_inputs=True)[0] for g in (step, whole)]
    return Reversed(
        deciding.early,
        slim,
        whole,
        tuple([not u for u in i_on]),
        kinds[:first],
        tuple(merged(i_on, on, itertools.repeat(False))),
    )


class Stack:
    """Room for some states of a loop: those that the first run keeps, and those of rounds that run again.

    Args:
      loop: the primitive of loops.
      avals: of the values that a state consists of.
    """

    def __init__(self, loop: Primitive, avals: Sequence[ShapedArray]) -> None:
        self.loop = loop
        self.avals = avals
        size = sum(a.size * a.dtype.itemsize for a in avals)
        places = max(config.loop_checkpoint_bytes // max(size, 1), 2 * _FEWEST)
        # At least a fifth of the room is for rounds that run again.
        self.bits = (places * 4 // 5).bit_length() - 1
        self.states = 1 << self.bits
        self.later = places - self.states

    def run(self, cond: Any, body: Any, c: Sequence[Any], b: Sequence[Any], state: Sequence[Any]) -> list[Any]:
        """A loop with functions of flat values as its condition and its body."""
        own, consts, avals = [[aval_of(x) for x in part] for part in (c, b, state)]
        graphs = {"cond": record_flat(cond, [*own, *avals]), "body": record_flat(body, [*consts, *avals])}
        return self.loop(*c, *b, *state, **graphs, cond_consts=len(c), body_consts=len(b))

    def empty(self, states: int, *others: ShapedArray) -> list[Any]:
        """Room for some states, and for one that is not kept."""
        return [uninitialized_p(dtype=a.dtype, shape=(states + 1, *a.shape)) for a in (*others, *self.avals)]

    def place(self, t: Any) -> Any:
        """Where the first run keeps the state before round `t`: its digits of `bits` bits, laid over each other."""
        shift = self.bits
        while shift < 31:
            t = logic.bitwise_or(t, logic.shift_right_logical(t, shift))
            shift *= 2
        return logic.bitwise_and(t, self.states - 1)

    def filled(self, loop: Reversed, c: Sequence[Any], b: Sequence[Any], start: Sequence[Any]) -> list[Any]:
        """Run all rounds: their number, how many rounds the states that are kept are apart, and the states."""
        count = len(start)

        def unfinished(*values: Any) -> list[Any]:
            consts, (_, _, *rest) = cut(values, len(c))
            return replay(loop.cond, [*consts, *rest[:count]])

        def advance(*values: Any) -> list[Any]:
            consts, (t, distance, *rest) = cut(values, len(b))
            state, arrays = cut(rest, count)
            is_full = logic.eq(t, logic.shift_left(distance, self.bits))
            distance = logic.select(is_full, logic.shift_left(distance, 1), distance)
            is_kept = logic.eq(logic.bitwise_and(t, arithmetic.sub(distance, 1)), 0)
            place = logic.select(is_kept, self.place(t), _int(self.states))
            following = replay(loop.step, [*consts, *state])
            return [arithmetic.add(t, 1), distance, *following, *_written(arrays, place, state)]

        state = [_int(0), _int(1), *start, *self.empty(self.states)]
        t, distance, *rest = self.run(unfinished, advance, c, b, state)
        return [t, distance, *rest[count:]]

    def pulled(self, loop: Reversed, b: Sequence[Any], filled: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
        """Pull cotangents back through all rounds, the last one first.

        The loops know the last round that is left, how many states of the first run are left, and how many of rounds
        that ran again, which are later ones. The rounds of the latter are in an array of their own.
        """
        rounds, distance, *first = filled
        last = arithmetic.sub(rounds, 1)
        count, sums = len(first), sum(loop.sums)

        def round_of_top(distance: Any, left: Any, again: Any, at: Any) -> Any:
            kept = arithmetic.mul(arithmetic.sub(left, 1), distance)
            return logic.select(logic.gt(again, 0), row_at(at, arithmetic.sub(again, 1)), kept)

        def top(now: Any, again: Any, first: Sequence[Any], later: Sequence[Any]) -> list[Any]:
            is_later, place, previous = logic.gt(again, 0), self.place(now), arithmetic.sub(again, 1)
            pairs = [(row_at(x, previous), row_at(y, place)) for x, y in zip(later, first)]
            return [logic.select(spread_to(is_later, aval_of(x).shape), x, y) for x, y in pairs]

        def unfinished(last: Any, *_: Any) -> list[Any]:
            return [logic.ge(last, 0)]

        def back(*values: Any) -> list[Any]:
            (distance, *first), consts, (last, left, again, *rest) = cut(values, 1 + count, len(b))
            (at, *later), cts = cut(rest, 1 + count)
            # Where no round runs again, `top` would load memory that was never written, and drop it. Processors take
            # some hundred cycles for such loads from pages that do not exist yet.
            later = _written(later, again, [row_at(x, self.place(last)) for x in first])
            now = round_of_top(distance, left, again, at)
            free = arithmetic.sub(self.later, again)
            # Equal distances to the last round, over the places that are free.
            steps = arithmetic.div(arithmetic.sub(arithmetic.add(arithmetic.sub(last, now), free), 1), free)
            state = [now, steps, again, *top(now, again, first, later), at, *later]
            _, _, again, *rest = self.run(is_before, run_again, [last], [last, steps, *consts], state)
            _, (at, *later) = cut(rest, count)
            states = [last, left, again, *cts]
            last, left, again, *cts = self.run(is_there, pull_back, [distance, at], [*later, *first, *consts], states)
            return [last, left, again, at, *later, *cts]

        def is_before(last: Any, t: Any, *_: Any) -> list[Any]:
            return [logic.lt(t, last)]

        def run_again(*values: Any) -> list[Any]:
            (last, steps), consts, (t, wait, again, *rest) = cut(values, 2, len(b))
            state, arrays = cut(rest, count)
            t, wait = arithmetic.add(t, 1), arithmetic.sub(wait, 1)
            state = replay(loop.step, [*consts, *state])
            is_kept = logic.bitwise_or(logic.eq(wait, 0), logic.eq(t, last))
            place = logic.select(is_kept, again, _int(self.later))
            again = arithmetic.add(again, convert_element_type(is_kept, dtypes.int32))
            return [t, logic.select(is_kept, steps, wait), again, *state, *_written(arrays, place, [t, *state])]

        def is_there(distance: Any, at: Any, last: Any, left: Any, again: Any, *_: Any) -> list[Any]:
            return [logic.bitwise_and(logic.ge(last, 0), logic.eq(round_of_top(distance, left, again, at), last))]

        def pull_back(*values: Any) -> list[Any]:
            later, first, consts, (last, left, again, *cts) = cut(values, count, count, len(b))
            before, ends = cut(cts, sums)
            found = replay(loop.pulled, [*consts, *top(last, again, first, later), *ends])
            total = [arithmetic.add(x, ct) for x, ct in zip(before, found)]
            is_later = convert_element_type(logic.gt(again, 0), dtypes.int32)
            left = arithmetic.sub(arithmetic.add(left, is_later), 1)
            return [arithmetic.sub(last, 1), left, arithmetic.sub(again, is_later), *total, *found[sums:]]

        left = arithmetic.add(arithmetic.div(last, distance), 1)
        state = [last, left, _int(0), *self.empty(self.later, _int(0).aval), *cts]
        results = self.run(unfinished, back, [], [distance, *first, *b], state)
        return results[4 + count :]


def _int(number: int) -> Any:
    return literal(number, dtypes.int32)


def _written(arrays: Sequence[Any], place: Any, state: Sequence[Any]) -> list[Any]:
    """The arrays with a state written to a place."""
    return [with_row(a, place, value) for a, value in zip(arrays, state)]


def transpose(
    primitive: Primitive, cts: Any, operands: Sequence[Any], cond: Graph, body: Graph, sizes: tuple[int, int]
) -> list[Any] | None:
    """Cotangents of the linear operands; None if the known ones do not determine the number of rounds."""
    linear, active = tuple(map(is_linear, operands)), tuple([not is_zero(ct) for ct in cts])
    loop = kept(
        body, ("while reverse", cond, linear, active, sizes), lambda: _reversed(cond, body, linear, active, sizes)
    )
    if loop is None:
        return None
    c, b, i = cut(operands, *sizes)
    b_known, b_linear = [o for o in b if not is_linear(o)], [o for o in b if is_linear(o)]
    sums = [zeros(o.aval.strip_weak_type()) for o in pick(b_linear, loop.sums)]
    ends = [instantiate(ct) for ct in pick(cts, loop.carries)]
    start = pick(i, loop.known)
    stack = Stack(primitive, [aval_of(o) for o in start])
    found = stack.pulled(loop, b_known, stack.filled(loop, c, b_known, start), [*sums, *ends])
    sum_cts, carry_cts = cut(found, len(sums))
    carries = carry_cotangents(i, loop.carries, carry_cts)
    return [*[None] * len(c), *cotangents_of(b, loop.sums, sum_cts), *carries]

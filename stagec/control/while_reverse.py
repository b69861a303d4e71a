"""Reverse mode of `while`, whose number of rounds is known only when it has run.

The rounds run once more, and some of their states are kept in a stack of fixed size: those of all rounds if it has
room, else those of every second, fourth, ... round. The way back takes the last state of the stack. If it is that of
the last round that is left, the round's derivative is pulled back; else the rounds up to there run again, and more
states are kept. With room for `n` states, `n**2` rounds run twice, `n**3` three times.

Which place holds which state does not change when the stack is thinned out: state `m << shift` is at the place whose
number is `m`, rotated left by `shift` bits, so states of odd `m` are replaced and all others stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from stagec.control.derived import Flags, cut, kept, next_cotangent, pick, pull, record_flat, split, stable
from stagec.core import dtypes
from stagec.core.aval import ShapedArray
from stagec.core.config import config
from stagec.core.graph import Graph, prune, replay, without_effects
from stagec.core.primitive import Primitive
from stagec.core.zero import Zero, is_linear, is_zero
from stagec.primitives import arithmetic, logic
from stagec.primitives.broadcast import instantiate, zeros
from stagec.primitives.convert import convert_element_type
from stagec.primitives.iota import iota
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
    return Reversed(deciding.early, slim, whole, tuple([not u for u in i_on]), kinds[:first], _spread(on, i_on))


class Stack:
    """Room for some states of a loop.

    Args:
      loop: the primitive of loops.
      avals: of the values that a state consists of.
    """

    def __init__(self, loop: Primitive, avals: Sequence[ShapedArray]) -> None:
        self.loop = loop
        self.avals = [a.strip_weak_type() for a in avals]
        size = sum(a.size * a.dtype.itemsize for a in avals)
        states = max(config.loop_checkpoint_bytes // max(2 * size, 1), _FEWEST)
        self.bits = states.bit_length() - 1
        # So many states are kept in the first run; as many again when rounds run again.
        self.states = 1 << self.bits
        self.places = 2 * self.states

    def run(self, cond: Any, body: Any, c: Sequence[Any], b: Sequence[Any], state: Sequence[Any]) -> list[Any]:
        """A loop with functions of flat values as its condition and its body."""
        own, consts, avals = [[aval_of(x) for x in part] for part in (c, b, state)]
        graphs = {"cond": record_flat(cond, [*own, *avals]), "body": record_flat(body, [*consts, *avals])}
        return self.loop(*c, *b, *state, **graphs, cond_consts=len(c), body_consts=len(b))

    def empty(self) -> list[Any]:
        """Room for all states, and for one that is not kept."""
        return [zeros(a.update(shape=(self.places + 1, *a.shape))) for a in self.avals]

    def place(self, position: Any, shift: Any) -> Any:
        """Where the state at a position of the stack is; those of the first run are `1 << shift` rounds apart."""
        turn = arithmetic.rem(shift, self.bits)
        left = logic.shift_left(position, turn)
        right = logic.shift_right_logical(position, arithmetic.sub(self.bits, turn))
        turned = logic.bitwise_and(logic.bitwise_or(left, right), self.states - 1)
        return logic.select(logic.lt(position, self.states), turned, position)

    def written(self, arrays: Sequence[Any], place: Any, state: Sequence[Any]) -> list[Any]:
        """The arrays with a state written to a place."""
        return [with_row(a, place, value) for a, value in zip(arrays, state)]

    def read(self, arrays: Sequence[Any], place: Any) -> list[Any]:
        """The state at a place."""
        return [row_at(a, place) for a in arrays]

    def filled(self, loop: Reversed, c: Sequence[Any], b: Sequence[Any], start: Sequence[Any]) -> list[Any]:
        """Run all rounds: their number, the logarithm of the distance of the states that are kept, and the arrays."""
        count = len(start)

        def unfinished(*values: Any) -> list[Any]:
            consts, (_, _, *rest) = cut(values, len(c))
            return replay(loop.cond, [*consts, *rest[:count]])

        def advance(*values: Any) -> list[Any]:
            consts, (t, shift, *rest) = cut(values, len(b))
            state, arrays = cut(rest, count)
            is_full = logic.eq(logic.shift_right_logical(t, shift), self.states)
            shift = arithmetic.add(shift, convert_element_type(is_full, dtypes.int32))
            position = logic.shift_right_logical(t, shift)
            is_kept = logic.eq(logic.shift_left(position, shift), t)
            place = logic.select(is_kept, self.place(position, shift), literal(self.places, dtypes.int32))
            following = replay(loop.step, [*consts, *state])
            return [arithmetic.add(t, 1), shift, *following, *self.written(arrays, place, state)]

        state = [literal(0, dtypes.int32), literal(0, dtypes.int32), *start, *self.empty()]
        t, shift, *rest = self.run(unfinished, advance, c, b, state)
        return [t, shift, *rest[count:]]

    def pulled(self, loop: Reversed, b: Sequence[Any], filled: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
        """Pull cotangents back through all rounds, the last one first."""
        rounds, shift, *arrays = filled
        first = arithmetic.sub(rounds, 1)
        top = logic.shift_right_arithmetic(first, shift)
        at = logic.shift_left(iota(dtypes.int32, self.places), shift)
        count, sums = len(arrays), sum(loop.sums)

        def unfinished(*values: Any) -> list[Any]:
            return [logic.ge(values[0], 0)]

        def back(*values: Any) -> list[Any]:
            consts, (last, top, at, *rest) = cut(values, 1 + len(b))
            arrays, cts = cut(rest, count)
            top, at, *arrays = self.run(is_missing, run_again, [last], [last, *consts], [top, at, *arrays])
            last, top, *cts = self.run(is_there, pull_back, [at], [at, *arrays, *consts], [last, top, *cts])
            return [last, top, at, *arrays, *cts]

        def is_missing(last: Any, top: Any, at: Any, *_: Any) -> list[Any]:
            return [logic.lt(row_at(at, top), last)]

        def run_again(*values: Any) -> list[Any]:
            (last, shift, *consts), (top, at, *arrays) = cut(values, 2 + len(b))
            now = row_at(at, top)
            free = arithmetic.sub(self.places - 1, top)
            # Equal distances to the last round, over the places that are free.
            steps = arithmetic.div(arithmetic.sub(arithmetic.add(arithmetic.sub(last, now), free), 1), free)
            end = arithmetic.add(now, steps)
            state = self.read(arrays, self.place(top, shift))
            _, *state = self.run(
                lambda end, t, *_: [logic.lt(t, end)],
                lambda *v: [arithmetic.add(v[len(b)], 1), *replay(loop.step, [*v[: len(b)], *v[len(b) + 1 :]])],
                [end],
                consts,
                [now, *state],
            )
            top = arithmetic.add(top, 1)
            return [top, with_row(at, top, end), *self.written(arrays, self.place(top, shift), state)]

        def is_there(at: Any, last: Any, top: Any, *_: Any) -> list[Any]:
            return [logic.bitwise_and(logic.ge(last, 0), logic.eq(row_at(at, top), last))]

        def pull_back(*values: Any) -> list[Any]:
            (_, *arrays), (shift, *consts), (last, top, *cts) = cut(values, 1 + count, 1 + len(b))
            state = self.read(arrays, self.place(top, shift))
            before, ends = cut(cts, sums)
            found = replay(loop.pulled, [*consts, *state, *ends])
            total = [arithmetic.add(x, ct) for x, ct in zip(before, found)]
            return [arithmetic.sub(last, 1), arithmetic.sub(top, 1), *total, *found[sums:]]

        results = self.run(unfinished, back, [], [shift, *b], [first, top, at, *arrays, *cts])
        return results[3 + count :]


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
    sum_cts, carry_cts = map(iter, cut(found, len(sums)))
    flags = iter(loop.sums)
    return [
        *[None] * len(c),
        *[next_cotangent(o, next(flags), sum_cts) if is_linear(o) else None for o in b],
        *[_carry_ct(o, on, carry_cts) for o, on in zip(i, loop.carries)],
    ]


def _carry_ct(operand: Any, on: bool, cts: Any) -> Any:
    aval = operand.aval if is_linear(operand) else aval_of(operand)
    ct = next(cts) if on else Zero(aval.strip_weak_type())
    return ct if is_linear(operand) else None


def _spread(flags: Flags, where: Flags) -> Flags:
    """`flags` for the items that `where` marks; no for all others."""
    given = iter(flags)
    return tuple([w and next(given) for w in where])

"""Laws of scalars as terms: what matches them, and what builds their right sides. `term_text` has the language."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from passes import attributes as attrs, build, operations
from passes.analysis import facts
from passes.errors import PatternError, caller, message
from passes.fast_math import FastMath, flags
from passes.match import SPLAT, dtype_of, has_one_use, is_constant, is_integer, is_splat, producer, remembered, splat_of
from passes.patterns import Pattern
from passes.simplify.term_text import (
    COMPARE,
    CONSTANTS,
    KINDS,
    NUMBERS,
    WORDS,
    Literal,
    Op,
    Rewrite,
    Term,
    Var,
    rewrites as parsed,
)
from passes.types import numpy_dtype

_SORTS = {"v": "varying"} | dict.fromkeys(CONSTANTS, "constant") | dict.fromkeys(NUMBERS, "number")
_SELECT = "stablehlo.select"
# What a rule has found: the operands of its operation, the result of one that compares, the operands of each operation
# within, and then what it builds.
Slots: TypeAlias = "list[Any]"


class Rule(NamedTuple):
    """A rewrite with operands in one order: steps that find it, a condition, and a builder.

    With each step stands the number of the next rule that does not begin with the same steps. `pairs` are slots of one
    type; -1 stands for the result.
    """

    steps: tuple[tuple[Callable[[Slots], bool], int], ...]
    pairs: tuple[tuple[int, int], ...]
    where: Callable[[Slots], Any] | None
    make: Callable[[Slots, Any], Any]


class Law:
    """The function of a law that terms describe."""

    def __init__(self, text: str, rewrites: Sequence[Rewrite]) -> None:
        self.text = text
        self.rewrites = rewrites

    def __repr__(self) -> str:
        return f"law({self.text!r})"

    def __call__(self, op: Any) -> Any:
        operation = op.operation
        name = operation.name
        operands = list(operation.operands)
        if name == COMPARE:
            operands.append(operation.results[0])
        rules, at = _rules(self, name), 0
        while at < len(rules):
            steps, pairs, where, make = rules[at]
            slots = operands.copy()
            for step, following in steps:
                if not step(slots):
                    at = following
                    break
            else:
                at += 1
                type_ = operation.results[0].type
                same = all(slots[a].type == (type_ if b < 0 else slots[b].type) for a, b in pairs)
                if same and (where is None or where(slots)):
                    return make(slots, type_)
        return None


def law(text: str, *, assumes: FastMath = (), targets: Sequence[str] = ()) -> Pattern:
    """A law that terms describe; `passes.patterns.laws_of` gives it the name under which its module has it.

    Args:
      text: the rewrites, and sentences for readers.
      assumes: as of `passes.pattern`.
      targets: as of `passes.pattern`.

    Raises:
      PatternError: the text is no law.

    >>> law("x ^ x -> 0. Exact.").ops, sorted(law("-x + y -> y - x").of)
    (('stablehlo.xor',), ['stablehlo.negate'])
    """
    try:
        rewrites = list(parsed(text))
    except Exception as error:
        fix = "write it in the language that passes/simplify/term_text.py describes"
        raise PatternError(message(f"law: {text!r} is no law: {error}", caller(), fix=fix)) from error
    ops = tuple(dict.fromkeys(rewrite.left.name for rewrite in rewrites))
    makers = [_makers(rewrite) for rewrite in rewrites]
    of = frozenset[str]().union(*makers) if all(makers) else frozenset[str]()
    return Pattern("", ops, Law(text, rewrites), of, flags(assumes), text, frozenset(targets))


def _makers(rewrite: Rewrite) -> frozenset[str]:
    """The operations one of which must make an operand; empty if there is no such condition."""
    found = [frozenset({term.name}) for term in rewrite.left.operands if isinstance(term, Op)]
    for term in rewrite.left.operands:
        if isinstance(term, Literal) or (isinstance(term, Var) and term.name in NUMBERS):
            found.append(frozenset({SPLAT}))
        elif isinstance(term, Var) and term.name in CONSTANTS:
            found.append(frozenset({SPLAT, "stablehlo.constant"}))
    return found[0] if found else frozenset(facts.KNOWN if rewrite.where else ())


@functools.cache
def _rules(law: Law, name: str) -> list[Rule]:
    """A law's rules for an operation: each rewrite in all orders of commutative operands that differ."""
    plans: dict[Any, tuple[Rewrite, dict[Any, int], int]] = {}
    for number, rewrite in enumerate(law.rewrites):
        if rewrite.left.name == name:
            nodes = list(_exchangeable(rewrite.left))
            for bits in itertools.product((False, True), repeat=len(nodes)):
                exchanged = {node for node, bit in zip(nodes, bits) if bit}
                plan, bound, count = _plan(rewrite.left, rewrite.kinds, exchanged)
                # Values that a condition names are not exchanged for others.
                own = sorted((name, at) for name, at in bound.items() if isinstance(name, str))
                plans.setdefault((plan, number, *(own if rewrite.where else ())), (rewrite, bound, count))
    # Rules that begin with the same steps follow one another.
    numbers: dict[Any, int] = {}
    paths = [[numbers.setdefault(key[0][:k], len(numbers)) for k in range(1, len(key[0]) + 1)] for key in plans]
    order = sorted(zip(paths, plans), key=lambda pair: pair[0])
    found = []
    for i, (path, key) in enumerate(order):
        rewrite, bound, count = plans[key]
        steps = []
        for k, (step, *arguments) in enumerate(key[0]):
            others = (j for j in range(i + 1, len(order)) if path[k] not in order[j][0])
            steps.append((_STEPS[step](*arguments), next(others, len(order))))
        right = rewrite.right
        pairs = tuple(_pairs(right, bound, of_result=True))
        where = _evaluation(compile(rewrite.where, "<law>", "eval"), bound) if rewrite.where else None
        found.append(Rule(tuple(steps), pairs, where, _builder(right, bound, itertools.count(count))))
    return found


def _exchangeable(term: Op) -> Iterator[Op]:
    """The operations in a term whose operands are exchanged for others, outer ones first."""
    if term.commutes and term.operands[0] is not term.operands[1]:
        yield term
    for operand in term.operands:
        if isinstance(operand, Op):
            yield from _exchangeable(operand)


def _plan(
    left: Op, kinds: dict[str, str], exchanged: set[Op]
) -> tuple[tuple[tuple[Any, ...], ...], dict[Any, int], int]:
    """The steps that match an operation's operands, the slots of values by names and terms, and how many slots there
    are."""
    steps: list[tuple[Any, ...]] = []
    bound: dict[Any, int] = {}
    ops: list[tuple[int, Op, bool]] = []
    # Steps that are asked last, because they take long.
    late: dict[int, list[tuple[Any, ...]]] = {0: [], 1: [], 2: []}
    early: list[tuple[Any, ...]] = []
    count, home = 0, int(left.name == _SELECT)

    def visit(at: int, term: Op, is_own: bool) -> None:
        """Match the operands of an operation; `is_own` if they have the type of the first operand but a predicate."""
        nonlocal count
        first, swapped = count, term in exchanged
        at_predicate = first if term.name == _SELECT else -1
        count += len(term.operands)
        if term.direction:
            if term is left:
                at, count = count, count + 1
            bound.setdefault(COMPARE, at)
            late[0].append(("direction", at, attrs.EXCHANGED[term.direction] if swapped else term.direction))
        for slot, operand in enumerate(term.operands[::-1] if swapped else term.operands, first):
            if isinstance(operand, Op):
                ops.append((slot, operand, is_own and slot != at_predicate))
            elif isinstance(operand, Literal):
                late[1].append(("literal", slot, operand.number, repr(operand.number)))
            elif operand.name in bound:
                steps.append(("equal" if operand.name in NUMBERS else "same", slot, bound[operand.name]))
            else:
                bound[operand.name] = slot
                if operand.name in _SORTS:
                    late[2].append((_SORTS[operand.name], slot))
                if operand.name in kinds and is_own and slot != at_predicate:
                    early.append(("kind", home, kinds[operand.name]))
                elif operand.name in kinds:
                    late[0].append(("kind", slot, kinds[operand.name]))

    visit(-1, left, left.name == COMPARE or _keeps_type(left.name))
    compared = len(steps)
    while ops:
        ops.sort(key=lambda item: item[1].direction != "")
        at, term, is_own = ops.pop(0)
        steps.append(("op", at, term.name, term.once))
        if term.name != "stablehlo.convert":  # to which type, terms do not say
            bound[term] = at
        visit(at, term, is_own and _keeps_type(term.name))
    assert kinds.keys() <= bound.keys(), f"{kinds} of {left}"
    return (*steps[:compared], *early, *steps[compared:], *late[0], *late[1], *late[2]), bound, count


def _find_op(at: int, name: str, once: bool) -> Callable[[Slots], bool]:
    def step(slots: Slots) -> bool:
        maker = producer(slots[at], name)
        if maker is None or (once and not has_one_use(slots[at])):
            return False
        slots.extend(maker.operation.operands)
        return True

    return step


def _find_literal(at: int, number: Any, text: str) -> Callable[[Slots], bool]:
    if number == "zero":
        return lambda slots: splat_of(slots[at]) == 0
    return (lambda slots: _is_ones(slots[at])) if number == "ones" else lambda slots: is_splat(slots[at], number)


def _find_kind(at: int, kind: str) -> Callable[[Slots], bool]:
    first, *others = (KINDS[name] for name in kind.split("|"))
    return lambda slots: first(slots[at]) or any(is_kind(slots[at]) for is_kind in others)


_STEPS: dict[str, Callable[..., Callable[[Slots], bool]]] = {
    "op": _find_op,
    "direction": lambda at, direction: lambda slots: _direction(producer(slots[at])) == direction,
    "literal": _find_literal,
    "kind": _find_kind,
    "equal": lambda at, first: lambda slots: number_of(slots[at]) == number_of(slots[first]),
    "same": lambda at, first: lambda slots: slots[at] == slots[first],
    "constant": lambda at: lambda slots: is_constant(slots[at]),
    "varying": lambda at: lambda slots: not is_constant(slots[at]),
    "number": lambda at: lambda slots: number_of(slots[at]) is not None,
}


def _direction(op: Any) -> str:
    """The direction of a comparison; none of one that orders NaN, and zeros of both signs, too."""
    known, key = remembered.splats, (_direction, op)
    if known is not None and key in known:
        return known[key]
    found = "" if attrs.word(op, "compare_type") == "TOTALORDER" else attrs.word(op, "comparison_direction")
    if known is not None:
        known[key] = found
    return found


def _is_ones(value: Any) -> bool:
    number, dtype = splat_of(value), dtype_of(value)
    return number is not None and dtype.isbuiltin == 1 and bool(number == ~np.zeros((), dtype))


def number_of(value: Any) -> float | None:
    """The number that fills a value, as Python's; None for complex numbers, and for integers of few bits."""
    number, dtype = splat_of(value), dtype_of(value)
    if number is None or dtype.kind == "c" or (is_integer(value) and dtype.isbuiltin != 1):
        return None
    return int(number) if dtype.kind in "biu" else float(number)


def wrapped(number: int, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """An integer modulo the size of a type, as that type."""
    return np.array(number % 2 ** (8 * dtype.itemsize), np.uint64).astype(dtype)


def _evaluation(code: Any, bound: dict[Any, int]) -> Callable[[Slots], Any]:
    """A function of slots that evaluates an expression; None if nothing is known of a value that it names."""
    names = [name for name in code.co_names if name in bound]
    describes_type = {"bits", "largest", "smallest"}.intersection(code.co_names)

    def evaluate(slots: Slots) -> Any:
        values: dict[str, Any] = {}
        if describes_type:
            info = np.iinfo(dtype_of(slots[0]))
            values.update(bits=info.bits, smallest=int(info.min), largest=int(info.max))
        for name in names:
            found = (number_of if name in NUMBERS else facts.of)(slots[bound[name]])
            if found is None:
                return None
            values[name] = found
        return eval(code, WORDS, values)

    return evaluate


def _keeps_type(name: str) -> bool:
    """Whether the operands of an operation, apart from a predicate, have the type of its result."""
    return name == _SELECT or not operations.of(name).retypes


def _pairs(term: Term, bound: dict[Any, int], of_result: bool = False) -> Iterator[tuple[int, int]]:
    """The pairs of slots that must have one type, so that a term can be built; -1 stands for the result."""
    at = bound.get(term.name if isinstance(term, Var) else term)
    if at is not None and of_result:
        yield at, -1
    elif at is None and isinstance(term, Op):
        own = _keeps_type(term.name)
        for i, operand in enumerate(term.operands):
            yield from _pairs(operand, bound, of_result and own and (term.name != _SELECT or i > 0))
        values = [bound[operand.name] for operand in term.operands if isinstance(operand, Var)]
        if own and not of_result and term.name != _SELECT:
            yield from ((values[0], other) for other in values[1:])


def _builder(term: Term, bound: dict[Any, int], slot: Iterator[int]) -> Callable[[Slots, Any], Any]:
    """A function of slots and a type, or None, that builds what a term describes and notes it in the next slot.

    A comparison is of the type of one on the left side.
    """
    at = bound.get(term.name if isinstance(term, Var) else term)
    if at is not None:
        return lambda slots, type_: slots[at]
    assert not isinstance(term, Var), f"{term} stands on the right only"
    if isinstance(term, Literal):
        if isinstance(number := {"zero": 0, "ones": -1}.get(term.number, term.number), (int, float)):
            return lambda slots, type_: build.full(number, type_)
        return _full(_evaluation(number, bound))
    name, direction, is_select = term.name, term.direction, term.name == _SELECT
    operands = [_builder(operand, bound, slot) for operand in term.operands]
    own, like = _keeps_type(name), bound.get(COMPARE)
    bound[term] = next(slot)

    def make(slots: Slots, type_: Any) -> Any:
        values: list[Any] = []
        for i, operand in enumerate(operands):
            expected = type_ if own and not (is_select and i == 0) else None
            if expected is None and values and not is_select:
                expected = values[0].type
            values.append(operand(slots, expected))
        if direction:
            lhs, rhs = values
            kind = attrs.word(producer(slots[like]), "compare_type") if like is not None else ""
            found = build.compare(lhs, rhs, direction, kind or None)
        else:
            found = build.op(name, values, values[1].type if is_select else type_)
        slots.append(found)
        return found

    return make


def _full(evaluate: Callable[[Slots], Any]) -> Callable[[Slots, Any], Any]:
    def make(slots: Slots, type_: Any) -> Any:
        dtype = numpy_dtype(type_.element_type)
        number = evaluate(slots)
        return build.full(wrapped(int(number), dtype) if dtype.kind in "iu" else number, type_)

    return make

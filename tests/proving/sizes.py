"""Proofs of laws for all sizes: a law runs on unknown numbers, and z3 compares elements at unknown places."""

import dataclasses
import itertools
import random
import re
import time

import z3
from z3 import z3util

import passes
from passes import bindings, build, operations
from passes.match import functions, splat_of
from passes.proving.verdict import verdict
from tests.proving.elements import Elements
from tests.proving.templates import OpenError, Template
from tests.proving.tracing import SMALL, tracing

# What is raised where it is not known what a law does: nothing describes an operation, or a length is none for MLIR.
_NOT_KNOWN = (
    OpenError,
    TimeoutError,
    ArithmeticError,
    TypeError,
    passes.PassError,
    bindings.ir.MLIRError,
    z3.Z3Exception,
)


def inside(place, lengths):
    """That a place is in an array."""
    return z3.And(*(z3.And(k >= 0, k < n) for k, n in zip(place, lengths)))


def implied(solver, claim):
    """Whether what a solver holds implies a claim, as far as it knows."""
    solver.push()
    solver.add(z3.Not(claim))
    found = solver.check()
    solver.pop()
    return found == z3.unsat


def equal_totals(one, other):
    """Claims of which each makes two reductions equal: they combine the same items, in one order of places or another.

    An item of which a constant depends on the places, such as a total, stays where it is.
    """
    (_, _, first, lengths, places, items), (_, _, second, ends, _, others) = one, other
    within = inside(places, lengths)
    made = [v for item in (*items, *others) for v in z3util.get_vars(item)]
    nested = any("!" in str(v) for v in made)
    orders = itertools.permutations(range(len(places)))
    for order, turned in itertools.product(orders, itertools.product((False, True), repeat=len(places))):
        moved = [lengths[d] - 1 - places[d] if turn else places[d] for d, turn in zip(order, turned)]
        same = [a == b for a, b in zip(first, second)] + [lengths[d] == n for d, n in zip(order, ends)]
        pairs = [(a, z3.substitute(b, *zip(places, moved))) for a, b in zip(items, others)]
        yield z3.And(*same, z3.Implies(within, z3.And(*(a == b for a, b in pairs))))
        if nested:
            return


def prove(before, after, trace, given):
    """`unsat` if the results of two programs are equal, where `given` and what the law asked holds; else a model."""
    elements = Elements(trace)
    place = [z3.Int(f"i{d}") for d in range(8)]
    old = elements.results(before, place)
    count = len(elements.totals)
    new = elements.results(after, place)
    goals, within = [], []
    for (shape, a), (other, b) in zip(old, new, strict=True):
        here = inside(place, shape)
        within.append(here)
        goals += [z3.And(*(m == n for m, n in zip(shape, other))), z3.Implies(here, a == b)]
    solver = z3.Solver()
    solver.set("timeout", 3000)
    solver.add(*given, *trace.conditions, *elements.facts)
    if len(within) == 1:
        solver.add(*within)
    for one, other in itertools.product(elements.totals[:count], elements.totals[count:]):
        if (one[1], len(one[3])) == (other[1], len(other[3])) and any(
            implied(solver, claim) for claim in equal_totals(one, other)
        ):
            solver.add(one[0] == other[0])
    solver.add(z3.Not(z3.And(*goals)))
    found = solver.check()
    return found, solver.model() if found == z3.sat else None


def generic(solver, unknowns, rng):
    """Numbers of which as few as possible are small or equal; None if there are none, or z3 does not know."""
    if solver.check() != z3.sat:
        return None
    values, order = {}, list(unknowns.items())[::-1]  # lengths last, which are larger than parts of them
    solver.push()
    for name, unknown in order:
        fresh = z3.And(unknown >= 100, *(unknown != n for n in values.values()))
        wishes = [unknown == rng.randrange(10**k, 10 ** (k + 1)) for k in (2, 3, 5, 8)]
        for wish in (*wishes, z3.And(fresh, unknown < 10**5), fresh, z3.BoolVal(True)):
            solver.push()
            solver.add(wish)
            if solver.check() == z3.sat:
                break
            solver.pop()
        else:
            solver.pop()
            return None
        values[name] = solver.model().eval(unknown, model_completion=True).as_long()
        solver.add(unknown == values[name])
    for _ in order:
        solver.pop()
    solver.pop()
    return values


def needed(conditions, given):
    """The conditions that do not follow from what is given and those before them."""
    kept = []
    solver = z3.Solver()
    solver.set("timeout", 300)
    solver.add(*given)
    for condition in conditions:
        if not implied(solver, condition):
            kept.append(condition)
            solver.add(condition)
    return kept


def special(values, unknowns):
    """What is special about numbers: which are small or equal."""
    names = list(values)
    found = [unknowns[n] == values[n] for n in names if values[n] < SMALL]
    return found + [
        unknowns[m] == unknowns[n] for k, m in enumerate(names) for n in names[:k] if values[m] == values[n]
    ]


def each_by_itself(before, after):
    """Two programs for one element, if they are for each by itself: else None."""
    for module in (before, after):
        block = functions(module)["main"].regions[0].blocks[0]
        for op in (o.operation for o in block.operations):
            name = op.name.removeprefix("stablehlo.")
            known = name in ("return", "func.return", "optimization_barrier") or operations.of(op.name).elementwise
            splat = name == "constant" and splat_of(op.results[0]) is not None
            if op.regions or not (known or splat or (name == "broadcast_in_dim" and not op.operands[0].type.shape)):
                return None
            for value in op.results:
                made = _single(value)
                if splat:
                    number = bindings.ir.DenseElementsAttr(op.attributes["value"]).get_splat_value()
                    op.attributes["value"] = bindings.ir.DenseElementsAttr.get_splat(made, number)
        for value in block.arguments:
            _single(value)
    return before, after


def _single(value):
    type_ = build.tensor_type([1] * len(value.type.shape), value.type.element_type)
    value.set_type(type_)
    return type_


@dataclasses.dataclass(frozen=True)
class Run:
    """A law on unknown sizes.

    Attributes:
      before, after: the programs, for sizes of which the law asks the same as for all others of the region; None where
        the solver of `passes.proving` had to compare elements.
    """

    template: Template
    before: object
    after: object
    trace: object
    proven: bool


def runs(template, law, deadline):
    """A law's run on each region of sizes where it fires, until there are no others.

    Raises:
      TimeoutError: there are regions of which it is not known what the law does.
    """
    rng, regions = random.Random(0), [template.valid]
    while regions:
        region, solver = regions.pop(), z3.Solver()
        solver.set("timeout", 1000)
        solver.add(*region)
        if solver.check() == z3.unsat:
            continue
        values = generic(solver, template.unknowns, rng)
        if values is None or time.monotonic() > deadline:
            raise TimeoutError
        with tracing() as trace:
            before, after = template.module(values, trace), template.module(values, trace)
            before.operation.verify()
            trace.conditions.clear()
            if passes.apply(after, [law]):
                yield _judged(template, before, after, trace, values)
        asked = needed(trace.conditions, region)
        regions += [[*region, *asked[:k], z3.Not(condition)] for k, condition in enumerate(asked)]


def _judged(template, before, after, trace, values):
    found, _ = prove(before, after, trace, template.valid)
    if found != z3.unsat:
        # What was folded where sizes are special holds for these alone.
        trace.conditions += special(values, template.unknowns)
        found, _ = prove(before, after, trace, template.valid)
    if found != z3.unsat and all(values.values()) and not trace.constants:
        pair = each_by_itself(before, after)
        found = z3.unsat if pair and verdict(*pair, 5).word == "proven" else z3.unknown
        before, after = None, None
    return Run(template, before, after, trace, found == z3.unsat)


def is_proven(text, law, lead, seconds):
    """Whether a law is proven for all sizes of a program, or for all but strides and paddings between elements."""
    was = None
    for fixed in (False, True):
        found = []
        try:
            template = Template(text, lead, fixed)
            if fixed and len(template.unknowns) == was:
                return False
            was = len(template.unknowns)
            for run in runs(template, law, time.monotonic() + seconds):
                found.append(run.proven)
                if not run.proven:
                    break
        except _NOT_KNOWN:
            continue
        if found and all(found):
            return True
    return False


def proven_rank(law, texts, seconds):
    """Up to which rank, of at most 4, a law is proven for all sizes of programs; 0 if it is not for one of them."""
    most = []
    for text in texts:
        rank = max(len(shape.split("x")) - 1 for shape in re.findall(r"tensor<([^>]*)>", text))
        if not rank:
            return 0
        reached = 0
        for lead in range(max(0, 4 - rank) + 1):
            if not is_proven(text, law, lead, seconds):
                break
            reached = rank + lead
        most.append(reached)
        if not reached:
            return 0
    return min(most, default=0)

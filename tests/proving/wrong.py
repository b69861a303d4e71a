"""Wrong results of laws for unknown sizes, which proofs have to refute: `python -m tests.proving --moves N`."""

import collections
import random
import time
from math import prod

import numpy as np
import z3
from law_examples import examples, sample_arguments

from passes import attributes as attrs, bindings, build
from passes.match import dtype_of, functions, shape_of
from passes.verdicts import verdicts
from tests.proving.sizes import generic, needed, prove, runs
from tests.proving.templates import OpenError, Template
from tests.proving.tracing import LENGTHS, Size, term


def _ops(module):
    return [op.operation for op in functions(module)["main"].regions[0].blocks[0].operations]


def changed(op, rng):
    """Change an operation that moves elements; what makes it valid still, or None if it is left as it was."""
    name, step = op.name.removeprefix("stablehlo."), rng.choice((-1, 1))
    if name == "slice" and op.results[0].type.shape:
        starts, limits, _ = map(list, attrs.cut(op))
        d = rng.randrange(len(starts))
        starts[d], limits[d] = starts[d] + step, limits[d] + step
        op.attributes["start_indices"], op.attributes["limit_indices"] = map(build.i64_array, (starts, limits))
        return [term(starts[d]) >= 0, term(limits[d]) <= term(shape_of(op.operands[0])[d])]
    if name == "pad":
        low, high, _ = map(list, attrs.padding(op))
        d = rng.randrange(len(low))
        low[d], high[d] = low[d] + step, high[d] - step
        op.attributes["edge_padding_low"], op.attributes["edge_padding_high"] = map(build.i64_array, (low, high))
        return [z3.IntVal(0) <= term(low[d]), z3.IntVal(0) <= term(high[d])]
    axes = {"transpose": "permutation", "broadcast_in_dim": "broadcast_dimensions"}.get(name)
    if axes and len(attrs.ints(op, axes)) > 1:
        order, shape = list(attrs.ints(op, axes)), shape_of(op.operands[0])
        a, b = rng.sample(range(len(order)), 2)
        same = (shape[order[a]], shape[order[b]]) if name == "transpose" else (shape[a], shape[b])
        order[a], order[b] = order[b], order[a]
        op.attributes[axes] = build.i64_array(order)
        return [z3.IntVal(0) + term(same[0]) == term(same[1])]
    if name == "reverse":
        axes = {*attrs.ints(op, "dimensions")} ^ {rng.randrange(len(shape_of(op.results[0])))}
        op.attributes["dimensions"] = build.i64_array(sorted(axes))
        return []
    if name == "concatenate" and len(op.operands) > 1:
        a, b = rng.sample(range(len(op.operands)), 2)
        axis, (x, y) = attrs.integer(op, "dimension"), (op.operands[a], op.operands[b])
        op.operands[a], op.operands[b] = y, x
        return [z3.IntVal(0) + term(shape_of(x)[axis]) == term(shape_of(y)[axis])]
    if name == "dynamic_slice" and len(op.operands) > 2:
        a, b = rng.sample(range(1, len(op.operands)), 2)
        op.operands[a], op.operands[b] = op.operands[b], op.operands[a]
        return []
    return None


def at_sizes(module, trace, model):
    """A traced program with the numbers of a model in the place of the unknowns."""
    made = module.operation.clone().opview
    with made.context, bindings.ir.Location.unknown():
        _put(module, made, trace, model)
    made.operation.verify()
    return made


def _put(module, made, trace, model):
    for old, new in zip(_ops(module), _ops(made), strict=True):
        for name in LENGTHS & {*old.attributes}:
            numbers = [_number(trace.read(n), model) for n in old.attributes[name]]
            new.attributes[name] = bindings.ir.DenseI64ArrayAttr.get(numbers)
        for value, other in zip(old.results, new.results):
            _set_type(other, value, model)
        if old.name == "stablehlo.constant":
            new.attributes["value"] = _constant(old, new.results[0].type, trace, model)
    block = functions(made)["main"].regions[0].blocks[0]
    for value, other in zip(functions(module)["main"].regions[0].blocks[0].arguments, block.arguments):
        _set_type(other, value, model)
    types = [v.type for v in block.arguments], [v.type for v in _ops(made)[-1].operands]
    functions(made)["main"].attributes["function_type"] = bindings.ir.TypeAttr.get(bindings.ir.FunctionType.get(*types))


def _constant(op, type_, trace, model):
    dense = bindings.ir.DenseElementsAttr(op.attributes["value"])
    if 0 in type_.shape and str(dense.type) == str(type_):
        return dense
    if 0 in type_.shape:
        made = np.empty(type_.shape, dtype_of(op.results[0]))
        return bindings.ir.DenseElementsAttr.get(made, type=type_.element_type, shape=type_.shape)
    if not dense.is_splat:
        return dense
    number = dense.get_splat_value()
    terms = trace.constants.get(getattr(number, "value", None))
    if terms:
        number = type(number).get(number.type, _number(Size(0, terms[0]), model))
    return bindings.ir.DenseElementsAttr.get_splat(type_, number)


def _number(size, model):
    found = term(size)
    return found if isinstance(found, int) else model.eval(found, model_completion=True).as_long()


def _set_type(value, like, model):
    shape = [_number(n, model) for n in like.type.shape]
    value.set_type(build.tensor_type(shape, like.type.element_type))


def mutants(count, differ):
    """How many wrong results are refuted, equal nevertheless, or not known; and how many of these evaluation tells.

    A result is wrong where a law puts elements elsewhere (`moved`), or does what it does for sizes that give another
    answer to a question that it asks (`asked`).
    """
    rng, counts = random.Random(0), collections.Counter()
    chosen = [e for e in examples() if e.leaves is not None and verdicts().get(e.law.name, "").startswith("rank")]
    while sum(n for name, n in counts.items() if "confirmed" not in name) < count:
        example, kind = rng.choice(chosen), rng.choice(("moved", "moved", "asked"))
        template = Template(example.main, 0)
        steps = runs(template, example.law, time.monotonic() + 5)  # while it is open, numbers keep their terms
        try:
            run = next((run for run in steps if run.proven and run.after is not None and rng.random() < 0.5), None)
        except (OpenError, TimeoutError, ArithmeticError):
            continue
        if run is not None and (more := _wrong(run, kind, rng)) is not None:
            word, model = _judged(run, [*template.valid, *more])
            counts[f"{kind} {word}"] += 1
            counts[f"{kind} confirmed"] += word == "refuted" and _confirmed(run, model, differ)
        steps.close()
    return counts


def _wrong(run, kind, rng):
    """Make the result of a run wrong; what has to hold for it, or None if it is as it was."""
    if kind == "moved":
        with run.after.context:
            return changed(rng.choice(_ops(run.after)), rng)
    asked = needed(run.trace.conditions, run.template.valid)
    if not asked:
        return None
    wrong = asked.pop(rng.randrange(len(asked)))
    run.trace.conditions[:] = asked
    return [z3.Not(wrong)]


def _judged(run, given):
    """A word for a wrong result, and a model that tells it from the right one, of small numbers where there is one."""
    for bound in (8, 40, 10**9):
        small = [unknown <= bound for unknown in run.template.unknowns.values()]
        found, model = prove(run.before, run.after, run.trace, [*given, *small])
        if found == z3.sat:
            return "refuted", model
    return "equal" if found == z3.unsat else "not known", None


def _confirmed(run, model, differ):
    """Whether NumPy's evaluation tells a wrong result from the program before it, or it is no program."""
    before = at_sizes(run.before, run.trace, model)
    try:
        after = at_sizes(run.after, run.trace, model)
    except bindings.ir.MLIRError:
        return True
    return all(prod(value.type.shape) < 10**6 for op in _ops(before) for value in op.results) and differ(
        before, after, sample(before, model)
    )


def sample(module, model):
    """Arguments with numbers that differ, but for scalars, which are the model's."""
    found, rng = sample_arguments(module), np.random.default_rng(0)
    for number, array in enumerate(found):
        if array.shape and array.dtype.kind != "b":
            found[number] = (40 * number + rng.permutation(array.size)).reshape(array.shape).astype(array.dtype)
        elif array.dtype.kind in "iu":
            found[number] = np.asarray(model.eval(z3.Int(f"x{number}"), model_completion=True).as_long(), array.dtype)
    return found


def elsewhere(run):
    """Other sizes of a run's region, and the text of its result for them."""
    solver = z3.Solver()
    solver.add(*run.template.valid, *run.trace.conditions)
    values = generic(solver, run.template.unknowns, random.Random(1))
    solver.add(*(run.template.unknowns[name] == n for name, n in values.items()))
    assert solver.check() == z3.sat, "sizes of a region are sizes of it"
    return values, str(at_sizes(run.after, run.trace, solver.model()))

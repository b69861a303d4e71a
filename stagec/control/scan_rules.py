"""Derivatives, transposes and batches of `scan`: scans of the transformed body."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from stagec.control.derived import (
    Flags,
    batched,
    carry_cotangents,
    cotangents_of,
    cut,
    kept,
    merged,
    pick,
    pull,
    push,
    record_flat,
    slimmer,
    split,
    stable,
    tangents_of,
    trimmed,
    with_inputs,
)
from stagec.core.graph import Equation, Graph, Literal, Var, has_effects, prune, replay
from stagec.core.primitive import Primitive
from stagec.core.zero import is_linear, is_zero
from stagec.primitives import arithmetic
from stagec.primitives.broadcast import instantiate, moveaxis_to_front, transpose_p, zeros
from stagec.primitives.operand import aval_of
from stagec.transforms.linearize import PartialTrace


def _scan(
    primitive: Primitive, graph: Graph, consts: Sequence[Any], carry: Sequence[Any], xs: Sequence[Any], params: Any
) -> list[Any]:
    """The operation with another body, or nothing if that has neither results nor effects."""
    if not graph.outputs and not graph.effects:
        return []
    own = {"graph": graph, "num_consts": len(consts), "num_carry": len(carry)}
    return primitive(*consts, *carry, *xs, **{**params, **own})


def jvp(primitive: Primitive, primals: Any, tangents: Any, params: dict[str, Any]) -> Any:
    graph, consts, carry = params["graph"], params["num_consts"], params["num_carry"]
    active = tuple([not is_zero(t) for t in tangents])
    pushed, carry_on, ys_on = kept(
        graph, ("scan jvp", active, consts, carry), lambda: _pushed(graph, active, consts, carry)
    )
    c_dots, i_dots, x_dots = cut(tangents, consts, carry)
    c, i, x = cut(primals, consts, carry)
    consts_now = [*c, *pick(c_dots, active[:consts])]
    carry_now = [*i, *[instantiate(t) for t in pick(i_dots, carry_on)]]
    xs_now = [*x, *pick(x_dots, active[consts + carry :])]
    results = _scan(primitive, pushed, consts_now, carry_now, xs_now, params)
    ends, end_dots, ys, y_dots = cut(results, carry, sum(carry_on), len(ys_on))
    outs = [*ends, *ys]
    return outs, tangents_of(outs, (*carry_on, *ys_on), [*end_dots, *y_dots])


def _pushed(graph: Graph, active: Flags, consts: int, carry: int) -> tuple[Graph, Flags, Flags]:
    # Carries must agree in and out, so grow the set of those with tangents until it is stable.
    c_on, i_on, x_on = map(tuple, cut(active, consts, carry))
    i_on = stable(i_on, lambda on: push(graph, (*c_on, *on, *x_on))[1][:carry])
    ys = len(graph.outputs) - carry
    pushed, kinds = push(graph, (*c_on, *i_on, *x_on), i_on + (False,) * ys)
    c, i, x, c_dot, i_dot, x_dot = cut(pushed.inputs, consts, carry, len(x_on), sum(c_on), sum(i_on))
    end, y, end_dot, y_dot = cut(pushed.outputs, carry, ys, sum(i_on))
    ordered = Graph([*c, *c_dot, *i, *i_dot, *x, *x_dot], pushed.equations, [*end, *end_dot, *y, *y_dot])
    return ordered, i_on, kinds[carry:]


class Halves(NamedTuple):
    """The body of a scan in two.

    Args:
      early: known consts, carries and xs -> known carries, known ys and the residuals of each step.
      invariant: known consts -> the residuals that are the same in every step.
      late: invariant residuals and unknown consts, unknown carries, residuals and unknown xs -> unknown results.
      carry, ys: which are unknown.
      sources: where each residual of the steps comes from: a known x, a known y, or a further result of `early`.
    """

    early: Graph
    invariant: Graph
    late: Graph
    carry: Flags
    ys: Flags
    sources: list[tuple[str, int]]


def halves(graph: Graph, unknown: Flags, consts: int, carry: int) -> Halves:
    """The body split by what follows from the known operands of the scan."""
    return kept(graph, ("scan split", unknown, consts, carry), lambda: _halves(graph, unknown, consts, carry))


def _halves(graph: Graph, unknown: Flags, consts: int, carry: int) -> Halves:
    # Carries must agree in and out, so grow the unknown set until it is stable.
    c_on, i_on, x_on = map(tuple, cut(unknown, consts, carry))
    i_on = stable(i_on, lambda on: split(graph, (*c_on, *on, *x_on)).unknown[:carry])
    ys = len(graph.outputs) - carry
    part = split(graph, (*c_on, *i_on, *x_on), i_on + (False,) * ys)
    early, y_on = part.early, part.unknown[carry:]
    c, i, x = cut(early.inputs, len(c_on) - sum(c_on), carry - sum(i_on))
    ends, y_known, residuals = cut(early.outputs, len(i), ys - sum(y_on))

    fixed, repeated = _invariant(early, c)
    x_numbers, y_numbers = {v: k for k, v in enumerate(x)}, {v: k for k, v in enumerate(y_known)}
    hoisted: list[tuple[Any, Var]] = []
    stepwise: list[Var] = []
    stacked: list[Any] = []
    sources: list[tuple[str, int]] = []
    for atom, var in zip(residuals, part.late.inputs):
        if type(atom) is Literal or atom in fixed:
            hoisted.append((atom, var))
            continue
        stepwise.append(var)
        if atom in x_numbers:
            sources.append(("x", x_numbers[atom]))
        elif atom in y_numbers:
            sources.append(("y", y_numbers[atom]))
        else:
            sources.append(("step", len(stacked)))
            stacked.append(atom)
    invariant, _ = prune(Graph(c, repeated, [atom for atom, _ in hoisted]), keep_inputs=True)
    stepped, _ = prune(Graph(early.inputs, early.equations, [*ends, *y_known, *stacked]), keep_inputs=True)
    c_late, i_late, x_late = cut(part.late.inputs[part.residuals :], sum(c_on), sum(i_on))
    inputs = [*[var for _, var in hoisted], *c_late, *i_late, *stepwise, *x_late]
    return Halves(stepped, invariant, Graph(inputs, part.late.equations, part.late.outputs), i_on, y_on, sources)


def _invariant(graph: Graph, consts: Sequence[Var]) -> tuple[set[Var], list[Equation]]:
    """The values of a body that are the same in every step, and the equations that give them."""
    fixed, equations = set(consts), []
    for equation in graph.equations:
        if not has_effects(equation) and all(type(a) is Literal or a in fixed for a in equation.inputs):
            fixed.update(equation.outputs)
            equations.append(equation)
    return fixed, equations


class Known(NamedTuple):
    """What the known half of a scan gave: its results, and the operands of the other half that are residuals."""

    carry: list[Any]
    ys: list[Any]
    consts: list[Any]
    xs: list[Any]


def run_known(
    primitive: Primitive, part: Halves, operands: Sequence[Any], known: Flags, params: dict[str, Any]
) -> Known:
    """Run the known half.

    Args:
      operands: all of the scan's.
      known: those to take, carries that turn unknown left out.
    """
    parts = cut(operands, params["num_consts"], params["num_carry"])
    flags = cut(known, params["num_consts"], params["num_carry"])
    consts, carry, xs = [pick(v, f) for v, f in zip(parts, flags)]
    results = _scan(primitive, part.early, consts, carry, xs, params)
    ends, ys, stacked = cut(results, len(carry), len(part.ys) - sum(part.ys))
    sources = {"x": xs, "y": ys, "step": stacked}
    return Known(ends, ys, replay(part.invariant, consts), [sources[kind][i] for kind, i in part.sources])


def partial(primitive: Primitive, trace: PartialTrace, args: Any, params: dict[str, Any]) -> list[Any]:
    graph, consts, carry = params["graph"], params["num_consts"], params["num_carry"]
    unknown = tuple([trace.is_unknown(a) for a in args])
    part = halves(graph, unknown, consts, carry)
    unknown = unknown[:consts] + part.carry + unknown[consts + carry :]
    known = run_known(primitive, part, args, tuple([not u for u in unknown]), params)
    c, i, x = [pick(v, f) for v, f in zip(cut(args, consts, carry), cut(unknown, consts, carry))]
    unknown_outs: list[Any] = []
    if part.late.outputs or part.late.effects:
        own = {"graph": part.late, "num_consts": len(known.consts) + len(c), "num_carry": len(i)}
        values = (*known.consts, *c, *i, *known.xs, *x)
        unknown_outs = trace.unknown.process(primitive, values, {**params, **own})
    return merged((*part.carry, *part.ys), unknown_outs, [*known.carry, *known.ys])


def transpose(
    primitive: Primitive, cts: Any, *operands: Any, graph: Graph, num_consts: int, num_carry: int, **params: Any
) -> list[Any]:
    linear = tuple([is_linear(o) for o in operands])
    part = halves(graph, linear, num_consts, num_carry)
    if all(part.carry):
        return _pull_back(primitive, cts, operands, graph, num_consts, num_carry, params)
    # Some carries follow from known values: run them forward first, then pull back through the remainder.
    whole = {"graph": graph, "num_consts": num_consts, "num_carry": num_carry, **params}
    taken = linear[:num_consts] + part.carry + linear[num_consts + num_carry :]
    known = run_known(primitive, part, operands, tuple([not t for t in taken]), whole)
    c, i, x = [pick(v, f) for v, f in zip(cut(operands, num_consts, num_carry), cut(taken, num_consts, num_carry))]
    given = pick(cts, (*part.carry, *part.ys))
    values = [*known.consts, *c, *i, *known.xs, *x]
    found = _pull_back(primitive, given, values, part.late, len(known.consts) + len(c), len(i), params)
    pulled = iter([ct for ct, o in zip(found, values) if is_linear(o)])
    return [next(pulled) if on else None for on in linear]


def _pull_back(
    primitive: Primitive, cts: Any, operands: Any, graph: Graph, consts: int, carry: int, params: dict[str, Any]
) -> list[Any]:
    """Cotangents of a scan whose carries are all linear: a scan in the other direction."""
    linear = tuple([is_linear(o) for o in operands])
    active = tuple([not is_zero(ct) for ct in cts])
    pulled, sums_on, carry_on, xs_on = kept(
        graph,
        ("scan transpose", linear, active, consts, carry),
        lambda: _pulled(graph, linear, active, consts, carry),
    )
    c, i, x = cut(operands, consts, carry)
    known_c, known_x = [[o for o in part if not is_linear(o)] for part in (c, x)]
    sums = [zeros(o.aval.strip_weak_type()) for o in pick(filter(is_linear, c), sums_on)]
    ends = [instantiate(ct) for ct in pick(cts[:carry], carry_on)]
    values = known_c, [*sums, *ends], [*known_x, *pick(cts[carry:], active[carry:])]
    results = _scan(primitive, pulled, *values, {**params, "reverse": not params["reverse"]})
    c_cts, i_cts, x_cts = cut(results, len(sums), len(ends))
    return [
        *cotangents_of(c, sums_on, c_cts),
        *carry_cotangents(i, carry_on, i_cts),
        *cotangents_of(x, xs_on, x_cts),
    ]


def _pulled(graph: Graph, linear: Flags, active: Flags, consts: int, carry: int) -> tuple[Graph, Flags, Flags, Flags]:
    """The body transposed.

    Returns:
      a body that carries the sums of the consts' cotangents and those of the carries; which linear consts, which
      carries and which linear xs have cotangents.
    """
    c_linear, _, x_linear = map(tuple, cut(linear, consts, carry))
    linear = (*c_linear, *(True,) * carry, *x_linear)
    first = sum(c_linear)
    i_on = stable(active[:carry], lambda on: pull(graph, linear, (*on, *active[carry:]))[1][first : first + carry])
    forced = (False,) * first + i_on + (False,) * sum(x_linear)
    pulled, kinds = pull(graph, linear, (*i_on, *active[carry:]), forced)
    c_on, _, x_on = map(tuple, cut(kinds, first, carry))
    c, x, ends, ys = cut(pulled.inputs, consts - first, len(x_linear) - sum(x_linear), sum(i_on))
    sums = [a.strip_weak_type() for a in pick(pick(graph.in_avals[:consts], c_linear), c_on)]

    def step(*values: Any) -> list[Any]:
        c_now, sums_now, ends_now, x_now, ys_now = cut(values, len(c), len(sums), len(ends), len(x))
        results = replay(pulled, [*c_now, *x_now, *ends_now, *ys_now])
        return [*[arithmetic.add(s, ct) for s, ct in zip(sums_now, results)], *results[len(sums) :]]

    avals = [*[v.aval for v in c], *sums, *[v.aval for v in ends], *[v.aval for v in x], *[v.aval for v in ys]]
    return record_flat(step, avals), c_on, i_on, x_on


def batch(primitive: Primitive, args: Any, dims: Any, size: int, params: dict[str, Any]) -> Any:
    graph, consts, carry = params["graph"], params["num_consts"], params["num_carry"]
    c_on, i_on, x_on = map(tuple, cut([d is not None for d in dims], consts, carry))
    # Carries must agree in and out, so grow the set of batched ones until it is stable.
    i_on = stable(i_on, lambda on: batched(graph, (*c_on, *on, *x_on), size)[1][:carry])
    forced = i_on + (False,) * (len(graph.outputs) - carry)
    whole, kinds = batched(graph, (*c_on, *i_on, *x_on), size, forced)
    c, i, x = cut(list(zip(args, dims)), consts, carry)
    values = (
        [moveaxis_to_front(a, d) for a, d in c],
        [moveaxis_to_front(a, d, size) if on else a for (a, d), on in zip(i, i_on)],
        [_to_second(a, d) for a, d in x],
    )
    results = _scan(primitive, whole, *values, params)
    return results, [(0 if k < carry else 1) if on else None for k, on in enumerate(kinds)]


def _to_second(x: Any, dim: int | None) -> Any:
    """An operand with its batch axis after the axis of the steps."""
    if dim is None or dim == 1:
        return x
    order = [k for k in range(aval_of(x).ndim) if k != dim]
    order.insert(1, dim)
    return transpose_p(x, permutation=tuple(order))


def trim(equation: Equation, live: Flags) -> Equation:
    """A scan without the results, and the carries, that nothing reads."""
    graph, consts, carry = [equation.params[k] for k in ("graph", "num_consts", "num_carry")]
    ys = tuple(live[carry:])
    i_on = stable(live[:carry], lambda on: trimmed(graph, (*on, *ys))[1][consts : consts + carry])
    body, read = trimmed(graph, (*i_on, *ys))
    kept_inputs = (*read[:consts], *i_on, *read[consts + carry :])
    own = {"graph": with_inputs(body, kept_inputs), "num_consts": sum(read[:consts]), "num_carry": sum(i_on)}
    return slimmer(equation, kept_inputs, (*i_on, *ys), own)

"""Derivatives and batches of `while`: loops with other bodies. Its transposition is in `while_reverse`."""

from __future__ import annotations

from typing import Any

from stagec.control import while_reverse
from stagec.control.derived import (
    Flags,
    batched,
    cut,
    kept,
    merged,
    pick,
    push,
    record_flat,
    select_lanes,
    slimmer,
    split,
    stable,
    taken,
    tangents_of,
    trimmed,
    with_inputs,
)
from stagec.core import errors, location
from stagec.core.graph import Equation, Graph, Var, prune, replay
from stagec.core.primitive import Primitive
from stagec.core.zero import is_zero
from stagec.primitives.broadcast import instantiate, moveaxis_to_front
from stagec.primitives.reduce import reduce_or_p
from stagec.transforms.linearize import PartialTrace


def _sizes(params: dict[str, Any]) -> tuple[int, int]:
    return params["cond_consts"], params["body_consts"]


def jvp(primitive: Primitive, primals: Any, tangents: Any, params: dict[str, Any]) -> Any:
    sizes = _sizes(params)
    active = tuple([not is_zero(t) for t in tangents])
    # What decides is a truth value, which has no derivative.
    _, b_on, i_on = map(tuple, cut(active, *sizes))
    cond, body, i_on = kept(
        params["body"], ("while jvp", params["cond"], b_on, i_on), lambda: _pushed(params, b_on, i_on)
    )
    c, b, i = cut(primals, *sizes)
    _, b_dots, i_dots = cut(tangents, *sizes)
    dots = [instantiate(t) for t in pick(i_dots, i_on)]
    values = [*c, *b, *pick(b_dots, b_on), *i, *dots]
    results = primitive(*values, cond=cond, body=body, cond_consts=sizes[0], body_consts=sizes[1] + sum(b_on))
    outs, found = cut(results, len(i))
    return outs, tangents_of(outs, i_on, found)


def _pushed(params: dict[str, Any], b_on: Flags, i_on: Flags) -> tuple[Graph, Graph, Flags]:
    cond, body, consts = params["cond"], params["body"], params["body_consts"]
    # Carries must agree in and out, so grow the set of those with tangents until it is stable.
    i_on = stable(i_on, lambda on: push(body, (*b_on, *on))[1])
    pushed, _ = push(body, (*b_on, *i_on), i_on)
    b, i, b_dot, i_dot = cut(pushed.inputs, consts, len(i_on), sum(b_on))
    unread = [Var(v.aval) for v in i_dot]
    return (
        Graph([*cond.inputs, *unread], cond.equations, cond.outputs),
        Graph([*b, *b_dot, *i, *i_dot], pushed.equations, pushed.outputs),
        i_on,
    )


def partial(primitive: Primitive, trace: PartialTrace, args: Any, params: dict[str, Any]) -> list[Any]:
    """Run the part that known operands determine at once; the remainder later runs all rounds again."""
    sizes = _sizes(params)
    unknown = tuple([trace.is_unknown(a) for a in args])
    halves = kept(params["body"], ("while split", params["cond"], unknown), lambda: _known(params, unknown))
    whole = trace.unknown.process(primitive, args, params)
    if halves is False:
        return whole
    cond, body, i_on = halves
    flags = cut(unknown, *sizes)[:2] + [i_on]
    c, b, i = [pick(v, f, False) for v, f in zip(cut(args, *sizes), flags)]
    known = primitive(*c, *b, *i, cond=cond, body=body, cond_consts=len(c), body_consts=len(b))
    return merged(i_on, pick(whole, i_on), known)


def _known(params: dict[str, Any], unknown: Flags) -> Any:
    """The part of the loop that the known operands determine; False if they do not determine its condition."""
    cond, body = params["cond"], params["body"]
    c_on, b_on, i_on = map(tuple, cut(unknown, *_sizes(params)))
    i_on = stable(i_on, lambda on: split(body, (*b_on, *on)).unknown)
    deciding = split(cond, (*c_on, *i_on))
    if deciding.unknown[0] or all(i_on):
        return False
    part = split(body, (*b_on, *i_on), i_on)
    results = part.early.outputs[: len(i_on) - sum(i_on)]
    known, _ = prune(Graph(part.early.inputs, part.early.equations, results), keep_inputs=True)
    return deciding.early, known, i_on


def transpose(primitive: Primitive, cts: Any, *operands: Any, cond: Graph, body: Graph, **sizes: int) -> list[Any]:
    found = while_reverse.transpose(primitive, cts, operands, cond, body, _sizes(sizes))
    if found is None:
        raise location.error(
            errors.UnsupportedError,
            "while_loop: the condition depends on values that a linear function is transposed with respect to",
            fix="let the condition depend on values that have no cotangents",
        )
    return found


def batch(primitive: Primitive, args: Any, dims: Any, size: int, params: dict[str, Any]) -> Any:
    sizes = _sizes(params)
    flags = tuple([d is not None for d in dims])
    cond, body, i_on, lanes = kept(
        params["body"], ("while batch", params["cond"], flags, size), lambda: _batched(params, flags, size)
    )
    c, b, i = cut(list(zip(args, dims)), *sizes)
    consts = [moveaxis_to_front(a, d) for a, d in c]
    # Where each lane has its own condition, the body asks it too.
    body_consts = [*(consts if lanes else []), *[moveaxis_to_front(a, d) for a, d in b]]
    carry = [moveaxis_to_front(a, d, size) if on else a for (a, d), on in zip(i, i_on)]
    results = primitive(
        *consts, *body_consts, *carry, cond=cond, body=body, cond_consts=len(consts), body_consts=len(body_consts)
    )
    return results, [0 if on else None for on in i_on]


def _batched(params: dict[str, Any], flags: Flags, size: int) -> tuple[Graph, Graph, Flags, bool]:
    """Condition and body of a batch, which carries are batched, and whether the condition is.

    With a condition for each lane, the loop runs until all lanes are done; one that is done keeps its state.
    """
    cond, body = params["cond"], params["body"]
    c_on, b_on, i_on = map(tuple, cut(flags, *_sizes(params)))
    # Carries must agree in and out, so grow the set of batched ones until it is stable.
    i_on = stable(i_on, lambda on: batched(body, (*b_on, *on), size)[1])
    deciding, (lanes,) = batched(cond, (*c_on, *i_on), size)
    if not lanes:
        return deciding, batched(body, (*b_on, *i_on), size, i_on)[0], i_on, False
    # A lane that is done stands still while others go on: what the body changes is different in each.
    i_on = tuple([on or out is not v for on, out, v in zip(i_on, body.outputs, body.inputs[len(b_on) :])])
    deciding, _ = batched(cond, (*c_on, *i_on), size, (True,))
    step, _ = batched(body, (*b_on, *i_on), size, i_on)

    def unfinished(*values: Any) -> list[Any]:
        return [reduce_or_p(replay(deciding, values)[0], axes=(0,))]

    def advance(*values: Any) -> list[Any]:
        c, b, i = cut(values, len(c_on), len(b_on))
        (going,) = replay(deciding, [*c, *i])
        operands = [taken(going, 1, 2, x) if on else x for x, on in zip([*b, *i], (*b_on, *i_on))]
        return [select_lanes(going, old, new) if on else old for new, old, on in zip(replay(step, operands), i, i_on)]

    return (
        record_flat(unfinished, deciding.in_avals),
        record_flat(advance, [*deciding.in_avals[: len(c_on)], *step.in_avals]),
        i_on,
        True,
    )


def trim(equation: Equation, live: Flags) -> Equation:
    """A loop without the carries that nothing reads."""
    cond, body, *sizes = [equation.params[k] for k in ("cond", "body", "cond_consts", "body_consts")]
    deciding, asked = trimmed(cond, (True,))
    c_on, i_asked = asked[: sizes[0]], asked[sizes[0] :]
    i_on = stable((a or b for a, b in zip(live, i_asked)), lambda on: trimmed(body, on)[1][sizes[1] :])
    step, read = trimmed(body, i_on)
    b_on = read[: sizes[1]]
    own = {
        "cond": with_inputs(deciding, (*c_on, *i_on)),
        "body": with_inputs(step, (*b_on, *i_on)),
        "cond_consts": sum(c_on),
        "body_consts": sum(b_on),
    }
    return slimmer(equation, (*c_on, *b_on, *i_on), i_on, own)

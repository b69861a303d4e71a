"""Rules of operations on parts of arrays: what computes one of them, and how its results are divided."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stagec.control.cond import cond_p
from stagec.control.loops import while_p
from stagec.control.partition_axes import BESIDE, Divided, Parts, Rule, Spec, joined, part, whole
from stagec.control.partition_indexing import added, dynamic_slice, dynamic_update_slice, lookup, static_slice, written
from stagec.control.scan import scan_p
from stagec.core.graph import Equation, Graph
from stagec.core.primitive import Primitive
from stagec.primitives.broadcast import broadcast_in_dim_p, reduce_sum_p, reshape_p
from stagec.primitives.conv import conv_general_dilated_p
from stagec.primitives.convert import bitcast_convert_type_p
from stagec.primitives.dot import dot_general_p
from stagec.primitives.fft import irfft_p, rfft_p
from stagec.primitives.gather_scatter import (
    gather_p,
    scatter_add_p,
    scatter_max_p,
    scatter_min_p,
    scatter_mul_p,
    scatter_p,
    scatter_sub_p,
)
from stagec.primitives.padding import slice_p
from stagec.primitives.reduce import reduce_and_p, reduce_max_p, reduce_min_p, reduce_or_p, reduce_prod_p
from stagec.primitives.slicing import dynamic_slice_p, dynamic_update_slice_p
from stagec.primitives.sort import top_k_p
from stagec.primitives.table import batch_elementwise, batch_elementwise_results

# Reductions whose partial results are combined.
REDUCTIONS: dict[Primitive, str] = {
    reduce_sum_p: "sum",
    reduce_max_p: "max",
    reduce_min_p: "min",
    reduce_prod_p: "prod",
    reduce_and_p: "and",
    reduce_or_p: "or",
}


def results(p: Parts, e: Equation, args: list[Divided]) -> list[Divided] | None:
    """The results of an operation on parts, of which one is divided; None where there is no rule."""
    primitive = e.primitive
    rule = _RULES.get(primitive)
    if rule is not None:
        return rule(p, e, args)
    if primitive in REDUCTIONS:
        return reduction(p, e, args)
    if primitive.batch in (batch_elementwise, batch_elementwise_results):
        return elementwise(p, e, args)
    ranks = primitive.matrix_ranks or _STACKS.get(primitive, ())
    if primitive is bitcast_convert_type_p:
        ranks = (max(0, len(args[0][1]) - e.outputs[0].aval.ndim),)
    if ranks:
        return stacked(p, e, args, ranks)
    if primitive in BESIDE:
        return beside(p, e, args, BESIDE[primitive])
    if primitive.follows is not None and len(args) == 1:
        spec = followed(e, args[0][1])
        return None if spec is None else p.run(e, [args[0][0]], [spec])
    return None


def followed(e: Equation, spec: Spec) -> Spec | None:
    """How the result of an operation that only moves axes is divided; None where a divided axis does not stay one."""
    assert e.primitive.follows is not None, "only rows with this rule are asked"
    axes = e.primitive.follows([a.aval for a in e.inputs], e.outputs[0].aval, e.params)
    kept = {a[1] for a in axes if a is not None}
    if any(names and i not in kept for i, names in enumerate(spec)):
        return None
    return tuple([() if a is None else spec[a[1]] for a in axes])


def elementwise(p: Parts, e: Equation, args: list[Divided]) -> list[Divided]:
    out = e.outputs[0].aval
    spec = joined([s for _, s in args if len(s) == out.ndim], out.ndim)
    values = [p.moved(v, s, spec)[0] if a.aval.ndim == out.ndim else v for (v, s), a in zip(args, e.inputs)]
    return p.run(e, values, [spec] * len(e.outputs))


def beside(p: Parts, e: Equation, args: list[Divided], rule: Rule) -> list[Divided] | None:
    """An operation that works along axes that are not divided."""
    rank = e.outputs[0].aval.ndim
    arrays = [i for i, a in enumerate(e.inputs) if a.aval.ndim == rank]
    spec = next((args[i][1] for i in arrays if any(args[i][1])), None)
    if spec is None or 0 not in arrays:
        return None
    divided = [i for i, names in enumerate(spec) if names]
    sizes = e.inputs[0].aval.shape
    if any(e.inputs[k].aval.shape[i] != sizes[i] for k in arrays for i in divided):
        return None
    own = part(e.inputs[0].aval, spec, p.grid).shape
    params = rule(e.params, sizes, own, divided)
    if params is None:
        return None
    values = [p.moved(v, s, spec)[0] if i in arrays else v for i, (v, s) in enumerate(args)]
    return p.run(e, values, [spec] * len(e.outputs), **params)


def stacked(p: Parts, e: Equation, args: list[Divided], ranks: Sequence[int]) -> list[Divided] | None:
    """An operation on each of a stack of arrays, which have these ranks; the stack is divided."""
    count = e.inputs[0].aval.ndim - ranks[0]
    if any(names for _, spec in args for names in spec[count:]):
        return None
    stack = joined([spec[:count] for _, spec in args], count)
    values = [p.moved(v, s, (*stack, *s[count:]))[0] for v, s in args]
    return p.run(e, values, [(*stack, *whole(v.aval.ndim - count)) for v in e.outputs])


def reduction(p: Parts, e: Equation, args: list[Divided]) -> list[Divided]:
    ((value, spec),) = args
    axes = e.params["axes"]
    names = [n for i in axes for n in spec[i]]
    kept = tuple([s for i, s in enumerate(spec) if i not in axes])
    ((found, _),) = p.run(e, [value], [kept])
    return [(p.combined(found, REDUCTIONS[e.primitive], names), kept)]


def shaped(p: Parts, e: Equation, args: list[Divided]) -> list[Divided] | None:
    """reshape and broadcast_in_dim, whose parameter is the result's shape."""
    ((value, spec),) = args
    found, out = followed(e, spec), e.outputs[0].aval
    if found is None or any(n % p.grid.parts(names) for n, names in zip(out.shape, found)):
        return None
    name = "new_sizes" if e.primitive is reshape_p else "shape"
    return p.run(e, [value], [found], **{name: part(out, found, p.grid).shape})


def product(p: Parts, e: Equation, args: list[Divided]) -> list[Divided]:
    (x, xs), (y, ys) = args
    (x_contract, y_contract), (x_batch, y_batch) = e.params["dimension_numbers"]
    xs_, ys_ = list(xs), list(ys)
    for i, j in (*zip(x_batch, y_batch), *zip(x_contract, y_contract)):
        names = xs_[i] or ys_[j]
        xs_[i] = ys_[j] = names
    used = {n for i in (*x_batch, *x_contract) for n in xs_[i]}
    for specs, bound in ((xs_, (*x_batch, *x_contract)), (ys_, (*y_batch, *y_contract))):
        for i, names in enumerate(specs):
            if i not in bound:
                specs[i] = names = () if used & set(names) else names
                used.update(names)
    x, _ = p.moved(x, xs, tuple(xs_))
    y, _ = p.moved(y, ys, tuple(ys_))
    out = [xs_[i] for i in x_batch]
    out += [s for i, s in enumerate(xs_) if i not in x_batch and i not in x_contract]
    out += [s for i, s in enumerate(ys_) if i not in y_batch and i not in y_contract]
    ((found, _),) = p.run(e, [x, y], [tuple(out)])
    return [(p.combined(found, "sum", [n for i in x_contract for n in xs_[i]]), tuple(out))]


def settled(
    p: Parts, graph: Graph, before: Sequence[Spec], state: list[Spec], after: Sequence[Spec] = ()
) -> list[Spec]:
    """How a loop's state is divided in all rounds: as a round leaves it, and whole where that would change.

    Args:
      before, after: how the other inputs of the loop's body are divided.
    """
    while True:
        _, found = p.body(graph, [*before, *state, *after], trial=True)
        fitting = [s if any(s) else a for s, a in zip(state, found)]
        if fitting == state:
            break
        state = fitting
    while True:
        fitting = [s if s == a else whole(len(s)) for s, a in zip(state, found)]
        if fitting == state:
            return state
        state = fitting
        _, found = p.body(graph, [*before, *state, *after], trial=True)


def loop(p: Parts, e: Equation, args: list[Divided]) -> list[Divided]:
    """A scan whose state is divided in the same way in all rounds, or whose rounds are, if it has no state."""
    graph, consts, carry = e.params["graph"], e.params["num_consts"], e.params["num_carry"]
    first = consts + carry
    rounds: tuple[Any, ...] = next((s[0] for _, s in args[first:] if s[0] and not carry), ())
    # Who computes other rounds has no part in this one.
    shared = [tuple([names if not set(rounds) & set(names) else () for names in s]) for _, s in args]
    wanted = [(rounds, *s[1:]) if i >= first else s for i, s in enumerate(shared)]
    moves = zip(e.inputs, args, wanted)
    gathers = [a.aval for a, (_, s), w in moves if any(have and have != want for have, want in zip(s, w))]
    if gathers:
        p.report(e, gathers)
    given = [p.moved(v, s, w) for (v, s), w in zip(args, wanted)]
    before = [s for _, s in given[:consts]]
    rows = [s[1:] for _, s in given[first:]]
    state = settled(p, graph, before, [s for _, s in given[consts:first]], rows)
    body, found = p.body(graph, [*before, *state, *rows], state)
    moved = [p.moved(v, s, w)[0] for (v, s), w in zip(given[consts:first], state)]
    values = [p.place, *[v for v, _ in given[:consts]], *moved, *[v for v, _ in given[first:]]]
    length = e.params["length"] // p.grid.parts(rounds) if rounds else e.params["length"]
    outs = scan_p(*values, **{**e.params, "graph": body, "num_consts": consts + 1, "length": length})
    return list(zip(outs, [*state, *[(rounds, *s) for s in found[carry:]]], strict=True))


def repeated(p: Parts, e: Equation, args: list[Divided]) -> list[Divided]:
    """A loop whose state is divided in the same way in all rounds."""
    counts = e.params["cond_consts"], e.params["body_consts"]
    asked, used = args[: counts[0]], args[counts[0] : sum(counts)]
    state = args[sum(counts) :]
    before = [s for _, s in used]
    specs = settled(p, e.params["body"], before, [s for _, s in state])
    body, _ = p.body(e.params["body"], [*before, *specs], specs)
    cond = p.condition(e, [*[s for _, s in asked], *specs], body)
    moved = [p.moved(v, s, w)[0] for (v, s), w in zip(state, specs)]
    values = [p.place, *[v for v, _ in asked], p.place, *[v for v, _ in used], *moved]
    sizes = {"cond_consts": counts[0] + 1, "body_consts": counts[1] + 1}
    return list(zip(while_p(*values, cond=cond, body=body, **sizes), specs, strict=True))


def conditional(p: Parts, e: Equation, args: list[Divided]) -> list[Divided]:
    """Branches whose results are divided in one way."""
    (index, _), rest = args[0], args[1:]
    specs = [s for _, s in rest]
    divided = [p.body(branch, specs, trial=True)[1] for branch in e.params["branches"]]
    outs = [next((s for s in each if any(s)), each[0]) for each in zip(*divided)]
    branches = tuple([p.body(branch, specs, outs)[0] for branch in e.params["branches"]])
    found = cond_p(index, p.place, *[v for v, _ in rest], branches=branches)
    return list(zip(found, outs, strict=True))


def convolution(p: Parts, e: Equation, args: list[Divided]) -> list[Divided] | None:
    """Images that are divided, or channels that are added up, as in the gradient of a kernel by images."""
    (x, xs), (y, ys) = args
    left, right, out = e.params["dimension_numbers"]
    if e.params["feature_group_count"] != 1 or e.params["batch_group_count"] != 1:
        return None
    images, channels = xs[left[0]], xs[left[1]] or ys[right[1]]
    wanted = [()] * len(xs), [()] * len(ys)
    found: list[tuple[Any, ...]] = [()] * len(xs)
    if images:
        wanted[0][left[0]] = found[out[0]] = images
    elif channels:
        wanted[0][left[1]] = wanted[1][right[1]] = channels
    x, _ = p.moved(x, xs, tuple(wanted[0]))
    y, _ = p.moved(y, ys, tuple(wanted[1]))
    ((value, _),) = p.run(e, [x, y], [tuple(found)])
    return [(p.combined(value, "sum", () if images else channels), tuple(found))]


# Operations on each of a stack of arrays, and the ranks of these.
_STACKS: dict[Primitive, Sequence[int]] = {
    irfft_p: (1,),
    rfft_p: (1,),
    top_k_p: (1,),
}

_RULES: dict[Primitive, Callable[[Parts, Equation, list[Divided]], list[Divided] | None]] = {
    broadcast_in_dim_p: shaped,
    cond_p: conditional,
    conv_general_dilated_p: convolution,
    dot_general_p: product,
    dynamic_slice_p: dynamic_slice,
    dynamic_update_slice_p: dynamic_update_slice,
    gather_p: lookup,
    reshape_p: shaped,
    scan_p: loop,
    scatter_add_p: added,
    slice_p: static_slice,
    **dict.fromkeys((scatter_p, scatter_max_p, scatter_min_p, scatter_mul_p, scatter_sub_p), written),
    while_p: repeated,
}

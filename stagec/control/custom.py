"""Functions with custom derivative rules: `custom_jvp` and `custom_vjp`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stagec.control import graph_rules
from stagec.control.call import jit_p
from stagec.control.graph_rules import Unkeyed
from stagec.core import errors, location
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.graph import Graph, replay
from stagec.core.primitive import MissingRule, MultiplePrimitive, Primitive
from stagec.core.recording import GraphTrace, trace_flat
from stagec.core.trace import Trace, trace_of
from stagec.core.zero import differentiable, is_zero, zero_of
from stagec.primitives.broadcast import instantiate, moveaxis_to_front, transpose_p
from stagec.primitives.operand import aval_of
from stagec.primitives.reduce import reduce_sum
from stagec.transforms.batch import BatchTrace, batch_flat, batch_front
from stagec.transforms.jvp import JvpTrace
from stagec.transforms.linearize import PartialTrace

Flat = Callable[..., list[Any]]
# `(residuals, cotangents) -> cotangents of the arguments`, None where there is none.
Pull = Callable[[Sequence[Any], Sequence[Any]], list[Any]]


class Rule:
    """A flat function and its own derivative.

    Args:
      function: takes and returns flat operands.
      derive: `(primals, tangents) -> (results, tangents)` for `custom_jvp`;
        `(primals, perturbed) -> (results, residuals, pull)` for `custom_vjp`, whose cotangents may be `Zero`.
    """

    def __init__(self, name: str, function: Flat, derive: Callable[..., Any]) -> None:
        self.name = name
        self.function = function
        self.derive = derive

    def fingerprint(self) -> str:
        # A graph that is run has been differentiated before: the function's own graph is separate.
        return ""


class CustomPrimitive(MultiplePrimitive):
    """Runs a function as it is; recorded only where a graph is, differentiated by its rule.

    `graph` is None until the call is recorded; then `captured` values that it closes over lead its operands.
    """

    def __call__(self, *args: Any, **params: Any) -> list[Array]:
        rule: Rule = params["rule"]
        graph, captured, trace = params["graph"], params["captured"], trace_of(args)
        if graph is not None or isinstance(trace, (JvpTrace, PartialTrace)):
            return super().__call__(*args, **params)
        if not _may_be_differentiated(trace):
            return rule.function(*args)
        # What the function closes over becomes operands: a batch's values belong to the trace that is in force.
        graph, found = trace_flat(rule.function, [aval_of(a) for a in args], name=rule.name)
        return super().__call__(*found, *args, graph=graph, rule=rule, captured=captured + len(found))


def _may_be_differentiated(trace: Trace | None) -> bool:
    """Whether what runs under `trace` is differentiated, or recorded, so that it may be differentiated later on."""
    while isinstance(trace, BatchTrace):
        trace = trace.parent
    return isinstance(trace, (GraphTrace, JvpTrace, PartialTrace))


def call(primitive: CustomPrimitive, rule: Rule, args: Sequence[Any]) -> list[Array]:
    """Run a function with a custom derivative rule."""
    return primitive(*args, graph=None, rule=rule, captured=0)


def partial(trace: PartialTrace, args: tuple[Any, ...], params: dict[str, Any]) -> list[Any]:
    # What is differentiated has been by now: from here on it is an ordinary function.
    return run(params, args)


def run(params: dict[str, Any], args: Sequence[Any]) -> list[Any]:
    rule: Rule = params["rule"]
    return rule.function(*args) if params["graph"] is None else replay(params["graph"], args)


def transpose(cts: Any, *operands: Any, graph: Graph, rule: Rule, captured: int) -> list[Any]:
    return jit_p.transpose(cts, *operands, name=rule.name, graph=graph)


def _push(primitive: Primitive, primals: Any, tangents: Any, params: dict[str, Any]) -> Any:
    rule, captured = params["rule"], params["captured"]
    check_captured(rule, tangents[:captured])
    return rule.derive(primals[captured:], tangents[captured:])


def check_captured(rule: Rule, tangents: Sequence[Any]) -> None:
    if not all(map(is_zero, tangents)):
        raise location.error(
            errors.UnsupportedError,
            f"{rule.name} has a custom derivative rule, and closes over a value that is differentiated",
            fix="pass the value as an argument, so that the rule can say what its derivative is",
        )


def _batch_jvp(primitive: Any, args: Any, dims: Any, size: Any, params: dict[str, Any]) -> Any:
    rule, captured = params["rule"], params["captured"]

    def function(*values: Any) -> list[Any]:
        return batch_front(lambda *xs: run(params, xs), values, dims, size)

    def derive(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        check_captured(rule, tangents[:captured])
        primals, tangents, own = primals[captured:], tangents[captured:], dims[captured:]
        given = [i for i, t in enumerate(tangents) if not is_zero(t)]
        count = 0

        def pushed(*values: Any) -> list[Any]:
            nonlocal count
            xs = values[: len(primals)]
            dots = [zero_of(aval_of(x)) for x in xs]
            for i, t in zip(given, values[len(primals) :]):
                dots[i] = t
            outs, out_dots = rule.derive(xs, dots)
            count = len(outs)
            return [*outs, *[instantiate(d) for d in out_dots]]

        values, axes = [*primals, *[tangents[i] for i in given]], [*own, *[own[i] for i in given]]
        # The rule may close over other values of this batch.
        found = batch_front(pushed, values, axes, size, resumed=size)
        outs, out_dots = found[:count], found[count:]
        return outs, [d if differentiable(aval_of(o)) else zero_of(aval_of(o)) for o, d in zip(outs, out_dots)]

    outs = call(primitive, Rule(rule.name, function, derive), args)
    return outs, [0] * len(outs)


custom_jvp_p = CustomPrimitive(
    "custom_jvp_call",
    shape=graph_rules.shape,
    eval=graph_rules.evaluate,
    lower=graph_rules.lower,
    jvp=_push,
    transpose=transpose,
    batch=_batch_jvp,
    partial=partial,
)


def _push_vjp(primitive: Primitive, primals: Any, tangents: Any, params: dict[str, Any]) -> Any:
    rule, captured = params["rule"], params["captured"]
    check_captured(rule, tangents[:captured])
    tangents = tangents[captured:]
    outs, residuals, pull = rule.derive(primals[captured:], [not is_zero(t) for t in tangents])
    avals = [aval_of(o).strip_weak_type() for o in outs]
    real = [differentiable(a) for a in avals]
    active = tuple([differentiable(t.aval if is_zero(t) else aval_of(t)) for t in tangents])
    dots = iter(
        custom_lin_p(
            *residuals,
            *[instantiate(t) for t, on in zip(tangents, active) if on],
            rule=rule,
            pull=Unkeyed(pull),
            count=len(residuals),
            active=active,
            avals=tuple(avals),
        )
    )
    return outs, [next(dots) if r else zero_of(a) for r, a in zip(real, avals)]


def _batch_vjp(primitive: Any, args: Any, dims: Any, size: Any, params: dict[str, Any]) -> Any:
    rule, captured = params["rule"], params["captured"]

    def function(*values: Any) -> list[Any]:
        return batch_front(lambda *xs: run(params, xs), values, dims, size)

    def derive(primals: Sequence[Any], perturbed: Sequence[bool]) -> Any:
        own = dims[captured:]
        count = 0
        pull: Pull

        def forward(*xs: Any) -> list[Any]:
            nonlocal count, pull
            outs, residuals, pull = rule.derive(xs, perturbed[captured:])
            count = len(outs)
            return [*outs, *residuals]

        found, out_dims = batch_flat(forward, primals[captured:], own, size, resumed=size)
        outs = [moveaxis_to_front(o, d, size) for o, d in zip(found[:count], out_dims)]
        residuals, residual_dims = found[count:], out_dims[count:]

        def pulled(values: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
            real = [ct for ct in cts if not is_zero(ct)]
            kept: list[Any] = []

            def one(*parts: Any) -> list[Any]:
                given = iter(parts[len(values) :])
                whole = [zero_of(ct.aval.update(shape=ct.aval.shape[1:])) if is_zero(ct) else next(given) for ct in cts]
                kept[:] = pull(parts[: len(values)], whole)
                return [ct for ct in kept if ct is not None and not is_zero(ct)]

            found, found_dims = batch_flat(one, [*values, *real], [*residual_dims, *[0] * len(real)], size)
            pairs = iter(zip(found, found_dims))
            mine = [None if k is None or is_zero(k) else _unbatched(*next(pairs), d, size) for k, d in zip(kept, own)]
            return [None] * captured + mine

        return outs, residuals, pulled

    outs = call(primitive, Rule(rule.name, function, derive), args)
    return outs, [0] * len(outs)


def _unbatched(ct: Any, dim: int | None, wanted: int | None, size: int) -> Any:
    """A batch of cotangents as one for an operand whose batch axis is `wanted`; without one, they are added."""
    front = moveaxis_to_front(ct, dim, size)
    if wanted is None:
        return reduce_sum(front, (0,))
    rank = aval_of(front).ndim
    order = [*range(1, wanted + 1), 0, *range(wanted + 1, rank)]
    return transpose_p(front, permutation=tuple(order)) if wanted else front


custom_vjp_p = CustomPrimitive(
    "custom_vjp_call",
    shape=graph_rules.shape,
    eval=graph_rules.evaluate,
    lower=graph_rules.lower,
    jvp=_push_vjp,
    transpose=transpose,
    batch=_batch_vjp,
    partial=partial,
)


def _no_forward(rule: Rule) -> TypeError:
    return location.error(
        TypeError,
        f"can't apply forward-mode autodiff (jvp) to a custom_vjp function: {rule.name} says only how cotangents "
        "are pulled back",
        fix="use grad or vjp, or define the function with custom_jvp, from which both modes follow",
    )


def _lin_shape(*operands: ShapedArray, rule: Rule, pull: Any, count: int, active: Any, avals: Any) -> list[ShapedArray]:
    return [a for a in avals if differentiable(a)]


def _lin_eval(*operands: Any, rule: Rule, **params: Any) -> Any:
    raise _no_forward(rule)


def _lin_lower(cx: Any, *operands: Any, rule: Rule, **params: Any) -> Any:
    raise _no_forward(rule)


def _lin_transpose(
    cts: Any, *operands: Any, rule: Rule, pull: Unkeyed[Pull], count: int, active: Sequence[bool], avals: Any
) -> list[Any]:
    given = iter(cts)
    whole = [next(given) if differentiable(a) else zero_of(a) for a in avals]
    found = pull.value(operands[:count], whole)
    return [None] * count + [ct for ct, on in zip(found, active, strict=True) if on]


def _lin_batch(primitive: Primitive, args: Any, dims: Any, size: int, params: dict[str, Any]) -> Any:
    raise _no_forward(params["rule"])


class _ReverseOnly(MultiplePrimitive):
    """Stands for tangents that can only be transposed, not computed."""

    def __call__(self, *args: Any, **params: Any) -> list[Array]:
        if not _records(trace_of(args)):
            raise _no_forward(params["rule"])
        return super().__call__(*args, **params)


def _records(trace: Trace | None) -> bool:
    """Whether what runs under `trace` may be transposed later on."""
    return isinstance(trace, (PartialTrace, GraphTrace, BatchTrace, JvpTrace))


custom_lin_p = _ReverseOnly(
    "custom_lin",
    shape=_lin_shape,
    eval=_lin_eval,
    lower=_lin_lower,
    jvp=MissingRule("custom_vjp functions have no forward mode"),
    transpose=_lin_transpose,
    batch=_lin_batch,
)

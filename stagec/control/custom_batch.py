"""Functions with a custom batching rule: `custom_vmap`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stagec.control import graph_rules
from stagec.control.custom import Rule, check_captured, partial, run, transpose
from stagec.core import errors, location
from stagec.core.array import Array
from stagec.core.primitive import MultiplePrimitive, Primitive
from stagec.core.recording import GraphTrace, trace_flat
from stagec.core.trace import trace_of
from stagec.core.zero import differentiable, is_zero, zero_of
from stagec.primitives.broadcast import instantiate, moveaxis_to_front
from stagec.primitives.operand import aval_of
from stagec.transforms.jvp import jvp_flat


class _CustomVmap(MultiplePrimitive):
    """Runs a function as it is, and its rule under a batch; a rule's `derive` is `(size, batched, values)`.

    `graph` is None until the call is recorded; then `captured` values that it closes over lead its operands.
    """

    def __call__(self, *args: Any, **params: Any) -> list[Array]:
        rule: Rule = params["rule"]
        if trace_of(args) is None:
            return run(params, args)
        if params["graph"] is not None or not isinstance(trace_of(args), GraphTrace):
            return super().__call__(*args, **params)
        graph, found = trace_flat(rule.function, [aval_of(a) for a in args], name=rule.name)
        return super().__call__(*found, *args, graph=graph, rule=rule, captured=len(found))


def _jvp(primitive: Primitive, primals: Any, tangents: Any, params: dict[str, Any]) -> Any:
    """The function and its rule, both differentiated."""
    rule, captured = params["rule"], params["captured"]
    check_captured(rule, tangents[:captured])
    count = len(primals)
    given = [i for i, t in enumerate(tangents) if not is_zero(t)]
    outs: list[Any] = []

    def joined(values: Sequence[Any]) -> tuple[Sequence[Any], list[Any]]:
        dots: list[Any] = [zero_of(aval_of(x)) for x in values[:count]]
        for i, t in zip(given, values[count:]):
            dots[i] = t
        return values[:count], dots

    def function(*values: Any) -> list[Any]:
        outs[:], dots = jvp_flat(lambda *xs: run(params, xs), *joined(values))
        return [*outs, *map(instantiate, dots)]

    def derive(size: int, batched: Sequence[bool], values: Sequence[Any]) -> Any:
        # A value and its tangent are batched together, as the rule knows values only.
        which = list(batched[:count])
        for i, on in zip(given, batched[count:]):
            which[i] |= on
        every = [*which, *[which[i] for i in given]]
        whole = [v if on or not now else moveaxis_to_front(v, None, size) for v, on, now in zip(values, batched, every)]
        kinds: Sequence[bool] = ()

        def ruled(*xs: Any) -> list[Any]:
            nonlocal kinds
            found, kinds = rule.derive(size, which[captured:], xs[captured:])
            return list(found)

        found, dots = jvp_flat(ruled, *joined(whole))
        return [*found, *map(instantiate, dots)], [*kinds, *kinds]

    results = primitive(
        *primals,
        *[tangents[i] for i in given],
        graph=None,
        rule=Rule(rule.name, function, derive),
        captured=0,
    )
    half = len(results) // 2
    found, dots = results[:half], results[half:]
    return found, [d if differentiable(aval_of(o)) else zero_of(aval_of(o)) for o, d in zip(found, dots)]


def _batch(primitive: Primitive, args: Any, dims: Any, size: int, params: dict[str, Any]) -> Any:
    rule, captured = params["rule"], params["captured"]
    if any(d is not None for d in dims[:captured]):
        raise location.error(
            errors.UnsupportedError,
            f"{rule.name} has a custom batching rule, and closes over a value that is batched",
            fix="pass the value as an argument, so that the rule gets its batch",
        )
    values = [moveaxis_to_front(a, d) for a, d in zip(args[captured:], dims[captured:])]
    outs, batched = rule.derive(int(size), [d is not None for d in dims[captured:]], values)
    return outs, [0 if on else None for on in batched]


custom_vmap_p = _CustomVmap(
    "custom_vmap_call",
    shape=graph_rules.shape,
    eval=graph_rules.evaluate,
    lower=graph_rules.lower,
    jvp=_jvp,
    transpose=transpose,
    batch=_batch,
    partial=partial,
)

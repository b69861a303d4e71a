"""`linear_call`: a linear function whose transpose is given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stagec.control import bodies, graph_rules
from stagec.control.derived import batched, push
from stagec.core import errors, location, pytree
from stagec.core.aval import ShapedArray
from stagec.core.callables import R
from stagec.core.graph import Graph, replay
from stagec.core.primitive import MissingRule, MultiplePrimitive, Primitive
from stagec.core.zero import is_linear, is_zero, zero_of
from stagec.primitives.broadcast import instantiate, moveaxis_to_front
from stagec.primitives.operand import aval_of
from stagec.primitives.rules import add_p, no_rule

# Both graphs take `count` values in which they need not be linear, then those in which they are.


def _jvp(primitive: Primitive, primals: Any, tangents: Any, params: dict[str, Any]) -> Any:
    graph, count = params["graph"], params["count"]
    outs = primitive(*primals, **params)
    dots: list[Any] = [zero_of(aval_of(o)) for o in outs]
    if not all(map(is_zero, tangents[count:])):
        dots = primitive(*primals[:count], *map(instantiate, tangents[count:]), **params)
    active = tuple([i < count and not is_zero(t) for i, t in enumerate(tangents)])
    if any(active):
        pushed, kinds = push(graph, active)
        found = replay(pushed, [*primals, *[t for t, on in zip(tangents, active) if on]])
        more = iter(found[len(outs) :])
        dots = [_sum(d, next(more)) if on else d for d, on in zip(dots, kinds)]
    return outs, dots


def _sum(x: Any, y: Any) -> Any:
    return y if is_zero(x) else add_p(x, y)


def _transpose(cts: Any, *operands: Any, graph: Graph, transposed: Graph, count: int) -> list[Any]:
    if any(map(is_linear, operands[:count])):
        why = MissingRule("it is linear in linear_args only", "pass what is differentiated linearly in linear_args")
        raise no_rule(linear_call_p, "transposed", why)
    values = [*operands[:count], *map(instantiate, cts)]
    found = linear_call_p(*values, graph=transposed, transposed=graph, count=count)
    return [None] * count + [ct if is_linear(o) else None for ct, o in zip(found, operands[count:])]


def _batch(primitive: Primitive, args: Any, dims: Any, size: int, params: dict[str, Any]) -> Any:
    graph, transposed, count = params["graph"], params["transposed"], params["count"]
    which = [d is not None for d in dims[:count]]
    values = [moveaxis_to_front(a, d) for a, d in zip(args[:count], dims)]
    # What is linear is batched throughout, so that the two stay each other's transposes.
    values += [moveaxis_to_front(a, d, size) for a, d in zip(args[count:], dims[count:])]
    ins, outs = [True] * (len(args) - count), [True] * len(graph.outputs)
    forward, _ = batched(graph, (*which, *ins), size, tuple(outs))
    backward, _ = batched(transposed, (*which, *outs), size, tuple(ins))
    return primitive(*values, graph=forward, transposed=backward, count=count), [0] * len(outs)


linear_call_p = MultiplePrimitive(
    "linear_call",
    shape=graph_rules.shape,
    eval=graph_rules.evaluate,
    lower=graph_rules.lower,
    jvp=_jvp,
    transpose=_transpose,
    batch=_batch,
)


def linear_call(
    fun: Callable[[Any, Any], R], fun_transpose: Callable[..., Any], residual_args: Any, linear_args: Any
) -> R:
    """`fun(residual_args, linear_args)`, a function that is linear in its second argument, with a given transpose.

    Args:
      fun: linear in its second argument.
      fun_transpose: `(residual_args, cotangent of the result) -> cotangent of linear_args`, linear in its second
        argument. The two are each other's transposes: nothing checks that they agree.
      residual_args, linear_args: pytrees.

    Raises:
      PytreeError: `fun_transpose` returns another structure than that of `linear_args`.
      ShapeError, DtypeError: or other arrays.

    >>> import stagec
    >>> from stagec.custom_derivatives import linear_call
    >>> def divided(x, r):
    ...     return linear_call(lambda r, x: x / r, lambda r, ct: ct / r, r, x)
    >>> float(stagec.grad(divided)(9.0, 4.0))
    0.25
    """
    name = "linear_call"
    residuals, residual_tree = bodies.flatten(residual_args, f"{name}: residual_args")
    values, tree = bodies.flatten(linear_args, f"{name}: linear_args")
    known = [aval_of(r) for r in residuals]
    avals = [aval_of(v) for v in values]
    forward = bodies.record(fun, [residual_tree, tree], [*known, *avals])
    cts = [a.strip_weak_type() for a in forward.out_avals]
    backward = bodies.record(fun_transpose, [residual_tree, forward.out_tree], [*known, *cts])
    check_like(
        f"{name}: fun_transpose", fun_transpose, "linear_args", tree, avals, backward.out_tree, backward.out_avals
    )
    captured, (graph, transposed) = bodies.with_common_captures([forward, backward])
    count = len(captured) + len(residuals)
    outs = linear_call_p(*captured, *residuals, *values, graph=graph, transposed=transposed, count=count)
    return forward.out_tree.unflatten(outs)


def check_like(
    what: str,
    function: Callable[..., Any],
    wanted: str,
    tree: pytree.PyTreeDef,
    avals: Sequence[ShapedArray],
    own_tree: pytree.PyTreeDef,
    own_avals: Sequence[ShapedArray],
) -> None:
    """Raise unless a function returned the structure and avals of an argument.

    Args:
      wanted: the argument's name.
      own_avals: of what was returned; more may follow, which are not compared.
    """
    if own_tree != tree:
        raise location.error(
            errors.PytreeError,
            f"{what}, {location.of_function(function)}, must return the structure of {wanted}",
            [(wanted, str(tree), ""), ("returned", str(own_tree), "")],
            f"return the containers of {wanted}",
        )
    for path, own, aval in zip(pytree.leaf_paths(tree), own_avals, avals):
        if (own.shape, own.dtype) == (aval.shape, aval.dtype):
            continue
        kind: type[errors.StagecError] = errors.DtypeError if own.shape == aval.shape else errors.ShapeError
        raise location.error(
            kind,
            f"{what}, {location.of_function(function)}, must return {aval.long()}, as {wanted} is, but returned "
            f"{own.long()}",
            [(f"{wanted}{pytree.keystr(path)}", aval.long(), ""), (f"result{pytree.keystr(path)}", own.long(), "")],
            f"return arrays of the shapes and dtypes of {wanted}",
        )

"""`while_loop` and `fori_loop`: loops whose number of rounds is decided while the program runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from stagec.control import bodies, while_rules
from stagec.control.scan import scan_p, unrolled
from stagec.control.variation import check_variation
from stagec.core import dtypes, errors, location
from stagec.core.aval import ShapedArray
from stagec.core.callables import R
from stagec.core.functions import Role, check_callable
from stagec.core.graph import Graph, replay
from stagec.core.primitive import MultiplePrimitive
from stagec.core.pytree import LEAF
from stagec.core.recording import trace_closed
from stagec.core.trace import Tracer
from stagec.primitives import arithmetic, logic, references
from stagec.primitives.convert import as_array, convert_element_type
from stagec.primitives.operand import Operand, as_operand, aval_of, literal
from stagec.typing import ArrayLike

__all__ = ["fori_loop", "while_loop", "while_p"]


def _shape(*avals: ShapedArray, cond: Graph, body: Graph, cond_consts: int, body_consts: int) -> list[ShapedArray]:
    return body.out_avals


def _parts(values: Any, cond_consts: int, body_consts: int) -> tuple[list[Any], list[Any], list[Any]]:
    values = list(values)
    first = cond_consts + body_consts
    return values[:cond_consts], values[cond_consts:first], values[first:]


def _eval(*arrays: Any, cond: Graph, body: Graph, cond_consts: int, body_consts: int) -> list[Any]:
    cond_values, body_values, carry = _parts(arrays, cond_consts, body_consts)
    while bodies.evaluate(cond, [*cond_values, *carry])[0]:
        carry = bodies.evaluate(body, [*body_values, *carry])
    return carry


def _lower(cx: Any, *values: Any, cond: Graph, body: Graph, cond_consts: int, body_consts: int) -> Any:
    tracers = cx.tracers(values, cx.in_avals)
    cond_values, body_values, _ = _parts(tracers, cond_consts, body_consts)
    carry = list(values[cond_consts + body_consts :])
    avals = cx.in_avals[cond_consts + body_consts :]
    return bodies.emit_while(
        cx,
        carry,
        avals,
        lambda *state: replay(cond, [*cond_values, *state]),
        lambda *state: replay(body, [*body_values, *state]),
    )


while_p: MultiplePrimitive = MultiplePrimitive(
    "while",
    shape=_shape,
    eval=_eval,
    lower=_lower,
    jvp=while_rules.jvp,
    transpose=lambda cts, *operands, **params: while_rules.transpose(while_p, cts, *operands, **params),
    batch=while_rules.batch,
    partial=lambda trace, args, params: while_rules.partial(while_p, trace, args, params),
    trim=while_rules.trim,
)


def while_loop(cond_fun: Callable[[Any], ArrayLike], body_fun: Callable[[Any], R], init_val: Any) -> R:
    """Repeat `carry = body_fun(carry)` while `cond_fun(carry)` is true.

    Args:
      cond_fun: `carry -> bool of rank 0`.
      body_fun: `carry -> carry`. Both are traced once, and once more where a
        Python number in `init_val` takes another dtype in the loop.
      init_val: pytree; the carry keeps its structure, shapes and dtypes.

    Returns:
      The last carry.

    Raises:
      CarryError: `body_fun` changed the carry's structure, shapes or dtypes.
      ShapeError: `cond_fun` returned an array with axes.
      DtypeError: `cond_fun` returned something that is not a boolean.

    >>> from stagec import lax
    >>> lax.while_loop(lambda n: n < 100, lambda n: 3 * n, 1)
    Array(243, dtype=int32, weak_type=True)
    """
    check_callable("while_loop", "stagec.lax.while_loop(cond, body, x)", cond_fun, body_fun)
    operands, tree = bodies.flatten(init_val, "while_loop: init_val")
    if bodies.runs_in_python(*operands):
        carry = tree.unflatten([as_array(o) for o in operands])
        while cond_fun(carry):
            carry = body_fun(carry)
        return carry
    avals, outer = [aval_of(o) for o in operands], [(o, False) for o in operands]
    body = bodies.record(body_fun, [tree], avals, role=Role("while_loop: body_fun", ("carry",)), outer=outer)
    operands, avals, changed = bodies.promote_weak(operands, body.out_avals)
    if changed:  # the function takes its arguments
        body = bodies.record(body_fun, [tree], avals, outer=outer)
    bodies.check_carry("while_loop", body_fun, tree, avals, body.out_tree, body.out_avals)
    check_variation("while_loop", body_fun, tree, operands, body)
    condition = bodies.record(cond_fun, [tree], avals, role=Role("while_loop: cond_fun", ("carry",)))
    _check_condition(cond_fun, condition)
    if body.written:
        refs = body.written
        start = ([references.read(r) for r in refs], tree.unflatten(operands))
        unfinished, step = references.carrying(refs, cond_fun), references.carrying(refs, body_fun)
        values, carry = while_loop(lambda state: unfinished(*state)[1], lambda state: step(*state), start)
        references.write_all(refs, values)
        return cast(R, carry)
    results = while_p(
        *condition.captured,
        *body.captured,
        *operands,
        cond=condition.graph,
        body=body.graph,
        cond_consts=len(condition.captured),
        body_consts=len(body.captured),
    )
    return tree.unflatten(results)


def _check_condition(function: Callable[..., Any], condition: bodies.Body) -> None:
    name, avals = location.of_function(function), condition.out_avals
    if condition.out_tree != LEAF:
        raise location.error(
            errors.PytreeError,
            f"while_loop: {name} must return one boolean",
            [("returned", str(condition.out_tree), "")],
            "return the condition alone, as in lambda carry: carry[0] < 10",
        )
    if condition.written:
        raise location.error(
            errors.UnsupportedError,
            f"while_loop: {name} writes a reference; a condition reads only",
            [("reference", condition.written[0].aval.long(), "")],
            "write it in body_fun",
        )
    if avals[0].shape:
        raise location.error(
            errors.ShapeError,
            f"while_loop: {name} must return a boolean of rank 0, got {avals[0].long()}",
            fix="reduce it with .any() or .all()",
        )
    if avals[0].dtype != dtypes.bool_:
        raise location.error(
            errors.DtypeError,
            f"while_loop: {name} must return a boolean, got {avals[0].long()}",
            fix="compare, as in carry != 0",
        )


def fori_loop(
    lower: ArrayLike,
    upper: ArrayLike,
    body_fun: Callable[[Any, Any], R],
    init_val: Any,
    *,
    unroll: int | bool | None = None,
) -> R:
    """`for i in range(lower, upper): carry = body_fun(i, carry)`, inside the program.

    Args:
      lower, upper: integers of rank 0. Where both are known while tracing, the
        loop is a `scan`; otherwise it is a `while_loop`.
      body_fun: `(i, carry) -> carry`. Traced once, and once more where a Python
        number in `init_val` takes another dtype in the loop.
      init_val: pytree; the carry keeps its structure, shapes and dtypes.
      unroll: the number of rounds that one round of the compiled loop holds; for known bounds only.

    Returns:
      The last carry.

    Raises:
      CarryError: `body_fun` changed the carry's structure, shapes or dtypes.
      DtypeError: a bound is not an integer, or the two have different dtypes.

    >>> from stagec import lax
    >>> lax.fori_loop(0, 5, lambda i, total: total + i, 0)
    Array(10, dtype=int32, weak_type=True)
    """
    check_callable("fori_loop", "stagec.lax.fori_loop(0, n, f, x)", body_fun)
    low, high = _bounds(lower, upper)
    known = not isinstance(low, Tracer) and not isinstance(high, Tracer)
    operands, tree = bodies.flatten(init_val, "fori_loop: init_val")
    if known and bodies.runs_in_python(*operands):
        carry = tree.unflatten([as_array(o) for o in operands])
        for i in range(bodies.number(low), bodies.number(high)):
            carry = body_fun(as_array(literal(i, aval_of(low).dtype, aval_of(low).weak_type)), carry)
        return carry
    index = aval_of(low)
    avals, outer = [aval_of(o) for o in operands], [(None, False), *[(o, False) for o in operands]]
    role = Role("fori_loop: body_fun", ("i", "carry"))
    body = bodies.record(body_fun, [LEAF, tree], [index, *avals], role=role, outer=outer)
    operands, avals, changed = bodies.promote_weak(operands, body.out_avals)
    if changed:
        body = bodies.record(body_fun, [LEAF, tree], [index, *avals], outer=outer)
    bodies.check_carry("fori_loop", body_fun, tree, avals, body.out_tree, body.out_avals)
    check_variation("fori_loop", body_fun, tree, operands, body)
    if body.written:
        refs, step_with = body.written, references.carrying(body.written, body_fun)
        start = ([references.read(r) for r in refs], tree.unflatten(operands))
        values, carry = fori_loop(lower, upper, lambda i, state: step_with(state[0], i, state[1]), start, unroll=unroll)
        references.write_all(refs, values)
        return cast(R, carry)
    consts = [aval_of(c) for c in body.captured]

    one = literal(1, index.dtype, True)

    if known:

        def step(*values: Any) -> list[Operand]:
            return [arithmetic.add(values[len(consts)], one), *replay(body.graph, values)]

        graph = trace_closed(step, [*consts, index, *avals], name="step")
        results = scan_p(
            *body.captured,
            low,
            *operands,
            graph=graph,
            length=max(bodies.number(high) - bodies.number(low), 0),
            reverse=False,
            unroll=unrolled("fori_loop", unroll),
            num_consts=len(consts),
            num_carry=1 + len(operands),
        )
        return tree.unflatten(results[1:])

    if unroll not in (None, 1, False):
        fix = "leave unroll out, or make the bounds Python integers"
        raise location.error(errors.UnsupportedError, "fori_loop: unroll needs bounds known while tracing", fix=fix)

    def unfinished(i: Any, end: Any, *values: Any) -> list[Operand]:
        return [logic.lt(i, end)]

    def advance(*values: Any) -> list[Operand]:
        first, (i, end, *carry) = values[: len(consts)], values[len(consts) :]
        return [arithmetic.add(i, one), end, *replay(body.graph, [*first, i, *carry])]

    state = [index, aval_of(high), *avals]
    condition = trace_closed(unfinished, state, name="unfinished")
    graph = trace_closed(advance, [*consts, *state], name="advance")
    results = while_p(
        *body.captured, low, high, *operands, cond=condition, body=graph, cond_consts=0, body_consts=len(consts)
    )
    return tree.unflatten(results[2:])


def _bounds(lower: Any, upper: Any) -> list[Operand]:
    """Both bounds as operands of one integer dtype."""
    bounds = [as_operand(lower, "fori_loop: lower"), as_operand(upper, "fori_loop: upper")]
    avals = [aval_of(b) for b in bounds]
    rows = [(n, a.long(), "") for n, a in zip(("lower", "upper"), avals)]
    if any(a.shape for a in avals):
        what = "fori_loop: the bounds must have rank 0"
        raise location.error(errors.ShapeError, what, rows, "index the bounds first, as in n[0]")
    if not all(dtypes.is_integer(a.dtype) for a in avals):
        what = "fori_loop: the bounds must be integers"
        raise location.error(errors.DtypeError, what, rows, "convert them with astype(int)")
    if avals[0].dtype == avals[1].dtype:
        return bounds
    for i in (0, 1):
        # A Python integer takes the dtype of the other bound.
        if avals[i].weak_type and not avals[1 - i].weak_type:
            bounds[i] = convert_element_type(bounds[i], avals[1 - i].dtype, True)
            return bounds
    what = "fori_loop: the bounds have different dtypes"
    raise location.error(errors.DtypeError, what, rows, "convert one of them with astype")

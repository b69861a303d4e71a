"""`custom_linear_solve`: solutions of linear equations, with derivatives that do not go through the solver."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stagec.control import bodies
from stagec.control.derived import batched, pull, push
from stagec.control.linear_call import check_like
from stagec.core import errors, location, pytree
from stagec.core.aval import ShapedArray
from stagec.core.callables import R
from stagec.core.graph import Graph, replay
from stagec.core.primitive import MissingRule, MultiplePrimitive, Primitive
from stagec.core.zero import is_linear, is_zero, zero_of
from stagec.primitives import arithmetic
from stagec.primitives.broadcast import instantiate, moveaxis_to_front
from stagec.primitives.operand import aval_of, check_matrix
from stagec.primitives.rules import no_rule

Solver = Callable[[Callable[..., Any], Any], Any]

# All graphs take `count` values that they close over, then a vector. `matvec` maps it, `solve` and `transpose_solve`
# return solutions, perhaps followed by auxiliary results. `transpose_solve` may be None.


def _shape(*avals: ShapedArray, solve: Graph, **params: Any) -> list[ShapedArray]:
    return solve.out_avals


def _eval(*arrays: Any, solve: Graph, **params: Any) -> list[Any]:
    return bodies.evaluate(solve, arrays)


def _lower(cx: Any, *values: Any, solve: Graph, **params: Any) -> list[Any]:
    return cx.apply(lambda *args: replay(solve, args), *values, avals=solve.in_avals)


def _jvp(primitive: Primitive, primals: Any, tangents: Any, params: dict[str, Any]) -> Any:
    """A x = b gives A dx = db - dA x."""
    matvec, count = params["matvec"], params["count"]
    outs = primitive(*primals, **params)
    zeros = [zero_of(aval_of(o)) for o in outs]
    if all(map(is_zero, tangents)):
        return outs, zeros
    size = len(primals) - count
    active = (*[not is_zero(t) for t in tangents[:count]], *[False] * size)
    right = list(tangents[count:])
    if any(active):
        pushed, kinds = push(matvec, active)
        found = replay(pushed, [*primals[:count], *outs[:size], *[t for t, on in zip(tangents, active) if on]])
        moved = iter(found[size:])
        right = [_minus(t, next(moved)) if on else t for t, on in zip(right, kinds)]
    dots = primitive(*primals[:count], *map(instantiate, right), **params)
    return outs, [*dots[:size], *zeros[size:]]


def _minus(x: Any, y: Any) -> Any:
    return arithmetic.neg(y) if is_zero(x) else arithmetic.sub(x, y)


_NO_TRANSPOSE = MissingRule(
    "custom_linear_solve got no transpose_solve",
    "give transpose_solve, or symmetric=True if matvec is its own transpose",
)


def _transpose(
    cts: Any, *operands: Any, matvec: Graph, solve: Graph, transpose_solve: Graph | None, count: int
) -> list[Any]:
    if transpose_solve is None:
        raise no_rule(linear_solve_p, "transposed", _NO_TRANSPOSE)
    check_matrix(*operands[:count])
    size = len(operands) - count
    turned, _ = pull(matvec, (False,) * count + (True,) * size, (True,) * size, (True,) * size)
    found = linear_solve_p(
        *operands[:count],
        *map(instantiate, cts[:size]),
        matvec=turned,
        solve=transpose_solve,
        transpose_solve=solve,
        count=count,
    )
    return [None] * count + [ct if is_linear(o) else None for ct, o in zip(found, operands[count:])]


def _batch(primitive: Primitive, args: Any, dims: Any, size: int, params: dict[str, Any]) -> Any:
    count = params["count"]
    which = tuple([d is not None for d in dims[:count]]) + (True,) * (len(args) - count)
    values = [moveaxis_to_front(a, d) for a, d in zip(args[:count], dims)]
    values += [moveaxis_to_front(a, d, size) for a, d in zip(args[count:], dims[count:])]

    def whole(graph: Graph | None) -> Graph | None:
        return None if graph is None else batched(graph, which, size, (True,) * len(graph.outputs))[0]

    graphs = {name: whole(params[name]) for name in ("matvec", "solve", "transpose_solve")}
    outs = primitive(*values, **graphs, count=count)
    return outs, [0] * len(outs)


linear_solve_p = MultiplePrimitive(
    "custom_linear_solve",
    shape=_shape,
    eval=_eval,
    lower=_lower,
    jvp=_jvp,
    transpose=_transpose,
    batch=_batch,
)


def custom_linear_solve(
    matvec: Callable[..., Any],
    b: Any,
    solve: Callable[[Callable[..., Any], Any], R],
    transpose_solve: Solver | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> R:
    """The solution of `matvec(x) == b`, found by `solve`, and differentiated by solving again.

    Derivatives do not go through `solve`, which may hold loops of any kind. They follow from the equation, with
    respect to `b` and to what `matvec` closes over.

    Args:
      matvec: a linear function of pytrees like `b`; it may close over arrays.
      b: a pytree of floating-point or complex arrays.
      solve: `(matvec, b) -> x`.
      transpose_solve: the same for the transpose of `matvec`, which it is passed. Needed for reverse mode.
      symmetric: `matvec` is its own transpose, so that `solve` serves for both.
      has_aux: the solvers return `(x, aux)`; so does this function. `aux` has no derivative.

    Raises:
      PytreeError, ShapeError, DtypeError: `matvec` or a solver does not return what `b` is.

    >>> import stagec, stagec.numpy as snp
    >>> from stagec import lax
    >>> def f(a, b):
    ...     return lax.custom_linear_solve(lambda x: a * x, b, lambda matvec, b: b / a, symmetric=True)
    >>> stagec.grad(f, argnums=(0, 1))(2.0, 3.0)
    (Array(-0.75, dtype=float32, weak_type=True), Array(0.5, dtype=float32, weak_type=True))
    """
    name = "custom_linear_solve"
    values, tree = bodies.flatten(b, f"{name}: b")
    avals = [aval_of(v) for v in values]
    product = bodies.record(matvec, [tree], avals)
    check_like(f"{name}: matvec", matvec, "b", tree, avals, product.out_tree, product.out_avals)

    def solver(given: Solver, function: Callable[..., Any], what: str) -> bodies.Body:
        def run(right: Any) -> Any:
            return given(function, right)

        run.__name__ = getattr(given, "__name__", what)
        body = bodies.record(run, [tree], avals)
        solution = solution_tree(f"{name}: {what}", given, body.out_tree, has_aux)
        check_like(f"{name}: {what}", given, "b", tree, avals, solution, body.out_avals)
        return body

    def turned(ct: Any) -> Any:
        leaves, _ = bodies.flatten(ct, f"{name}: the argument of vecmat")
        size = len(avals)
        consts = len(product.captured)
        graph, _ = pull(product.graph, (False,) * consts + (True,) * size, (True,) * size, (True,) * size)
        return tree.unflatten(replay(graph, [*product.captured, *leaves]))

    recorded = [product, solver(solve, matvec, "solve")]
    if transpose_solve is not None:
        recorded.append(solver(transpose_solve, turned, "transpose_solve"))
    captured, graphs = bodies.with_common_captures(recorded)
    transposed = graphs[2] if transpose_solve is not None else graphs[1] if symmetric else None
    outs = linear_solve_p(
        *captured, *values, matvec=graphs[0], solve=graphs[1], transpose_solve=transposed, count=len(captured)
    )
    return recorded[1].out_tree.unflatten(outs)


def solution_tree(what: str, function: Any, tree: pytree.PyTreeDef, has_aux: bool) -> pytree.PyTreeDef:
    """The structure of the solution in what a solver returned."""
    if not has_aux:
        return tree
    children = tree.children()
    if len(children) != 2:
        raise location.error(
            errors.PytreeError,
            f"{what}, {location.of_function(function)}, must return (solution, aux), as has_aux=True says",
            [("returned", str(tree), "")],
            "return a pair, or leave has_aux out",
        )
    return children[0]

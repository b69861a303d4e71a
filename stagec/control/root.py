"""`custom_root`: roots of functions, with derivatives that do not go through the solver."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stagec.control import bodies
from stagec.control.custom import Rule, call, custom_jvp_p
from stagec.control.derived import push
from stagec.control.linear_call import check_like
from stagec.control.linear_solve import solution_tree
from stagec.core.callables import R
from stagec.core.graph import replay
from stagec.core.zero import is_zero, zero_of
from stagec.primitives import arithmetic
from stagec.primitives.broadcast import instantiate
from stagec.primitives.convert import as_array
from stagec.primitives.operand import aval_of
from stagec.transforms.linearize import linearize_flat

Solver = Callable[[Callable[..., Any], Any], Any]


def custom_root(
    f: Callable[..., Any],
    initial_guess: Any,
    solve: Callable[[Callable[..., Any], Any], R],
    tangent_solve: Solver,
    has_aux: bool = False,
) -> R:
    """A root of `f`, found by `solve`, and differentiated by the implicit function theorem.

    Derivatives do not go through `solve`. They are with respect to what `f` closes over; the guess has none.

    Args:
      f: a function of a pytree like `initial_guess`, which returns one like it.
      initial_guess: a pytree of floating-point arrays.
      solve: `(f, initial_guess) -> x` with `f(x) == 0`.
      tangent_solve: `(g, y) -> x` with `g(x) == y`, where `g` is `f` linearized at the root. For scalars,
        `lambda g, y: y / g(1.0)`.
      has_aux: `solve` returns `(x, aux)`; so does this function. `aux` has no derivative.

    Raises:
      PytreeError, ShapeError, DtypeError: `f`, `solve` or `tangent_solve` does not return what `initial_guess` is.

    >>> import stagec, stagec.numpy as snp
    >>> from stagec import lax
    >>> def root(a):
    ...     def newton(f, x):
    ...         return lax.fori_loop(0, 6, lambda _, x: x - f(x) / stagec.grad(f)(x), x)
    ...     return lax.custom_root(lambda x: x**2 - a, 1.0, newton, lambda g, y: y / g(1.0))
    >>> [round(float(y), 4) for y in stagec.value_and_grad(root)(2.0)]
    [1.4142, 0.3536]
    """
    name = "custom_root"
    guess, tree = bodies.flatten(initial_guess, f"{name}: initial_guess")
    avals = [aval_of(g) for g in guess]
    size = len(avals)
    function = bodies.record(f, [tree], avals)
    check_like(f"{name}: f", f, "initial_guess", tree, avals, function.out_tree, function.out_avals)

    def run(first: Any) -> Any:
        return solve(f, first)

    run.__name__ = getattr(solve, "__name__", "solve")
    solved = bodies.record(run, [tree], avals)
    root_tree = solution_tree(f"{name}: solve", solve, solved.out_tree, has_aux)
    check_like(f"{name}: solve", solve, "initial_guess", tree, avals, root_tree, solved.out_avals)
    captured, (graph, solver) = bodies.with_common_captures([function, solved])
    count = len(captured)

    def found(*values: Any) -> list[Any]:
        return replay(solver, values)

    def derive(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        # Not by the solver: this may be differentiated again.
        outs = call(custom_jvp_p, rule, primals)
        zeros = [zero_of(aval_of(o)) for o in outs]
        consts, root = list(primals[:count]), outs[:size]
        active = (*[not is_zero(t) for t in tangents[:count]], *[False] * size)
        if not any(active):
            return outs, zeros
        pushed, kinds = push(graph, active)
        moved = iter(replay(pushed, [*consts, *root, *[t for t, on in zip(tangents, active) if on]])[size:])
        right = [arithmetic.neg(next(moved)) if on else instantiate(zero_of(a)) for on, a in zip(kinds, avals)]
        _, linear = linearize_flat(lambda *xs: replay(graph, [*consts, *xs]), root)

        def slope(x: Any) -> Any:
            leaves, _ = bodies.flatten(x, f"{name}: the argument of g")
            return tree.unflatten([as_array(instantiate(y)) for y in linear(leaves)])

        solution = tangent_solve(slope, tree.unflatten(map(as_array, right)))
        leaves, own = bodies.flatten(solution, f"{name}: the result of tangent_solve")
        returned = [aval_of(leaf) for leaf in leaves]
        check_like(f"{name}: tangent_solve", tangent_solve, "initial_guess", tree, avals, own, returned)
        return outs, [*leaves, *zeros[size:]]

    rule = Rule(name, found, derive)
    outs = call(custom_jvp_p, rule, [*captured, *guess])
    return solved.out_tree.unflatten([as_array(o) for o in outs])

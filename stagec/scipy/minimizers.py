"""BFGS and limited-memory BFGS (Nocedal and Wright, Numerical Optimization, algorithms 6.1 and 7.4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from stagec.control.loops import fori_loop, while_loop
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.zero import Linear
from stagec.numpy.conditionals import where
from stagec.numpy.creation import eye, zeros, zeros_like
from stagec.numpy.extremes import minimum
from stagec.numpy.linear import matmul, outer, vdot
from stagec.numpy.logical import isfinite
from stagec.numpy.manipulation import roll
from stagec.numpy.norms import norm
from stagec.primitives.convert import as_array
from stagec.primitives.operand import aval_of, literal
from stagec.scipy.line_search import Found, wolfe_step
from stagec.transforms.linearize import linearize_flat
from stagec.transforms.transpose import transpose_graph

Objective = Callable[[Any], Any]


class State(NamedTuple):
    """The state of a minimization."""

    x: Any
    value: Any
    gradient: Any
    steps: Any
    calls: Any
    converged: Any
    # The status of the last line search, or of the decrease: 0 while the iteration goes on.
    stopped: Any
    memory: Any


def value_and_gradient(function: Objective) -> Callable[[Any], tuple[Any, Any]]:
    """Return a function that computes a scalar function's value and gradient at a vector."""

    def both(x: Array) -> tuple[Any, Any]:
        (value,), linear = linearize_flat(lambda v: [function(as_array(v))], [x])
        if linear.outs[0] is not None:
            return as_array(value), zeros_like(x)
        graph = linear.graph
        operands = [*linear.residuals, Linear(graph.inputs[-1].aval)]
        (ct,) = transpose_graph(graph, operands, [literal(1, aval_of(value).dtype)])[len(linear.residuals) :]
        return as_array(value), as_array(ct)

    return both


def bfgs(
    function: Objective, x: Any, most: int, gtol: float, order: Any, line_search_maxiter: int
) -> tuple[State, Any, Any]:
    """Minimize with an estimate of the whole inverse Hessian.

    Returns:
      The last state, the inverse Hessian, and a status: 0 converged, 1 too many steps, 3 or 5 failed line search.
    """
    both = value_and_gradient(function)
    size = aval_of(x).size
    value, gradient = both(x)
    identity = eye(size, dtype=aval_of(x).dtype)

    def step(state: State) -> State:
        direction = -matmul(state.memory, state.gradient)
        found, moved, change, curvature, rho = _searched(both, state, direction, line_search_maxiter)
        left = identity - rho * outer(moved, change)
        memory = matmul(matmul(left, state.memory), left.T) + rho * outer(moved, moved)
        stopped = where(found.success, 0, where(found.count >= line_search_maxiter, 5, 3))
        return _next(state, found, moved, where(curvature > 0, memory, state.memory), gtol, order, stopped)

    begin = State(x, value, gradient, 0, 1, norm(gradient, order) < gtol, 0, identity)
    last = while_loop(lambda s: ~s.converged & (s.steps < most) & (s.stopped == 0), step, begin)
    status = where(last.converged, 0, where(last.stopped != 0, last.stopped, 1))
    return last, last.memory, status


class _Pairs(NamedTuple):
    """The last steps and changes of the gradient, the latest last; rho is zero for pairs that do not exist yet."""

    moves: Array
    changes: Array
    rhos: Array
    scale: Array


def lbfgs(
    function: Objective, x: Any, most: int, calls: int, order: Any, count: int, ftol: float, gtol: float, maxls: int
) -> tuple[State, Any]:
    """Minimize with the last `count` steps in place of the inverse Hessian.

    Returns:
      The last state, and a status: 0 converged, 1 too many steps, 2 too many calls, 4 no more decrease, 5 the line
      search failed.
    """
    both = value_and_gradient(function)
    aval = aval_of(x)
    value, gradient = both(x)

    def step(state: State) -> State:
        direction = -_times(state.memory, state.gradient, count, aval)
        found, moved, change, curvature, rho = _searched(both, state, direction, maxls)
        kept = state.memory
        new = _Pairs(
            roll(kept.moves, -1, 0).at[-1].set(moved),
            roll(kept.changes, -1, 0).at[-1].set(change),
            roll(kept.rhos, -1).at[-1].set(rho),
            where(curvature > 0, curvature / vdot(change, change), kept.scale),
        )
        flat = state.value - found.value < ftol
        stopped = where(found.success, where(flat, 4, 0), 5)
        return _next(state, found, moved, new, gtol, order, stopped)

    nothing = zeros((count, aval.size), dtype=aval.dtype)
    one = 0 * value + 1
    pairs = _Pairs(nothing, nothing, zeros((count,), dtype=aval.dtype), one)
    begin = State(x, value, gradient, 0, 1, norm(gradient, order) < gtol, 0, pairs)
    last = while_loop(lambda s: ~s.converged & (s.steps < most) & (s.calls < calls) & (s.stopped == 0), step, begin)
    limit = where(last.steps >= most, 1, 2)
    return last, where(last.converged, 0, where(last.stopped != 0, last.stopped, limit))


def _times(pairs: _Pairs, vector: Array, count: int, aval: ShapedArray) -> Array:
    """Multiply the inverse Hessian of the pairs by a vector: the two-loop recursion."""

    def down(i: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        vector, weights = state
        j = count - 1 - i
        weight = pairs.rhos[j] * vdot(pairs.moves[j], vector)
        return vector - weight * pairs.changes[j], weights.at[j].set(weight)

    def up(j: Array, vector: Array) -> Array:
        return vector + pairs.moves[j] * (weights[j] - pairs.rhos[j] * vdot(pairs.changes[j], vector))

    vector, weights = fori_loop(0, count, down, (vector, zeros((count,), dtype=aval.dtype)))
    return fori_loop(0, count, up, pairs.scale * vector)


def _searched(both: Callable[[Any], Any], state: State, direction: Any, most: int) -> tuple[Found, Any, Any, Any, Any]:
    """Search along a direction: what is found, the step, the change of the gradient, their product, and its inverse.

    The inverse is 0 where the product is not positive.
    """
    found = wolfe_step(both, state.x, direction, state.value, state.gradient, _first(state, direction), most)
    moved = found.step * direction
    change = found.gradient - state.gradient
    curvature = vdot(change, moved)
    sound = curvature > 0
    return found, moved, change, curvature, where(sound, 1 / where(sound, curvature, 1), 0)


def _first(state: State, direction: Any) -> Array:
    """Return the first step to try: a full one, but in the first iteration, of length 1 at most."""
    one = 0 * state.value + 1
    return where(state.steps == 0, minimum(one, 1 / norm(direction)), one)


def _next(state: State, found: Found, moved: Any, memory: Any, gtol: float, order: Any, stopped: Any) -> State:
    # NaN, or a value that does not decrease, ends the iteration at the previous point.
    failed = ~isfinite(found.value) | (found.step == 0)
    converged = ~failed & (norm(found.gradient, order) < gtol)
    x, value, gradient = (
        where(failed, a, b)
        for a, b in ((state.x, state.x + moved), (state.value, found.value), (state.gradient, found.gradient))
    )
    calls = state.calls + found.count
    return State(x, value, gradient, state.steps + 1, calls, converged, where(failed, 3, stopped), memory)

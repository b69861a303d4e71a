"""`jax.example_libraries.optimizers`: an optimizer is a triple of functions, `init`, `update` and `get_params`.

Each optimizer is defined by a rule for a single array: how its state begins, and how a step changes array and state.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import stagec.numpy as snp
from stagec import tree
from stagec.core import errors, location

__all__ = [
    "JoinPoint", "Optimizer", "OptimizerState", "adagrad", "adam", "adamax", "clip_grads", "constant",
    "exponential_decay", "inverse_time_decay", "l2_norm", "make_schedule", "momentum", "nesterov",
    "pack_optimizer_state", "piecewise_constant", "polynomial_decay", "rmsprop", "rmsprop_momentum", "sgd", "sm3",
    "unpack_optimizer_state",
]  # fmt: skip

Schedule = Callable[[Any], Any]


class OptimizerState(NamedTuple):
    """Parameters, and what the optimizer keeps for each array of them."""

    params: Any
    kept: Any


class JoinPoint:
    """What an optimizer has for one array of parameters: the array, then what is kept for it."""

    def __init__(self, subtree: tuple[Any, ...]) -> None:
        self.subtree = subtree

    def __iter__(self) -> Iterator[Any]:
        return iter([self.subtree])


def unpack_optimizer_state(opt_state: OptimizerState) -> Any:
    """A pytree like the parameters with a `JoinPoint` for each array, to be written to a file."""
    return tree.map(lambda x, kept: JoinPoint((x, *kept)), opt_state.params, opt_state.kept)


def pack_optimizer_state(marked_pytree: Any) -> OptimizerState:
    """The state of an optimizer, from what `unpack_optimizer_state` returned."""
    params, kept = [tree.map(lambda p, part=part: p.subtree[part], marked_pytree) for part in (0, slice(1, None))]
    return OptimizerState(params, kept)


class Optimizer(NamedTuple):
    """`init(params) -> state`, `update(i, gradients, state) -> state` and `get_params(state) -> params`."""

    init_fn: Callable[[Any], OptimizerState]
    update_fn: Callable[[Any, Any, OptimizerState], OptimizerState]
    params_fn: Callable[[OptimizerState], Any]


def _optimizer(start: Callable[[Any], tuple[Any, ...]], step: Callable[..., tuple[Any, ...]]) -> Optimizer:
    """An optimizer from what is kept for an array at first, and `(i, gradient, array, *kept) -> (array, *kept)`."""

    def init(params: Any) -> OptimizerState:
        return OptimizerState(params, tree.map(lambda x: start(snp.asarray(x)), params))

    def update(i: Any, gradients: Any, state: OptimizerState) -> OptimizerState:
        found = tree.map(lambda x, g, kept: step(i, g, x, *kept), state.params, gradients, state.kept)
        params, kept = [tree.map(lambda x, f, part=part: f[part], state.params, found) for part in (0, slice(1, None))]
        return OptimizerState(params, kept)

    return Optimizer(init, update, lambda state: state.params)


def _zeros(count: int) -> Callable[[Any], tuple[Any, ...]]:
    return lambda x: tuple([snp.zeros_like(x) for _ in range(count)])


def sgd(step_size: Any) -> Optimizer:
    """Gradient descent; `step_size` is a number, or a function of the step."""
    rate = make_schedule(step_size)
    return _optimizer(_zeros(0), lambda i, g, x: (x - rate(i) * g,))


def momentum(step_size: Any, mass: float) -> Optimizer:
    """Gradient descent with a velocity, of which a step keeps the part `mass`."""
    rate = make_schedule(step_size)

    def step(i: Any, g: Any, x: Any, v: Any) -> tuple[Any, ...]:
        v = mass * v + g
        return x - rate(i) * v, v

    return _optimizer(_zeros(1), step)


def nesterov(step_size: Any, mass: float) -> Optimizer:
    """Nesterov's accelerated gradient descent."""
    rate = make_schedule(step_size)

    def step(i: Any, g: Any, x: Any, v: Any) -> tuple[Any, ...]:
        v = mass * v + g
        return x - rate(i) * (mass * v + g), v

    return _optimizer(_zeros(1), step)


def _inverse_root(x: Any) -> Any:
    positive = x > 0
    return snp.where(positive, 1 / snp.sqrt(snp.where(positive, x, 1)), 0)


def adagrad(step_size: Any, momentum: float = 0.9) -> Optimizer:
    """Adagrad: steps in units of the root of the sum of all squared gradients."""
    rate = make_schedule(step_size)

    def step(i: Any, g: Any, x: Any, total: Any, m: Any) -> tuple[Any, ...]:
        total = total + g**2
        m = momentum * m + (1 - momentum) * g * _inverse_root(total)
        return x - rate(i) * m, total, m

    return _optimizer(_zeros(2), step)


def rmsprop(step_size: Any, gamma: float = 0.9, eps: float = 1e-8) -> Optimizer:
    """RMSProp: steps in units of the root of the mean squared gradient."""
    return rmsprop_momentum(step_size, gamma, eps, 0.0)


def rmsprop_momentum(step_size: Any, gamma: float = 0.9, eps: float = 1e-8, momentum: float = 0.9) -> Optimizer:
    """RMSProp with momentum."""
    rate = make_schedule(step_size)

    def step(i: Any, g: Any, x: Any, mean: Any, m: Any) -> tuple[Any, ...]:
        mean = gamma * mean + (1 - gamma) * g**2
        m = momentum * m + rate(i) * g / snp.sqrt(mean + eps)
        return x - m, mean, m

    return _optimizer(_zeros(2), step)


def adam(step_size: Any, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8) -> Optimizer:
    """Adam, of Kingma and Ba: https://arxiv.org/abs/1412.6980."""
    rate = make_schedule(step_size)

    def step(i: Any, g: Any, x: Any, mean: Any, square: Any) -> tuple[Any, ...]:
        mean, square = b1 * mean + (1 - b1) * g, b2 * square + (1 - b2) * g**2
        first, second = [m / (1 - snp.asarray(b, m.dtype) ** (i + 1)) for m, b in ((mean, b1), (square, b2))]
        return x - rate(i) * first / (snp.sqrt(second) + eps), mean, square

    return _optimizer(_zeros(2), step)


def adamax(step_size: Any, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8) -> Optimizer:
    """AdaMax, Adam with the largest gradient instead of the mean square; section 7 of the same paper."""
    rate = make_schedule(step_size)

    def step(i: Any, g: Any, x: Any, mean: Any, largest: Any) -> tuple[Any, ...]:
        mean, largest = b1 * mean + (1 - b1) * g, snp.maximum(b2 * largest, abs(g))
        corrected = rate(i) / (1 - snp.asarray(b1, mean.dtype) ** (i + 1))
        return x - corrected * mean / (largest + eps), mean, largest

    return _optimizer(_zeros(2), step)


def sm3(step_size: Any, momentum: float = 0.9) -> Optimizer:
    """SM3, of Anil et al., which keeps a vector for each axis: https://arxiv.org/abs/1901.11150."""
    rate = make_schedule(step_size)

    def start(x: Any) -> tuple[Any, ...]:
        return snp.zeros_like(x), *[snp.zeros(n, x.dtype) for n in x.shape or (1,)]

    def step(i: Any, g: Any, x: Any, m: Any, *largest: Any) -> tuple[Any, ...]:
        wide = snp.atleast_1d(g)
        axes = range(wide.ndim)
        bounds = [v.reshape([-1 if a == k else 1 for a in axes]) for k, v in enumerate(largest)]
        total = functools.reduce(snp.minimum, bounds) + wide**2
        m = momentum * m + (1 - momentum) * (wide * _inverse_root(total)).reshape(g.shape)
        return x - rate(i) * m, m, *[total.max([a for a in axes if a != k]) for k in axes]

    return _optimizer(start, step)


def constant(step_size: Any) -> Schedule:
    """The same step size at all steps."""
    return lambda i: step_size


def exponential_decay(step_size: Any, decay_steps: Any, decay_rate: Any) -> Schedule:
    """A step size that is multiplied by `decay_rate` every `decay_steps` steps."""
    return lambda i: step_size * decay_rate ** (i / decay_steps)


def inverse_time_decay(step_size: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False) -> Schedule:
    """`step_size / (1 + decay_rate * t)`, where `t` is `i / decay_steps`, or its integer part."""

    def schedule(i: Any) -> Any:
        time = i / decay_steps
        return step_size / (1 + decay_rate * (snp.floor(time) if staircase else time))

    return schedule


def polynomial_decay(step_size: Any, decay_steps: Any, final_step_size: Any, power: float = 1.0) -> Schedule:
    """A step size that goes to `final_step_size` in `decay_steps` steps."""

    def schedule(i: Any) -> Any:
        rest = 1 - snp.minimum(i, decay_steps) / decay_steps
        return final_step_size + (step_size - final_step_size) * rest**power

    return schedule


def piecewise_constant(boundaries: Sequence[Any], values: Sequence[Any]) -> Schedule:
    """The first of `values` up to the first boundary, and so on."""
    if len(boundaries) != len(values) - 1:
        raise location.error(
            ValueError,
            f"piecewise_constant: {len(values)} values for {len(boundaries)} boundaries",
            fix="give one value more than boundaries",
        )
    limits, sizes = snp.asarray(boundaries), snp.asarray(values)
    return lambda i: sizes[(i > limits).sum()]


def make_schedule(scalar_or_schedule: Any) -> Schedule:
    """A number as a function of the step; a function stays."""
    if callable(scalar_or_schedule):
        return scalar_or_schedule  # type: ignore[no-any-return]
    if snp.ndim(scalar_or_schedule):
        raise location.error(
            TypeError,
            f"a step size is a number, or a function of the step, not {errors.brief(scalar_or_schedule)}",
            fix="pass one number",
        )
    return constant(scalar_or_schedule)


def l2_norm(tree_of_arrays: Any) -> Any:
    """The root of the sum of all squares in a pytree."""
    return snp.sqrt(sum([snp.vdot(x, x) for x in tree.leaves(tree_of_arrays)]))


def clip_grads(grad_tree: Any, max_norm: Any) -> Any:
    """Gradients, scaled to norm `max_norm` if theirs is larger."""
    norm = l2_norm(grad_tree)
    return tree.map(lambda g: snp.where(norm < max_norm, g, g * (max_norm / norm)), grad_tree)

"""Integrate ordinary differential equations, by the names of `jax.experimental.ode`.

The method is Dormand and Prince's of order 5 with an error estimate of order 4 ("A family of embedded Runge-Kutta
formulae", 1980). Step sizes and the polynomial between steps are those of Hairer, Norsett and Wanner, "Solving Ordinary
Differential Equations I", sections II.4 and II.6.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import stagec.numpy as snp
from stagec import flatten_util, lax, tree
from stagec.api.batching import vmap
from stagec.api.custom_vjp import closure_convert, custom_vjp
from stagec.api.derivatives import vjp
from stagec.core.array import Array
from stagec.core.boundary import publish as _publish
from stagec.core.dtypes import is_inexact
from stagec.typing import ArrayLike

__all__ = ["odeint"]

# Of each stage after the first: the time, and the weights of the slopes before it. The last stage is the solution.
_STAGES = (
    (1 / 5, (1 / 5,)),
    (3 / 10, (3 / 40, 9 / 40)),
    (4 / 5, (44 / 45, -56 / 15, 32 / 9)),
    (8 / 9, (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729)),
    (1.0, (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656)),
    (1.0, (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84)),
)
# Weights of the slopes in the difference to the solution of order 4, and in the last term of the polynomial.
_ERROR = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)
_POLYNOMIAL = (
    -12715105075 / 11282082432,
    0.0,
    87487479700 / 32700410799,
    -10690763975 / 1880347072,
    701980252875 / 199316789632,
    -1453857185 / 822651844,
    69997945 / 29380423,
)
_SAFETY, _SHRINK, _GROW = 0.9, 0.2, 10.0

Slope = Callable[[Array, Array], Array]


def odeint(
    func: Callable[..., Any],
    y0: Any,
    t: ArrayLike,
    *args: Any,
    rtol: float = 1.4e-8,
    atol: float = 1.4e-8,
    mxstep: float = math.inf,
    hmax: float = math.inf,
) -> Any:
    """Integrate dy/dt = func(y, t, *args) from a state at the first time.

    Steps adapt to the tolerances. Derivatives are those of the adjoint equation, which is integrated backwards with the
    same tolerances, so that no steps are kept; they are for reverse mode.

    Args:
      func: the slope, a pytree like `y0`.
      y0: the state at `t[0]`, a pytree of floats.
      t: the times to return the state at, which increase.
      args: further arguments of `func`.
      rtol: error of a step that is allowed, relative to the state.
      atol: error that is allowed besides.
      mxstep: steps at most between two times.
      hmax: the longest step.

    Returns:
      The states at all times: a pytree like `y0` with an additional leading axis. States are NaN at times that were not
      reached, as there were too many steps or the slope was NaN.

    >>> import stagec.numpy as snp
    >>> odeint(lambda y, t, k: -k * y, snp.float32(1), snp.array([0.0, 1.0, 2.0]), 0.5, rtol=1e-5).round(3)
    Array([1.   , 0.607, 0.368], dtype=float32)
    """
    times = snp.asarray(t)
    times = times if is_inexact(times.dtype) else times.astype(float)
    args = tree.map(snp.asarray, args)
    converted, constants = closure_convert(func, y0, times[0], *args)
    flat, unravel = flatten_util.ravel_pytree(y0)

    def slope(y: Array, at: Array, *given: Any) -> Array:
        return flatten_util.ravel_pytree(converted(unravel(y), at, *given))[0].astype(flat.dtype)

    options = (float(rtol), float(atol), float(mxstep), float(hmax))
    return vmap(unravel)(_integrate(slope, options, flat, times, (*args, *constants)))


@functools.partial(custom_vjp, nondiff_argnums=(0, 1))
def _integrate(slope: Callable[..., Array], options: tuple[float, ...], y0: Array, times: Array, args: Any) -> Array:
    """The states at all times, of a state that is a vector."""
    rtol, atol, most_steps, longest = options

    def f(y: Array, at: Array) -> Array:
        return slope(y, at, *args)

    def step(state: Any) -> Any:
        count, y, at, h, first, *last = state
        found, until, slopes = _step(f, y, at, h, first)
        ratio = _size(h * _weighted(_ERROR, slopes) / (atol + rtol * snp.maximum(abs(y), abs(found))))
        # No growth after a step that failed. A ratio that is not a number fails, and ends the loop.
        accepted = ratio <= 1
        factor = snp.clip(_SAFETY * ratio**-0.2, _SHRINK, snp.where(accepted, _GROW, 1.0))
        polynomial = _polynomial(y, found, h, slopes)
        new = (found, until, slopes[-1], at, polynomial)
        kept = (y, at, first, *last)
        y, at, first, *last = [snp.where(accepted, n, k) for n, k in zip(new, kept, strict=True)]
        return count + 1, y, at, snp.minimum(h * factor, longest).astype(h.dtype), first, *last

    def advance(state: Any, target: Array) -> Any:
        def goes_on(state: Any) -> Any:
            count, _, at, h, *_ = state
            return (at < target) & (h > 0) & (count < most_steps)

        state = lax.while_loop(goes_on, step, (0, *state))[1:]
        _, at, _, _, before, polynomial = state
        part = snp.where(at > before, (target - before) / (at - before), 0.0)
        return state, _value(polynomial, snp.where(at >= target, part, math.nan))

    first = f(y0, times[0])
    h = snp.minimum(_first_step(f, y0, times[0], first, rtol, atol), longest).astype(times.dtype)
    polynomial = snp.stack([y0, *[snp.zeros_like(y0)] * 4])
    state = (y0, times[0], h, first, times[0], polynomial)
    _, later = lax.scan(advance, state, times[1:])
    return snp.concatenate([y0[None], later])


def _step(f: Slope, y: Array, at: Array, h: Array, first: Array) -> tuple[Array, Array, list[Array]]:
    """A step of length `h` from a state whose slope is `first`: the state, its time, and all slopes."""
    slopes, found, until = [first], y, at
    for part, weights in _STAGES:
        found, until = y + h.astype(y.dtype) * _weighted(weights, slopes), at + part * h
        slopes.append(f(found, until))
    return found, until, slopes


def _weighted(weights: tuple[float, ...], slopes: list[Array]) -> Any:
    return sum(w * k for w, k in zip(weights, slopes, strict=True) if w)


def _size(x: Array) -> Array:
    """The root of the mean of the squares."""
    return snp.sqrt(snp.mean(abs(x) ** 2))


def _first_step(f: Slope, y: Array, at: Array, slope: Array, rtol: float, atol: float) -> Array:
    """Choose a step by how fast the slope changes."""
    scale = atol + rtol * abs(y)
    size, speed = _size(y / scale), _size(slope / scale)
    small = snp.where((size < 1e-5) | (speed < 1e-5), 1e-6, 0.01 * size / speed)
    change = _size((f(y + small.astype(y.dtype) * slope, at + small) - slope) / scale) / small
    most = snp.maximum(speed, change)
    return snp.minimum(100 * small, snp.where(most <= 1e-15, snp.maximum(1e-6, small * 1e-3), (0.01 / most) ** 0.2))


def _polynomial(y: Array, found: Array, h: Array, slopes: list[Array]) -> Array:
    """Coefficients of the polynomial of degree 4 between two states, as `_value` takes them."""
    h = h.astype(y.dtype)
    rise = found - y
    start, end = h * slopes[0] - rise, rise - h * slopes[-1]
    return snp.stack([y, rise, start, end - start, h * _weighted(_POLYNOMIAL, slopes)])


def _value(polynomial: Array, part: Array) -> Array:
    a, b, c, d, e = polynomial
    part = part.astype(polynomial.dtype)
    return a + part * (b + (1 - part) * (c + part * (d + (1 - part) * e)))


def _forward(slope: Any, options: Any, y0: Array, times: Array, args: Any) -> Any:
    states = _integrate(slope, options, y0, times, args)
    return states, (states, times, args)


def _backward(slope: Callable[..., Array], options: Any, residuals: Any, ct: Array) -> Any:
    """Integrate the adjoint equation from each time back to the one before it."""
    states, times, args = residuals
    leaves, structure = tree.flatten(args)
    places = [i for i, leaf in enumerate(leaves) if is_inexact(leaf.dtype)]

    def of_floats(y: Array, at: Array, floats: Any) -> Array:
        given = dict(zip(places, floats, strict=True))
        return slope(y, at, *structure.unflatten([given.get(i, leaf) for i, leaf in enumerate(leaves)]))

    floats = [leaves[i] for i in places]
    whole = (states[0], ct[0], times[0], [snp.zeros_like(x) for x in floats])
    unravel = flatten_util.ravel_pytree(whole)[1]

    def backwards(packed: Array, minus_at: Array, floats: Any) -> Array:
        y, y_ct, _, _ = unravel(packed)
        found, pull = vjp(of_floats, y, -minus_at, floats)
        return flatten_util.ravel_pytree((-found, *pull(y_ct)))[0].astype(packed.dtype)

    def back(carry: Any, at: Any) -> Any:
        y_ct, start_ct, floats_ct = carry
        state, given, time, before, before_ct = at
        # What a later time would add to the state then.
        time_ct = snp.real(snp.sum(of_floats(state, time, floats) * given)).astype(times.dtype)
        packed = flatten_util.ravel_pytree((state, y_ct, start_ct - time_ct, floats_ct))[0]
        end = _integrate(backwards, options, packed, snp.stack([-time, -before]), (floats,))[1]
        _, y_ct, start_ct, floats_ct = unravel(end)
        return (y_ct + before_ct, start_ct, floats_ct), time_ct

    carry = (ct[-1], snp.zeros_like(times[0]), whole[3])
    steps = (states[1:], ct[1:], times[1:], times[:-1], ct[:-1])
    (y_ct, start_ct, floats_ct), times_ct = lax.scan(back, carry, steps, reverse=True)
    found: list[Any] = [None] * len(leaves)
    for i, x in zip(places, floats_ct, strict=True):
        found[i] = x
    return y_ct, snp.concatenate([start_ct[None], times_ct]), structure.unflatten(found)


_integrate.defvjp(_forward, _backward)


_publish(globals())

"""The gamma distribution, and distributions computed from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stagec.control.loops import while_loop
from stagec.core import dtypes, errors, location
from stagec.core.array import Array, Shape
from stagec.nn.axes import softmax
from stagec.numpy.reductions import any as any_of
from stagec.numpy.values import array
from stagec.primitives import arithmetic as ar, logic, transcendental as tr
from stagec.primitives.axes import as_shape
from stagec.primitives.barrier import stop_gradient
from stagec.primitives.iota import full
from stagec.primitives.operand import literal
from stagec.primitives.shape import reshape
from stagec.primitives.threefry import threefry2x32
from stagec.random.approximate import approximate_gamma, is_approximate
from stagec.random.discrete import draw_signs
from stagec.random.draws import (
    draw_exponential,
    draw_normal,
    drawing,
    drawn_shape,
    float_dtype,
    mantissa_bits,
    mixed,
    normal_of,
    parameter,
    unit_interval,
)
from stagec.random.keys import KeyLike, PRNGKeyArray, as_key, split_key, words_of
from stagec.scipy.gamma_grad import gamma_sample_p, log_gamma_sample_p
from stagec.typing import ArrayLike, DTypeLike

__all__ = ["ball", "beta", "chisquare", "dirichlet", "f", "gamma", "generalized_normal", "loggamma", "t"]


def _split_each(keys: Any, count: int) -> list[Any]:
    """Split each key into `count` keys."""
    zero = literal(0, dtypes.uint32)
    return [threefry2x32(keys[0], keys[1], zero, literal(i, dtypes.uint32)) for i in range(count)]


def _uniform_each(keys: Any, dtype: Any) -> Array:
    """Draw one uniform number from each key."""
    zero = literal(0, dtypes.uint32)
    return unit_interval(mixed(mantissa_bits(dtype), *threefry2x32(keys[0], keys[1], zero, zero)), dtype)


def _select_each(mask: Any, new: Any, old: Any) -> Any:
    return [logic.select(mask, n, o) for n, o in zip(new, old)]


def draw_gamma(key: PRNGKeyArray, alpha: Any, log_space: bool) -> Array:
    """Draw gamma numbers, or their logarithms, for `alpha` of the shape and dtype of the result.

    Source: Marsaglia and Tsang, "A simple method for generating gamma variables" (2000). Each element has
    a key of its own, so that rejections of one do not change the others.
    """
    shape, dtype = alpha.shape, alpha.dtype
    keys = words_of(split_key(key, (alpha.size,)))
    given = reshape(alpha, (alpha.size,))
    whole = given >= 1
    d = logic.select(whole, given, given + 1) - 1 / 3
    c = (1 / 3) / ar.sqrt(d)
    zero = full(given.shape, literal(0, dtype))

    def positive_cube(keys: Any) -> tuple[Any, Any]:
        """Draw normal numbers x with 1 + c x > 0; return x and 1 + c x."""

        def step(state: Any) -> Any:
            keys, x, v = state
            following, own = _split_each(keys, 2)
            drawn = normal_of(_uniform_each(own, dtype), dtype)
            again = v <= 0
            return (
                _select_each(again, following, keys),
                logic.select(again, drawn, x),
                logic.select(again, 1 + drawn * c, v),
            )

        _, x, v = while_loop(lambda state: any_of(state[2] <= 0), step, (list(keys), zero, zero - 1))
        return x, v

    def rejected(state: Any) -> Any:
        _, x, v, u = state
        return (u >= 1 - 0.0331 * (x * x)) & (tr.log(u) >= x * 0.5 + d * (1 - v + tr.log(v)))

    def step(state: Any) -> Any:
        keys, x, v, u = state
        following, for_normal, for_uniform = _split_each(keys, 3)
        root, base = positive_cube(for_normal)
        fresh = root * root, base * base * base, _uniform_each(for_uniform, dtype)
        again = rejected(state)
        return (_select_each(again, following, keys), *_select_each(again, fresh, (x, v, u)))

    looping, for_boost = _split_each(keys, 2)
    start = (list(looping), zero, zero + 1, zero + 2)
    _, _, v, _ = while_loop(lambda state: any_of(rejected(state)), step, start)
    if log_space:
        logs = tr.log1p(-_uniform_each(for_boost, dtype))
        boost = logic.select(whole | (logs == 0), zero, logs * (1 / given))
        return reshape(tr.log(d) + tr.log(v) + boost, shape)
    boost = logic.select(whole, zero + 1, ar.pow(1 - _uniform_each(for_boost, dtype), 1 / given))
    return reshape(d * v * boost, shape)


def _differentiable(key: PRNGKeyArray, alpha: Array, log_space: bool) -> Array:
    row = log_gamma_sample_p if log_space else gamma_sample_p
    return row(draw_gamma(key, stop_gradient(alpha), log_space), alpha)


def gamma(
    key: KeyLike, a: ArrayLike, shape: Shape | None = None, dtype: DTypeLike = None, *, method: str = "exact"
) -> Array:
    """Numbers of the gamma distribution of shape `a` and scale 1; differentiable by `a`.

    Args:
      method: `"exact"`, or `"approximate"` for other numbers, whose quantiles are exact to 0.1 %, from a program
        without loops.

    Raises:
      ValueError: `method` is neither of the two.

    >>> from stagec import random
    >>> bool((random.gamma(random.key(0), 2.0, (100,)) > 0).all())
    True
    """
    return _gamma("gamma", key, a, shape, dtype, False, method)


def loggamma(
    key: KeyLike, a: ArrayLike, shape: Shape | None = None, dtype: DTypeLike = None, *, method: str = "exact"
) -> Array:
    """Logarithms of gamma numbers, which do not underflow where `a` is small; differentiable by `a`.

    Args:
      method: as for `gamma`.

    >>> from stagec import random
    >>> bool(random.loggamma(random.key(0), 1e-4) < -100)
    True
    """
    return _gamma("loggamma", key, a, shape, dtype, True, method)


def _gamma(name: str, key: Any, a: Any, shape: Any, dtype: Any, log_space: bool, method: str) -> Array:
    wanted = float_dtype(name, dtype)
    sizes = drawn_shape(name, shape, a)
    if is_approximate(name, method):
        work = dtypes.float32 if wanted.itemsize < 4 else wanted
        return approximate_gamma(as_key(name, key), parameter(name, a, work, sizes), wanted, log_space)
    return _differentiable(as_key(name, key), parameter(name, a, wanted, sizes), log_space)


def beta(
    key: KeyLike,
    a: ArrayLike,
    b: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike = None,
    *,
    method: str = "exact",
) -> Array:
    """Numbers of the beta distribution; differentiable by `a` and `b`.

    Args:
      method: as for `gamma`.

    >>> from stagec import random
    >>> random.beta(random.key(0), 2.0, 3.0, (100,)).shape
    (100,)
    """
    start, given = drawing("beta", key, shape, dtype, a, b)
    keys = split_key(start.key, (2,))
    logs = [_gamma("beta", k, v, *start[1:], True, method) for k, v in zip(keys, given)]
    largest = ar.max(*logs)
    first, second = (tr.exp(v - largest) for v in logs)
    return first / (first + second)


def dirichlet(
    key: KeyLike, alpha: ArrayLike | Sequence[ArrayLike], shape: Shape | None = None, dtype: DTypeLike = None
) -> Array:
    """Points of the Dirichlet distribution, along the last axis; differentiable by `alpha`.

    Args:
      alpha: concentrations, along the last axis.
      shape: the shape of the result without its last axis.

    >>> from stagec import random
    >>> points = random.dirichlet(random.key(0), [1.0, 2.0, 3.0], (5,))
    >>> points.shape, points.sum(-1).round(3)
    ((5, 3), Array([1., 1., 1., 1., 1.], dtype=float32))
    """
    wanted = float_dtype("dirichlet", dtype)
    given = array(alpha)
    if not given.ndim:
        raise location.error(
            errors.ShapeError, "dirichlet: alpha has no axes", fix="give one concentration for each component"
        )
    lead = given.shape[:-1]
    sizes = drawn_shape("dirichlet", lead if shape is None else shape, np.empty(lead, bool))
    sizes = (*sizes, given.shape[-1])
    return softmax(_differentiable(as_key("dirichlet", key), parameter("dirichlet", given, wanted, sizes), True))


def chisquare(
    key: KeyLike, df: ArrayLike, shape: Shape | None = None, dtype: DTypeLike = None, *, method: str = "exact"
) -> Array:
    """Numbers of the chi-squared distribution; differentiable by `df`.

    Args:
      method: as for `gamma`.

    >>> from stagec import random
    >>> bool((random.chisquare(random.key(0), 3.0, (100,)) > 0).all())
    True
    """
    start, (df,) = drawing("chisquare", key, shape, dtype, df)
    return _draw_chisquare(start.key, df, method)


def _draw_chisquare(key: PRNGKeyArray, df: Array, method: str = "exact") -> Array:
    return tr.exp(_gamma("chisquare", key, df / 2, df.shape, df.dtype, True, method)) * 2


def f(key: KeyLike, dfnum: ArrayLike, dfden: ArrayLike, shape: Shape | None = None, dtype: DTypeLike = None) -> Array:
    """Numbers of Fisher's F distribution; differentiable by both degrees of freedom.

    >>> from stagec import random
    >>> bool((random.f(random.key(0), 3.0, 5.0, (100,)) > 0).all())
    True
    """
    start, (above, below) = drawing("f", key, shape, dtype, dfnum, dfden)
    keys = split_key(start.key, (2,))
    return (_draw_chisquare(keys[1], above) / above) / (_draw_chisquare(keys[0], below) / below)


def t(key: KeyLike, df: ArrayLike, shape: Shape | None = None, dtype: DTypeLike = None) -> Array:
    """Numbers of Student's t distribution; differentiable by `df`.

    >>> from stagec import random
    >>> random.t(random.key(0), 3.0, (100,)).shape
    (100,)
    """
    start, (df,) = drawing("t", key, shape, dtype, df)
    keys, half = split_key(start.key, (2,)), df / 2
    return draw_normal(keys[0], *start[1:]) * ar.sqrt(half / _differentiable(keys[1], half, False))


def generalized_normal(key: KeyLike, p: ArrayLike, shape: Shape = (), dtype: DTypeLike = None) -> Array:
    """Numbers with a density proportional to exp(-|x|^p).

    >>> from stagec import random
    >>> random.generalized_normal(random.key(0), 2.0, (100,)).shape
    (100,)
    """
    start, (power,) = drawing("generalized_normal", key, shape, dtype, p)
    return _draw_generalized_normal(start.key, power)


def _draw_generalized_normal(key: PRNGKeyArray, p: Array) -> Array:
    keys = split_key(key, (2,))
    drawn = _differentiable(keys[0], 1 / p, False)
    return draw_signs(keys[1], p.shape, p.dtype) * ar.pow(drawn, 1 / p)


def ball(key: KeyLike, d: int, p: float = 2, shape: Shape = (), dtype: DTypeLike = None) -> Array:
    """Uniform points in the unit ball of the p-norm, along the last axis.

    Args:
      d: the number of dimensions.

    >>> from stagec import random
    >>> bool(((random.ball(random.key(0), 3, shape=(100,)) ** 2).sum(-1) <= 1).all())
    True
    """
    wanted = float_dtype("ball", dtype)
    sizes, (dimensions,) = as_shape(shape, "ball"), as_shape((d,), "ball")
    keys = split_key(as_key("ball", key), (2,))
    point = _draw_generalized_normal(keys[0], parameter("ball", p, wanted, (*sizes, dimensions)))
    power = parameter("ball", p, wanted, sizes)
    total = ar.pow(ar.abs(point), parameter("ball", p, wanted, point.shape)).sum(-1)
    length = ar.pow(total + draw_exponential(keys[1], sizes, wanted), 1 / power)
    return point / length[..., None]

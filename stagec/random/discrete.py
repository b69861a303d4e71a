"""Distributions of integers and booleans."""

from __future__ import annotations

from typing import Any

import numpy as np

from stagec.control.loops import while_loop
from stagec.core import dtypes, errors, location
from stagec.core.array import Array, Shape
from stagec.core.dtype_info import finfo, iinfo
from stagec.numpy.arguments import array_argument
from stagec.numpy.conditionals import where
from stagec.numpy.promotion import broadcast_to_shape
from stagec.numpy.reductions import any as any_of
from stagec.primitives import arithmetic as ar, logic, transcendental as tr
from stagec.primitives.axes import as_shape
from stagec.primitives.convert import convert_element_type
from stagec.primitives.iota import full
from stagec.primitives.operand import Operand, literal
from stagec.primitives.special import lgamma
from stagec.random.approximate import approximate_poisson, is_approximate
from stagec.random.draws import (
    draw_uniform,
    drawn_shape,
    float_dtype,
    floats,
    parameter,
    random_bits,
    wanted_dtype,
)
from stagec.random.keys import KeyLike, PRNGKeyArray, as_key, split_key
from stagec.typing import ArrayLike, DTypeLike

__all__ = ["bernoulli", "binomial", "geometric", "poisson", "rademacher", "randint"]


def _integer_dtype(name: str, dtype: Any) -> Any:
    return wanted_dtype(name, dtype, dtypes.INTEGER - dtypes.SUB_BYTE, "an integer dtype", int)


def randint(key: KeyLike, shape: Shape, minval: ArrayLike, maxval: ArrayLike, dtype: DTypeLike = None) -> Array:
    """Integers in [minval, maxval), with the slight bias of a remainder.

    Args:
      minval, maxval: integers that broadcast to `shape`; where `maxval` is not above `minval`, the
        result is `minval`.

    >>> from stagec import random
    >>> random.randint(random.key(0), (5,), 0, 10)
    Array([9, 0, 2, 3, 1], dtype=int32)
    """
    wanted = _integer_dtype("randint", dtype)
    sizes = drawn_shape("randint", shape, minval, maxval)
    single = as_key("randint", key)
    drawn = draw_integers(single, sizes, minval, maxval, wanted if wanted.itemsize >= 4 else dtypes.int32, wanted)
    return convert_element_type(drawn, wanted)


def draw_integers(
    key: PRNGKeyArray, shape: tuple[int, ...], minval: Any, maxval: Any, dtype: Any, limits: Any
) -> Array:
    """As `randint`, computed in `dtype`, with bounds clipped to the range of `limits`, a dtype of at most its size."""
    info = iinfo(limits)
    wide = iinfo(dtype)
    low, _ = _bound("randint", minval, dtype, info.min, info.max)
    last = info.max if limits == dtype else info.max + 1
    high, beyond = _bound("randint", maxval, dtype, info.min, last)
    low, high = broadcast_to_shape(low, shape), broadcast_to_shape(high, shape)
    unsigned = np.dtype(f"uint{wide.bits}")
    higher, lower = (random_bits(k, wide.bits, shape) for k in split_key(key, (2,)))
    span = convert_element_type(high - low, unsigned)
    span = logic.select(high <= low, full(shape, literal(1, unsigned)), span)
    if limits == dtype:
        # A `maxval` of one past the largest integer was clipped, so the span is too small by 1.
        span = logic.select(broadcast_to_shape(beyond, shape) & (high > low), span + 1, span)
    power = ar.rem(full(shape, literal(1 << wide.bits // 2, unsigned)), span)
    power = ar.rem(power * power, span)
    offset = ar.rem(ar.rem(higher, span) * power + ar.rem(lower, span), span)
    return low + convert_element_type(offset, dtype)


def _bound(name: str, value: Any, dtype: Any, least: int, most: int) -> tuple[Array, Array]:
    """Clip a bound to a range, in `dtype`; return also whether it was above the range."""
    if isinstance(value, (int, np.integer)):
        number = int(value)
        return full((), literal(min(max(number, least), most), dtype)), full((), literal(number > most, dtypes.bool_))
    operand = array_argument(value, name)
    if not dtypes.is_integer(operand.dtype):
        operand = convert_element_type(operand, dtypes.canonicalize(int))
    own = iinfo(operand.dtype)
    beyond = operand > most if most < own.max else full(operand.shape, False)
    clipped = logic.clamp(
        literal(max(least, own.min), operand.dtype), operand, literal(min(most, own.max), operand.dtype)
    )
    return convert_element_type(clipped, dtype), beyond


def bernoulli(key: KeyLike, p: ArrayLike = 0.5, shape: Shape | None = None, mode: str = "low") -> Array:
    """Booleans that are true with probability `p`.

    Args:
      mode: `"high"` takes two uniform numbers for each result, for very small probabilities.

    >>> from stagec import random
    >>> random.bernoulli(random.key(0), 0.3, (4,))
    Array([False, False, False, False], dtype=bool)
    """
    if mode not in ("low", "high"):
        raise location.error(ValueError, f"bernoulli: mode={mode!r}", fix="use mode='low' or mode='high'")
    probability = array_argument(p, "bernoulli")
    if not dtypes.is_float(probability.dtype):
        raise location.error(
            errors.DtypeError,
            f"bernoulli: p must be a probability of a floating-point dtype, got {probability.dtype.name}",
            fix="give p as a float, such as 0.5",
        )
    sizes = drawn_shape("bernoulli", shape, p)
    return draw_booleans(as_key("bernoulli", key), broadcast_to_shape(probability, sizes), sizes, mode)


def draw_booleans(key: PRNGKeyArray, p: Array, shape: tuple[int, ...], mode: str = "low") -> Array:
    """As `bernoulli`, for checked arguments."""
    if mode == "low":
        return draw_uniform(key, shape, p.dtype) < p
    both = draw_uniform(key, (2, *shape), p.dtype)
    fine = 2.0 ** -finfo(p.dtype).nmant
    return both[1] * fine < p - both[0]


def draw_signs(key: PRNGKeyArray, shape: tuple[int, ...], dtype: Any) -> Array:
    """Draw -1 or 1, in any dtype."""
    half = full(shape, literal(0.5, dtypes.default_float()))
    tosses = convert_element_type(draw_booleans(key, half, shape), dtype)
    return 2 * tosses - 1


def rademacher(key: KeyLike, shape: Shape = (), dtype: DTypeLike = None) -> Array:
    """-1 or 1, each with probability one half.

    >>> from stagec import random
    >>> random.rademacher(random.key(0), (4,))
    Array([-1, -1,  1,  1], dtype=int32)
    """
    kinds = dtypes.NUMERIC
    wanted = wanted_dtype("rademacher", dtype, kinds, "a numeric dtype", int)
    return draw_signs(as_key("rademacher", key), as_shape(shape, "rademacher"), wanted)


def geometric(key: KeyLike, p: ArrayLike, shape: Shape | None = None, dtype: DTypeLike = None) -> Array:
    """The number of trials with probability `p` until the first success, inclusive.

    >>> from stagec import random
    >>> bool((random.geometric(random.key(0), 0.2, (100,)) >= 1).all())
    True
    """
    wanted = _integer_dtype("geometric", dtype)
    sizes = drawn_shape("geometric", shape, p)
    probability = floats("geometric", array_argument(p, "geometric"))
    unit = draw_uniform(as_key("geometric", key), sizes, probability.dtype)
    unit = logic.select(unit == 0, full(sizes, literal(1, unit.dtype)), unit)
    failure = broadcast_to_shape(tr.log1p(-probability), sizes)
    return convert_element_type(ar.floor(tr.log(unit) / failure) + 1, wanted)


def poisson(
    key: KeyLike, lam: ArrayLike, shape: Shape | None = None, dtype: DTypeLike = None, *, method: str = "exact"
) -> Array:
    """Numbers of the Poisson distribution; -1 where `lam` is NaN or negative, as in JAX.

    Args:
      method: `"exact"`, or `"approximate"` for other numbers, whose probabilities are exact to 1e-4, from a program
        without loops.

    Raises:
      ValueError: `method` is neither of the two.

    Sources: for means below 10, Knuth's multiplication of uniform numbers; otherwise Hörmann, "The transformed
    rejection method for generating Poisson random variables" (1993).

    >>> from stagec import random
    >>> bool((random.poisson(random.key(0), 4.0, (100,)) >= 0).all())
    True
    """
    wanted = _integer_dtype("poisson", dtype)
    sizes = drawn_shape("poisson", shape, lam)
    single = as_key("poisson", key)
    if is_approximate("poisson", method):
        return approximate_poisson(single, lam, sizes, wanted)
    mean = parameter("poisson", lam, dtypes.float32, sizes)
    few = (mean != mean) | (mean < 10)
    counted = _poisson_by_products(single, logic.select(few, mean, full(sizes, literal(0, mean.dtype))), wanted)
    large = logic.select(few, full(sizes, literal(1e5, mean.dtype)), mean)
    drawn = logic.select(few, counted, _poisson_by_rejection(single, large, wanted))
    return logic.select(mean == 0, full(sizes, literal(0, wanted)), drawn)


def _poisson_by_products(key: PRNGKeyArray, mean: Any, dtype: Any) -> Operand:
    shape = mean.shape

    def unfinished(state: Any) -> Array:
        _, total, _ = state
        return any_of(total > -mean)

    def step(state: Any) -> Any:
        count, total, key = state
        keys = split_key(key, (2,))
        count = logic.select(total > -mean, count + 1, count)
        return count, total + tr.log(draw_uniform(keys[1], shape, dtypes.float32)), keys[0]

    start = full(shape, literal(0, dtype)), full(shape, literal(0, dtypes.float32)), key
    return while_loop(unfinished, step, start)[0] - 1


def _poisson_by_rejection(key: PRNGKeyArray, mean: Any, dtype: Any) -> Operand:
    log_mean = tr.log(mean)
    b = 0.931 + 2.53 * ar.sqrt(mean)
    a = -0.059 + 0.02483 * b
    drawn = _transformed_rejection(
        key,
        (a, b, 1.1239 + 1.1328 / (b - 3.4), 0.9277 - 3.6224 / (b - 2)),
        lambda x: x + mean + 0.43,
        lambda k, v, shifted: (k < 0) | ((shifted < 0.013) & (v > shifted)),
        lambda k: -mean + k * log_mean - lgamma(k + 1),
    )
    return convert_element_type(drawn, dtype)


def _transformed_rejection(
    key: PRNGKeyArray, hat: tuple[Any, Any, Any, Any], place: Any, outside: Any, log_probability: Any
) -> Operand:
    """Draw integers by the method of Hörmann, from pairs of uniform numbers, until each is accepted.

    Args:
      hat: a and b, of the curve above the probabilities; its factor; and the second numbers that are always accepted.
      place: of the first number, where the curve is centered, the real number below which the integer is.
      outside: `(integer, second number, distance of the first number from its ends)`, what is never accepted.
      log_probability: of an integer.
    """
    a, b, alpha, squeeze = hat
    shape, dtype = b.shape, b.dtype

    def unfinished(state: Any) -> Array:
        return any_of(~state[1])

    def step(state: Any) -> Any:
        out, accepted, key = state
        keys = split_key(key, (3,))
        u = draw_uniform(keys[1], shape, dtype) - 0.5
        v = draw_uniform(keys[2], shape, dtype)
        shifted = 0.5 - ar.abs(u)
        k = ar.floor(place((2 * a / shifted + b) * u))
        quickly = (shifted >= 0.07) & (v <= squeeze)
        level = tr.log(v * alpha / (a / (shifted * shifted) + b))
        accept = quickly | (~outside(k, v, shifted) & (level <= log_probability(k)))
        return logic.select(accept, k, out), accepted | accept, keys[0]

    start = full(shape, literal(-1, dtype)), full(shape, False), key
    return while_loop(unfinished, step, start)[0]


def binomial(key: KeyLike, n: ArrayLike, p: ArrayLike, shape: Shape | None = None, dtype: DTypeLike = None) -> Array:
    """The number of successes in `n` trials with probability `p`, as floats; NaN for invalid `n` or `p`.

    Sources: sums of geometric numbers if few successes are expected; otherwise Hörmann, "The generation of binomial
    random variates" (1993), algorithm BTRS.

    >>> from stagec import random
    >>> bool((random.binomial(random.key(0), 10.0, 0.3, (100,)) <= 10).all())
    True
    """
    wanted = float_dtype("binomial", dtype)
    sizes = drawn_shape("binomial", shape, n, p)
    single = as_key("binomial", key)
    given = array_argument(p, "binomial")
    kind = given.dtype if dtypes.is_float(given.dtype) else dtypes.default_float()
    return draw_binomial(single, parameter("binomial", n, kind, sizes), parameter("binomial", p, kind, sizes), wanted)


def draw_binomial(key: PRNGKeyArray, count: Any, p: Any, dtype: Any) -> Array:
    """As `binomial`, for parameters of one dtype and of the shape of the result."""

    def filled(value: float, kind: Any = None) -> Array:
        return full(p.shape, literal(value, kind or p.dtype))

    rare = p < 0.5
    q = logic.select(rare, p, 1 - p)
    bad_count = (count != count) | (count < 0)
    endless = ar.abs(count) == np.inf
    bad_p = (q != q) | (q < 0)
    undefined = q != q
    q = logic.select(bad_p, filled(0.01), q)
    few = bad_count | (count * q <= 10)
    count = ar.floor(count)
    summed = _binomial_by_sums(key, logic.select(few, count, filled(0)), q)
    rejected = _binomial_by_rejection(key, logic.select(few, filled(1e4), count), logic.select(few, filled(0.5), q))
    drawn = convert_element_type(logic.select(few, summed, rejected), dtype)
    invalid = bad_p | bad_count
    drawn = where(invalid, filled(np.nan, dtype), drawn)
    drawn = where(endless & ~invalid, filled(np.inf, dtype), drawn)
    return where(rare | bad_count | undefined | endless, drawn, convert_element_type(count, dtype) - drawn)


def _binomial_by_sums(key: PRNGKeyArray, count: Any, p: Array) -> Operand:
    failure = tr.log1p(-p)

    def unfinished(state: Any) -> Array:
        return any_of(state[1] <= count)

    def step(state: Any) -> Any:
        successes, trials, key = state
        keys = split_key(key, (2,))
        successes = logic.select(trials <= count, successes + 1, successes)
        unit = draw_uniform(keys[0], p.shape, p.dtype)
        return successes, trials + ar.ceil(tr.log(unit) / failure), keys[1]

    zero = full(p.shape, literal(0, p.dtype))
    return while_loop(unfinished, step, (zero, zero, key))[0] - 1


# log(k!) minus Stirling's approximation, for k = 0 to 9.
_TAIL = (
    *(0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509, 0.0166446911898211),
    *(0.0138761288230707, 0.0118967099458917, 0.010411265261972, 0.00925546218271273, 0.00833056343336287),
)


def _stirling_tail(k: Any) -> Array:
    table = array_argument(np.array(_TAIL, k.dtype), "binomial")
    small = logic.clamp(literal(0, k.dtype), k, literal(9, k.dtype))
    square = (k + 1) * (k + 1)
    series = (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (k + 1)
    return logic.select(k <= 9, table[convert_element_type(ar.floor(small), dtypes.int32)], series)


def _binomial_by_rejection(key: PRNGKeyArray, count: Any, p: Array) -> Operand:
    deviation = ar.sqrt(count * p * (1 - p))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    c = count * p + 0.5
    odds = p / (1 - p)
    mode = ar.floor((count + 1) * p)

    def log_probability(k: Any) -> Any:
        return (
            (mode + 0.5) * tr.log((mode + 1) / (odds * (count - mode + 1)))
            + (count + 1) * tr.log((count - mode + 1) / (count - k + 1))
            + (k + 0.5) * tr.log(odds * (count - k + 1) / (k + 1))
            + _stirling_tail(mode)
            + _stirling_tail(count - mode)
            - _stirling_tail(k)
            - _stirling_tail(count - k)
        )

    return _transformed_rejection(
        key,
        (a, b, (2.83 + 5.1 / b) * deviation, 0.92 - 4.2 / b),
        lambda x: x + c,
        lambda k, v, shifted: (k < 0) | (k > count),
        log_probability,
    )

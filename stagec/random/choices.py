"""Random permutations, choices and categories."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from stagec.control.scan import scan
from stagec.core import dtypes, errors, location
from stagec.core.array import Array, Shape
from stagec.core.dims import is_open, open_error
from stagec.numpy.arguments import array_argument
from stagec.numpy.creation import arange
from stagec.numpy.manipulation import moveaxis
from stagec.numpy.promotion import broadcast_to_shape
from stagec.numpy.reductions import argmax
from stagec.numpy.running import cumsum
from stagec.numpy.selection import take
from stagec.numpy.sorting import searchsorted
from stagec.numpy.values import array
from stagec.primitives import arithmetic as ar, logic, transcendental as tr
from stagec.primitives.axes import as_shape, canonical_axis
from stagec.primitives.convert import convert_element_type
from stagec.primitives.iota import full
from stagec.primitives.operand import literal
from stagec.primitives.shape import expand_dims, reshape
from stagec.primitives.sort import sort, top_k
from stagec.random.continuous import draw_gumbel
from stagec.random.discrete import draw_binomial, draw_integers
from stagec.random.draws import draw_uniform, drawn_shape, floats, random_bits
from stagec.random.keys import KeyLike, PRNGKeyArray, as_key, split_key
from stagec.typing import ArrayLike, DTypeLike

__all__ = ["categorical", "choice", "multinomial", "permutation"]


def permutation(key: KeyLike, x: ArrayLike, axis: int = 0, independent: bool = False) -> Array:
    """The elements of an array, or the numbers below an integer, in random order.

    Args:
      axis: the axis to permute.
      independent: permute each vector along the axis independently.

    >>> from stagec import random
    >>> sorted(random.permutation(random.key(0), 5).tolist())
    [0, 1, 2, 3, 4]
    """
    single = as_key("permutation", key)
    if isinstance(x, (int, np.integer)):
        return _shuffle(single, arange(int(x)), 0)
    values = array(x)
    if not values.ndim:
        raise location.error(
            errors.ShapeError,
            f"permutation: expected an integer or an array with axes, got {values.aval.long()}",
            fix="give a Python integer for the numbers below it",
        )
    axis = canonical_axis(axis, values.ndim, "permutation")
    if independent or values.ndim == 1:
        return _shuffle(single, values, axis)
    return take(values, _shuffle(single, arange(values.shape[axis]), 0), axis)


def _shuffle(key: PRNGKeyArray, x: Array, axis: int) -> Array:
    """Shuffle by sorting by random keys, several times, so that equal keys do not bias the order."""
    if is_open(x.size):
        raise open_error("random.permutation", x.aval.long())
    rounds = math.ceil(3 * math.log(max(1, x.size)) / math.log(0xFFFFFFFF))
    for _ in range(rounds):
        keys = split_key(key, (2,))
        key = keys[0]
        _, x = sort([random_bits(keys[1], 32, x.shape), x], dimension=axis, num_keys=1)
    return x


def choice(
    key: KeyLike,
    a: ArrayLike,
    shape: Shape = (),
    replace: bool = True,
    p: ArrayLike | None = None,
    axis: int = 0,
    mode: str | None = None,
) -> Array:
    """Elements of an array, or numbers below an integer, drawn at random.

    Args:
      shape: the shape of the draws; it replaces `axis` in the result.
      replace: whether an element may be drawn twice.
      p: the probabilities of the elements; equal ones by default.
      mode: the mode of `gumbel`, used if `p` is given and `replace` is false.

    >>> from stagec import random
    >>> random.choice(random.key(0), 10, (3,), replace=False).shape
    (3,)
    """
    single = as_key("choice", key)
    sizes = as_shape(shape, "choice")
    count: Any = a
    values = None if isinstance(a, (int, np.integer)) else array(a)
    if values is not None and not values.ndim:
        raise location.error(
            errors.ShapeError,
            f"choice: expected an integer or an array with axes, got {values.aval.long()}",
            fix="give a Python integer for the numbers below it",
        )
    axis = 0 if values is None else canonical_axis(axis, values.ndim, "choice")
    population = int(count) if values is None else values.shape[axis]
    draws = math.prod(sizes)
    if population <= 0 and draws:
        what = f"choice: there is nothing to choose from, as a is {a!r}" if values is None else "choice: a is empty"
        raise location.error(ValueError, what, fix="choose from one element at least")
    if not replace and draws > population:
        what = f"choice: cannot take {draws} of {population} without replacement"
        raise location.error(ValueError, what, fix="take fewer, or pass replace=True")
    if p is None and not replace:
        source = arange(population) if values is None else values
        found = permutation(single, source, axis)[(slice(None),) * axis + (slice(draws),)]
        return reshape(found, (*found.shape[:axis], *sizes, *found.shape[axis + 1 :]))
    indices = _choice_indices(single, sizes, population, draws, replace, p, mode)
    return indices if values is None else take(values, indices, axis)


def _choice_indices(
    key: PRNGKeyArray, shape: tuple[int, ...], population: int, draws: int, replace: bool, p: Any, mode: str | None
) -> Array:
    integer = dtypes.canonicalize(int)
    if p is None:
        return draw_integers(key, shape, 0, population, integer, integer)
    weights = floats("choice", array(p))
    if weights.shape != (population,):
        raise location.error(
            errors.ShapeError,
            f"choice: p has shape {weights.shape}, for {population} elements",
            fix="give one probability for each element along the axis",
        )
    if not replace:
        scores = draw_gumbel(key, (population,), weights.dtype, mode) + tr.log(weights)
        return reshape(convert_element_type(top_k(scores, draws)[1], integer), shape)

    total = cumsum(weights)
    wanted = total[-1] * (1 - draw_uniform(key, shape, total.dtype))
    return convert_element_type(searchsorted(total, wanted), integer)


def categorical(
    key: KeyLike,
    logits: ArrayLike,
    axis: int = -1,
    shape: Shape | None = None,
    replace: bool = True,
    mode: str | None = None,
) -> Array:
    """Indices along an axis, drawn with probabilities proportional to the exponentials of the logits.

    Args:
      shape: the shape of the result; its last axes are those of `logits` without `axis`.
      replace: whether draws along the leading axes of the shape may repeat an index.
      mode: the mode of `gumbel`.

    >>> import stagec.numpy as snp
    >>> from stagec import random
    >>> random.categorical(random.key(0), snp.log(snp.array([0.0, 1.0, 0.0])), shape=(4,))
    Array([1, 1, 1, 1], dtype=int32)
    """
    single = as_key("categorical", key)
    scores = floats("categorical", array_argument(logits, "categorical"))
    axis = canonical_axis(axis, scores.ndim, "categorical")
    batch = (*scores.shape[:axis], *scores.shape[axis + 1 :])
    sizes = batch if shape is None else drawn_shape("categorical", shape, np.empty(batch, bool))
    lead = sizes[: len(sizes) - len(batch)]
    if replace:
        full_batch = sizes[len(lead) :]
        drawn = (*lead, *full_batch[:axis], scores.shape[axis], *full_batch[axis:])
        noise = draw_gumbel(single, drawn, scores.dtype, mode)
        return argmax(noise + expand_dims(scores, tuple(range(len(lead)))), axis=axis + len(lead))
    count = math.prod(lead)
    if count > scores.shape[axis]:
        what = f"categorical: cannot draw {count} of {scores.shape[axis]} categories without replacement"
        raise location.error(ValueError, what, fix="take fewer, or pass replace=True")
    scores = scores + draw_gumbel(single, scores.shape, scores.dtype, mode)
    indices = top_k(moveaxis(scores, axis, -1), count)[1]
    return reshape(moveaxis(indices, -1, 0), sizes)


def multinomial(
    key: KeyLike,
    n: ArrayLike,
    p: ArrayLike | Sequence[ArrayLike],
    *,
    shape: Shape | None = None,
    dtype: DTypeLike = None,
    unroll: int | bool = 1,
) -> Array:
    """The number of times that each of several outcomes occurs in `n` trials, as floats along the last axis.

    Args:
      n: the number of trials.
      p: probabilities, along the last axis.
      shape: the shape of the result, including the last axis.
      unroll: how many outcomes are drawn in one iteration of the loop.

    >>> from stagec import random
    >>> float(random.multinomial(random.key(0), 10.0, [0.2, 0.3, 0.5]).sum())
    10.0
    """
    single = as_key("multinomial", key)
    weights = floats("multinomial", array(p))
    sizes = weights.shape if shape is None else drawn_shape("multinomial", shape, weights)
    trials = broadcast_to_shape(convert_element_type(array_argument(n, "multinomial"), weights.dtype), sizes[:-1])
    weights = moveaxis(broadcast_to_shape(weights, sizes), -1, 0)
    remaining = cumsum(weights[::-1], 0)[::-1]
    one = full(remaining.shape, literal(1, weights.dtype))
    ratios = weights / logic.select(remaining == 0, one, remaining)
    ratios = ar.max(ar.min(ratios, one), one - 1)

    def draw(left: Any, outcome: Any) -> Any:
        ratio, key = outcome
        count = draw_binomial(key, left, ratio, weights.dtype)
        return left - count, count

    _, counts = scan(draw, trials, (ratios, split_key(single, (sizes[-1],))), unroll=unroll)
    counts = moveaxis(counts, 0, -1)
    return convert_element_type(counts, dtypes.default_float() if dtype is None else dtype)

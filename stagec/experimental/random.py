"""A generator of random numbers that keeps count of its draws, by the names of `jax.experimental.random`."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from stagec.core import errors, location
from stagec.core.array import Array
from stagec.core.boundary import publish as _publish
from stagec.core.config import state
from stagec.core.containers import register_dataclass
from stagec.numpy.creation import zeros
from stagec.numpy.grids import shape as shape_of
from stagec.numpy.values import asarray
from stagec.primitives.references import Ref, new_ref
from stagec.random import PRNGKeyArray, fold_in, key as new_key, normal, randint, split, uniform
from stagec.typing import ArrayLike, DTypeLike

__all__ = ["StatefulPRNG", "stateful_rng"]

Size: TypeAlias = int | Sequence[int] | None


def _as_shape(size: Size, *parameters: ArrayLike) -> tuple[int, ...]:
    """The shape of a draw; without a size, that of its parameters."""
    if size is None:
        return np.broadcast_shapes(*map(shape_of, parameters))
    return tuple(map(operator.index, size)) if isinstance(size, Sequence) else (operator.index(size),)


@register_dataclass
@dataclasses.dataclass(frozen=True, slots=True)
class StatefulPRNG:
    """Draws random numbers, each time others; made by `stateful_rng`.

    A pytree of a key and a reference, which counts the draws. So it may be passed to jitted functions, and these may
    close over it, but they cannot return it.

    >>> from stagec.experimental import random
    >>> rng = random.stateful_rng(42)
    >>> float(rng.uniform()) != float(rng.uniform())
    True
    """

    _base_key: PRNGKeyArray
    _counter: Ref

    def key(self, shape: int | Sequence[int] = ()) -> PRNGKeyArray:
        """A new key, or an array of new keys.

        Raises:
          ShapeError: the generator is one of many, made by `split`.
        """
        if self._base_key.shape:
            raise location.error(
                errors.ShapeError,
                f"the generator is an array of {self._base_key.shape} generators",
                fix="draw in a function under stagec.vmap, or make generators with spawn",
            )
        found = fold_in(self._base_key, self._counter[...])
        self._counter[...] += 1
        size = _as_shape(shape)
        return split(found, size) if size else found

    def random(self, size: Size = None, dtype: DTypeLike = float) -> Array:
        """Floats from 0, included, to 1, excluded."""
        return uniform(self.key(), _as_shape(size), dtype)

    def uniform(self, low: ArrayLike = 0, high: ArrayLike = 1, size: Size = None, *, dtype: DTypeLike = float) -> Array:
        """Floats from `low`, included, to `high`, excluded."""
        return uniform(self.key(), _as_shape(size, low, high), dtype, low, high)

    def normal(self, loc: ArrayLike = 0, scale: ArrayLike = 1, size: Size = None, *, dtype: DTypeLike = float) -> Array:
        """Floats of a normal distribution."""
        drawn = normal(self.key(), _as_shape(size, loc, scale), dtype)
        return (asarray(loc) + asarray(scale) * drawn).astype(dtype)

    def integers(
        self, low: ArrayLike, high: ArrayLike | None = None, size: Size = None, *, dtype: DTypeLike = int
    ) -> Array:
        """Integers from `low`, included, to `high`, excluded; with one limit, from 0 to it."""
        first, last = (0, low) if high is None else (low, high)
        return randint(self.key(), _as_shape(size, first, last), first, last, dtype)

    def split(self, num: int | Sequence[int]) -> StatefulPRNG:
        """Many generators as one pytree, over which `vmap` maps.

        >>> import stagec
        >>> from stagec.experimental import random
        >>> rng = random.stateful_rng(123)
        >>> stagec.vmap(lambda rng: rng.uniform())(rng.split(3)).shape
        (3,)
        """
        return StatefulPRNG(self.key(num), new_ref(zeros(num, int)))

    def spawn(self, n_children: int) -> list[StatefulPRNG]:
        """A list of generators.

        >>> from stagec.experimental import random
        >>> first, second = random.stateful_rng(123).spawn(2)
        """
        return [StatefulPRNG(each, new_ref(0)) for each in self.key(n_children)]


def stateful_rng(seed: ArrayLike | None = None, *, impl: str | None = None) -> StatefulPRNG:
    """A generator of random numbers, whose draws follow from a seed and from how many were made before.

    Args:
      seed: an integer; outside of traced functions, the system's entropy if None.
      impl: the kind of keys, as for `stagec.random.key`.

    Raises:
      ArgumentTypeError: no seed is given in a traced function, which would draw it once, at its trace.

    >>> from stagec.experimental import random
    >>> rng = random.stateful_rng(42)
    >>> rng.integers(0, 10, 3), rng.integers(0, 10, 3)
    (Array([4, 1, 9], dtype=int32), Array([5, 2, 4], dtype=int32))
    """
    if seed is None:
        if state.trace is not None:
            raise location.error(
                errors.ArgumentTypeError,
                "stateful_rng: a traced function needs a seed",
                fix="pass stateful_rng(seed), or make the generator outside, and pass it to the function",
            )
        entropy: Any = np.random.SeedSequence().entropy
        seed = np.int64(entropy & np.iinfo(np.int64).max)
    return StatefulPRNG(new_key(seed, impl=impl), new_ref(0))


_publish(globals())

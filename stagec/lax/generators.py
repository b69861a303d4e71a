"""Random bits from a state that the caller keeps, by the names of `jax.lax`."""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from stagec import numpy as snp
from stagec.control.callback import io_callback
from stagec.core import dtypes, errors, location
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.lax.composed import mulhi
from stagec.numpy.arguments import array_argument, explicitly_split, requested_dtype
from stagec.primitives.axes import as_shape
from stagec.primitives.checks import same_dtype
from stagec.primitives.convert import bitcast_convert_type, convert_element_type
from stagec.primitives.operand import aval_of, promote_weak_scalars
from stagec.primitives.threefry import threefry2x32
from stagec.typing import ArrayLike, DTypeLike

__all__ = ["RandomAlgorithm", "rng_bit_generator", "rng_uniform"]


class RandomAlgorithm(enum.IntEnum):
    """Generators of `rng_bit_generator`; the default one is Philox."""

    RNG_DEFAULT = 0
    RNG_THREE_FRY = 1
    RNG_PHILOX = 2


# Factors and steps of Philox. Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011).
_FACTORS = 0xD2511F53, 0xCD9E8D57
_STEPS = 0x9E3779B9, 0xBB67AE85


def _philox(words: Sequence[Any], key: Sequence[Any]) -> list[Any]:
    """Encrypt blocks of four words, in ten rounds."""
    a, b, c, d = words
    first, second = (np.uint32(f) for f in _FACTORS)
    for number in range(10):
        k0, k1 = (k + np.uint32(number * s & 0xFFFFFFFF) for k, s in zip(key, _STEPS))
        shape = np.broadcast_shapes(aval_of(a).shape, aval_of(c).shape)
        factors = [snp.full(shape, f) for f in (first, second)]
        a, b, c, d = mulhi(factors[1], c) ^ b ^ k0, c * second, mulhi(factors[0], a) ^ d ^ k1, a * first
    return [a, b, c, d]


def _counters(state: Sequence[Any], count: int) -> list[Any]:
    """Return `count` consecutive counters, beginning with a state, as 32-bit words, the lowest first."""
    carry = snp.arange(count, dtype=snp.uint32)
    found = []
    for word in state:
        total = word + carry
        carry = (total < carry).astype(snp.uint32)
        found.append(total)
    return found


def _halves(shape: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    """The axis along which a block's two words lie side by side, and the shape of the blocks.

    The first axis of an even size, or else the first one of the largest.
    """
    even = [i for i, size in enumerate(shape) if size % 2 == 0]
    axis = even[0] if even else shape.index(max(shape))
    return axis, (*shape[:axis], -(-shape[axis] // 2), *shape[axis + 1 :])


def _joined(low: Array, high: Array) -> Array:
    return bitcast_convert_type(snp.stack([low, high], -1), snp.uint64)


def _by_threefry(key: Sequence[Any], state: Sequence[Any], shape: tuple[int, ...], wide: bool) -> tuple[Any, int]:
    axis, blocks = (0, shape) if wide else _halves(shape)
    count = math.prod(blocks)
    words = [w.reshape(blocks) for w in threefry2x32(*key, *_counters(state, count))]
    if wide:
        return _joined(*words), count
    # Words of a block are neighbours; of the last one, the second may be left over.
    pairs = snp.stack(words, axis + 1).reshape(*shape[:axis], 2 * blocks[axis], *shape[axis + 1 :])
    return pairs[(slice(None),) * axis + (slice(shape[axis]),)], count


def _by_philox(key: Sequence[Any], state: Sequence[Any], shape: tuple[int, ...], wide: bool) -> tuple[Any, int]:
    size = math.prod(shape)
    count = -(-size // (2 if wide else 4))
    words = _philox(_counters([*state, *key], count), key)
    if wide:
        words = [_joined(*words[:2]), _joined(*words[2:])]
    return snp.stack(words, 1).reshape(-1)[:size].reshape(shape), count


def rng_bit_generator(
    key: ArrayLike,
    shape: Sequence[int],
    dtype: DTypeLike = np.uint32,
    algorithm: RandomAlgorithm = RandomAlgorithm.RNG_DEFAULT,
    *,
    out_sharding: Any = None,
) -> tuple[Array, Array]:
    """Random bits, and the state for the next ones. The bits are those of `jax.lax` on CPUs.

    Args:
      key: the state: four uint32, or two uint64; the first half is the generator's key, the second one counts.
      dtype: an unsigned integer type of 8 bits or more.
      algorithm: Threefry-2x32 or Philox-4x32; the default is Philox for every target.
      out_sharding: how the bits are split along explicit axes of a mesh.

    >>> import stagec.numpy as snp
    >>> state, bits = rng_bit_generator(snp.array([1, 2, 3, 4], "uint32"), (2,))
    >>> state, bits
    (Array([1, 2, 4, 4], dtype=uint32), Array([ 512747620, 1298009047], dtype=uint32))
    """
    given = array_argument(key, "key")
    aval = aval_of(given)
    if (aval.shape, aval.dtype) not in [((4,), np.dtype("uint32")), ((2,), np.dtype("uint64"))]:
        raise location.error(
            errors.ArgumentTypeError,
            f"rng_bit_generator: expected a state of uint32[4] or uint64[2], got {aval.long()}",
            fix="pass four uint32; stagec.random has generators whose keys are made by seeds",
        )
    wanted = requested_dtype(dtype, "rng_bit_generator")
    if wanted.kind != "u":
        raise location.error(
            errors.DtypeError,
            f"rng_bit_generator: {wanted.name} is no unsigned integer type",
            fix="draw uint32, and convert them with bitcast_convert_type",
        )
    sizes = as_shape(shape, "rng_bit_generator")
    wide = aval.dtype.itemsize == 8
    words = bitcast_convert_type(given, np.dtype("uint32")).reshape(4) if wide else given
    first, second = [words[0], words[1]], [words[2], words[3]]
    generate = _by_threefry if RandomAlgorithm(algorithm) == RandomAlgorithm.RNG_THREE_FRY else _by_philox
    if 0 in sizes:
        return given, snp.zeros(sizes, wanted)
    # A single number is drawn as one of a vector.
    bits, count = generate(first, second, sizes or (1,), wanted.itemsize == 8)
    low = second[0] + np.uint32(count)
    after = snp.stack([*first, low, second[1] + (low < np.uint32(count)).astype(snp.uint32)])
    after = bitcast_convert_type(after.reshape(2, 2), np.dtype("uint64")) if wide else after
    found = convert_element_type(bits, wanted).reshape(sizes)
    return after, found if out_sharding is None else explicitly_split(found, out_sharding, "rng_bit_generator")


_source = np.random.default_rng()


def _draw(low: Array, high: Array, size: tuple[int, ...]) -> Any:
    dtype = np.asarray(low).dtype
    if dtype.kind in "iu":
        return _source.integers(low, high, size=size, dtype=dtype)
    return (low + (high - low) * _source.random(size)).astype(dtype)


def rng_uniform(a: ArrayLike, b: ArrayLike, shape: Sequence[int]) -> Array:
    """Random numbers from `a` on and below `b`, other ones at each call.

    They are drawn by NumPy, for which a compiled program calls Python. `stagec.random` needs neither.

    Args:
      a, b: numbers of one dtype, real and of rank 0.

    >>> rng_uniform(2, 4, (3,)).shape
    (3,)
    """
    low, high = promote_weak_scalars(a, b)
    dtype = same_dtype("rng_uniform", (aval_of(low), aval_of(high)))
    if aval_of(low).shape or aval_of(high).shape or dtypes.is_complex(dtype) or dtype == dtypes.bool_:
        raise location.error(
            errors.ArgumentTypeError,
            f"rng_uniform: expected two real numbers, got {aval_of(low).long()} and {aval_of(high).long()}",
            fix="draw from 0 to 1, and scale what is drawn",
        )
    size = as_shape(shape, "rng_uniform")
    drawn: Array = io_callback(lambda x, y: _draw(x, y, size), ShapedArray.of(size, dtype), low, high)
    return drawn

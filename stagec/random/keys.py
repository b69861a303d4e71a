"""Creation, splitting and conversion of random keys."""

from __future__ import annotations

import functools
import math
import weakref
from collections.abc import Sequence
from typing import Any, cast, overload

import numpy as np

from stagec.core import dtypes, errors, location
from stagec.core.array import Array
from stagec.core.config import config
from stagec.core.dims import is_open
from stagec.core.dtypes import KeyDtype
from stagec.numpy.arguments import array_argument
from stagec.numpy.joining import stack
from stagec.primitives import logic
from stagec.primitives.axes import as_shape
from stagec.primitives.convert import convert_element_type
from stagec.primitives.iota import iota
from stagec.primitives.keys import random_unwrap_p, random_wrap_p
from stagec.primitives.operand import aval_of, literal
from stagec.primitives.shape import reshape
from stagec.primitives.threefry import threefry2x32
from stagec.random.key_array import KeyLike as KeyLike, PRNGKeyArray as PRNGKeyArray
from stagec.typing import ArrayLike

__all__ = [
    "PRNGKey", "PRNGKeyArray", "clone", "fold_in", "key", "key_data", "key_dtype", "key_impl", "split",
    "wrap_key_data",
]  # fmt: skip

# For `debug_key_reuse`: by the `id` of each key, a weak reference to it, and the function and the line that used it. A
# reference's callback is a method of a built-in type, see `core/weak.py`.
_uses: dict[int, tuple[weakref.ref[Any], str]] = {}


def _refuse(name: str, value: Any) -> Exception:
    return location.error(
        errors.ArgumentTypeError,
        f"{name}: expected a random key, got {errors.brief(value)}",
        [("key", errors.brief(value), f"of type {type(value).__name__}")],
        "make one with stagec.random.key(seed)",
    )


def as_keys(name: str, key: Any) -> PRNGKeyArray:
    """Convert a user's keys: typed keys, or uint32 words along a last axis of 2."""
    if isinstance(key, PRNGKeyArray):
        return key
    if not hasattr(key, "dtype") or not hasattr(key, "shape"):
        raise _refuse(name, key)
    words = array_argument(key, name)
    if words.dtype != np.uint32 or not words.shape or words.shape[-1] != 2:
        raise _refuse(name, key)
    return keys_of(words[..., 0], words[..., 1])


def keys_of(*words: Any) -> PRNGKeyArray:
    """The keys of these words, which are uint32."""
    return cast(PRNGKeyArray, random_wrap_p(*words))


def words_of(keys: PRNGKeyArray) -> tuple[Any, Any]:
    """The two words of each key, as arrays of the keys' shape."""
    first, second = random_unwrap_p(keys)
    return first, second


def as_key(name: str, key: Any) -> PRNGKeyArray:
    """Convert a user's single key, and record its use for `debug_key_reuse`."""
    keys = as_keys(name, key)
    if keys.shape:
        raise location.error(
            errors.ShapeError,
            f"{name} accepts a single key, got an array of keys of shape {keys.shape}",
            fix=f"map over them: stagec.vmap(lambda key: stagec.random.{name}(key, ...))(keys)",
        )
    if config.debug_key_reuse and isinstance(key, PRNGKeyArray):
        _, before = _uses.get(id(key), (None, ""))
        if before:
            raise location.error(
                errors.KeyReuseError,
                f"{name}: the key was used before, by {before}, and would return numbers that depend on the earlier",
                fix="split it first: key, subkey = stagec.random.split(key); "
                "stagec.random.clone(key) allows one more use",
            )
        reference = weakref.ref(key, functools.partial(_uses.pop, id(key)))
        _uses[id(key)] = reference, f"{name} at {location.capture()}"
    return keys


def _seed(name: str, seed: Any) -> PRNGKeyArray:
    if isinstance(seed, PRNGKeyArray):
        raise location.error(
            errors.ArgumentTypeError, f"{name}: expected an integer seed, got a key", fix="use the key as it is"
        )
    if isinstance(seed, (int, np.integer)) and not isinstance(seed, (bool, np.bool_)):
        value = int(seed)
        if not -(1 << 63) <= value < 1 << 64:
            raise location.error(
                OverflowError, f"{name}: seed {value} does not fit 64 bits", fix="take it modulo 2**64"
            )
        # As in JAX, seeds have the width of the default integer.
        upper = value >> 32 & 0xFFFFFFFF if config.enable_x64 else 0
        return keys_of(*(literal(w, dtypes.uint32) for w in (upper, value & 0xFFFFFFFF)))
    operand = array_argument(seed, name)
    aval = aval_of(operand)
    if aval.shape or not dtypes.is_integer(aval.dtype):
        raise location.error(
            errors.ArgumentTypeError,
            f"{name}: expected an integer seed, got {aval.long()}",
            fix="give one integer; stagec.vmap(stagec.random.key)(seeds) makes several keys",
        )
    low = convert_element_type(operand, dtypes.uint32)
    if aval.dtype.itemsize < 8:
        return keys_of(literal(0, dtypes.uint32), low)
    high = logic.shift_right_logical(operand, literal(32, aval.dtype))
    return keys_of(convert_element_type(high, dtypes.uint32), low)


def _check_implementation(name: str, impl: Any, dtype: Any = None) -> None:
    if impl is not None and dtype is not None:
        what = f"{name}: impl={impl!r} and dtype={dtype!r} say the same"
        raise location.error(errors.ArgumentTypeError, what, fix="leave one of the two out")
    impl = dtype if impl is None else impl
    if impl not in (None, dtypes.KEY.implementation, "fry", dtypes.KEY):
        raise location.error(
            errors.UnsupportedError,
            f"{name}: there is no generator named {impl!r}",
            fix=f"use {dtypes.KEY.implementation!r}, the default",
        )


def key(seed: ArrayLike, *, impl: str | None = None, dtype: KeyDtype | None = None) -> PRNGKeyArray:
    """A random key from an integer.

    Args:
      seed: an integer of rank 0, which may be traced. Without 64-bit types, its lower 32 bits count.
      impl: the generator, `"threefry2x32"`.
      dtype: the dtype of the key, instead of `impl`; see `key_dtype`.

    >>> from stagec import random
    >>> random.normal(random.key(42), (2,)).round(3)
    Array([-0.028,  0.467], dtype=float32)
    """
    _check_implementation("key", impl, dtype)
    return _seed("key", seed)


def PRNGKey(seed: ArrayLike, *, impl: str | None = None) -> Array:
    """A random key of the older kind: an array of two uint32.

    >>> from stagec import random
    >>> random.PRNGKey(7)
    Array([0, 7], dtype=uint32)
    """
    _check_implementation("PRNGKey", impl)
    return key_data(_seed("PRNGKey", seed))


def _as_given(given: Any, keys: PRNGKeyArray) -> PRNGKeyArray | Array:
    return keys if isinstance(given, PRNGKeyArray) else key_data(keys)


@overload
def split(key: PRNGKeyArray, num: int | Sequence[int] = 2) -> PRNGKeyArray: ...
@overload
def split(key: ArrayLike, num: int | Sequence[int] = 2) -> Array: ...
def split(key: KeyLike, num: int | Sequence[int] = 2) -> PRNGKeyArray | Array:
    """New keys from one, which should not be used again.

    Args:
      key: a single key.
      num: the number of keys, or the shape of the array of keys.

    Returns:
      Typed keys for a typed key, otherwise arrays of uint32.

    >>> from stagec import random
    >>> first, second = random.split(random.key(0))
    """
    return _as_given(key, split_key(as_key("split", key), as_shape(num, "split")))


def split_key(key: PRNGKeyArray, shape: tuple[int, ...]) -> PRNGKeyArray:
    """As `split`, for a typed key."""
    return keys_of(*encrypted_counter(key, shape))


def encrypted_counter(key: PRNGKeyArray, shape: tuple[int, ...]) -> Sequence[Any]:
    """Return the numbers 0, 1, 2, ... in row-major order, encrypted with one key."""
    size = math.prod(shape)
    if not is_open(size) and size > 1 << 32:
        raise location.error(
            errors.ShapeError,
            f"one key makes at most 2**32 numbers, {size} were asked for",
            fix="split the key, and draw in parts",
        )
    zero = literal(0, dtypes.uint32)
    counter = reshape(iota(dtypes.uint32, size), shape) if shape else zero
    return threefry2x32(*words_of(key), zero, counter)


@overload
def fold_in(key: PRNGKeyArray, data: ArrayLike) -> PRNGKeyArray: ...
@overload
def fold_in(key: ArrayLike, data: ArrayLike) -> Array: ...
def fold_in(key: KeyLike, data: ArrayLike) -> PRNGKeyArray | Array:
    """A new key from a key and an integer, such as the number of a step.

    Args:
      key: a single key.
      data: an integer of rank 0, which may be traced; its lower 32 bits count.

    >>> from stagec import random
    >>> step_key = random.fold_in(random.key(0), 17)
    """
    single = as_key("fold_in", key)
    value = array_argument(np.uint32(data & 0xFFFFFFFF) if isinstance(data, int) else data, "fold_in")
    if aval_of(value).shape or not (dtypes.is_integer(value.dtype) or dtypes.is_bool(value.dtype)):
        raise location.error(
            errors.ArgumentTypeError,
            f"fold_in: expected an integer, got {aval_of(value).long()}",
            fix="give one integer; stagec.vmap maps over several",
        )
    word = convert_element_type(value, dtypes.uint32)
    return _as_given(key, keys_of(*threefry2x32(*words_of(single), literal(0, dtypes.uint32), word)))


def key_data(keys: KeyLike) -> Array:
    """The bits of keys: uint32, with a last axis of 2.

    >>> from stagec import random
    >>> random.key_data(random.key(7))
    Array([0, 7], dtype=uint32)
    """
    return stack(list(words_of(as_keys("key_data", keys))), axis=-1)


def key_dtype(impl_spec: str | KeyDtype | None = None) -> KeyDtype:
    """The dtype of the keys of a generator.

    Args:
      impl_spec: the generator, `"threefry2x32"`.

    >>> from stagec import random
    >>> random.key_dtype() == random.key(0).dtype
    True
    """
    _check_implementation("key_dtype", impl_spec)
    return cast(KeyDtype, dtypes.KEY)


def wrap_key_data(key_bits_array: ArrayLike, *, impl: str | None = None, dtype: KeyDtype | None = None) -> PRNGKeyArray:
    """Keys from their bits, as `key_data` returns them.

    >>> import stagec.numpy as snp
    >>> from stagec import random
    >>> random.wrap_key_data(snp.array([0, 7], "uint32"))
    Array((), dtype=key<fry>) overlaying:
    [0 7]
    """
    _check_implementation("wrap_key_data", impl, dtype)
    return as_keys("wrap_key_data", key_bits_array)


def key_impl(keys: KeyLike) -> str:
    """The name of the generator that keys are for.

    >>> from stagec import random
    >>> random.key_impl(random.key(0))
    'threefry2x32'
    """
    return as_keys("key_impl", keys).dtype.implementation


@overload
def clone(key: PRNGKeyArray) -> PRNGKeyArray: ...
@overload
def clone(key: ArrayLike) -> Array: ...
def clone(key: KeyLike) -> PRNGKeyArray | Array:
    """The same key, for one more use where `debug_key_reuse` is on.

    >>> from stagec import random
    >>> key = random.key(0)
    >>> bool(random.clone(key) == key)
    True
    """
    return _as_given(key, keys_of(*words_of(as_keys("clone", key))))

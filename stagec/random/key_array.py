"""Arrays of random keys: pytrees of two arrays of 32-bit words."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from stagec.core import dtypes, errors, location, missing
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.boundary import shorten
from stagec.core.containers import GetAttrKey, register_pytree_with_keys
from stagec.core.trace import Tracer
from stagec.typing import ArrayLike


class KeyDtype(dtypes.ExtendedDtype):
    """The dtype of keys. There is one: `key<fry>`, keys of Threefry-2x32."""

    type = dtypes.prng_key
    name = "key<fry>"
    itemsize = 8

    def __repr__(self) -> str:
        return self.name

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KeyDtype)

    def __hash__(self) -> int:
        return hash(self.name)


KEY_DTYPE = KeyDtype()
# As in JAX, annotations may call keys arrays.
if TYPE_CHECKING:
    _Base = Array
else:
    _Base = object


class PRNGKeyArray(_Base):
    """An array of random keys; `key` and `split` make them.

    A pytree of two arrays of uint32, which have the keys' shape, so `jit`, `vmap`, `scan` and the like
    see the axes that the user sees.

    >>> from stagec import random
    >>> keys = random.split(random.key(0), 3)
    >>> keys.shape, keys.dtype
    ((3,), key<fry>)
    >>> keys[0]
    Array((), dtype=key<fry>) overlaying:
    [1797259609 2579123966]
    """

    # The name by which pickles and files of compiled functions know the class.
    __module__ = "stagec.random.keys"
    __slots__ = ("_used", "_words")
    # For `isinstance(key, stagec.Array)`.
    counts_as_array = True

    def __init__(self, first: Any, second: Any) -> None:
        self._words = (first, second)
        # The function and the line that used the key, for `debug_key_reuse`.
        self._used = ""

    @property
    def shape(self) -> tuple[int, ...]:
        return np.shape(self._words[0])

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def dtype(self) -> KeyDtype:  # type: ignore[override]
        return KEY_DTYPE

    @property
    def aval(self) -> ShapedArray:
        return ShapedArray.of(self.shape, KEY_DTYPE)  # type: ignore[arg-type]

    @property
    def itemsize(self) -> int:
        return KEY_DTYPE.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    @property
    def at(self) -> KeysAt:  # type: ignore[override]
        """Updates: `keys.at[index].set(others)`, and `get`."""
        return KeysAt(self)

    @property
    def sharding(self) -> Any:
        """Which device holds which of the keys."""
        return self._words[0].sharding

    def devices(self) -> Any:
        """The devices that the keys are on."""
        return self._words[0].devices()

    def _map(self, method: str, *args: Any, **kwargs: Any) -> PRNGKeyArray:
        return PRNGKeyArray(*(getattr(w, method)(*args, **kwargs) for w in self._words))

    def __getitem__(self, index: Any) -> PRNGKeyArray:
        return self if index is Ellipsis else self._map("__getitem__", index)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a single key")
        return self.shape[0]

    def __iter__(self) -> Iterator[PRNGKeyArray]:
        if not self.shape:
            raise TypeError("a single key cannot be iterated over; random.split makes several")
        return (self[i] for i in range(len(self)))

    def reshape(self, *shape: Any) -> PRNGKeyArray:  # type: ignore[override]
        """The keys in another shape."""
        return self._map("reshape", *shape)

    def ravel(self) -> PRNGKeyArray:  # type: ignore[override]
        """The keys along one axis."""
        return self._map("ravel")

    flatten = ravel  # type: ignore[assignment]

    def transpose(self, *axes: Any) -> PRNGKeyArray:
        """The keys with their axes permuted."""
        return self._map("transpose", *axes)

    def squeeze(self, axis: Any = None) -> PRNGKeyArray:
        """The keys without axes of length 1."""
        return self._map("squeeze", axis)

    @property
    def T(self) -> PRNGKeyArray:
        return self.transpose()

    def block_until_ready(self) -> PRNGKeyArray:
        """Wait until the keys are computed."""
        return self._map("block_until_ready")

    def copy(self) -> PRNGKeyArray:  # type: ignore[override]
        """The same keys; as `clone`."""
        return PRNGKeyArray(*self._words)

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, PRNGKeyArray):
            return NotImplemented
        return (self._words[0] == other._words[0]) & (self._words[1] == other._words[1])

    def __ne__(self, other: object) -> Any:
        if not isinstance(other, PRNGKeyArray):
            return NotImplemented
        return (self._words[0] != other._words[0]) | (self._words[1] != other._words[1])

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise location.error(TypeError, "a random key is neither true nor false", fix="compare keys with ==")

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise location.error(
            errors.ArgumentTypeError,
            "random keys are not numbers, and cannot become a NumPy array",
            fix="stagec.random.key_data(key) returns the bits of a key",
        )

    def __repr__(self) -> str:
        kind = f"Array({self.shape}, dtype={KEY_DTYPE})"
        if any(isinstance(w, Tracer) for w in self._words):
            return f"{kind} traced"
        return f"{kind} overlaying:\n{np.stack([np.asarray(word) for word in self._words], axis=-1)}"


# Keys, or the words of keys of the older kind.
KeyLike: TypeAlias = PRNGKeyArray | ArrayLike


register_pytree_with_keys(
    PRNGKeyArray,
    lambda k: (((GetAttrKey("word0"), k._words[0]), (GetAttrKey("word1"), k._words[1])), None),
    lambda _, words: PRNGKeyArray(*words),
    lambda k: (k._words, None),
)


shorten(PRNGKeyArray, "__getitem__ __len__ __iter__ __array__ __bool__ reshape ravel transpose squeeze")


def words_of(key: PRNGKeyArray) -> tuple[Any, Any]:
    """The two halves of each key."""
    return key._words


def one_word(value: Any, number: int, name: str) -> Any:
    """Return one word of each key in an argument, which may contain only keys."""
    if isinstance(value, (list, tuple)):
        return type(value)([one_word(v, number, name) for v in value])
    if isinstance(value, PRNGKeyArray):
        return words_of(value)[number]
    raise location.error(
        errors.ArgumentTypeError,
        f"{name}: an array cannot hold keys and numbers; got a key and {errors.brief(value)}",
        fix="pass keys alone, or the bits of keys: stagec.random.key_data(keys)",
    )


class KeysAt:
    """The helper behind `keys.at`; index it, then call `get` or `set`.

    >>> from stagec import random
    >>> keys = random.split(random.key(0), 3)
    >>> bool(keys.at[0].set(keys[2])[0] == keys[2])
    True
    """

    __slots__ = ("_keys",)

    def __init__(self, keys: PRNGKeyArray) -> None:
        self._keys = keys

    def __getitem__(self, index: Any) -> KeysAtIndex:
        return KeysAtIndex(self._keys, index)


class KeysAtIndex:
    """The indexed keys of an array, which can be read and set, but not computed with."""

    __slots__ = ("_index", "_keys")

    def __init__(self, keys: PRNGKeyArray, index: Any) -> None:
        self._keys = keys
        self._index = index

    def __getattr__(self, name: str) -> Any:
        raise missing.member_error(type(self), name, "keys.at[i].")

    def get(self, **how: Any) -> PRNGKeyArray:
        """`keys[index]`; keyword arguments are those of `x.at[index].get`."""
        return PRNGKeyArray(*(word.at[self._index].get(**how) for word in words_of(self._keys)))

    def set(self, values: Any, **how: Any) -> PRNGKeyArray:
        """`keys[index] = values` in a copy; keyword arguments are those of `x.at[index].set`."""
        words = enumerate(words_of(self._keys))
        return PRNGKeyArray(*(word.at[self._index].set(one_word(values, i, "set"), **how) for i, word in words))


shorten(KeysAtIndex, "__getattr__ get set")

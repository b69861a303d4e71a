"""The class by which annotations name arrays of random keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

from stagec.core.array import Array, Axis
from stagec.core.dtypes import KEY, KeyDtype
from stagec.core.operators import ArrayOperators
from stagec.typing import ArrayLike

# As in JAX, annotations may call keys arrays.
if TYPE_CHECKING:
    _Base = Array
else:
    _Base = object


class _OfKeys(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, ArrayOperators) and instance.aval.dtype == KEY


class PRNGKeyArray(_Base, metaclass=_OfKeys):
    """An array of random keys: one whose elements are keys. `key` and `split` make them.

    What moves elements moves keys, and keys are equal or not; there is nothing else to compute with them.

    >>> from stagec import random
    >>> keys = random.split(random.key(0), 3)
    >>> keys.shape, keys.dtype
    ((3,), key<fry>)
    >>> keys[0]
    Array((), dtype=key<fry>) overlaying:
    [1797259609 2579123966]
    """

    __module__ = "stagec.random"

    if TYPE_CHECKING:

        @property
        def dtype(self) -> KeyDtype: ...  # type: ignore[override]
        @property
        def T(self) -> PRNGKeyArray: ...
        def __getitem__(self, index: Any) -> PRNGKeyArray: ...
        def __iter__(self) -> Iterator[PRNGKeyArray]: ...
        def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> PRNGKeyArray: ...
        def ravel(self, order: str = "C") -> PRNGKeyArray: ...
        def flatten(self, order: str = "C") -> PRNGKeyArray: ...
        def transpose(self, *axes: Any) -> PRNGKeyArray: ...
        def squeeze(self, axis: Axis = None) -> PRNGKeyArray: ...
        def copy(self, order: str | None = None) -> PRNGKeyArray: ...


# Keys, or the words of keys of the older kind.
KeyLike: TypeAlias = PRNGKeyArray | ArrayLike

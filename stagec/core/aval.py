"""Avals: what is known of a value before it exists."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from stagec.core import dtypes
from stagec.core.dims import is_open
from stagec.core.dims_terms import Symbol
from stagec.core.dims_values import evaluate


def _dtype(dtype: Any) -> Any:
    if isinstance(dtype, dtypes.ExtendedDtype):
        return dtype
    found = np.dtype(dtype)
    return dtypes.KEY if found == dtypes.KEY.dtype else found


class ManualAxisType(NamedTuple):
    """Along which manual axes of a mesh a value inside of `shard_map` differs.

    Attributes:
      varying: the axes along which the devices may have different values.
      unreduced, reduced: no axes, as a value holds sums, and not their terms.
    """

    varying: frozenset[Any] = frozenset()
    unreduced: frozenset[Any] = frozenset()
    reduced: frozenset[Any] = frozenset()

    def invarying(self, mesh: Any) -> frozenset[Any]:
        """The manual axes of a mesh along which all devices have the same value."""
        return frozenset(mesh.manual_axes) - self.varying


class ShapedArray:
    """Shape, dtype and weak type of an array. Interned: equal avals are one object.

    >>> ShapedArray.of((2, 3), np.dtype("float32"))
    ShapedArray(float32[2,3])
    """

    __slots__ = ("dtype", "is_open", "ndim", "shape", "size", "small", "weak_type", "wide")
    shape: tuple[int, ...]  # of an open dimension, the size is an expression: a `Dim`
    dtype: np.dtype[Any]
    weak_type: bool
    ndim: int
    size: int
    is_open: bool  # whether a size is known only when the program runs
    small: bool  # whether the dtype has up to eight bits, and operations compute in another one
    wide: bool  # whether arrays get the dtype with `enable_x64` alone
    # Makes the sharding that a type has; given by `runtime/sharding.py`.
    sharding_of: Callable[[ShapedArray], Any]

    _interned: dict[tuple[Any, ...], ShapedArray] = {}  # noqa: RUF012

    @classmethod
    def of(cls, shape: tuple[int, ...], dtype: np.dtype[Any], weak_type: bool = False) -> ShapedArray:
        key = (shape, dtype, weak_type)
        found = cls._interned.get(key)
        return found if found is not None else cls._make(key)

    @classmethod
    def _make(cls, key: tuple[Any, ...]) -> ShapedArray:
        shape, dtype, weak_type = key
        made = object.__new__(cls)
        made.shape = tuple(n if is_open(n) else int(n) for n in shape)
        made.is_open = any(is_open(n) for n in made.shape)
        made.dtype = _dtype(dtype)
        made.weak_type = bool(weak_type)
        made.ndim = len(made.shape)
        made.size = math.prod(made.shape)
        made.small = made.dtype in dtypes.SMALL
        made.wide = made.dtype in dtypes.WIDE
        # setdefault is atomic, so two threads agree on one object.
        return cls._interned.setdefault((made.shape, made.dtype, made.weak_type), made)

    def __new__(cls, shape: Any, dtype: Any, weak_type: bool = False, *, sharding: None = None) -> ShapedArray:
        return cls.of(tuple(shape), _dtype(dtype), bool(weak_type))

    @property
    def sharding(self) -> Any:
        """That of a value that is whole: how a value is split is no part of its type here."""
        return ShapedArray.sharding_of(self)

    @property
    def mat(self) -> ManualAxisType:
        """Along which manual axes the value differs, as `typeof` tells inside of `shard_map`."""
        return ManualAxisType()

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def update(self, *, shape: Any = None, dtype: Any = None, weak_type: bool | None = None) -> ShapedArray:
        """A copy with some fields replaced."""
        return ShapedArray.of(
            self.shape if shape is None else tuple(shape),
            self.dtype if dtype is None else _dtype(dtype),
            self.weak_type if weak_type is None else weak_type,
        )

    def at(self, values: Mapping[Symbol, int]) -> ShapedArray:
        """The aval for given values of its symbols."""
        return self.update(shape=[evaluate(n, values) for n in self.shape]) if self.is_open else self

    def strip_weak_type(self) -> ShapedArray:
        return ShapedArray.of(self.shape, self.dtype, False)

    def to_tangent_aval(self) -> ShapedArray:
        """The type of a value's tangents: of integers and bools, `float0`."""
        return ShapedArray.of(self.shape, self.dtype if dtypes.is_inexact(self.dtype) else dtypes.float0)

    def lo_ty(self) -> list[ShapedArray]:
        """The types of the arrays that a value consists of: of an array, its own."""
        return [self]

    def lower_val(self, value: Any) -> list[Any]:
        """The arrays that a value consists of."""
        return [value]

    def raise_val(self, value: Any) -> Any:
        """The value that consists of them."""
        return value

    def short(self) -> str:
        """`f32[2,3]`"""
        return f"{dtypes.short(self.dtype)}[{','.join(map(str, self.shape))}]"

    def str_short(self, short_dtypes: bool = False, **of_shardings: bool) -> str:
        """The text of `short` or `long`, under JAX's name."""
        return self.short() if short_dtypes else self.long()

    def long(self) -> str:
        """`float32[2,3]`"""
        return f"{self.dtype.name}[{','.join(map(str, self.shape))}]"

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapedArray({self.long()}{weak})"

    def __str__(self) -> str:
        return f"{'~' if self.weak_type else ''}{self.long()}"

    def __reduce__(self) -> Any:
        return ShapedArray, (self.shape, self.dtype, self.weak_type)

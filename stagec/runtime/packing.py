"""Copies of closed-over matrices in the order in which a program's products read them.

NumPy makes them before the first call. `passes/kernels/weights.py` chooses the arguments and the layouts. Elements have
the order in which the kernels of `passes/kernels/products/packing.py` or `groups.py` in the same folder write them.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from stagec.core.aval import ShapedArray
from stagec.core.config import config
from stagec.runtime.array import Array
from stagec.runtime.memory import aligned_empty

# By the identity of an array and the layout: both arrays, for as long as something else keeps them.
_copies: dict[tuple[int, Packing], tuple[weakref.ref[Array], weakref.ref[Array]]] = {}
# Smaller matrices are not packed, or packing them takes no time.
_LEAST_BYTES = 1 << 14
_DTYPES = {"f32": "float32", "f64": "float64", "i16": "int16", "i32": "int32", "i64": "int64"}


class Packing(NamedTuple):
    """A packed copy of an argument.

    Attributes:
      argument: its position.
      element: the element type of the copy, as MLIR spells it.
      shape: the matrices of the argument: batches, then the sum's axis, then that which is cut into panels.
      strides: the distances, in elements, of neighbours along these axes.
      width: of a panel.
      group: how many elements one element of the copy holds; 0 if each is converted.
      lines: whether the groups of each column follow one another.
      size: elements of the copy.
    """

    argument: int
    element: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    width: int
    group: int
    lines: bool
    size: int

    @classmethod
    def parse(cls, row: dict[str, Any]) -> Packing:
        """A packing that was stored as JSON."""
        return cls(**{**row, "shape": tuple(row["shape"]), "strides": tuple(row["strides"])})

    def fits(self, aval: ShapedArray) -> bool:
        """Whether an array has what the copy reads, and the copy has room for it."""
        sizes = (*self.shape, self.width, self.size)
        if self.element not in _DTYPES or len(self.shape) != len(self.strides) or len(self.shape) < 2:
            return False
        if min(sizes) < 1 or min(self.group, *self.strides) < 0:
            return False
        *batch, depth, extent = self.shape
        last = sum((n - 1) * stride for n, stride in zip(self.shape, self.strides))
        columns = math.prod(batch) * -(-extent // self.width) * self.width
        rows, left = divmod(self.size, columns)
        return last < aval.size and not left and rows * max(1, self.group) >= depth and self._suits(aval, rows)

    def _suits(self, aval: ShapedArray, rows: int) -> bool:
        """Whether a group has the bytes of its elements; panels have a row for each one of the matrix."""
        if not self.group:
            return rows == self.shape[-2]
        size = np.dtype(_DTYPES[self.element]).itemsize
        return self.group * aval.dtype.itemsize == size or (self.group * 2 == size and aval.dtype.itemsize == 1)

    @property
    def aval(self) -> ShapedArray:
        """The aval of the copy."""
        return ShapedArray.of((self.size,), np.dtype(_DTYPES[self.element]))

    def of(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The copy of an array."""
        found = aligned_empty((self.size,), np.dtype(_DTYPES[self.element]))
        flat = array.reshape(-1)
        if self.group:
            if self.group * flat.itemsize < found.itemsize:
                flat = flat.astype(np.int16)
            flat = flat.view(f"u{flat.itemsize}")
        matrix = _view(flat, self.shape, self.strides)
        if self.group:
            self._fill_groups(found.view(matrix.dtype), matrix)
        else:
            self._fill_panels(found, matrix)
        found.flags.writeable = False
        return found

    def _fill_panels(self, found: np.ndarray[Any, Any], matrix: np.ndarray[Any, Any]) -> None:
        *batch, depth, extent = self.shape
        whole, left = divmod(extent, self.width)
        panels = found.reshape(*batch, -1, depth, self.width)
        for number in range(whole):
            panels[..., number, :, :] = matrix[..., number * self.width : (number + 1) * self.width]
        if left:
            panels[..., whole, :, :left] = matrix[..., whole * self.width :]
            panels[..., whole, :, left:] = 0

    def _fill_groups(self, found: np.ndarray[Any, Any], matrix: np.ndarray[Any, Any]) -> None:
        *batch, depth, extent = self.shape
        count = -(-extent // self.width)
        found[...] = 0
        if self.lines:
            found.reshape(*batch, count * self.width, -1)[..., :extent, :depth] = matrix.swapaxes(-1, -2)
            return
        groups = found.reshape(*batch, count, -1, self.width, self.group)
        for number in range(count):
            part = matrix[..., number * self.width : (number + 1) * self.width]
            for i in range(self.group):
                rows = part[..., i :: self.group, :]
                groups[..., number, : rows.shape[-2], : rows.shape[-1], i] = rows


def _view(flat: np.ndarray[Any, Any], shape: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray[Any, Any]:
    return np.lib.stride_tricks.as_strided(flat, shape, [s * flat.itemsize for s in strides], writeable=False)


def packed(array: Array, packing: Packing) -> Array:
    """The packed copy of an array, shared by all programs that read the array in this layout."""
    key = id(array), packing._replace(argument=0)
    known = _copies.get(key)
    if known is not None and known[0]() is array:
        copy = known[1]()
        if copy is not None:
            return copy
    for other, (source, copy_) in list(_copies.items()):
        if source() is None or copy_() is None:
            _copies.pop(other, None)
    made = Array.of(packing.of(array._host()), packing.aval)
    _copies[key] = weakref.ref(array), weakref.ref(made)
    return made


def packable(avals: Mapping[int, ShapedArray]) -> tuple[int, ...]:
    """The inputs that a program may take packed copies of, among those that are the same at each call.

    Args:
      avals: the avals of the latter, by position.
    """
    found: list[int] = []
    room = config.packed_copy_bytes
    for i, aval in avals.items():
        # Narrow elements are widened in most copies.
        size = aval.size * max(4, aval.dtype.itemsize)
        if aval.ndim > 1 and aval.nbytes >= _LEAST_BYTES and size <= room:
            found.append(i)
            room -= size
    return tuple(found)

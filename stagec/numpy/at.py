"""`x.at[index]`: updates of immutable arrays, as NumPy's assignments would make them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from stagec.control.loops import while_loop
from stagec.core import dtypes, missing
from stagec.core.array import Array
from stagec.core.boundary import shorten
from stagec.core.graph import Literal
from stagec.core.trace import Tracer
from stagec.numpy.arguments import array_argument, explicitly_split
from stagec.numpy.dynamic_slices import windowed
from stagec.numpy.index_syntax import parse, with_arrays
from stagec.numpy.indexing import getitem, getitem_planned, moves_many
from stagec.numpy.promotion import broadcast_to_shape
from stagec.numpy.values import array
from stagec.numpy.writes import updated
from stagec.primitives import arithmetic, logic
from stagec.primitives.convert import convert_element_type
from stagec.primitives.gather_parts import GatherScatterMode
from stagec.primitives.iota import full_like
from stagec.primitives.operand import as_operand, aval_of, is_array_like
from stagec.runtime.plans import planned

# An index larger than every axis.
_BEYOND = np.iinfo(np.int32).max


class At:
    """The helper behind `x.at`; index it, then call an update.

    >>> import stagec.numpy as snp
    >>> snp.zeros(3).at[1].set(5)
    Array([0., 5., 0.], dtype=float32)
    """

    __slots__ = ("_array",)

    def __init__(self, x: Any) -> None:
        self._array = x

    def __getitem__(self, index: Any) -> AtIndex:
        return AtIndex(self._array, with_arrays(index))

    def __repr__(self) -> str:
        return f"At({self._array!r})"


def _update(name: str, sentence: str, combine: Callable[[Any, Any], Any] | None = None) -> Callable[..., Any]:
    """A method of `AtIndex`: an update by its name, or `combine` of the array and the product of values."""

    def update(
        self: AtIndex,
        values: Any,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        wrap_negative_indices: bool = True,
        out_sharding: Any = None,
    ) -> Any:
        options = indices_are_sorted, unique_indices, mode, wrap_negative_indices
        if combine is None:
            found = self._update(name, values, *options)
        else:
            ones = AtIndex(full_like(self._array, 1), self._index)
            found = combine(self._array, ones._update("multiply", values, *options))
        return found if out_sharding is None else explicitly_split(found, out_sharding, f"x.at[i].{name}")

    update.__name__, update.__qualname__, update.__doc__ = name, f"AtIndex.{name}", sentence
    return update


class AtIndex:
    """The indexed elements of an array, with the updates that can be applied to them.

    Every update returns a new array of the same shape and dtype. Indices out
    of range are dropped (`mode="drop"`, the default) or moved to the nearest
    end (`mode="clip"`). Where an index occurs twice, `add`, `multiply`, `min`
    and `max` count both; which of two values `set` keeps is not defined. With
    `wrap_negative_indices=False`, negative indices are out of range. `out_sharding`
    says how the result is split along explicit axes of a mesh.

    >>> import stagec.numpy as snp
    >>> snp.zeros((2, 2)).at[:, 0].set(snp.array([1, 2]))
    Array([[1., 0.],
           [2., 0.]], dtype=float32)
    >>> snp.zeros(2).at[snp.array([0, 0, 1])].add(1)
    Array([2., 1.], dtype=float32)
    >>> snp.ones(2).at[0].divide(4)
    Array([0.25, 1.  ], dtype=float32)
    >>> snp.arange(3).at[2].power(3)
    Array([0, 1, 8], dtype=int32)
    """

    __slots__ = ("_array", "_index")

    def __init__(self, x: Any, index: Any) -> None:
        self._array = x
        self._index = index

    def __getattr__(self, name: str) -> Any:
        raise missing.member_error(type(self), name, "x.at[i].")

    def get(
        self,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        fill_value: Any = None,
        wrap_negative_indices: bool = True,
        out_sharding: Any = None,
    ) -> Array:
        """`x[index]`; `mode` and `fill_value` say what is read out of range.

        Args:
          out_sharding: how the result is split along explicit axes of a mesh.

        >>> import stagec.numpy as snp
        >>> snp.arange(3.0).at[7].get(mode="fill", fill_value=-1)
        Array(-1., dtype=float32)
        """
        if mode is None:
            mode = "clip" if fill_value is None else "fill"
        index = self._at(mode, wrap_negative_indices)._index
        read = getitem_planned if moves_many(self._array, index) else getitem
        found = read(self._array, index, mode, fill_value, indices_are_sorted, unique_indices)
        return found if out_sharding is None else explicitly_split(found, out_sharding, "x.at[i].get")

    set = _update("set", "`x[index] = values`")
    add = _update("add", "`x[index] += values`, where repeated indices add up.")
    subtract = _update("subtract", "`x[index] -= values`, where repeated indices add up.")
    mul = multiply = _update("multiply", "`x[index] *= values`, where repeated indices multiply.")
    min = _update("min", "`x[index] = minimum(x[index], values)`")
    max = _update("max", "`x[index] = maximum(x[index], values)`")
    divide = _update("divide", "`x[index] /= values`, for each time that an index occurs.", operator.truediv)
    power = _update("power", "`x[index] **= values`, for each time that an index occurs.", operator.pow)

    def apply(
        self,
        func: Callable[[Any], Any],
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """`x[index] = func(x[index])`, once for each time that an index occurs, as `ufunc.at` does.

        Args:
          func: an elementwise function of arrays of any shape. Where an index may occur twice, it runs in a loop.

        >>> import stagec.numpy as snp
        >>> snp.arange(3.0).at[1:].apply(lambda v: v * 10)
        Array([ 0., 10., 20.], dtype=float32)
        >>> snp.ones(2).at[snp.array([0, 0, 1])].apply(lambda v: v * 10)
        Array([100.,  10.], dtype=float32)
        """
        here = self._at(mode, wrap_negative_indices)
        old = getitem(self._array, here._index, "clip")
        if unique_indices or not here._may_repeat():
            values = func(old)
        else:
            counts = AtIndex(full_like(self._array, 0, dtypes.int32), here._index)
            times = getitem(counts._update("add", 1, False, False, mode), here._index, "clip")
            values = _applied(func, old, times)
        return here._update("set", values, indices_are_sorted, unique_indices, mode)

    def _at(self, mode: Any, wrap: bool) -> AtIndex:
        """Return self, with negative indices out of range unless `wrap` is set."""
        if wrap:
            return self
        clips = GatherScatterMode.from_any(mode) == GatherScatterMode.CLIP
        entries = self._index if isinstance(self._index, tuple) else (self._index,)
        return AtIndex(self._array, tuple([_without_negatives(e, clips) for e in entries]))

    def _may_repeat(self) -> bool:
        """Whether the index may contain an element twice."""
        window = windowed(self._array, self._index)
        x, index = (self._array, self._index) if window is None else (window.part, window.entries)
        parsed = parse(index, x.shape, True)
        if parsed.mask is not None and not isinstance(parsed.mask, list):
            return False
        arrays = [p for p in parsed.parts if p.kind == "array"]
        indices = [p.value for p in arrays]
        if any(isinstance(p, Tracer) for p in indices):
            return any(aval_of(p).size > 1 for p in indices)
        # Different indices out of range may be clipped to the same element.
        indices = [np.clip(p.value, 0, x.shape[p.axis] - 1) for p in arrays]
        rows = np.stack([np.ravel(p) for p in np.broadcast_arrays(*indices)]) if indices else np.empty((1, 0))
        return bool(np.unique(rows, axis=1).shape[1] < rows.shape[1])

    def _update(self, kind: str, values: Any, is_sorted: bool, unique: bool, mode: Any, wrap: bool = True) -> Array:
        index = self._at(mode, wrap)._index
        # Without a plan, an update takes ten times as long, however few elements it writes.
        write = _updated_planned if moves_many(self._array, index, 1) else updated
        return write(kind, self._array, index, values, is_sorted, unique, mode)


_updated_planned = planned(updated, numbers=True)


def _without_negatives(entry: Any, clips: bool) -> Any:
    """Replace negative indices by ones that are out of range, or by 0 if indices are clipped."""
    if isinstance(entry, (bool, np.bool_, slice)) or entry is None or entry is Ellipsis or not is_array_like(entry):
        return entry
    if isinstance(entry, (int, np.integer)):
        return entry if entry >= 0 else 0 if clips else _BEYOND
    if aval_of(as_operand(entry)).dtype.kind != "i":
        return entry
    if isinstance(entry, np.ndarray):
        return np.where(entry < 0, 0 if clips else _BEYOND, entry.astype(np.int64))
    indices = array_argument(entry, "index")
    indices = convert_element_type(indices, dtypes.int32) if indices.dtype.itemsize < 4 else indices
    return logic.select(logic.lt(indices, 0), full_like(indices, 0 if clips else _BEYOND), indices)


def _applied(func: Callable[[Any], Any], old: Any, times: Any) -> Any:
    """Apply `func` to each element `times` times."""

    def step(carry: Any) -> Any:
        done, value = carry
        new = broadcast_to_shape(convert_element_type(func(value), dtype), old.shape)
        return arithmetic.add(done, 1), logic.select(logic.lt(done, times), new, value)

    dtype = old.dtype
    start = (array(0, dtypes.int32), convert_element_type(old, dtype))
    most = times.max(initial=0)
    return while_loop(lambda carry: logic.lt(carry[0], most), step, start)[1]


def at(x: Any) -> At:
    """Return the helper behind `x.at`."""
    return At(array_argument(x, "x") if isinstance(x, (Literal, np.ndarray)) else x)


shorten(At, "__getitem__")
shorten(AtIndex, "get set add subtract multiply mul min max divide power apply")

"""Arrays of traced length: slices with traced bounds, and what a mask selects.

A `Part` holds all elements that there could be, and says which of them count. Operations element by element compute all
of them, reductions leave the others out, and an assignment keeps the others as they were.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stagec import numpy as snp
from stagec.core import dtypes, errors, location
from stagec.core.graph import Literal, Var
from stagec.core.recording import GraphTracer
from stagec.core.trace import Tracer
from stagec.numpy.dynamic_slices import ds
from stagec.primitives.operand import aval_of
from stagec.python_flow.counters import window
from stagec.python_flow.values import Buffer, Number, Value, View, unwrapped, wrapped


class Part(Value):
    """Elements of an array.

    Args:
      whole: all elements.
      bounds: by axis, the positions of the first element that counts and of the one after the last.
      mask: which elements count, for what a mask selects: an array of rank 1 in NumPy.
      view: of a slice, the array's value, and a function that takes the slice from it; and where the slice is.
    """

    __slots__ = ("_view", "_whole", "bounds", "mask")
    is_part = True

    def __init__(self, whole: Any, bounds: dict[int, tuple[Any, Any]], mask: Any = None, view: Any = None) -> None:
        self._whole, self.bounds, self.mask, self._view = whole, bounds, mask, view
        self.aval = aval_of(whole)

    @property
    def whole(self) -> Any:
        if self._view is not None:
            seen, take, (buffer, _) = self._view
            if buffer.value is not seen:
                self._whole = take(buffer.value)
                self._view = (buffer.value, take, self._view[2])
        return self._whole

    @property
    def value(self) -> Any:
        raise self._unknown()

    def _unknown(self) -> errors.ConcretizationError:
        return location.error(
            errors.ConcretizationError,
            "an array of traced length is used where its length must be known",
            [("array", f"at most {self.aval.long()}", "")],
            "compute with all elements, and leave those out that do not count with numpy.where(mask, x, 0)",
        )

    @property  # type: ignore[misc]
    def shape(self) -> Any:
        if self.mask is not None:
            return (wrapped(self.mask.sum()),)
        return tuple([wrapped(self._length(k)) if k in self.bounds else n for k, n in enumerate(self.whole.shape)])

    ndim = property(lambda self: len(self.shape))

    def _length(self, axis: int) -> Any:
        start, stop = self.bounds[axis]
        return stop if _is_zero(start) else snp.maximum(stop - start, 0)

    def moved(self, axis: int, start: Any, size: int) -> Part:
        """The elements that count, from another position on, among `size` along an axis."""
        n = self.whole.shape[axis]
        first = self.bounds.get(axis, (0, n))[0]
        if _is_same_start(first, start):
            if size == n:
                return self
            first = start
        length = self._length(axis) if axis in self.bounds else n
        whole = _shifted(self.whole, axis, 0 if first is start else first - start, size)
        return Part(whole, {**self.bounds, axis: (start, length + start)})

    def counts(self) -> Any:
        """Which elements count, in the shape of all."""
        if self.mask is not None:
            missing = self.whole.ndim - self.mask.ndim
            return snp.broadcast_to(self.mask.reshape(*self.mask.shape, *[1] * missing), self.whole.shape)
        return snp.broadcast_to(_within(self.bounds, self.whole.shape), self.whole.shape)

    def filled(self, value: Any) -> Any:
        if self.mask is None and not self.bounds:
            return self.whole
        return snp.where(self.counts(), self.whole, snp.asarray(value, self.whole.dtype))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice) and (index.start, index.stop, index.step) == (None, None, -1):
            return flipped(self)
        single = isinstance(index, (int, np.integer, Number))
        if self.mask is not None or self.whole.ndim != 1 or not single or (isinstance(index, int) and index < 0):
            return self.value
        return wrapped(self.whole[unwrapped(index) + self.bounds[0][0]])

    def positions_in(self, array: Any) -> Any:
        """`array[self]`: the rows at positions of which a traced number counts."""
        if self.whole.ndim != 1 or not dtypes.is_integer(self.whole.dtype):
            return self.value
        return Part(array[self.whole], self.bounds, self.mask)

    def __setitem__(self, index: Any, value: Any) -> None:
        everything = index is Ellipsis or (isinstance(index, slice) and index == slice(None))
        if self._view is not None and everything:
            buffer, where = self._view[2]
            buffer[where] = value
        elif everything:
            new = elementwise(lambda old, new: new + snp.zeros_like(old), self, value)
            self._whole, self.bounds = new.whole, new.bounds
        else:
            raise self._unknown()

    def __iter__(self) -> Any:
        return self.value


def is_selection(index: Any) -> bool:
    """Whether an index, of unwrapped entries, selects a number of elements that is traced."""
    entries = index if isinstance(index, tuple) else (index,)
    return any(
        any(isinstance(b, Tracer) for b in (e.start, e.stop)) if isinstance(e, slice) else _is_mask(e) for e in entries
    )


def _is_mask(entry: Any) -> bool:
    return isinstance(entry, Tracer) and bool(entry.shape) and dtypes.is_bool(entry.dtype)


def _located(buffer: Buffer, index: Any) -> tuple[tuple[Any, ...], dict[int, tuple[Any, Any]]] | None:
    """The index with whole axes in place of slices with traced bounds, and their bounds by axis of the result."""
    entries = list(index) if isinstance(index, tuple) else [index]
    if any(not (isinstance(e, slice) or e is Ellipsis or np.ndim(e) == 0) or e is None for e in entries):
        return None
    if Ellipsis in [e for e in entries if isinstance(e, type(Ellipsis))]:
        at = next(k for k, e in enumerate(entries) if e is Ellipsis)
        entries[at : at + 1] = [slice(None)] * (buffer.ndim - len(entries) + 1)
    bounds: dict[int, tuple[Any, Any]] = {}
    axis = 0
    for k, e in enumerate(entries):
        if not isinstance(e, slice):
            continue
        if isinstance(e.start, Tracer) or isinstance(e.stop, Tracer):
            if e.step not in (None, 1):
                return None
            size = buffer.aval.shape[k]
            bounds[axis] = (_bound(e.start, 0, size), _bound(e.stop, size, size))
            entries[k] = slice(None)
        axis += 1
    return tuple(entries), bounds


def _bound(given: Any, default: int, size: int) -> Any:
    if given is None:
        return default
    if isinstance(given, Tracer):
        return snp.clip(snp.where(given < 0, given + size, given), 0, size)
    return min(max(given + size if given < 0 else given, 0), size)


def _with_windows(buffer: Buffer, index: Any) -> Any:
    """The index, with slices whose length is known as windows."""
    entries = list(index) if isinstance(index, tuple) else [index]
    if any(not isinstance(e, slice) and e is not Ellipsis and np.ndim(e) for e in entries):
        return index
    missing = buffer.ndim - sum(e is not None and e is not Ellipsis for e in entries)
    axis = 0
    for k, e in enumerate(entries):
        if isinstance(e, slice) and e.step in (None, 1):
            size = window(e.start, e.stop, buffer.aval.shape[axis])
            entries[k] = e if size is None else ds(e.start, size)
        axis += missing if e is Ellipsis else e is not None
    return tuple(entries)


def selected(buffer: Buffer, index: Any) -> Any:
    """The elements at an index with traced bounds, or of a mask."""
    windows = index if _is_mask(index) else _with_windows(buffer, index)
    if not is_selection(windows):
        return View(buffer, lambda v: v[windows], lambda v, part: v.at[windows].set(part))
    if _is_mask(index):
        return Part(buffer.value, {}, index)
    found = _located(buffer, index)
    if found is None:
        return wrapped(buffer.value[index])
    entries, bounds = found

    value = buffer.value
    return Part(value[entries], bounds, None, (value, lambda v: v[entries], (buffer, index)))


def _is_zero(start: Any) -> bool:
    return isinstance(start, int) and start == 0


def _is_same_start(a: Any, b: Any) -> bool:
    return a == b if isinstance(a, int) and isinstance(b, int) else same_value(a, b)


def _within(bounds: dict[int, tuple[Any, Any]], shape: Sequence[int]) -> Any:
    """Which elements of an array are within bounds; of rank 1 along each axis, so that they broadcast."""
    found: Any = np.True_
    for axis, (start, stop) in bounds.items():
        positions = snp.arange(shape[axis])
        inside = positions < stop
        if not _is_zero(start):
            inside = snp.logical_and(inside, positions >= start)
        found = snp.logical_and(found, inside.reshape([-1 if k == axis else 1 for k in range(len(shape))]))
    return found


def _shifted(whole: Any, axis: int, start: Any, size: int) -> Any:
    """`size` elements from `start` on; those out of range are any."""
    if _is_zero(start) and whole.shape[axis] == size:
        return whole
    return snp.take(whole, snp.arange(size) + start, axis=axis, mode="clip")


def assign(buffer: Buffer, index: Any, value: Any) -> None:
    """`buffer[index] = value`, where the index has traced bounds, or is a mask."""
    if _is_mask(index):
        if isinstance(value, Part):
            if value.mask is None or not same_value(index, value.mask):
                what = "an array of traced length is assigned to what another mask selects"
                raise location.error(errors.UnsupportedError, what, fix="give the mask a name, and use it for both")
            buffer.store(snp.where(value.counts(), value.whole, buffer.value).astype(buffer.dtype))
        else:
            buffer.write(index, snp.asarray(unwrapped(value)).astype(buffer.dtype))
        return
    windows = _with_windows(buffer, index)
    found = _located(buffer, index) if is_selection(windows) else None
    if found is None:
        index = windows
        buffer.write(index, snp.asarray(unwrapped(value)).astype(buffer.dtype))
        return
    entries, bounds = found
    old = buffer.value[entries]
    given = _part(value)
    missing = old.ndim - given.whole.ndim
    for axis in sorted({*bounds, *[k + missing for k in given.bounds]}):
        if axis >= missing and given.whole.shape[axis - missing] != 1:
            given = given.moved(axis - missing, bounds.get(axis, (0, 0))[0], old.shape[axis])
    buffer.write(entries, snp.where(_within(bounds, old.shape), given.whole, old).astype(buffer.dtype))


def _part(value: Any) -> Part:
    """A part, or an array as one whose elements all count."""
    return value if isinstance(value, Part) else Part(snp.asarray(unwrapped(value)), {})


# The most values that are compared to find out whether two are the same.
_MOST_SAME = 50


def same_value(a: Any, b: Any) -> bool:
    """Whether two traced values are computed in the same way."""
    if a is b:
        return True
    pair = (a, b)
    if not all(type(x) is GraphTracer for x in pair) or a._trace is not b._trace:
        return False
    return _same_atom(a._var, b._var, set())


def _same_atom(a: Any, b: Any, same: set[Any]) -> bool:
    if a is b or (a, b) in same:
        return True
    if type(a) is Literal and type(b) is Literal:
        return a.aval == b.aval and bool(np.array_equal(a.value, b.value))
    if type(a) is not Var or type(b) is not Var or a.equation is None or b.equation is None or len(same) > _MOST_SAME:
        return False
    x, y = a.equation, b.equation
    if x.primitive is not y.primitive or x.primitive.effects or len(x.outputs) > 1 or dict(x.params) != dict(y.params):
        return False
    same.add((a, b))
    return all(_same_atom(i, j, same) for i, j in zip(x.inputs, y.inputs, strict=True))


def elementwise(function: Callable[..., Any], *args: Any) -> Any:
    """A function of elements, of parts of equal lengths, of arrays and of numbers."""
    parts = [a for a in args if isinstance(a, Part)]
    mask = parts[0].mask
    values = [a.whole if isinstance(a, Part) else snp.asarray(unwrapped(a)) for a in args]
    if any(p.mask is not None for p in parts):
        same = mask is not None and all(p.mask is not None and same_value(mask, p.mask) for p in parts)
        if not same or any(v.ndim for a, v in zip(args, values) if not isinstance(a, Part)):
            what = "arrays of different traced lengths are combined"
            raise location.error(errors.UnsupportedError, what, fix="select from both with one mask")
        return Part(function(*_operands(args, values)), {}, mask)
    items = [_part(a) for a in args]
    ndim = max(v.ndim for v in values)
    bounds: dict[int, tuple[Any, Any]] = {}
    for axis in sorted({k + ndim - p.whole.ndim for p in parts for k in p.bounds}):
        own = [axis - ndim + v.ndim for v in values]
        sized = [i for i, k in enumerate(own) if k >= 0 and values[i].shape[k] != 1]
        size = min((values[i].shape[own[i]] for i in sized), default=1)
        starts = [items[i].bounds.get(own[i], (0, size))[0] for i in sized]
        for i in sized:
            start = starts[0] if all(_is_same_start(starts[0], s) for s in starts) else 0
            same = all(values[j].shape[own[j]] == size for j in sized)
            items[i] = items[i].moved(own[i], start if same else 0, size)
        found = [v.bounds[k] for v, k in zip(items, own) if k in v.bounds]
        bounds[axis] = next((b for b in found if not all(isinstance(end, int) for end in b)), found[0])
    return Part(function(*_operands(args, [v.whole for v in items])), bounds)


def _operands(args: Sequence[Any], arrays: Sequence[Any]) -> list[Any]:
    """The arrays of arguments, except for Python's numbers, whose dtypes yield to those of others."""
    return [a if isinstance(a, (bool, int, float, complex)) else array for a, array in zip(args, arrays)]


def reduced(name: str, x: Part, axis: Any = None, **options: Any) -> Any:
    """A reduction of the elements that count."""
    if x.mask is not None and axis not in (None, 0, -1):
        return x.value
    axes = tuple(range(x.whole.ndim)) if axis is None or x.mask is not None else axis
    axes = tuple([a % x.whole.ndim for a in (axes if isinstance(axes, tuple) else (axes,))])
    if name == "mean":
        return _left(x, x.filled(0).sum(axis=axes) / x.counts().sum(axis=axes), axes)
    dtype = x.whole.dtype
    low, high = -np.inf, np.inf
    if dtype not in dtypes.FLOATING:
        low, high = dtypes.integer_range(dtype) if dtypes.is_integer(dtype) else (False, True)
    start = {"sum": 0, "prod": 1, "any": False, "all": True, "max": low, "min": high}[name]
    return _left(x, getattr(snp, name)(x.filled(start), axis=axes, **options), axes)


def _kept(x: Part, axes: Sequence[int]) -> bool:
    return x.mask is None and any(k not in axes for k in x.bounds)


def _left(x: Part, value: Any, axes: Sequence[int]) -> Any:
    if not _kept(x, axes):
        return wrapped(value)
    return Part(value, {k - sum(a < k for a in axes): b for k, b in x.bounds.items() if k not in axes})


def product(a: Any, b: Any) -> Any:
    """`a @ b`, without what does not count along the axis that is summed."""
    x, y = _part(a), _part(b)
    if x.mask is not None or y.mask is not None or x.whole.ndim > 2 or y.whole.ndim > 2:
        if x.whole.ndim == y.whole.ndim == 1:
            return reduced("sum", elementwise(operator.mul, a, b))
        return (a if isinstance(a, Part) else b).value
    last = x.whole.ndim - 1
    size = min(x.whole.shape[last], y.whole.shape[0])
    starts = [v.bounds.get(k, (0, size))[0] for v, k in ((x, last), (y, 0))]
    start = starts[0] if x.whole.shape[last] == y.whole.shape[0] and _is_same_start(*starts) else 0
    x, y = x.moved(last, start, size), y.moved(0, start, size)
    bounds = {0: x.bounds[0]} if last == 1 and 0 in x.bounds else {}
    if 1 in y.bounds:
        bounds[last] = y.bounds[1]
    found = x.filled(0) @ y.filled(0)
    return Part(found, bounds) if bounds else wrapped(found)


def flipped(x: Part) -> Any:
    if x.mask is not None or x.whole.ndim != 1:
        return x.value
    size, (_, stop) = x.whole.shape[0], x.bounds[0]
    return Part(snp.take(x.whole, stop - 1 - snp.arange(size), mode="clip"), {0: (0, x._length(0))})


_REDUCTIONS = {"sum", "mean", "min", "max", "prod", "any", "all"}


def called(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """A function of NumPy, of parts."""
    name = {"amin": "min", "amax": "max"}.get(function.__name__, function.__name__)
    if name in _REDUCTIONS and isinstance(args[0], Part):
        return reduced(name, args[0], *args[1:], **kwargs)
    if name in ("dot", "matmul", "inner", "vdot") and not kwargs:
        return product(*args)
    if isinstance(function, np.ufunc) and not kwargs and len(args) == function.nin:
        return elementwise(getattr(snp, name), *args)
    if name == "flip" and len(args) == 1:
        return flipped(args[0])
    return next(a for a in args if isinstance(a, Part)).value


def _binary(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda self, other: elementwise(function, self, other)


def _in_place(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def operate(self: Part, other: Any) -> Part:
        self[...] = elementwise(function, self, other)
        return self

    return operate


def _swapped(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda self, other: elementwise(function, other, self)


Buffer.is_selection = staticmethod(is_selection)
Buffer.selected = selected
Buffer.assign = assign
for _name in "add sub mul truediv floordiv mod pow and_ or_ xor".split():
    _short = _name.strip("_")
    setattr(Part, f"__{_short}__", _binary(getattr(operator, _name)))
    setattr(Part, f"__r{_short}__", _swapped(getattr(operator, _name)))
    setattr(Part, f"__i{_short}__", _in_place(getattr(operator, _name)))
for _name in "eq ne lt le gt ge".split():
    setattr(Part, f"__{_name}__", _binary(getattr(operator, _name)))
for _name in "neg pos abs invert".split():
    setattr(Part, f"__{_name}__", (lambda f: lambda self: elementwise(f, self))(getattr(operator, _name)))
for _name in _REDUCTIONS:
    setattr(Part, _name, (lambda n: lambda self, axis=None: reduced(n, self, axis))(_name))
setattr(Part, "__matmul__", lambda self, other: product(self, other))  # noqa: B010
setattr(Part, "__rmatmul__", lambda self, other: product(other, self))  # noqa: B010
setattr(Part, "dot", lambda self, other: product(self, other))  # noqa: B010
setattr(Part, "copy", lambda self: Part(self.whole, self.bounds, self.mask))  # noqa: B010

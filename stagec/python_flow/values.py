"""Arrays with NumPy's meaning in functions that are traced: they can be written, and views show what was written.

An array of the function is a mutable reference (`stagec.Ref`), so that loops and branches carry what changes in them.
"""

from __future__ import annotations

import abc
import operator
import threading
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import numpy as np

from stagec import numpy as snp
from stagec.core import dtypes, errors, location
from stagec.core.aval import ShapedArray
from stagec.core.config import state
from stagec.core.frames import Frame
from stagec.core.graph import Literal
from stagec.core.operators import ArrayOperators
from stagec.primitives import references
from stagec.primitives.convert import as_array, convert_element_type
from stagec.primitives.operand import as_operand, aval_of
from stagec.primitives.references import Ref
from stagec.python_flow.outcome import ambiguous


class Value(abc.ABC):
    """A traced number or array."""

    __slots__ = ("__weakref__", "aval")
    # NumPy's operators give way to these.
    __array_ufunc__ = None
    aval: ShapedArray
    # Whether its length is traced.
    is_part = False

    @property
    @abc.abstractmethod
    def value(self) -> Any:
        """The array or tracer that it is now."""

    @property
    def shape(self) -> Any:
        return self.aval.shape

    @shape.setter
    def shape(self, new: Any) -> None:
        what = "the shape of an array is assigned, which is another array in a program"
        raise location.error(errors.UnsupportedError, what, fix="x = x.reshape(shape)")

    ndim = property(lambda self: len(self.aval.shape))
    size = property(lambda self: self.aval.size)
    dtype = property(lambda self: self.aval.dtype)

    def __jax_array__(self) -> Any:
        return self.value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(self.value, name)
        return library(found) if callable(found) else wrapped(found)

    def __getitem__(self, index: Any) -> Any:
        return wrapped(self.value[unwrapped(index)])

    def __repr__(self) -> str:
        return f"{type(self).__name__}<{self.aval.short()}>"

    def item(self, *index: Any) -> Any:
        return self[index] if index else self.reshape(())

    def copy(self, order: str = "C") -> Any:
        return wrapped(self.value)

    def __iter__(self) -> Any:
        if not self.shape:
            raise location.error(TypeError, f"iteration over a number, {self.aval.long()}", fix="iterate an array")
        return iter([self[i] for i in range(self.shape[0])])

    def __len__(self) -> int:
        return len(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __float__(self) -> float:
        return float(self.value)

    def __complex__(self) -> complex:
        return complex(self.value)

    def __index__(self) -> int:
        return operator.index(self.value)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self.value, dtype)

    __hash__ = None  # type: ignore[assignment]


class Number(Value):
    """A number, which is never changed."""

    __slots__ = ("_number",)

    def __init__(self, value: Any) -> None:
        self._number = value
        self.aval = value.aval

    @property
    def value(self) -> Any:
        return self._number


class Buffer(Value):
    """An array that can be written: a reference, or a view into another array.

    Args:
      value: of a new array.
      rivals: arrays that may be the same one; which of them is, is decided when the program runs.
    """

    __slots__ = ("_ref", "rivals", "stale")
    # Reading and writing a traced number of elements; `parts` sets them.
    is_selection: ClassVar[Callable[[Any], bool]]
    selected: ClassVar[Callable[[Any, Any], Any]]
    assign: ClassVar[Callable[[Any, Any, Any], None]]

    def __init__(self, value: Any, rivals: Iterable[Buffer] = ()) -> None:
        self.aval = aval_of(value).strip_weak_type()
        self._ref: Any = Ref(as_array(convert_element_type(value, self.aval.dtype)), self.aval)
        self.rivals: list[Buffer] = []
        self.stale: tuple[str, ...] = ()
        for rival in rivals:
            self.link(rival.root)

    def link(self, other: Buffer) -> None:
        """Note that another array may be the same one; for one that is gone, those that it may have been."""
        seen, waiting = [self], [other]
        while waiting:
            found = waiting.pop()
            if any(found is s for s in seen):
                continue
            seen.append(found)
            if found.is_inner:
                waiting += found.rivals
            else:
                self.rivals.append(found)
                found.rivals.append(self)

    @property
    def is_inner(self) -> bool:
        """Whether the array was made in a branch or a loop that has been recorded."""
        return getattr(self.reference._trace, "ended", False) is True

    @property
    def root(self) -> Buffer:
        return self

    @property
    def reference(self) -> Ref:
        ref: Ref = self._ref
        return ref

    @property
    def value(self) -> Any:
        self._check()
        return references.read(self._ref)

    def _check(self) -> None:
        if self.stale:
            raise ambiguous(self.stale[0])

    def store(self, value: Any) -> None:
        """Write all elements."""
        self._check()
        for rival in self.rivals:
            if not rival.stale:
                frame: Frame | None = getattr(state.trace, "frame", None)
                line = location.capture().brief()
                if frame is not None and rival.reference in frame.values:
                    raise ambiguous(line)
                rival.stale = (line,)
                marked.arrays.append(rival)
        references.write(self._ref, value)

    def __getitem__(self, index: Any) -> Any:
        if getattr(index, "is_part", False):
            return index.positions_in(self.value)
        index = index_of(index)
        if Buffer.is_selection(index):
            return self.selected(index)
        if _is_basic(index):
            kept = _axes_of_basic(index, self.ndim)
            if kept:
                return View(self, lambda v: v[index], lambda v, part: v.at[index].set(part), index)
        return wrapped(self.value[index])

    def __setitem__(self, index: Any, value: Any) -> None:
        index = index_of(index)
        if Buffer.is_selection(index):
            self.assign(index, value)
            return
        given = as_operand(unwrapped(value))
        if dtypes.is_complex(aval_of(given).dtype) and not dtypes.is_complex(self.dtype):
            what = f"{aval_of(given).long()} was written to an array of {self.dtype.name}"
            raise location.error(errors.DtypeError, what, fix="write the real part, x.real")
        self.write(index, convert_element_type(given, self.dtype))

    def write(self, index: Any, given: Any) -> None:
        """Write some elements, of the array's own dtype."""
        self.store(self.value.at[index].set(given))

    def fill(self, value: Any) -> None:
        self[...] = value

    def sort(self, axis: int = -1) -> None:
        self[...] = snp.sort(self.value, axis)

    # Views.

    def transpose(self, *axes: Any) -> Any:
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        order = tuple(range(self.ndim))[::-1] if order in ((), None) else tuple([a % self.ndim for a in order])
        back = tuple(int(i) for i in np.argsort(order))
        return View(self, lambda v: v.transpose(order), lambda _, part: part.transpose(back))

    T = property(transpose)

    def reshape(self, *shape: Any, order: str = "C") -> Any:
        if order != "C" or self.value.reshape(*unwrapped(shape)).ndim == 0:
            return wrapped(self.value.reshape(*unwrapped(shape), order=order))
        return View(self, lambda v: v.reshape(*unwrapped(shape)), lambda v, part: part.reshape(v.shape))

    def ravel(self, order: str = "C") -> Any:
        return self.reshape(-1, order=order)

    def flatten(self, order: str = "C") -> Any:
        return wrapped(self.value.ravel(order))

    flat = property(ravel)


class View(Buffer):
    """Part of an array, or its elements in another order.

    Args:
      take: the part of the array's value.
      put: the array's value with another part.
      index: the index that the part has in the array, if it is one.
    """

    __slots__ = ("_base", "_index", "_put", "_seen", "_take")

    def __init__(
        self, base: Buffer, take: Callable[[Any], Any], put: Callable[[Any, Any], Any], index: Any = None
    ) -> None:
        self._base, self._take, self._put, self._index = base, take, put, index
        whole = base.value
        part = take(whole)
        self._seen = (whole, part)
        self.aval = aval_of(part)

    @property
    def root(self) -> Buffer:
        return self._base.root

    @property
    def reference(self) -> Ref:
        return self.root.reference

    @property
    def rivals(self) -> list[Buffer]:  # type: ignore[override]
        return self.root.rivals

    @property
    def value(self) -> Any:
        whole = self._base.value
        if whole is not self._seen[0]:
            self._seen = (whole, self._take(whole))
        return self._seen[1]

    def store(self, value: Any) -> None:
        self._base.store(self._put(self._base.value, value))

    def write(self, index: Any, given: Any) -> None:
        rows = self._leading()
        if rows is None:
            super().write(index, given)
        else:
            self._base.write((*rows, *index) if isinstance(index, tuple) else (*rows, index), given)

    def __getitem__(self, index: Any) -> Any:
        rows = None if getattr(index, "is_part", False) else self._leading()
        index = index if rows is None else index_of(index)
        if rows is not None and _is_basic(index):
            entries = (*rows, *index) if isinstance(index, tuple) else (*rows, index)
            return self._base[entries]
        return super().__getitem__(index)

    def _leading(self) -> tuple[Any, ...] | None:
        """The index, if it is integers alone, which another index may follow."""
        entries = self._index if isinstance(self._index, tuple) else (self._index,)
        whole = all(not isinstance(e, slice) and e is not None and e is not Ellipsis for e in entries)
        return entries if whole else None


class _Marked(threading.local):
    """The arrays that became stale, in this order; an attempt to record a loop that failed takes its own back."""

    def __init__(self) -> None:
        self.arrays: list[Buffer] = []


marked = _Marked()


def restore(count: int) -> None:
    """Let only the first arrays be stale."""
    while len(marked.arrays) > count:
        marked.arrays.pop().stale = ()


def index_of(index: Any) -> Any:
    """An index for arrays of stagec, in which a list is an array."""
    index = unwrapped(index)
    if isinstance(index, list):
        return np.asarray(index) if all(isinstance(i, (int, np.integer)) for i in index) else snp.stack(index)
    return index


def _is_basic(index: Any) -> bool:
    entries = index if isinstance(index, tuple) else (index,)
    for e in entries:
        if isinstance(e, (bool, np.bool_)) or not (
            e is None
            or e is Ellipsis
            or isinstance(e, (int, np.integer, slice))
            or (isinstance(e, (ArrayOperators, Literal)) and not e.aval.shape and dtypes.is_integer(e.aval.dtype))
        ):
            return False
    return True


def _axes_of_basic(index: Any, ndim: int) -> int:
    """How many axes the result has."""
    entries = index if isinstance(index, tuple) else (index,)
    integers = sum(not (e is None or e is Ellipsis or isinstance(e, slice)) for e in entries)
    return ndim - integers + sum(e is None for e in entries)


def wrapped(value: Any) -> Any:
    """What a library returned, as the function's own numbers and arrays."""
    if isinstance(value, ArrayOperators):
        return Buffer(value) if value.aval.shape else Number(value)
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return Buffer(value) if value.ndim else Number(as_array(as_operand(value)))
    if type(value) in (tuple, list):
        return type(value)([wrapped(v) for v in value])
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[wrapped(v) for v in value])
    return value


def unwrapped(value: Any) -> Any:
    """What a library takes."""
    if isinstance(value, Value):
        return value.value
    if type(value) in (tuple, list):
        return type(value)([unwrapped(v) for v in value])
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[unwrapped(v) for v in value])
    if type(value) is dict:
        return {k: unwrapped(v) for k, v in value.items()}
    if type(value) is slice:
        return slice(*[unwrapped(v) for v in (value.start, value.stop, value.step)])
    return value


def library(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of a library, for the function's own numbers and arrays."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return wrapped(function(*unwrapped(args), **unwrapped(kwargs)))

    return call


def _binary(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def operate(self: Any, other: Any) -> Any:
        if getattr(other, "is_part", False):
            return NotImplemented
        return wrapped(function(self.value, unwrapped(other)))

    return operate


def _swapped(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def operate(self: Any, other: Any) -> Any:
        return wrapped(function(unwrapped(other), self.value))

    return operate


def _in_place(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def operate(self: Any, other: Any) -> Any:
        self[...] = function(self.value, unwrapped(other))
        return self

    return operate


for _name in "add sub mul truediv floordiv mod pow matmul and_ or_ xor lshift rshift".split():
    _function = getattr(operator, _name)
    _short = _name.strip("_")
    setattr(Value, f"__{_short}__", _binary(_function))
    setattr(Value, f"__r{_short}__", _swapped(_function))
    if _name != "matmul":
        setattr(Buffer, f"__i{_short}__", _in_place(_function))
for _name, _function in (("divmod", divmod),):
    setattr(Value, f"__{_name}__", _binary(_function))
    setattr(Value, f"__r{_name}__", _swapped(_function))
for _name in "eq ne lt le gt ge".split():
    setattr(Value, f"__{_name}__", _binary(getattr(operator, _name)))
for _name in "neg pos abs invert".split():
    setattr(Value, f"__{_name}__", (lambda f: lambda self: wrapped(f(self.value)))(getattr(operator, _name)))
Value.__round__ = lambda self, digits=None: wrapped(_rounded(self.value, digits))  # type: ignore[attr-defined]


def _rounded(value: Any, digits: int | None) -> Any:
    if digits is not None:
        return value.round(digits)
    return convert_element_type(value.round(), dtypes.default_int(), True)

"""Operators and methods that arrays and tracers share.

What `x + y` does is a function of `stagec.numpy`, which needs all modules between. A program may use no operator,
so this module is given a function that imports them, and calls it when the first one is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from stagec.core import errors, location, missing
from stagec.core.boundary import hide_frames, short_tracebacks, shorten

if TYPE_CHECKING:
    from stagec.core.array import Array as _Interface
    from stagec.core.aval import ShapedArray
else:
    _Interface = object

location.assists(__file__)


class _Functions(dict[str, Callable[..., Any]]):
    """The functions by name; the first look-up loads all of them."""

    load: Callable[[], Mapping[str, Callable[..., Any]]]

    def __missing__(self, name: str) -> Callable[..., Any]:
        functions = self.load()
        self.update(functions)
        return functions[name]


_implementations = _Functions()


def supply_with(load: Callable[[], Mapping[str, Callable[..., Any]]]) -> None:
    """Set the function that loads the implementations of operators and methods. It is called at their first use."""
    _implementations.load = load


def _is_operand(value: Any) -> bool:
    return isinstance(value, (ArrayOperators, int, float, complex, np.ndarray, np.generic)) or hasattr(
        type(value), "__jax_array__"
    )


def _binary(name: str, swapped: bool = False) -> Callable[..., Any]:
    def operator(self: Any, other: Any) -> Any:
        if not _is_operand(other):
            if isinstance(other, _CONTAINERS) or (isinstance(other, _SCALARS) and name not in _OF_ANYTHING):
                raise _foreign_operand(name, self, other, swapped)
            return NotImplemented
        try:
            return _implementations[name](other, self) if swapped else _implementations[name](self, other)
        except BaseException as error:
            hide_frames(error)
            raise

    operator.__name__ = operator.__qualname__ = name
    return operator


# Python would compare these by identity, and users mean their elements.
_CONTAINERS = (list, tuple, set, dict)


_SCALARS = (str, bytes, type(None))
# Whether something is the same can be asked of anything, and an integer repeats a string.
_OF_ANYTHING = ("equal", "not_equal", "multiply")


def _foreign_operand(name: str, array: Any, other: Any, swapped: bool) -> errors.ArgumentTypeError:
    kind = type(other).__name__
    rows = [("array", array.aval.long(), array.origin()), (kind, errors.brief(other), "")]
    return location.error(
        errors.ArgumentTypeError,
        f"{name}: operand {0 if swapped else 1} is {errors.a_kind(type(other))}; operators take arrays and numbers",
        rows[::-1] if swapped else rows,
        f"wrap the {kind} in stagec.numpy.array" if kind in ("list", "tuple") else "pass arrays or numbers",
    )


def _method(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return _implementations[name](self, *args, **kwargs)
        except BaseException as error:
            hide_frames(error)
            raise

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"See `stagec.numpy.{name}`."
    return method


def _attribute(name: str) -> property:
    def get(self: Any) -> Any:
        return _implementations[name](self)

    get.__doc__ = f"See `stagec.numpy.{name}`."
    return property(get)


class ArrayOperators(_Interface):
    """Arithmetic, comparison, indexing and NumPy's methods, for anything with an `aval`."""

    __slots__ = ()
    aval: ShapedArray

    # NumPy's operators give way to ours: `numpy_array + array` is an Array.
    __array_priority__ = 100

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return self.aval.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Element type."""
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self.aval.ndim

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.aval.size

    @property
    def nbytes(self) -> int:
        """Bytes that the elements take."""
        return self.aval.nbytes

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.aval.dtype.itemsize

    @property
    def weak_type(self) -> bool:
        """Whether the dtype came from a Python scalar, and so yields to arrays."""
        return self.aval.weak_type

    def __len__(self) -> int:
        if not self.aval.shape:
            raise location.error(TypeError, "len() of an array without axes", fix="use x.size, which is 1")
        return self.aval.shape[0]

    def __iter__(self) -> Any:
        try:
            return _implementations["__iter__"](self)
        except BaseException as error:
            hide_frames(error)
            raise

    def __setitem__(self, index: Any, value: Any) -> None:
        raise location.error(
            TypeError,
            "arrays are immutable: x[index] = value is not supported",
            fix="x = x.at[index].set(value) gives a new array; under jit it is done in place",
        )

    __getitem__ = _method("__getitem__")
    __array_namespace__ = _method("__array_namespace__")

    __add__, __radd__ = _binary("add"), _binary("add", True)
    __sub__, __rsub__ = _binary("subtract"), _binary("subtract", True)
    __mul__, __rmul__ = _binary("multiply"), _binary("multiply", True)
    __truediv__, __rtruediv__ = _binary("true_divide"), _binary("true_divide", True)
    __floordiv__, __rfloordiv__ = _binary("floor_divide"), _binary("floor_divide", True)
    __mod__, __rmod__ = _binary("remainder"), _binary("remainder", True)
    __divmod__, __rdivmod__ = _binary("divmod"), _binary("divmod", True)
    __pow__, __rpow__ = _binary("power"), _binary("power", True)
    __matmul__, __rmatmul__ = _binary("matmul"), _binary("matmul", True)
    __and__, __rand__ = _binary("bitwise_and"), _binary("bitwise_and", True)
    __or__, __ror__ = _binary("bitwise_or"), _binary("bitwise_or", True)
    __xor__, __rxor__ = _binary("bitwise_xor"), _binary("bitwise_xor", True)
    __lshift__, __rlshift__ = _binary("left_shift"), _binary("left_shift", True)
    __rshift__, __rrshift__ = _binary("right_shift"), _binary("right_shift", True)
    __eq__ = _binary("equal")
    __ne__ = _binary("not_equal")
    __lt__ = _binary("less")
    __le__ = _binary("less_equal")
    __gt__ = _binary("greater")
    __ge__ = _binary("greater_equal")
    __neg__ = _method("negative")
    __pos__ = _method("positive")
    __abs__ = _method("abs")
    __invert__ = _method("bitwise_not")
    __round__ = _method("round")

    T = _attribute("transpose")
    mT = _attribute("matrix_transpose")
    real = _attribute("real")
    imag = _attribute("imag")
    at = _attribute("at")
    flat = _attribute("ravel")


METHODS = (
    "all any argmax argmin argpartition argsort astype byteswap choose clip compress conj conjugate copy cumprod "
    "cumsum diagonal dot flatten max mean min nonzero partition prod ptp ravel repeat reshape round searchsorted sort "
    "squeeze std sum swapaxes take trace transpose var view"
).split()
for _name in METHODS:
    setattr(ArrayOperators, _name, _method(_name))
shorten(ArrayOperators, "__len__ __setitem__")


@short_tracebacks
def _refuse_attribute(self: Any, name: str) -> Any:
    raise missing.attribute_error(self, name)


def _missing_attribute(self: Any, name: str) -> Any:
    if name.startswith("__"):  # NumPy asks for protocols at each conversion, and reads no message
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
    try:
        return _refuse_attribute(self, name)
    except BaseException as error:
        hide_frames(error)
        raise


# Not written in the class: type checkers would take any attribute to exist.
setattr(ArrayOperators, "__getattr__", _missing_attribute)  # noqa: B010

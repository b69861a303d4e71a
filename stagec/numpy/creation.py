"""Functions that create arrays."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Literal, overload

import numpy as np

from stagec.core import dtypes, errors, location
from stagec.core.array import Array, Shape
from stagec.core.aval import ShapedArray
from stagec.core.dims import Dim, maximum
from stagec.core.foreign import import_tensor
from stagec.core.trace import Tracer
from stagec.numpy.arguments import (
    Placement,
    array_argument,
    from_numpy,
    on_device,
    placed_like,
    requested_dtype,
    to_array,
)
from stagec.numpy.promotion import broadcast_to_shape
from stagec.numpy.values import array
from stagec.primitives import iota as _iota
from stagec.primitives.arithmetic import add, mul
from stagec.primitives.axes import as_int, as_shape
from stagec.primitives.convert import convert_element_type
from stagec.primitives.joining import concatenate
from stagec.primitives.logic import eq, ge
from stagec.primitives.operand import as_operand, aval_of, is_array_like, is_wide, literal, promotable
from stagec.primitives.shape import expand_dims
from stagec.runtime.array import Array as ConcreteArray
from stagec.runtime.memory import is_importable
from stagec.typing import ArrayLike, DTypeLike

__all__ = [
    "arange", "copy", "empty", "empty_like", "eye", "from_dlpack", "frombuffer", "fromiter", "fromstring", "full",
    "full_like", "identity", "indices", "meshgrid", "ones", "ones_like", "tri", "zeros", "zeros_like",
]  # fmt: skip


def _dtype_or_float(dtype: Any, name: str) -> np.dtype[Any]:
    return dtypes.default_float() if dtype is None else requested_dtype(dtype, name)


def zeros(shape: Shape, dtype: DTypeLike = None, *, device: Placement = None) -> Array:
    """An array of zeros; float32 by default.

    >>> zeros((2,))
    Array([0., 0.], dtype=float32)
    """
    return on_device(_iota.full(as_shape(shape, "zeros"), 0, _dtype_or_float(dtype, "zeros")), device)


def ones(shape: Shape, dtype: DTypeLike = None, *, device: Placement = None) -> Array:
    """An array of ones; float32 by default.

    >>> ones(2, int)
    Array([1, 1], dtype=int32)
    """
    return on_device(_iota.full(as_shape(shape, "ones"), 1, _dtype_or_float(dtype, "ones")), device)


def empty(shape: Shape, dtype: DTypeLike = None, *, device: Placement = None) -> Array:
    """The same as `zeros`: arrays are immutable, so uninitialized memory would be useless."""
    return on_device(_iota.full(as_shape(shape, "empty"), 0, _dtype_or_float(dtype, "empty")), device)


def full(shape: Shape, fill_value: ArrayLike, dtype: DTypeLike = None, *, device: Placement = None) -> Array:
    """An array whose elements are all `fill_value`, which is broadcast to `shape`.

    >>> full((2, 2), array([1, 2]))
    Array([[1, 2],
           [1, 2]], dtype=int32)
    """
    value = _fill(fill_value)
    if dtype is not None:
        value = convert_element_type(value, requested_dtype(dtype, "full"))
    elif is_wide(fill_value):
        value = as_operand(fill_value, "fill_value")
    return on_device(to_array(broadcast_to_shape(value, as_shape(shape, "full"), "full")), device)


def _fill(fill_value: Any) -> Array:
    return promotable(fill_value, "fill_value") if is_array_like(fill_value) else array(fill_value)


def _like(name: str, a: Any, fill_value: Any, dtype: Any, shape: Any, device: Any) -> Array:
    aval = a if hasattr(a, "dtype") and hasattr(a, "shape") else aval_of(as_operand(a))
    weak = dtype is None and getattr(aval, "weak_type", False)
    wanted = dtypes.canonicalize(aval.dtype) if dtype is None else requested_dtype(dtype, name)
    value = _fill(fill_value)
    value = convert_element_type(value, wanted, weak)
    out = to_array(broadcast_to_shape(value, tuple(aval.shape) if shape is None else as_shape(shape, name), name))
    return on_device(out, placed_like(a, shape, device))


def zeros_like(a: ArrayLike, dtype: DTypeLike = None, shape: Shape | None = None, *, device: Placement = None) -> Array:
    """Zeros of the shape and dtype of `a`, an array or anything with `shape` and `dtype`.

    >>> zeros_like(array([1, 2]))
    Array([0, 0], dtype=int32)
    """
    return _like("zeros_like", a, 0, dtype, shape, device)


def ones_like(a: ArrayLike, dtype: DTypeLike = None, shape: Shape | None = None, *, device: Placement = None) -> Array:
    """Ones of the shape and dtype of `a`.

    >>> ones_like(array([1, 2]))
    Array([1, 1], dtype=int32)
    """
    return _like("ones_like", a, 1, dtype, shape, device)


def empty_like(
    prototype: ArrayLike, dtype: DTypeLike = None, shape: Shape | None = None, *, device: Placement = None
) -> Array:
    """The same as `zeros_like`."""
    return _like("empty_like", prototype, 0, dtype, shape, device)


def full_like(
    a: ArrayLike,
    fill_value: ArrayLike,
    dtype: DTypeLike = None,
    shape: Shape | None = None,
    *,
    device: Placement = None,
) -> Array:
    """`fill_value` in the shape and dtype of `a`.

    >>> full_like(array([1, 2]), 7)
    Array([7, 7], dtype=int32)
    """
    return _like("full_like", a, fill_value, dtype, shape, device)


def eye(N: int, M: int | None = None, k: int = 0, dtype: DTypeLike = None, *, device: Placement = None) -> Array:
    """Ones on a diagonal, zeros elsewhere.

    Args:
      N: number of rows.
      M: number of columns, by default `N`.
      k: which diagonal; 1 is the one above the main one.
      dtype: float32 by default.

    >>> eye(2, 3, k=1)
    Array([[0., 1., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    shape = as_shape((N, N if M is None else M), "eye")
    wanted = _dtype_or_float(dtype, "eye")
    rows, columns = (_iota.broadcasted_iota(dtypes.int32, shape, axis) for axis in (0, 1))
    return on_device(convert_element_type(eq(add(rows, k), columns), wanted), device)


def identity(n: int, dtype: DTypeLike = None) -> Array:
    """The identity matrix of `n` rows.

    >>> identity(2, int)
    Array([[1, 0],
           [0, 1]], dtype=int32)
    """
    return eye(n, dtype=dtype)


def tri(N: int, M: int | None = None, k: int = 0, dtype: DTypeLike = None) -> Array:
    """Ones on and below a diagonal, zeros above; float32 where no dtype is given.

    >>> tri(2, 3)
    Array([[1., 0., 0.],
           [1., 1., 0.]], dtype=float32)
    """
    shape = as_shape((N, N if M is None else M), "tri")
    wanted = dtypes.float32 if dtype is None else _dtype_or_float(dtype, "tri")
    rows, columns = (_iota.broadcasted_iota(dtypes.int32, shape, axis) for axis in (0, 1))
    return convert_element_type(ge(add(rows, k), columns), wanted)


def _open_arange(start: Any, stop: Any, step: Any, dtype: Any) -> Array:
    """`arange` whose bounds are sizes of open dimensions."""
    if stop is None:
        start, stop = 0, start
    distance = 1 if step is None else as_int(step, "arange", "step")
    first, last = (as_int(v, "arange", "a bound") for v in (start, stop))
    wanted = dtypes.default_int() if dtype is None else requested_dtype(dtype, "arange")
    size = -((first - last) // distance)
    counter = _iota.iota(wanted, maximum(size, 0))
    if distance != 1:
        counter = mul(counter, literal(distance, wanted))
    return counter if first == 0 else add(counter, literal(first, wanted))


def arange(
    start: ArrayLike,
    stop: ArrayLike | None = None,
    step: ArrayLike | None = None,
    dtype: DTypeLike = None,
    *,
    device: Placement = None,
) -> Array:
    """Evenly spaced numbers from `start` up to, not including, `stop`.

    Args:
      start: the first number. If it is the only argument, it is `stop`, and the first number is 0.
      stop: where to end.
      step: the difference between neighbors, 1 by default.
      dtype: by default that of the arguments: int32 or float32.

    Raises:
      ConcretizationError: an argument is traced; its value decides the shape.

    >>> arange(2, 8, 2)
    Array([2, 4, 6], dtype=int32)
    """
    given = [v for v in (start, stop, step) if v is not None]
    if start is None:
        raise location.error(errors.ArgumentTypeError, "arange: start is None", fix="pass a number for start")
    for value in given:
        if isinstance(value, Tracer):
            raise location.error(
                errors.ConcretizationError,
                "arange: the bounds must be known while tracing, since the shape depends on them",
                [("argument", value.aval.long(), value.origin())],
                "make the argument static with static_argnames, "
                "or use stagec.numpy.arange(size) * step + start with a static size",
            )
    if any(type(v) is Dim for v in given):
        return on_device(_open_arange(start, stop, step, dtype), device)
    for value in given:
        if isinstance(value, (str, bytes)) or np.ndim(value) or np.iscomplexobj(value):
            raise location.error(
                errors.ShapeError if np.ndim(value) else errors.DtypeError,
                f"arange: the bounds must be real numbers, got {errors.brief(value)}",
                fix="pass one number for each of start, stop and step; add an imaginary part afterwards",
            )
    wanted = dtypes.result_type(*given) if dtype is None else requested_dtype(dtype, "arange")
    if stop is None:
        start, stop = 0, start
    bounds: list[Any] = [np.asarray(v)[()] for v in (start, stop, 1 if step is None else step)]
    first, last, distance = bounds
    if distance == 0:
        raise location.error(ValueError, "arange: step must not be zero", fix="pass a step other than 0")
    if first == 0 and distance == 1 and wanted != dtypes.bool_ and not dtypes.is_complex(wanted):
        return on_device(_iota.iota(wanted, max(0, math.ceil(last))), device)
    if all(isinstance(v, (int, np.integer)) for v in (first, last, distance)) and dtypes.is_integer(wanted):
        size = max(0, -((int(first) - int(last)) // int(distance)))
        return on_device(add(mul(_iota.iota(wanted, size), int(distance)), int(first)), device)
    value = np.arange(first, last, distance, dtype=None if dtypes.is_float(wanted) else wanted)
    return on_device(from_numpy(value, wanted), device)


def meshgrid(*xi: ArrayLike, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> list[Array]:
    """Coordinate matrices from coordinate vectors.

    Args:
      xi: arrays of rank 0 or 1.
      copy: must be true.
      sparse: keep size 1 along the axes of the other vectors.
      indexing: `"xy"` swaps the first two axes, `"ij"` does not.

    >>> x, y = meshgrid(arange(3), arange(2))
    >>> x.shape, y.shape
    ((2, 3), (2, 3))
    """
    if indexing not in ("xy", "ij"):
        raise location.error(
            ValueError, f"meshgrid: indexing is {indexing!r}", fix="use indexing='xy' or indexing='ij'"
        )
    vectors = [array_argument(x, "*xi") for x in xi]
    for x in vectors:
        if x.ndim > 1:
            raise location.error(
                errors.ShapeError,
                f"meshgrid: arguments have rank 0 or 1, got {x.aval.long()}",
                fix="flatten it with x.ravel()",
            )
    order = list(range(len(vectors)))
    if indexing == "xy" and len(order) > 1:
        order[:2] = [1, 0]
    sizes = [x.size for x in vectors]
    full_shape = [0] * len(order)
    for axis, size in zip(order, sizes):
        full_shape[axis] = size
    out: list[Array] = []
    for x, axis in zip(vectors, order):
        shape = [size if i == axis else 1 for i, size in enumerate(full_shape)]
        x = x.reshape(shape)
        out.append(x if sparse else to_array(broadcast_to_shape(x, full_shape)))
    return out


@overload
def indices(dimensions: Sequence[int], dtype: DTypeLike = None, sparse: Literal[False] = False) -> Array: ...
@overload
def indices(dimensions: Sequence[int], dtype: DTypeLike = None, *, sparse: Literal[True]) -> tuple[Array, ...]: ...
def indices(dimensions: Sequence[int], dtype: DTypeLike = None, sparse: bool = False) -> Array | tuple[Array, ...]:
    """The indices of the elements of an array of shape `dimensions`, along each axis.

    >>> indices((2, 2))[0]
    Array([[0, 0],
           [1, 1]], dtype=int32)
    """
    shape = as_shape(dimensions, "indices")
    wanted = dtypes.default_int() if dtype is None else requested_dtype(dtype, "indices")
    if sparse:
        return tuple(
            _iota.broadcasted_iota(wanted, [n if i == axis else 1 for i, n in enumerate(shape)], axis)
            for axis in range(len(shape))
        )
    grids = [expand_dims(_iota.broadcasted_iota(wanted, shape, axis), (0,)) for axis in range(len(shape))]
    return concatenate(grids, 0) if grids else zeros((0,), wanted)


def fromiter(iter: Iterable[Any], dtype: DTypeLike, count: int = -1) -> Array:
    """A vector of the values of an iterable.

    >>> fromiter((i * i for i in range(3)), int)
    Array([0, 1, 4], dtype=int32)
    """
    wanted = requested_dtype(dtype, "fromiter")
    return from_numpy(np.fromiter(iter, np.dtype(wanted), as_int(count, "fromiter", "count")))


def frombuffer(
    buffer: bytes | bytearray | memoryview, dtype: DTypeLike = float, count: int = -1, offset: int = 0
) -> Array:
    """A vector of the numbers in a bytes-like object.

    >>> frombuffer(b"\\x01\\x02", "uint8")
    Array([1, 2], dtype=uint8)
    """
    asked = np.dtype(dtype)
    return from_numpy(np.frombuffer(buffer, asked, count, offset), requested_dtype(asked, "frombuffer"))


def fromstring(string: str, dtype: DTypeLike = float, count: int = -1, *, sep: str) -> Array:
    """A vector of the numbers written in a text.

    >>> fromstring("1 2", int, sep=" ")
    Array([1, 2], dtype=int32)
    """
    return from_numpy(np.fromstring(string, np.dtype(dtype), count, sep=sep), requested_dtype(dtype, "fromstring"))


def from_dlpack(x: ArrayLike, /, *, device: Placement = None, copy: bool | None = None) -> Array:
    """An array of another library, through the DLPack protocol.

    Its memory is shared where compiled code can read it: on the CPU, in
    row-major order, aligned to 64 bytes, of a dtype that is enabled. Shared
    memory must not be written to afterwards. Otherwise it is copied.

    Args:
      x: a tensor of the CPU.
      device: must be the CPU or `None`.
      copy: `True` always copies, `False` never does.

    Raises:
      ArgumentTypeError: the library or the device does not let its data be read.
      BufferError: `copy=False`, and a copy is needed.

    >>> from_dlpack(np.arange(2, dtype="int32"))
    Array([0, 1], dtype=int32)
    """
    value = import_tensor(x, "from_dlpack")
    dtype = dtypes.canonicalize(value.dtype)
    if not copy and value.size and value.dtype == dtype and is_importable(value):
        return ConcreteArray.of(value, ShapedArray.of(value.shape, dtype))
    if copy is False:
        reason = "its memory is not aligned to 64 bytes, or not in row-major order"
        if value.dtype != dtype:
            reason = f"{value.dtype.name} becomes {dtype.name}"
        what = f"from_dlpack: {value.dtype.name}{list(value.shape)} cannot be shared, as {reason}"
        raise location.error(BufferError, what, fix="leave copy=False out")
    return array(value)


def copy(a: ArrayLike, order: str | None = None) -> Array:
    """A copy of an array, in memory of its own.

    >>> copy(array([1, 2]))
    Array([1, 2], dtype=int32)
    """
    return array(a, copy=True, order=order)

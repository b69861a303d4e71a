"""array and asarray: arrays from numbers, arrays, and nested lists of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from stagec.core import dtypes, errors, location
from stagec.core.array import Array
from stagec.core.dims import as_array, is_open
from stagec.core.foreign import from_foreign
from stagec.core.graph import Literal
from stagec.core.lossy import refuse_lossy
from stagec.core.operators import ArrayOperators
from stagec.core.trace import Tracer
from stagec.numpy.arguments import Placement, from_numpy, on_device, requested_dtype
from stagec.numpy.promotion import check_dtypes
from stagec.primitives.convert import convert_element_type, convert_value
from stagec.primitives.joining import concatenate
from stagec.primitives.operand import SAME_LENGTH, as_operand, aval_of, check_range, is_array_like, promotable
from stagec.primitives.shape import expand_dims
from stagec.runtime.array import Array as ConcreteArray
from stagec.typing import ArrayLike, DTypeLike

__all__ = ["array", "asarray"]


def array(
    object: ArrayLike | Sequence[Any] | Any,
    dtype: DTypeLike = None,
    copy: bool | None = True,
    order: str | None = "K",
    ndmin: int = 0,
    *,
    device: Placement = None,
) -> Array:
    """Make an array from a number, an array, or nested lists of them.

    Args:
      object: what to convert; lists may contain traced values.
      dtype: of the result; by default that of the values, at most 32 bits wide
        unless `enable_x64` is set.
      copy: whether to copy an array that has the dtype already. Arrays are immutable, so this matters only for
        `donate_argnums`.
      order: `"K"`, `"A"` or `"C"`; arrays are always in row-major order.
      ndmin: axes of size 1 are added in front until the rank is at least this.
      device: where the array is to be, as for `stagec.device_put`; inside of traced functions it decides nothing.

    Raises:
      DeviceError: there is no such device.
      ShapeError: nested lists of different lengths.
      DtypeError: the values are not numbers.

    >>> array([[1, 2], [3, 4]])
    Array([[1, 2],
           [3, 4]], dtype=int32)
    """
    if order not in (None, "K", "A", "C"):
        raise location.error(
            errors.UnsupportedError,
            f"array: order={order!r} is not supported, arrays are in row-major order",
            fix="leave order out; arrays are transposed with x.T",
        )
    wanted = None if dtype is None else requested_dtype(dtype, "array")
    if isinstance(object, (list, tuple)):
        out = _from_nested(object, wanted)
    elif is_array_like(object):
        operand = as_operand(object, "object") if wanted is None else promotable(object, "object")
        if isinstance(operand, (Literal, np.ndarray)) and not isinstance(object, ArrayOperators):
            out = _from_value(operand, object, wanted)
        else:
            out = operand if wanted is None else convert_element_type(operand, wanted)
            if copy and out is object and type(out) is ConcreteArray:
                out = out.private_copy()
    else:
        out = _from_numpy_like(object, wanted)
    missing = ndmin - aval_of(out).ndim
    return on_device(expand_dims(out, tuple(range(missing))) if missing > 0 else out, device)


def asarray(
    a: Any,
    dtype: DTypeLike = None,
    order: str | None = None,
    *,
    copy: bool | None = None,
    device: Placement = None,
) -> Array:
    """Like `array`, but returns an array of the wanted dtype unchanged.

    Args:
      a: what to convert.
      dtype, order, device: as for `array`.
      copy: whether to copy an array of the wanted dtype; with False, anything else is an error.

    Raises:
      ValueError: `copy` is False, and `a` is not an array of the wanted dtype.

    >>> asarray(1.5)
    Array(1.5, dtype=float32, weak_type=True)
    """
    out = array(a, dtype, bool(copy), order, device=device)
    if copy is False and out is not a:
        raise location.error(
            ValueError,
            f"asarray: copy=False, but {type(a).__name__} has to be copied to become {aval_of(out).long()}",
            fix="leave copy out; a copy is made where one is needed",
        )
    return out


def _from_value(operand: Any, original: Any, dtype: np.dtype[Any] | None) -> Array:
    weak = isinstance(operand, Literal) and operand.aval.weak_type and dtype is None
    if dtype is None:
        value = operand.value if isinstance(operand, Literal) else operand
        return from_numpy(value, value.dtype, weak)
    # Convert the original, so that a wide value is rounded once.
    value = original if isinstance(original, (np.ndarray, np.generic)) else np.asarray(original)
    if isinstance(operand, Literal) and isinstance(original, int) and dtypes.is_integer(dtype):
        check_range(int(original), dtype, "array")
    if isinstance(original, Literal):
        value = original.value
    with np.errstate(all="ignore"):
        return from_numpy(np.asarray(convert_value(np.asarray(value), dtype)))


def _leaves(nested: Any) -> Iterator[Any]:
    for element in nested:
        if isinstance(element, (list, tuple)):
            yield from _leaves(element)
        else:
            yield element


def _with_sizes(nested: Any) -> Any:
    """A nested list with arrays in place of open dimensions."""
    if isinstance(nested, (list, tuple)):
        return [_with_sizes(e) for e in nested]
    return as_array(nested)


def _from_nested(nested: Any, dtype: np.dtype[Any] | None) -> Array:
    kinds: dict[Any, Any] = {}
    traced = False
    if any(map(is_open, _leaves(nested))):
        nested = _with_sizes(nested)
    for leaf in _leaves(nested):
        if isinstance(leaf, Tracer):
            traced = True
        kind = dtypes.python_scalar_kind(type(leaf))
        if kind is not None:
            kinds[kind] = leaf
        elif is_array_like(leaf):
            aval = aval_of(as_operand(leaf))
            kinds[(aval.dtype, aval.weak_type)] = leaf
        elif hasattr(leaf, "__array__") or hasattr(leaf, "__buffer__"):
            kinds[type(leaf)] = np.asarray(leaf)
        else:
            refuse_lossy(leaf, "array")
            raise location.error(
                errors.ArgumentTypeError,
                f"array: an element of the list is neither a number nor an array: {type(leaf).__name__}: {leaf!r}",
                fix="keep values that are not numbers outside of arrays; write nan for a missing number",
            )
    if dtype is None:
        pairs = [dtypes.dtype_and_weak_type(v) for v in kinds.values()]
        check_dtypes(pairs)
        dtype = dtypes.lattice_result(pairs)[0] if kinds else dtypes.default_float()
    if traced:
        return _stack(nested, dtype)
    try:
        value = np.asarray(_on_host(nested))
    except ValueError as error:
        raise _ragged("rows differ in length" if "inhomogeneous" in str(error) else str(error)) from None
    if value.dtype == object:
        value = _widest(value, dtype)
    if dtypes.is_integer(dtype) and int in kinds and value.dtype.itemsize > dtype.itemsize and value.size:
        check_range(int(value.max()), dtype, "array")
        check_range(int(value.min()), dtype, "array")
    with np.errstate(all="ignore"):
        return from_numpy(np.asarray(convert_value(value, dtype)))


def _on_host(nested: Any) -> Any:
    if isinstance(nested, (list, tuple)):
        return [_on_host(e) for e in nested]
    return np.asarray(nested) if isinstance(nested, ArrayOperators) or hasattr(nested, "__jax_array__") else nested


def _widest(value: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    # NumPy makes object arrays of integers beyond 64 bits, and of bfloat16 mixed with Python numbers.
    try:
        if dtypes.is_integer(dtype) and value.size:
            check_range(int(max(value.reshape(-1))), dtype, "array")
            check_range(int(min(value.reshape(-1))), dtype, "array")
        return value.astype(dtype)
    except (TypeError, ValueError):
        raise _ragged("the elements are sequences of different lengths") from None


def _ragged(text: str) -> errors.ShapeError:
    return location.error(
        errors.ShapeError,
        f"array: nested lists do not form an array: {text}",
        fix=SAME_LENGTH,
    )


def _stack(nested: Any, dtype: np.dtype[Any]) -> Array:
    if not isinstance(nested, (list, tuple)):
        return convert_element_type(array(nested), dtype)
    if not nested:
        return from_numpy(np.empty(0, dtype))
    rows = [_stack(e, dtype) for e in nested]
    shapes = {r.shape for r in rows}
    if len(shapes) > 1:
        raise _ragged(f"elements have shapes {', '.join(map(str, sorted(shapes)))}")
    return concatenate([expand_dims(r, (0,)) for r in rows], 0)


def _from_numpy_like(value: Any, dtype: np.dtype[Any] | None) -> Any:
    refuse_lossy(value, "array")
    foreign = from_foreign(value, "array")
    try:
        found = np.asarray(value) if foreign is None else foreign
    except errors.StagecError:
        raise
    except Exception:
        found = np.asarray(None)
    if found.dtype == object:
        raise location.error(
            errors.ArgumentTypeError,
            f"array: cannot make an array of {type(value).__name__}",
            fix="pass numbers, arrays, or nested lists of them",
        )
    return array(found, dtype)

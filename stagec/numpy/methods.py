"""The implementations of the operators and methods of arrays and tracers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from stagec.core import dtypes, errors, location
from stagec.core.array import Array
from stagec.numpy import creation, manipulation
from stagec.numpy.arguments import explicitly_split, requested_dtype
from stagec.numpy.at import at
from stagec.numpy.indexing import iterate, read
from stagec.numpy.namespace import array_namespace
from stagec.primitives.complex import complex as make_complex, imag, real
from stagec.primitives.convert import bitcast_convert_type
from stagec.primitives.shape import rev
from stagec.runtime.plans import planned

# Operators and methods that are the function of the same name, with the array as first argument.
NAMES = (
    "add subtract multiply true_divide floor_divide remainder divmod power matmul bitwise_and bitwise_or bitwise_xor "
    "left_shift right_shift equal not_equal less less_equal greater greater_equal negative positive abs bitwise_not "
    "round matrix_transpose real imag all any argmax argmin argpartition argsort choose clip conj conjugate "
    "cumprod cumsum diagonal dot max mean min nonzero partition prod ptp repeat searchsorted sort squeeze "
    "std sum swapaxes take trace var"
)


# Functions that depend on the values of Python numbers only as operands, not through shapes or options.
OF_NUMBERS = frozenset(
    "add subtract multiply divide true_divide floor_divide remainder mod fmod divmod maximum minimum fmax fmin clip "
    "where equal not_equal less less_equal greater greater_equal arctan2 atan2 hypot copysign logaddexp logaddexp2 "
    "bitwise_and bitwise_or bitwise_xor logical_and logical_or logical_xor heaviside nextafter".split()
)


def of_arrays(namespace: Mapping[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """Return the functions that implement the operators and methods of arrays, by name in `stagec.core.operators`.

    Args:
      namespace: the functions of `stagec.numpy`.
    """
    return {
        **{name: namespace[name] for name in NAMES.split()},
        "__array_namespace__": array_namespace,
        "__getitem__": read,
        "__iter__": iterate,
        "at": at,
        "transpose": planned(_transpose),
        "reshape": planned(_reshape),
        "ravel": planned(_ravel),
        "flatten": planned(_ravel),
        "view": planned(_view),
        "byteswap": planned(_byteswap),
        "copy": _copy,
        "astype": planned(_astype),
        "compress": lambda x, condition, axis=None, **options: namespace["compress"](condition, x, axis, **options),
    }


def _is_many(value: Any) -> bool:
    return isinstance(value, (tuple, list)) or value is None


def _transpose(x: Array, *axes: Any) -> Array:
    return manipulation.transpose(x, axes[0] if len(axes) == 1 and _is_many(axes[0]) else axes or None)


def _reshape(x: Array, *shape: Any, order: str = "C", copy: bool | None = None, out_sharding: Any = None) -> Array:
    single = len(shape) == 1
    found: Array = manipulation.reshape(x, shape[0] if single else shape, order)
    return found if out_sharding is None else explicitly_split(found, out_sharding, "reshape")


def _ravel(x: Array, order: str = "C") -> Array:
    return manipulation.ravel(x, order)


def _view(x: Any, dtype: Any = None, type: Any = None) -> Any:
    """Reinterpret the bits as another dtype; if item sizes differ, the last axis grows or shrinks."""
    if dtype is None:
        return x
    if isinstance(dtype, (int, tuple)):
        fix = "use x.reshape(shape) for another shape"
        raise location.error(errors.DtypeError, f"view takes a dtype, got {dtype!r}", fix=fix)
    wanted = requested_dtype(dtype, "view")
    if dtypes.is_bool(x.dtype) and not dtypes.is_bool(wanted):
        return _view(x.astype(np.uint8), wanted)
    if dtypes.is_bool(wanted):
        return x if dtypes.is_bool(x.dtype) else _view(x, np.uint8) != 0
    have = x.dtype.itemsize
    if have == wanted.itemsize:
        return bitcast_convert_type(x, wanted)
    if not x.ndim or (have < wanted.itemsize and x.shape[-1] * have % wanted.itemsize):
        raise location.error(
            errors.ShapeError,
            f"view: the last axis of {x.aval.long()} does not hold a whole number of {wanted.name}",
            fix="pad or reshape it first, so that the bytes of the last axis are a multiple of the new dtype's size",
        )
    if have > wanted.itemsize:
        out = bitcast_convert_type(x, wanted)
        return manipulation.reshape(out, (*x.shape[:-1], -1 if x.size else x.shape[-1] * (have // wanted.itemsize)))
    ratio = wanted.itemsize // have
    return bitcast_convert_type(manipulation.reshape(x, (*x.shape[:-1], x.shape[-1] // ratio, ratio)), wanted)


def _byteswap(x: Array, inplace: bool = False) -> Array:
    """Reverse the bytes of each element; of each part, if it is complex."""
    if inplace:
        raise location.error(ValueError, "byteswap: arrays are immutable", fix="leave inplace out and use the result")
    if dtypes.is_complex(x.dtype):
        return make_complex(_byteswap(real(x)), _byteswap(imag(x)))
    if x.dtype.itemsize == 1:
        return x
    rows = bitcast_convert_type(x, np.dtype(np.uint8))
    return bitcast_convert_type(rev(rows, (rows.ndim - 1,)), x.dtype)


def _copy(x: Array, order: str | None = None) -> Array:
    return creation.copy(x)


def _astype(x: Any, dtype: Any, copy: bool = False, device: Any = None) -> Array:
    return manipulation.astype(x, dtype, copy=copy)

"""What Fourier transforms do with their arguments: dtypes, lengths, axes."""

from __future__ import annotations

from typing import Any

from stagec.core import dtypes, errors, location
from stagec.core.array import Array
from stagec.numpy.arguments import array_argument
from stagec.numpy.manipulation import moveaxis
from stagec.numpy.values import array
from stagec.primitives.axes import as_int, canonical_axis
from stagec.primitives.broadcast import zeros
from stagec.primitives.complex import complex
from stagec.primitives.convert import convert_element_type
from stagec.primitives.joining import pad
from stagec.primitives.operand import Operand, aval_of, literal
from stagec.primitives.slicing import slice_in_dim


def complex_argument(name: str, a: Any) -> Array:
    """An argument in the complex dtype that it is transformed in."""
    x = array_argument(a, name)
    if dtypes.is_complex(x.dtype):
        return x
    x = real_argument(name, x)
    return complex(x, zeros(aval_of(x)))


def real_argument(name: str, a: Any) -> Array:
    """An argument in the real dtype that it is transformed in."""
    x = array_argument(a, name)
    if dtypes.is_complex(x.dtype):
        raise location.error(
            errors.DtypeError,
            f"{name}: expected real numbers, got {aval_of(x).long()}",
            fix="use the transform of complex numbers, fft or ifft, or take the real part",
        )
    wide = dtypes.to_inexact(x.dtype)
    return convert_element_type(x, wide if wide == dtypes.float64 else dtypes.float32)


def length(name: str, n: Any, default: int) -> int:
    found = default if n is None else as_int(n, name, "n")
    if found < 1:
        raise location.error(ValueError, f"{name}: invalid number of data points ({found})", fix="give 1 point or more")
    return found


def fitted(x: Operand, n: int) -> Operand:
    """Cut or filled with zeros to `n` along the last axis."""
    aval = aval_of(x)
    size = aval.shape[-1]
    if size > n:
        return slice_in_dim(x, 0, n, axis=aval.ndim - 1)
    if size < n:
        return pad(x, literal(0, aval.dtype), [(0, 0, 0)] * (aval.ndim - 1) + [(0, n - size, 0)])
    return x


def along(name: str, x: Operand, axis: Any) -> tuple[Operand, int]:
    """The array with the axis last, and which it was."""
    place = canonical_axis(axis, x.ndim, name)
    return (x if place == x.ndim - 1 else moveaxis(x, place, -1)), place


def back(x: Operand, axis: int) -> Array:
    return x if axis == x.ndim - 1 else moveaxis(x, -1, axis)


def chosen_axes(name: str, x: Any, s: Any, axes: Any) -> tuple[tuple[int, ...], list[Any]]:
    """The axes of a transform along several, and how many points each has."""
    if axes is None:
        axes = range(x.ndim) if s is None else range(x.ndim - len(s), x.ndim)
    sizes = [None] * len(axes) if s is None else list(s)
    if len(sizes) != len(axes):
        raise location.error(
            ValueError, f"{name}: s has {len(sizes)} sizes for {len(axes)} axes", fix="give a size for each axis"
        )
    # An axis may come twice, as in NumPy.
    places = tuple(canonical_axis(a, x.ndim, name) for a in axes)
    return places, [x.shape[p] if n in (None, -1) else n for n, p in zip(sizes, places)]


def listed(a: Any) -> Array:
    """NumPy's transforms take lists."""
    return array(a) if isinstance(a, (list, tuple)) else a

"""Conversion and checks of the arguments of Fourier transforms: dtypes, lengths, axes."""

from __future__ import annotations

from typing import Any

from stagec.core import dtypes, errors, location
from stagec.core.array import Array
from stagec.core.dims import is_open, open_error
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
    """Convert an argument to the complex dtype in which it is transformed."""
    x = array_argument(a, name)
    if dtypes.is_complex(x.dtype):
        return x
    x = real_argument(name, x)
    return complex(x, zeros(aval_of(x)))


def real_argument(name: str, a: Any) -> Array:
    """Convert an argument to the real dtype in which it is transformed."""
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
    """Return the number of points, at least 1."""
    found = default if n is None else as_int(n, name, "n")
    if is_open(found):
        raise open_error(f"fft.{name}", f"a transform of {found} points")
    if found < 1:
        raise location.error(ValueError, f"{name}: invalid number of data points ({found})", fix="give 1 point or more")
    return found


def resized(x: Operand, n: int, axis: int = -1) -> Operand:
    """Cut an axis to `n` elements, or pad it with zeros."""
    aval = aval_of(x)
    size, axis = aval.shape[axis], axis % aval.ndim
    if size > n:
        return slice_in_dim(x, 0, n, axis=axis)
    if size < n:
        return pad(x, literal(0, aval.dtype), [(0, n - size if i == axis else 0, 0) for i in range(aval.ndim)])
    return x


def axis_last(name: str, x: Operand, axis: Any) -> tuple[Operand, int]:
    """Move an axis last; return the array and the axis as a number from 0."""
    position = canonical_axis(axis, x.ndim, name)
    return (x if position == x.ndim - 1 else moveaxis(x, position, -1)), position


def axis_restored(x: Operand, axis: int) -> Array:
    """Undo `axis_last`."""
    return x if axis == x.ndim - 1 else moveaxis(x, -1, axis)


def transform_axes(name: str, x: Any, s: Any, axes: Any) -> tuple[tuple[int, ...], list[Any]]:
    """Return the axes of a transform along several, and the number of points of each."""
    if axes is None:
        axes = range(x.ndim) if s is None else range(x.ndim - len(s), x.ndim)
    sizes = [None] * len(axes) if s is None else list(s)
    if len(sizes) != len(axes):
        raise location.error(
            ValueError, f"{name}: s has {len(sizes)} sizes for {len(axes)} axes", fix="give a size for each axis"
        )
    # An axis may come twice, as in NumPy.
    positions = tuple(canonical_axis(a, x.ndim, name) for a in axes)
    return positions, [x.shape[p] if n in (None, -1) else n for n, p in zip(sizes, positions)]


def as_array(a: Any) -> Array:
    """Convert lists, which NumPy's transforms accept, to arrays."""
    return array(a) if isinstance(a, (list, tuple)) else a

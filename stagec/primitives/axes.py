"""Sizes, shapes and axes as users give them: checked, and made canonical."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from stagec.core import errors, location
from stagec.core.array import Axis
from stagec.core.dims import Dim
from stagec.core.operators import ArrayOperators
from stagec.core.trace import operand_rows


def shape_error(
    name: str, text: str, fix: str, operands: Sequence[Any] = (), names: Sequence[str] = ()
) -> errors.ShapeError:
    """The error for operands whose shapes or sizes do not fit.

    Args:
      operands: shown with their origins; a primitive's shape rule leaves them to the trace, which knows the origins.
      names: the user's names of the operands.
    """
    return location.error(errors.ShapeError, f"{name}: {text}", operand_rows(operands, names), fix)


def dilated(size: int, step: int) -> int:
    """The size of an axis with `step - 1` holes between its elements."""
    return 0 if size == 0 else (size - 1) * step + 1


def as_int(value: Any, name: str, what: str) -> int:
    """A Python integer from anything that is one, or the size of an open dimension; tracers raise their own error."""
    if type(value) is Dim:
        return value  # type: ignore[return-value]
    if isinstance(value, ArrayOperators) and value.ndim:
        raise location.error(
            errors.ShapeError,
            f"{name}: {what} must be an integer, got {value.aval.long()}",
            fix="sizes and axes are Python integers; join several arrays with stagec.numpy.stack([a, b])",
        )
    try:
        return operator.index(value)
    except errors.StagecError:
        raise
    except TypeError:
        raise location.error(
            errors.ShapeError,
            f"{name}: {what} must be an integer, got {type(value).__name__}: {errors.brief(value)}",
            fix="sizes and axes are Python integers; use // instead of / to compute them",
        ) from None


def as_shape(shape: Any, name: str) -> tuple[int, ...]:
    """A shape from an integer or a sequence of integers."""
    if isinstance(shape, (Sequence, np.ndarray)) or (hasattr(shape, "__iter__") and getattr(shape, "ndim", None) != 0):
        sizes = tuple([as_int(n, name, "each size of a shape") for n in shape])
    else:
        sizes = (as_int(shape, name, "a shape"),)
    for n in sizes:
        if n < 0:
            raise shape_error(name, f"shape {sizes} has a negative size", "give sizes of 0 or more")
    return sizes


def canonical_axis(axis: Axis, ndim: int, name: str) -> int:
    """An axis in 0..ndim-1; negative ones count from the last."""
    number = as_int(axis, name, "an axis")
    if not -ndim <= number < ndim:
        allowed = (
            f"give an axis from {-ndim} to {ndim - 1}" if ndim else "leave the axis out; an array without axes has none"
        )
        raise location.error(
            errors.AxisError, f"{name}: axis {number} is out of bounds for array of dimension {ndim}", fix=allowed
        )
    return number + ndim if number < 0 else number


def canonical_index(index: Any, size: int, name: str, what: str) -> int:
    """A position in 0..size-1, known while tracing; negative ones count from the end.

    Args:
      what: what is indexed, for the error: `"axis 1 of float32[2,3]"`.
    """
    number = as_int(index, name, "an index")
    if not -size <= number < size:
        allowed = f"give an index from {-size} to {size - 1}" if size else "give a size of one or more"
        raise location.error(
            errors.IndexingError, f"{name}: index {number} is out of bounds for {what}, of size {size}", fix=allowed
        )
    return number + size if number < 0 else number


def canonical_axes(axes: Any, ndim: int, name: str) -> tuple[int, ...]:
    """Distinct axes in 0..ndim-1, from one axis or several; `None` is all of them."""
    if axes is None:
        return tuple(range(ndim))
    if not isinstance(axes, (Sequence, np.ndarray)):
        axes = (axes,)
    found = tuple([canonical_axis(a, ndim, name) for a in axes])
    if len(set(found)) != len(found):
        raise location.error(
            errors.AxisError, f"{name}: duplicate value in axes {tuple(axes)}", fix="name each axis once"
        )
    return found

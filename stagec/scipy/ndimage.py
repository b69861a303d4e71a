"""Interpolation in arrays, by the name of `scipy.ndimage`."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

from stagec import numpy as snp
from stagec.core import dtypes, errors, location
from stagec.core.array import Array
from stagec.core.boundary import publish as _publish
from stagec.numpy.arguments import array_argument
from stagec.primitives.operand import aval_of
from stagec.runtime.plans import cover as _cover
from stagec.typing import ArrayLike

__all__ = ["map_coordinates"]


def _mirrored(index: Any, size: int) -> Any:
    """Map indices into an array that is mirrored at the centers of its end elements."""
    period = max(2 * (size - 1), 1)
    return abs((index + size - 1) % period - (size - 1))


def _reflected(index: Any, size: int) -> Array:
    """Map indices into an array that is mirrored at the outer edges of its end elements."""
    return snp.floor_divide(_mirrored(2 * index + 1, 2 * size + 1), 2)


_MODES: dict[str, Callable[[Any, int], Any]] = {
    "constant": lambda index, size: snp.clip(index, 0, size - 1),
    "nearest": lambda index, size: snp.clip(index, 0, size - 1),
    "wrap": lambda index, size: index % size,
    "mirror": _mirrored,
    "reflect": _reflected,
}


def _nodes(coordinate: Array, order: int) -> list[tuple[Any, Any]]:
    """Return the indices next to a coordinate, each with its weight."""
    if order == 0:
        # Halves away from 0.
        nearest = snp.trunc(coordinate + snp.copysign(0.5, coordinate))
        return [(nearest.astype(dtypes.default_int()), snp.ones_like(coordinate))]
    low = snp.floor(coordinate)
    above = coordinate - low
    index = low.astype(dtypes.default_int())
    return [(index, 1 - above), (index + 1, above)]


def map_coordinates(
    input: ArrayLike,
    coordinates: Sequence[ArrayLike],
    order: int,
    mode: str = "constant",
    cval: ArrayLike = 0.0,
) -> Array:
    """The values of an array at coordinates that need not be integers, by interpolation.

    Args:
      coordinates: for each axis of `input`, where along it; all of one shape, which is that of the result.
      order: 0 for the nearest element, 1 for a linear function between the elements around; no others.
      mode: beyond the ends, `"constant"` has `cval`, `"nearest"` the last element, `"wrap"` begins again,
        `"mirror"` and `"reflect"` turn around, at the middle or the outer side of the last element.

    Values and, for order 1, coordinates have derivatives.

    >>> import stagec.numpy as snp
    >>> map_coordinates(snp.arange(4.0), [snp.array([0.5, 2.25])], order=1)
    Array([0.5 , 2.25], dtype=float32)
    """
    values = array_argument(input, "map_coordinates")
    positions = [array_argument(c, "map_coordinates") for c in coordinates]
    if len(positions) != values.ndim:
        raise location.error(
            errors.ShapeError,
            f"map_coordinates: {len(positions)} coordinates for {aval_of(values).long()}",
            fix="give coordinates for each axis of the array",
        )
    if order not in (0, 1):
        raise location.error(
            errors.UnsupportedError, f"map_coordinates: order={order} is not supported", fix="use order 0 or 1"
        )
    if mode not in _MODES:
        raise location.error(
            errors.UnsupportedError,
            f"map_coordinates: unknown mode {mode!r}",
            fix="use 'constant', 'nearest', 'wrap', 'mirror' or 'reflect'",
        )
    positions = [p if dtypes.is_inexact(p.dtype) else p.astype(dtypes.default_float()) for p in positions]
    nodes = []
    for position, size in zip(positions, values.shape):
        found = []
        for index, weight in _nodes(position, order):
            inside = (index >= 0) & (index < size) if mode == "constant" else snp.asarray(True)
            found.append((_MODES[mode](index, size), inside, weight))
        nodes.append(found)
    total: Any = 0.0
    for corner in itertools.product(*nodes):
        index = tuple(i for i, _, _ in corner)
        inside = functools.reduce(snp.logical_and, [m for _, m, _ in corner])
        weight = functools.reduce(snp.multiply, [w for _, _, w in corner])
        total = total + snp.where(inside, values[index], cval) * weight
    result = snp.asarray(total)
    return result.astype(values.dtype) if dtypes.is_inexact(values.dtype) else snp.round(result).astype(values.dtype)


_cover(globals())
_publish(globals())

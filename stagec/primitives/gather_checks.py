"""Checks of the dimension numbers that users give for gathers and scatters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from stagec.core import errors, location
from stagec.core.aval import ShapedArray
from stagec.primitives.axes import shape_error

N = TypeVar("N", bound=tuple[Any, ...])


def as_dimensions(name: str, kind: type[N], numbers: Any) -> N:
    """Dimension numbers of a gather or a scatter as an instance of their class."""
    if not isinstance(numbers, tuple):
        raise location.error(
            errors.ArgumentTypeError,
            f"{name}: dimension_numbers must be a {kind.__name__}, got {errors.brief(numbers)}",
            fix=f"pass stagec.lax.{kind.__name__}(...)",
        )
    return kind(*[tuple(int(i) for i in field) for field in numbers])


def check_dimensions(
    name: str, numbers: Any, operand: ShapedArray, indices: ShapedArray, window_dims: str, rank: int
) -> None:
    """Raise `ShapeError` unless dimension numbers fit their operand and indices.

    Args:
      numbers: of a gather or of a scatter, whose fields mean the same.
      window_dims: the name of the first field.
      rank: the rank of the gather's result, or of the scatter's updates, whose axes that field names.
    """
    if not indices.ndim:
        return  # the shape rule raises the error
    window, dropped, mapped, batching, index_batching = numbers
    names = type(numbers)._fields
    _check(name, window_dims, window, rank, "the result" if window_dims == "offset_dims" else "updates")
    _check(name, names[1], dropped, operand.ndim, operand.long())
    _check(name, names[2], mapped, operand.ndim, operand.long(), ordered=False)
    _check(name, names[3], batching, operand.ndim, operand.long())
    _check(name, names[4], index_batching, max(indices.ndim - 1, 0), f"{indices.long()} but the last", ordered=False)
    for other in (1, 2):
        both = set(batching) & set(numbers[other])
        if both:
            raise shape_error(
                name,
                f"{names[3]} {batching} and {names[other]} {numbers[other]} share axis {min(both)}",
                "give each axis one role",
            )
    sizes = [operand.shape[i] for i in batching], [indices.shape[i] for i in index_batching]
    if sizes[0] != sizes[1]:
        raise shape_error(
            name,
            f"{names[3]} {batching} of {operand.long()} and {names[4]} {index_batching} of {indices.long()} differ",
            "name batch axes of equal sizes, in the same order",
        )


def _check(name: str, field: str, axes: Sequence[int], rank: int, what: str, ordered: bool = True) -> None:
    if any(not 0 <= axis < rank for axis in axes):
        text = f"{field} {tuple(axes)} are not all among the {rank} axes of {what}"
        raise shape_error(name, text, "count axes from 0")
    if len(set(axes)) < len(axes) or (ordered and list(axes) != sorted(axes)):
        fix = "name each axis once, in increasing order" if ordered else "name each axis once"
        raise shape_error(name, f"{field} is {tuple(axes)}", fix)

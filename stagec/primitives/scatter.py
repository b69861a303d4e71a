"""Writing into an array at computed positions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from stagec.core import errors, location
from stagec.core.array import Array
from stagec.core.functions import check_callable
from stagec.core.primitive import SinglePrimitive
from stagec.primitives.convert import convert_element_type
from stagec.primitives.gather import gather
from stagec.primitives.gather_checks import as_dimensions, check_dimensions
from stagec.primitives.gather_parts import GatherScatterMode, ScatterDimensionNumbers
from stagec.primitives.gather_scatter import (
    scatter_add_p,
    scatter_max_p,
    scatter_min_p,
    scatter_mul_p,
    scatter_p,
    scatter_sub_p,
)
from stagec.primitives.operand import as_operand, aval_of, promote_weak_scalars
from stagec.primitives.scatter_parts import window_sizes
from stagec.typing import ArrayLike

__all__ = ["scatter", "scatter_add", "scatter_apply", "scatter_max", "scatter_min", "scatter_mul", "scatter_sub"]


class ScatterFunction(Protocol):
    """The signature of `scatter` and its kin."""

    def __call__(
        self,
        operand: ArrayLike,
        scatter_indices: ArrayLike,
        updates: ArrayLike,
        dimension_numbers: ScatterDimensionNumbers,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: GatherScatterMode | str | None = None,
    ) -> Array: ...


def _function(primitive: SinglePrimitive, verb: str) -> ScatterFunction:
    def scatter_function(
        operand: ArrayLike,
        scatter_indices: ArrayLike,
        updates: ArrayLike,
        dimension_numbers: ScatterDimensionNumbers,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: GatherScatterMode | str | None = None,
    ) -> Array:
        x, new = promote_weak_scalars(operand, updates)
        indices = as_operand(scatter_indices)
        if aval_of(indices).weak_type:
            indices = convert_element_type(indices, aval_of(indices).dtype)
        numbers = as_dimensions(primitive.name, ScatterDimensionNumbers, dimension_numbers)
        avals = aval_of(x), aval_of(indices)
        check_dimensions(primitive.name, numbers, *avals, "update_window_dims", aval_of(new).ndim)
        return primitive(
            x,
            indices,
            new,
            dimension_numbers=numbers,
            indices_are_sorted=bool(indices_are_sorted),
            unique_indices=bool(unique_indices),
            mode=GatherScatterMode.from_any(mode).value,
        )

    scatter_function.__name__ = scatter_function.__qualname__ = primitive.name
    scatter_function.__doc__ = f"""{verb} a window of `operand` at each index.

    Args:
      operand: the array to start from.
      scatter_indices: integers; the last axis holds the components of an index.
      updates: what to use at each index, of the operand's dtype.
      dimension_numbers: the role of each axis.
      indices_are_sorted, unique_indices: promises that may save work.
      mode: `"clip"`, or `"drop"` (the default) for windows that reach out of the array.
    """
    return scatter_function


scatter = _function(scatter_p, "Replace")
scatter_add = _function(scatter_add_p, "Add to")
scatter_sub = _function(scatter_sub_p, "Subtract from")
scatter_mul = _function(scatter_mul_p, "Multiply")
scatter_min = _function(scatter_min_p, "Take the minimum with")
scatter_max = _function(scatter_max_p, "Take the maximum with")


def scatter_apply(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    func: Callable[[Any], Any],
    dimension_numbers: ScatterDimensionNumbers,
    *,
    update_shape: tuple[int, ...] = (),
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: GatherScatterMode | str | None = None,
) -> Array:
    """Replace the windows at each index by `func` of them.

    Args:
      update_shape: the shape that updates would have.

    An index that occurs twice counts once; `x.at[i].apply` counts both.
    """
    check_callable("scatter_apply", "stagec.lax.scatter_apply(x, indices, f, numbers, update_shape=shape)", func)
    x = as_operand(operand)
    dimension_numbers = as_dimensions("scatter_apply", ScatterDimensionNumbers, dimension_numbers)
    if len(update_shape) < len(dimension_numbers.update_window_dims):
        raise location.error(
            errors.ShapeError,
            "scatter_apply: update_shape lacks the window's axes",
            fix="append the sizes of the window's axes to it",
        )
    sizes = window_sizes(dimension_numbers, aval_of(x).ndim, tuple(update_shape))
    old = gather(x, scatter_indices, dimension_numbers.as_gather(), sizes, mode="clip")
    return scatter(
        x,
        scatter_indices,
        func(old),
        dimension_numbers,
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
        mode=mode,
    )

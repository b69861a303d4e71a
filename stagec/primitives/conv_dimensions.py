"""Dimension numbers of convolutions: the meaning of each axis of the operand, the kernel and the result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from stagec.primitives.axes import as_int, shape_error

__all__ = ["ConvDimensionNumbers", "ConvGeneralDilatedDimensionNumbers", "conv_dimension_numbers"]


class ConvDimensionNumbers(NamedTuple):
    """The meaning of each axis.

    Attributes:
      lhs_spec: axes of the operand: batch, feature, spatial axes.
      rhs_spec: axes of the kernel: output feature, input feature, spatial axes.
      out_spec: axes of the result: batch, feature, spatial axes.
    """

    lhs_spec: tuple[int, ...]
    rhs_spec: tuple[int, ...]
    out_spec: tuple[int, ...]


# Three strings, `ConvDimensionNumbers`, or None.
ConvGeneralDilatedDimensionNumbers = tuple[str, str, str] | ConvDimensionNumbers | None


def conv_dimension_numbers(
    lhs_shape: Sequence[int], rhs_shape: Sequence[int], dimension_numbers: ConvGeneralDilatedDimensionNumbers
) -> ConvDimensionNumbers:
    """Dimension numbers from strings such as `("NHWC", "HWIO", "NHWC")`.

    Args:
      lhs_shape: the operand's shape.
      rhs_shape: the kernel's shape.
      dimension_numbers: three strings, `None` for `NCHW, OIHW, NCHW`, or a `ConvDimensionNumbers`.

    Raises:
      ShapeError: ranks differ, or a string or the numbers do not name each axis once.

    >>> conv_dimension_numbers((1, 8, 8, 3), (3, 3, 3, 4), ("NHWC", "HWIO", "NHWC")).lhs_spec
    (0, 3, 1, 2)
    """
    rank = len(lhs_shape)
    if rank != len(rhs_shape) or rank < 2:
        raise shape_error(
            "convolution",
            f"operand of shape {tuple(lhs_shape)} and kernel of shape {tuple(rhs_shape)}",
            "give both the same number of axes: two, and one for each spatial axis",
        )
    if dimension_numbers is None:
        axes = tuple(range(rank))
        return ConvDimensionNumbers(axes, axes, axes)
    if not isinstance(dimension_numbers, (tuple, list)) or len(dimension_numbers) != 3:
        text = f"dimension_numbers is {dimension_numbers!r}"
        raise shape_error("convolution", text, "name the axes of operand, kernel and result: ('NCHW', 'OIHW', 'NCHW')")
    if not all(isinstance(s, str) for s in dimension_numbers):
        return _numbered_axes(dimension_numbers, rank)
    lhs, rhs, out = map(str, dimension_numbers)
    for text, letters in ((lhs, "NC"), (rhs, "OI"), (out, "NC")):
        if len(text) != rank or len(set(text)) != rank or any(text.count(c) != 1 for c in letters):
            raise shape_error(
                "convolution",
                f"dimension numbers {text!r} do not describe {rank} axes",
                f"name each axis once, with {letters[0]!r} and {letters[1]!r} among them",
            )
    spatial = [c for c in rhs if c not in "OI"]
    for text in (lhs, out):
        if set(text) - set("NC") != set(spatial):
            raise shape_error(
                "convolution",
                f"dimension numbers {lhs!r}, {rhs!r}, {out!r} name different spatial axes",
                "use the same letters for the spatial axes in all three",
            )
    return ConvDimensionNumbers(
        *[
            tuple([text.index(c) for c in (*letters, *spatial)])
            for text, letters in ((lhs, "NC"), (rhs, "OI"), (out, "NC"))
        ]
    )


def _numbered_axes(specs: Sequence[Any], rank: int) -> ConvDimensionNumbers:
    """Three specifications by numbers of axes, checked."""
    found = []
    for field, spec in zip(ConvDimensionNumbers._fields, specs):
        is_sequence = isinstance(spec, Sequence) and not isinstance(spec, str)
        axes = tuple([as_int(axis, "convolution", "an axis") for axis in spec]) if is_sequence else ()
        if sorted(axes) != list(range(rank)):
            raise shape_error(
                "convolution",
                f"dimension numbers {field}={spec!r} do not describe {rank} axes",
                f"name each axis from 0 to {rank - 1} once, or give three strings: ('NCHW', 'OIHW', 'NCHW')",
            )
        found.append(axes)
    return ConvDimensionNumbers(*found)

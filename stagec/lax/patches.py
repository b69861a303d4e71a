"""Windows of an array as features, products with a kernel for each position, and shapes of convolutions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stagec.control.windows import reduce_window
from stagec.core import dtypes
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.recording import trace_closed
from stagec.numpy.arguments import array_argument
from stagec.primitives.arithmetic import add
from stagec.primitives.axes import shape_error
from stagec.primitives.conv import conv_general_dilated, conv_transpose
from stagec.primitives.conv_dimensions import ConvGeneralDilatedDimensionNumbers, conv_dimension_numbers
from stagec.primitives.dot import dot_general
from stagec.primitives.operand import aval_of
from stagec.primitives.precision import PrecisionLike
from stagec.primitives.shape import transpose
from stagec.primitives.window import Padding
from stagec.typing import ArrayLike, DTypeLike

__all__ = [
    "conv_general_dilated_local", "conv_general_dilated_patches", "conv_general_permutations",
    "conv_general_shape_tuple", "conv_shape_tuple", "conv_transpose_shape_tuple", "reduce_window_shape_tuple",
]  # fmt: skip


def conv_general_dilated_patches(
    lhs: ArrayLike,
    filter_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Padding,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike = None,
) -> Array:
    """The windows that a convolution would multiply with its kernel, as features.

    Args:
      filter_shape: the window's size along each spatial axis.
      window_strides, padding, lhs_dilation, rhs_dilation, dimension_numbers: as `conv_general_dilated` takes them.

    Returns:
      An array laid out as the result of the convolution. Its features count the operand's features, and for each of
      them the elements of the window.

    >>> import stagec.numpy as snp
    >>> conv_general_dilated_patches(snp.arange(5.0).reshape(1, 1, 5), (2,), (1,), "VALID")[0].tolist()
    [[0.0, 1.0, 2.0, 3.0], [1.0, 2.0, 3.0, 4.0]]
    """
    x = array_argument(lhs, "conv_general_dilated_patches")
    window = tuple(filter_shape)
    rank = len(window) + 2
    if x.ndim != rank:
        raise shape_error(
            "conv_general_dilated_patches",
            f"filter_shape={window} for {aval_of(x).long()}",
            "give a size for each spatial axis: two fewer than the operand's axes",
        )
    numbers = conv_dimension_numbers(x.shape, (1,) * rank, dimension_numbers)
    features = x.shape[numbers.lhs_spec[1]]
    count = math.prod(window)
    # Each output feature picks one element of the window of one feature.
    picked = np.tile(
        np.eye(count, dtype=aval_of(x).dtype).reshape(count, 1, *window), (features, 1, *[1] * len(window))
    )
    return conv_general_dilated(
        x,
        picked.transpose(np.argsort(numbers.rhs_spec)),
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        numbers,
        feature_group_count=features,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def conv_general_dilated_local(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: Padding,
    filter_shape: Sequence[int],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    precision: PrecisionLike = None,
) -> Array:
    """A convolution with a kernel of its own at each position of the result.

    Args:
      rhs: kernels, laid out as `dimension_numbers` says: output features, `features * elements of the window`, and
        the spatial axes of the result.
      filter_shape: the window's size along each spatial axis.
      lhs, window_strides, padding, lhs_dilation, rhs_dilation, dimension_numbers: as `conv_general_dilated` takes
        them.

    Raises:
      ShapeError: `rhs` does not have one kernel for each position of the result.

    >>> import stagec.numpy as snp
    >>> x, kernels = snp.arange(3.0).reshape(1, 1, 3), snp.arange(4.0).reshape(1, 2, 2)
    >>> conv_general_dilated_local(x, kernels, (1,), "VALID", (2,)).tolist()
    [[[2.0, 7.0]]]
    """
    x = array_argument(lhs, "conv_general_dilated_local")
    kernels = array_argument(rhs, "conv_general_dilated_local")
    numbers = conv_dimension_numbers(x.shape, kernels.shape, dimension_numbers)
    patches = conv_general_dilated_patches(
        x, filter_shape, window_strides, padding, lhs_dilation, rhs_dilation, numbers, precision
    )
    (_, features, *space), (_, inner, *own) = numbers.out_spec, numbers.rhs_spec
    wanted = [patches.shape[i] for i in (features, *space)]
    if [kernels.shape[i] for i in (inner, *own)] != wanted:
        raise shape_error(
            "conv_general_dilated_local",
            f"{aval_of(kernels).long()} holds no kernel of {wanted[0]} numbers for each of {tuple(wanted[1:])} places",
            "give rhs the axes (output features, features * window, spatial axes of the result) that "
            "dimension_numbers name",
        )
    # Axes: places, batch, output features.
    made = dot_general(patches, kernels, (((features,), (inner,)), (space, own)), precision)
    order = [len(space), len(space) + 1, *range(len(space))]
    return transpose(made, [order[numbers.out_spec.index(i)] for i in range(x.ndim)])


def conv_general_permutations(dimension_numbers: tuple[str, str, str]) -> tuple[tuple[int, ...], ...]:
    """The axes of operand, kernel and result in the order NC, OI, NC and spatial ones, by the kernel's order.

    >>> conv_general_permutations(("NHWC", "HWIO", "NHWC"))
    ((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))
    """
    rank = len(dimension_numbers[0])
    return tuple(conv_dimension_numbers((1,) * rank, (1,) * rank, dimension_numbers))


def conv_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    strides: Sequence[int],
    pads: Padding,
    batch_group_count: int = 1,
) -> tuple[int, ...]:
    """The shape of a convolution of an operand NC... with a kernel OI...

    >>> conv_shape_tuple((2, 3, 8, 9), (4, 3, 3, 3), (1, 2), "SAME")
    (2, 4, 8, 5)
    """
    return _shape_of(
        lambda x, k: conv_general_dilated(x, k, strides, pads, batch_group_count=batch_group_count),
        lhs_shape,
        rhs_shape,
    )


def conv_general_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Padding,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers,
) -> tuple[int, ...]:
    """The shape of a convolution.

    >>> conv_general_shape_tuple((2, 8, 9, 3), (3, 3, 3, 4), (1, 2), "VALID", ("NHWC", "HWIO", "NHWC"))
    (2, 6, 4, 4)
    """
    return _shape_of(
        lambda x, k: conv_general_dilated(x, k, window_strides, padding, dimension_numbers=dimension_numbers),
        lhs_shape,
        rhs_shape,
    )


def conv_transpose_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Padding,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers,
) -> tuple[int, ...]:
    """The shape of a transposed convolution.

    >>> conv_transpose_shape_tuple((2, 8, 9, 3), (3, 3, 3, 4), (1, 2), "SAME", ("NHWC", "HWIO", "NHWC"))
    (2, 8, 18, 4)
    """
    return _shape_of(
        lambda x, k: conv_transpose(x, k, window_strides, padding, dimension_numbers=dimension_numbers),
        lhs_shape,
        rhs_shape,
    )


def reduce_window_shape_tuple(
    operand_shape: Sequence[int],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Padding,
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> tuple[int, ...]:
    """The shape of a reduction of windows.

    >>> reduce_window_shape_tuple((8, 9), (3, 3), (2, 1), ((1, 1), (0, 0)))
    (4, 7)
    """
    return _shape_of(
        lambda x: reduce_window(
            x, 0.0, add, window_dimensions, window_strides, padding, base_dilation, window_dilation
        ),
        operand_shape,
    )


def _shape_of(function: Callable[..., Any], *shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape of a function's result, from the one place that knows it: its own rule."""
    avals = [ShapedArray.of(tuple(shape), dtypes.float32) for shape in shapes]
    graph = trace_closed(lambda *operands: [function(*operands)], avals)
    return graph.out_avals[0].shape

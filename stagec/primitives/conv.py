"""Convolutions with strides, padding, dilation and groups, in any layout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stagec.core import dtypes, errors, location
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.primitive import SinglePrimitive
from stagec.primitives import conv_rules as rules
from stagec.primitives.axes import dilated, shape_error
from stagec.primitives.checks import HALF, check_dtype, i64_array, i64_pairs, same_dtype
from stagec.primitives.conv_dimensions import ConvGeneralDilatedDimensionNumbers, conv_dimension_numbers
from stagec.primitives.operand import aval_of, promote_weak_scalars
from stagec.primitives.precision import PrecisionLike, canonical_precision
from stagec.primitives.rules import bilinear
from stagec.primitives.shape import rev
from stagec.primitives.window import Pairs, explicit_padding, padded, sizes, strided, windows
from stagec.typing import ArrayLike, DTypeLike

__all__ = ["conv", "conv_general_dilated", "conv_general_dilated_p", "conv_transpose", "conv_with_general_padding"]

_NAME = "conv_general_dilated"


def _shape(
    lhs: ShapedArray,
    rhs: ShapedArray,
    *,
    window_strides: tuple[int, ...],
    padding: Pairs,
    lhs_dilation: tuple[int, ...],
    rhs_dilation: tuple[int, ...],
    dimension_numbers: tuple[Any, ...],
    feature_group_count: int,
    batch_group_count: int,
    preferred_element_type: np.dtype[Any] | None,
) -> ShapedArray:
    dtype = same_dtype(_NAME, (lhs, rhs))
    check_dtype(_NAME, dtype, dtypes.NUMERIC)
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    batch, features, *space = [lhs.shape[i] for i in lhs_spec]
    out_features, in_features, *kernel = [rhs.shape[i] for i in rhs_spec]
    groups = {"feature_group_count": (feature_group_count, features), "batch_group_count": (batch_group_count, batch)}
    for name, (count, total) in groups.items():
        if count < 1 or total % count or out_features % count:
            raise shape_error(
                _NAME,
                f"{name}={count} does not divide {lhs.long()} and {rhs.long()} evenly",
                f"choose a {name} that divides the operand's axis of size {total} "
                f"and the {out_features} output features",
            )
    if feature_group_count > 1 and batch_group_count > 1:
        raise shape_error(_NAME, "features and batch are both grouped", "set one of the group counts to 1")
    if in_features * feature_group_count != features:
        raise shape_error(
            _NAME,
            f"operand {lhs.long()} has {features} features, kernel {rhs.long()} takes "
            f"{in_features} in each of {feature_group_count} groups",
            "check dimension_numbers: the operand's C axis is feature_group_count times the kernel's I axis",
        )
    shape = [0] * lhs.ndim
    result = [batch // batch_group_count, out_features]
    for n, k, stride, (low, high), base, dilation in zip(
        space, kernel, window_strides, padding, lhs_dilation, rhs_dilation
    ):
        total = dilated(n, base) + low + high
        if total < 0:
            raise shape_error(
                _NAME,
                f"padding {padding} cuts more than {lhs.long()} has",
                "cut no more than the axis has: a pad is -size or more",
            )
        result.append(strided(total, dilated(k, dilation), stride))
    for axis, n in zip(out_spec, result):
        shape[axis] = n
    return ShapedArray.of(tuple(shape), dtype if preferred_element_type is None else preferred_element_type)


def _working_dtype(dtype: np.dtype[Any], out: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of the sums: float32 for half precision, else the wider of the two."""
    if dtype in HALF and out in HALF:
        return np.dtype(np.float32)
    return dtypes.promote_types(dtype, out)


def _eval(
    lhs: Any,
    rhs: Any,
    *,
    window_strides: tuple[int, ...],
    padding: Pairs,
    lhs_dilation: tuple[int, ...],
    rhs_dilation: tuple[int, ...],
    dimension_numbers: tuple[Any, ...],
    feature_group_count: int,
    batch_group_count: int,
    preferred_element_type: np.dtype[Any] | None,
) -> Any:
    out_dtype = lhs.dtype if preferred_element_type is None else preferred_element_type
    work = _working_dtype(lhs.dtype, out_dtype)
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    x = lhs.transpose(lhs_spec).astype(work)
    kernel = rhs.transpose(rhs_spec).astype(work)
    groups = feature_group_count
    if batch_group_count > 1:
        # Each group of the batch has its own output features, so these are groups of features.
        groups = batch_group_count
        x = x.reshape(groups, x.shape[0] // groups, *x.shape[1:]).swapaxes(0, 1)
        x = x.reshape(x.shape[0], groups * x.shape[2], *x.shape[3:])
    x = padded(x, 0, ((0, 0), (0, 0), *padding), (1, 1, *lhs_dilation))
    spatial = kernel.shape[2:]
    view = windows(x, (1, 1, *spatial), (1, 1, *window_strides), (1, 1, *rhs_dilation))
    batch, features, *space = view.shape[: x.ndim]
    rank = len(space)
    view = view.reshape(batch, groups, features // groups, *space, *spatial)
    # (groups, batch and output positions, features and kernel positions)
    order = (1, 0, *range(3, 3 + rank), 2, *range(3 + rank, 3 + 2 * rank))
    depth = features // groups * int(np.prod(spatial, dtype=np.int64))
    positions = batch * int(np.prod(space, dtype=np.int64))
    patches = view.transpose(order).reshape(groups, positions, depth)
    weights = kernel.reshape(groups, kernel.shape[0] // groups, depth).swapaxes(1, 2)
    out = np.matmul(patches, weights).reshape(groups, batch, *space, kernel.shape[0] // groups)
    out = np.moveaxis(out, (1, 0, -1), (0, 1, 2)).reshape(batch, kernel.shape[0], *space)
    return out.transpose(np.argsort(out_spec)).astype(out_dtype)


def _axes_text(spec: tuple[int, ...], first: str, second: str) -> str:
    words = [""] * len(spec)
    for word, axis in zip((first, second, *map(str, range(len(spec) - 2))), spec):
        words[axis] = word
    return f"[{', '.join(words)}]"


def _lower(
    cx: Any,
    lhs: Any,
    rhs: Any,
    *,
    window_strides: tuple[int, ...],
    padding: Pairs,
    lhs_dilation: tuple[int, ...],
    rhs_dilation: tuple[int, ...],
    dimension_numbers: tuple[Any, ...],
    feature_group_count: int,
    batch_group_count: int,
    preferred_element_type: np.dtype[Any] | None,
) -> Any:
    (left, right), (out,) = cx.in_avals, cx.out_avals
    if left.size == 0 or right.size == 0 or out.size == 0:
        return cx.constant(0, out)
    work = _working_dtype(left.dtype, out.dtype)
    half = left.dtype in HALF and work == np.float32
    if left.dtype != work and not half:
        lhs = cx.emit("stablehlo.convert", [lhs], avals=[left.update(dtype=work)])
        rhs = cx.emit("stablehlo.convert", [rhs], avals=[right.update(dtype=work)])
    wide = out.update(dtype=work)
    if cx.open_rules is not None:
        given = (left, right) if half else (left.update(dtype=work), right.update(dtype=work))
        groups = (feature_group_count, batch_group_count)
        window = (window_strides, padding, lhs_dilation, rhs_dilation)
        found = cx.open_rules.convolution(cx, (lhs, rhs), given, wide, dimension_numbers, *window, groups)
        if found is not None:
            return found if wide is out else cx.emit("stablehlo.convert", [found])
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    left_text, right_text = _axes_text(lhs_spec, "b", "f"), _axes_text(rhs_spec, "o", "i")
    attributes = {
        "dimension_numbers": f"#stablehlo.conv<{left_text}x{right_text}->{_axes_text(out_spec, 'b', 'f')}>",
        "window_strides": i64_array(window_strides),
        "lhs_dilation": i64_array(lhs_dilation),
        "rhs_dilation": i64_array(rhs_dilation),
        "feature_group_count": f"{feature_group_count} : i64",
        "batch_group_count": f"{batch_group_count} : i64",
    }
    if any(low or high for low, high in padding):
        attributes["padding"] = i64_pairs(padding)
    result = cx.emit("stablehlo.convolution", [lhs, rhs], attributes, [wide])
    return result if wide is out else cx.emit("stablehlo.convert", [result])


conv_general_dilated_p: SinglePrimitive = SinglePrimitive(
    _NAME,
    shape=_shape,
    eval=_eval,
    lower=_lower,
    jvp=bilinear,
    transpose=lambda ct, *operands, **params: rules.conv_transpose(conv_general_dilated_p, ct, *operands, **params),
    batch=rules.conv_batch,
    numpy_ns=5,
    numpy_us=50,
)


def conv_general_dilated(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike = None,
) -> Array:
    """Slide a kernel over an operand and sum the products: a cross-correlation, the kernel is not flipped.

    Args:
      lhs: the operand: batch, features, and any number of spatial axes.
      rhs: the kernel: output features, input features, and spatial axes.
      window_strides: how far the kernel moves along each spatial axis.
      padding: `"VALID"`, `"SAME"`, `"SAME_LOWER"`, or `(low, high)` for each spatial axis.
      lhs_dilation: distance of the operand's elements; above 1 for transposed convolutions.
      rhs_dilation: distance of the kernel's elements.
      dimension_numbers: the meaning of the axes, see `conv_dimension_numbers`.
      feature_group_count: groups of features that do not mix.
      batch_group_count: groups of the batch, each with its own output features.
      precision: accepted; products are always computed in full precision.
      preferred_element_type: dtype of the sums and of the result.

    Raises:
      ShapeError: shapes, groups or dimension numbers do not fit together.
      DtypeError: the operands' dtypes differ.

    >>> import numpy as np
    >>> x, k = np.ones((1, 1, 4), np.float32), np.ones((1, 1, 3), np.float32)
    >>> conv_general_dilated(x, k, (1,), "SAME")
    Array([[[2., 3., 3., 2.]]], dtype=float32)
    """
    x, kernel = promote_weak_scalars(lhs, rhs)
    left, right = aval_of(x).shape, aval_of(kernel).shape
    numbers = conv_dimension_numbers(left, right, dimension_numbers)
    rank = len(left) - 2
    canonical_precision(precision)
    strides = sizes(window_strides, rank, _NAME, "window_strides")
    base = sizes(lhs_dilation, rank, _NAME, "lhs_dilation")
    holes = sizes(rhs_dilation, rank, _NAME, "rhs_dilation")
    if isinstance(padding, str) and any(b > 1 for b in base):
        raise location.error(
            errors.UnsupportedError,
            f"{_NAME}: padding {padding!r} has no meaning for a dilated operand",
            fix="give (low, high) for each spatial axis, or use stagec.lax.conv_transpose",
        )
    spatial = [dilated(right[i], h) for i, h in zip(numbers.rhs_spec[2:], holes)]
    return conv_general_dilated_p(
        x,
        kernel,
        window_strides=strides,
        padding=explicit_padding([left[i] for i in numbers.lhs_spec[2:]], spatial, strides, padding, _NAME),
        lhs_dilation=base,
        rhs_dilation=holes,
        dimension_numbers=tuple(numbers),
        feature_group_count=int(feature_group_count),
        batch_group_count=int(batch_group_count),
        preferred_element_type=None if preferred_element_type is None else dtypes.canonicalize(preferred_element_type),
    )


def conv(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: str,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike = None,
) -> Array:
    """A convolution of `NCHW` with `OIHW`, by name of its padding.

    >>> import numpy as np
    >>> conv(np.ones((1, 2, 5, 5), np.float32), np.ones((3, 2, 3, 3), np.float32), (1, 1), "VALID").shape
    (1, 3, 3, 3)
    """
    return conv_general_dilated(
        lhs, rhs, window_strides, padding, precision=precision, preferred_element_type=preferred_element_type
    )


def conv_with_general_padding(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int] | None,
    rhs_dilation: Sequence[int] | None,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike = None,
) -> Array:
    """A convolution of `NCHW` with `OIHW`, with any padding and dilation.

    >>> import numpy as np
    >>> x, k = np.ones((1, 1, 4), np.float32), np.ones((1, 1, 2), np.float32)
    >>> conv_with_general_padding(x, k, (1,), [(1, 0)], None, None).shape
    (1, 1, 4)
    """
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def _transposed_padding(k: int, s: int, padding: str) -> tuple[int, int]:
    """The padding with which a strided convolution's shapes are undone."""
    if padding == "SAME":
        total = k + s - 2
        low = k - 1 if s > k - 1 else -(-total // 2)
    else:
        total = k + s - 2 + max(k - s, 0)
        low = k - 1
    return low, total - low


def conv_transpose(
    lhs: ArrayLike,
    rhs: ArrayLike,
    strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    transpose_kernel: bool = False,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike = None,
    use_consistent_padding: bool = False,
) -> Array:
    """The convolution that spreads each element by `strides`: the gradient's shape of a strided one.

    Args:
      lhs: the operand, `NHWC` by default.
      rhs: the kernel, `HWIO` by default.
      strides: distance of the operand's elements.
      padding: `"SAME"` (the result is `strides` times as large), `"VALID"`, or `(low, high)` for each axis.
      rhs_dilation: distance of the kernel's elements.
      dimension_numbers: the meaning of the axes.
      transpose_kernel: flip the kernel and swap its features, so that this is the gradient itself.
      precision: accepted; products are always computed in full precision.
      preferred_element_type: dtype of the sums and of the result.
      use_consistent_padding: whether `(low, high)` are those of the convolution whose gradient has this shape, as
        names always are, and not of this one.

    >>> import numpy as np
    >>> conv_transpose(np.ones((1, 4, 1), np.float32), np.ones((3, 1, 1), np.float32), (2,), "SAME").shape
    (1, 8, 1)
    """
    x, kernel = promote_weak_scalars(lhs, rhs)
    left, right = aval_of(x).shape, aval_of(kernel).shape
    rank = len(left) - 2
    if dimension_numbers is None:
        space = "HWDXYZ"[: max(rank, 0)]
        dimension_numbers = (f"N{space}C", f"{space}IO", f"N{space}C")
    numbers = conv_dimension_numbers(left, right, dimension_numbers)
    holes = sizes(rhs_dilation, rank, "conv_transpose", "rhs_dilation")
    steps = sizes(strides, rank, "conv_transpose", "strides")
    extents = [dilated(right[i], h) for i, h in zip(numbers.rhs_spec[2:], holes)]
    if isinstance(padding, str):
        if padding.upper() not in ("SAME", "VALID"):
            raise shape_error("conv_transpose", f"there is no padding named {padding!r}", "use 'SAME' or 'VALID'")
        padding = [_transposed_padding(k, s, padding.upper()) for k, s in zip(extents, steps)]
    elif use_consistent_padding:
        padding = [(k - 1 - low, k - 1 - high) for k, (low, high) in zip(extents, padding)]
    if transpose_kernel:
        kernel = rev(kernel, numbers.rhs_spec[2:])
        out_axis, in_axis, *space_axes = numbers.rhs_spec
        numbers = numbers._replace(rhs_spec=(in_axis, out_axis, *space_axes))
    return conv_general_dilated(
        x,
        kernel,
        (1,) * rank,
        padding,
        steps,
        holes,
        numbers,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )

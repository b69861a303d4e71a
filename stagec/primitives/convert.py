"""Changing the element type, by value and by bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from stagec.core import dtypes, errors, location
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.graph import Literal
from stagec.core.operators import ArrayOperators
from stagec.core.primitive import NOT_DIFFERENTIABLE, NOT_LINEAR, Primitive, SinglePrimitive
from stagec.core.zero import differentiable, zero_of
from stagec.primitives.axes import as_int
from stagec.primitives.broadcast import in_front, linear
from stagec.primitives.checks import check_dtype
from stagec.primitives.operand import Operand, as_operand, aval_of, literal, promotable
from stagec.primitives.table import batch_elementwise
from stagec.typing import ArrayLike, DTypeLike

__all__ = [
    "bitcast_convert_type", "bitcast_convert_type_p", "convert_element_type_p", "reduce_precision",
    "reduce_precision_p",
]  # fmt: skip


def _convert_shape(x: ShapedArray, *, new_dtype: np.dtype[Any], weak_type: bool) -> ShapedArray:
    if "V" in (x.dtype.kind, new_dtype.kind) and dtypes.KEY in (x.dtype, new_dtype) and x.dtype != new_dtype:
        what = f"convert_element_type: {x.dtype.name} is not converted to {new_dtype.name}"
        raise location.error(errors.DtypeError, what, fix=dtypes.NO_NUMBERS)
    return ShapedArray.of(x.shape, new_dtype, weak_type)


def convert_value(x: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """NumPy's `astype`, except that floats out of an integer's range saturate and NaN becomes 0."""
    if x.dtype in dtypes.SMALL and x.dtype != dtype:
        x = x.astype(dtypes.COMPUTED_IN[x.dtype])
    if dtype == dtypes.bool_:
        return np.asarray(x != 0)
    if dtypes.is_complex(x.dtype) and not dtypes.is_complex(dtype):
        x = x.real
    if dtype in dtypes.SMALL_FLOAT:
        with np.errstate(all="ignore"):
            return x.astype(np.float32).astype(dtype)
    if dtype in dtypes.SMALL_INTEGER and x.dtype != dtype:
        if dtypes.is_float(x.dtype):
            x = np.clip(convert_value(x, dtypes.int32), *dtypes.integer_range(dtype))
        bits: np.ndarray[Any, Any] = (x.astype(np.int64) & (2 ** dtypes.itemsize_bits(dtype) - 1)).astype(np.uint8)
        return bits.view(dtype)
    if dtypes.is_float(x.dtype) and dtypes.is_integer(dtype):
        info = np.iinfo(dtype)
        # Usually all are within the range, and only need the conversion.
        if x.size and info.min <= float(np.minimum.reduce(x, None)) and float(np.maximum.reduce(x, None)) < info.max:
            return x.astype(dtype)
        wide = x.astype(np.float64)
        # 2**63 and 2**64 are floats, the largest integers below them are not.
        out = np.where(wide >= float(info.max), 0, np.clip(wide, float(info.min), None))
        out = np.where(np.isnan(wide), 0, out).astype(dtype)
        return np.where(wide >= float(info.max), np.asarray(info.max, dtype), out)
    return x.astype(dtype)


def _convert_eval(x: Any, *, new_dtype: np.dtype[Any], weak_type: bool) -> Any:
    return convert_value(x, new_dtype)


def _convert_python(code: Any, x: Any, *, new_dtype: np.dtype[Any], weak_type: bool) -> Any:
    dtype = code.in_avals[0].dtype
    if new_dtype == dtypes.bool_ or new_dtype in dtypes.SMALL or dtype in dtypes.SMALL:
        return None
    if (dtypes.is_float(dtype) and dtypes.is_integer(new_dtype)) or dtypes.is_complex(dtype):
        return None if dtype != new_dtype else x
    if dtype == new_dtype:
        return x
    return code.assign(f"{x.name}.astype({code.constant(new_dtype)})", held=x.held, scalar=x.scalar, fresh=True)


def _convert_lower(cx: Any, x: Any, *, new_dtype: np.dtype[Any], weak_type: bool) -> Any:
    (aval,) = cx.in_avals
    if aval.dtype == new_dtype:
        return x
    if (new_dtype in dtypes.SMALL or aval.small) and not dtypes.is_complex(aval.dtype):
        # Its lowering uses operations that convert themselves, so the context provides it.
        return cx.convert_small(x, new_dtype)
    if dtypes.is_complex(aval.dtype) and not dtypes.is_complex(new_dtype) and new_dtype != dtypes.bool_:
        aval = aval.update(dtype=dtypes.real_dtype(aval.dtype))
        x = cx.emit("stablehlo.real", [x], avals=[aval])
        if aval.dtype == new_dtype:
            return x
    if new_dtype == dtypes.bool_:
        zero = cx.constant(np.zeros((), aval.dtype), aval)
        return cx.emit("stablehlo.compare", [x, zero], {"comparison_direction": "#stablehlo<comparison_direction NE>"})
    return cx.emit("stablehlo.convert", [x])


def _convert_jvp(primitive: Primitive, primals: Any, tangents: Any, params: Any) -> Any:
    (x,), (t,) = primals, tangents
    out = primitive(x, **params)
    aval = aval_of(out)
    return out, primitive(t, new_dtype=aval.dtype, weak_type=False) if differentiable(aval) else zero_of(aval)


convert_element_type_p = SinglePrimitive(
    "convert_element_type",
    shape=_convert_shape,
    eval=_convert_eval,
    lower=_convert_lower,
    python=_convert_python,
    jvp=_convert_jvp,
    transpose=lambda ct, x, **params: [convert_element_type(ct, x.aval.dtype)],
    batch=batch_elementwise,
)


def convert_element_type(x: ArrayLike, new_dtype: DTypeLike, weak_type: bool = False) -> Array:
    """Convert each element to `new_dtype`.

    Floats out of an integer dtype's range saturate, NaN becomes 0; complex to
    real drops the imaginary part; to bool is `x != 0`.
    """
    operand = promotable(x)
    dtype = dtypes.canonicalize(new_dtype)
    aval = aval_of(operand)
    if isinstance(operand, Literal) and operand.value.dtype == object:
        found: Array = literal(operand.value.item(), dtype, weak_type)
    elif aval.dtype == dtype and aval.weak_type == weak_type:
        found = operand
    elif isinstance(operand, Literal):
        found = literal(convert_value(operand.value, dtype), dtype, weak_type)
    else:
        found = convert_element_type_p(operand, new_dtype=dtype, weak_type=weak_type)
    return found


def as_array(operand: Operand) -> Array:
    """An operand as an Array or a tracer; NumPy arrays and literals are converted."""
    if isinstance(operand, ArrayOperators):
        return operand
    aval = aval_of(operand)
    return convert_element_type_p(operand, new_dtype=aval.dtype, weak_type=aval.weak_type)


_BITS = dtypes.INTEGER | dtypes.FLOATING


def _bitcast_shape(x: ShapedArray, *, new_dtype: np.dtype[Any]) -> ShapedArray:
    same_bits = dtypes.itemsize_bits(x.dtype) == dtypes.itemsize_bits(new_dtype)
    for dtype in (x.dtype, new_dtype):
        check_dtype("bitcast_convert_type", dtype, _BITS if same_bits else _BITS - dtypes.SUB_BYTE)
    old, new = x.dtype.itemsize, new_dtype.itemsize
    if old == new:
        return ShapedArray.of(x.shape, new_dtype)
    if old > new:
        return ShapedArray.of((*x.shape, old // new), new_dtype)
    if not x.shape or x.shape[-1] != new // old:
        raise location.error(
            errors.ShapeError,
            f"bitcast_convert_type: {x.long()} to {new_dtype.name} needs a last axis of size {new // old}",
            fix=f"reshape so that the last axis holds the parts of one {new_dtype.name}",
        )
    return ShapedArray.of(x.shape[:-1], new_dtype)


def _bitcast_eval(x: Any, *, new_dtype: np.dtype[Any]) -> Any:
    old, new = x.dtype.itemsize, new_dtype.itemsize
    if old == new:
        return x.view(new_dtype)
    x = np.ascontiguousarray(x).reshape(x.shape)
    if old > new:
        return x.reshape(*x.shape, 1).view(new_dtype)
    return x.view(new_dtype).reshape(x.shape[:-1])


def _bitcast_lower(cx: Any, x: Any, *, new_dtype: np.dtype[Any]) -> Any:
    return x if cx.in_avals[0].dtype == new_dtype else cx.emit("stablehlo.bitcast_convert", [x])


bitcast_convert_type_p = SinglePrimitive(
    "bitcast_convert_type",
    shape=_bitcast_shape,
    eval=_bitcast_eval,
    lower=_bitcast_lower,
    jvp=NOT_DIFFERENTIABLE,
    transpose=NOT_LINEAR,
    batch=in_front(),
    follows=lambda avals, out, params: [(0, i) if i < avals[0].ndim else None for i in range(out.ndim)],
)


def bitcast_convert_type(operand: ArrayLike, new_dtype: DTypeLike) -> Array:
    """The bits of each element, read as another dtype.

    Args:
      operand: integer or real floating array.
      new_dtype: where it is narrower, a last axis is added that holds the
        parts of one element, the lowest first; where it is wider, the last
        axis goes.

    Raises:
      ShapeError: a wider dtype, and the last axis does not hold its parts.
      DtypeError: bool or complex on either side.
    """
    return bitcast_convert_type_p(as_operand(operand), new_dtype=dtypes.canonicalize(new_dtype))


# dtype -> bits of exponent and mantissa
_LAYOUT = {
    dtypes.bfloat16: (8, 7),
    dtypes.float16: (5, 10),
    dtypes.float32: (8, 23),
    dtypes.float64: (11, 52),
}


def _reduce_precision_shape(x: ShapedArray, *, exponent_bits: int, mantissa_bits: int) -> ShapedArray:
    check_dtype("reduce_precision", x.dtype, dtypes.FLOATING)
    if exponent_bits < 1 or mantissa_bits < 0:
        raise location.error(
            errors.ShapeError,
            f"reduce_precision: {exponent_bits} exponent bits and {mantissa_bits} mantissa bits",
            fix="give at least one exponent bit, and no negative number",
        )
    return x


def _reduce_precision_eval(x: Any, *, exponent_bits: int, mantissa_bits: int) -> Any:
    width, mantissa = _LAYOUT[x.dtype]
    kind = np.dtype(f"uint{8 * x.dtype.itemsize}")
    bits = np.ascontiguousarray(x).reshape(x.shape).view(kind)
    one = kind.type(1)
    sign = bits & (one << kind.type(width + mantissa))
    size = bits ^ sign
    drop = mantissa - mantissa_bits
    if drop > 0:
        # To nearest, halves to even: add just less than half, and one more where the kept bit is set.
        last = (size >> kind.type(drop)) & one
        size = size + ((one << kind.type(drop - 1)) - one + last)
        size = size & ~((one << kind.type(drop)) - one)
    if exponent_bits < width:
        bias, new_bias = (1 << (width - 1)) - 1, (1 << (exponent_bits - 1)) - 1
        exponent = size >> kind.type(mantissa)
        infinity = kind.type(((1 << width) - 1) << mantissa)
        size = np.where(exponent > bias + new_bias, infinity, size)
        size = np.where(exponent <= bias - new_bias, kind.type(0), size)
    out = (sign | size).astype(kind).view(x.dtype)
    return np.where(np.isnan(x), x, np.where(np.isinf(x), x, out))


def _reduce_precision_lower(cx: Any, x: Any, *, exponent_bits: int, mantissa_bits: int) -> Any:
    width, mantissa = _LAYOUT[cx.in_avals[0].dtype]
    attributes = {
        "exponent_bits": f"{min(exponent_bits, width)} : i32",
        "mantissa_bits": f"{min(mantissa_bits, mantissa)} : i32",
    }
    return cx.emit("stablehlo.reduce_precision", [x], attributes)


# Derivatives are rounded as the values are.
reduce_precision_p: SinglePrimitive = SinglePrimitive(
    "reduce_precision",
    shape=_reduce_precision_shape,
    eval=_reduce_precision_eval,
    lower=_reduce_precision_lower,
    jvp=linear(),
    transpose=lambda ct, x, **params: [reduce_precision_p(ct, **params)],
    batch=batch_elementwise,
)


def reduce_precision(operand: ArrayLike, exponent_bits: int, mantissa_bits: int) -> Array:
    """Round each element to a floating format with fewer bits, and keep the dtype.

    Args:
      operand: real floating array.
      exponent_bits, mantissa_bits: of the format; numbers that overflow it become
        infinite, numbers below its normal ones become 0.
    """
    bits = {"exponent_bits": exponent_bits, "mantissa_bits": mantissa_bits}
    whole = {name: as_int(count, "reduce_precision", name) for name, count in bits.items()}
    return reduce_precision_p(as_operand(operand), **whole)

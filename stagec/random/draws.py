"""Random bits, and uniform and normal numbers, from which other distributions are computed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from stagec.core import dtypes, errors, location
from stagec.core.array import Array, Shape
from stagec.core.dtype_info import finfo
from stagec.numpy.arguments import array_argument, requested_dtype
from stagec.numpy.promotion import broadcast_to_shape, stretches_to
from stagec.primitives import arithmetic as ar, logic, transcendental as tr
from stagec.primitives.axes import as_shape
from stagec.primitives.barrier import stop_gradient
from stagec.primitives.complex import complex
from stagec.primitives.convert import bitcast_convert_type, convert_element_type
from stagec.primitives.iota import full
from stagec.primitives.operand import aval_of, literal
from stagec.primitives.special import erf, erf_inv
from stagec.random.keys import KeyLike, PRNGKeyArray, as_key, encrypted_counter, split_key
from stagec.typing import ArrayLike, DTypeLike

__all__ = ["bits", "normal", "truncated_normal", "uniform"]

_UNSIGNED = {8: dtypes.uint8, 16: dtypes.uint16, 32: dtypes.uint32, 64: dtypes.uint64}


def wanted_dtype(name: str, dtype: Any, kinds: frozenset[np.dtype[Any]], what: str, default: Any = float) -> Any:
    """Return the requested dtype of a draw, after checking it.

    Args:
      kinds: the accepted dtypes.
      what: describes them in an error.
    """
    found = dtypes.canonicalize(default) if dtype is None else requested_dtype(dtype, name)
    if found not in kinds:
        raise location.error(
            errors.DtypeError, f"{name}: dtype must be {what}, got {found.name}", fix=f"leave dtype out, or use {what}"
        )
    return found


def float_dtype(name: str, dtype: Any) -> Any:
    """Return the requested floating dtype of a draw."""
    return wanted_dtype(name, dtype, dtypes.FLOATING - dtypes.SUB_BYTE, "a floating-point dtype")


def drawn_shape(name: str, shape: Any, *parameters: Any) -> tuple[int, ...]:
    """Return the shape of a draw: the requested one, or that of its parameters.

    Raises:
      ShapeError: the parameters do not broadcast to it.
    """
    shapes = [np.shape(p) for p in parameters]
    if shape is None:
        try:
            return np.broadcast_shapes(*shapes)
        except ValueError:
            raise location.error(
                errors.ShapeError,
                f"{name}: parameters of shape {', '.join(map(str, shapes))} do not broadcast",
                fix="reshape one of them; axes are matched from the last, and only size 1 stretches",
            ) from None
    sizes = as_shape(shape, name)
    if not all(stretches_to(s, sizes) for s in shapes):
        raise location.error(
            errors.ShapeError,
            f"{name}: parameters of shape {', '.join(map(str, shapes))} do not broadcast to shape={sizes}",
            fix="give the shape of the result, which includes the axes of the parameters",
        )
    return sizes


def _check_real(name: str, operand: Array) -> None:
    if dtypes.is_complex(operand.dtype):
        raise location.error(
            errors.DtypeError, f"{name}: a parameter is {aval_of(operand).long()}", fix="use real numbers"
        )


def floats(name: str, operand: Array) -> Array:
    """Convert a real parameter to floats."""
    _check_real(name, operand)
    return operand if dtypes.is_float(operand.dtype) else convert_element_type(operand, dtypes.default_float())


def parameter(name: str, value: Any, dtype: Any, shape: tuple[int, ...]) -> Array:
    """Convert a parameter of a distribution to the dtype and shape of the result."""
    operand = array_argument(value, name)
    if not dtypes.is_complex(dtype):
        _check_real(name, operand)
    return broadcast_to_shape(convert_element_type(operand, dtype), shape)


class Draw(NamedTuple):
    """What a draw of floats starts from, in the order in which the functions `draw_...` take it."""

    key: PRNGKeyArray
    shape: tuple[int, ...]
    dtype: Any


def drawing(name: str, key: Any, shape: Any, dtype: Any, *parameters: Any) -> tuple[Draw, list[Array]]:
    """Check and convert a user's arguments: where to start, and the parameters in the result's dtype and shape."""
    wanted = float_dtype(name, dtype)
    sizes = drawn_shape(name, shape, *parameters)
    given = [parameter(name, p, wanted, sizes) for p in parameters]
    return Draw(as_key(name, key), sizes, wanted), given


def mixed(width: int, first: Any, second: Any) -> Array:
    """Combine the two words of encrypted blocks to random bits of a width."""
    dtype = _UNSIGNED[width]
    if width == 64:
        high, low = convert_element_type(first, dtype), convert_element_type(second, dtype)
        return logic.bitwise_or(logic.shift_left(high, literal(32, dtype)), low)
    return convert_element_type(logic.bitwise_xor(first, second), dtype)


def random_bits(key: PRNGKeyArray, width: int, shape: tuple[int, ...]) -> Array:
    """Draw random bits as unsigned integers of a width."""
    return mixed(width, *encrypted_counter(key, shape))


def bits(key: KeyLike, shape: Shape = (), dtype: DTypeLike = None) -> Array:
    """Uniform bits as unsigned integers; uint32 by default, uint64 with 64-bit types.

    The bits are those of `jax.random.bits`, for every shape and dtype.

    >>> from stagec import random
    >>> random.bits(random.key(0), (2,))
    Array([4070199207, 4202968722], dtype=uint32)
    """
    kinds = frozenset(_UNSIGNED.values())
    wanted = wanted_dtype("bits", dtype, kinds, "an unsigned integer dtype", dtypes.canonicalize(dtypes.uint64))
    return random_bits(as_key("bits", key), 8 * wanted.itemsize, as_shape(shape, "bits"))


def mantissa_bits(dtype: Any) -> int:
    """Return the number of random bits that a uniform draw of a dtype uses."""
    return 8 if finfo(dtype).nmant < 8 else 8 * dtype.itemsize


def unit_interval(random: Any, dtype: Any) -> Array:
    """Convert bits to floats in [0, 1), as the mantissa of a number in [1, 2)."""
    wide = _UNSIGNED[8 * dtype.itemsize]
    width = 8 * aval_of(random).dtype.itemsize
    random = convert_element_type(random, wide)
    fraction = logic.shift_right_logical(random, literal(width - finfo(dtype).nmant, wide))
    one = literal(int(np.ones((), dtype).view(wide)), wide)
    return ar.sub(bitcast_convert_type(logic.bitwise_or(fraction, one), dtype), literal(1, dtype))


def scaled(unit: Any, low: Any, high: Any) -> Array:
    """Scale floats in [0, 1) to [low, high)."""
    return ar.max(low, ar.add(ar.mul(unit, ar.sub(high, low)), low))


def draw_uniform(key: PRNGKeyArray, shape: tuple[int, ...], dtype: Any, low: Any = 0.0, high: Any = 1.0) -> Array:
    """As `uniform`, for checked arguments."""
    unit = unit_interval(random_bits(key, mantissa_bits(dtype), shape), dtype)
    if isinstance(low, float) and isinstance(high, float):
        if (low, high) == (0.0, 1.0):
            return unit
        return scaled(unit, literal(low, dtype), literal(high, dtype))
    return scaled(unit, parameter("uniform", low, dtype, shape), parameter("uniform", high, dtype, shape))


def uniform(
    key: KeyLike, shape: Shape = (), dtype: DTypeLike = None, minval: ArrayLike = 0.0, maxval: ArrayLike = 1.0
) -> Array:
    """Uniform floats in [minval, maxval).

    >>> from stagec import random
    >>> random.uniform(random.key(0), (2,), minval=-1.0)
    Array([0.895334  , 0.95715976], dtype=float32)
    """
    wanted = float_dtype("uniform", dtype)
    sizes = drawn_shape("uniform", shape, minval, maxval)
    return draw_uniform(as_key("uniform", key), sizes, wanted, minval, maxval)


def draw_exponential(key: PRNGKeyArray, shape: tuple[int, ...], dtype: Any) -> Array:
    """As `exponential`, for checked arguments."""
    return -tr.log1p(-draw_uniform(key, shape, dtype))


def normal_of(unit: Any, dtype: Any) -> Array:
    """Convert floats in [0, 1) to normal numbers, by the inverse of the distribution function."""
    low = literal(np.nextafter(np.array(-1.0, dtype), np.array(0.0, dtype), dtype=dtype), dtype)
    return ar.mul(erf_inv(scaled(unit, low, literal(1, dtype))), literal(np.sqrt(2.0), dtype))


def draw_normal(key: PRNGKeyArray, shape: tuple[int, ...], dtype: Any) -> Array:
    """As `normal`, for checked arguments."""
    if not dtypes.is_complex(dtype):
        return normal_of(draw_uniform(key, shape, dtype), dtype)
    real = dtypes.real_dtype(dtype)
    keys = split_key(key, (2,))
    parts = [ar.div(draw_normal(k, shape, real), literal(np.sqrt(2.0), real)) for k in keys]
    return complex(*parts)


def normal(key: KeyLike, shape: Shape = (), dtype: DTypeLike = None) -> Array:
    """Numbers of the standard normal distribution; complex numbers have a total variance of 1.

    >>> from stagec import random
    >>> random.normal(random.key(0), (2,)).round(3)
    Array([1.623, 2.025], dtype=float32)
    """
    wanted = wanted_dtype("normal", dtype, dtypes.INEXACT - dtypes.SUB_BYTE, "a floating-point or complex dtype")
    return draw_normal(as_key("normal", key), as_shape(shape, "normal"), wanted)


def truncated_normal(
    key: KeyLike, lower: ArrayLike, upper: ArrayLike, shape: Shape | None = None, dtype: DTypeLike = None
) -> Array:
    """Normal numbers between two bounds.

    >>> from stagec import random
    >>> bool((abs(random.truncated_normal(random.key(0), -2.0, 2.0, (100,))) < 2).all())
    True
    """
    start, (low, high) = drawing("truncated_normal", key, shape, dtype, lower, upper)
    root = literal(np.sqrt(2.0), start.dtype)
    drawn = ar.mul(erf_inv(draw_uniform(*start, erf(ar.div(low, root)), erf(ar.div(high, root)))), root)
    return logic.clamp(_next(low, np.inf, start.dtype), drawn, _next(high, -np.inf, start.dtype))


def _next(bound: Array, towards: float, dtype: Any) -> Array:
    return ar.nextafter(stop_gradient(bound), full(aval_of(bound).shape, literal(towards, dtype)))

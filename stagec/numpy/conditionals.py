"""Elementwise conditionals and comparisons of whole arrays: where, select, piecewise, nan_to_num, allclose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np

from stagec.core import dims, dtypes, errors, location
from stagec.core.array import Array
from stagec.core.dtype_info import finfo
from stagec.core.operators import ArrayOperators
from stagec.numpy.arguments import array_argument
from stagec.numpy.arithmetic import dtype_of
from stagec.numpy.logical import isclose, isfinite, isnan
from stagec.numpy.positions import nonzero
from stagec.numpy.promotion import (
    broadcast_shapes,
    broadcast_to_shape,
    broadcast_together,
    promote,
    promote_dtypes,
    truth,
)
from stagec.numpy.values import array
from stagec.primitives import complex as cplx, logic
from stagec.primitives.checks import check_dtype
from stagec.primitives.convert import as_array, convert_element_type
from stagec.primitives.operand import as_operand, aval_of, literal
from stagec.primitives.reduce import reduce_and
from stagec.typing import ArrayLike, Arrays

__all__ = ["allclose", "array_equal", "array_equiv", "nan_to_num", "piecewise", "select", "where"]


@overload
def where(
    condition: ArrayLike,
    x: None = None,
    y: None = None,
    /,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> tuple[Array, ...]: ...
@overload
def where(condition: ArrayLike, x: ArrayLike, y: ArrayLike, /) -> Array: ...
def where(
    condition: ArrayLike,
    x: ArrayLike | None = None,
    y: ArrayLike | None = None,
    /,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array | tuple[Array, ...]:
    """`x` where the condition is true, `y` elsewhere; all three broadcast together.

    Args:
      condition: bools, or numbers; a number other than 0 counts as true.
      x, y: arrays or numbers. Without both, the result is `nonzero(condition)`.
      size, fill_value: for `nonzero`.

    Raises:
      ShapeError: the operands do not broadcast together.
      ArgumentTypeError: only one of `x` and `y` is given.

    >>> import stagec.numpy as snp
    >>> where(snp.arange(3) > 1, 10, 0).tolist()
    [0, 0, 10]
    """
    if x is None and y is None:
        return nonzero(condition, size=size, fill_value=fill_value)
    if x is None or y is None or size is not None or fill_value is not None:
        raise location.error(
            errors.ArgumentTypeError,
            "where takes a condition and two choices, or a condition alone",
            fix="write where(condition, x, y), or where(condition) with size and fill_value",
        )
    test = truth(as_operand(condition, "where's condition"))
    test, x, y = broadcast_together("where", [test, *promote_dtypes(x, y)])
    return logic.select(test, x, y)


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: ArrayLike = 0) -> Array:
    """For each element, the choice whose condition is the first to be true.

    Args:
      condlist: bool arrays.
      choicelist: as many arrays; all broadcast together.
      default: the value where no condition is true.

    Raises:
      ShapeError: the lists differ in length, or are empty.

    >>> select([np.array([True, False])], [np.array([1, 2])], 9).tolist()
    [1, 9]
    """
    if len(condlist) != len(choicelist) or not condlist:
        raise location.error(
            errors.ShapeError,
            f"select: {len(condlist)} conditions for {len(choicelist)} choices",
            fix="give one choice for each condition, and at least one",
        )
    *choices, out = promote_dtypes(*choicelist, default)
    shape = broadcast_shapes(*[aval_of(as_operand(v)).shape for v in (*condlist, *choices, out)])
    out = broadcast_to_shape(out, shape)
    for condition, choice in zip(reversed(condlist), reversed(choices)):
        out = where(condition, choice, out)
    return out


def piecewise(x: ArrayLike, condlist: Arrays, funclist: Sequence[Any], *args: Any, **kw: Any) -> Array:
    """Values of the function whose condition is the last to be true, as in NumPy.

    Args:
      x: floating or integer array; the result has its shape and dtype.
      condlist: bool arrays of the shape of `x`, or one of them.
      funclist: a function of an array, or a number, for each condition; one
        more is the default, otherwise 0.
      args, kw: passed to the functions. Each is evaluated on all of `x`.

    Raises:
      ShapeError: the number of functions does not fit the conditions.

    >>> piecewise(np.array([-1.0, 2.0]), [np.array([True, False])], [lambda v: -v, 5.0]).round(3).tolist()
    [1.0, 5.0]
    """
    x = as_operand(x, "piecewise's argument")
    if isinstance(condlist, (ArrayOperators, np.ndarray)):
        # A vector is a list of scalar conditions, unless it has the shape of `x`.
        several = condlist.ndim > aval_of(x).ndim or (condlist.ndim == 1 and condlist.shape != aval_of(x).shape)
        condlist = list(condlist) if several else [condlist]
    conditions = [as_operand(c) for c in condlist]
    functions = list(funclist)
    if len(functions) == len(conditions):
        functions.append(0)
    if len(functions) != len(conditions) + 1:
        raise location.error(
            errors.ShapeError,
            f"piecewise: {len(funclist)} functions for {len(conditions)} conditions",
            fix="give one function for each condition, and at most one more as the default",
        )
    aval = aval_of(x)

    def value(function: Callable[..., Any] | Any) -> Array:
        out = function(as_array(x), *args, **kw) if callable(function) else function
        return convert_element_type(as_operand(out), aval.dtype)

    out = broadcast_to_shape(value(functions[-1]), aval.shape)
    for condition, function in zip(conditions, functions):
        out = where(condition, value(function), out)
    return as_array(out)


def nan_to_num(
    x: ArrayLike,
    copy: bool = True,
    nan: ArrayLike = 0.0,
    posinf: ArrayLike | None = None,
    neginf: ArrayLike | None = None,
) -> Array:
    """`x` with NaN and infinities replaced.

    Args:
      x: any numbers; integers are returned unchanged.
      copy: accepted and ignored; arrays are immutable.
      nan: what replaces NaN.
      posinf, neginf: what replaces the infinities; by default the largest and
        the smallest finite number.

    >>> round(float(nan_to_num(float('nan'), nan=7.0)), 4)
    7.0
    """
    x = array_argument(x, "nan_to_num's argument")
    dtype = dtype_of(x)
    check_dtype("nan_to_num", dtype, dtypes.ALL)
    if not dtypes.is_inexact(dtype):
        return as_array(x)
    if dtypes.is_complex(dtype):
        parts = [nan_to_num(part(x), copy, nan, posinf, neginf) for part in (cplx.real, cplx.imag)]
        return cplx.complex(*parts)
    info = finfo(dtype)
    high = float(info.max) if posinf is None else posinf
    low = float(info.min) if neginf is None else neginf
    nan, high, low = (convert_element_type(as_operand(v), dtype) for v in (nan, high, low))
    infinite = where(logic.gt(x, 0), high, low)
    return where(isfinite(x), x, where(isnan(x), nan, infinite))


def allclose(
    a: ArrayLike, b: ArrayLike, rtol: ArrayLike = 1e-5, atol: ArrayLike = 1e-8, equal_nan: bool = False
) -> Array:
    """Whether all elements are close in the sense of `isclose`.

    >>> bool(allclose(1.0, 1.1))
    False
    """
    x, y = promote("allclose", a, b)
    return _all(isclose(x, y, rtol, atol, equal_nan))


def _all(x: Array) -> Array:
    return reduce_and(x, tuple(range(aval_of(x).ndim)))


def _as_array(a: Any, name: str) -> Array:
    return array(a) if isinstance(a, (list, tuple)) else as_operand(a, f"{name}'s argument")


def array_equal(a1: ArrayLike | Sequence[Any], a2: ArrayLike | Sequence[Any], equal_nan: bool = False) -> Array:
    """Whether two arrays have one shape and equal elements.

    Args:
      a1, a2: arrays, numbers, or lists of them.
      equal_nan: NaN equals NaN.

    >>> bool(array_equal(np.arange(3), np.arange(3)))
    True
    """
    x, y = (_as_array(v, "array_equal") for v in (a1, a2))
    shape, other = aval_of(x).shape, aval_of(y).shape
    if len(shape) != len(other) or not all(map(dims.equal, shape, other)):
        return as_array(literal(False, dtypes.bool_))
    same = logic.eq(*promote("array_equal", x, y))
    if equal_nan:
        same = logic.bitwise_or(same, logic.bitwise_and(isnan(x), isnan(y)))
    return _all(same)


def array_equiv(a1: ArrayLike | Sequence[Any], a2: ArrayLike | Sequence[Any]) -> Array:
    """Whether two arrays broadcast together and have equal elements then.

    >>> bool(array_equiv(np.ones((2, 3)), np.ones(3)))
    True
    """
    x, y = (_as_array(v, "array_equiv") for v in (a1, a2))
    shape, other = aval_of(x).shape, aval_of(y).shape
    try:
        broadcast_shapes(shape, other)
    except errors.ShapeError:
        # Open sizes that may fit at a call are an error.
        fits = [dims.equal(m, n) or dims.equal(m, 1) or dims.equal(n, 1) for m, n in zip(shape[::-1], other[::-1])]
        assert not all(fits), "shapes of known sizes that fit broadcast"
        return as_array(literal(False, dtypes.bool_))
    return _all(logic.eq(*broadcast_together("array_equiv", promote_dtypes(x, y))))

"""`stagec.numpy`: functions of elements."""

from __future__ import annotations

import numpy as np

from function_rows.drawing import Call, Draw, call
from function_rows.row import Row, binary, plain, promoted, unary


def _floor_divide(x, y):
    """The array API standard's where an operand is infinite: the quotient."""
    if np.result_type(x, y).kind != "f":
        # By 0: all bits set, and one less where the dividend has a sign, as in JAX.
        least = np.array(-1).astype(x.dtype) - ((x != 0) & (x.dtype.kind == "i"))
        return np.where(y == 0, least, np.floor_divide(x, y))
    return np.where(np.isinf(x) | np.isinf(y), np.floor(x / y), np.floor_divide(x, y))


def _divmod(s: Draw) -> Call:
    shape, kind = s.shape(), s.kind("iuf")
    low = 1 if kind.kind in "iu" else 0.5
    return call(s.array(shape, kind, 0 if kind.kind == "u" else -6, 6), s.array(s.broadcast(shape), kind, low, 4))


def _shifts(s: Draw) -> Call:
    shape, kind = s.shape(), s.kind("iu")
    return call(s.array(shape, kind), s.array(s.broadcast(shape), kind, 0, kind.itemsize * 8 - 1))


def _exponents(s: Draw) -> Call:
    shape = s.shape()
    return call(s.array(shape, s.kind("f")), s.array(s.broadcast(shape), s.kind("i"), -8, 8))


def _powers(s: Draw) -> Call:
    shape = s.shape()
    kind = s.kind("iufc")
    if kind.kind in "iu":
        return call(s.array(shape, kind, -3 if kind.kind == "i" else 0, 3), s.array(s.broadcast(shape), kind, 0, 3))
    return call(s.array(shape, kind, 0.3, 3.0), s.array(s.broadcast(shape), kind, -2, 2))


def _float_powers(s: Draw) -> Call:
    shape = s.shape()
    return call(s.array(shape, s.kind("iuf"), 1, 3), s.array(s.broadcast(shape), s.kind("iuf"), 0, 3))


def _clip(s: Draw) -> Call:
    shape, kind = s.shape(), s.kind("iuf")
    low, high = s.array(s.broadcast(shape), kind, 0, 2), s.array(s.broadcast(shape), kind, 3, 4)
    return s.one_of(
        call(s.array(shape, kind), low, high),
        call(s.array(shape, kind), 0, 2),
        call(s.array(shape, kind), min=low),
        call(s.array(shape, kind), None, 3),
    )


def _decimals(s: Draw) -> Call:
    kind = s.kind("fc")
    return (
        call(s.array(s.shape(), kind, edges=False), s.whole(0, 2))
        if s.chance(0.7)
        else call(s.array(s.shape(), s.kind("iu")))
    )


def _nan_to_num(s: Draw) -> Call:
    x = s.array(s.shape(), s.kind("iufc"))
    return s.one_of(call(x), call(x, nan=1.0), call(x, True, 2.0, 3.0, -3.0))


def _close(s: Draw) -> Call:
    shape, kind = s.shape(), s.kind("biufc")
    x, y = s.array(shape, kind), s.array(s.broadcast(shape), kind)
    return s.one_of(call(x, y), call(x, y, rtol=0.1, atol=0.5), call(x, y, equal_nan=True), call(x, x))


def _three(s: Draw) -> Call:
    shape, kind = s.shape(), s.kind()
    other = kind if s.smooth else s.one_of(kind, s.kind())
    return call(s.array(s.broadcast(shape), "bool"), s.array(shape, kind), s.array(s.broadcast(shape), other))


def _where(c, x, y):
    common = np.promote_types(x.dtype, y.dtype)
    return np.where(c, x.astype(common), y.astype(common))


def _select(s: Draw) -> Call:
    shape, kind = s.shape(), s.kind("if")
    count = s.whole(1, 3)
    conditions = [s.array(s.broadcast(shape), "bool") for _ in range(count)]
    return call(conditions, [s.array(shape, kind) for _ in range(count)], s.whole(0, 2))


def _interp(s: Draw) -> Call:
    n = s.whole(1, 5)
    xp = np.cumsum(s.values.uniform(0.5, 1.5, n)) - 2
    kind = s.kind("f")
    options = {} if s.smooth or s.chance(0.6) else {"left": -7.0, "right": 9.0}
    return call(s.array(s.shape(), kind, -3, 5), xp.astype(kind), s.array((n,), kind, -2, 2), **options)


def _pieces(s: Draw) -> Call:
    x = s.array(s.shape(empty=False), s.kind("f"))
    return call(x, [x < -1, x > 1], [np.negative, np.square, 2.0])


def _equal(s: Draw) -> Call:
    shape, kind = s.shape(), s.kind()
    x = s.array(shape, kind, edges=False)
    return s.one_of(call(x, x.copy()), call(x, s.array(shape, kind)))


def _frexp(x):
    return np.frexp(x)


FLAT = "ceil floor trunc rint fix sign signbit isnan isinf isfinite logical_not".split()
ROWS = [
    *unary("numpy", "sin cos arctan atan sinh cosh tanh arcsinh asinh exp", inexact=True),
    *unary("numpy", "tan", inexact=True, loose=8),
    *unary("numpy", "expm1 exp2", inexact=True, loose=2),
    *unary("numpy", "arcsin asin arccos acos arctanh atanh", low=-0.9, high=0.9, inexact=True, loose=4),
    *unary("numpy", "arccosh acosh", low=1.2, high=4, inexact=True, loose=4),
    *unary("numpy", "log log2 log10 log1p sqrt", low=0.3, high=4, inexact=True, loose=2),
    *unary("numpy", "cbrt deg2rad rad2deg degrees radians i0", "biuhf", inexact=True, low=0.3, high=3),
    Row("numpy.sinc", lambda s: call(s.array(s.shape(), s.kind("biuf"), edges=False)), promoted(np.sinc, True)),
    *unary("numpy", "isinf isfinite isnan logical_not iscomplex isreal"),
    *unary("numpy", "isneginf isposinf signbit", "biuhf"),
    *unary("numpy", "ceil floor trunc fix", "biuhf"),
    *unary("numpy", "rint", "biuhfc", inexact=True),
    *unary("numpy", "square", "iuhfc", note="of bool, JAX has int32 under 64 bits too; here it is the default integer"),
    *unary("numpy", "abs absolute negative positive conj conjugate real imag"),
    *unary("numpy", "fabs", "biuhf", inexact=True),
    *unary("numpy", "sign", "iuhf"),
    *unary("numpy", "angle", "iufc", inexact=True, note="half floats: NumPy's angle has no loop"),
    *unary("numpy", "reciprocal", "hfc", low=0.3, high=3, loose=2),
    *unary("numpy", "spacing", "f", derivative="refused"),
    *unary("numpy", "invert bitwise_not bitwise_invert", "biu"),
    *unary("numpy", "bitwise_count", "iu"),
    *unary("numpy", "modf", "biuf", inexact=True),
    *unary("numpy", "frexp", "f"),
    *binary("numpy", "add subtract multiply maximum minimum fmax fmin"),
    *binary("numpy", "divide true_divide", inexact=True, low=0.3, high=3, loose=2),
    *binary("numpy", "equal not_equal"),
    *binary("numpy", "less less_equal greater greater_equal", "biuhf"),
    *binary("numpy", "logical_and logical_or logical_xor"),
    *binary("numpy", "bitwise_and bitwise_or bitwise_xor", "biu"),
    *binary("numpy", "arctan2 atan2 hypot copysign", "biuhf", inexact=True, low=0.3, high=3),
    *binary("numpy", "logaddexp logaddexp2", "biuhf", inexact=True),
    *binary("numpy", "heaviside", "biuhf", inexact=True),
    *binary("numpy", "nextafter", "f", derivative="refused"),
    *binary("numpy", "gcd lcm", "iu"),
    *binary("numpy", "fmod", "iuf"),
    *binary("numpy", "remainder mod", "iuf"),
    Row("numpy.divmod", _divmod, promoted(np.divmod)),
    Row("numpy.floor_divide", binary("x", "y", "iuf").__next__().draw, promoted(_floor_divide)),
    *(
        Row(f"numpy.{name}", _shifts, getattr(np, name))
        for name in ("left_shift", "right_shift", "bitwise_left_shift", "bitwise_right_shift")
    ),
    Row("numpy.ldexp", _exponents, np.ldexp),
    *(Row(f"numpy.{name}", _powers, promoted(getattr(np, name)), loose=4) for name in ("power", "pow")),
    Row("numpy.float_power", _float_powers, promoted(np.float_power), loose=4),
    Row("numpy.clip", _clip, np.clip),
    Row("numpy.round", _decimals, np.round),
    Row("numpy.around", _decimals, np.around),
    Row("numpy.nan_to_num", _nan_to_num, np.nan_to_num),
    Row("numpy.isclose", _close, np.isclose),
    Row("numpy.allclose", _close, np.allclose),
    Row("numpy.where", _three, plain(_where)),
    Row("numpy.select", _select, np.select),
    Row("numpy.interp", _interp, np.interp),
    Row("numpy.array_equal", _equal, np.array_equal),
    Row("numpy.array_equiv", _equal, np.array_equiv),
]

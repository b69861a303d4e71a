"""`stagec.lax`: operations on elements, whose operands agree in dtype."""

from __future__ import annotations

import numpy as np
from scipy import special

from function_rows.drawing import Call, Draw, call
from function_rows.row import Row, binary, plain, promoted, unary


def same(name: str, numpy_name: str, kinds: str, **options) -> Row:
    row = next(unary("lax", "abs", kinds, low=options.pop("low", None), high=options.pop("high", None)))
    return Row(f"lax.{name}", row.draw, promoted(getattr(np, numpy_name)), **options)


def two(name: str, numpy_name: str, kinds: str, **options) -> Row:
    row = next(binary("lax", "add", kinds, options.pop("low", None), options.pop("high", None), mixed=False))
    return Row(f"lax.{name}", row.draw, promoted(getattr(np, numpy_name)), **options)


LOOPS = "igamma igammac betainc zeta polygamma".split()


def _special(name: str, draw, scipy_name: str = "", **options) -> Row:
    function = special and getattr(special, scipy_name or name)
    return Row(f"lax.{name}", draw, function and plain(function), **{"loose": 20.0, "costly": name in LOOPS, **options})


def floats(low: float, high: float, count: int = 1):
    def draw(s: Draw) -> Call:
        shape, kind = s.shape(), s.kind("f")
        return call(*(s.array(shape, kind, low, high) for _ in range(count)))

    return draw


def _div(x, y):
    if x.dtype.kind in "iu":
        exact = np.where(y == 0, 1, y).astype(object)
        quotient = np.array(
            [
                int(abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1)
                for a, b in zip(x.astype(object).flat, exact.flat)
            ],
            object,
        )
        out = quotient.reshape(x.shape)
        return np.where(y == 0, np.array(-1).astype(x.dtype), out.astype(x.dtype))
    return x / y


def _small_ints(s: Draw) -> Call:
    shape, kind = s.shape(), s.kind("iu")
    return call(s.array(shape, kind, -5 if kind.kind == "i" else 0, 5), s.array(shape, kind, 1, 4))


def _divisions(s: Draw) -> Call:
    if s.smooth or s.chance(0.6):
        shape, kind = s.shape(), s.kind("fc")
        return call(s.array(shape, kind, 0.5, 2), s.array(shape, kind, 0.5, 2))
    return _small_ints(s)


def _coefficients(s: Draw) -> Call:
    shape, kind = s.shape(), s.kind("fc")
    numbers = [s.array(s.one_of((), shape), kind, -1, 1) for _ in range(s.whole(1, 4))]
    return call(s.array(shape, kind, -1, 1), numbers if s.chance(0.7) else s.array((20,), kind, -1, 1))


def _polynomial(x, coeffs):
    return sum(c * x**i for i, c in enumerate(coeffs)).astype(x.dtype) + np.zeros(x.shape, x.dtype)


def _select(s: Draw) -> Call:
    shape, kind, n = s.shape(), s.kind(), s.whole(2, 3)
    which = s.array(shape, "bool") if n == 2 else s.index(n, shape, False)
    return call(which, *(s.array(shape, kind) for _ in range(n)))


def _chosen(which, *cases):
    return np.choose(which.astype(int), cases)


def _clamp(s: Draw) -> Call:
    shape, kind = s.shape(), s.kind("iuf")
    return call(s.array((), kind, 0, 1), s.array(shape, kind), s.array(s.one_of((), shape), kind, 2, 4))


def _clamped(low, x, high):
    return np.minimum(np.maximum(x, low), high)


def _power(s: Draw) -> Call:
    shape, kind = s.shape(), s.kind("fc")
    return call(s.array(shape, kind, 0.4, 2), s.array(shape, kind, -2, 2))


def _integer_power(s: Draw) -> Call:
    kind = s.kind("ifc")
    return call(
        s.array(s.shape(), kind, 0.5 if kind.kind in "fc" else -3, 2), s.whole(-3 if kind.kind in "fc" else 0, 4)
    )


def _convert(s: Draw) -> Call:
    x = s.array(s.shape(), s.kind("biuhf"), edges=False)
    return call(
        x,
        "float64"
        if s.smooth
        else s.one_of("int32", "float32", "int16", "bool", "complex64", "uint8" if x.dtype.kind == "u" else "int8"),
    )


def _bitcast(s: Draw) -> Call:
    kind = s.one_of("int32", "uint32", "float32", "int16", "uint8")
    return call(
        s.array(s.shape(), kind),
        {"int32": "float32", "uint32": "int32", "float32": "int32", "int16": "uint16", "uint8": "int8"}[kind],
    )


def _shift(name: str):
    def draw(s: Draw) -> Call:
        shape, kind = s.shape(), s.kind("iu")
        return call(s.array(shape, kind), s.array(shape, kind, 0, kind.itemsize * 8 + 1))

    def oracle(x, count):
        bits = x.dtype.itemsize * 8
        value = x.astype(object)
        unsigned = np.array([int(v) % 2**bits for v in value.flat], object).reshape(x.shape)
        c = count.astype(object)
        if name == "left":
            out = (unsigned * 2 ** np.minimum(c, bits)) % 2**bits
        elif name == "logical":
            out = unsigned // 2 ** np.minimum(c, bits)
        else:
            signed = np.array([int(v) - 2**bits * (int(v) >> (bits - 1)) for v in unsigned.flat], object).reshape(
                x.shape
            )
            out = np.array([int(a) // 2 ** int(min(b, bits)) for a, b in zip(signed.flat, c.flat)], object).reshape(
                x.shape
            )
        return (
            np.array([int(v) % 2**bits for v in np.asarray(out, object).flat], f"u{bits // 8}")
            .reshape(x.shape)
            .view(x.dtype)
        )

    return draw, oracle


def _clz(x):
    bits = x.dtype.itemsize * 8
    return np.array([bits - (int(v) % 2**bits).bit_length() for v in x.flat], x.dtype).reshape(x.shape)


def _mulhi(x, y):
    bits = x.dtype.itemsize * 8
    return np.array([(int(a) * int(b)) >> bits for a, b in zip(x.flat, y.flat)], x.dtype).reshape(x.shape)


def _reduce_precision(s: Draw) -> Call:
    return call(s.array(s.shape(), "float32"), 5, 10)


def _as_half(x, exponent, mantissa):
    return x.astype(np.float16).astype(x.dtype)


def _rounded(s: Draw) -> Call:
    return call(s.array(s.shape(), s.kind("f")), s.one_of(0, 1))


def _round(x, method):
    return np.rint(x) if method == 1 else np.trunc(x + np.copysign(np.where(abs(x) < 2**22, 0.5, 0), x))


def _complex_parts(s: Draw) -> Call:
    shape, kind = s.shape(), s.kind("f")
    return call(s.array(shape, kind), s.array(shape, kind))


def _orders(low: float, high: float):
    def draw(s: Draw) -> Call:
        shape, kind = s.shape(), s.kind("f")
        return call(s.values.integers(1, 4, shape).astype(kind), s.array(shape, kind, low, high))

    return draw


COMPARISONS = {
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
}
SHIFTS = {"shift_left": "left", "shift_right_logical": "logical", "shift_right_arithmetic": "arithmetic"}
ROWS = [
    *unary("lax", "sin cos tan asinh sinh cosh tanh exp expm1 exp2 atan", "hfc", loose=8),
    *unary("lax", "asin acos atanh", "hfc", low=-0.9, high=0.9, loose=8),
    *unary("lax", "acosh", "fc", low=1.2, high=4, loose=4),
    *unary("lax", "log log1p log2 sqrt", "hfc", low=0.3, high=4, loose=4),
    *unary("lax", "cbrt", "hf", low=0.3, high=3),
    *unary("lax", "ceil floor", "hf"),
    *unary("lax", "abs", "ihfc"),
    *unary("lax", "square", "iuhfc"),
    *unary("lax", "conj real imag", "c"),
    *unary("lax", "sign", "iuhf"),
    *unary("lax", "reciprocal", "fc", low=0.3, high=3),
    same("neg", "negative", "iuhfc"),
    same("is_finite", "isfinite", "hf"),
    same("bitwise_not", "invert", "biu"),
    same("population_count", "bitwise_count", "u"),
    *binary("lax", "add", "iuhfc", mixed=False),
    *(two(o, n, "iuhfc") for o, n in {"sub": "subtract", "mul": "multiply"}.items()),
    *(two(o, n, "biuhf") for o, n in {"max": "maximum", "min": "minimum"}.items()),
    *(two(o, n, "biuf") for o, n in COMPARISONS.items()),
    *(two(o, o, "biu") for o in ("bitwise_and", "bitwise_or", "bitwise_xor")),
    two("atan2", "arctan2", "hf", low=0.3, high=3),
    two("nextafter", "nextafter", "f", derivative="refused"),
    Row("lax.rem", _divisions, np.fmod),
    Row("lax.div", _divisions, _div),
    Row("lax.pow", _power, plain(np.power), loose=4),
    Row("lax.integer_pow", _integer_power, np.power, loose=4),
    Row("lax.rsqrt", floats(0.3, 4), lambda x: 1 / np.sqrt(x)),
    Row("lax.logistic", floats(-5, 5), lambda x: 1 / (1 + np.exp(-x))),
    Row(
        "lax.select",
        lambda s: call(s.array(shape := s.shape(), "bool"), s.array(shape, kind := s.kind()), s.array(shape, kind)),
        np.where,
    ),
    Row("lax.select_n", _select, _chosen),
    Row("lax.clamp", _clamp, _clamped),
    Row("lax.convert_element_type", _convert, lambda x, dtype: x.astype(dtype)),
    Row("lax.bitcast_convert_type", _bitcast, lambda x, dtype: x.view(dtype)),
    *(Row(f"lax.{name}", *_shift(kind)) for name, kind in SHIFTS.items()),
    Row("lax.clz", lambda s: call(s.array(s.shape(), s.kind("iu"))), _clz),
    Row(
        "lax.mulhi",
        lambda s: call(s.array(shape := s.shape(), kind := s.kind("iu")), s.array(shape, kind)),
        _mulhi,
    ),
    Row("lax.reduce_precision", _reduce_precision, _as_half, derivative="that of the identity"),
    Row("lax.round", _rounded, _round),
    Row("lax.complex", _complex_parts, lambda x, y: x + 1j * y),
    Row("lax.stop_gradient", lambda s: call(s.array(s.shape(), s.kind())), lambda x: x, derivative="zero"),
    Row("lax.optimization_barrier", lambda s: call(s.array(s.shape(), s.kind())), lambda x: x),
    Row(
        "lax.one_minus_square", next(unary("lax", "abs", "iuhfc")).draw, promoted(lambda x: (1 + x) * (1 - x)), loose=4
    ),
    Row("lax.polynomial", _coefficients, _polynomial, loose=30),
    _special("erf", floats(-3, 3)),
    _special("erfc", floats(-3, 3)),
    _special("erf_inv", floats(-0.9, 0.9), "erfinv"),
    _special("lgamma", floats(0.3, 8), "gammaln"),
    _special("digamma", floats(0.3, 8), "psi"),
    _special("bessel_i0e", floats(-6, 6), "i0e"),
    _special("bessel_i1e", floats(-6, 6), "i1e"),
    _special("igamma", floats(0.4, 6, 2), "gammainc"),
    _special("igammac", floats(0.4, 6, 2), "gammaincc"),
    _special("betainc", floats(0.1, 0.9, 3), fixed=(0, 1)),
    _special("zeta", floats(1.5, 5, 2), fixed=(0,)),
    _special("polygamma", _orders(0.5, 4), loose=60, fixed=(0,)),
    Row("lax.igamma_grad_a", floats(0.5, 4, 2), loose=100, costly=True),
    Row("lax.random_gamma_grad", floats(0.5, 4, 2), loose=100, costly=True),
]

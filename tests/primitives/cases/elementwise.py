"""Cases of the rows that work on each element alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from cases import (
    ALL,
    BFLOAT16,
    BOOL,
    COMPLEX,
    FLOATS,
    INTEGERS,
    SIGNED,
    Case,
    edges,
    pairs,
    sample,
)
from stagec.runtime.devices import devices
from stagec.runtime.mesh import Axes, Mesh, PartitionSpec

WIDE_FLOATS = [np.dtype("float32"), np.dtype("float64")]
NUMERIC = [*INTEGERS, *FLOATS, *COMPLEX]
CASES: list[Case] = []


def unary(name: str, dtypes: Any, ulps: float = 0, low: float = -3.0, high: float = 3.0, **more: Any) -> None:
    for dtype in dtypes:
        CASES.append(Case(name, [sample((3, 5), dtype, low=low, high=high)], ulps=ulps, **more))


def at_edges(name: str, dtypes: Any, ulps: float = 0, **more: Any) -> None:
    CASES.extend(Case(name, [edges(dtype)], ulps=ulps, **more) for dtype in dtypes)


def binary(name: str, dtypes: Any, ulps: float = 0, **more: Any) -> None:
    for dtype in dtypes:
        CASES.append(Case(name, pairs(edges(dtype)), ulps=ulps, **more))
        CASES.append(Case(name, [sample((2, 3), dtype, 1), sample((), dtype, 2)], ulps=ulps, **more))


# Arithmetic.
for name in ("neg", "sign", "abs", "square"):
    unary(name, NUMERIC, ulps=2)
    at_edges(name, [*INTEGERS, *FLOATS])
unary("one_minus_square", [*INTEGERS, *FLOATS, *COMPLEX], ulps=4)
at_edges("one_minus_square", [*INTEGERS, *FLOATS], ulps=2)
for name in ("add", "sub", "mul"):
    binary(name, [*INTEGERS, *FLOATS])
    binary(name, COMPLEX, ulps=4)
binary("div", [*INTEGERS, *FLOATS], ulps=1)
CASES.extend(Case("div", [sample((7,), d, 1), sample((7,), d, 2, 1.0, 4.0)], ulps=16) for d in COMPLEX)
binary("rem", [*INTEGERS, *FLOATS])
for name in ("max", "min"):
    binary(name, [BOOL, *INTEGERS, *FLOATS])
for name in ("sqrt", "rsqrt"):
    unary(name, FLOATS, 2, low=0.0)
    unary(name, COMPLEX, 64)
    at_edges(name, FLOATS, 2)
unary("cbrt", FLOATS, 4)
at_edges("cbrt", [np.dtype("float32")], 4)
CASES.extend(Case("pow", [sample((9,), d, 1, 0.1, 3), sample((9,), d, 2)], ulps=16) for d in FLOATS)
CASES.extend(Case("pow", [sample((9,), d, 1), sample((9,), d, 2)], ulps=64, atol=1e-5) for d in COMPLEX)
for exponent in (-2, -1, 0, 1, 2, 3, 7):
    for dtype in [*FLOATS, np.dtype("complex64"), *([] if exponent < 0 else [np.dtype("int8"), np.dtype("uint32")])]:
        CASES.append(Case("integer_pow", [sample((5,), dtype, 1, 1, 2)], {"y": exponent}, ulps=16))
for name in ("floor", "ceil"):
    unary(name, FLOATS)
    at_edges(name, FLOATS)
for method in (0, 1):
    for dtype in FLOATS:
        CASES.append(Case("round", [edges(dtype)], {"rounding_method": method}))
binary("nextafter", FLOATS)
CASES.extend(Case("gcd", pairs(sample((6,), d, 1, -90, 90), sample((5,), d, 2, 0, 120))) for d in INTEGERS)

# Comparisons, bits, choices.
for name in ("eq", "ne"):
    binary(name, ALL)
for name in ("lt", "le", "gt", "ge"):
    binary(name, [BOOL, *INTEGERS, *FLOATS])
unary("not", [BOOL, *INTEGERS])
for name in ("and", "or", "xor"):
    binary(name, [BOOL, *INTEGERS])
for name in ("shift_left", "shift_right_logical", "shift_right_arithmetic"):
    for dtype in INTEGERS:
        CASES.append(Case(name, pairs(edges(dtype), np.array([0, 1, 3, 7, 8, 31, 32, 64, 100], dtype))))
    CASES.append(Case(name, [edges("int32"), np.int32(-1)]))
for name in ("population_count", "clz"):
    at_edges(name, INTEGERS)
at_edges("is_finite", FLOATS)
for dtype in ALL:
    CASES.append(Case("select_n", [sample((4,), BOOL), sample((4,), dtype, 1), sample((), dtype, 2)]))
CASES.append(Case("select_n", [np.bool_(True), sample((4,), "float32", 1), sample((4,), "float32", 2)]))
CASES.append(Case("select_n", [np.array([-1, 0, 1, 2, 9], np.int32), *[sample((5,), "int16", i) for i in range(3)]]))
CASES.append(Case("select_n", [np.array([0, 1], np.int32), *[sample((2,), "int16", i) for i in range(2)]]))
for dtype in [*INTEGERS, *FLOATS]:
    CASES.append(Case("clamp", [np.asarray(1, dtype), edges(dtype), np.asarray(3, dtype)]))

# Exponentials, logarithms, trigonometry.
for name in ("exp", "exp2", "expm1", "log1p", "logistic", "sin", "cos", "tan", "tanh", "atan", "sinh", "cosh", "asinh"):
    low = -0.9 if name == "log1p" else -3.0
    unary(name, FLOATS, 8, low=low)
    unary(name, COMPLEX, 256, low=-0.9)
unary("log", FLOATS, 4, low=0.1)
unary("log", COMPLEX, 64)
for name in ("asin", "acos", "atanh"):
    unary(name, FLOATS, 16, low=-0.95, high=0.95)
    unary(name, COMPLEX, 256)
unary("acosh", FLOATS, 16, low=1.1)
unary("acosh", COMPLEX, 256)
# Beyond about 1e6 the compiled sine of float32 loses its meaning.
unary("sin", WIDE_FLOATS, 64, low=-9e4, high=9e4, atol=1e-6)
for name in ("exp", "log", "tanh", "logistic", "expm1", "log1p", "atan", "sqrt"):
    at_edges(name, WIDE_FLOATS, 4)
binary("atan2", FLOATS, 4)

# Special functions.
for name in ("erf", "erfc", "lgamma", "digamma", "bessel_i0e", "bessel_i1e"):
    unary(name, FLOATS, 64, low=0.2, high=9.0)
    unary(name, WIDE_FLOATS, 128, low=-4.0, atol=1e-5)
unary("erf_inv", FLOATS, 64, low=-0.95, high=0.95)
for dtype in FLOATS:
    orders = np.array([0, 1, 2, 3, 5]).astype(dtype)
    CASES.append(Case("polygamma", [orders, sample((5,), dtype, 1, 0.5, 4.0)], ulps=128))
    CASES.append(Case("zeta", [np.array([1.5, 2, 3, 4, 6]).astype(dtype), sample((5,), dtype, 1, 0.5, 4.0)], ulps=128))

# Complex numbers.
for dtype in WIDE_FLOATS:
    CASES.append(Case("complex", [edges(dtype), sample(edges(dtype).shape, dtype)]))
    CASES.append(Case("complex", [sample((3,), dtype), sample((), dtype, 1)]))
for name in ("real", "imag", "conj"):
    unary(name, COMPLEX)

# Conversions.
for source in ALL:
    for target in ALL:
        if source.kind == "c" and target.kind != "c" and target != BOOL:
            values = np.real(edges(source)).astype(source)
        else:
            values = edges(source)
        CASES.append(Case("convert_element_type", [values], {"new_dtype": target, "weak_type": False}))
for dtype in [*INTEGERS, *FLOATS]:
    for other in [*SIGNED, BFLOAT16, *WIDE_FLOATS]:
        count = max(1, other.itemsize // dtype.itemsize)
        bits = sample((3, count), "uint8" if dtype.itemsize == 1 else f"uint{8 * dtype.itemsize}", 1, 0, 120)
        if dtype.itemsize > other.itemsize or count == 1:
            bits = bits.reshape(3)
        CASES.append(Case("bitcast_convert_type", [bits.view(dtype)], {"new_dtype": other}))
for dtype in FLOATS:
    for exponent, mantissa in ((5, 10), (8, 7), (8, 23), (4, 3)):
        params = {"exponent_bits": exponent, "mantissa_bits": mantissa}
        CASES.append(Case("reduce_precision", [sample((20,), dtype, 3, -300, 300)], params))
        CASES.append(Case("reduce_precision", [edges(dtype)], params))
unary("stop_gradient", ALL)
unary("optimization_barrier", ALL)
_SPEC = Axes.of(PartitionSpec("x"), 2)
_MESH = Mesh(np.array(devices("cpu")[:1]), ("x",))
for dtype in ALL:
    CASES.append(Case("sharding_constraint", [sample((3, 4), dtype)], {"mesh": _MESH, "spec": _SPEC}))

# The cipher behind random numbers: two results, and operands of rank 0 with any.
_WORDS = [sample((3, 7), np.dtype("uint32"), seed) for seed in range(4)]
CASES.append(Case("threefry2x32", _WORDS))
CASES.append(Case("threefry2x32", [np.uint32(1), np.uint32(2), np.uint32(3), np.arange(9, dtype=np.uint32)]))

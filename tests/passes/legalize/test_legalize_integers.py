"""Conversions and integer arithmetic where processors trap or leave the result open."""

from __future__ import annotations

import numpy as np
import pytest
from legalize_harness import Compiled, binary, edges, pairs, unary

INTEGERS = {f"{u}i{n}": np.dtype(f"{'u' if u else ''}int{n}") for n in (8, 16, 32, 64) for u in ("", "u")}
FLOATS = {"f32": np.float32, "f64": np.float64, "f16": np.float16}
VALUES = [0, -0.0, 1, -1, 0.5, -0.5, 1.9, -1.9, 127, 128, -128, -129, 255, 256, 32767, 32768, 65535, 65536, -32769]
VALUES += [2147483520.0, 2147483648.0, -2147483648.0, 4294967040.0, 4294967296.0, 9.2e18, 9.3e18, 1.8e19, 1.9e19]
VALUES += [-9.3e18, 1e30, -1e30, np.inf, -np.inf, np.nan]
BINARY = ("divide", "remainder", "power", "shift_left", "shift_right_logical", "shift_right_arithmetic")


def saturated(x, dtype):
    info = np.iinfo(dtype)
    results = [0 if np.isnan(v) else info.max if v >= info.max else info.min if v <= info.min else int(v) for v in x]
    return np.array(results, dtype=object).astype(dtype)


def exactly(op, a, b, dtype):
    bits = dtype.itemsize * 8
    mask = (1 << bits) - 1
    if op in ("divide", "remainder"):
        quotient = -1 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        value = quotient if op == "divide" else a if b == 0 else a - quotient * b
    elif op == "power":
        value = pow(a, b, 1 << bits) if b >= 0 else {1: 1, -1: 1 if b % 2 == 0 else -1}.get(a, 0)
    else:
        count, pattern = b & mask, a & mask
        signed = pattern - (1 << bits) if pattern >> (bits - 1) else pattern
        if op == "shift_left":
            value = pattern << count if count < bits else 0
        elif op == "shift_right_logical":
            value = pattern >> count if count < bits else 0
        else:
            value = signed >> min(count, bits)
    return int(value) & mask


@pytest.fixture(scope="module")
def conversions():
    size = len(VALUES)
    return Compiled({f"{s}{t}": unary(f"c_{s}_{t}", "stablehlo.convert", s, t, size) for s in FLOATS for t in INTEGERS})


@pytest.mark.parametrize("target", INTEGERS)
@pytest.mark.parametrize("source", FLOATS)
def test_a_float_out_of_range_converts_to_the_nearest_integer(conversions, source, target):
    with np.errstate(over="ignore"):
        x = np.array(VALUES).astype(FLOATS[source])
    actual = conversions(f"c_{source}_{target}", x).view(INTEGERS[target])
    assert actual.tolist() == saturated(x.astype(np.float64), INTEGERS[target]).tolist()


@pytest.fixture(scope="module")
def arithmetic():
    return Compiled(
        {
            f"{op}{name}": binary(f"{op}_{name}", f"stablehlo.{op}", name, len(edges(dtype)) ** 2)
            for op in BINARY
            for name, dtype in INTEGERS.items()
        }
    )


@pytest.mark.parametrize("op", BINARY)
def test_integer_arithmetic_is_defined_everywhere(arithmetic, op):
    for name, dtype in INTEGERS.items():
        a, b = pairs(edges(dtype))
        actual = arithmetic(f"{op}_{name}", a, b).view(dtype)
        mask = (1 << dtype.itemsize * 8) - 1
        for x, y, result in zip(a.tolist(), b.tolist(), actual.tolist()):
            assert result & mask == exactly(op, x, y, dtype), f"{op} {name} ({x}, {y})"


def test_a_legalized_conversion_is_left_alone():
    program = Compiled({"convert": unary("f", "stablehlo.convert", "f32", "i32", 4)})
    assert program.text.count("stablehlo.convert") == 1
    assert program.text.count("stablehlo.clamp") == 1

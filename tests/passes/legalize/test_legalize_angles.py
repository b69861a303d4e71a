"""Sines, cosines and tangents of every finite number, against exact integers."""

from __future__ import annotations

import exact_angles
import ml_dtypes
import numpy as np
import pytest
from legalize_harness import Compiled, unary, worst

from passes.legalize.angles import RARE_FROM
from passes.legalize.expressions import Arithmetic, arithmetic

pytestmark = pytest.mark.skipif(np.finfo(np.longdouble).nmant <= 60, reason="long double is no wider than float64 here")

FUNCTIONS = {"sine": exact_angles.sin, "cosine": exact_angles.cos, "tan": exact_angles.tan}
# The largest error, in ulps.
BOUNDS = {"sine": 1.0, "cosine": 1.0, "tan": 2.0}
DTYPES = {"f64": np.float64, "f32": np.float32, "bf16": ml_dtypes.bfloat16, "f16": np.float16}
CPU = Arithmetic()
GPU = Arithmetic(doubles=False, ordered=False, branches=False)


def numbers(dtype):
    """Finite numbers of all exponents, numbers next to multiples of pi/2, and those where the ways part."""
    rng = np.random.default_rng(0)
    info = ml_dtypes.finfo(dtype)
    exponents = rng.uniform(-8, info.maxexp, 2500)
    spread = np.ldexp(rng.uniform(0.5, 1, len(exponents)), np.ceil(exponents).astype(int))
    near = [exact_angles.multiple(int(v)) for v in [*spread[:400], *rng.integers(1, 2**23, 400)]]
    # The float64 and the float32 that are closest to a multiple of pi/2, and the float64 below 2**24 that is.
    known = [6381956970095103.0 * 2.0**797, 16367173 * 2.0**72, float.fromhex("0x1.b951f1572eba5p+23")]
    known += [1e9, 1e10, 2.0**28, 0.5, float(info.max)]
    known += [np.nextafter(np.float32(b), np.float32(to)) for b in RARE_FROM.values() for to in (0, np.inf, b)]
    x = np.concatenate([spread, near, known])
    x = np.where(x <= float(info.max), x, 1.0)
    return (x * rng.choice([-1, 1], len(x))).astype(dtype)


@pytest.fixture(
    scope="module",
    params=[(CPU, d) for d in DTYPES] + [(GPU, "f32")],
    ids=lambda p: f"{p[1]}{'' if p[0].branches else ' in integers'}",
)
def compiled(request):
    kind, name = request.param
    x = numbers(DTYPES[name])
    with arithmetic(kind):
        program = Compiled({op: unary(op, f"stablehlo.{op}", name, name, len(x)) for op in FUNCTIONS})
    return program, x


@pytest.mark.parametrize("op", FUNCTIONS)
def test_a_function_of_any_angle_is_within_its_bound(compiled, op):
    program, x = compiled
    actual = program(op, x)
    expected = FUNCTIONS[op](x)
    if x.dtype.itemsize == 2:
        with np.errstate(over="ignore"):
            rounded = expected.astype(np.float32).astype(x.dtype)
        wrong = actual.astype(np.float32) != rounded.astype(np.float32)
        assert not wrong.any(), f"{op}({x[wrong][0]}): got {actual[wrong][0]}, want {rounded[wrong][0]}"
    else:
        error, where = worst(actual, expected, x)
        assert error <= BOUNDS[op], f"{op}{where}"

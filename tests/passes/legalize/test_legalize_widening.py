"""Booleans on bytes and 16-bit floats on 32 bits: the laws, and compiled results."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import passes
import stagec
import stagec.lax as lax
import stagec.numpy as snp
from passes import bindings


def module(how, body=") -> tensor<4xi1>"):
    return bindings.ir.Module.parse(
        "func.func @main(%x: tensor<4x6xi1>) -> tensor<4xi1> {\n"
        "%start = stablehlo.constant dense<false> : tensor<i1>\n"
        f"%r = stablehlo.reduce(%x init: %start) {how} : (tensor<4x6xi1>, tensor<i1>{body}\n"
        "return %r : tensor<4xi1> }",
        bindings.new_context(),
    )


@pytest.mark.parametrize(
    ("of", "bitwise"), [("or", "or"), ("and", "and"), ("xor", "xor"), ("maximum", "or"), ("minimum", "and")]
)
def test_a_reduction_of_booleans_is_one_of_bytes(of, bitwise):
    found = module(f"applies stablehlo.{of} across dimensions = [1]")
    assert passes.run(found, "legalize").hits == {"reduce_wider": 1}
    bytes_ = f"applies stablehlo.{bitwise} across dimensions = [1] : (tensor<4x6xi8>, tensor<i8>) -> tensor<4xi8>"
    assert bytes_ in str(found)
    before = str(found)
    assert passes.run(found, "legalize").hits == {} and str(found) == before


@pytest.mark.parametrize("laws", ["spirv", "gpu"])
def test_other_targets_keep_it(laws):
    found = module("applies stablehlo.or across dimensions = [1]")
    assert passes.run(found, "legalize", options=passes.PassOptions(laws=laws)).hits == {}


def test_a_body_of_several_operations_stays():
    found = module(
        "across dimensions = [1]",
        ") -> tensor<4xi1> reducer(%a: tensor<i1>, %b: tensor<i1>) {"
        "%n = stablehlo.not %b : tensor<i1> %o = stablehlo.or %a, %n : tensor<i1> stablehlo.return %o : tensor<i1> }",
    )
    assert passes.run(found, "legalize").hits == {}


@pytest.mark.parametrize("axis", [0, 1, (0, 2), None])
@pytest.mark.parametrize("shape", [(3, 5, 7), (64, 33, 16), (1, 1, 1), (2, 0, 3)])
def test_compiled_results_are_numpys(shape, axis):
    x = np.random.default_rng(0).random(shape) < 0.02
    dims = tuple(range(3)) if axis is None else axis if isinstance(axis, tuple) else (axis,)

    @stagec.jit
    def f(x):
        odd = lax.reduce(x, np.False_, lax.bitwise_xor, dims)
        least = lax.reduce(x, np.True_, lax.min, dims)
        return snp.any(x, axis), snp.all(x, axis), snp.all(~x, axis), odd, least, snp.any(x, axis) & snp.all(x, axis)

    some, every, none = np.any(x, axis), np.all(x, axis), np.all(~x, axis)
    wanted = [some, every, none, np.logical_xor.reduce(x, dims), every, some & every]
    for actual, expected in zip(f(x), wanted):
        assert actual.dtype == np.bool_
        np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("axis", [0, 1, None])
def test_extremes_of_halves_are_numpys(dtype, axis):
    x = np.random.default_rng(0).normal(size=(33, 70)).astype(dtype)
    x[3, 5], x[4, 6], x[5, :], x[6, :] = np.inf, -np.inf, -0.0, 0.0

    @stagec.jit
    def f(x):
        return x.max(axis), x.min(axis), x.argmax(axis), x.argmin(axis)

    assert "f32" in stagec.jit(f).lower(x).as_text("optimized")
    for values in (x, np.where(np.arange(70) == 9, np.nan, x).astype(dtype)):
        high, low, *places = f(values)
        wide = values.astype(np.float32)
        assert high.dtype == low.dtype == dtype
        np.testing.assert_array_equal(high.astype("float32"), wide.max(axis))
        np.testing.assert_array_equal(low.astype("float32"), wide.min(axis))
        np.testing.assert_array_equal(places, [wide.argmax(axis), wide.argmin(axis)])


@pytest.mark.parametrize("name", ["sqrt", "rint", "fmod", "remainder"])
def test_float16_in_float32_is_exact(name):
    """All 65,536 numbers."""
    x = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    y = np.random.default_rng(0).permutation(x)
    args = (x, y) if name in ("fmod", "remainder") else (x,)
    actual = stagec.jit(getattr(snp, name))(*args)
    assert actual.dtype == np.float16
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(*[a.astype(np.float64) for a in args]).astype(np.float16)
    normal = ~(abs(expected) < np.finfo(np.float16).tiny)  # the compiled code may flush subnormal results
    np.testing.assert_array_equal(actual.numpy()[normal], expected[normal])

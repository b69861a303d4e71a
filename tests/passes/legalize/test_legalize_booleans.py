"""Reductions of booleans on bytes: the law, and compiled results."""

from __future__ import annotations

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


@pytest.mark.parametrize("of", ["or", "and", "xor"])
def test_a_reduction_of_booleans_is_one_of_bytes(of):
    found = module(f"applies stablehlo.{of} across dimensions = [1]")
    assert passes.run(found, "legalize").hits == {"reduce_booleans_as_bytes": 1}
    bytes_ = f"applies stablehlo.{of} across dimensions = [1] : (tensor<4x6xi8>, tensor<i8>) -> tensor<4xi8>"
    assert bytes_ in str(found)
    before = str(found)
    assert passes.run(found, "legalize").hits == {} and str(found) == before


@pytest.mark.parametrize("target", ["vulkan", "cuda"])
def test_other_targets_keep_it(target):
    found = module("applies stablehlo.or across dimensions = [1]")
    assert passes.run(found, "legalize", options=passes.PassOptions(target=target)).hits == {}


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
        return snp.any(x, axis), snp.all(x, axis), snp.all(~x, axis), odd, snp.any(x, axis) & snp.all(x, axis)

    some, every, none = np.any(x, axis), np.all(x, axis), np.all(~x, axis)
    wanted = [some, every, none, np.logical_xor.reduce(x, dims), some & every]
    for actual, expected in zip(f(x), wanted):
        assert actual.dtype == np.bool_
        np.testing.assert_array_equal(actual, expected)

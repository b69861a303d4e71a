"""Convolutions: every layout computed in the one that has fast code, behind barriers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import passes
import stagec
import stagec.lax as lax
from passes import bindings
from passes.numeric.interpreter import interpret

WINDOW = "window = {stride = [1, 1], pad = [[1, 1], [0, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]}"
COUNTS = "{batch_group_count = 1 : i64, feature_group_count = 1 : i64}"


def module(dims, x, w, out, first=""):
    x, w, out = (f"tensor<{t}xf32>" for t in (x, w, out))
    return bindings.ir.Module.parse(
        f"func.func @main(%x: {x}, %w: {w}) -> {out} {{ {first}"
        f"%r = stablehlo.convolution({'%t' if first else '%x'}, %w) dim_numbers = {dims}, {WINDOW} {COUNTS} : "
        f"({x}, {w}) -> {out} return %r : {out} }}",
        bindings.new_context(),
    )


def names(module):
    block = module.body.operations[0].operation.regions[0].blocks[0]
    return [op.operation.name.split(".")[1] for op in block.operations][:-1]


def batch_first():
    return module("[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]", "2x3x5x6", "4x3x3x2", "2x4x5x6")


def test_a_convolution_of_features_first_is_one_of_features_last_between_transposes():
    found = batch_first()
    assert passes.run(found, "legalize").hits == {"features_last": 1}
    turned = ["transpose", "optimization_barrier"]
    assert names(found) == [*turned, *turned, "convolution", "transpose"]
    assert "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]" in str(found)
    assert "pad = [[1, 1], [0, 1]]" in str(found)
    before = str(found)
    assert passes.run(found, "legalize").hits == {} and str(found) == before


def test_a_convolution_of_features_last_stays_as_it_is():
    found = module("[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "2x5x6x3", "3x2x3x4", "2x5x6x4")
    before = str(found)
    assert passes.run(found, "legalize").hits == {} and str(found) == before


def test_a_transpose_of_the_users_gets_its_barrier():
    first = "%t = stablehlo.transpose %x, dims = [0, 2, 1, 3] : (tensor<2x6x6x3xf32>) -> tensor<2x6x6x3xf32>\n"
    found = module("[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "2x6x6x3", "3x2x3x4", "2x6x6x4", first)
    passes.run(found, "legalize")
    assert names(found) == ["transpose", "optimization_barrier", "convolution"]


@pytest.mark.parametrize("laws", ["spirv", "gpu"])
def test_other_targets_keep_the_layout(laws):
    found = batch_first()
    assert "features_last" not in passes.run(found, "legalize", options=passes.PassOptions(laws=laws)).hits
    assert names(found) == ["convolution"]


def test_an_odd_number_of_features_comes_last_for_spirv():
    found = module("[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]", "2x3x5x6", "3x3x3x2", "2x3x5x6")
    assert passes.run(found, "legalize", options=passes.PassOptions(laws="spirv")).hits == {"odd_features_last": 1}
    assert "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]" in str(found)


def test_the_meaning_is_kept():
    random = np.random.default_rng(0)
    operands = [random.integers(-9, 9, shape).astype(np.float32) for shape in ((2, 3, 5, 6), (4, 3, 3, 2))]
    before, after = batch_first(), batch_first()
    passes.run(after, "legalize")
    np.testing.assert_array_equal(interpret(after, *operands), interpret(before, *operands))


def test_every_layout_compiles_to_what_numpy_computes():
    random = np.random.default_rng(0)
    x, w = (random.integers(-9, 9, shape).astype(np.float32) for shape in ((2, 4, 5), (6, 4, 3)))
    layouts = [
        (a, b, a) for a, b in itertools.product(("NCW", "NWC", "CWN", "WNC"), ("OIW", "WIO", "IWO"))
    ] + [("NCW", "OIW", "WCN"), ("WCN", "IOW", "CNW")]  # fmt: skip

    def every(x, w):
        return [
            lax.conv_general_dilated(
                x.transpose(["NCW".index(c) for c in layout[0]]),
                w.transpose(["OIW".index(c) for c in layout[1]]),
                (2,),
                [(1, 2)],
                dimension_numbers=layout,
            )
            for layout in layouts
        ]

    for layout, expected, actual in zip(layouts, every(*map(stagec.numpy.asarray, (x, w))), stagec.jit(every)(x, w)):
        np.testing.assert_array_equal(np.asarray(actual), np.asarray(expected), err_msg=str(layout))

"""Forms that a target does not take, in modules that others wrote: windows, paddings, convolutions, loops."""

import numpy as np
import pytest

import passes
from passes import bindings
from passes.numeric.interpreter import interpret
from tests.workarounds import reproduce
from tests.workarounds.records import Program


def window(element, body, padding, size=5, initial="0"):
    return f"""
func.func @main(%x: tensor<5x{element}>) -> tensor<{5 + sum(padding) - size + 1}x{element}> {{
  %z = stablehlo.constant dense<{initial}> : tensor<{element}>
  %0 = "stablehlo.reduce_window"(%x, %z) <{{window_dimensions = array<i64: {size}>,
    padding = dense<[[{padding[0]}, {padding[1]}]]> : tensor<1x2xi64>}}> ({{
  ^bb0(%a: tensor<{element}>, %b: tensor<{element}>):
    %1 = stablehlo.{body} %a, %b : tensor<{element}>
    stablehlo.return %1 : tensor<{element}>
  }}) : (tensor<5x{element}>, tensor<{element}>) -> tensor<{5 + sum(padding) - size + 1}x{element}>
  return %0 : tensor<{5 + sum(padding) - size + 1}x{element}>
}}"""


def convolution(element):
    return f"""
func.func @main(%x: tensor<1x2x5x{element}>, %k: tensor<3x2x3x{element}>) -> tensor<1x3x5x{element}> {{
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {{pad = [[1, 1]]}}
    {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}}
    : (tensor<1x2x5x{element}>, tensor<3x2x3x{element}>) -> tensor<1x3x5x{element}>
  return %0 : tensor<1x3x5x{element}>
}}"""


def pad(element):
    return f"""
func.func @main(%x: tensor<5x{element}>) -> tensor<8x{element}> {{
  %z = stablehlo.constant dense<(1.0,2.0)> : tensor<{element}>
  %0 = stablehlo.pad %x, %z, low = [1], high = [2], interior = [0]
    : (tensor<5x{element}>, tensor<{element}>) -> tensor<8x{element}>
  return %0 : tensor<8x{element}>
}}"""


NUMBERS = np.array([3, -1, 2, -5, 4])
TRUTH = NUMBERS > 0
COMPLEX = NUMBERS + 1j * NUMBERS[::-1]
IMAGES = (
    (np.arange(10) - 1j).reshape(1, 2, 5).astype(np.complex64),
    (np.arange(18) * 1j).reshape(3, 2, 3).astype(np.complex64),
)
# A program, its inputs, and the laws that rewrite it.
PROGRAMS = {
    "any so far": (window("i1", "or", (4, 0), initial="false"), [TRUTH], ["running_over_booleans"]),
    "all so far": (window("i1", "minimum", (4, 0), initial="true"), [TRUTH], ["running_over_booleans"]),
    "odd so far": (window("i1", "xor", (4, 0), initial="false"), [TRUTH], ["running_over_booleans"]),
    "odd so far, from one": (
        window("i1", "xor", (4, 0), initial="true"),
        [TRUTH],
        ["running_over_booleans", "pad_before_windows"],
    ),
    "any or true": (
        window("i1", "or", (4, 0), initial="true"),
        [TRUTH],
        ["running_over_booleans", "pad_before_windows"],
    ),
    "any from here": (
        window("i1", "or", (0, 4), initial="false"),
        [TRUTH],
        ["running_backwards", "running_over_booleans"],
    ),
    "any near": (window("i1", "or", (1, 1), 3, "false"), [TRUTH], []),
    "sum so far": (window("i32", "add", (4, 0)), [NUMBERS.astype(np.int32)], []),
    "sum from here": (window("i32", "add", (0, 4)), [NUMBERS.astype(np.int32)], ["running_backwards"]),
    "sum from 2": (window("i32", "add", (4, 0), initial="2"), [NUMBERS.astype(np.int32)], ["pad_before_windows"]),
    "sum of a few": (window("i32", "add", (1, 1), 3), [NUMBERS.astype(np.int32)], []),
    "largest so far": (
        window("ui8", "maximum", (4, 0)),
        [NUMBERS.astype(np.uint8)],
        ["reduce_window_unsigned"],
    ),
    "complex sums": (window("complex<f32>", "add", (4, 0), initial="(0.0,0.0)"), [COMPLEX.astype(np.complex64)], []),
    "wide complex sums": (window("complex<f64>", "add", (4, 0), initial="(0.0,0.0)"), [COMPLEX], []),
    "wide complex sums of two": (
        window("complex<f64>", "add", (1, 0), 2, "(0.0,0.0)"),
        [COMPLEX],
        ["pad_before_windows", "pad_parts_of_complex128"],
    ),
    "padding": (pad("complex<f32>"), [COMPLEX.astype(np.complex64)], []),
    "wide padding": (pad("complex<f64>"), [COMPLEX], ["pad_parts_of_complex128"]),
    "complex convolution": (convolution("complex<f32>"), IMAGES, ["convolve_parts_of_complex"]),
    "convolution": (convolution("f32"), [np.real(x).astype(np.float32) for x in IMAGES], []),
}


@pytest.mark.parametrize("laws", ["cpu", "spirv", "gpu"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_which_forms_are_rewritten_and_that_they_mean_the_same(name, laws):
    text, inputs, expected = PROGRAMS[name]
    module = bindings.ir.Module.parse(text, bindings.new_context())
    options = passes.PassOptions(laws=laws)
    assert passes.run(module, "forms", options=options).hits == dict.fromkeys(expected, 1)
    after = str(module)
    assert passes.run(module, "forms", options=options).hits == {} and str(module) == after
    np.testing.assert_array_equal(interpret(after, *inputs)[0], interpret(text, *inputs)[0])


LOOP = """
func.func @main(%x: tensor<4xf32>, %n: tensor<i32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<4xf32>
  cond {
    %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.add %a, %x : tensor<4xf32>
    %2 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %2, %1 : tensor<i32>, tensor<4xf32>
  }
  return %0#1, %x : tensor<4xf32>, tensor<4xf32>
}"""


def test_a_loop_begins_with_a_barrier_but_for_constants():
    module = bindings.ir.Module.parse(LOOP, bindings.new_context())
    assert passes.run(module, "forms").hits == {"hold_state": 1}
    after = str(module)
    assert "stablehlo.optimization_barrier %arg0 : tensor<4xf32>" in after and "%iterArg = %c" in after
    assert passes.run(module, "forms").hits == {} and str(module) == after


def test_unsigned_state_compiles_everywhere():
    text = LOOP.replace("f32", "ui32")
    inputs = np.arange(4, dtype=np.uint32), np.int32(3)
    assert reproduce.outcome(Program(text, inputs), reproduce.compiled_with_workarounds) == reproduce.RIGHT
    for target in ("vulkan", "cuda"):
        assert reproduce.compiled_with_workarounds(Program(text, inputs, target=target))

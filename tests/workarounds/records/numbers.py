"""Faults of element types and of elementwise functions."""

import numpy as np

from tests.workarounds.records.record import Program, Script, Symptom, Workaround

WORKAROUNDS = (
    Workaround(
        id="float64-demoted",
        backends=("cpu", "vulkan", "cuda"),
        versions=("3.9", "3.12", "3.13"),
        symptom=Symptom.REFUSED,
        fault="by default, IREE turns float64 into float32, also in the signature of the program",
        guard="passes the flag that turns this off",
        hooks=("stagec.compiler.flags:ladder",),
        upstream="https://github.com/iree-org/iree/issues/20774 (a function of float64 expects float32; closed with a "
        "warning); https://github.com/iree-org/iree/issues/15830 asks for another default",
        shown_by=Program(
            """
func.func @main(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = stablehlo.multiply %x, %x : tensor<3xf64>
  return %0 : tensor<3xf64>
}""",
            (np.array([1.1, 2.2, 3.3]),),
            shows="expected f32",
            flag="--iree-input-demote-f64-to-f32=false",
        ),
    ),
    Workaround(
        id="permuting-broadcasts",
        backends=("cpu", "vulkan", "cuda"),
        versions=("3.13",),
        symptom=Symptom.WRONG,
        fault="IREE permutes the dimensions of a broadcast's operand by the inverse of the order that is asked for",
        guard="transposes the operand before the broadcast",
        hooks=("passes.legalize.broadcasts:broadcast_in_order",),
        upstream="none found",
        shown_by=Program(
            """
func.func @main(%x: tensor<2x2x2xf32>, %y: tensor<2x2x2xf32>) -> tensor<2x2x2xf32> {
  %0 = stablehlo.broadcast_in_dim %x, dims = [2, 0, 1] : (tensor<2x2x2xf32>) -> tensor<2x2x2xf32>
  %1 = stablehlo.add %0, %y : tensor<2x2x2xf32>
  return %1 : tensor<2x2x2xf32>
}""",
            (np.arange(8, dtype=np.float32).reshape(2, 2, 2), np.zeros((2, 2, 2), np.float32)),
        ),
    ),
    Workaround(
        id="float-to-integer",
        backends=("cpu", "vulkan", "cuda"),
        versions=("3.9", "3.12", "3.13"),
        symptom=Symptom.WRONG,
        fault="IREE converts floats to integers as the processor does: NaN and numbers out of range give arbitrary "
        "results",
        guard="writes the clamp and the test for NaN into the program",
        hooks=("passes.legalize.integers:saturating_convert",),
        upstream="https://github.com/iree-org/iree/issues/24591 (NaN and numbers out of range, which differ between "
        "backends; closed)",
        shown_by=Program(
            """
func.func @main(%x: tensor<5xf32>) -> tensor<5xi32> {
  %0 = stablehlo.convert %x : (tensor<5xf32>) -> tensor<5xi32>
  return %0 : tensor<5xi32>
}""",
            (np.array([np.nan, 1e20, -1e20, 3.9, np.inf], np.float32),),
        ),
    ),
    Workaround(
        id="functions-of-float64",
        backends=("cpu",),
        versions=("3.9", "3.12", "3.13"),
        symptom=Symptom.REFUSED,
        fault="IREE leaves functions of float64 such as `sin` to a C library that it does not link",
        guard="expands them into arithmetic, with what is missing for bfloat16, float16 and complex numbers",
        hooks=("passes.legalize.floats:PATTERNS", "passes.legalize.complexes:PATTERNS"),
        upstream="https://github.com/iree-org/iree/issues/20165 (linking errors with functions of `math` on CPU)",
        shown_by=Program(
            """
func.func @main(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = stablehlo.cbrt %x : tensor<3xf64>
  return %0 : tensor<3xf64>
}""",
            (np.array([1.1, 2.2, 3.3]),),
            shows="failed to legalize operation 'math.cbrt'",
        ),
    ),
    Workaround(
        id="bfloat16-unrounded",
        backends=("cpu",),
        versions=("3.13",),
        symptom=Symptom.WRONG,
        fault="IREE leaves bfloat16 unrounded between the operations of a dispatch, and treats subnormal numbers of "
        "float16 as zero where the processor has no conversions for it",
        guard="rounds, and converts by integers, in its own kernels; elsewhere it does nothing",
        hooks=("passes.kernels:form",),
        upstream="none found (searched: bf16 arithmetic fused without intermediate rounding truncation removed); "
        "https://github.com/iree-org/iree/pull/14478 leaves products of float16 unrounded on purpose",
        shown_by="stagec's kernels round; IREE's own kernels are left as they are",
    ),
    Workaround(
        id="unsigned-reversed",
        backends=("cpu", "vulkan", "cuda"),
        versions=("3.9", "3.12", "3.13"),
        symptom=Symptom.REFUSED,
        fault="IREE refuses to reverse arrays of unsigned integers",
        guard="reverses the same bits as signed integers",
        hooks=("passes.legalize.unsigned:reverse_unsigned",),
        upstream="none found (searched: stablehlo.reverse ui32 failed to legalize linalg.generic unsigned)",
        shown_by=Program(
            """
func.func @main(%x: tensor<5xui32>) -> tensor<5xui32> {
  %0 = stablehlo.reverse %x, dims = [0] : tensor<5xui32>
  return %0 : tensor<5xui32>
}""",
            (np.arange(5, dtype=np.uint32),),
            shows="failed to legalize operation 'linalg.generic'",
        ),
    ),
    Workaround(
        id="unsigned-windows",
        backends=("cpu", "vulkan", "cuda"),
        versions=("3.12", "3.13"),
        symptom=Symptom.REFUSED,
        fault="IREE refuses running sums of unsigned integers, written as `reduce_window`",
        guard="computes them on the same bits as signed integers",
        hooks=("passes.legalize.unsigned:reduce_window_unsigned",),
        upstream="none found (searched: reduce_window ui32 unresolved target materialization; stablehlo unsigned "
        "integers ui32 convert missing type conversion reduce_window scf.while linalg body)",
        shown_by=Program(
            """
func.func @main(%x: tensor<5xui32>) -> tensor<5xui32> {
  %z = stablehlo.constant dense<0> : tensor<ui32>
  %0 = "stablehlo.reduce_window"(%x, %z) <{window_dimensions = array<i64: 5>,
    padding = dense<[[4, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<ui32>, %b: tensor<ui32>):
    %1 = stablehlo.add %a, %b : tensor<ui32>
    stablehlo.return %1 : tensor<ui32>
  }) : (tensor<5xui32>, tensor<ui32>) -> tensor<5xui32>
  return %0 : tensor<5xui32>
}""",
            (np.arange(5, dtype=np.uint32),),
            shows="unresolved target materialization",
        ),
    ),
    Workaround(
        id="unsigned-conversion-in-loop",
        backends=("cpu", "vulkan", "cuda"),
        versions=("3.9", "3.12", "3.13"),
        symptom=Symptom.REFUSED,
        fault="IREE refuses a conversion from signed to unsigned integers inside a loop",
        guard="converts to signed integers of the result's width, and reads their bits as unsigned",
        hooks=("passes.legalize.unsigned:convert_to_unsigned",),
        upstream="none found (searched: arith.addi operand must be signless ui32 while; stablehlo unsigned integers "
        "ui32 convert missing type conversion reduce_window scf.while linalg body)",
        shown_by=Program(
            """
func.func @main(%n: tensor<i32>) -> tensor<ui32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %start = stablehlo.constant dense<0> : tensor<ui32>
  %0:2 = stablehlo.while(%i = %zero, %a = %start) : tensor<i32>, tensor<ui32>
  cond {
    %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.convert %i : (tensor<i32>) -> tensor<ui32>
    %2 = stablehlo.add %a, %1 : tensor<ui32>
    %3 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %3, %2 : tensor<i32>, tensor<ui32>
  }
  return %0#1 : tensor<ui32>
}""",
            (np.int32(5),),
            shows="must be signless",
        ),
    ),
    Workaround(
        id="booleans-in-windows",
        backends=("cpu", "vulkan", "cuda"),
        versions=("3.13",),
        symptom=Symptom.REFUSED,
        fault="IREE refuses running conjunctions and disjunctions, written as `reduce_window` of booleans",
        guard="computes them on bytes",
        hooks=("passes.legalize.windows:running_over_booleans",),
        upstream="none found (searched: reduce_window i1 boolean arith.ori requires the same type)",
        shown_by=Program(
            """
func.func @main(%x: tensor<5xi1>) -> tensor<5xi1> {
  %z = stablehlo.constant dense<false> : tensor<i1>
  %0 = "stablehlo.reduce_window"(%x, %z) <{window_dimensions = array<i64: 5>,
    padding = dense<[[4, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<i1>, %b: tensor<i1>):
    %1 = stablehlo.or %a, %b : tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<5xi1>, tensor<i1>) -> tensor<5xi1>
  return %0 : tensor<5xi1>
}""",
            (np.array([False, True, False, False, True]),),
            shows="requires the same type for all operands and results",
        ),
    ),
    Workaround(
        id="start-of-running-reductions",
        backends=("cpu",),
        versions=("3.13",),
        symptom=Symptom.WRONG,
        fault="IREE leaves out the initial value of a running reduction, written as `reduce_window`",
        guard="pads the array with it, unless it changes nothing",
        hooks=("passes.legalize.windows:pad_before_windows",),
        upstream="none found (searched: reduce_window cumulative sum init value ignored wrong result); "
        "https://github.com/iree-org/iree/pull/14938 made running sums an operation of their own",
        shown_by=Program(
            """
func.func @main(%x: tensor<5xf32>) -> tensor<5xf32> {
  %z = stablehlo.constant dense<2.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %z) <{window_dimensions = array<i64: 5>,
    padding = dense<[[4, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<5xf32>, tensor<f32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}""",
            (np.arange(5, dtype=np.float32),),
        ),
    ),
    Workaround(
        id="selection-of-equal-elements",
        backends=("cpu", "vulkan", "cuda"),
        versions=("3.13",),
        symptom=Symptom.WRONG,
        fault="IREE asks the selection of a `select_and_scatter` whether the later of two elements comes first, so "
        "that the last of equal elements is selected instead of the first",
        guard="swaps the arguments of the selection and negates it, in the module that the compiler gets",
        hooks=("stagec.compiler.phase_workarounds:swap_selection_operands",),
        upstream="none found (searched: select_and_scatter ties wrong element selected GE order of arguments); "
        "https://github.com/openxla/stablehlo/issues/714 is about the order in which elements are compared",
        shown_by=Program(
            """
func.func @main(%x: tensor<6xf32>, %u: tensor<3xf32>) -> tensor<6xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.select_and_scatter"(%x, %u, %z) <{window_dimensions = array<i64: 2>,
    window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<6xf32>, tensor<3xf32>, tensor<f32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}""",
            (np.array([0, 1, 2, 2, 4, 3], np.float32), np.arange(1, 4, dtype=np.float32)),
        ),
    ),
    Workaround(
        id="convolution-of-complex-numbers",
        backends=("cpu", "vulkan", "cuda"),
        versions=("3.13",),
        symptom=Symptom.CRASH,
        fault="IREE crashes on convolutions of complex numbers",
        guard="computes four convolutions of the parts",
        hooks=("passes.legalize.complexes:convolve_parts_of_complex",),
        upstream="https://github.com/iree-org/iree/issues/7621 (a crash on a convolution of complex numbers)",
        shown_by=Program(
            """
func.func @main(%x: tensor<1x4x5xcomplex<f32>>, %k: tensor<4x2x3xcomplex<f32>>) -> tensor<1x4x5xcomplex<f32>> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {pad = [[1, 1]]}
    {batch_group_count = 1 : i64, feature_group_count = 2 : i64}
    : (tensor<1x4x5xcomplex<f32>>, tensor<4x2x3xcomplex<f32>>) -> tensor<1x4x5xcomplex<f32>>
  return %0 : tensor<1x4x5xcomplex<f32>>
}""",
            (np.arange(20).reshape(1, 4, 5).astype(np.complex64), np.full((4, 2, 3), 1 + 2j, np.complex64)),
        ),
    ),
    Workaround(
        id="windows-over-complex128",
        backends=("cpu", "cuda"),
        versions=("3.13",),
        symptom=Symptom.CRASH,
        fault="IREE cannot fill memory with complex128 numbers, and crashes on windows over a padded array",
        guard="pads the real and the imaginary parts before",
        hooks=("passes.legalize.windows:pad_before_windows", "passes.legalize.complexes:pad_parts_of_complex128"),
        upstream="https://github.com/iree-org/iree/pull/13363 (splats of complex64; complex128 is left out)",
        shown_by=Program(
            """
func.func @main(%x: tensor<5xcomplex<f64>>) -> tensor<5xcomplex<f64>> {
  %z = stablehlo.constant dense<(0.0,0.0)> : tensor<complex<f64>>
  %0 = "stablehlo.reduce_window"(%x, %z) <{window_dimensions = array<i64: 2>,
    padding = dense<[[1, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<complex<f64>>, %b: tensor<complex<f64>>):
    %1 = stablehlo.add %a, %b : tensor<complex<f64>>
    stablehlo.return %1 : tensor<complex<f64>>
  }) : (tensor<5xcomplex<f64>>, tensor<complex<f64>>) -> tensor<5xcomplex<f64>>
  return %0 : tensor<5xcomplex<f64>>
}""",
            (np.arange(5).astype(complex),),
        ),
    ),
    Workaround(
        id="complex-padding",
        backends=("cpu",),
        versions=("3.9", "3.12", "3.13"),
        symptom=Symptom.CRASH,
        fault="IREE crashes on some paddings of complex numbers, such as one with a number other than zero",
        guard="pads the real and the imaginary parts",
        hooks=("passes.legalize.complexes:expand_complex_pad",),
        upstream="none found (searched: tensor.pad complex<f32> segmentation fault; LLVMCPU complex type pad crash "
        "getIntOrFloatBitWidth)",
        shown_by=Program(
            """
func.func @main(%x: tensor<4xcomplex<f32>>) -> tensor<6xcomplex<f32>> {
  %c = stablehlo.constant dense<(1.0,2.0)> : tensor<complex<f32>>
  %0 = stablehlo.pad %x, %c, low = [1], high = [1], interior = [0]
    : (tensor<4xcomplex<f32>>, tensor<complex<f32>>) -> tensor<6xcomplex<f32>>
  return %0 : tensor<6xcomplex<f32>>
}""",
            (np.arange(4).astype(np.complex64),),
        ),
    ),
    Workaround(
        id="complex128-splat",
        backends=("cpu",),
        versions=("3.9", "3.12", "3.13"),
        symptom=Symptom.REFUSED,
        fault="IREE cannot fill memory with a complex128 number",
        guard="computes such an array from two real numbers",
        hooks=("passes.legalize.complexes:complex_constant",),
        upstream="https://github.com/iree-org/iree/pull/13363 (splats of complex64; complex128 is left out)",
        shown_by=Program(
            """
func.func @main() -> tensor<4xcomplex<f64>> {
  %c = stablehlo.constant dense<(1.0,2.0)> : tensor<4xcomplex<f64>>
  return %c : tensor<4xcomplex<f64>>
}""",
            shows="but got 'i128'",
        ),
    ),
    Workaround(
        id="complex128-constant",
        backends=("cpu",),
        versions=("3.9", "3.12", "3.13"),
        symptom=Symptom.CRASH,
        fault="IREE ends the process on some complex128 constants of several values",
        guard="builds them from two real constants; refuses a module of yours that holds one, with an error",
        hooks=("passes.build:constant", "stagec.compiler.driver:prepared"),
        upstream="https://github.com/iree-org/iree/pull/13363 (splats of complex64; complex128 is left out)",
        shown_by=Script(
            """
from tests.workarounds import reproduce
from tests.workarounds.records import Program
import numpy as np, stagec

if GUARDED:
    with stagec.enable_x64():
        c = np.array([1 + 2j, 3 - 4j])
        assert np.array_equal(stagec.jit(lambda x: x + c)(np.zeros(2, complex)), c)
else:
    reproduce.compiled_alone(Program('''
func.func @main() -> tensor<2xcomplex<f64>> {
  %c = stablehlo.constant dense<[(1.0,2.0),(3.0,-4.0)]> : tensor<2xcomplex<f64>>
  return %c : tensor<2xcomplex<f64>>
}'''))
"""
        ),
    ),
    Workaround(
        id="top-k-of-small-integers",
        backends=("cpu",),
        versions=("3.9", "3.12", "3.13"),
        symptom=Symptom.WRONG,
        fault="IREE's own `top_k` returns equal elements in no defined order, and wrong ones of int8 and uint8",
        guard="sorts pairs of a key and an index",
        hooks=("passes.legalize.sorting:stable_top_k",),
        upstream="none found (searched: iree_linalg_ext.topk i8 wrong order duplicate values stable)",
        shown_by=Program(
            """
func.func @main(%x: tensor<7xi8>) -> (tensor<4xi8>, tensor<4xi32>) {
  %0, %1 = chlo.top_k(%x, k = 4) : tensor<7xi8> -> (tensor<4xi8>, tensor<4xi32>)
  return %0, %1 : tensor<4xi8>, tensor<4xi32>
}""",
            (np.array([3, 100, 7, 1, 100, 9, 100], np.int8),),
        ),
    ),
    Workaround(
        id="sort-is-not-stable",
        backends=("cpu", "vulkan", "cuda"),
        versions=("3.13",),
        symptom=Symptom.WRONG,
        fault="IREE swaps equal elements when it sorts, even if asked for a stable sort",
        guard="sorts by position too",
        hooks=("passes.legalize.sorting:sort_by_position_too",),
        upstream="https://github.com/iree-org/iree/pull/24146 (sorting is a bubble sort; no issue on stability was "
        "found)",
        shown_by=Program(
            """
func.func @main(%x: tensor<8xi32>, %y: tensor<8xi32>) -> (tensor<8xi32>, tensor<8xi32>) {
  %0:2 = "stablehlo.sort"(%x, %y) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>):
    %1 = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<8xi32>, tensor<8xi32>) -> (tensor<8xi32>, tensor<8xi32>)
  return %0#0, %0#1 : tensor<8xi32>, tensor<8xi32>
}""",
            (np.array([3, 1, 3, 1, 2, 2, 1, 3], np.int32), np.arange(8, dtype=np.int32)),
        ),
    ),
    Workaround(
        id="sort-of-complex-numbers",
        backends=("vulkan",),
        versions=("3.13",),
        symptom=Symptom.REFUSED,
        fault="IREE has no code for Vulkan that moves complex numbers, as a sort does",
        guard="sorts the real and the imaginary parts",
        hooks=("passes.legalize.sorting:sort_parts_of_complex",),
        upstream="none found (searched: spirv complex failed to legalize arith.select complex sort); "
        "https://github.com/iree-org/iree/issues/23117 is about products of complex numbers",
        shown_by=Program(
            """
func.func @main(%x: tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>> {
  %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<complex<f32>>, %b: tensor<complex<f32>>):
    %1 = stablehlo.real %a : (tensor<complex<f32>>) -> tensor<f32>
    %2 = stablehlo.real %b : (tensor<complex<f32>>) -> tensor<f32>
    %3 = stablehlo.compare LT, %1, %2 : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %3 : tensor<i1>
  }) : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>
  return %0 : tensor<8xcomplex<f32>>
}""",
            (np.arange(8).astype(np.complex64),),
            target="vulkan",
            shows="failed to legalize operation 'arith.select'",
        ),
    ),
    Workaround(
        id="sort-of-long-axes",
        backends=("cpu", "vulkan", "cuda"),
        versions=("3.13",),
        symptom=Symptom.SLOW,
        fault="IREE sorts in time quadratic in the length",
        guard="sorts more than 48 elements by a sorting network, or on CPUs by kernels",
        hooks=("passes.legalize.sorting:sort_by_positions", "passes.legalize.sorting:sort_by_network"),
        upstream="https://github.com/iree-org/iree/pull/24146 (sorting is a bubble sort)",
        shown_by="a matter of time; `tests/passes/legalize/test_legalize_sorting.py` shows the rewrite",
    ),
)

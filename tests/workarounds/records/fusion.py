"""Faults of IREE's dispatch fusion."""

import numpy as np

from tests.workarounds.records.record import Program, Script, Symptom, Workaround

WORKAROUNDS = (
    Workaround(
        id="slice-with-step-of-conversion",
        backends=("cpu",),
        versions=("3.9", "3.12", "3.13"),
        symptom=Symptom.WRONG,
        fault="IREE loses the step of a slice that it fuses with a widening conversion before it: "
        "`x.astype(float)[::2]` reads `x[0], x[1], ...`",
        guard="moves the conversion after the slice, and puts a barrier between other operations and such a slice",
        hooks=("passes.legalize.slices:slice_with_step_of_computed",),
        upstream="none found (searched: strided slice fused with extension, wrong elements; extract_slice stride lost "
        "fuse bit extend producer generic wrong result every second element)",
        shown_by=Program(
            """
func.func @main(%x: tensor<16xi8>) -> tensor<8xf32> {
  %0 = stablehlo.convert %x : (tensor<16xi8>) -> tensor<16xf32>
  %1 = stablehlo.slice %0 [0:16:2] : (tensor<16xf32>) -> tensor<8xf32>
  %2 = stablehlo.add %1, %1 : tensor<8xf32>
  return %2 : tensor<8xf32>
}""",
            (np.arange(16, dtype=np.int8),),
        ),
    ),
    Workaround(
        id="gather-from-gaps",
        backends=("cpu", "vulkan", "cuda"),
        versions=("3.9", "3.12", "3.13"),
        symptom=Symptom.REFUSED,
        fault="IREE fuses a gather or a reversal with a slice that leaves gaps between elements in memory, "
        "and has no code for the result",
        guard="puts a barrier between the two",
        hooks=("passes.legalize.slices:pick_from_gaps",),
        upstream="https://github.com/iree-org/iree/issues/15364 (a gather from a column of a matrix does not compile; "
        "closed)",
        shown_by=Program(
            """
func.func @main(%x: tensor<4x8xf32>, %i: tensor<4x1xi32>) -> tensor<4xf32> {
  %0 = stablehlo.slice %x [0:1, 0:8:2] : (tensor<4x8xf32>) -> tensor<1x4xf32>
  %1 = stablehlo.reshape %0 : (tensor<1x4xf32>) -> tensor<4xf32>
  %2 = "stablehlo.gather"(%1, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0],
    start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}>
    : (tensor<4xf32>, tensor<4x1xi32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}""",
            (np.arange(32, dtype=np.float32).reshape(4, 8), np.array([[1], [0], [1], [3]], np.int32)),
            shows="LLVM Translation failed",
        ),
    ),
    Workaround(
        id="one-element-with-more-axes",
        backends=("cpu", "vulkan", "cuda"),
        versions=("3.9", "3.12", "3.13"),
        symptom=Symptom.REFUSED,
        fault="IREE merges a reshape of a slice of one element into the slice, where the array has fewer axes than "
        "the result, and refuses its own program",
        guard="puts a barrier between the two",
        hooks=("passes.legalize.slices:one_element_with_more_axes",),
        upstream="none found (searched: tensor.extract_slice rank reduced expand_shape expected rank to be smaller); "
        "https://github.com/iree-org/iree/issues/23291 is about a cast that is wrong after the same pass",
        shown_by=Program(
            """
func.func @main(%x: tensor<8xf32>) -> (tensor<1x1xf32>, tensor<1x3xf32>) {
  %0 = stablehlo.constant dense<[[1.0, 2.0, 3.0]]> : tensor<1x3xf32>
  %1 = stablehlo.slice %x [7:8] : (tensor<8xf32>) -> tensor<1xf32>
  %2 = stablehlo.reshape %1 : (tensor<1xf32>) -> tensor<1x1xf32>
  %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<1x1xf32>) -> tensor<1x3xf32>
  %4 = stablehlo.multiply %0, %3 : tensor<1x3xf32>
  return %2, %4 : tensor<1x1xf32>, tensor<1x3xf32>
}""",
            (np.arange(8, dtype=np.float32),),
            shows="expected rank to be smaller",
        ),
    ),
    Workaround(
        id="sort-of-part",
        backends=("cpu", "vulkan"),
        versions=("3.9", "3.12", "3.13"),
        symptom=Symptom.REFUSED,
        fault="IREE fuses a sort with the slice, the padding or the update that it sorts, and then fails",
        guard="puts a barrier between the two",
        hooks=("passes.legalize.slices:sort_of_part",),
        upstream="none found (searched: iree_linalg_ext.sort of extract_slice fails workgroup distribution; "
        "stablehlo.sort fused with slice write affecting operations restricted to workgroup distributed contexts)",
        shown_by=Program(
            """
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x4xf32> {
  %0 = stablehlo.slice %x [0:4, 0:8:2] : (tensor<4x8xf32>) -> tensor<4x4xf32>
  %1 = "stablehlo.sort"(%0) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %2 = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %2 : tensor<i1>
  }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}""",
            (np.arange(32, dtype=np.float32).reshape(4, 8)[::-1].copy(),),
            shows="workgroup distribut",
        ),
    ),
    Workaround(
        id="sort-of-a-broadcast-number",
        backends=("cpu", "vulkan"),
        versions=("3.13",),
        symptom=Symptom.CRASH,
        fault="IREE crashes on a sort of several arrays, one of which is a broadcast number",
        guard="puts a barrier between the two",
        hooks=("passes.legalize.slices:sort_of_part",),
        upstream="none found (searched: stablehlo.sort of broadcast scalar with several operands crashes)",
        shown_by=Program(
            """
func.func @main(%x: tensor<f32>, %y: tensor<5xi32>) -> tensor<5xf32> {
  %0 = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> tensor<5xf32>
  %1:2 = "stablehlo.sort"(%0, %y) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
    %2 = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %2 : tensor<i1>
  }) : (tensor<5xf32>, tensor<5xi32>) -> (tensor<5xf32>, tensor<5xi32>)
  return %1#0 : tensor<5xf32>
}""",
            (np.float32(2), np.arange(5, dtype=np.int32)),
        ),
    ),
    Workaround(
        id="duplicate-results",
        backends=("cpu",),
        versions=("3.13",),
        symptom=Symptom.WRONG,
        fault="IREE miscompiles a dispatch that returns duplicate values, such as `v * x` and `x * v`: the second "
        "result is another value",
        guard="canonicalizes the order of commutative operands, and merges such operations",
        hooks=("passes.simplify.commutative:has_exchanged_operands",),
        upstream="none found (searched: dispatch returns duplicate values wrong result; 20056 dispatch region returns "
        "same value multiple times); https://github.com/iree-org/iree/pull/20065 is about values that are returned "
        "twice",
        shown_by="no small program shows it any more; merging such operations is an optimization anyway",
    ),
    Workaround(
        id="unsigned-conversion-in-product",
        backends=("cpu",),
        versions=("3.9", "3.12", "3.13"),
        symptom=Symptom.WRONG,
        fault="IREE merges a conversion from uint8 or uint16 into the matrix product that reads it, and extends the "
        "numbers as signed ones",
        guard="converts before a barrier, across which the compiler does not look",
        hooks=("passes.legalize.unsigned:dot_general_unsigned",),
        upstream="https://github.com/iree-org/iree/pull/17765 (the folding of extensions; no issue on unsigned "
        "operands was found)",
        shown_by=Program(
            """
func.func @main(%x: tensor<3x3xui8>, %y: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %0 = stablehlo.convert %x : (tensor<3x3xui8>) -> tensor<3x3xf32>
  %1 = stablehlo.dot_general %0, %y, contracting_dims = [1] x [0]
    : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  return %1 : tensor<3x3xf32>
}""",
            (np.full((3, 3), 200, np.uint8), np.ones((3, 3), np.float32)),
        ),
    ),
    Workaround(
        id="lookup-without-loops",
        backends=("cpu",),
        versions=("3.9", "3.12", "3.13"),
        symptom=Symptom.CRASH,
        fault="IREE vectorizes every operation of a dispatch that has loops, and crashes on an index that an operation "
        "without loops computes",
        guard="moves what such an operation computes to the dispatch itself, as scalars",
        hooks=("stagec.compiler.phase_workarounds:inline_lookups",),
        upstream="none found (searched: generic vectorization segfault rank 0 linalg.generic tensor.extract); "
        "https://github.com/llvm/llvm-project/issues/63688 is about lookups without indices",
        shown_by=Script(
            """
from stagec.compiler import mlir
mlir.load()
from iree.compiler import ir, passmanager
import stagec.compiler.driver
from stagec.compiler import phase_workarounds

KERNEL = '''
#scalar = affine_map<() -> ()>
#element = affine_map<(d0) -> (d0)>
#sum = affine_map<(d0) -> ()>
func.func @kernel(%x: tensor<f64>, %a: tensor<30xf64>, %k: tensor<i64>, %table: tensor<30xf64>)
    -> (tensor<f64>, tensor<f64>)
    attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>} {
  %found = linalg.generic {indexing_maps = [#scalar, #scalar], iterator_types = []}
      ins(%x : tensor<f64>) outs(%x : tensor<f64>) {
  ^bb0(%in: f64, %out: f64):
    %number = tensor.extract %k[] : tensor<i64>
    %i = arith.index_cast %number : i64 to index
    %element = tensor.extract %table[%i] : tensor<30xf64>
    %difference = arith.subf %element, %in : f64
    linalg.yield %difference : f64
  } -> tensor<f64>
  %sum = linalg.generic {indexing_maps = [#element, #sum], iterator_types = ["reduction"]}
      ins(%a : tensor<30xf64>) outs(%found : tensor<f64>) {
  ^bb0(%p: f64, %s: f64):
    %next = arith.addf %p, %s : f64
    linalg.yield %next : f64
  } -> tensor<f64>
  return %found, %sum : tensor<f64>, tensor<f64>
}'''
with ir.Context():
    module = ir.Module.parse(KERNEL)
    if GUARDED:
        assert phase_workarounds.inline_lookups(module) == 1
    vectorization = "iree-codegen-generic-vectorization{enable-vector-masking=true vectorize-copies=true}"
    passmanager.PassManager.parse(f"builtin.module(func.func({vectorization}))").run(module.operation)
    code = str(module)
assert "tensor.from_elements" in code and "iterator_types = []" not in code
"""
        ),
    ),
)

"""Faults of how IREE shares memory between values, and orders dispatches that read and write it."""

import numpy as np

from tests.workarounds.records.record import Program, Symptom, Workaround

WORKAROUNDS = (
    Workaround(
        id="update-from-the-same-memory",
        backends=("cpu",),
        versions=("3.9", "3.12", "3.13"),
        symptom=Symptom.WRONG,
        fault="IREE updates an array in place while the update, computed from other elements of the array, is still "
        "being read: `x.at[k:].set(x[:-k])` reads elements that it has written",
        guard="turns an update at a known index into a select for each element, and copies the update at another one",
        hooks=("passes.legalize.updates:update_from_the_same_memory",),
        upstream="none found (searched: source and target ranges overlap, insert_slice of slice of itself wrong "
        "result in place; dynamic_update_slice of slice of same tensor in place copy overlapping read write hazard); "
        "https://github.com/iree-org/iree/issues/17316 is about copies whose ranges overlap, which the runtime refuses",
        shown_by=Program(
            """
func.func @main(%x: tensor<16x64xf32>, %k: tensor<i32>) -> tensor<16x64xf32> {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.add %x, %x : tensor<16x64xf32>
  %1 = stablehlo.slice %0 [0:12, 0:64] : (tensor<16x64xf32>) -> tensor<12x64xf32>
  %2 = stablehlo.dynamic_update_slice %0, %1, %k, %z
    : (tensor<16x64xf32>, tensor<12x64xf32>, tensor<i32>, tensor<i32>) -> tensor<16x64xf32>
  return %2 : tensor<16x64xf32>
}""",
            (np.arange(1024, dtype=np.float32).reshape(16, 64), np.int32(1)),
        ),
    ),
    Workaround(
        id="sides-of-a-barrier",
        backends=("cpu", "vulkan"),
        versions=("3.9", "3.12", "3.13"),
        symptom=Symptom.WRONG,
        fault="IREE treats the two sides of an `optimization_barrier` as different memory, and updates one of them in "
        "place while the other is still needed",
        guard="puts one barrier before every use",
        hooks=("passes.legalize.updates:barrier_for_every_use",),
        upstream="https://github.com/iree-org/iree/pull/19735 (barriers became copies for a fault of this kind; no "
        "issue on this one was found)",
        shown_by=Program(
            """
func.func @main(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %u = stablehlo.constant dense<5.0> : tensor<1xf32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.add %x, %x : tensor<8xf32>
  %1 = stablehlo.optimization_barrier %0 : tensor<8xf32>
  %2 = stablehlo.dynamic_update_slice %1, %u, %z : (tensor<8xf32>, tensor<1xf32>, tensor<i32>) -> tensor<8xf32>
  return %0, %2 : tensor<8xf32>, tensor<8xf32>
}""",
            (np.arange(8, dtype=np.float32),),
        ),
    ),
    Workaround(
        id="update-of-computed-constants",
        backends=("cpu", "vulkan", "cuda"),
        versions=("3.9", "3.12", "3.13"),
        symptom=Symptom.WRONG,
        fault="IREE computes what follows from constants alone, such as `arange(12)`, once for all of its readers, and "
        "lets several updates write into the same memory",
        guard="forces a copy for each such update",
        hooks=("passes.legalize.control_flow:resolve_hazards",),
        upstream="https://github.com/iree-org/iree/pull/23665 (CSE merges dispatches whose results are updated)",
        shown_by=Program(
            """
func.func @main(%x: tensor<3xi32>) -> (tensor<12xi32>, tensor<12xi32>) {
  %a = stablehlo.constant dense<0> : tensor<i32>
  %b = stablehlo.constant dense<4> : tensor<i32>
  %0 = stablehlo.iota dim = 0 : tensor<12xi32>
  %1 = stablehlo.dynamic_update_slice %0, %x, %a : (tensor<12xi32>, tensor<3xi32>, tensor<i32>) -> tensor<12xi32>
  %2 = stablehlo.dynamic_update_slice %0, %x, %b : (tensor<12xi32>, tensor<3xi32>, tensor<i32>) -> tensor<12xi32>
  return %1, %2 : tensor<12xi32>, tensor<12xi32>
}""",
            (np.array([7, 8, 9], np.int32),),
            calls=2,
        ),
    ),
    Workaround(
        id="order-of-kernels",
        backends=("cpu",),
        versions=("3.12", "3.13"),
        symptom=Symptom.WRONG,
        fault="IREE runs dispatches in an order of its own, and an update in place before another dispatch that reads "
        "the same memory",
        guard="asks for the order of the program between the phases `flow` and `stream`",
        hooks=("stagec.compiler.phase_workarounds:before_stream",),
        upstream="https://github.com/iree-org/iree/issues/21053 (wrong result due to resource reuse in the stream "
        "dialect)",
        shown_by=Program(
            """
func.func @main(%x: tensor<2x1xi32>, %y: tensor<8xf32>) -> (tensor<2x1xi32>, tensor<2x1xi32>, tensor<f32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.add %x, %x : tensor<2x1xi32>
  %1 = "stablehlo.sort"(%0) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %3 = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %3 : tensor<i1>
  }) : (tensor<2x1xi32>) -> tensor<2x1xi32>
  %2 = stablehlo.reduce(%y init: %z) applies stablehlo.add across dimensions = [0]
    : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  return %0, %1, %2 : tensor<2x1xi32>, tensor<2x1xi32>, tensor<f32>
}""",
            (np.array([[7], [2]], np.int32), np.arange(8, dtype=np.float32)),
        ),
    ),
    Workaround(
        id="memory-filled-with-wide-number",
        backends=("cpu",),
        versions=("3.9", "3.12", "3.13"),
        symptom=Symptom.REFUSED,
        fault="IREE fills memory with a 64-bit number in a dispatch, merges two equal dispatches, and gives two "
        "updates the same memory; its own verifier refuses some of these programs, others have wrong results",
        guard="fills memory anew for each use, between the phases `flow` and `stream`",
        hooks=("stagec.compiler.phase_workarounds:fill_for_each_use",),
        upstream="https://github.com/iree-org/iree/pull/23665 (CSE merges dispatches whose results are updated)",
        shown_by=Program(
            """
func.func @main(%x: tensor<5xf64>, %y: tensor<5xf64>) -> (tensor<8xf64>, tensor<8xf64>) {
  %c = stablehlo.constant dense<7.5> : tensor<f64>
  %0 = stablehlo.pad %x, %c, low = [0], high = [3], interior = [0] : (tensor<5xf64>, tensor<f64>) -> tensor<8xf64>
  %1 = stablehlo.pad %y, %c, low = [0], high = [3], interior = [0] : (tensor<5xf64>, tensor<f64>) -> tensor<8xf64>
  return %0, %1 : tensor<8xf64>, tensor<8xf64>
}""",
            (np.arange(5.0), np.arange(5.0) * 2),
            shows="used resource not listed in explicit captures",
        ),
    ),
)

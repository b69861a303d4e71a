"""Programs that IREE refuses, or compiles to slow code."""

import numpy as np

from tests.workarounds.records.record import Program, Symptom, Workaround

_ARRAYS = 40
_SUM_OF_ARRAYS = "\n".join(
    [
        f"func.func @main({', '.join(f'%a{i}: tensor<4xf32>' for i in range(_ARRAYS))}) -> tensor<4xf32> {{",
        "  %s1 = stablehlo.add %a0, %a1 : tensor<4xf32>",
        *(f"  %s{i} = stablehlo.add %s{i - 1}, %a{i} : tensor<4xf32>" for i in range(2, _ARRAYS)),
        f"  return %s{_ARRAYS - 1} : tensor<4xf32>",
        "}",
    ]
)

WORKAROUNDS = (
    Workaround(
        id="scatter-forms",
        backends=("cpu", "vulkan", "cuda"),
        versions=("3.13",),
        symptom=Symptom.REFUSED,
        fault="IREE accepts scatters of rows of a matrix with one index for each row, and refuses many other forms",
        guard="rewrites every scatter into that form, with 32-bit indices and at least two rows",
        hooks=("passes.legalize.scatters:scatter_rows",),
        upstream="https://github.com/iree-org/iree/issues/24082 (scatters along other axes than the first)",
        shown_by=Program(
            """
func.func @main(%x: tensor<6xf32>, %i: tensor<3x1xi32>, %u: tensor<3x2xf32>) -> tensor<6xf32> {
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1],
    scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<6xf32>, tensor<3x1xi32>, tensor<3x2xf32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}""",
            (np.arange(6, dtype=np.float32), np.array([[4], [0], [2]], np.int32), np.ones((3, 2), np.float32)),
            shows="mismatch in shape of indices and update value",
        ),
    ),
    Workaround(
        id="more-than-32-buffers",
        backends=("cpu", "vulkan", "cuda"),
        versions=("3.13",),
        symptom=Symptom.REFUSED,
        fault="IREE fuses an expression over any number of arrays into one dispatch, and its runtime refuses a "
        "dispatch of more than 32 buffers",
        guard="stores parts of an expression over more than 24 arrays",
        hooks=("passes.legalize.many_operands:divide",),
        upstream="https://github.com/iree-org/iree/issues/5152 (binding count 37 > 32; closed)",
        shown_by=Program(
            _SUM_OF_ARRAYS, tuple(np.full(4, i, np.float32) for i in range(_ARRAYS)), shows="binding count 41 > 32"
        ),
    ),
    Workaround(
        id="indices-out-of-range",
        backends=("cpu", "vulkan", "cuda"),
        versions=("3.9", "3.12", "3.13"),
        symptom=Symptom.CRASH,
        fault="IREE reads and writes outside of arrays where an index of a gather or a scatter is out of range",
        guard="clamps the indices of gathers; replaces updates of scatters that are out of range, or gives them a row "
        "of their own",
        hooks=("passes.legalize.indices:gather_within_array", "passes.legalize.scatters:scatter_rows"),
        upstream="https://github.com/iree-org/iree/issues/24881 (gathers read other memory; none on scatters was "
        "found)",
        shown_by=Program(
            """
func.func @main(%x: tensor<4xf32>, %i: tensor<2x1xi32>, %u: tensor<2xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0],
    scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<4xf32>, tensor<2x1xi32>, tensor<2xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}""",
            (np.arange(4, dtype=np.float32), np.array([[900000000], [1]], np.int32), np.full(2, 7, np.float32)),
        ),
    ),
    Workaround(
        id="unsigned-indices",
        backends=("cpu", "vulkan", "cuda"),
        versions=("3.13",),
        symptom=Symptom.WRONG,
        fault="IREE reads unsigned indices of a gather as signed ones: 200 of 8 bits is -56",
        guard="converts them to a wider signed type",
        hooks=("passes.simplify.indexing:signed",),
        upstream="none found (searched: stablehlo gather ui8 unsigned indices sign extension wrong element); "
        "https://github.com/iree-org/iree/pull/14354 is about unsigned numbers that are scattered",
        shown_by=Program(
            """
func.func @main(%x: tensor<250xf32>, %i: tensor<2x1xui8>) -> tensor<2xf32> {
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0],
    start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}>
    : (tensor<250xf32>, tensor<2x1xui8>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}""",
            (np.arange(250, dtype=np.float32), np.array([[200], [3]], np.uint8)),
        ),
    ),
    Workaround(
        id="layout-of-convolutions",
        backends=("cpu",),
        versions=("3.13",),
        symptom=Symptom.SLOW,
        fault="IREE vectorizes convolutions in one layout only, features last; in others, they run in a scalar "
        "loop, tens of times as slow",
        guard="transposes every convolution into that layout",
        hooks=("passes.legalize.convolutions:features_last",),
        upstream="https://github.com/iree-org/iree/issues/10278 (only convolutions with features last are vectorized; "
        "closed)",
        shown_by="a matter of time; `tests/passes/legalize/test_legalize_convolutions.py` shows the rewrite",
    ),
    Workaround(
        id="vectors-of-booleans",
        backends=("cpu",),
        versions=("3.13",),
        symptom=Symptom.SLOW,
        fault="IREE has no vectors for reductions of booleans, and for extremes, roots and roundings of 16-bit floats",
        guard="computes them on bytes and on float32",
        hooks=("passes.legalize.widening:reduce_wider", "passes.legalize.widening:half_in_single"),
        upstream="none found (searched: i1 reduction not vectorized llvm-cpu)",
        shown_by="a matter of time; `tests/passes/legalize/test_legalize_widening.py` shows the rewrite",
    ),
    Workaround(
        id="rare-branches",
        backends=("cpu",),
        versions=("3.13",),
        symptom=Symptom.SLOW,
        fault="IREE computes both operands of a select between vectors; the second reduction of an angle, for large "
        "numbers, would make each sine several times as slow",
        guard="makes it a branch that is taken if a vector holds a large number, after IREE has made LLVM functions of "
        "the kernels",
        hooks=("stagec.compiler.rare:branch",),
        upstream="none found: not a fault",
        shown_by="a matter of time; `tests/compiler/test_rare.py` shows the rewrite",
    ),
    Workaround(
        id="stack-of-kernels",
        backends=("cpu",),
        versions=("3.13",),
        symptom=Symptom.REFUSED,
        fault="IREE refuses kernels that need more than 32 KiB of stack",
        guard="allows 1 MiB, and gives the runtime's worker threads stacks of 4 MiB",
        hooks=("stagec.backends.cpu:Cpu.flags", "stagec.runtime.device:instance"),
        upstream="https://github.com/iree-org/iree/issues/11447 (stack allocation failure on CPU)",
        shown_by="which programs are fused into such kernels changes with each release; "
        "`tests/runtime/test_traps.py` runs one",
    ),
    Workaround(
        id="ladder-of-flags",
        backends=("cpu",),
        versions=("3.13",),
        symptom=Symptom.REFUSED,
        fault="IREE refuses some programs with its optimizations on, and with operations in one dispatch",
        guard="tries a ladder of flag sets, the fastest first, until one works. The last, `separate`, leaves out "
        "optimizations, and puts every operation into a dispatch of its own",
        hooks=("stagec.compiler.flags:ladder", "passes.legalize.disable_fusion:disable_fusion"),
        upstream="https://github.com/iree-org/iree/issues/24876 (large vectors with data tiling; closed)",
        shown_by="`tests/compiler/test_driver.py` shows programs that need a later flag set",
    ),
)

"""Faults in code for AMD GPUs. No such GPU was available, so the results of compiled programs are not known."""

from __future__ import annotations

from tests.workarounds.records.record import Program, Symptom, Workaround

_TARGET = "rocm:gfx942"

WORKAROUNDS = (
    Workaround(
        id="vectors-of-one-float64",
        backends=("rocm",),
        versions=("3.13",),
        symptom=Symptom.CRASH,
        fault="LLVM's instruction selection for AMD GPUs crashes on vectors of one float64, such as a rounding of a "
        "number that was given the sign of another one",
        guard="computes with scalars instead, between the compiler's phases",
        hooks=("stagec.compiler.lanes:scalarize",),
        upstream="https://github.com/iree-org/iree/issues/24879 (signs of float64 crash LLVM's instruction selection)",
        shown_by=Program(
            """func.func @main(%x: tensor<5xf32>) -> tensor<5xf32> {
              %sign = stablehlo.constant dense<-9223372036854775808> : tensor<5xi64>
              %one = stablehlo.constant dense<4607182418800017408> : tensor<5xi64>
              %0 = stablehlo.convert %x : (tensor<5xf32>) -> tensor<5xf64>
              %1 = stablehlo.bitcast_convert %0 : (tensor<5xf64>) -> tensor<5xi64>
              %2 = stablehlo.and %1, %sign : tensor<5xi64>
              %3 = stablehlo.or %2, %one : tensor<5xi64>
              %4 = stablehlo.bitcast_convert %3 : (tensor<5xi64>) -> tensor<5xf64>
              %5 = stablehlo.convert %4 : (tensor<5xf64>) -> tensor<5xf32>
              return %5 : tensor<5xf32> }""",
            target=_TARGET,
        ),
    ),
    Workaround(
        id="complex-products",
        backends=("rocm",),
        versions=("3.13",),
        symptom=Symptom.CRASH,
        fault="IREE's pass VectorizeMemrefCopy asks for the bit width of a complex type, where a kernel multiplies "
        "complex matrices and copies the result between memories",
        guard="multiplies the parts, and stores the products before they are combined",
        hooks=("passes.legalize.complex_products:dot_general_complex",),
        upstream="none found (searched: VectorizeMemrefCopy TileLinalgCopy getCopyTileSizes complex element type); "
        "https://github.com/iree-org/iree/pull/17247 is about the same question in code for CPUs",
        shown_by=Program(
            """func.func @main(%x: tensor<3x4xcomplex<f32>>, %y: tensor<4x2xcomplex<f32>>) -> tensor<3x2xcomplex<f32>> {
              %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0]
                : (tensor<3x4xcomplex<f32>>, tensor<4x2xcomplex<f32>>) -> tensor<3x2xcomplex<f32>>
              return %0 : tensor<3x2xcomplex<f32>> }""",
            target=_TARGET,
        ),
    ),
    Workaround(
        id="crashes-for-amd-gpus",
        backends=("rocm",),
        versions=("3.13",),
        symptom=Symptom.CRASH,
        fault="IREE or LLVM may crash on other programs, too, and end the process that called it",
        guard="runs the compiler in a new process, tries the other flag sets after a crash, and names the operation",
        hooks=("stagec.backends.rocm:Rocm.crashes", "stagec.compiler.driver:may_crash"),
        upstream="none found: a precaution",
        shown_by="`tests/compiler/test_outside.py` compiles a program that crashes it",
    ),
)

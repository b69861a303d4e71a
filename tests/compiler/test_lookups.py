"""Elements looked up by an operation without loops: the compiler's vectorization ends the process."""

import subprocess
import sys

# What the compiler makes of `table[k] - x` beside `a @ b`, in one kernel.
PROGRAM = '''
import sys
from stagec.compiler import mlir, phase_workarounds
mlir.load()
from iree.compiler import ir, passmanager
import stagec.compiler.driver
kernel = """
#scalar = affine_map<() -> ()>
#element = affine_map<(d0) -> (d0)>
#sum = affine_map<(d0) -> ()>
func.func @kernel(%x: tensor<f64>, %a: tensor<30xf64>, %b: tensor<30xf64>, %k: tensor<i64>, %table: tensor<30xf64>)
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
  %sum = linalg.generic {indexing_maps = [#element, #element, #sum], iterator_types = ["reduction"]}
      ins(%a, %b : tensor<30xf64>, tensor<30xf64>) outs(%found : tensor<f64>) {
  ^bb0(%p: f64, %q: f64, %s: f64):
    %pq = arith.mulf %p, %q : f64
    %next = arith.addf %pq, %s : f64
    linalg.yield %next : f64
  } -> tensor<f64>
  return %found, %sum : tensor<f64>, tensor<f64>
}
"""
vectorization = "iree-codegen-generic-vectorization{enable-vector-masking=true vectorize-copies=true}"
with ir.Context():
    module = ir.Module.parse(kernel)
    print(phase_workarounds.inline_lookups(module))
    passmanager.PassManager.parse(f"builtin.module(func.func({vectorization}))").run(module.operation)
    print(module)
'''


def test_what_looks_up_elements_without_loops_is_scalar_code():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    count, code = done.stdout.split("\n", 1)
    assert count == "1"
    assert "tensor.from_elements" in code and "iterator_types = []" not in code
    assert "vector.contract" in code or "vector.multi_reduction" in code

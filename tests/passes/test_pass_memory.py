"""What rewrites keep in memory after they are done."""

import gc
import weakref

from pass_helpers import parse

from passes.match import operations_in
from passes.simplify import constants


def test_an_array_that_was_computed_is_freed_without_a_collection():
    module = parse("""func.func @main() -> tensor<8xi32> {
  %0 = stablehlo.iota dim = 0 : tensor<8xi32>
  %1 = stablehlo.add %0, %0 : tensor<8xi32>
  return %1 : tensor<8xi32>
}""")
    (add,) = operations_in(module, "stablehlo.add")
    gc.disable()
    try:
        array = constants.computed(add.results[0], 8)
        assert array.tolist() == [0, 2, 4, 6, 8, 10, 12, 14]
        kept = weakref.ref(array)
        del array
        assert kept() is None
    finally:
        gc.enable()

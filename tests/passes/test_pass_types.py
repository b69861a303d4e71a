"""Element types of MLIR, by name."""

import pytest

from passes import bindings
from passes.types import spelled

NAMES = "i1 i4 i8 i64 ui8 ui64 si8 f16 bf16 f32 f64 f8E4M3FN complex<f32> complex<f64> index".split()


@pytest.mark.parametrize("name", NAMES)
def test_an_element_type_is_spelled_as_mlir_prints_it(name):
    assert spelled(bindings.ir.Type.parse(name, bindings.new_context())) == name

"""Element types of MLIR by name, and constants of them."""

import ml_dtypes  # noqa: F401  (its dtypes have names that NumPy takes)
import numpy as np
import pytest

from passes import bindings, build
from passes.types import spelled

NAMES = "i1 i4 i8 i64 ui8 ui64 si8 f16 bf16 f32 f64 f8E4M3FN complex<f32> complex<f64> index".split()


@pytest.mark.parametrize("name", NAMES)
def test_an_element_type_is_spelled_as_mlir_prints_it(name):
    assert spelled(bindings.ir.Type.parse(name, bindings.new_context())) == name


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i1", "u4", "?", "bfloat16"])
def test_a_number_that_is_spread_is_one_number_in_the_module(dtype, monkeypatch):
    number = np.asarray(float("nan") if dtype in ("f4", "bfloat16") else 1).astype(dtype)
    with bindings.new_context(), bindings.ir.Location.unknown():
        whole = bindings.ir.Module.parse("module {}")
        with bindings.ir.InsertionPoint(whole.body):
            expected = build.constant(np.full((3, 4), number))
            monkeypatch.setattr(np, "ascontiguousarray", lambda array: pytest.fail("copied") if array.ndim else array)
            actual = build.constant(np.broadcast_to(number, (3, 4)))
        assert actual.owner.attributes["value"] == expected.owner.attributes["value"]
        assert actual.type == expected.type


def test_a_number_is_made_once_in_a_block_of_rewrites(monkeypatch):
    made, dense = [], build._dense
    monkeypatch.setattr(build, "_dense", lambda array, element: made.append(array) or dense(array, element))
    with bindings.new_context(), bindings.ir.Location.unknown(), build.attribute_cache():
        whole = bindings.ir.Module.parse("module {}")
        with bindings.ir.InsertionPoint(whole.body):
            types = [build.tensor_type(shape, np.dtype(d)) for shape in ((), (3,)) for d in ("f4", "i4")]
            found = [build.full(number, type_) for number in (0, 1, 0, 1, -0.0) for type_ in types]
    assert len(made) == 10
    values = [str(f.owner.attributes["value"]) for f in found[:4] + found[-4:]]
    assert [v.partition(" ")[0] for v in values] == 2 * ["dense<0.000000e+00>", "dense<0>"] + 2 * [
        "dense<-0.000000e+00>",
        "dense<0>",
    ]

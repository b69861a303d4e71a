"""The laws inside whole modules: scalars, empty arrays, bodies of reductions, locations, a second run."""

from __future__ import annotations

import numpy as np
import pytest
from iree.compiler import ir
from legalize_harness import Compiled, binary, unary

import passes
from passes import bindings
from passes.legalize import PATTERNS_CPU

SCALAR = """
func.func @scalar(%a: tensor<f64>) -> tensor<f64> {
  %0 = stablehlo.sine %a : tensor<f64>
  return %0 : tensor<f64>
}
"""
LOGSUMEXP = """
func.func @fold(%a: tensor<5xf64>) -> tensor<f64> {
  %i = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
  %0 = stablehlo.reduce(%a init: %i) across dimensions = [0] : (tensor<5xf64>, tensor<f64>) -> tensor<f64>
    reducer(%p: tensor<f64>, %q: tensor<f64>) {
      %m = stablehlo.maximum %p, %q : tensor<f64>
      %x = stablehlo.subtract %p, %m : tensor<f64>
      %y = stablehlo.subtract %q, %m : tensor<f64>
      %u = stablehlo.exponential %x : tensor<f64>
      %v = stablehlo.exponential %y : tensor<f64>
      %s = stablehlo.add %u, %v : tensor<f64>
      %l = stablehlo.log %s : tensor<f64>
      %r = stablehlo.add %m, %l : tensor<f64>
      stablehlo.return %r : tensor<f64>
    }
  return %0 : tensor<f64>
}
"""
SQUARE = """
func.func @square(%a: tensor<3xf64>) -> tensor<3xf64> {
  %two = stablehlo.constant dense<2.0> : tensor<3xf64>
  %0 = stablehlo.power %a, %two : tensor<3xf64>
  return %0 : tensor<3xf64>
}
"""


@pytest.fixture(scope="module")
def compiled():
    return Compiled({"scalar": SCALAR, "fold": LOGSUMEXP, "square": SQUARE})


def legalized(*functions):
    context = bindings.new_context()
    with context:
        module = ir.Module.parse("\n".join(functions))
        hits = passes.apply(module, PATTERNS_CPU)
    assert module.operation.verify()
    return module, hits


def test_a_scalar_is_computed(compiled):
    np.testing.assert_allclose(compiled("scalar", np.array(1.25)), np.sin(1.25), rtol=4e-16)


def test_the_body_of_a_reduction_may_hold_functions(compiled):
    x = np.array([0.5, -1.0, 3.0, 2.0, 0.0])
    np.testing.assert_allclose(compiled("fold", x), np.logaddexp.reduce(x), rtol=1e-15)


def test_a_constant_exponent_of_two_is_a_product(compiled):
    x = np.array([1.1, -3.3, np.inf])
    assert compiled("square", x).tolist() == (x * x).tolist()
    assert "stablehlo.map" not in str(legalized(SQUARE)[0])


def test_an_empty_array_verifies():
    module, hits = legalized(unary("main", "stablehlo.sine", "f64", "f64", 0))
    assert hits["expand_sine"] == 1
    assert "stablehlo.sine" not in str(module)


def test_a_second_run_changes_nothing():
    texts = [unary("a", "stablehlo.convert", "f32", "i8", 4), unary("b", "chlo.erf_inv", "f32", "f32", 4)]
    texts += [
        unary("c", "stablehlo.tan", "complex<f64>", "complex<f64>", 4),
        binary("d", "stablehlo.remainder", "f64", 4),
    ]
    texts += [binary("e", "stablehlo.power", "ui8", 4), unary("f", "stablehlo.convert", "i8", "ui32", 4)]
    module, _ = legalized(*texts)
    before = str(module)
    with module.context:
        assert not any(passes.apply(module, PATTERNS_CPU).values())
    assert str(module) == before


def test_what_the_backend_does_well_is_left_alone():
    functions = [unary("a", "stablehlo.exponential", "f32", "f32", 4), unary("b", "stablehlo.convert", "i32", "f32", 4)]
    functions += [unary("c", "stablehlo.sqrt", "f64", "f64", 4), binary("d", "stablehlo.divide", "i32", 4)]
    _, hits = legalized(*functions)
    assert not any(hits.values())


def test_new_ops_take_the_location_of_the_op_they_replace():
    text = unary("main", "stablehlo.sine", "f64", "f64", 4).replace(
        "-> tensor<4xf64> return", '-> tensor<4xf64> loc("user.py":7:3) return'
    )
    module, _ = legalized(text)
    seen = set()

    def visit(op):
        # MLIR's driver merges equal constants and drops their locations.
        if op.name.startswith("stablehlo.") and op.name != "stablehlo.constant":
            seen.add(str(op.location))
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    assert seen == {'loc("user.py":7:3)'}


@pytest.mark.parametrize("law", PATTERNS_CPU, ids=lambda law: law.name)
def test_every_law_states_itself(law):
    assert law.doc
    assert law.fingerprint() == law.fingerprint()


def test_every_law_has_a_fingerprint_of_its_own():
    assert len({law.fingerprint() for law in PATTERNS_CPU}) == len(PATTERNS_CPU)

"""Regions of operations: those of equal operations are read once, and have a number in common."""

import pytest

from passes import bindings
from passes.kernels import structure
from passes.kernels.straight.lazy import operands_of

TEXT = """
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>, %n: tensor<f32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<1.0> : tensor<f32>
  %d = stablehlo.constant dense<2.0> : tensor<f32>
  {maps}
  return %x : tensor<4xf32>
}
"""
MAP = """
  %{name} = "stablehlo.map"(%{of}) ({{
    ^bb0(%a: tensor<f32>):
      %0 = stablehlo.multiply %a, %{by} : tensor<f32>
      %1 = stablehlo.{op} %0, %c : tensor<f32>
      stablehlo.return %1 : tensor<f32>
  }}) {{dimensions = array<i64: 0>}} : (tensor<4xf32>) -> tensor<4xf32>
"""


def maps(*rows):
    """The module, and its maps: the operand, a value from outside, and an operation of each."""
    text = "".join(MAP.format(name=f"m{n}", of=of, by=by, op=op) for n, (of, by, op) in enumerate(rows))
    module = bindings.ir.Module.parse(TEXT.replace("{maps}", text), bindings.new_context())
    block = module.body.operations[0].regions[0].blocks[0]
    return module, [op.operation for op in block.operations if op.operation.name == "stablehlo.map"]


@pytest.fixture
def read(monkeypatch):
    """The blocks that are read."""
    blocks, of_block = [], structure.of_block
    monkeypatch.setattr(structure, "of_block", lambda block, numbers: blocks.append(block) or of_block(block, numbers))
    return blocks


def test_equal_regions_of_other_operands_are_read_once(read):
    module, (first, second) = maps(("x", "d", "add"), ("y", "d", "add"))
    bodies, before = structure.Bodies({}), str(module)
    assert bodies.of(first) == bodies.of(second)
    assert len(read) == 1
    assert str(module) == before


@pytest.mark.parametrize("other", [("x", "c", "add"), ("x", "d", "subtract")])
def test_regions_with_other_constants_or_operations_are_other_ones(other):
    _, (first, second) = maps(("x", "d", "add"), other)
    bodies = structure.Bodies({})
    assert bodies.of(first).kind != bodies.of(second).kind


def test_what_uses_a_value_from_outside_has_no_number():
    _, (op,) = maps(("x", "n", "add"))
    body = structure.Bodies({}).of(op)
    assert body.kind is None
    assert operands_of(op, structure.Bodies({})) == operands_of(op) == [op.operands[0], *body.captured]


def test_numbers_hold_for_another_object_with_the_same_table():
    kinds = {}
    _, (first, second) = maps(("x", "d", "add"), ("y", "d", "subtract"))
    assert structure.Bodies(kinds).of(first).kind == 0
    assert structure.Bodies(kinds).of(second).kind == 1
    assert structure.Bodies(kinds).of(first).kind == 0


def test_keys_of_equal_operations_are_equal_with_numbers_of_regions():
    _, (first, second, third) = maps(("x", "d", "add"), ("y", "d", "add"), ("y", "d", "subtract"))
    bodies = structure.Bodies({})
    keys = [structure.of(op, {}, bodies) for op in (first, second, third)]
    assert keys[0] == keys[1] != keys[2]

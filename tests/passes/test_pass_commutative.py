"""Ops that differ in the order of commutative operands become one."""

import pytest
from pass_helpers import op_names, parse

import passes
from passes import simplify
from passes.simplify import commutative

ARGUMENTS = "%x: tensor<4xi32>, %y: tensor<4xi32>"
T = ": tensor<4xi32>"


def merged(body, results):
    types = ", ".join(["tensor<4xi32>"] * results)
    values = ", ".join(f"%{i}" for i in range(results))
    text = f"func.func @main({ARGUMENTS}) -> ({types}) {{ {body} return {values} : {types} }}"
    module = parse(text)
    passes.run(module, "cse")
    return op_names(module)


@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "minimum", "and", "or", "xor"])
def test_ops_with_exchanged_operands_become_one(name):
    body = f"%0 = stablehlo.{name} %x, %y {T}\n%1 = stablehlo.{name} %y, %x {T}\n"
    assert merged(body, 2) == [name]


def test_ops_on_merged_ops_become_one():
    body = f"%0 = stablehlo.add %x, %y {T}\n%a = stablehlo.negate %0 {T}\n%1 = stablehlo.multiply %a, %x {T}\n"
    body += f"%b = stablehlo.add %y, %x {T}\n%c = stablehlo.negate %b {T}\n%2 = stablehlo.multiply %x, %c {T}\n"
    assert merged(body, 3) == ["add", "negate", "multiply"]


def test_the_order_of_a_difference_stays():
    body = f"%0 = stablehlo.subtract %x, %y {T}\n%1 = stablehlo.subtract %y, %x {T}\n"
    assert merged(body, 2) == ["subtract", "subtract"]


def test_the_same_operands_with_other_attributes_stay_apart():
    body = f"%0 = stablehlo.reverse %x, dims = [0] {T}\n%1 = stablehlo.add %0, %x {T}\n%2 = stablehlo.add %x, %x {T}\n"
    assert merged(body, 3) == ["reverse", "add", "add"]


def test_operands_are_canonicalized_only_where_some_are_exchanged(monkeypatch):
    monkeypatch.setattr(commutative, "canonicalize", lambda module: pytest.fail("there are none"))
    assert merged(f"%0 = stablehlo.add %x, %y {T}\n%1 = stablehlo.multiply %0, %x {T}\n", 2) == ["add", "multiply"]


@pytest.mark.parametrize(
    ("body", "looks"),
    [
        # A law that leaves nothing to merge.
        (f"%a = stablehlo.not %x {T}\n%0 = stablehlo.not %a {T}\n", 1),
        # One that makes two equal operations, of which another law makes zero.
        (
            f"%a = stablehlo.not %x {T}\n%b = stablehlo.not %a {T}\n%c = stablehlo.add %b, %y {T}\n"
            f"%d = stablehlo.add %x, %y {T}\n%0 = stablehlo.subtract %c, %d {T}\n",
            2,
        ),
    ],
)
def test_laws_are_applied_again_only_where_merging_changed_something(monkeypatch, body, looks):
    found, apply_own = [], simplify.apply_own
    monkeypatch.setattr(simplify, "apply_own", lambda *args: found.append(apply_own(*args)) or found[-1])
    module = parse(f"func.func @main({ARGUMENTS}) -> tensor<4xi32> {{ {body} return %0 {T} }}")
    passes.run(module, "simplify")
    assert len(found) == looks and all(found)
    assert op_names(module) == ["constant"][: looks - 1]

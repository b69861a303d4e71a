"""Results are written over arguments only where no other element still needs the old values."""

import pytest
from pass_helpers import parse

from passes.analysis.in_place import keep_safe_reuse

T = "tensor<8xf32>"


def program(body, results="%r", donated=0):
    kinds = ", ".join([T] * len(results.split(",")))
    return parse(
        f"func.func @main(%a: {T} {{iree.abi.output = {donated} : index}}, %b: {T}) -> ({kinds}) {{\n"
        f"{body}\nreturn {results} : {kinds}\n}}"
    )


SAFE = {
    "elementwise": f"%r = stablehlo.add %a, %b : {T}",
    "elementwise twice": f"%0 = stablehlo.sine %a : {T}\n%r = stablehlo.add %0, %a : {T}",
    "an operand that was moved": f"%0 = stablehlo.reverse %b, dims = [0] : {T}\n%r = stablehlo.add %a, %0 : {T}",
    "a converted intermediate": f"%0 = stablehlo.convert %a : ({T}) -> tensor<8xf16>\n"
    f"%r = stablehlo.convert %0 : (tensor<8xf16>) -> {T}",
}
UNSAFE = {
    "reversed": f"%0 = stablehlo.reverse %a, dims = [0] : {T}\n%r = stablehlo.add %a, %0 : {T}",
    "reversed after a function": f"%0 = stablehlo.sine %a : {T}\n%1 = stablehlo.reverse %0, dims = [0] : {T}\n"
    f"%r = stablehlo.add %0, %1 : {T}",
    "a part of it": f"%0 = stablehlo.slice %a [0:1] : ({T}) -> tensor<1xf32>\n"
    f"%1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<1xf32>) -> {T}\n%r = stablehlo.add %a, %1 : {T}",
}


@pytest.mark.parametrize("name", SAFE)
def test_an_argument_that_serves_its_own_place_is_reused(name):
    module = program(SAFE[name])
    assert keep_safe_reuse(module) == (0,)
    assert "iree.abi.output" in str(module)


@pytest.mark.parametrize("name", UNSAFE)
def test_an_argument_that_serves_other_places_is_not(name):
    module = program(UNSAFE[name])
    assert keep_safe_reuse(module) == ()
    assert "iree.abi.output" not in str(module)


def test_an_argument_that_two_results_need_is_not_reused():
    body = f"%r = stablehlo.sine %a : {T}\n%s = stablehlo.add %a, %b : {T}"
    assert keep_safe_reuse(program(body, "%r, %s")) == ()
    assert keep_safe_reuse(program(body, "%r, %r")) == ()

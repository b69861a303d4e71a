"""What is known of a value holds for what it is."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from law_examples import sample_arguments
from pass_helpers import parse
from test_pass_programs import programs
from test_random_programs import TIMES

from passes import run
from passes.analysis.facts import Facts, of
from passes.match import functions
from passes.numeric.interpreter import interpret
from passes.types import numpy_dtype


def returning_all(text):
    """The program, which returns every value that it computes."""
    head, _, body = text.partition("{\n")
    lines = [line.strip() for line in body.splitlines() if " = " in line and not line.strip().startswith("return")]
    module = parse(text)
    operations = [op.operation for op in functions(module)["main"].regions[0].blocks[0].operations][:-1]
    names = [line.split(" = ")[0] for line in lines]
    types = ", ".join(str(op.results[0].type) for op in operations)
    assert len(names) == len(operations)
    return f"{head.rpartition('->')[0]}-> ({types}) {{\n{chr(10).join(lines)}\nreturn {', '.join(names)} : {types}\n}}"


@settings(max_examples=60 * TIMES, deadline=None)
@given(text=programs(), seed=st.integers(0, 1 << 16))
def test_every_value_is_what_is_known_of_it(text, seed):
    module = parse(returning_all(text))
    arrays = sample_arguments(module, seed)
    *_, end = functions(module)["main"].regions[0].blocks[0].operations
    for value, array in zip(end.operation.operands, interpret(module, *arrays)):
        assert agrees(of(value), array), f"{value}\n{of(value)}\n{array}\n{module}"


def agrees(facts, array):
    floating = array.dtype.kind == "f"
    nan = np.isnan(array) if floating else np.zeros(array.shape, bool)
    numbers = array[~nan]
    if not floating:
        return all(facts.low <= int(n) <= facts.high for n in numbers)
    return (
        (facts.nan or not nan.any())
        and bool(((numbers >= facts.low) & (numbers <= facts.high)).all())
        and (facts.minus_zero or not ((numbers == 0) & np.signbit(numbers)).any())
        and (not facts.whole or bool((np.trunc(numbers) == numbers).all()))
    )


@pytest.mark.parametrize(
    ("line", "kind", "facts"),
    [
        ("stablehlo.iota dim = 0", "i32", Facts(0, 3)),
        ("stablehlo.iota dim = 0", "f32", Facts(0, 3)),
        ("stablehlo.exponential %x", "f32", Facts(0, math.inf, True, False, False)),
        ("stablehlo.multiply %x, %x", "f32", Facts(0, math.inf, True, False, False)),
        ("stablehlo.multiply %x, %x", "i8", Facts(-128, 127)),
        ("stablehlo.sine %x", "f16", Facts(-2, 2, True, True, False)),
        ("stablehlo.popcnt %x", "ui8", Facts(0, 8)),
        ("stablehlo.constant dense<[1, 2, 3, 9]>", "i32", Facts(1, 9)),
    ],
)
def test_known_of_one_operation(line, kind, facts):
    t = f"tensor<4x{kind}>"
    module = parse(f"func.func @main(%x: {t}) -> {t} {{\n%r = {line} : {t}\nreturn %r : {t}\n}}")
    *_, end = functions(module)["main"].regions[0].blocks[0].operations
    assert facts == of(end.operation.operands[0])


@pytest.mark.parametrize(
    ("line", "kind", "start", "facts"),
    [
        ("stablehlo.negate %x", "f32", "0.0", Facts(-math.inf, math.inf, True, False, False)),
        ("stablehlo.negate %x", "f32", "-0.0", Facts(-math.inf, math.inf, True, True, False)),
        ("stablehlo.iota dim = 0", "f32", "1.0", Facts(1, math.inf)),
        ("stablehlo.multiply %x, %x", "f16", "0.0", Facts(0, math.inf, True, False, False)),
        ("stablehlo.popcnt %x", "ui8", "2", Facts(2, 34)),
        ("stablehlo.negate %x", "i8", "0", Facts(-128, 127)),
    ],
)
def test_known_of_sums(line, kind, start, facts):
    t = f"tensor<4x{kind}>"
    module = parse(
        f"func.func @main(%x: {t}) -> tensor<{kind}> {{\n%0 = {line} : {t}\n"
        f"%c = stablehlo.constant dense<{start}> : tensor<{kind}>\n"
        f"%r = stablehlo.reduce(%0 init: %c) applies stablehlo.add across dimensions = [0] : "
        f"({t}, tensor<{kind}>) -> tensor<{kind}>\nreturn %r : tensor<{kind}>\n}}"
    )
    *_, end = functions(module)["main"].regions[0].blocks[0].operations
    assert facts == of(end.operation.operands[0])


@pytest.mark.parametrize("source", ["i32", "ui32", "i64", "ui64"])
@pytest.mark.parametrize("target", ["f16", "f32", "f64"])
def test_converted_integers_are_within_their_bounds(source, target):
    text = f"%r = stablehlo.convert %x : (tensor<6x{source}>) -> tensor<6x{target}>"
    module = parse(
        f"func.func @main(%x: tensor<6x{source}>) -> tensor<6x{target}> {{\n{text}\nreturn %r : tensor<6x{target}>\n}}"
    )
    *_, end = functions(module)["main"].regions[0].blocks[0].operations
    info = np.iinfo(numpy_dtype(functions(module)["main"].regions[0].blocks[0].arguments[0].type.element_type))
    numbers = np.array([info.min, info.min + 1, 0, 5, info.max - 1, info.max], info.dtype)
    (converted,) = interpret(module, numbers)
    assert agrees(of(end.operation.operands[0]), converted)


def test_a_converted_uint64_is_compared():
    text = """func.func @main(%x: tensor<3xui64>) -> tensor<3xi1> {
      %c = stablehlo.constant dense<5.0> : tensor<3xf32>
      %0 = stablehlo.convert %x : (tensor<3xui64>) -> tensor<3xf32>
      %1 = stablehlo.compare LT, %0, %c : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
      return %1 : tensor<3xi1>
    }"""
    module = parse(text)
    run(module, "simplify")
    (less,) = interpret(module, np.array([0, 4, 6], np.uint64))
    assert less.tolist() == [True, True, False]


@pytest.mark.parametrize("kind", ["complex<f32>", "f8E4M3FN"])
def test_nothing_is_known_of_other_types(kind):
    t = f"tensor<4x{kind}>"
    module = parse(f"func.func @main(%x: {t}) -> {t} {{\nreturn %x : {t}\n}}")
    *_, end = functions(module)["main"].regions[0].blocks[0].operations
    assert of(end.operation.operands[0]) is None

# ruff: noqa: E501 (MLIR text)
"""Random programs mean the same before and after each pass."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from law_examples import sample_arguments
from pass_helpers import parse, same_bits

import stagec
import stagec.numpy as snp
from passes import PassOptions, run
from passes.numeric.interpreter import interpret

SHAPE = (2, 3)
FLOAT, INT, BOOL = "f32", "i32", "i1"
CONSTANTS = {
    FLOAT: ["0.0", "-0.0", "1.0", "-1.0", "2.0", "4.0", "0x7F800000", "0xFF800000", "0x7FC00000", "3.5"],
    INT: ["0", "1", "-1", "2", "7", "-2147483648"],
    BOOL: ["true", "false"],
    "i8": ["0", "1", "-1", "2", "7", "-128", "127"],
    "ui8": ["0", "1", "2", "4", "7", "255", "128"],
}
FLOAT_UNARY = [
    "negate",
    "abs",
    "floor",
    "ceil",
    "sign",
    "sqrt",
    "round_nearest_even",
    "round_nearest_afz",
    "sine",
    "cosine",
    "exponential",
    "logistic",
    "tanh",
]
FLOAT_BINARY = ["add", "subtract", "multiply", "divide", "maximum", "minimum", "remainder"]
INT_UNARY = ["negate", "not", "abs", "sign", "popcnt", "count_leading_zeros"]
INT_BINARY = ["add", "subtract", "multiply", "maximum", "minimum", "and", "or", "xor", "divide", "remainder",
              "shift_left", "shift_right_logical", "shift_right_arithmetic"]  # fmt: skip


def tensor(kind, shape=SHAPE):
    return f"tensor<{'x'.join(map(str, shape))}x{kind}>"


@st.composite
def programs(draw):
    """MLIR text of a function of two float, two integer and two boolean arguments."""
    integer = draw(st.sampled_from([INT, INT, "i8", "ui8"]))
    values = {FLOAT: ["%x", "%y"], integer: ["%i", "%j"], BOOL: ["%p", "%q"]}
    int_unary = [name for name in INT_UNARY if integer != "ui8" or name not in ("abs", "sign", "negate")]
    lines = []

    def emit(kind, text):
        name = f"%v{len(lines)}"
        lines.append(f"{name} = {text}")
        values[kind].append(name)

    for _ in range(draw(st.integers(1, 14))):
        kind = draw(st.sampled_from([FLOAT, FLOAT, integer, BOOL]))
        t = tensor(kind)

        def pick(kind=kind):
            return draw(st.sampled_from(values[kind][-5:] + values[kind][:2]))

        form = draw(
            st.sampled_from(
                ["constant", "unary", "binary", "binary", "select", "convert", "clamp", "iota", "move", "case"]
            )
        )
        if form == "constant":
            emit(kind, f"stablehlo.constant dense<{draw(st.sampled_from(CONSTANTS[kind]))}> : {t}")
        elif form == "unary" and kind != BOOL:
            name = draw(st.sampled_from(FLOAT_UNARY if kind == FLOAT else int_unary))
            emit(kind, f"stablehlo.{name} {pick()} : {t}")
        elif form == "iota" and kind != BOOL:
            emit(kind, f"stablehlo.iota dim = {draw(st.integers(0, 1))} : {t}")
        elif form == "clamp" and kind != BOOL:
            emit(kind, f"stablehlo.clamp {pick()}, {pick()}, {pick()} : ({t}, {t}, {t}) -> {t}")
        elif form == "binary" and kind == BOOL and draw(st.booleans()):
            emit(kind, f"stablehlo.{draw(st.sampled_from(['and', 'or', 'xor']))} {pick()}, {pick()} : {t}")
        elif form in ("unary", "iota", "clamp"):
            emit(kind, f"stablehlo.not {pick()} : {t}")
        elif form == "binary" and kind == BOOL:
            source = draw(st.sampled_from([FLOAT, integer]))
            direction = draw(st.sampled_from(["EQ", "NE", "LT", "LE", "GT", "GE"]))
            s = tensor(source)
            emit(kind, f"stablehlo.compare {direction}, {pick(source)}, {pick(source)} : ({s}, {s}) -> {t}")
        elif form == "binary":
            name = draw(st.sampled_from(FLOAT_BINARY if kind == FLOAT else INT_BINARY))
            emit(kind, f"stablehlo.{name} {pick()}, {pick()} : {t}")
        elif form == "select":
            emit(kind, f"stablehlo.select {pick(BOOL)}, {pick()}, {pick()} : {tensor(BOOL)}, {t}")
        elif form == "convert":
            source = draw(st.sampled_from([FLOAT, integer, BOOL]))
            emit(kind, f"stablehlo.convert {pick(source)} : ({tensor(source)}) -> {t}")
        elif form == "case":
            index = draw(st.integers(-1, 2))
            lines.append(f"%k{len(lines)} = stablehlo.constant dense<{index}> : tensor<i32>")
            number = lines[-1].split(" ", 1)[0]
            emit(kind, f'"stablehlo.case"({number}) ({{ stablehlo.return {pick()} : {t} }}, '
                       f"{{ stablehlo.return {pick()} : {t} }}) : (tensor<i32>) -> {t}")  # fmt: skip
        else:
            source = pick()
            way = draw(st.sampled_from(["transpose", "reshape", "reverse", "concatenate", "pad", "broadcast"]))
            flipped = tensor(kind, SHAPE[::-1])
            middle = f"%m{len(lines)}"
            if way == "transpose":
                lines.append(f"{middle} = stablehlo.transpose {source}, dims = [1, 0] : ({t}) -> {flipped}")
                emit(kind, f"stablehlo.transpose {middle}, dims = [1, 0] : ({flipped}) -> {t}")
            elif way == "reshape":
                lines.append(f"{middle} = stablehlo.reshape {source} : ({t}) -> {flipped}")
                emit(kind, f"stablehlo.reshape {middle} : ({flipped}) -> {t}")
            elif way == "reverse":
                emit(kind, f"stablehlo.reverse {source}, dims = [{draw(st.integers(0, 1))}] : {t}")
            elif way == "concatenate":
                double = tensor(kind, (4, 3))
                start = draw(st.integers(0, 2))
                lines.append(f"{middle} = stablehlo.concatenate {source}, {pick()}, dim = 0 : ({t}, {t}) -> {double}")
                emit(kind, f"stablehlo.slice {middle} [{start}:{start + 2}, 0:3] : ({double}) -> {t}")
            elif way == "pad":
                wide, zero = tensor(kind, (3, 5)), CONSTANTS[kind][0]
                lines.append(f"{middle}z = stablehlo.constant dense<{zero}> : tensor<{kind}>")
                lines.append(f"{middle} = stablehlo.pad {source}, {middle}z, low = [1, 0], high = [0, 0], interior = "
                             f"[0, 1] : ({t}, tensor<{kind}>) -> {wide}")  # fmt: skip
                start = draw(st.integers(0, 1))
                emit(kind, f"stablehlo.slice {middle} [{start}:{start + 2}, 0:5:2] : ({wide}) -> {t}")
            else:
                deep = tensor(kind, (2, 2, 3))
                lines.append(f"{middle}a = stablehlo.broadcast_in_dim {source}, dims = [1, 2] : ({t}) -> {deep}")
                one = tensor(kind, (1, 2, 3))
                lines.append(f"{middle} = stablehlo.slice {middle}a [1:2, 0:2, 0:3] : ({deep}) -> {one}")
                emit(kind, f"stablehlo.reshape {middle} : ({one}) -> {t}")
    results = [(values[kind][-1], tensor(kind)) for kind in (FLOAT, integer, BOOL)]
    types = ", ".join(t for _, t in results)
    f, i, b = (tensor(kind) for kind in (FLOAT, integer, BOOL))
    body = "\n  ".join(lines)
    return (
        f"func.func @main(%x: {f}, %y: {f}, %i: {i}, %j: {i}, %p: {b}, %q: {b}) -> ({types}) {{\n  {body}\n"
        f"  return {', '.join(v for v, _ in results)} : {types}\n}}"
    )


EXACT_PASSES = ["simplify", "algebra", "constants", "shapes", "casts", "control_flow", "cse", "dce", "fusion"]


@pytest.mark.parametrize("name", EXACT_PASSES)
@settings(max_examples=40, deadline=None)
@given(text=programs(), seed=st.integers(0, 1 << 16))
def test_exact_pass_keeps_the_bits_of_every_result(name, text, seed):
    module = parse(text)
    arrays = sample_arguments(module, seed)
    expected = interpret(module, *arrays)
    run(module, name)
    actual = interpret(module, *arrays)
    for a, b in zip(expected, actual):
        assert same_bits(a, b), f"{text}\n{module}\n{arrays}\nexpected {a}\nactual {b}"


@settings(max_examples=40, deadline=None)
@given(text=programs(), fast_math=st.booleans())
def test_simplify_is_idempotent(text, fast_math):
    module = parse(text)
    options = PassOptions(fast_math=fast_math)
    run(module, "simplify", options=options)
    once = str(module)
    report = run(module, "simplify", options=options)
    assert once == str(module)
    assert report.hits == {}


@settings(max_examples=20, deadline=None)
@given(text=programs())
def test_every_op_that_is_left_has_a_place_in_the_source(text):
    module = parse(text)
    run(module, "simplify")
    for op in module.body.operations[0].operation.regions[0].blocks[0].operations:
        # The greedy driver merges constants and forgets their lines.
        if op.operation.name != "stablehlo.constant":
            assert "unknown" not in str(op.operation.location)


@pytest.mark.parametrize("pipeline", ["merge_dots", "merge_reductions", "dot_transposes"])
def test_fusion_pass_is_idempotent_and_agrees(pipeline):
    text = """
func.func @main(%x: tensor<4x5xf32>, %a: tensor<5x3xf32>, %b: tensor<5x2xf32>, %w: tensor<3x5xf32>)
    -> (tensor<4x3xf32>, tensor<4x2xf32>, tensor<4xf32>, tensor<4xf32>, tensor<3x4xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.dot_general %x, %a, contracting_dims = [1] x [0] : (tensor<4x5xf32>, tensor<5x3xf32>) -> tensor<4x3xf32>
  %1 = stablehlo.dot_general %x, %b, contracting_dims = [1] x [0] : (tensor<4x5xf32>, tensor<5x2xf32>) -> tensor<4x2xf32>
  %2 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1] : (tensor<4x5xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = stablehlo.reduce(%x init: %m) applies stablehlo.maximum across dimensions = [1] : (tensor<4x5xf32>, tensor<f32>) -> tensor<4xf32>
  %t = stablehlo.transpose %w, dims = [1, 0] : (tensor<3x5xf32>) -> tensor<5x3xf32>
  %4 = stablehlo.dot_general %x, %t, contracting_dims = [1] x [0] : (tensor<4x5xf32>, tensor<5x3xf32>) -> tensor<4x3xf32>
  %5 = stablehlo.transpose %4, dims = [1, 0] : (tensor<4x3xf32>) -> tensor<3x4xf32>
  return %0, %1, %2, %3, %5 : tensor<4x3xf32>, tensor<4x2xf32>, tensor<4xf32>, tensor<4xf32>, tensor<3x4xf32>
}"""
    module = parse(text)
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(s).astype(np.float32) for s in ((4, 5), (5, 3), (5, 2), (3, 5))]
    expected = interpret(module, *arrays)
    assert run(module, pipeline).hits
    once = str(module)
    assert run(module, pipeline).hits == {}
    assert once == str(module)
    for a, b in zip(expected, interpret(module, *arrays)):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)


def barriers(f, *shape):
    return stagec.jit(f).lower(np.ones(shape, np.float32)).as_text("optimized").count("optimization_barrier")


def test_what_a_reduction_and_its_user_read_is_computed_once():
    assert barriers(stagec.nn.softmax, 100, 100) == 1
    assert barriers(lambda x: snp.exp(x) / snp.sum(snp.where(x > 0, snp.exp(x), 0)), 100, 100) == 0
    assert barriers(stagec.nn.softmax, 10, 10) == 0  # small
    assert barriers(lambda x: x / snp.sum(x, axis=1), 100, 100) == 0  # nothing is computed
    assert barriers(lambda x: (snp.exp(x), snp.sum(snp.exp(x))), 100, 100) == 0  # the two do not meet
    x = np.random.default_rng(0).normal(size=(100, 100)).astype(np.float32)
    np.testing.assert_allclose(stagec.jit(stagec.nn.softmax)(x), stagec.nn.softmax(snp.asarray(x)), rtol=2e-6)

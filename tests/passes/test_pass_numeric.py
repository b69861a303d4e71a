# ruff: noqa: E501 (MLIR text)
"""The oracle agrees with NumPy by hand, and with what IREE computes."""

import numpy as np
import pytest
from pass_helpers import parse, run_iree, same_bits

import passes
from passes import InterpretError
from passes.numeric.interpreter import interpret

RNG = np.random.default_rng(7)
X = RNG.standard_normal((4, 6)).astype(np.float32)
Y = np.abs(RNG.standard_normal((4, 6))).astype(np.float32) + 0.25
I = RNG.integers(-9, 9, (4, 6)).astype(np.int32)  # noqa: E741
J = RNG.integers(1, 9, (4, 6)).astype(np.int32)
A, N = "tensor<4x6xf32>", "tensor<4x6xi32>"
ADD = "applies stablehlo.add"

EXACT = {
    **{
        name: (f"stablehlo.{name} %x : {A}", A)
        for name in ("negate", "abs", "floor", "ceil", "sign", "round_nearest_even", "round_nearest_afz")
    },
    **{name: (f"stablehlo.{name} %x, %y : {A}", A) for name in ("add", "subtract", "multiply", "divide", "maximum",
                                                                  "minimum")},
    **{f"int {name}": (f"stablehlo.{name} %i, %j : {N}", N) for name in (
        "add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum", "and", "or", "xor", "shift_left",
        "shift_right_logical", "shift_right_arithmetic")},
    **{f"int {name}": (f"stablehlo.{name} %i : {N}", N) for name in ("negate", "abs", "sign", "not", "popcnt",
                                                                       "count_leading_zeros")},
    "sqrt": (f"stablehlo.sqrt %y : {A}", A),
    "convert to int": (f"stablehlo.convert %x : ({A}) -> {N}", N),
    "convert to float": (f"stablehlo.convert %i : ({N}) -> {A}", A),
    "bitcast": (f"stablehlo.bitcast_convert %x : ({A}) -> {N}", N),
    "clamp": (f"stablehlo.clamp %x, %y, %y : {A}", A),
    "transpose": (f"stablehlo.transpose %x, dims = [1, 0] : ({A}) -> tensor<6x4xf32>", "tensor<6x4xf32>"),
    "reverse": (f"stablehlo.reverse %x, dims = [1] : {A}", A),
    "slice": (f"stablehlo.slice %x [1:4:2, 0:6:3] : ({A}) -> tensor<2x2xf32>", "tensor<2x2xf32>"),
    "pad": (f"stablehlo.pad %x, %s, low = [1, -1], high = [0, 2], interior = [2, 0] : ({A}, tensor<f32>) -> "
            "tensor<11x7xf32>", "tensor<11x7xf32>"),
    "concatenate": (f"stablehlo.concatenate %x, %y, dim = 1 : ({A}, {A}) -> tensor<4x12xf32>", "tensor<4x12xf32>"),
    "broadcast": ("stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<4x6xf32>) -> tensor<4x2x6xf32>",
                  "tensor<4x2x6xf32>"),
    "iota": ("stablehlo.iota dim = 1 : tensor<4x6xi32>", N),
    "reduce max": (f"stablehlo.reduce(%x init: %s) applies stablehlo.maximum across dimensions = [1] : "
                   f"({A}, tensor<f32>) -> tensor<4xf32>", "tensor<4xf32>"),
    "dynamic_slice": (f"stablehlo.dynamic_slice %x, %k, %k, sizes = [2, 2] : ({A}, tensor<i32>, tensor<i32>) -> "
                      "tensor<2x2xf32>", "tensor<2x2xf32>"),
    "gather": ('"stablehlo.gather"(%x, %g) {dimension_numbers = #stablehlo.gather<offset_dims = [1], '
               "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, "
               f"6>}} : ({A}, tensor<3x1xi32>) -> tensor<3x6xf32>", "tensor<3x6xf32>"),
    "while": (f"stablehlo.while(%a = %x) : {A} cond {{\n %p = stablehlo.slice %a [0:1, 0:1] : ({A}) -> tensor<1x1xf32>"
              "\n %q = stablehlo.reshape %p : (tensor<1x1xf32>) -> tensor<f32>\n %h = stablehlo.constant dense<50.0> : "
              "tensor<f32>\n %b = stablehlo.compare LT, %q, %h : (tensor<f32>, tensor<f32>) -> tensor<i1>\n "
              f"stablehlo.return %b : tensor<i1> }} do {{\n %n = stablehlo.add %a, %y : {A}\n stablehlo.return %n : {A} "
              "}", A),
    "case": (f'"stablehlo.case"(%k) ({{ stablehlo.return %x : {A} }}, {{ stablehlo.return %y : {A} }}) : '
             f"(tensor<i32>) -> {A}", A),
    "sort": ('"stablehlo.sort"(%x) ({ ^bb0(%l: tensor<f32>, %r: tensor<f32>):\n %q = stablehlo.compare GT, %l, %r : '
             "(tensor<f32>, tensor<f32>) -> tensor<i1>\n stablehlo.return %q : tensor<i1> }) {dimension = 1 : i64} : "
             f"({A}) -> {A}", A),
    "scatter": ('"stablehlo.scatter"(%x, %g, %u) ({ ^bb0(%l: tensor<f32>, %r: tensor<f32>):\n %q = stablehlo.add %l, %r '
                ": tensor<f32>\n stablehlo.return %q : tensor<f32> }) {scatter_dimension_numbers = #stablehlo.scatter<"
                "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], "
                f"index_vector_dim = 1>}} : ({A}, tensor<3x1xi32>, tensor<3x6xf32>) -> {A}", A),
}  # fmt: skip

ROUNDED = {
    **{name: (f"stablehlo.{name} %x : {A}", A) for name in ("sine", "cosine", "tanh", "exponential", "logistic", "cbrt",
                                                             "exponential_minus_one", "tan")},
    **{name: (f"stablehlo.{name} %y : {A}", A) for name in ("log", "log_plus_one", "rsqrt")},
    **{f"chlo {name}": (f"chlo.{name} %x : {A} -> {A}", A) for name in ("erf", "erfc", "asinh", "sinh", "cosh", "atan",
                                                                          "square", "bessel_i1e")},
    **{f"chlo {name}": (f"chlo.{name} %y : {A} -> {A}", A) for name in ("lgamma", "digamma")},
    "chlo erf_inv": (f"chlo.erf_inv %f : {A} -> {A}", A),
    "chlo zeta": (f"chlo.zeta %two, %y : {A}, {A} -> {A}", A),
    "chlo polygamma": (f"chlo.polygamma %two, %y : {A}, {A} -> {A}", A),
    "power": (f"stablehlo.power %y, %x : {A}", A),
    "atan2": (f"stablehlo.atan2 %x, %y : {A}", A),
    "reduce add": (f"stablehlo.reduce(%x init: %s) {ADD} across dimensions = [0] : ({A}, tensor<f32>) -> tensor<6xf32>",
                   "tensor<6xf32>"),
    "dot": (f"stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [1] x [1] : ({A}, {A}) -> "
            "tensor<4xf32>", "tensor<4xf32>"),
    "convolution": ("stablehlo.convolution(%v, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = "
                    "[2], pad = [[1, 2]], rhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 2 : "
                    "i64} : (tensor<2x7x4xf32>, tensor<3x2x6xf32>) -> tensor<2x3x6xf32>", "tensor<2x3x6xf32>"),
    "reduce_window": ('"stablehlo.reduce_window"(%x, %s) ({ ^bb0(%l: tensor<f32>, %r: tensor<f32>):\n %q = '
                      "stablehlo.add %l, %r : tensor<f32>\n stablehlo.return %q : tensor<f32> }) {window_dimensions = "
                      "array<i64: 2, 3>, window_strides = array<i64: 1, 2>, padding = dense<[[1, 0], [0, 1]]> : "
                      f"tensor<2x2xi64>}} : ({A}, tensor<f32>) -> tensor<4x3xf32>", "tensor<4x3xf32>"),
}  # fmt: skip

INPUTS = {
    "%x": X,
    "%y": Y,
    "%i": I,
    "%j": J,
    "%s": np.float32(0),
    "%k": np.int32(1),
    "%g": np.array([[2], [0], [3]], np.int32),
    "%u": RNG.standard_normal((3, 6)).astype(np.float32),
    "%v": RNG.standard_normal((2, 7, 4)).astype(np.float32),
    "%w": RNG.standard_normal((3, 2, 6)).astype(np.float32),
    "%f": np.tanh(X),
    "%two": np.full((4, 6), 2, np.float32),
}


def mlir_type(array):
    array = np.asarray(array)
    name = {"float32": "f32", "int32": "i32"}[array.dtype.name]
    return f"tensor<{''.join(f'{n}x' for n in array.shape)}{name}>"


def program(table):
    """One function with every op of a table, so that one compile covers all."""
    lines, names, types = [], [], []
    for number, (text, type_) in enumerate(table.values()):
        for local in ("%l", "%r", "%q", "%p", "%h", "%b", "%n", "%a"):
            text = text.replace(f"{local} ", f"{local}{number} ").replace(f"{local}:", f"{local}{number}:")
            text = text.replace(f"{local},", f"{local}{number},")
        lines.append(f"%o{number} = {text}")
        names.append(f"%o{number}")
        types.append(type_)
    arguments = ", ".join(f"{name}: {mlir_type(array)}" for name, array in INPUTS.items())
    return (
        f"func.func @main({arguments}) -> ({', '.join(types)}) {{\n" + "\n".join(lines)
        + f"\nreturn {', '.join(names)} : {', '.join(types)}\n}}"
    )  # fmt: skip


def both(table):
    arrays = [np.asarray(array) for array in INPUTS.values()]
    text = program(table)
    # IREE may write into its arguments, so the oracle goes first and IREE gets copies.
    expected = interpret(text, *arrays)
    return zip(table, expected, run_iree(text, *(array.copy() for array in arrays)))


def test_exact_ops_agree_with_iree_to_the_bit():
    wrong = [(name, a, b) for name, a, b in both(EXACT) if not same_bits(a, b)]
    assert wrong == []


def test_rounded_ops_agree_with_iree_to_rounding():
    for name, expected, actual in both(ROUNDED):
        np.testing.assert_allclose(expected, actual, rtol=2e-5, atol=2e-5, err_msg=name)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
def test_integer_division_is_total(dtype):
    info = np.iinfo(dtype)
    x = np.array([7, info.min, info.max, 5], dtype)
    y = np.array([0, -1 if info.min else 1, 2, 3]).astype(dtype)
    name = ("ui" if info.min == 0 else "i") + str(info.bits)
    t = f"tensor<4x{name}>"
    text = (
        f"func.func @main(%x: {t}, %y: {t}) -> ({t}, {t}) {{ %q = stablehlo.divide %x, %y : {t} "
        f"%r = stablehlo.remainder %x, %y : {t} return %q, %r : {t}, {t} }}"
    )
    quotient, rest = interpret(text, x, y)
    all_ones = -1 if info.min else info.max
    assert quotient.tolist() == [all_ones, info.min, info.max // 2, 1]
    assert rest.tolist() == [7, 0, info.max % 2, 2]


def test_float_to_integer_saturates_and_nan_is_zero():
    x = np.array([np.nan, np.inf, -np.inf, 3e9, -1.9], np.float32)
    text = "func.func @main(%x: tensor<5xf32>) -> tensor<5xi32> { %0 = stablehlo.convert %x : (tensor<5xf32>) -> tensor<5xi32> return %0 : tensor<5xi32> }"
    assert interpret(text, x)[0].tolist() == [0, 2147483647, -2147483648, 2147483647, -1]


def test_maximum_and_minimum_order_the_zeros_and_keep_nan():
    t = "tensor<3xf32>"
    text = f"func.func @main(%x: {t}, %y: {t}) -> ({t}, {t}) {{ %0 = stablehlo.maximum %x, %y : {t} %1 = stablehlo.minimum %x, %y : {t} return %0, %1 : {t}, {t} }}"
    high, low = interpret(text, np.array([-0.0, 0.0, np.nan], np.float32), np.array([0.0, -0.0, 1], np.float32))
    assert np.signbit(high[:2]).tolist() == [False, False]
    assert np.signbit(low[:2]).tolist() == [True, True]
    assert np.isnan(high[2]) and np.isnan(low[2])


def test_scatter_skips_updates_that_fall_outside():
    text, t = EXACT["scatter"]
    text = (
        f"func.func @main(%x: {A}, %g: tensor<3x1xi32>, %u: tensor<3x6xf32>) -> {A} {{ %0 = {text} return %0 : {t} }}"
    )
    out = interpret(text, X, np.array([[9], [-1], [1]], np.int32), INPUTS["%u"])[0]
    expected = X.copy()
    expected[1] += INPUTS["%u"][2]
    assert same_bits(expected, out)


def test_an_op_that_the_interpreter_does_not_implement_is_named():
    text = "func.func @main() -> tensor<2xf32> { %0 = stablehlo.custom_call @f() : () -> tensor<2xf32> return %0 : tensor<2xf32> }"
    with pytest.raises(InterpretError, match=r"does not implement stablehlo\.custom_call"):
        interpret(text)


def test_an_argument_of_the_wrong_shape_is_named():
    with pytest.raises(InterpretError, match=r"argument 0 of @main is tensor<3xf32>"):
        interpret("func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> { return %x : tensor<3xf32> }", np.zeros(4))


def test_a_negative_power_of_zero_is_folded_to_what_it_is_legalized_to():
    text = """func.func @main(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi32> {
      %0 = stablehlo.power %x, %y : tensor<4xi32>
      return %0 : tensor<4xi32>
    }"""
    arrays = np.array([0, 1, -1, 2], np.int32), np.array([-1, -2, -3, -1], np.int32)
    module = parse(text)
    passes.run(module, "legalize")
    assert "stablehlo.power" not in str(module)
    for program in (text, module):
        (found,) = interpret(program, *arrays)
        assert found.tolist() == [0, 1, -1, 0]

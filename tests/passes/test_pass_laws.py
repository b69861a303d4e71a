# ruff: noqa: E501 (MLIR text)
"""Golden tests: the smallest input on which a law fires, and a twin on which it must not."""

import numpy as np
import pytest
from pass_helpers import op_names, parse, same_bits

from passes import PassOptions, run
from passes.numeric.interpreter import interpret
from passes.simplify import algebra, casts, constants, control_flow, fast_math, reductions, shapes

C = "stablehlo.constant dense"
X = "%x: tensor<4xf32>"
I = "%x: tensor<4xi32>"  # noqa: E741
F = ": tensor<4xf32>"
N = ": tensor<4xi32>"
TWO = "%x: tensor<2x3xf32>"


def unary(name, kind="f32"):
    return f"stablehlo.{name} %x : tensor<4x{kind}>"


# law: (arguments, body that ends in %r, result type, ops left when it fires)
FIRES = {
    "add_identity": (X, f"%c = {C}<-0.0> {F}\n%r = stablehlo.add %c, %x {F}", []),
    "add_identity/integer": (I, f"%c = {C}<0> {N}\n%r = stablehlo.add %x, %c {N}", []),
    "subtract_identity": (X, f"%c = {C}<0.0> {F}\n%r = stablehlo.subtract %x, %c {F}", []),
    "subtract_itself": (I, f"%r = stablehlo.subtract %x, %x {N}", ["constant"]),
    "subtract_from_negative_zero": (X, f"%c = {C}<-0.0> {F}\n%r = stablehlo.subtract %c, %x {F}", ["negate"]),
    "multiply_identity": (X, f"%c = {C}<1.0> {F}\n%r = stablehlo.multiply %c, %x {F}", []),
    "multiply_zero": (I, f"%c = {C}<0> {N}\n%r = stablehlo.multiply %c, %x {N}", ["constant"]),
    "multiply_minus_one": (X, f"%c = {C}<-1.0> {F}\n%r = stablehlo.multiply %x, %c {F}", ["negate"]),
    "divide_identity": (X, f"%c = {C}<1.0> {F}\n%r = stablehlo.divide %x, %c {F}", []),
    "divide_by_power_of_two": (X, f"%c = {C}<4.0> {F}\n%r = stablehlo.divide %x, %c {F}", ["constant", "multiply"]),
    "involution": (X, f"%0 = stablehlo.negate %x {F}\n%r = stablehlo.negate %0 {F}", []),
    "add_negated": (X, f"%0 = stablehlo.negate %x {F}\n%1 = stablehlo.sine %x {F}\n%r = stablehlo.add %1, %0 {F}",
                    ["sine", "subtract"]),
    "subtract_negated": (X, f"%0 = stablehlo.negate %x {F}\n%r = stablehlo.subtract %x, %0 {F}", ["add"]),
    "negated_factors": (X, f"%0 = stablehlo.negate %x {F}\n%r = stablehlo.multiply %0, %0 {F}", ["multiply"]),
    "abs_of_same_size": (X, f"%0 = stablehlo.negate %x {F}\n%r = stablehlo.abs %0 {F}", ["abs"]),
    "idempotent": (X, f"%0 = stablehlo.floor %x {F}\n%r = stablehlo.ceil %0 {F}", ["floor"]),
    "same_operands": (X, f"%r = stablehlo.maximum %x, %x {F}", []),
    "extreme_identity": (X, f"%c = {C}<0xFF800000> {F}\n%r = stablehlo.maximum %x, %c {F}", []),
    "logic_with_constant": (I, f"%c = {C}<-1> {N}\n%r = stablehlo.and %x, %c {N}", []),
    "xor_itself": (I, f"%r = stablehlo.xor %x, %x {N}", ["constant"]),
    "shift_by_zero": (I, f"%c = {C}<0> {N}\n%r = stablehlo.shift_left %x, %c {N}", []),
    "select_constant": (X, f"%p = {C}<true> : tensor<4xi1>\n%0 = stablehlo.sine %x {F}\n"
                        "%r = stablehlo.select %p, %x, %0 : tensor<4xi1>, tensor<4xf32>", []),
    "select_same": ("%p: tensor<4xi1>, " + X, "%r = stablehlo.select %p, %x, %x : tensor<4xi1>, tensor<4xf32>", []),
    "select_not": ("%p: tensor<4xi1>, %y: tensor<4xf32>, " + X, "%q = stablehlo.not %p : tensor<4xi1>\n"
                   "%r = stablehlo.select %q, %x, %y : tensor<4xi1>, tensor<4xf32>", ["select"]),
    "select_of_select": ("%p: tensor<4xi1>, %y: tensor<4xf32>, " + X,
                         "%q = stablehlo.select %p, %x, %y : tensor<4xi1>, tensor<4xf32>\n"
                         "%r = stablehlo.select %p, %q, %y : tensor<4xi1>, tensor<4xf32>", ["select"]),
    "compare_itself": (I, f"%0 = stablehlo.compare EQ, %x, %x : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>\n"
                       f"%1 = stablehlo.convert %0 : (tensor<4xi1>) -> tensor<4xi32>\n%r = stablehlo.add %x, %1 {N}",
                       ["constant", "add"]),
    "compare_boolean": ("%p: tensor<4xi1>", f"%c = {C}<true> : tensor<4xi1>\n"
                        "%r = stablehlo.compare EQ, %p, %c : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>", []),
    "compare_unsigned_with_zero": ("%x: tensor<4xui8>", f"%c = {C}<0> : tensor<4xui8>\n"
                                   "%r = stablehlo.compare GE, %x, %c, UNSIGNED : "
                                   "(tensor<4xui8>, tensor<4xui8>) -> tensor<4xi1>", ["constant"]),
    "not_compare": ("%x: tensor<4xi32>, %y: tensor<4xi32>",
                    "%0 = stablehlo.compare LT, %x, %y : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>\n"
                    "%r = stablehlo.not %0 : tensor<4xi1>", ["compare"]),
    "select_booleans": ("%p: tensor<4xi1>", f"%t = {C}<true> : tensor<4xi1>\n%f = {C}<false> : tensor<4xi1>\n"
                        "%r = stablehlo.select %p, %t, %f : tensor<4xi1>, tensor<4xi1>", []),
    "power_one": (X, f"%c = {C}<1.0> {F}\n%r = stablehlo.power %x, %c {F}", []),
    "power_two": (X, f"%c = {C}<2.0> {F}\n%r = stablehlo.power %x, %c {F}", ["multiply"]),
    "clamp_of_same_clamp": ("%a: tensor<f32>, %b: tensor<f32>, " + X,
                            "%0 = stablehlo.clamp %a, %x, %b : (tensor<f32>, tensor<4xf32>, tensor<f32>) -> "
                            "tensor<4xf32>\n%r = stablehlo.clamp %a, %0, %b : "
                            "(tensor<f32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>", ["clamp"]),
    "part_of_complex": ("%y: tensor<4xf32>, " + X, "%0 = stablehlo.complex %x, %y : tensor<4xcomplex<f32>>\n"
                        "%r = stablehlo.imag %0 : (tensor<4xcomplex<f32>>) -> tensor<4xf32>", []),
    "complex_of_parts": ("%z: tensor<4xcomplex<f32>>",
                         "%0 = stablehlo.real %z : (tensor<4xcomplex<f32>>) -> tensor<4xf32>\n"
                         "%1 = stablehlo.imag %z : (tensor<4xcomplex<f32>>) -> tensor<4xf32>\n"
                         "%r = stablehlo.complex %0, %1 : tensor<4xcomplex<f32>>", []),
    "same_type_as_operand": (X, "%r = stablehlo.reshape %x : (tensor<4xf32>) -> tensor<4xf32>", []),
    "reshape_of_reshape": (X, "%0 = stablehlo.reshape %x : (tensor<4xf32>) -> tensor<2x2xf32>\n"
                           "%r = stablehlo.reshape %0 : (tensor<2x2xf32>) -> tensor<1x4xf32>", ["reshape"]),
    "transpose_identity": (TWO, "%r = stablehlo.transpose %x, dims = [0, 1] : (tensor<2x3xf32>) -> tensor<2x3xf32>",
                           []),
    "transpose_of_transpose": (TWO, "%0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>"
                               "\n%r = stablehlo.transpose %0, dims = [1, 0] : (tensor<3x2xf32>) -> tensor<2x3xf32>",
                               []),
    "transpose_of_unit_dimensions": ("%x: tensor<1x3xf32>",
                                     "%r = stablehlo.transpose %x, dims = [1, 0] : (tensor<1x3xf32>) -> tensor<3x1xf32>",
                                     ["reshape"]),
    "broadcast_identity": (X, "%r = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<4xf32>) -> tensor<4xf32>", []),
    "broadcast_of_broadcast": (X, "%0 = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<4xf32>) -> tensor<2x4xf32>"
                               "\n%r = stablehlo.broadcast_in_dim %0, dims = [1, 2] : (tensor<2x4xf32>) -> "
                               "tensor<3x2x4xf32>", ["broadcast_in_dim"]),
    "broadcast_that_adds_unit_dimensions": (X, "%r = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<4xf32>) -> "
                                            "tensor<1x4xf32>", ["reshape"]),
    "move_splat": ("%x: tensor<4x99xf32>", f"%c = {C}<3.0> : tensor<f32>\n%0 = stablehlo.broadcast_in_dim %c, "
                   "dims = [] : (tensor<f32>) -> tensor<4x99xf32>\n%r = stablehlo.add %0, %x : tensor<4x99xf32>",
                   ["constant", "add"]),
    "slice_everything": (X, "%r = stablehlo.slice %x [0:4] : (tensor<4xf32>) -> tensor<4xf32>", []),
    "slice_of_slice": (X, "%0 = stablehlo.slice %x [1:4] : (tensor<4xf32>) -> tensor<3xf32>\n"
                       "%r = stablehlo.slice %0 [0:3:2] : (tensor<3xf32>) -> tensor<2xf32>", ["slice"]),
    "slice_of_concatenate": (X, "%0 = stablehlo.concatenate %x, %x, dim = 0 : (tensor<4xf32>, tensor<4xf32>) -> "
                             "tensor<8xf32>\n%r = stablehlo.slice %0 [4:8] : (tensor<8xf32>) -> tensor<4xf32>", []),
    "slice_of_broadcast": (X, "%0 = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<4xf32>) -> tensor<5x4xf32>\n"
                           "%r = stablehlo.slice %0 [1:3, 0:4] : (tensor<5x4xf32>) -> tensor<2x4xf32>",
                           ["broadcast_in_dim"]),
    "concatenate_one": (X, "%r = stablehlo.concatenate %x, dim = 0 : (tensor<4xf32>) -> tensor<4xf32>", []),
    "concatenate_of_neighbours": (X, "%0 = stablehlo.slice %x [0:1] : (tensor<4xf32>) -> tensor<1xf32>\n"
                                  "%1 = stablehlo.slice %x [1:3] : (tensor<4xf32>) -> tensor<2xf32>\n"
                                  "%r = stablehlo.concatenate %0, %1, dim = 0 : (tensor<1xf32>, tensor<2xf32>) -> "
                                  "tensor<3xf32>", ["slice"]),
    "pad_by_nothing": (X, f"%c = {C}<0.0> : tensor<f32>\n%r = stablehlo.pad %x, %c, low = [0], high = [0], interior = "
                       "[0] : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>", []),
    "pad_by_less_than_nothing": (X, f"%c = {C}<9.0> : tensor<f32>\n%r = stablehlo.pad %x, %c, low = [-3], high = [1], "
                                 "interior = [1] : (tensor<4xf32>, tensor<f32>) -> tensor<5xf32>",
                                 ["constant", "slice", "pad"]),
    "pad_by_less_than_nothing/at the end": (X, f"%c = {C}<9.0> : tensor<f32>\n%r = stablehlo.pad %x, %c, low = [0], "
                                            "high = [-2], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<2xf32>",
                                            ["slice"]),
    "reverse_of_unit_dimensions": ("%x: tensor<1x3xf32>", "%r = stablehlo.reverse %x, dims = [0] : tensor<1x3xf32>", []),
    "dynamic_slice_of_constants": (X, f"%c = {C}<9> : tensor<i32>\n%r = stablehlo.dynamic_slice %x, %c, sizes = [2] : "
                                   "(tensor<4xf32>, tensor<i32>) -> tensor<2xf32>", ["slice"]),
    "update_everything": ("%i: tensor<i32>, %y: tensor<4xf32>, " + X,
                          "%r = stablehlo.dynamic_update_slice %x, %y, %i : (tensor<4xf32>, tensor<4xf32>, "
                          "tensor<i32>) -> tensor<4xf32>", []),
    "convert_of_convert": ("%x: tensor<4xi8>", "%0 = stablehlo.convert %x : (tensor<4xi8>) -> tensor<4xf32>\n"
                           "%r = stablehlo.convert %0 : (tensor<4xf32>) -> tensor<4xf64>", ["convert"]),
    "compare_converted_boolean": ("%p: tensor<4xi1>", f"%c = {C}<0.0> {F}\n%0 = stablehlo.convert %p : (tensor<4xi1>) ->"
                                  " tensor<4xf32>\n%r = stablehlo.compare NE, %0, %c : "
                                  "(tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>", []),
    "bitcast_of_bitcast": (X, "%0 = stablehlo.bitcast_convert %x : (tensor<4xf32>) -> tensor<4xi32>\n"
                           "%r = stablehlo.bitcast_convert %0 : (tensor<4xi32>) -> tensor<4xf32>", []),
    "is_finite_of_integer": ("%x: tensor<4xi8>", "%0 = stablehlo.convert %x : (tensor<4xi8>) -> tensor<4xf32>\n"
                             "%r = stablehlo.is_finite %0 : (tensor<4xf32>) -> tensor<4xi1>", ["constant"]),
    "fold_splats": ("", f"%a = {C}<2.0> {F}\n%b = {C}<3.0> {F}\n%r = stablehlo.multiply %a, %b {F}", ["constant"]),
    "fold_small": ("", f"%a = {C}<[1, 2, 3, 4]> {N}\n%b = {C}<3> {N}\n%r = stablehlo.multiply %a, %b {N}",
                   ["constant"]),
    "fold_moves": ("", f"%a = {C}<[1, 2, 3, 4]> {N}\n%r = stablehlo.reverse %a, dims = [0] {N}", ["constant"]),
    "iota_of_one": ("", "%r = stablehlo.iota dim = 0 : tensor<1x3xi32>", ["constant"]),
    "known_branch": (X, f'%i = {C}<7> : tensor<i32>\n%r = "stablehlo.case"(%i) ({{ stablehlo.return %x {F} }}, '
                     f"{{ %0 = stablehlo.sine %x {F}\n %1 = stablehlo.add %0, %x {F}\n stablehlo.return %1 {F} }}) : "
                     "(tensor<i32>) -> tensor<4xf32>", ["sine", "add"]),
    "single_branch": ("%i: tensor<i32>, " + X, f'%r = "stablehlo.case"(%i) ({{ stablehlo.return %x {F} }}) : '
                      "(tensor<i32>) -> tensor<4xf32>", []),
    "loop_that_never_runs": (X, f"%r = stablehlo.while(%s = %x) {F}\n cond {{ %p = {C}<false> : tensor<i1>\n "
                             f"stablehlo.return %p : tensor<i1> }} do {{ %n = stablehlo.sine %s {F}\n "
                             f"stablehlo.return %n {F} }}", []),
    "reduce_of_unit_dimensions": ("%x: tensor<4x1xf32>", f"%c = {C}<0.0> : tensor<f32>\n"
                                  "%r = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [1] : "
                                  "(tensor<4x1xf32>, tensor<f32>) -> tensor<4xf32>", ["constant", "reshape", "add"]),
    "reduce_of_unit_dimensions/neutral": (
        "%x: tensor<4x1xi32>", f"%c = {C}<1> : tensor<i32>\n%r = stablehlo.reduce(%x init: %c) applies "
        "stablehlo.multiply across dimensions = [1] : (tensor<4x1xi32>, tensor<i32>) -> tensor<4xi32>", ["reshape"]),
    "reduce_of_pad": ("%x: tensor<4x2xf32>", f"%c = {C}<-0.0> : tensor<f32>\n%z = {C}<0.0> : tensor<f32>\n"
                      "%0 = stablehlo.pad %x, %c, low = [0, 1], high = [0, 2], interior = [0, 1] : "
                      "(tensor<4x2xf32>, tensor<f32>) -> tensor<4x6xf32>\n%1 = stablehlo.negate %0 : tensor<4x6xf32>\n"
                      "%r = stablehlo.reduce(%1 init: %z) applies stablehlo.add across dimensions = [1] : "
                      "(tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>", ["constant", "negate", "reduce"]),
    "reduce_of_pad/kept": ("%x: tensor<4x2xi32>", f"%c = {C}<1> : tensor<i32>\n%z = {C}<3> : tensor<i32>\n"
                           "%0 = stablehlo.pad %x, %c, low = [1, 1], high = [0, 2], interior = [0, 1] : "
                           "(tensor<4x2xi32>, tensor<i32>) -> tensor<5x6xi32>\n"
                           "%r = stablehlo.reduce(%0 init: %z) applies stablehlo.maximum across dimensions = [1] : "
                           "(tensor<5x6xi32>, tensor<i32>) -> tensor<5xi32>", ["constant", "reduce", "pad"]),
}  # fmt: skip

# Programs that look like the above, where firing would change a result.
TWINS = {
    "of an array that is cut off nothing can be sliced": (
        X,
        f"%c = {C}<9.0> : tensor<f32>\n%r = stablehlo.pad %x, %c, "
        "low = [-4], high = [2], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<2xf32>",
    ),
    "positive zero is not the identity of addition": (X, f"%c = {C}<0.0> {F}\n%r = stablehlo.add %c, %x {F}"),
    "subtracting negative zero turns -0.0 into 0.0": (X, f"%c = {C}<-0.0> {F}\n%r = stablehlo.subtract %x, %c {F}"),
    "infinity minus itself is NaN": (X, f"%r = stablehlo.subtract %x, %x {F}"),
    "zero times infinity is NaN": (X, f"%c = {C}<0.0> {F}\n%r = stablehlo.multiply %c, %x {F}"),
    "a third is rounded": (X, f"%c = {C}<3.0> {F}\n%r = stablehlo.divide %x, %c {F}"),
    "NaN is not equal to itself": (
        X,
        "%r = stablehlo.compare EQ, %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>",
    ),
    "the opposite of an order of floats fails on NaN": (
        X + ", %y: tensor<4xf32>",
        "%0 = stablehlo.compare LT, %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>\n"
        "%r = stablehlo.not %0 : tensor<4xi1>",
    ),
    "a narrow type between loses bits": (
        X,
        "%0 = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xf16>\n"
        "%r = stablehlo.convert %0 : (tensor<4xf16>) -> tensor<4xf32>",
    ),
    "log undoes exp only up to rounding": (
        X,
        f"%0 = stablehlo.exponential %x {F}\n%r = stablehlo.log %0 {F}",
    ),
    "reversals along different dimensions do not cancel": (
        TWO,
        "%0 = stablehlo.reverse %x, dims = [0] : tensor<2x3xf32>\n%r = stablehlo.reverse %0, dims = [1] : tensor<2x3xf32>",
    ),
    "a broadcast that permutes is not a reshape": (
        TWO,
        "%r = stablehlo.broadcast_in_dim %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>",
    ),
    "integer division by zero is left to the target": (
        "",
        f"%a = {C}<1> {N}\n%b = {C}<0> {N}\n%r = stablehlo.divide %a, %b {N}",
    ),
    "a slice across two parts keeps them joined": (
        X,
        "%0 = stablehlo.concatenate %x, %x, dim = 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>\n"
        "%r = stablehlo.slice %0 [2:6] : (tensor<8xf32>) -> tensor<4xf32>",
    ),
    "a sum that begins with -0.0 is 0.0 with a padded 0.0": (
        X,
        f"%c = {C}<0.0> : tensor<f32>\n%z = {C}<-0.0> : tensor<f32>\n%0 = stablehlo.pad %x, %c, low = [0], high = [2], "
        "interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<6xf32>\n%r = stablehlo.reduce(%0 init: %z) applies "
        "stablehlo.add across dimensions = [0] : (tensor<6xf32>, tensor<f32>) -> tensor<f32>",
    ),
    "a padded 1 takes part in the largest element": (
        X,
        f"%c = {C}<1.0> : tensor<f32>\n%z = {C}<0xFF800000> : tensor<f32>\n%0 = stablehlo.pad %x, %c, low = [0], high = "
        "[2], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<6xf32>\n%r = stablehlo.reduce(%0 init: %z) applies "
        "stablehlo.maximum across dimensions = [0] : (tensor<6xf32>, tensor<f32>) -> tensor<f32>",
    ),
}

SPECIAL = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1.5, -2.5, 1e-40, 3e38, 7.0, -1.0, 2.0, 0.5, 123.25, -8.0])


def module_text(arguments, body):
    last = body.rsplit("%r = ", 1)[1]
    for separator in ("->", ":"):
        if separator in last:
            break
    types = [line for line in body.splitlines() if "%r = " in line]
    text = types[-1]
    if "while" in text or "case" in text:
        result = "tensor<4xf32>"
    elif "->" in last:
        result = last.rsplit("->", 1)[1].strip()
    else:
        result = last.rsplit(" : ", 1)[1].split(", ")[-1].strip()
    return f"func.func @main({arguments}) -> {result} {{\n{body}\nreturn %r : {result}\n}}"


def sample_arguments(module, seed=0):
    from passes.match import dtype_of, shape_of

    block = module.body.operations[0].operation.regions[0].blocks[0]
    rng = np.random.default_rng(seed)
    arrays = []
    for value in block.arguments:
        shape, dtype = shape_of(value), dtype_of(value)
        if dtype.kind == "f":
            arrays.append(rng.choice(SPECIAL, shape).astype(dtype))
        elif dtype.kind == "c":
            z = np.empty(shape, dtype)
            z.real, z.imag = rng.choice(SPECIAL, shape), rng.choice(SPECIAL, shape)
            arrays.append(z)
        elif dtype.kind == "b":
            arrays.append(rng.integers(0, 2, shape).astype(bool))
        else:
            info = np.iinfo(dtype)
            arrays.append(rng.choice([info.min, info.max, 0, 1, 2, 3], shape).astype(dtype))
    return arrays


@pytest.mark.parametrize("name", FIRES)
def test_law_fires_on_its_smallest_input_and_keeps_the_bits(name):
    arguments, body, expected = FIRES[name]
    module = parse(module_text(arguments, body))
    inputs = [sample_arguments(module, seed) for seed in range(4)]
    before = [interpret(module, *arrays) for arrays in inputs]
    report = run(module, "simplify")
    assert expected == op_names(module)
    assert name.split("/")[0] in report.hits
    for arrays, values in zip(inputs, before):
        assert same_bits(values[0], interpret(module, *arrays)[0]), (name, arrays)


@pytest.mark.parametrize("name", TWINS)
def test_law_leaves_its_negative_twin_alone(name):
    module = parse(module_text(*TWINS[name]))
    before = op_names(module)
    run(module, "simplify")
    assert before == op_names(module)


def test_every_exact_law_has_a_golden_test():
    laws = [law.name for part in (algebra, casts, constants, control_flow, reductions, shapes) for law in part.PATTERNS]
    assert sorted(laws) == sorted({name.split("/")[0] for name in FIRES})
    assert all(law.exact and law.doc for part in (algebra, casts, constants) for law in part.PATTERNS)
    assert not any(law.exact for law in fast_math.PATTERNS)


FAST = {
    "log_of_exponential": ("%0 = stablehlo.exponential %x {F}\n%r = stablehlo.log %0 {F}", []),
    "exponential_of_log": ("%0 = stablehlo.log %x {F}\n%r = stablehlo.exponential %0 {F}", []),
    "log_of_root": ("%0 = stablehlo.sqrt %x {F}\n%r = stablehlo.log %0 {F}", ["constant", "log", "multiply"]),
    "log_of_power": ("%c = {C}<3.5> {F}\n%0 = stablehlo.power %x, %c {F}\n%r = stablehlo.log %0 {F}",
                     ["constant", "log", "multiply"]),
    "square_of_root": ("%0 = stablehlo.sqrt %x {F}\n%r = stablehlo.multiply %0, %0 {F}", []),
    "product_of_exponentials": ("%0 = stablehlo.exponential %x {F}\n%s = stablehlo.sine %x {F}\n"
                                "%1 = stablehlo.exponential %s {F}\n%r = stablehlo.multiply %0, %1 {F}",
                                ["sine", "add", "exponential"]),
    "divide_by_constant": ("%c = {C}<3.0> {F}\n%r = stablehlo.divide %x, %c {F}", ["constant", "multiply"]),
    "divide_by_root": ("%0 = stablehlo.sqrt %x {F}\n%r = stablehlo.divide %x, %0 {F}", ["rsqrt", "multiply"]),
    "subtract_itself": ("%r = stablehlo.subtract %x, %x {F}", ["constant"]),
    "divide_by_itself": ("%r = stablehlo.divide %x, %x {F}", ["constant"]),
    "multiply_by_zero": ("%c = {C}<0.0> {F}\n%r = stablehlo.multiply %x, %c {F}", ["constant"]),
    "add_positive_zero": ("%c = {C}<0.0> {F}\n%r = stablehlo.add %x, %c {F}", []),
    "reassociate_constants": ("%c = {C}<3.0> {F}\n%d = {C}<4.0> {F}\n%0 = stablehlo.add %x, %c {F}\n"
                              "%r = stablehlo.add %d, %0 {F}", ["constant", "add"]),
    "expand_power": ("%c = {C}<3.0> {F}\n%r = stablehlo.power %x, %c {F}", ["multiply", "multiply"]),
    "root_of_square": ("%0 = stablehlo.multiply %x, %x {F}\n%r = stablehlo.sqrt %0 {F}", ["abs"]),
    "fold_functions": ("%c = {C}<2.0> {F}\n%0 = stablehlo.log %c {F}\n%r = stablehlo.add %x, %0 {F}",
                       ["constant", "add"]),
}  # fmt: skip


@pytest.mark.parametrize("name", FAST)
def test_fast_math_law_fires_only_under_fast_math_and_agrees_to_rounding(name):
    body, expected = FAST[name]
    body = body.replace("{F}", F).replace("{C}", C)
    text = module_text(X, body)
    plain, fast = parse(text), parse(text)
    run(plain, "simplify")
    report = run(fast, "simplify", options=PassOptions(fast_math=True))
    assert expected == op_names(fast)
    assert name in report.hits
    assert expected != op_names(plain)
    x = np.array([0.25, 0.5, 1.5, 3.0], np.float32)
    np.testing.assert_allclose(interpret(plain, x)[0], interpret(fast, x)[0], rtol=2e-6)


def test_every_fast_math_law_has_a_golden_test():
    assert sorted(law.name for law in fast_math.PATTERNS) == sorted(FAST)

"""Operations in forms that StableHLO's reference interpreter computes, and most programs do not have."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import stagec
from passes.numeric.interpreter import interpret

pytestmark = pytest.mark.usefixtures("untried")

INF, NAN = np.inf, np.nan


def run(body: str, signature: str, results: str, *arguments: Any) -> Any:
    return stagec.from_stablehlo(f"func.func @main({signature}) -> {results} {{\n{body}\n}}")(*arguments)


def assert_interpreted(body: str, signature: str, results: str, *arguments: Any) -> None:
    """Results are those of the interpreter in NumPy, bit for bit."""
    found = run(body, signature, f"({results})", *arguments)
    found = found if isinstance(found, tuple) else (found,)
    expected = interpret(f"func.func @main({signature}) -> ({results}) {{\n{body}\n}}", *arguments)
    for one, wanted in zip(found, expected, strict=True):
        assert one.dtype == wanted.dtype
        np.testing.assert_array_equal(one, wanted)


@pytest.mark.parametrize("direction", ["EQ", "NE", "LT", "LE", "GT", "GE"])
def test_the_total_order_has_places_for_zeros_and_nans(direction: str) -> None:
    x = np.array([0xFFF8000000000000, 0x8000000000000000, 0, 0x7FF8000000000001, 0x7FF0000000000000], np.uint64)
    y = np.array([0xFFF8000000000000, 0, 0x8000000000000000, 0x7FFFFFFFFFFFFFFF, 0x7FF8000000000000], np.uint64)
    kind = "(tensor<5xf64>, tensor<5xf64>) -> tensor<5xi1>"
    assert_interpreted(
        f"%0 = stablehlo.compare {direction}, %x, %y, TOTALORDER : {kind}\n"
        f"%1 = stablehlo.compare {direction}, %x, %y, FLOAT : {kind}\nreturn %0, %1 : tensor<5xi1>, tensor<5xi1>",
        "%x: tensor<5xf64>, %y: tensor<5xf64>",
        "tensor<5xi1>, tensor<5xi1>",
        x.view(np.float64),
        y.view(np.float64),
    )


@pytest.mark.parametrize("direction", ["EQ", "NE"])
def test_complex_numbers_are_equal_in_both_parts(direction: str) -> None:
    x = np.array([complex(NAN, 0), complex(0, NAN), complex(-0.0, 0), 2 + 2j])
    y = np.array([complex(NAN, -0.0), complex(-0.0, NAN), complex(0, -0.0), 2 + 1j])
    kind = "tensor<4xcomplex<f64>>"
    found = run(
        f"%0 = stablehlo.compare {direction}, %x, %y, FLOAT : ({kind}, {kind}) -> tensor<4xi1>\n"
        "return %0 : tensor<4xi1>",
        f"%x: {kind}, %y: {kind}",
        "tensor<4xi1>",
        x,
        y,
    )
    np.testing.assert_array_equal(found, x == y if direction == "EQ" else x != y)


@pytest.mark.parametrize("width", [8, 16, 32, 64])
@pytest.mark.parametrize("sign", ["", "u"])
def test_the_upper_half_of_products(sign: str, width: int) -> None:
    dtype = np.dtype(f"{sign}int{width}")
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    x = np.array([high, low, 3, high // 4 + 1], dtype)
    y = np.array([high, high, 7 if sign else -3, 8], dtype)
    kind = f"tensor<4x{sign}i{width}>"
    found = run(
        f'%0 = "chlo.mulhi"(%x, %y) : ({kind}, {kind}) -> {kind}\nreturn %0 : {kind}',
        f"%x: {kind}, %y: {kind}",
        kind,
        x,
        y,
    )
    np.testing.assert_array_equal(found, [(int(a) * int(b)) >> width for a, b in zip(x, y)])


@pytest.mark.parametrize("kind", ["i8", "i32", "i64", "ui8", "ui32"])
def test_powers_of_integers_wrap_around(kind: str) -> None:
    dtype = np.dtype(kind.replace("i", "int", 1) if kind[0] == "i" else kind.replace("ui", "uint"))
    high = int(np.iinfo(dtype).max)
    x = [2, 3, 0, 0, 1, high, 7, high]
    y = [5, 100, 0, 3, high, 3, 1, 0]
    if kind[0] == "i":
        x += [-1, -1, 1, 2, 0, -3, int(np.iinfo(dtype).min), high]
        y += [-3, -2, -7, -1, -1, 5, 2, -1]
    text = f"tensor<{len(x)}x{kind}>"
    body = f"%0 = stablehlo.power %x, %y : {text}\nreturn %0 : {text}"
    assert_interpreted(body, f"%x: {text}, %y: {text}", text, np.array(x, dtype), np.array(y, dtype))


SHORT = {"i2": ml_dtypes.int2, "ui2": ml_dtypes.uint2, "i4": ml_dtypes.int4, "ui4": ml_dtypes.uint4}


@pytest.mark.parametrize("kind", SHORT)
def test_integers_shorter_than_a_byte_keep_their_bits(kind: str) -> None:
    bits, signed = int(kind[-1]), kind[0] == "i"
    numbers = np.arange(-(1 << bits - 1), 1 << bits - 1) if signed else np.arange(1 << bits)
    x, y = (v.reshape(-1).astype(np.int8).astype(SHORT[kind]) for v in np.meshgrid(numbers, numbers))
    text = f"tensor<{x.size}x{kind}>"
    names = ["count_leading_zeros", "power", "shift_left", "shift_right_logical", "shift_right_arithmetic"]
    body = f"%5 = chlo.mulhi %x, %y : {text}, {text} -> {text}\n"
    for i, name in enumerate(names):
        body += f"%{i} = stablehlo.{name} %x{', %y' * (i > 0)} : {text}\n"
    body += f"return {', '.join(f'%{i}' for i in range(6))} : {', '.join([text] * 6)}"
    found = run(body, f"%x: {text}, %y: {text}", f"({', '.join([text] * 6)})", x, y)
    mask = (1 << bits) - 1

    def number(value: int) -> int:
        value &= mask
        return value - (1 << bits) if signed and value >> bits - 1 else value

    def power(a: int, b: int) -> int:
        return a**b if b >= 0 else 0 if abs(a) != 1 else a if b & 1 else 1

    for i, (a, b) in enumerate(zip(x.astype(int).tolist(), y.astype(int).tolist())):
        amount, extended = b & mask, number(a) if signed else a - (1 << bits) * (a >> bits - 1)
        expected = [
            bits - (a & mask).bit_length(),
            power(a, b),
            a << amount if amount < bits else 0,
            (a & mask) >> amount,
            extended >> amount,
            a * b >> bits,
        ]
        assert [int(np.asarray(v)[i]) for v in found] == [number(e) for e in expected], (a, b)


def test_complex_numbers_are_ordered_by_their_real_parts() -> None:
    x, y = np.array([1 + 2j, 1 + 3j, -1 - 1j, 8j]), np.array([1 + 3j, 1 + 2j, 2, -0.5 + 1j])
    kind = "tensor<4xcomplex<f64>>"
    larger, smaller, root = run(
        f"%0 = stablehlo.maximum %x, %y : {kind}\n%1 = stablehlo.minimum %x, %y : {kind}\n"
        f"%2 = stablehlo.cbrt %x : {kind}\nreturn %0, %1, %2 : {kind}, {kind}, {kind}",
        f"%x: {kind}, %y: {kind}",
        f"({kind}, {kind}, {kind})",
        x,
        y,
    )
    np.testing.assert_array_equal(larger, [1 + 3j, 1 + 3j, 2, 8j])
    np.testing.assert_array_equal(smaller, [1 + 2j, 1 + 2j, -1 - 1j, -0.5 + 1j])
    np.testing.assert_allclose(root, x ** (1 / 3), rtol=1e-12)


def test_real_numbers_have_parts() -> None:
    kind = "tensor<2xbf16>"
    body = f"%0 = stablehlo.real %x : {kind}\n%1 = stablehlo.imag %x : {kind}\n%2 = chlo.conj %x : {kind} -> {kind}\n"
    x = np.array([1.5, -2]).astype(ml_dtypes.bfloat16)
    found = run(f"{body}return %0, %1, %2 : {kind}, {kind}, {kind}", f"%x: {kind}", f"({kind}, {kind}, {kind})", x)
    for result, expected in zip(found, (x, 0 * x, x)):
        np.testing.assert_array_equal(result, expected + 0)


@pytest.mark.parametrize(("dtype", "kind"), [(np.complex64, "f32"), (np.complex128, "f64")])
def test_squares_of_complex_numbers_do_not_cancel(dtype: type, kind: str) -> None:
    big = float(np.finfo(dtype).max) / 2
    x = np.array([1j, 2 + 1j, complex(big, big), complex(big, -big), complex(INF, INF), complex(3, 4)], dtype)
    text = f"tensor<6xcomplex<{kind}>>"
    found = np.asarray(run(f"%0 = chlo.square %x : {text} -> {text}\nreturn %0 : {text}", f"%x: {text}", text, x))
    np.testing.assert_array_equal(found.real, [-1, 3, 0, 0, NAN, -7])
    np.testing.assert_array_equal(found.imag, [0, 4, INF, -INF, INF, 24])


@pytest.mark.parametrize(
    ("wide", "narrow", "parts"),
    [("i8", "i4", 2), ("i8", "ui4", 2), ("f32", "i4", 8), ("ui16", "ui2", 8), ("i4", "ui2", 2), ("f8E4M3FN", "i4", 2)],
)
def test_bits_are_split_into_parts_of_a_byte_and_joined(wide: str, narrow: str, parts: int) -> None:
    dtypes = {"f8E4M3FN": ml_dtypes.float8_e4m3fn, "i4": ml_dtypes.int4, "f32": np.float32, "i8": np.int8}
    x = np.array([1.5, -2.0, 0.75, 3.0]).astype(dtypes.get(wide, np.uint16))
    before, after = f"tensor<4x{wide}>", f"tensor<4x{parts}x{narrow}>"
    split, joined = run(
        f"%0 = stablehlo.bitcast_convert %x : ({before}) -> {after}\n"
        f"%1 = stablehlo.bitcast_convert %0 : ({after}) -> {before}\nreturn %0, %1 : {after}, {before}",
        f"%x: {before}",
        f"({after}, {before})",
        x,
    )
    np.testing.assert_array_equal(joined, x)
    bits = 4 if wide == "i4" else 8 * x.dtype.itemsize
    words = x.astype(np.int8).view(np.uint8) & 15 if wide == "i4" else x.view(f"uint{bits}")
    mask = (1 << bits // parts) - 1
    found = np.asarray(split).astype(np.int8).astype(np.int64) & mask
    np.testing.assert_array_equal(found, [[(int(w) >> bits // parts * i) & mask for i in range(parts)] for w in words])


CONVOLUTION = """%0 = "stablehlo.{name}"(%x, %k{operand}) <{{dimension_numbers =
    #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, window_strides = array<i64: 3, 2>,
    lhs_dilation = array<i64: 2, 2>, rhs_dilation = array<i64: 1, 2>, batch_group_count = 1 : i64{attribute},
    feature_group_count = 1 : i64}}> : (tensor<1x4x4x1xi32>, tensor<3x2x1x1xi32>{type}) -> tensor<1x{n}x{m}x1xi32>
  return %0 : tensor<1x{n}x{m}x1xi32>"""


@pytest.mark.parametrize(("low", "high"), [((0, 0), (0, 0)), ((1, 2), (0, 1)), ((-1, 0), (-2, 1))])
def test_the_padding_of_a_convolution_may_be_an_operand(low: tuple, high: tuple) -> None:
    pairs = str([list(pair) for pair in zip(low, high)])
    signature = "%x: tensor<1x4x4x1xi32>, %k: tensor<3x2x1x1xi32>"
    arguments = (
        np.arange(16, dtype=np.int32).reshape(1, 4, 4, 1),
        np.arange(6, dtype=np.int32).reshape(3, 2, 1, 1) - 2,
    )
    n, m = (7 + low[0] + high[0] - 3) // 3 + 1, (7 + low[1] + high[1] - 3) // 2 + 1
    padding = f", padding = dense<{pairs}> : tensor<2x2xi64>"
    text = CONVOLUTION.format(name="convolution", operand="", attribute=padding, type="", n=n, m=m)
    known = interpret(f"func.func @main({signature}) -> tensor<1x{n}x{m}x1xi32> {{\n{text}\n}}", *arguments)[0]
    dynamic = CONVOLUTION.format(
        name="dynamic_conv", operand=", %p", attribute="", type=", tensor<2x2xi64>", n="?", m="?"
    )
    constant = f"%p = stablehlo.constant dense<{pairs}> : tensor<2x2xi64>\n"
    np.testing.assert_array_equal(run(constant + dynamic, signature, "tensor<1x?x?x1xi32>", *arguments), known)
    np.testing.assert_array_equal(run(text, signature, f"tensor<1x{n}x{m}x1xi32>", *arguments), known)


def test_the_slices_of_a_gather_may_have_sizes_that_are_operands() -> None:
    x = np.arange(24, dtype=np.int32).reshape(3, 4, 2)
    at = np.array([[[0, 0], [1, 0], [2, 1]], [[0, 1], [1, 1], [0, 9]]], np.int64)
    found = run(
        "%s = stablehlo.constant dense<[1, 2, 2]> : tensor<3xi32>\n"
        '%0 = "stablehlo.dynamic_gather"(%x, %i, %s) {dimension_numbers = #stablehlo.gather<offset_dims = [2, 3], '
        "collapsed_slice_dims = [0], start_index_map = [1, 0], index_vector_dim = 2>} "
        ": (tensor<3x4x2xi32>, tensor<2x3x2xi64>, tensor<3xi32>) -> tensor<2x3x2x2xi32>\n"
        "return %0 : tensor<2x3x2x2xi32>",
        "%x: tensor<3x4x2xi32>, %i: tensor<2x3x2xi64>",
        "tensor<2x3x2x2xi32>",
        x,
        at,
    )
    rows = [[(min(r, 2), min(c, 2)) for c, r in line] for line in at.tolist()]
    np.testing.assert_array_equal(found, [[x[r, c : c + 2] for r, c in line] for line in rows])


def test_a_padding_that_is_an_operand_may_be_negative_and_interior() -> None:
    found = run(
        "%v = stablehlo.constant dense<7> : tensor<i32>\n%l = stablehlo.constant dense<[-1, 1]> : tensor<2xi64>\n"
        "%h = stablehlo.constant dense<[2, -1]> : tensor<2xi64>\n"
        "%n = stablehlo.constant dense<[1, 0]> : tensor<2xi64>\n"
        "%0 = stablehlo.dynamic_pad %x, %v, %l, %h, %n "
        ": (tensor<2x3xi32>, tensor<i32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xi32>\n"
        "return %0 : tensor<?x?xi32>",
        "%x: tensor<2x3xi32>",
        "tensor<?x?xi32>",
        np.arange(6, dtype=np.int32).reshape(2, 3),
    )
    np.testing.assert_array_equal(found, [[7, 7, 7], [7, 3, 4], [7, 7, 7], [7, 7, 7]])


SIZED = """%n = stablehlo.constant dense<{size}> : tensor<i32>
%r = stablehlo.set_dimension_size %x, %n, dim = 0 : (tensor<4xf32>, tensor<i32>) -> tensor<?xf32, #stablehlo.bounds<4>>
%s = stablehlo.get_dimension_size %r, dim = 0 : (tensor<?xf32, #stablehlo.bounds<4>>) -> tensor<i32>
return %r, %s : tensor<?xf32, #stablehlo.bounds<4>>, tensor<i32>"""


def test_a_dimension_may_be_set_to_fewer_elements() -> None:
    results = "(tensor<?xf32, #stablehlo.bounds<4>>, tensor<i32>)"
    x = np.arange(4, dtype=np.float32)
    for size in (0, 2, 4):
        kept, count = run(SIZED.format(size=size), "%x: tensor<4xf32>", results, x)
        np.testing.assert_array_equal(kept, x[:size])
        assert count == size
    with pytest.raises(stagec.errors.UnsupportedError, match="sets axis 0 of length 4 to 5"):
        run(SIZED.format(size=5), "%x: tensor<4xf32>", results, x)


V = np.float32([1, 2])
NESTED = "tuple<tuple<tensor<2xf32>, !stablehlo.token>, tensor<i32>>"


def test_tuples_and_tokens_may_be_parameters_and_results() -> None:
    program = f"""func.func @main(%t: {NESTED}, %k: !stablehlo.token) -> ({NESTED}, tensor<2xf32>) {{
      %0 = stablehlo.get_tuple_element %t[0] : ({NESTED}) -> tuple<tensor<2xf32>, !stablehlo.token>
      %1 = stablehlo.get_tuple_element %0[0] : (tuple<tensor<2xf32>, !stablehlo.token>) -> tensor<2xf32>
      %2 = stablehlo.get_tuple_element %t[1] : ({NESTED}) -> tensor<i32>
      %3 = stablehlo.after_all %k, %k : !stablehlo.token
      %4 = stablehlo.add %1, %1 : tensor<2xf32>
      %5 = stablehlo.tuple %4, %3 : tuple<tensor<2xf32>, !stablehlo.token>
      %6 = stablehlo.tuple %5, %2 : {NESTED}
      return %6, %1 : {NESTED}, tensor<2xf32>
    }}"""
    function = stagec.from_stablehlo(program)
    ((twice, token), number), same = function(((V, None), np.int32(3)), None)
    np.testing.assert_array_equal(twice, 2 * V)
    np.testing.assert_array_equal(same, V)
    assert token is None
    assert number == 3
    args, _ = function.arguments()
    assert args[0][0][0].shape == (2,)
    assert args[1] is None
    with pytest.raises(stagec.errors.ArgumentTypeError, match=r"arg0[\s\S]*Fix: pass a tuple of 2"):
        function(V, None)
    with pytest.raises(stagec.errors.ArgumentTypeError, match=r"arg0\[0\]\[0\] does not have the type"):
        function(((np.ones(3, np.float32), None), np.int32(3)), None)
    with pytest.raises(stagec.errors.ArgumentTypeError, match=r"arg1[\s\S]*Fix: pass None for a token"):
        function(((V, None), np.int32(3)), V)


def test_tokens_go_through_loops_and_branches() -> None:
    found = run(
        """%t = stablehlo.create_token : !stablehlo.token
        %n = stablehlo.constant dense<5> : tensor<i32>
        %one = stablehlo.constant dense<1> : tensor<i32>
        %0:2 = stablehlo.while(%i = %x, %k = %t) : tensor<i32>, !stablehlo.token
          cond {
            %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
            stablehlo.return %c : tensor<i1>
          } do {
            %j = stablehlo.add %i, %one : tensor<i32>
            stablehlo.return %j, %k : tensor<i32>, !stablehlo.token
          }
        %1:2 = "stablehlo.if"(%p) ({
          stablehlo.return %0#0, %0#1 : tensor<i32>, !stablehlo.token
        }, {
          %m = stablehlo.negate %0#0 : tensor<i32>
          stablehlo.return %m, %t : tensor<i32>, !stablehlo.token
        }) : (tensor<i1>) -> (tensor<i32>, !stablehlo.token)
        return %1#0 : tensor<i32>""",
        "%x: tensor<i32>, %p: tensor<i1>",
        "tensor<i32>",
        np.int32(-3),
        np.bool_(False),
    )
    assert found == -5


SUM = """({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %s = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %s : tensor<f32>
})"""
MESH = """#stablehlo.replica_group_mesh_axes<
  mesh = #stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = "x", size = {n}>]>,
  axes = [#stablehlo.axis_ref<name = "x">]>"""
COLLECTIVES = {
    "all_gather": ("all_gather_dim = 0 : i64, ", ""),
    "all_reduce": ("", SUM),
    "all_to_all": ("split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 1 : i64, ", ""),
    "collective_broadcast": ("", ""),
    "collective_reduce": ("", SUM),
    "reduce_scatter": ("scatter_dimension = 0 : i64, ", SUM),
}


def collective(name: str, groups: str) -> Any:
    attributes, region = COLLECTIVES[name]
    body = f'%0 = "stablehlo.{name}"(%x) {region} {{{attributes}replica_groups = {groups}}} : (tensor<2xf32>) -> '
    return run(f"{body}tensor<2xf32>\nreturn %0 : tensor<2xf32>", "%x: tensor<2xf32>", "tensor<2xf32>", V)


@pytest.mark.parametrize("name", COLLECTIVES)
def test_one_process_has_the_results_of_all(name: str) -> None:
    np.testing.assert_array_equal(collective(name, "dense<[[0]]> : tensor<1x1xi64>"), V)


def test_groups_of_processes_may_be_padded_or_axes_of_a_mesh() -> None:
    np.testing.assert_array_equal(collective("all_reduce", "dense<[[0, -1]]> : tensor<1x2xi64>"), V)
    np.testing.assert_array_equal(collective("all_reduce", MESH.format(n=1)), V)
    with pytest.raises(stagec.errors.UnsupportedError, match="several processes"):
        collective("all_reduce", MESH.format(n=2))


@pytest.mark.parametrize(("pairs", "factor"), [("<[[0, 0]]> : tensor<1x2xi64>", 1), ("<> : tensor<0x2xi64>", 0)])
def test_a_process_that_receives_nothing_gets_zeros(pairs: str, factor: int) -> None:
    body = (
        '%0 = "stablehlo.collective_permute"(%x) {{source_target_pairs = dense{0}}} : (tensor<2xf32>) -> tensor<2xf32>'
    )
    text = body.format(pairs) + "\nreturn %0 : tensor<2xf32>"
    np.testing.assert_array_equal(run(text, "%x: tensor<2xf32>", "tensor<2xf32>", V), factor * V)
    with pytest.raises(stagec.errors.UnsupportedError, match="several processes"):
        text = body.format("<[[0, 1]]> : tensor<1x2xi64>") + "\nreturn %0 : tensor<2xf32>"
        run(text, "%x: tensor<2xf32>", "tensor<2xf32>", V)


def test_a_collective_operation_may_be_waited_for() -> None:
    found = run(
        """%f = "stablehlo.async_start"(%x) ({
        ^bb0(%a: tensor<2xf32>):
          %q = "stablehlo.all_gather"(%a) {all_gather_dim = 0 : i64, replica_groups = dense<[[0]]> : tensor<1x1xi64>}
            : (tensor<2xf32>) -> tensor<2xf32>
          stablehlo.return %q : tensor<2xf32>
        }) : (tensor<2xf32>) -> !stablehlo.future<tensor<2xf32>>
        %0 = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<2xf32>>) -> tensor<2xf32>
        return %0 : tensor<2xf32>""",
        "%x: tensor<2xf32>",
        "tensor<2xf32>",
        V,
    )
    np.testing.assert_array_equal(found, V)


def test_a_broadcast_between_processes_may_take_its_root_as_an_operand() -> None:
    body = (
        '%0 = "stablehlo.collective_broadcast"(%x, %r) {replica_groups = dense<[[0]]> : tensor<1x1xi64>, '
        "has_dynamic_root} : (tensor<2xf32>, tensor<1xi32>) -> tensor<2xf32>\nreturn %0 : tensor<2xf32>"
    )
    found = run(body, "%x: tensor<2xf32>, %r: tensor<1xi32>", "tensor<2xf32>", V, np.zeros(1, np.int32))
    np.testing.assert_array_equal(found, V)


def test_a_program_may_return_nothing() -> None:
    assert stagec.from_stablehlo("func.func @main(%x: tensor<2xf32>) {\n  return\n}\n")(V) == ()


@pytest.mark.parametrize(
    ("kind", "shape", "axes"),
    [("FFT", (2, 3, 4), 3), ("IFFT", (2, 2), 2), ("RFFT", (2, 3, 4), 3), ("IRFFT", (2, 2, 3), 3), ("RFFT", (2, 1), 1)],
)
def test_fourier_transforms_go_along_up_to_three_axes(kind: str, shape: tuple, axes: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=shape) + (0 if kind == "RFFT" else 1j * rng.normal(size=shape))
    sizes = [*shape[-axes:-1], 2 * shape[-1] - 2 if kind == "IRFFT" else shape[-1]]
    oracle = {"FFT": np.fft.fftn, "IFFT": np.fft.ifftn, "RFFT": np.fft.rfftn, "IRFFT": np.fft.irfftn}[kind]
    expected = oracle(x, s=sizes, axes=range(-axes, 0))
    types = [
        f"tensor<{'x'.join(map(str, v.shape))}x{'f64' if v.dtype == np.float64 else 'complex<f64>'}>"
        for v in (x, expected)
    ]
    found = run(
        f"%0 = stablehlo.fft %x, type = {kind}, length = {sizes} : ({types[0]}) -> {types[1]}\nreturn %0 : {types[1]}",
        f"%x: {types[0]}",
        types[1],
        x,
    )
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("kind", SHORT)
def test_the_interpreter_shifts_integers_shorter_than_a_byte(kind: str) -> None:
    bits, text = int(kind[-1]), f"tensor<3x{kind}>"
    x = np.array([(1 << bits) - 1 if kind[0] == "u" else -1, 1, 0]).astype(SHORT[kind])
    y = np.array([1, 0, bits - 1]).astype(SHORT[kind])
    body = (
        f"%0 = stablehlo.shift_right_logical %x, %y : {text}\n"
        f"%1 = stablehlo.shift_right_arithmetic %x, %y : {text}\n"
        f"%2 = stablehlo.convert %x : ({text}) -> tensor<3xui2>\nreturn %0, %1, %2 : {text}, {text}, tensor<3xui2>"
    )
    signature, results = f"%x: {text}, %y: {text}", f"{text}, {text}, tensor<3xui2>"
    assert_interpreted(body, signature, results, x, y)


@pytest.mark.parametrize(
    "text",
    [
        "%0 = stablehlo.from_the_future %x : tensor<2xf32>",
        '%0 = "stablehlo.from_the_future"(%x) : (tensor<2xf32>) -> tensor<2xf32>',
    ],
)
def test_an_operation_of_a_newer_version_is_refused_with_a_hint(text: str) -> None:
    program = f"func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {{\n{text}\nreturn %0 : tensor<2xf32>\n}}"
    fix = "Fix: serialize the program for an older version of StableHLO"
    with pytest.raises(stagec.errors.ArtifactError, match=rf"from_the_future[\s\S]*{fix}"):
        stagec.from_stablehlo(program)

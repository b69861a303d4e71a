"""Forms of modules that others write: what surrounds operations, calls by name, shapes as operands, and lines."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest
from test_rare_operations import run

import stagec

pytestmark = pytest.mark.usefixtures("untried")

X = np.arange(12, dtype=np.float32).reshape(3, 4)
F32 = "!vhlo.tensor_v1<4x!vhlo.f32_v1>"
VHLO = f"""
"sdy.mesh"() : () -> ()
"vhlo.func_v1"() <{{sym_name = #vhlo.string_v1<"main">, sym_visibility = #vhlo.string_v1<"">,
    function_type = #vhlo.type_v1<!vhlo.func_v1<({F32}) -> {F32}>>,
    arg_attrs = #vhlo.array_v1<[]>, res_attrs = #vhlo.array_v1<[]>}}> ({{
^bb0(%x: {F32}):
  %0 = builtin.unrealized_conversion_cast %x : {F32} to tensor<4xf32>
  %1 = "sdy.sharding_constraint"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = builtin.unrealized_conversion_cast %1 : tensor<4xf32> to {F32}
  %3 = "vhlo.add_v1"(%2, %x) : ({F32}, {F32}) -> {F32}
  "vhlo.return_v1"(%3) : ({F32}) -> ()
}}) : () -> ()
"""


def test_functions_without_visibility_and_annotations_of_devices_are_read() -> None:
    np.testing.assert_array_equal(stagec.from_stablehlo(VHLO)(X[0]), 2 * X[0])


def test_a_call_that_names_computations_is_read_from_vhlo() -> None:
    text = VHLO.replace(
        '"vhlo.add_v1"(%2, %x)',
        '"vhlo.custom_call_v1"(%2, %x) <{api_version = #vhlo<api_version_v1 API_VERSION_ORIGINAL>, '
        'backend_config = #vhlo.string_v1<"">, call_target_name = #vhlo.string_v1<"Nobodys">, '
        'called_computations = #vhlo.array_v1<[#vhlo.string_v1<"main">, #vhlo.string_v1<"main">]>, '
        "has_side_effect = #vhlo.bool_v1<false>, operand_layouts = #vhlo.array_v1<[]>, "
        "output_operand_aliases = #vhlo.array_v1<[]>, result_layouts = #vhlo.array_v1<[]>}>",
    )
    with pytest.raises(stagec.errors.UnsupportedError, match=r"calls 'Nobodys'.*\n.*\n.*\[@main, @main\]"):
        stagec.from_stablehlo(text)(X[0])


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        ('"test.op"() : () -> ()', "serialize the program as a portable artifact of StableHLO again"),
        (f'"vhlo.add_v1"(%2, %x) : ({F32}, {F32}) -> tuple<{F32}>', "serialize the program for an older version"),
    ],
)
def test_what_is_not_known_of_vhlo_is_refused(line: str, fix: str) -> None:
    text = VHLO.replace('  "vhlo.return', f'  {line}\n  "vhlo.return')
    with pytest.raises(stagec.errors.UnsupportedError, match=rf"line 11:\d+: [\s\S]*Fix: {fix}"):
        stagec.from_stablehlo(text)


@pytest.mark.parametrize(("direction", "largest"), [("GT", True), ("LT", False)])
def test_approximate_selections_are_exact(direction: str, largest: bool) -> None:
    text = f"""
    func.func private @first(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<i1> {{
      %0 = stablehlo.compare {direction}, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      return %0 : tensor<i1>
    }}
    func.func @main(%x: tensor<3x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xi32>) {{
      %i = stablehlo.iota dim = 0 : tensor<3x4xi32>
      %v = stablehlo.constant dense<0.0> : tensor<f32>
      %n = stablehlo.constant dense<-1> : tensor<i32>
      %0:2 = stablehlo.custom_call @ApproxTopK(%x, %i, %v, %n) {{called_computations = [@first],
        mhlo.backend_config = {{reduction_dim = 0 : i64, top_k = 2 : i64, aggregate_to_topk = true}}}}
        : (tensor<3x4xf32>, tensor<3x4xi32>, tensor<f32>, tensor<i32>) -> (tensor<2x4xf32>, tensor<2x4xi32>)
      return %0#0, %0#1 : tensor<2x4xf32>, tensor<2x4xi32>
    }}"""
    x = (X * 5) % 7
    values, places = stagec.from_stablehlo(text)(x)
    order = np.argsort(-x if largest else x, 0, kind="stable")[:2]
    np.testing.assert_array_equal(places, order)
    np.testing.assert_array_equal(values, np.take_along_axis(x, order, 0))
    wide = text.replace("top_k = 2", "top_k = 1")
    with pytest.raises(stagec.errors.UnsupportedError, match="more candidates") as raised:
        stagec.from_stablehlo(wide)(x)
    assert "aggregate to the top k in the call" in str(raised.value)


def test_a_selection_whose_count_is_an_operand() -> None:
    text = """func.func @main(%x: tensor<3x4xf32>) -> (tensor<3x?xf32>, tensor<3x?xi32>) {
      %k = stablehlo.constant dense<2> : tensor<i32>
      %0:2 = stablehlo.custom_call @stablehlo.dynamic_top_k(%x, %k)
        : (tensor<3x4xf32>, tensor<i32>) -> (tensor<3x?xf32>, tensor<3x?xi32>)
      return %0#0, %0#1 : tensor<3x?xf32>, tensor<3x?xi32>
    }"""
    values, places = stagec.from_stablehlo(text)(X)
    np.testing.assert_array_equal(values, X[:, :1:-1])
    np.testing.assert_array_equal(places, [[3, 2]] * 3)


def test_bits_of_one_dtype_are_the_value() -> None:
    flags = X[0] > 1
    (found,) = run(
        "%x: tensor<4xi1>", "tensor<4xi1>", "stablehlo.bitcast_convert %x : (tensor<4xi1>) -> tensor<4xi1>", flags
    )
    np.testing.assert_array_equal(found, flags)


def test_lapack_leaves_the_other_triangle_of_a_factor() -> None:
    square = (X[:, :3] @ X[:, :3].T + 20 * np.eye(3)).astype(np.float32)
    for letter, kept in (("L", np.triu), ("U", np.tril)):
        given = square + kept(np.ones((3, 3), np.float32), 1 if letter == "L" else -1)
        found, info = run(
            "%x: tensor<3x3xf32>",
            "tensor<3x3xf32>, tensor<i32>",
            f"stablehlo.custom_call @lapack_spotrf_ffi(%x) {{mhlo.backend_config = {{uplo = {ord(letter)} : ui8}}}} "
            ": (tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<i32>)",
            given,
        )
        factor = np.linalg.cholesky(square)
        strict = 1 if letter == "L" else -1
        wanted = kept(given, strict) + (factor if letter == "L" else factor.T)
        np.testing.assert_allclose(found, wanted, rtol=1e-5)
        assert info == 0


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_systems_in_half_precision_are_solved(kind: str) -> None:
    a = (np.tril(X[:, :3]) / 8 + np.eye(3)).astype("float16" if kind == "f16" else stagec.dtypes.bfloat16)
    b = np.ones((3, 1), a.dtype)
    (found,) = run(
        f"%a: tensor<3x3x{kind}>, %b: tensor<3x1x{kind}>",
        f"tensor<3x1x{kind}>",
        '"stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, unit_diagonal = false, '
        "transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> "
        f": (tensor<3x3x{kind}>, tensor<3x1x{kind}>) -> tensor<3x1x{kind}>",
        a,
        b,
    )
    assert found.dtype == a.dtype
    wanted = np.linalg.solve(a.astype(np.float64), b.astype(np.float64))
    np.testing.assert_allclose(found.astype(np.float64), wanted, rtol=0.02)


def test_padding_slices_and_sizes_may_be_operands() -> None:
    pad = """func.func @main(%x: tensor<4xf32>, %v: tensor<f32>) -> tensor<9xf32> {
      %l = stablehlo.constant dense<1> : tensor<1xi64>
      %h = stablehlo.constant dense<1> : tensor<1xi64>
      %i = stablehlo.constant dense<1> : tensor<1xi64>
      %0 = stablehlo.dynamic_pad %x, %v, %l, %h, %i
        : (tensor<4xf32>, tensor<f32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<9xf32>
      return %0 : tensor<9xf32>
    }"""
    np.testing.assert_array_equal(stagec.from_stablehlo(pad)(X[0], np.float32(7)), [7, 0, 7, 1, 7, 2, 7, 3, 7])
    gather = """func.func @main(%x: tensor<3x4xf32>, %i: tensor<2x1xi32>) -> tensor<2x3xf32> {
      %s = stablehlo.constant dense<[1, 3]> : tensor<2xi32>
      %0 = "stablehlo.dynamic_gather"(%x, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],
        collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}>
        : (tensor<3x4xf32>, tensor<2x1xi32>, tensor<2xi32>) -> tensor<2x3xf32>
      return %0 : tensor<2x3xf32>
    }"""
    found = stagec.from_stablehlo(gather)(X, np.array([[2], [9]], np.int32))
    np.testing.assert_array_equal(found, X[[2, 2], :3])
    convolution = """func.func @main(%x: tensor<1x1x4xf32>, %k: tensor<1x1x2xf32>) -> tensor<1x1x4xf32> {
      %p = stablehlo.constant dense<[[1, 0]]> : tensor<1x2xi64>
      %0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{dimension_numbers = #stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>,
        feature_group_count = 1 : i64, batch_group_count = 1 : i64, window_reversal = array<i1: true>}>
        : (tensor<1x1x4xf32>, tensor<1x1x2xf32>, tensor<1x2xi64>) -> tensor<1x1x4xf32>
      return %0 : tensor<1x1x4xf32>
    }"""
    kernel = np.float32([[[2, 3]]])
    found = stagec.from_stablehlo(convolution)(X[0][None, None], kernel)
    np.testing.assert_array_equal(np.asarray(found)[0, 0], np.convolve(X[0], kernel[0, 0])[:4])


def test_a_bounded_dimension_takes_its_size() -> None:
    text = """func.func @main(%x: tensor<4xf32>) -> tensor<f32> {
      %n = stablehlo.constant dense<3> : tensor<i32>
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = stablehlo.set_dimension_size %x, %n, dim = 0
        : (tensor<4xf32>, tensor<i32>) -> tensor<?xf32, #stablehlo.bounds<4>>
      %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [0]
        : (tensor<?xf32, #stablehlo.bounds<4>>, tensor<f32>) -> tensor<f32>
      return %1 : tensor<f32>
    }"""
    assert stagec.from_stablehlo(text)(X[1]) == X[1, :3].sum()
    with pytest.raises(stagec.errors.UnsupportedError, match=r"axis 0 of length 4 to 5[\s\S]*Fix: set a length within"):
        stagec.from_stablehlo(text.replace("dense<3>", "dense<5>"))(X[1])


def test_tuples_and_tokens_hold_what_they_are_made_of() -> None:
    text = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = stablehlo.create_token : !stablehlo.token
      %1 = stablehlo.after_all %0, %0 : !stablehlo.token
      %2 = stablehlo.negate %x : tensor<4xf32>
      %3 = stablehlo.tuple %x, %2, %1 : tuple<tensor<4xf32>, tensor<4xf32>, !stablehlo.token>
      %4 = stablehlo.get_tuple_element %3[1] : (tuple<tensor<4xf32>, tensor<4xf32>, !stablehlo.token>) -> tensor<4xf32>
      return %4 : tensor<4xf32>
    }"""
    np.testing.assert_array_equal(stagec.from_stablehlo(text)(X[1]), -X[1])


@pytest.mark.parametrize(
    ("pairs", "kept"), [("dense<[[0, 0]]> : tensor<1x2xi64>", 1), ("dense<> : tensor<0x2xi64>", 0)]
)
def test_a_process_alone_receives_from_itself_or_nobody(pairs: str, kept: int) -> None:
    operation = (
        f'"stablehlo.collective_permute"(%x) <{{source_target_pairs = {pairs}}}> : (tensor<4xf32>) -> tensor<4xf32>'
    )
    (found,) = run("%x: tensor<4xf32>", "tensor<4xf32>", operation, X[1])
    np.testing.assert_array_equal(found, X[1] * kept)


def test_quantized_elements_are_refused() -> None:
    kind = "tensor<4x!quant.uniform<i8:f32, 0.5:3>>"
    text = f"func.func @main(%x: tensor<4xf32>) -> {kind} {{\n" + (
        f"%0 = stablehlo.uniform_quantize %x : (tensor<4xf32>) -> {kind}\nreturn %0 : {kind}\n}}"
    )
    with pytest.raises(stagec.StagecError, match=r"quant[\s\S]*Fix: export the program without this operation"):
        stagec.from_stablehlo(text)(X[0])


def test_lines_of_the_module_are_in_errors_and_dumps(tmp_path: pathlib.Path) -> None:
    text = """func.func @main(%x: tensor<4xf32>, %f: tensor<1xf32>) -> tensor<?xf32> {
      %0 = stablehlo.sine %x : tensor<4xf32>
      %s = stablehlo.convert %f : (tensor<1xf32>) -> tensor<1xi32>
      %1 = stablehlo.dynamic_reshape %0, %s : (tensor<4xf32>, tensor<1xi32>) -> tensor<?xf32>
      return %1 : tensor<?xf32>
    }"""
    path = tmp_path / "model.mlir"
    path.write_text(text)
    with pytest.raises(stagec.errors.UnsupportedError, match=r"model\.mlir:4:12: stablehlo\.dynamic_reshape") as raised:
        stagec.from_stablehlo(path)(X[0], np.array([4], np.float32))
    assert "model.mlir:4 in StableHLO:  %1 = stablehlo.dynamic_reshape" in str(raised.value)
    path.write_text(
        text.replace("dynamic_reshape %0, %s", "reshape %0").replace(", tensor<1xi32>) ->", ") ->").replace("?", "4")
    )
    function = stagec.from_stablehlo(path)
    args, _ = function.arguments()
    assert 'model.mlir":2' in stagec.jit(function).lower(*args).as_text(locations=True)
    lines = [
        e.location.brief()
        for e in stagec.jit(stagec.from_stablehlo(path.read_text()))
        .trace(*args)
        .graph.eqns[0]
        .params["graph"]
        .equations
    ]
    assert lines == ["the module:2", "the module:3"]


ADD = """func.func @main(%x: tensor<3x{0}>) -> tensor<3x{0}> {{
  %y = stablehlo.add %x, %x : tensor<3x{0}>
  return %y : tensor<3x{0}>
}}
"""


def test_arguments_are_converted_as_in_other_calls() -> None:
    add, count = (stagec.from_stablehlo(ADD.format(dtype)) for dtype in ("f32", "i32"))
    np.testing.assert_array_equal(add(np.ones(3)), np.full(3, 2.0, np.float32))
    np.testing.assert_array_equal(add([1, 2.5, True]), np.float32([2, 5, 2]))
    np.testing.assert_array_equal(count(np.arange(3)), np.int32([0, 2, 4]))
    with stagec.enable_x64(), pytest.raises(stagec.errors.ArgumentTypeError, match=r"given +f64\[3\]"):
        add(np.ones(3))
    for given in ([1.5, 2, 3], [1j, 0, 0], np.ones(3), "abc", [2**70, 0, 0]):
        with pytest.raises(stagec.errors.ArgumentTypeError, match="does not have the type"):
            count(given)
    with pytest.raises(OverflowError, match="does not fit int32"):
        count([1, 2, 2**40])


def test_a_function_that_calls_itself_is_refused() -> None:
    text = """
    func.func @main(%x: tensor<f32>) -> tensor<f32> {
      %y = func.call @other(%x) : (tensor<f32>) -> tensor<f32>
      %z = func.call @other(%y) : (tensor<f32>) -> tensor<f32>
      return %z : tensor<f32>
    }
    func.func private @other(%x: tensor<f32>) -> tensor<f32> {
      %y = CALL
      return %y : tensor<f32>
    }
    """
    calls = stagec.from_stablehlo(text.replace("CALL", "stablehlo.add %x, %x : tensor<f32>"))
    assert float(calls(1.0)) == 4
    recursive = stagec.from_stablehlo(text.replace("CALL", "func.call @main(%x) : (tensor<f32>) -> tensor<f32>"))
    with pytest.raises(stagec.errors.UnsupportedError, match=r"line 8:.* makes main call itself"):
        recursive(1.0)

"""Operations that JAX does not write, and forms of them: against the interpreter of StableHLO in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import stagec
from passes.numeric.interpreter import interpret

pytestmark = pytest.mark.usefixtures("untried")

X = np.arange(12, dtype=np.float32).reshape(3, 4)
BITS = np.array([[5, 1, 4], [1, 5, 9]], np.int32)


def region(body: str, kind: str = "f32", arguments: int = 2) -> str:
    names = ", ".join(f"%r{i}: tensor<{kind}>" for i in range(arguments))
    return f"({{\n^bb0({names}):\n{body}\n}})"


# Body of @main with its type, and the arguments. Every result is compared.
PROGRAMS = {
    "scatter with a region that no scatter has": (
        "(%x: tensor<3x4xf32>, %i: tensor<2x1xi32>, %u: tensor<2x4xf32>) -> tensor<3x4xf32> {\n"
        '%0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<'
        "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], "
        "index_vector_dim = 1>}> "
        + region(
            "%a = stablehlo.subtract %r0, %r1 : tensor<f32>\n%b = stablehlo.multiply %a, %r1 : tensor<f32>\n"
            "stablehlo.return %b : tensor<f32>"
        )
        + " : (tensor<3x4xf32>, tensor<2x1xi32>, tensor<2x4xf32>) -> tensor<3x4xf32>\n"
        "return %0 : tensor<3x4xf32>\n}",
        [X, np.array([[2], [2]], np.int32), X[:2]],
    ),
    "scatter whose vectors lie first": (
        "(%x: tensor<3x4xf32>, %i: tensor<2x3xi32>, %u: tensor<3xf32>) -> tensor<3x4xf32> {\n"
        '%0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<'
        "inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [1, 0], index_vector_dim = 0>}> "
        + region("%a = stablehlo.add %r1, %r0 : tensor<f32>\nstablehlo.return %a : tensor<f32>")
        + " : (tensor<3x4xf32>, tensor<2x3xi32>, tensor<3xf32>) -> tensor<3x4xf32>\n"
        "return %0 : tensor<3x4xf32>\n}",
        [X, np.array([[3, 3, 0], [2, 2, 1]], np.int32), X[0, :3] + 1],
    ),
    "sort by a comparison of sums": (
        "(%x: tensor<3x4xf32>, %y: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>) {\n"
        '%0:2 = "stablehlo.sort"(%x, %y) <{dimension = 1 : i64, is_stable = true}> '
        + region(
            "%a = stablehlo.add %r0, %r2 : tensor<f32>\n%b = stablehlo.add %r1, %r3 : tensor<f32>\n"
            "%c = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
            "stablehlo.return %c : tensor<i1>",
            arguments=4,
        )
        + " : (tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>)\n"
        "return %0#0, %0#1 : tensor<3x4xf32>, tensor<3x4xf32>\n}",
        [X % 5, (X * 7) % 3],
    ),
    "sort, stable, descending": (
        "(%x: tensor<3x4xf32>, %y: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>) {\n"
        '%0:2 = "stablehlo.sort"(%x, %y) <{dimension = 0 : i64, is_stable = true}> '
        + region(
            "%c = stablehlo.compare GT, %r0, %r1 : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
            "stablehlo.return %c : tensor<i1>",
            arguments=4,
        )
        + " : (tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>)\n"
        "return %0#0, %0#1 : tensor<3x4xf32>, tensor<3x4xf32>\n}",
        [X % 3, X],
    ),
    "map": (
        "(%x: tensor<3x4xf32>, %y: tensor<3x4xf32>) -> tensor<3x4xf32> {\n"
        '%0 = "stablehlo.map"(%x, %y) <{dimensions = array<i64: 0, 1>}> '
        + region("%a = stablehlo.multiply %r0, %r1 : tensor<f32>\nstablehlo.return %a : tensor<f32>")
        + " : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>\nreturn %0 : tensor<3x4xf32>\n}",
        [X, X + 1],
    ),
    "select_and_scatter": (
        "(%x: tensor<3x4xf32>, %s: tensor<2x2xf32>, %i: tensor<f32>) -> tensor<3x4xf32> {\n"
        '%0 = "stablehlo.select_and_scatter"(%x, %s, %i) ({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n'
        "%c = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
        "stablehlo.return %c : tensor<i1>\n}, {\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
        "%c = stablehlo.add %a, %b : tensor<f32>\nstablehlo.return %c : tensor<f32>\n}) "
        "{window_dimensions = array<i64: 2, 3>, window_strides = array<i64: 2, 2>, "
        "padding = dense<[[0, 1], [0, 1]]> : tensor<2x2xi64>} "
        ": (tensor<3x4xf32>, tensor<2x2xf32>, tensor<f32>) -> tensor<3x4xf32>\nreturn %0 : tensor<3x4xf32>\n}",
        [(X * 5) % 7, X[:2, :2] + 1, np.float32(0.5)],
    ),
    "reduce_window of two arrays": (
        "(%x: tensor<3x4xf32>, %y: tensor<3x4xi32>, %a: tensor<f32>, %b: tensor<i32>) "
        "-> (tensor<2x2xf32>, tensor<2x2xi32>) {\n"
        '%0:2 = "stablehlo.reduce_window"(%x, %y, %a, %b) ({\n'
        "^bb0(%p: tensor<f32>, %q: tensor<i32>, %r: tensor<f32>, %s: tensor<i32>):\n"
        "%c = stablehlo.compare GE, %p, %r : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
        "%d = stablehlo.select %c, %p, %r : tensor<i1>, tensor<f32>\n"
        "%e = stablehlo.select %c, %q, %s : tensor<i1>, tensor<i32>\n"
        "stablehlo.return %d, %e : tensor<f32>, tensor<i32>\n}) "
        "{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 1, 2>} "
        ": (tensor<3x4xf32>, tensor<3x4xi32>, tensor<f32>, tensor<i32>) -> (tensor<2x2xf32>, tensor<2x2xi32>)\n"
        "return %0#0, %0#1 : tensor<2x2xf32>, tensor<2x2xi32>\n}",
        [(X * 5) % 7, X.astype(np.int32), np.float32(-1), np.int32(-1)],
    ),
    "case out of range": (
        "(%i: tensor<i32>, %x: tensor<3x4xf32>) -> tensor<3x4xf32> {\n"
        '%0 = "stablehlo.case"(%i) ({\nstablehlo.return %x : tensor<3x4xf32>\n}, {\n'
        "%a = stablehlo.negate %x : tensor<3x4xf32>\nstablehlo.return %a : tensor<3x4xf32>\n}) "
        ": (tensor<i32>) -> tensor<3x4xf32>\nreturn %0 : tensor<3x4xf32>\n}",
        [np.int32(-4), X],
    ),
    "a composite": (
        "(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {\n"
        '%0 = stablehlo.composite "my.twice" %x {decomposition = @twice} : (tensor<3x4xf32>) -> tensor<3x4xf32>\n'
        "return %0 : tensor<3x4xf32>\n}\n"
        "func.func private @twice(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {\n"
        "%0 = stablehlo.add %x, %x : tensor<3x4xf32>\nreturn %0 : tensor<3x4xf32>\n}",
        [X],
    ),
    "arithmetic of booleans": (
        "(%x: tensor<4xi1>, %y: tensor<4xi1>) -> (tensor<4xi1>, tensor<4xi1>) {\n"
        "%0 = stablehlo.add %x, %y : tensor<4xi1>\n%1 = stablehlo.multiply %x, %y : tensor<4xi1>\n"
        "return %0, %1 : tensor<4xi1>, tensor<4xi1>\n}",
        [np.array([True, True, False, False]), np.array([True, False, True, False])],
    ),
    "comparison in total order": (
        "(%x: tensor<5xf32>, %y: tensor<5xf32>) -> tensor<5xi1> {\n"
        "%0 = stablehlo.compare LT, %x, %y, TOTALORDER : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>\n"
        "return %0 : tensor<5xi1>\n}",
        [np.float32([-0.0, 0.0, 1, np.nan, -np.inf]), np.float32([0.0, -0.0, np.nan, np.inf, -1])],
    ),
    "population count and leading zeros": (
        "(%x: tensor<2x3xi32>) -> (tensor<2x3xi32>, tensor<2x3xi32>) {\n"
        "%0 = stablehlo.popcnt %x : tensor<2x3xi32>\n%1 = stablehlo.count_leading_zeros %x : tensor<2x3xi32>\n"
        "return %0, %1 : tensor<2x3xi32>, tensor<2x3xi32>\n}",
        [BITS],
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_those_of_the_interpreter(name: str) -> None:
    text, arrays = f"func.func @main{PROGRAMS[name][0]}", PROGRAMS[name][1]
    found = stagec.tree.leaves(stagec.from_stablehlo(text)(*arrays))
    expected = interpret(text, *arrays)
    assert len(found) == len(expected) > 0
    for result, wanted in zip(found, expected):
        assert result.dtype == wanted.dtype
        np.testing.assert_array_equal(result, wanted)


def test_shapes_that_are_operands_are_known_while_tracing() -> None:
    text = """func.func @main(%x: tensor<?x4xf32>) -> tensor<?xf32> {
      %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x4xf32>) -> tensor<i32>
      %four = stablehlo.constant dense<4> : tensor<i32>
      %m = stablehlo.multiply %n, %four : tensor<i32>
      %s = stablehlo.reshape %m : (tensor<i32>) -> tensor<1xi32>
      %r = stablehlo.dynamic_reshape %x, %s : (tensor<?x4xf32>, tensor<1xi32>) -> tensor<?xf32>
      return %r : tensor<?xf32>
    }"""
    function = stagec.from_stablehlo(text)
    np.testing.assert_array_equal(function(X), X.reshape(-1))
    np.testing.assert_array_equal(function(X[:1]), X[0])


def test_a_shape_that_follows_from_values_is_refused() -> None:
    text = """func.func @main(%x: tensor<12xf32>, %f: tensor<2xf32>) -> tensor<?x?xf32> {
      %s = stablehlo.convert %f : (tensor<2xf32>) -> tensor<2xi32>
      %r = stablehlo.dynamic_reshape %x, %s : (tensor<12xf32>, tensor<2xi32>) -> tensor<?x?xf32>
      return %r : tensor<?x?xf32>
    }"""
    with pytest.raises(stagec.errors.UnsupportedError, match=r"line 3:12: stablehlo\.dynamic_reshape needs its shape"):
        stagec.from_stablehlo(text)(X.reshape(-1), np.array([3, 4], np.float32))


def test_an_unknown_call_names_its_line() -> None:
    text = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = stablehlo.custom_call @nobody(%x) : (tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }"""
    with pytest.raises(stagec.errors.UnsupportedError, match=r"line 2:12: stablehlo\.custom_call calls 'nobody'"):
        stagec.from_stablehlo(text)(X[0])
    known = text.replace("@nobody(%x) : (tensor<4xf32>)", "@lapack_spotrf_ffi(%x, %x) : (tensor<4xf32>, tensor<4xf32>)")
    with pytest.raises(stagec.errors.UnsupportedError, match=r"line 2:12:.* with 2 operands, which it does not take"):
        stagec.from_stablehlo(known)(X[0])


def test_several_processes_are_refused() -> None:
    text = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %s = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) : (tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }"""
    with pytest.raises(stagec.errors.UnsupportedError, match="several processes"):
        stagec.from_stablehlo(text)(X[0])
    alone = text.replace("[[0, 1]]", "[[0]]").replace("1x2xi64", "1x1xi64")
    np.testing.assert_array_equal(stagec.from_stablehlo(alone)(X[0]), X[0])


@pytest.mark.parametrize("given", [np.ones(3, np.float32), np.ones(4, np.int32), np.ones((4, 1), np.float32)])
def test_an_argument_of_another_type_is_refused(given: np.ndarray) -> None:
    function = stagec.from_stablehlo(
        "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }\n"
    )
    with pytest.raises(stagec.errors.ArgumentTypeError, match="arg0"):
        function(given)


@pytest.mark.parametrize(
    ("args", "keywords", "what", "fix"),
    [
        ((), {"x": X[0]}, "takes no keywords, and was given x", "pass the arrays by position, in this order"),
        ((), {}, "takes 1 array, not 0", "pass one array for each parameter, in this order"),
    ],
)
def test_a_call_with_other_arguments_shows_the_parameters(args: tuple, keywords: dict, what: str, fix: str) -> None:
    function = stagec.from_stablehlo(
        "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }\n"
    )
    with pytest.raises(stagec.errors.ArgumentTypeError, match=rf"{what}[\s\S]*arg0 *tensor<4xf32>[\s\S]*Fix: {fix}"):
        function(*args, **keywords)


@pytest.mark.parametrize(
    ("kind", "fix"),
    [
        ("tensor<*xf32>", "export a function of arrays of known rank"),
        ("tensor<4xf80>", "convert it before the function, and take another dtype"),
    ],
)
def test_a_parameter_that_is_no_array_is_refused(kind: str, fix: str) -> None:
    with pytest.raises(stagec.errors.UnsupportedError, match=rf"line 1:1: [\s\S]*Fix: {fix}"):
        stagec.from_stablehlo(f"func.func @main(%x: {kind}) -> {kind} {{ return %x : {kind} }}\n")


def test_no_index_reads_outside_of_an_array() -> None:
    text = """func.func @main(%x: tensor<4xf32>, %i: tensor<3x1xi64>) -> tensor<3xf32> {
      %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0],
        start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}>
        : (tensor<4xf32>, tensor<3x1xi64>) -> tensor<3xf32>
      return %0 : tensor<3xf32>
    }"""
    function = stagec.from_stablehlo(text)
    with stagec.config.override(enable_x64=True):
        found = function(X[1], np.array([[-(2**40)], [2**40], [2]]))
    np.testing.assert_array_equal(found, [4, 7, 6])

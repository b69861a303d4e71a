"""Operations that no framework writes often, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stagec

pytestmark = pytest.mark.usefixtures("untried")

RNG = np.random.default_rng(0)
X, A, B = (RNG.standard_normal(shape).astype(np.float32) for shape in ((2, 3, 4), (3, 4), (4, 5)))
SCALE, OFFSET = RNG.standard_normal((2, 4)).astype(np.float32)
MEAN, VARIANCE = X.mean((0, 1)), X.var((0, 1))
NORMAL = (X - MEAN) / np.sqrt(VARIANCE + np.float32(0.001))


def run(parameters: str, results: str, operation: str, *arrays: Any) -> list[np.ndarray]:
    """The results of one operation, `%r`."""
    count = results.count("tensor<")
    names = ", ".join(f"%r#{i}" for i in range(count)) if count > 1 else "%r"
    target = f"%r:{count}" if count > 1 else "%r"
    text = f"func.func @main({parameters}) -> ({results}) {{\n{target} = {operation}\nreturn {names} : {results}\n}}"
    return [np.asarray(leaf) for leaf in stagec.tree.leaves(stagec.from_stablehlo(text)(*arrays))]


def test_batch_normalization_is_that_of_its_moments() -> None:
    types = "tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>"
    options = "{epsilon = 0.001 : f32, feature_index = 2 : i64}"
    (found,) = run(
        "%x: tensor<2x3x4xf32>, %s: tensor<4xf32>, %o: tensor<4xf32>, %m: tensor<4xf32>, %v: tensor<4xf32>",
        "tensor<2x3x4xf32>",
        f'"stablehlo.batch_norm_inference"(%x, %s, %o, %m, %v) {options} '
        f": ({types}, tensor<4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>",
        *(X, SCALE, OFFSET, MEAN, VARIANCE),
    )
    np.testing.assert_allclose(found, NORMAL * SCALE + OFFSET, rtol=1e-5, atol=1e-6)
    trained = run(
        "%x: tensor<2x3x4xf32>, %s: tensor<4xf32>, %o: tensor<4xf32>",
        types,
        f'"stablehlo.batch_norm_training"(%x, %s, %o) {options} : ({types}) -> ({types})',
        *(X, SCALE, OFFSET),
    )
    for result, wanted in zip(trained, (found, MEAN, VARIANCE), strict=True):
        np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-6)


def test_the_gradient_of_batch_normalization_is_that_of_its_formula() -> None:
    grad = X[::-1].copy()
    types = "tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>"
    found = run(
        "%x: tensor<2x3x4xf32>, %s: tensor<4xf32>, %m: tensor<4xf32>, %v: tensor<4xf32>, %g: tensor<2x3x4xf32>",
        types,
        '"stablehlo.batch_norm_grad"(%x, %s, %m, %v, %g) {epsilon = 0.001 : f32, feature_index = 2 : i64} '
        f": ({types}, tensor<4xf32>, tensor<2x3x4xf32>) -> ({types})",
        *(X, SCALE, MEAN, VARIANCE, grad),
    )

    def loss(x: Any, scale: Any, offset: Any) -> Any:
        centered = x - x.mean((0, 1))
        return ((centered / ((centered**2).mean((0, 1)) + 0.001) ** 0.5 * scale + offset) * grad).sum()

    for result, wanted in zip(found, stagec.grad(loss, (0, 1, 2))(X, SCALE, OFFSET), strict=True):
        np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "operation", ['"stablehlo.einsum"(%a, %b) {einsum_config = "ij,jk->ik"}', '"stablehlo.dot"(%a, %b)']
)
def test_products_are_those_of_numpy(operation: str) -> None:
    types = "(tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>"
    found = run("%a: tensor<3x4xf32>, %b: tensor<4x5xf32>", "tensor<3x5xf32>", f"{operation} : {types}", A, B)
    np.testing.assert_allclose(found[0], A @ B, rtol=1e-5, atol=1e-6)


def test_an_einsum_of_one_operand_sums() -> None:
    operation = '"stablehlo.unary_einsum"(%a) {einsum_config = "ij->i"} : (tensor<3x4xf32>) -> tensor<3xf32>'
    (found,) = run("%a: tensor<3x4xf32>", "tensor<3xf32>", operation, A)
    np.testing.assert_allclose(found, A.sum(1), rtol=1e-5)


def test_products_of_groups_of_rows_are_those_of_each_group() -> None:
    rows, matrices = RNG.standard_normal((5, 3)).astype(np.float32), RNG.standard_normal((2, 3, 4)).astype(np.float32)
    (found,) = run(
        "%a: tensor<5x3xf32>, %b: tensor<2x3x4xf32>, %g: tensor<2xi32>",
        "tensor<5x4xf32>",
        '"chlo.ragged_dot"(%a, %b, %g) {ragged_dot_dimension_numbers = #chlo.ragged_dot<'
        "lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], "
        "rhs_group_dimensions = [0]>} : (tensor<5x3xf32>, tensor<2x3x4xf32>, tensor<2xi32>) -> tensor<5x4xf32>",
        *(rows, matrices, np.array([2, 3], np.int32)),
    )
    wanted = np.concatenate([rows[:2] @ matrices[0], rows[2:] @ matrices[1]])
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("batch", [0, 1])
def test_selections_by_index_are_those_of_numpy(batch: int) -> None:
    index = np.array([[3, 0], [1, 1], [0, 2]], np.int32) if batch else np.array([2, 0], np.int32)
    wanted = np.take_along_axis(A, index, 1) if batch else A[index]
    kinds = [f"tensor<{'x'.join(map(str, v.shape))}x{kind}>" for v, kind in ((index, "i32"), (wanted, "f32"))]
    (found,) = run(
        f"%a: tensor<3x4xf32>, %i: {kinds[0]}",
        kinds[1],
        f'"stablehlo.torch_index_select"(%a, %i) {{dim = {batch} : i64, batch_dims = {batch} : i64}} '
        f": (tensor<3x4xf32>, {kinds[0]}) -> {kinds[1]}",
        *(A, index),
    )
    np.testing.assert_array_equal(found, wanted)


def test_bits_are_those_of_threefry() -> None:
    # As jax.lax.rng_bit_generator draws them.
    with stagec.enable_x64():
        state, bits = run(
            "%k: tensor<2xui64>",
            "tensor<2xui64>, tensor<4xui32>",
            "stablehlo.rng_bit_generator %k, algorithm = THREE_FRY "
            ": (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)",
            np.array([1, 2], np.uint64),
        )
    assert state.tolist() == [1, 4]
    assert bits.tolist() == [43444564, 2150618427, 3979645651, 3745730563]


@pytest.mark.parametrize(("kind", "mean", "deviation"), [("UNIFORM", 3, 2 / 12**0.5), ("NORMAL", 2, 4)])
def test_numbers_have_their_distribution(kind: str, mean: float, deviation: float) -> None:
    text = f"""func.func @main(%a: tensor<f32>, %b: tensor<f32>) -> tensor<5000xf32> {{
      %s = stablehlo.constant dense<5000> : tensor<1xi64>
      %r = stablehlo.rng %a, %b, %s, distribution = {kind}
        : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<5000xf32>
      return %r : tensor<5000xf32>
    }}"""
    found = np.asarray(stagec.from_stablehlo(text)(np.float32(2), np.float32(4)))
    assert abs(found.mean() - mean) < 0.2
    assert abs(found.std() - deviation) < 0.2
    if kind == "UNIFORM":
        assert 2 <= found.min() < found.max() < 4


def test_what_a_call_does_not_compute_is_refused_where_it_is_read() -> None:
    text = """func.func @main(%a: tensor<3x3xf32>) -> tensor<3xf32> {
      %0:6 = stablehlo.custom_call @lapack_sgees_ffi(%a) {mhlo.backend_config = {mode = 86 : ui8, sort = 78 : ui8}}
        : (tensor<3x3xf32>)
        -> (tensor<3x3xf32>, tensor<3x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<i32>, tensor<i32>)
      return %0#2 : tensor<3xf32>
    }"""
    with pytest.raises(
        stagec.errors.UnsupportedError, match=r"result 2 that stagec does not [\s\S]*Fix: compute it from"
    ):
        stagec.from_stablehlo(text)(np.eye(3, dtype=np.float32))


@pytest.mark.parametrize(
    ("name", "options", "results", "what", "fix"),
    [
        (
            "sgees",
            "mode = 86 : ui8, sort = 83 : ui8",
            "tensor<3x3xf32>, tensor<3x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<i32>, tensor<i32>",
            "sorts the eigenvalues of a Schur form, by its sort='S'",
            "export the Schur form without sorting, and reorder it afterwards",
        ),
        (
            "sgehrd",
            "low = 2 : i32, high = 3 : i32",
            "tensor<3x3xf32>, tensor<2xf32>, tensor<i32>",
            "reduces a part of the matrix, from row 2 to row 3 of 3",
            "export the reduction of the whole matrix",
        ),
        (
            "sgehrd",
            "low = 1 : i32, high = 3 : i32",
            "tensor<3x3xf32>, tensor<2xf32>, tensor<*xi32>",
            "has a result of type",
            "export the program with arrays of known rank",
        ),
        (
            "sgehrd",
            "low = 1 : i32, high = 3 : i32",
            "tensor<3x3xf32>, tensor<2xf32>, tensor<!quant.uniform<i8:f32, 0.5:3>>",
            "has a result of a type that stagec does not have",
            "compute it in another dtype",
        ),
    ],
)
def test_a_routine_with_other_options_or_types_is_refused(
    name: str, options: str, results: str, what: str, fix: str
) -> None:
    count = results.count("tensor")
    text = f"""func.func @main(%a: tensor<3x3xf32>) -> tensor<3x3xf32> {{
      %0:{count} = stablehlo.custom_call @lapack_{name}_ffi(%a) {{mhlo.backend_config = {{{options}}}}}
        : (tensor<3x3xf32>) -> ({results})
      return %0#0 : tensor<3x3xf32>
    }}"""
    with pytest.raises(stagec.errors.UnsupportedError, match=rf"{what}[\s\S]*Fix: {fix}"):
        stagec.from_stablehlo(text)(np.eye(3, dtype=np.float32))


SCAN = """func.func @main(%x: tensor<2x3xf32>, %start: tensor<2xf32>) -> (tensor<2x3xf32>, tensor<2xf32>) {{
  %0:2 = chlo.scan(%x) inits(%start) dimension=1 attributes {{is_reverse = {reverse}}} {{
  ^bb0(%column: tensor<2xf32>, %sum: tensor<2xf32>):
    %1 = stablehlo.add %column, %sum : tensor<2xf32>
    %2 = stablehlo.multiply %sum, %column : tensor<2xf32>
    stablehlo.return %2, %1 : tensor<2xf32>, tensor<2xf32>
  }} : (tensor<2x3xf32>, tensor<2xf32>) -> (tensor<2x3xf32>, tensor<2xf32>)
  return %0#0, %0#1 : tensor<2x3xf32>, tensor<2xf32>
}}"""


@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_goes_along_its_dimension(reverse: bool) -> None:
    x, start = np.arange(6, dtype=np.float32).reshape(2, 3), np.array([1, 2], np.float32)
    products, total = stagec.from_stablehlo(SCAN.format(reverse=str(reverse).lower()))(x, start)
    order = slice(None, None, -1 if reverse else 1)
    after = np.cumsum(np.column_stack([start, x[:, order]]), axis=1)
    np.testing.assert_array_equal(total, after[:, -1])
    np.testing.assert_array_equal(products, (after[:, :-1] * x[:, order])[:, order])


SIZES = """func.func @main(%n: tensor<i32>, %x: tensor<?x3xf32>) -> tensor<?x3xf32> {
  %0 = stablehlo.abs %n : tensor<i32>
  %1 = stablehlo.reshape %0 : (tensor<i32>) -> tensor<1xi32>
  %2 = stablehlo.constant dense<3> : tensor<1xi32>
  %3 = stablehlo.concatenate %1, %2, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %4 = stablehlo.dynamic_iota %3, dim = 0 : (tensor<2xi32>) -> tensor<?x3xf32>
  %5 = stablehlo.add %4, %x : tensor<?x3xf32>
  return %5 : tensor<?x3xf32>
}"""


def test_sizes_may_be_arguments() -> None:
    function = stagec.from_stablehlo(SIZES)
    for n in (4, 2, 4):
        expected = np.arange(n)[:, None] + np.ones((n, 3), np.float32)
        np.testing.assert_array_equal(function(n, np.ones((n, 3), np.float32)), expected)
    of_values = SIZES.replace("%n: tensor<i32>", "%n: tensor<1xi32>").replace("%0 = stablehlo.abs %n : tensor<i32>", "")
    of_values = of_values.replace("stablehlo.reshape %0 : (tensor<i32>)", "stablehlo.reshape %n : (tensor<1xi32>)")
    np.testing.assert_array_equal(stagec.from_stablehlo(of_values)(np.array([4], np.int32), np.ones((4, 3))), expected)
    with pytest.raises(stagec.errors.ConcretizationError):
        stagec.jit(function)(np.int32(4), np.ones((4, 3), np.float32))
    fix = "Fix: make it a constant in the module, or a parameter of at most 64 integers"
    with pytest.raises(stagec.errors.UnsupportedError, match=fix):
        stagec.jit(stagec.from_stablehlo(of_values))(np.array([4], np.int32), np.ones((4, 3), np.float32))


SHAPES = {
    "reshape": ("%x, %s : (tensor<1x6xf32>, tensor<2xi64>) -> tensor<2x3xf32>", [2, 3], (1, 6)),
    "broadcast_in_dim": (
        "%x, %s, dims = [2, 1] : (tensor<1x6xf32>, tensor<3xi64>) -> tensor<?x?x?xf32>",
        [2, 6, 3],
        (1, 6),
    ),
    "iota": ("%s, dim = 0 : (tensor<2xi64>) -> tensor<?x?xf32>", [3, 4], (1,)),
}


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_may_be_arguments(name: str) -> None:
    form, shape, given = SHAPES[name]
    result = form.rpartition(" -> ")[2]
    signature = f"%x: tensor<{'x'.join(map(str, given))}xf32>, %s: tensor<{len(shape)}xi64>"
    text = (
        f"func.func @main({signature}) -> {result} {{\n%0 = stablehlo.dynamic_{name} {form}\nreturn %0 : {result}\n}}"
    )
    x = np.arange(np.prod(given), dtype=np.float32).reshape(given)
    if name == "iota":
        wanted = np.broadcast_to(np.arange(shape[0], dtype=np.float32)[:, None], shape)
    else:
        wanted = x.reshape(shape) if name == "reshape" else np.broadcast_to(x.T, shape)
    np.testing.assert_array_equal(stagec.from_stablehlo(text)(x, shape), wanted)


def test_a_program_is_compiled_for_values_of_arrays_only_if_numbers_do_not_suffice() -> None:
    text = """func.func @main(%x: tensor<6xf32>, %n: tensor<i32>, %i: tensor<2xi32>) -> tensor<?xf32> {
      %s = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
      %0 = stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>
      %j = stablehlo.slice %i [1:2] : (tensor<2xi32>) -> tensor<1xi32>
      %1 = stablehlo.dynamic_broadcast_in_dim %j, %s, dims = [0] : (tensor<1xi32>, tensor<1xi32>) -> tensor<?xi32>
      %2 = stablehlo.add %0, %1 : tensor<?xi32>
      %3 = stablehlo.convert %2 : (tensor<?xi32>) -> tensor<?xf32>
      return %3 : tensor<?xf32>
    }"""
    function = stagec.from_stablehlo(text)
    traced = stagec.jit(lambda x, i: function(x, 3, i))  # `i` has no value there
    np.testing.assert_array_equal(traced(np.zeros(6, np.float32), np.int32([0, 5])), [5, 6, 7])

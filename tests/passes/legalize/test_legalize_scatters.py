"""Gathers and scatters of every form, with any indices; scatters of single elements on GPUs."""

import numpy as np
import pytest

import passes
import stagec
import stagec.numpy as snp
from passes import bindings
from passes.numeric.interpreter import interpret
from tests.workarounds import reproduce
from tests.workarounds.records import Program


def scattered(shape, unique=True, put=False, summands="%a, %b"):
    whole, part = ("x".join(map(str, (n, *shape))) for n in (9, 4))
    window = ", ".join(str(i + 1) for i in range(len(shape)))
    body = "" if put else f"%c = stablehlo.add {summands} : tensor<f32> "
    return bindings.ir.Module.parse(
        f"""func.func @main(
          %x: tensor<{whole}xf32>, %i: tensor<4x1xi32>, %y: tensor<{part}xf32>
        ) -> tensor<{whole}xf32> {{
          %0 = "stablehlo.scatter"(%x, %i, %y) <{{unique_indices = {str(unique).lower()}, scatter_dimension_numbers =
            #stablehlo.scatter<update_window_dims = [{window}], inserted_window_dims = [0],
            scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}> ({{
            ^bb0(%a: tensor<f32>, %b: tensor<f32>):
              {body}stablehlo.return {"%c" if body else "%b"} : tensor<f32>
          }}) {{stagec.in_range}} : (tensor<{whole}xf32>, tensor<4x1xi32>, tensor<{part}xf32>) -> tensor<{whole}xf32>
          return %0 : tensor<{whole}xf32> }}""",
        bindings.new_context(),
    )


def hits(module, laws):
    return passes.run(module, "legalize", options=passes.PassOptions(laws=laws)).hits


@pytest.mark.parametrize("laws", ["spirv", "gpu"])
@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_single_elements_become_pairs(laws, shape):
    module = scattered(shape)
    assert hits(module, laws) == {"scatter_pairs": 1}
    assert f"update_window_dims = {list(range(1, len(shape) + 2))}" in str(module)
    assert hits(module, laws) == {}


def test_a_sum_becomes_a_pair_in_either_order():
    assert hits(scattered((), summands="%b, %a"), "gpu") == {"scatter_pairs": 1}


@pytest.mark.parametrize(
    ("shape", "unique", "put"), [((2,), True, False), ((1, 3), True, False), ((), False, False), ((), True, True)]
)
def test_others_stay(shape, unique, put):
    assert hits(scattered(shape, unique, put), "spirv") == {}


def test_the_cpu_takes_them_as_they_are():
    assert hits(scattered(()), "cpu") == {}


@pytest.mark.parametrize("shape", [(), (1,), (3,)])
def test_each_element_is_added_once(vulkan, shape):
    x, y = np.zeros((40, *shape), np.float32), np.random.default_rng(0).normal(size=(40, *shape)).astype(np.float32)
    places = np.random.default_rng(1).permutation(40).astype(np.int32)

    @stagec.jit
    def f(x, i, y):
        return x.at[i].add(y, unique_indices=True), (x + 2).at[i].multiply(y, unique_indices=True)

    sums, products = (np.asarray(v) for v in f(*stagec.device_put((x, places, y), vulkan)))
    np.testing.assert_array_equal(sums[places], y)
    np.testing.assert_array_equal(products[places], 2 * y)


def test_the_gradient_of_a_sort_counts_each_element_once(vulkan):
    x = np.random.default_rng(0).normal(size=(5, 8)).astype(np.float32)
    slope = stagec.grad(lambda x: (snp.sort(x, -1) * snp.arange(8.0)).sum())
    np.testing.assert_array_equal(stagec.jit(slope, device=vulkan)(x), np.argsort(np.argsort(x, -1), -1))


def gather(numbers, sizes, operand, indices, result):
    return f"""
func.func @main(%x: tensor<{operand}>, %i: tensor<{indices}>) -> tensor<{result}> {{
  %0 = "stablehlo.gather"(%x, %i) <{{dimension_numbers = #stablehlo.gather<{numbers}>, slice_sizes = array<i64: {sizes}>
    }}> : (tensor<{operand}>, tensor<{indices}>) -> tensor<{result}>
  return %0 : tensor<{result}>
}}"""


def scatter(numbers, operand, indices, updates, body="add", hints=""):
    element = operand.rpartition("x")[2]
    last = "%b" if body == "write" else "%c"
    op = {
        "write": "",
        "twice": f"%d = stablehlo.add %b, %b : tensor<{element}> %c = stablehlo.add %a, %d : tensor<{element}>",
        "backwards": f"%c = stablehlo.subtract %b, %a : tensor<{element}>",
    }.get(body, f"%c = stablehlo.{body} %a, %b : tensor<{element}>")
    return f"""
func.func @main(%x: tensor<{operand}>, %i: tensor<{indices}>, %u: tensor<{updates}>) -> tensor<{operand}> {{
  %0 = "stablehlo.scatter"(%x, %i, %u) <{{scatter_dimension_numbers = #stablehlo.scatter<{numbers}>{hints}}}> ({{
  ^bb0(%a: tensor<{element}>, %b: tensor<{element}>):
    {op}
    stablehlo.return {last} : tensor<{element}>
  }}) : (tensor<{operand}>, tensor<{indices}>, tensor<{updates}>) -> tensor<{operand}>
  return %0 : tensor<{operand}>
}}"""


def array(text, seed):
    """Numbers of that type; integers are indices, some of them out of range."""
    *shape, element = text.split("x")
    dtype = np.dtype({"f32": "f4", "i1": "?", "ui8": "u1"}.get(element, element.replace("i", "int")))
    rng = np.random.default_rng(seed)
    low, high = (0, 256) if dtype == np.uint8 else (-3, 8)
    made = (
        rng.normal(size=[int(n) for n in shape]) if dtype.kind in "bf" else rng.integers(low, high, [*map(int, shape)])
    )
    return (made > 0 if dtype.kind == "b" else made).astype(dtype)


ONE = "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1"
FORMS = {
    "rows": gather(
        "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1",
        "1, 3",
        "6x3xf32",
        "4x1xi32",
        "4x3xf32",
    ),
    "no axis of components": gather(
        "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1", "1", "6xf32", "5xi64", "5xf32"
    ),
    "components first": gather(
        "collapsed_slice_dims = [0, 1], start_index_map = [1, 0], index_vector_dim = 0",
        "1, 1",
        "6x3xf32",
        "2x9xi32",
        "9xf32",
    ),
    "unsigned": gather(
        "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1", "1", "200xf32", "9x1xui8", "9xf32"
    ),
    "windows": gather(
        "offset_dims = [1], start_index_map = [0], index_vector_dim = 1", "4", "6xf32", "5x1xi32", "5x4xf32"
    ),
    "batches": gather(
        "collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], "
        "start_index_map = [1], index_vector_dim = 2",
        "1, 1",
        "3x6xf32",
        "3x4x1xi32",
        "3x4xf32",
    ),
    "scattered elements": scatter(ONE, "6xf32", "9x1xi32", "9xf32"),
    "scattered columns": scatter(
        "update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1], "
        "index_vector_dim = 1",
        "3x6xf32",
        "9x1xi32",
        "3x9xf32",
    ),
    "scattered with 64 bits": scatter(ONE, "6xf32", "9x1xi64", "9xf32", "multiply"),
    "scattered unsigned": scatter(ONE, "200xf32", "9x1xui8", "9xf32", "write"),
    "scattered windows": scatter(
        "update_window_dims = [1], scatter_dims_to_operand_dims = [0], index_vector_dim = 1",
        "6xf32",
        "5x1xi32",
        "5x2xf32",
        "maximum",
    ),
    "scattered, no axis of components": scatter(
        "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], "
        "index_vector_dim = 1",
        "6x3xf32",
        "5xi32",
        "5x3xf32",
        "minimum",
    ),
    "scattered, components first": scatter(
        "inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [1, 0], index_vector_dim = 0",
        "6x3xf32",
        "2x9xi32",
        "9xf32",
    ),
    "scattered in batches": scatter(
        "inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [2], "
        "scatter_dims_to_operand_dims = [1], index_vector_dim = 1",
        "3x6xf32",
        "4x1x3xi32",
        "4x3xf32",
    ),
    "scattered into one row": scatter(ONE, "1xf32", "9x1xi32", "9xf32"),
    "scattered by another body": scatter(ONE, "6xf32", "9x1xi32", "9xf32", "twice"),
    "scattered by an exchanged body": scatter(ONE, "6xf32", "9x1xi32", "9xf32", "backwards"),
    "scattered booleans": scatter(ONE, "6xi1", "9x1xi32", "9xi1", "or"),
    "scattered integers": scatter(ONE, "6xi32", "9x1xi32", "9xi32", "minimum"),
}


def forms_program(name, target="cpu"):
    text = FORMS[name]
    arguments = text.partition("->")[0].split("tensor<")[1:]
    return Program(text, tuple(array(a.partition(">")[0], i) for i, a in enumerate(arguments)), target=target)


@pytest.mark.parametrize("name", FORMS)
def test_any_form_and_any_index_of_a_module_that_others_wrote(name):
    assert reproduce.outcome(forms_program(name), reproduce.compiled_with_workarounds) == reproduce.RIGHT


@pytest.mark.parametrize("target", ["vulkan", "cuda"])
@pytest.mark.parametrize("name", ["batches", "scattered columns", "scattered in batches"])
def test_forms_compile_for_gpus(name, target):
    assert reproduce.compiled_with_workarounds(forms_program(name, target))


@pytest.mark.parametrize("name", FORMS)
def test_the_laws_keep_what_a_module_computes(name):
    program = forms_program(name)
    module = bindings.ir.Module.parse(program.text, bindings.new_context())
    assert passes.run(module, "forms").hits
    before = str(module)
    assert passes.run(module, "forms").hits == {} and str(module) == before
    wanted, found = interpret(program.text, *program.inputs), interpret(before, *program.inputs)
    np.testing.assert_array_equal(np.asarray(found[0]), np.asarray(wanted[0]))


def test_indices_that_are_in_range_need_no_test():
    clamped = (
        scatter(ONE, "6xf32", "9x1xi32", "9xf32")
        .replace(
            "  %0 =",
            """  %low = stablehlo.constant dense<0> : tensor<i32>
  %high = stablehlo.constant dense<5> : tensor<i32>
  %k = stablehlo.clamp %low, %i, %high : (tensor<i32>, tensor<9x1xi32>, tensor<i32>) -> tensor<9x1xi32>
  %0 =""",
        )
        .replace("(%x, %i, %u)", "(%x, %k, %u)")
    )
    for text, are_tested in ((clamped, False), (clamped.replace("<5>", "<6>"), True)):
        module = bindings.ir.Module.parse(text, bindings.new_context())
        passes.run(module, "forms")
        assert ("stablehlo.compare" in str(module)) == are_tested


def test_promised_places_are_not_shared_with_windows_that_are_left_out():
    text = scatter(ONE, "6xf32", "9x1xi32", "9xf32", hints=", unique_indices = true")
    module = bindings.ir.Module.parse(text, bindings.new_context())
    passes.run(module, "forms")
    assert "tensor<7x1xf32>" in str(module)  # with a spare row


TWO = """
func.func @main(%x: tensor<8xf32>, %y: tensor<8xi32>, %i: tensor<3x1xi32>, %u: tensor<3xf32>, %v: tensor<3xi32>)
    -> (tensor<8xf32>, tensor<8xi32>) {
  %0:2 = "stablehlo.scatter"(%x, %y, %i, %u, %v) <{scatter_dimension_numbers = #stablehlo.scatter<
    inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<i32>, %c: tensor<f32>, %d: tensor<i32>):
    %1 = stablehlo.add %a, %c : tensor<f32>
    stablehlo.return %1, %d : tensor<f32>, tensor<i32>
  }) : (tensor<8xf32>, tensor<8xi32>, tensor<3x1xi32>, tensor<3xf32>, tensor<3xi32>) -> (tensor<8xf32>, tensor<8xi32>)
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xi32>
}"""


def test_two_arrays_are_scattered_one_after_the_other():
    x, places = np.arange(8, dtype=np.float32), np.array([[1], [99], [2]], np.int32)
    program = Program(TWO, (x, x.astype(np.int32), places, np.ones(3, np.float32), np.array([5, 6, 7], np.int32)))
    assert reproduce.outcome(program, reproduce.compiled_with_workarounds) == reproduce.RIGHT


def test_arrays_that_decide_on_each_other_stay_together():
    text = TWO.replace(
        "stablehlo.return %1, %d", "%2 = stablehlo.convert %c : (tensor<f32>) -> tensor<i32>\nstablehlo.return %1, %2"
    )
    module = bindings.ir.Module.parse(text, bindings.new_context())
    assert passes.run(module, "forms").hits == {}


def test_a_dynamic_gather_of_known_size_is_within_the_array():
    text = """
func.func @main(%x: tensor<8xf32>, %i: tensor<3x1xi32>) -> tensor<3xf32> {
  %s = stablehlo.constant dense<1> : tensor<1xi32>
  %0 = "stablehlo.dynamic_gather"(%x, %i, %s) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0],
    start_index_map = [0], index_vector_dim = 1>}> : (tensor<8xf32>, tensor<3x1xi32>, tensor<1xi32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}"""
    module = bindings.ir.Module.parse(text, bindings.new_context())
    assert passes.run(module, "forms").hits == {"gather_of_known_size": 1, "gather_within_array": 1}
    found = interpret(str(module), np.arange(8, dtype=np.float32), np.array([[1], [99], [2]], np.int32))
    np.testing.assert_array_equal(found[0], [1, 7, 2])

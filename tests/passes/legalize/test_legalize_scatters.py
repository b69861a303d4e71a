"""Scatters of single elements on GPUs, which every thread of a workgroup would do."""

import numpy as np
import pytest

import passes
import stagec
import stagec.numpy as snp
from passes import bindings


def scattered(shape, unique=True, put=False):
    whole, part = ("x".join(map(str, (n, *shape))) for n in (9, 4))
    window = ", ".join(str(i + 1) for i in range(len(shape)))
    body = "" if put else "%c = stablehlo.add %a, %b : tensor<f32> "
    return bindings.ir.Module.parse(
        f"""func.func @main(
          %x: tensor<{whole}xf32>, %i: tensor<4x1xi32>, %y: tensor<{part}xf32>
        ) -> tensor<{whole}xf32> {{
          %0 = "stablehlo.scatter"(%x, %i, %y) <{{unique_indices = {str(unique).lower()}, scatter_dimension_numbers =
            #stablehlo.scatter<update_window_dims = [{window}], inserted_window_dims = [0],
            scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}> ({{
            ^bb0(%a: tensor<f32>, %b: tensor<f32>):
              {body}stablehlo.return {"%c" if body else "%b"} : tensor<f32>
          }}) : (tensor<{whole}xf32>, tensor<4x1xi32>, tensor<{part}xf32>) -> tensor<{whole}xf32>
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

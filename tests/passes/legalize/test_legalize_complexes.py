"""Complex functions after legalization, against NumPy in extended precision."""

from __future__ import annotations

import numpy as np
import pytest
from legalize_harness import Compiled, binary, unary

import passes
import stagec
import stagec.numpy as snp
from passes import bindings
from passes.numeric.interpreter import interpret
from stagec import lax

EPS = {np.complex64: np.finfo(np.float32).eps, np.complex128: np.finfo(np.float64).eps}
DTYPES = {"complex<f32>": np.complex64, "complex<f64>": np.complex128}


def log_of_one_more(z):
    # 1 + z as NumPy computes it turns an imaginary -0.0 into 0.0.
    u = z.copy()
    u.real += 1
    return np.log(u)


FUNCTIONS = {
    "stablehlo.exponential": np.exp,
    "stablehlo.log": np.log,
    "stablehlo.sqrt": np.sqrt,
    "stablehlo.rsqrt": lambda z: 1 / np.sqrt(z),
    "stablehlo.sine": np.sin,
    "stablehlo.cosine": np.cos,
    "stablehlo.tan": np.tan,
    "stablehlo.tanh": np.tanh,
    "stablehlo.logistic": lambda z: 1 / (1 + np.exp(-z)),
    "stablehlo.exponential_minus_one": np.expm1,
    "stablehlo.log_plus_one": log_of_one_more,
    "chlo.sinh": np.sinh,
    "chlo.cosh": np.cosh,
    "chlo.asin": np.arcsin,
    "chlo.acos": np.arccos,
    "chlo.atan": np.arctan,
    "chlo.asinh": np.arcsinh,
    "chlo.acosh": np.arccosh,
    "chlo.atanh": np.arctanh,
}


def sample(dtype):
    rng = np.random.default_rng(0)
    parts = np.concatenate([rng.normal(size=300) * 3, rng.uniform(-20, 20, 100), [0.5, -0.5, 2.0, -2.0, 30.0, -30.0]])
    z = parts + 1j * parts[rng.permutation(len(parts))]
    return np.concatenate([z, [1.5 + 0j, -1.5 + 0j, 1.5j, -1.5j, complex(-2, -0.0), complex(-0.0, 2)]]).astype(dtype)


def short(op):
    return op.split(".")[1]


@pytest.fixture(scope="module", params=DTYPES)
def compiled(request):
    element, dtype = request.param, DTYPES[request.param]
    size = len(sample(dtype))
    functions = {op: unary(short(op), op, element, element, size) for op in FUNCTIONS}
    functions["abs"] = unary("abs", "stablehlo.abs", element, element[8:-1], size)
    functions["power"] = binary("power", "stablehlo.power", element, size)
    return Compiled(functions), dtype


@pytest.mark.parametrize("op", FUNCTIONS)
def test_a_complex_function_is_within_four_epsilons(compiled, op):
    program, dtype = compiled
    z = sample(dtype)
    expected = FUNCTIONS[op](z.astype(np.clongdouble))
    error = np.abs(program(short(op), z) - expected) / np.abs(expected) / EPS[dtype]
    at = int(np.argmax(error))
    # 1 + exp(-z) cancels near its zeros.
    assert error[at] <= (16 if op == "stablehlo.logistic" else 4), f"{op}({z[at]!r})"


def test_abs_does_not_overflow_before_its_result_does(compiled):
    program, dtype = compiled
    z = sample(dtype)
    big = np.full_like(z, np.sqrt(np.finfo(dtype).max) * (3 + 4j))
    np.testing.assert_allclose(program("abs", big), np.abs(big), rtol=4 * EPS[dtype])


def test_a_complex_power_agrees_with_exp_of_a_product(compiled):
    program, dtype = compiled
    z = sample(dtype)
    w = z[::-1] * dtype(0.25)
    wide, exponent = z.astype(np.clongdouble), w.astype(np.clongdouble)
    with np.errstate(all="ignore"):
        expected = np.exp(exponent * np.log(wide))
    usable = (z != 0) & (np.abs(expected) < np.finfo(dtype).max / 4) & (np.abs(expected) > np.finfo(dtype).tiny * 4)
    error = np.abs(program("power", z, w) - expected)[usable] / np.abs(expected[usable]) / EPS[dtype]
    # The error grows with the size of the exponent, w log z.
    assert error.max() <= 64


def test_zero_to_the_zeroth_is_one(compiled):
    program, dtype = compiled
    zero = np.zeros_like(sample(dtype))
    assert program("power", zero, zero).tolist() == np.ones_like(zero).tolist()


def test_a_loop_in_a_loop_writes_into_zeros():
    # The compiler ended the process on the update of an array of one complex number that is made in a loop.
    @stagec.jit
    def power(a, b):
        def outer(state):
            x, k = state
            basis = lax.dynamic_update_index_in_dim(snp.zeros((6, 3), "complex64"), x, 0, 0)
            basis = lax.fori_loop(
                0, 5, lambda j, basis: lax.dynamic_update_index_in_dim(basis, a @ basis[j], j + 1, 0), basis
            )
            return basis[5], k + 1

        return lax.while_loop(lambda state: (snp.vdot(state[0], state[0]).real > 0) & (state[1] < 2), outer, (b, 0))[0]

    a = (np.arange(9).reshape(3, 3) * (0.1 + 0.05j)).astype(np.complex64)
    wanted = np.linalg.matrix_power(a, 10) @ np.ones(3)
    np.testing.assert_allclose(power(a, np.ones(3, np.complex64)), wanted, rtol=1e-4)


def product(laws):
    """A product of stacks of complex matrices, legalized; and how often each law was applied."""
    module = bindings.ir.Module.parse(
        """func.func @main(
          %x: tensor<2x3x4xcomplex<f32>>, %y: tensor<2x4x5xcomplex<f32>>
        ) -> tensor<2x3x5xcomplex<f32>> {
          %0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1]
            : (tensor<2x3x4xcomplex<f32>>, tensor<2x4x5xcomplex<f32>>) -> tensor<2x3x5xcomplex<f32>>
          return %0 : tensor<2x3x5xcomplex<f32>>
        }""",
        bindings.new_context(),
    )
    return module, passes.run(module, "legalize", options=passes.PassOptions(laws=laws)).hits


def test_a_product_for_gpus_of_llvm_is_one_of_the_parts():
    module, hits = product("gpu")
    assert hits == {"dot_general_complex": 1}
    rng = np.random.default_rng(0)
    x, y = (rng.integers(-9, 9, (2, *s, 2)).astype(np.float32).view(np.complex64)[..., 0] for s in ((3, 4), (4, 5)))
    np.testing.assert_array_equal(interpret(module, x, y)[0], x @ y)


@pytest.mark.parametrize("laws", ["cpu", "spirv"])
def test_other_targets_take_products_of_complex_numbers(laws):
    assert product(laws)[1] == {}

"""What a program computes, counted from its graph."""

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import lax

X = np.ones((10, 20), np.float32)
IMAGE, KERNEL = np.ones((2, 3, 8, 8), np.float32), np.ones((4, 3, 3, 3), np.float32)


def strided(lax):
    return lambda x, k: lax.conv_general_dilated(
        x, k, (2, 1), [(1, 2), (0, 3)], lhs_dilation=(1, 2), rhs_dilation=(2, 1)
    )


# By name: the function of a module `numpy` and a module `lax`, and its arguments; XLA counts the same arithmetic.
SAME = {
    "product": (lambda np, lax: lambda x: x @ x.T, (X,)),
    "elements": (lambda np, lax: lambda x: np.exp(x) + x * 2, (X,)),
    "choice": (lambda np, lax: lambda x: np.where(x > 0.0, x, 0.0), (X,)),
    "sum": (lambda np, lax: lambda x: np.max(x, 0), (X,)),
    "convolution": (lambda np, lax: lambda x, k: lax.conv(x, k, (1, 1), "SAME"), (IMAGE, KERNEL)),
    "dilated": (lambda np, lax: strided(lax), (IMAGE, KERNEL)),
    "window": (lambda np, lax: lambda x: lax.reduce_window(x, 0.0, lax.add, (2, 2), (2, 2), "VALID"), (X,)),
    "update": (lambda np, lax: lambda x: x.at[np.array([1, 2])].add(1.0), (X[0],)),
}


@pytest.mark.parametrize("name", SAME)
def test_arithmetic_is_what_xla_counts(name):
    jax = pytest.importorskip("jax")
    make, args = SAME[name]
    found = stagec.jit(make(snp, lax)).lower(*args).cost_analysis()
    theirs = jax.jit(make(jax.numpy, jax.lax)).lower(*args).cost_analysis()
    assert found["flops"] == theirs["flops"] and found["transcendentals"] == theirs.get("transcendentals", 0)


def test_each_operation_reads_and_writes_its_arrays():
    found = stagec.jit(lambda x: snp.sin(x) @ x.T).lower(X).compile().cost_analysis()
    assert found == {
        "flops": 2 * 10 * 10 * 20,
        "transcendentals": 200,
        "bytes accessed": (4 * 200) + 2 * 4 * 200 + (400 + 2 * 800) + 800,
    }


def test_control_flow_counts_its_rounds_and_the_longest_branch():
    def cost(f):
        return stagec.jit(f).lower(X).cost_analysis()["flops"]

    assert cost(lambda x: lax.scan(lambda c, _: (c * 2, None), x, None, length=7)[0]) == 7 * 200
    assert cost(lambda x: lax.cond(x[0, 0] > 0, lambda x: x * x * x, lambda x: -x, x)) == 401
    assert cost(lambda x: stagec.jit(lambda x: x + 1)(x) * 2) == 400
    assert cost(lambda x: lax.while_loop(lambda x: x.sum() < 9, lambda x: x + 1, x)) == 200 + 199 + 1


def test_factorizations_count_their_leading_terms():
    square = np.eye(30, dtype=np.float32)
    found = stagec.jit(snp.linalg.cholesky).lower(square).cost_analysis()["flops"]
    assert 30**3 / 3 <= found < 2 * 30**3
    assert stagec.jit(snp.fft.fft).lower(np.ones(64, np.complex64)).cost_analysis()["flops"] == 5 * 64 * 6
    solve = lambda a: stagec.scipy.linalg.solve_triangular(a, snp.ones((30, 4)))  # noqa: E731
    assert 30 * 30 * 4 <= stagec.jit(solve).lower(square).cost_analysis()["flops"] < 8 * 30 * 30


def test_options_of_xla_may_be_passed():
    compiled = stagec.jit(lambda x: x + 1).lower(X).compile(compiler_options={"xla_cpu_use_thunk_runtime": True})
    assert compiled(X)[0, 0] == 2

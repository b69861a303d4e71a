"""Programs whose operations are kernels, so that they go through no other phase of the compiler."""

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec.compiler import log

CUBE = np.random.default_rng(0).normal(size=(16, 16, 16)).astype(np.float32)


@pytest.fixture
def compiled():
    """Calls a function as a new program; returns the result, and how it was compiled."""

    def run(function, *args):
        log.clear()
        with stagec.config.override(enable_cache=False):
            found = stagec.jit(lambda *values: function(*values))(*args)
        return found, [r.fields["flags"] for r in log.records("compile") if "flags" in r.fields]

    return run


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (snp.transpose(x, (2, 0, 1)) * 2 + snp.transpose(x, (2, 0, 1)) ** 2).sum(1),
        lambda x: (x[:, :5, :5] * x.transpose(0, 2, 1)[:, :5, :5]).reshape(4, 4, 5, 5).transpose(3, 0, 2, 1).sum(2),
    ],
    ids=["rows", "blocks"],
)
def test_small_strided_sums_are_kernels(function, compiled):
    with stagec.disable_jit():
        expected = function(snp.asarray(CUBE))
    found, ways = compiled(function, CUBE)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    assert ways == ["direct"]


def test_second_derivatives_of_factorizations_are_kernels(compiled):
    def norm(x):
        return (snp.linalg.cholesky(snp.outer(x, x) + snp.diag(x + 1)) ** 2).sum()

    found, ways = compiled(stagec.hessian(norm), np.linspace(0.2, 0.9, 5).astype(np.float32))
    np.testing.assert_allclose(found, 2 * np.eye(5), atol=2e-4)
    assert ways == ["direct"]


def test_slices_start_at_numbers_that_other_kernels_compute(compiled):
    def taken(x, i):
        start = snp.where(i * 3 > 7, i - 2, 5 - i)
        return x[start], x[start + 1] * 2, start

    found, ways = compiled(taken, np.arange(9, dtype=np.float32), np.int32(1))
    np.testing.assert_allclose(found, [4, 10, 4])
    assert ways == ["direct"]

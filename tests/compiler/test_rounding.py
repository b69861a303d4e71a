"""Rounding to whole numbers on processors that have no instruction for it."""

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import lax, nn
from stagec.compiler import log

PLAIN, NEXT = "cpu:x86-64", "cpu:x86-64-v2"
FUNCTIONS = {
    "floor": (snp.floor, np.floor),
    "ceil": (snp.ceil, np.ceil),
    "trunc": (snp.trunc, np.trunc),
    "rint": (snp.rint, np.rint),
    "round": (
        lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO),
        lambda x: np.copysign(np.trunc(abs(x)) + (abs(x) - np.trunc(abs(x)) >= 0.5), x),
    ),
}


def numbers(dtype):
    """Numbers at the edges of each case, and others."""
    whole = 2.0 ** (np.finfo(dtype).nmant)
    few = [0.0, 0.3, 0.5, 0.7, 1.0, 1.5, 2.5, 3.49, 1e5 + 0.5, whole / 4 + 0.25, whole / 2 + 0.5, whole - 0.5, whole]
    few += [whole + 1, 2 * whole + 2, 1e30, np.inf, np.nan]
    edges = np.array(few, dtype)
    edges = np.concatenate([edges, np.nextafter(edges, dtype(0)), np.nextafter(edges, dtype(np.inf))])
    drawn = np.random.default_rng(0).normal(size=1000) * 10 ** np.random.default_rng(1).uniform(-2, 12, 1000)
    found = np.concatenate([edges, drawn.astype(dtype)])
    found = found[(abs(found) >= np.finfo(dtype).tiny) | (found == 0) | np.isnan(found)]
    return np.concatenate([found, -found])


@pytest.fixture
def routes():
    """The flag sets of the programs that are compiled."""
    log.clear()
    with stagec.config.override(enable_cache=False):
        yield lambda: {record.fields["flags"] for record in log.records("compile") if "flags" in record.fields}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_are_rounded_as_by_numpy(dtype, routes):
    with stagec.enable_x64(dtype is np.float64), np.errstate(invalid="ignore"):
        x = numbers(dtype)
        found = stagec.jit(lambda x: [function(x) for function, _ in FUNCTIONS.values()], target=PLAIN)(x)
        for name, a, (_, expected) in zip(FUNCTIONS, found, FUNCTIONS.values()):
            b = expected(x)
            a = np.asarray(a)
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b, name)
            np.testing.assert_array_equal(np.signbit(a[x == x]), np.signbit(b[x == x]), name)
    assert routes() == {"direct"}


def test_functions_that_round_have_the_bits_of_the_next_level(routes):
    x = np.random.default_rng(0).normal(size=5000).astype(np.float32) * 30

    def functions(x):
        return snp.exp(x), nn.gelu(x), nn.selu(x), snp.exp(-abs(x)) * x, nn.softmax(x), snp.round(x, 1)

    for a, b in zip(stagec.jit(functions, target=PLAIN)(x), stagec.jit(functions, target=NEXT)(x), strict=True):
        np.testing.assert_array_equal(np.asarray(a).view(np.uint32), np.asarray(b).view(np.uint32))
    assert routes() == {"direct"}

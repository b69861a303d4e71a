"""Functions that StableHLO has no operation for are parts of kernels."""

import ml_dtypes  # noqa: F401 (names bfloat16)
import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import lax
from stagec.compiler import log

FUNCTIONS = {
    "erf": lax.erf,
    "erfc": lax.erfc,
    "erf_inv": lambda x: lax.erf_inv(x * 0.2),
    "asinh": snp.arcsinh,
    "acosh": lambda x: snp.arccosh(1 + abs(x)),
    "atanh": lambda x: snp.arctanh(x * 0.2),
    "sinh": snp.sinh,
    "cosh": snp.cosh,
    "asin": lambda x: snp.arcsin(x * 0.2),
    "acos": lambda x: snp.arccos(x * 0.2),
    "next after": lambda x: lax.nextafter(x, -x),
    "log gamma": lambda x: lax.lgamma(abs(x) + 0.5),
    "digamma": lambda x: lax.digamma(abs(x) + 0.5),
}
# It takes long to compile: one dtype is enough.
SINGLE = {"zeta": lambda x: lax.zeta(abs(x) + 1.5, abs(x) + 1)}
TOLERANCES = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 1e-5, "float64": 1e-12}


@pytest.mark.parametrize("dtype", TOLERANCES)
def test_a_program_of_them_goes_the_short_way(dtype):
    functions = [*FUNCTIONS.values(), *(SINGLE.values() if dtype == "float32" else ())]
    log.clear()
    with stagec.config.override(enable_cache=False), stagec.enable_x64():
        x = snp.asarray(np.random.default_rng(0).normal(size=37).clip(-4, 4)).astype(dtype)
        found = stagec.jit(lambda x: [f(x) for f in functions])(x)
        with stagec.disable_jit():  # NumPy
            expected = [f(x) for f in functions]
    assert [r.fields["flags"] for r in log.records("compile") if "flags" in r.fields] == ["direct"]
    for name, got, want in zip([*FUNCTIONS, *SINGLE], found, expected):
        got, want = (np.asarray(v).astype(np.float64) for v in (got, want))
        np.testing.assert_allclose(got, want, rtol=TOLERANCES[dtype], atol=TOLERANCES[dtype], err_msg=name)


def test_normal_numbers_are_one_kernel():
    log.clear()
    with stagec.config.override(enable_cache=False):
        key = stagec.random.key(0)
        found = stagec.jit(lambda key: stagec.random.normal(key, (1000,)))(key)
    assert [r.fields["flags"] for r in log.records("compile") if "flags" in r.fields] == ["direct"]
    np.testing.assert_allclose(np.asarray(found), np.asarray(stagec.random.normal(key, (1000,))), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(
    ("dtype", "integer"), [("float16", "u2"), ("bfloat16", "u2"), ("float32", "u4"), ("float64", "u8")]
)
def test_numbers_are_rounded_to_fewer_bits_on_the_short_way(dtype, integer):
    rng, formats = np.random.default_rng(0), [(5, 10), (8, 7), (4, 3), (5, 2), (1, 0), (2, 5), (8, 23)]
    some = rng.integers(0, np.iinfo(integer).max, 2000, integer, endpoint=True)
    log.clear()
    with stagec.config.override(enable_cache=False), stagec.enable_x64():
        x = lax.bitcast_convert_type(snp.asarray(some), np.dtype(dtype))
        found = stagec.jit(lambda x: [lax.reduce_precision(x, *bits) for bits in formats])(x)
        expected = [lax.reduce_precision(x, *bits) for bits in formats]
    assert [r.fields["flags"] for r in log.records("compile") if "flags" in r.fields] == ["direct"]
    for bits, got, want in zip(formats, found, expected):
        got, want = (np.where(np.asarray(v != v), np.array(1, v.dtype), np.asarray(v)) for v in (got, want))
        np.testing.assert_array_equal(got.view(integer), want.view(integer), err_msg=f"{bits}")

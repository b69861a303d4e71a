"""float8 and int4: arrays that store numbers, outside of jit and compiled."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import dtypes, errors, lax

FLOAT8 = ["float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"]
INT4 = ["int4", "uint4"]


def same(found, expected):
    found, expected = np.asarray(found), np.asarray(expected)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    if expected.dtype.name.startswith(("float8", "int4", "uint4")):
        nan = np.isnan(expected.astype("float32"))
        np.testing.assert_array_equal(np.isnan(found.astype("float32")), nan)
        np.testing.assert_array_equal(found.view("uint8")[~nan], expected.view("uint8")[~nan])
    else:
        np.testing.assert_array_equal(found, expected)


def numbers(name):
    """Every number of a dtype, the midpoints of neighbours, the numbers next to the midpoints, and others."""
    every = np.arange(256, dtype=np.uint8).view(getattr(ml_dtypes, name)).astype("float32")
    finite = np.unique(every[np.isfinite(every)])
    middle = (finite[1:] + finite[:-1]) / 2
    other = np.random.default_rng(0).standard_normal(300).astype("float32") * 2.0 ** np.arange(-30, 30).repeat(5)
    beside = [np.nextafter(middle, np.float32(to)) for to in (-np.inf, np.inf)]
    top = finite[-1] * np.array([1.03, 1.06, 1.07, 1.1, 1.5, 2, 1e30])
    special = [np.inf, -np.inf, np.nan, 0.0, -0.0, 1e-40, -1e-45]
    return np.concatenate([every, middle, *beside, other, top, -top, special]).astype("float32")


@pytest.mark.parametrize("name", FLOAT8)
def test_conversions_round_as_ml_dtypes(name):
    kind = getattr(ml_dtypes, name)
    bits = np.arange(256, dtype=np.uint8).view(kind)
    x = numbers(name)
    with np.errstate(all="ignore"):
        narrow = x.astype(kind)

    def run(x, bits):
        return x.astype(name), bits.astype("float32"), (x > 1).astype(name), bits.astype("float16"), bits.astype(bool)

    for found in (run(snp.asarray(x), snp.asarray(bits)), stagec.jit(run)(x, bits)):
        same(found[0], narrow)
        same(found[1], bits.astype("float32"))
        same(found[2], (x > 1).astype("float32").astype(kind))
        same(found[3], bits.astype("float32").astype("float16"))
        same(found[4], bits.astype("float32") != 0)


@pytest.mark.parametrize("name", INT4)
def test_conversions_of_four_bits_wrap_integers_and_limit_floats(name):
    kind = getattr(ml_dtypes, name)
    low, high = (-8, 7) if name == "int4" else (0, 15)
    whole = np.arange(-20, 40, dtype=np.int32)
    floats = np.array([-1e10, -9.5, -1.7, 0.9, 6.99, 7.5, 15.2, 1e10, np.nan, np.inf], np.float32)
    every = np.arange(low, high + 1).astype(kind)
    wrapped = ((whole - low) % 16 + low).astype(kind)
    limited = np.clip(np.nan_to_num(floats, posinf=1e9), low, high).astype("int32").astype(kind)

    def run(whole, floats, every):
        return whole.astype(name), floats.astype(name), every.astype("int32"), every.astype("float32")

    args = (whole, floats, every)
    for found in (run(*map(snp.asarray, args)), stagec.jit(run)(*args)):
        for f, e in zip(found, (wrapped, limited, every.astype("int32"), every.astype("float32")), strict=True):
            same(f, e)


@pytest.mark.parametrize("name", ["float8_e5m2", "int4"])
def test_elements_are_moved(name):
    x = np.arange(12).reshape(3, 4).astype(getattr(ml_dtypes, name))

    def run(x, i):
        rows = lax.fori_loop(0, 2, lambda k, c: c.at[k].set(x[i]), x)
        chosen = lax.cond(i > 0, lambda: x.T, lambda: snp.flip(x.T, 0))
        y = snp.concatenate([x[:, ::-1], rows], 1).reshape(2, 12)
        taken = snp.take(x, i + np.array([-2, 0]), axis=0)
        filled = snp.where(x.astype("float32") > 3, x, 1)
        return y, chosen, filled, snp.pad(x, 1), stagec.vmap(lambda v: v[1])(x), taken

    def expected(x):
        rows = np.stack([x[2], x[2], x[2]])
        y = np.concatenate([x[:, ::-1], rows], 1).reshape(2, 12)
        one = np.asarray(1).astype(x.dtype)
        padded = np.zeros((5, 6), x.dtype)
        padded[1:4, 1:5] = x
        return y, x.T, np.where(x.astype("float32") > 3, x, one), padded, x[:, 1], x[[0, 2]]

    for found in (run(snp.asarray(x), 2), stagec.jit(run)(x, 2)):
        for f, e in zip(found, expected(x), strict=True):
            same(f, e)


def test_a_constant_of_a_program_and_creation():
    weights = snp.array([0.5, 1.25, 300.0], dtype="float8_e4m3fn")
    assert weights.tolist() == [0.5, 1.25, 288.0] and weights.nbytes == 3
    f = stagec.jit(lambda x: x * weights.astype("float32"))
    assert f(snp.ones(3)).tolist() == [0.5, 1.25, 288.0]
    made = stagec.jit(lambda: (snp.zeros(2, "int4"), snp.full((2,), 3, "float8_e5m2")))()
    assert [m.astype("float32").tolist() for m in made] == [[0, 0], [3, 3]]


def test_files_hold_them(tmp_path):
    weights = snp.arange(6).astype("float8_e4m3fn").reshape(2, 3)
    f = stagec.jit(lambda x, w: (x @ w.astype("float32"), w.T))
    stagec.export(f)(stagec.ShapeDtypeStruct((2,), "float32"), weights).save(tmp_path / "f.stagec")
    product, moved = stagec.load(tmp_path / "f.stagec")(np.ones(2, np.float32), weights)
    assert product.tolist() == [3, 5, 7]
    same(moved, np.asarray(weights).T)


def test_promotion_is_jaxs():
    assert snp.promote_types("float8_e5m2", "float8_e5m2") == dtypes.canonicalize_dtype("float8_e5m2")
    assert snp.result_type(snp.zeros(1, "float8_e5m2"), 1.5) == snp.dtype("float8_e5m2")
    assert snp.result_type(snp.zeros(1, "int4"), 1) == snp.dtype("int4")
    for a, b in (("float8_e5m2", "float32"), ("float8_e5m2", "float8_e4m3fn"), ("int4", "int8"), ("int4", "uint4")):
        with pytest.raises(errors.DtypeError, match="no common dtype"):
            snp.promote_types(a, b)
    with pytest.raises(errors.DtypeError, match="no common dtype"):
        snp.result_type(snp.zeros(1, "int4"), 1.5)


def test_limits():
    assert snp.finfo("float8_e4m3fn").max == 448 and snp.finfo(snp.float8_e5m2).eps == 0.25
    assert (snp.iinfo("int4").min, snp.iinfo(snp.uint4).max) == (-8, 15)
    assert snp.issubdtype("float8_e5m2", np.floating) and snp.issubdtype("int4", np.signedinteger)
    assert not snp.issubdtype("uint4", np.signedinteger)


@pytest.mark.parametrize("how", ["eager", "compiled"])
@pytest.mark.parametrize("name", ["float8_e4m3fn", "uint4"])
def test_nothing_is_computed_in_them(name, how):
    x = snp.arange(3).astype(name)
    first = np.zeros((), x.dtype)
    result = stagec.ShapeDtypeStruct((3,), name)
    for f in (
        *(lambda x: x + x, lambda x: x @ x, lambda x: x < x, snp.sum, snp.sort, snp.argmax, snp.cumsum),
        *(snp.floor, snp.nan_to_num, snp.nansum, snp.nanmax, snp.nanmean, snp.nanvar),
        *(lambda x: x.at[0].add(x[1]), lambda x: snp.arange(3, dtype=name), lambda x: lax.clamp(x, x, x)),
        lambda x: lax.reduce(x, first, lambda a, b: a, [0]),
        lambda x: stagec.pure_callback(lambda v: v, result, x),
    ):
        with pytest.raises(errors.DtypeError, match=rf"{name}(.|\n)*convert"):
            (stagec.jit(f) if how == "compiled" else f)(x)


def test_a_conversion_to_them_has_no_derivative():
    with pytest.raises(errors.UnsupportedError, match=r"float8_e5m2 stores numbers(.|\n)*stop_gradient"):
        stagec.grad(lambda x: x.astype("float8_e5m2").astype("float32") * x)(2.0)
    stopped = lambda x: lax.stop_gradient(x).astype("float8_e5m2").astype("float32") * x  # noqa: E731
    assert float(stagec.grad(stopped)(2.2)) == 2.0


def test_functions_with_fractional_results_compute_in_float32():
    x = snp.array([0.5, np.nan], dtype="float8_e5m2")
    assert snp.sin(x).dtype == "float32" and snp.mean(snp.arange(4).astype("int4")).dtype == "float32"
    for how in (snp.isnan, stagec.jit(snp.isnan)):
        assert how(x).tolist() == [False, True]


def test_reads_out_of_range_are_filled():
    for name, fill in (("int4", -8), ("uint4", 15), ("float8_e5m2", np.nan)):
        x = snp.zeros(2, name)
        for read in (lambda x: x.at[5].get(mode="fill"), stagec.jit(lambda x: x.at[5].get(mode="fill"))):
            np.testing.assert_array_equal(np.asarray(read(x).astype("float32")), fill)

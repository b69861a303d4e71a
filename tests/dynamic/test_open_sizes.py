"""Calls with open dimensions whose sizes are quotients and remainders, or values."""

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import lax, nn, random
from stagec.compiler import driver
from stagec.compiler.diagnostics import Attempt, Diagnostic
from stagec.scipy import signal, stats
from stagec.scipy.interpolate import RegularGridInterpolator

CASES = {
    "x[1::3]": ("b", lambda x: x[1::3] * 2, (1, 2, 3, 7, 8)),
    "x[2::2]": ("b>=4", lambda x: x[2::2] * 2, (4, 5, 9)),
    "x[2:-2:3]": ("b>=5", lambda x: x[2:-2:3] * 2, (5, 6, 7, 9)),
    "x[-2::-3]": ("b>=2", lambda x: x[-2::-3] * 2, (2, 3, 4, 7)),
    "halves": ("b", lambda x: snp.concatenate([x[::2], x[1::2]]) + snp.arange(x.shape[0]), (1, 2, 7)),
    "pad with the mean": ("b", lambda x: snp.pad(x, 1, mode="mean"), (1, 2, 40)),
    "size beside a part": ("b", lambda x: snp.concatenate([x[:1] / x.shape[0], x]), (1, 4)),
    "pad": ("b>=2", lambda x: [snp.pad(x, (1, 5), mode=m) for m in ("wrap", "reflect", "symmetric")], (2, 3, 9)),
}


@pytest.mark.parametrize("name", CASES)
def test_quotients_of_sizes_are_right_for_every_size(name):
    spec, function, sizes = CASES[name]
    compiled = stagec.jit(function, dynamic={"x": spec})
    for size in sizes:
        x = np.arange(size, dtype=np.float32) + 1
        for actual, expected in zip(
            stagec.tree.leaves(compiled(x)), stagec.tree.leaves(function(snp.asarray(x))), strict=True
        ):
            np.testing.assert_allclose(np.asarray(actual), np.asarray(expected), rtol=1e-6, strict=True)


ARRAYS = {
    "numbers": lambda x: snp.array([x.shape[0], 1]),
    "a shape": lambda x: snp.asarray(x.shape),
    "floats": lambda x: snp.array([x.shape[0] * 2 + 1, 0.5]),
    "a dtype": lambda x: snp.array([[x.shape[0]], (7,)], dtype=np.float32),
    "an element": lambda x: snp.array([[x.shape[0], x[0]], [1, 2]]),
    "an array": lambda x: snp.array([np.arange(2), [x.shape[0], True]]),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_a_list_with_sizes_is_an_array(name):
    compiled = stagec.jit(ARRAYS[name], dynamic={"x": "b"})
    for size in (1, 5):
        x = np.full(size, 0.25, np.float32)
        expected = ARRAYS[name](snp.asarray(x))
        np.testing.assert_array_equal(np.asarray(compiled(x)), np.asarray(expected), strict=True)


@pytest.mark.parametrize("make", [lambda x: x * np.array([x.shape[0], 1]), lambda x: snp.asarray(np.array(x.shape))])
def test_a_numpy_array_of_sizes_is_an_error_that_names_the_dimension(make):
    with pytest.raises(stagec.errors.DimensionError) as caught:
        stagec.jit(make, dynamic={"x": "b"})(np.ones(2, np.float32))
    headline, line, fix = str(caught.value).splitlines()
    assert "a NumPy array holds the open dimension b," in headline and "test_open_sizes.py" in line
    assert fix == "  Fix: make the array with snp.array, which computes its elements from the size at the call"


OTHER_FOR_SIZE_ONE = {
    "squeeze": lambda x: snp.squeeze(x[None]),
    "a method": lambda x: x[:, None].squeeze(),
    "cov": lambda x: snp.cov(x[:, None] * x[:4]),
    "corrcoef": lambda x: snp.corrcoef(x[:, None] * snp.ones(3)),
    "an interpolator": lambda x: RegularGridInterpolator((x,), x)(snp.ones((1, 1))),
}


@pytest.mark.parametrize("name", OTHER_FOR_SIZE_ONE)
def test_a_result_of_another_form_for_size_one_needs_a_bound(name):
    f = OTHER_FOR_SIZE_ONE[name]
    with pytest.raises(stagec.errors.DimensionError, match=r"^whether b == 1 depends on the size"):
        stagec.jit(f, dynamic={"x": "b"})(np.ones(3, np.float32))
    x = np.arange(5, dtype=np.float32)
    bounded = stagec.jit(f, dynamic={"x": "b >= 4"})(x)
    np.testing.assert_allclose(np.asarray(bounded), np.asarray(f(snp.asarray(x))), rtol=1e-5, strict=True)


@pytest.mark.parametrize("compare", [snp.array_equal, snp.array_equiv])
def test_whether_arrays_are_equal_depends_on_no_size_at_the_call(compare):
    f = stagec.jit(lambda x, y: (compare(x, x[:, None] * 1), compare(x, x * 1), compare(x, y)), dynamic={"x": "b"})
    y = np.ones(3, np.float32)
    with pytest.raises(stagec.errors.DimensionError, match=r"^whether b == 3 depends on the size"):
        f(np.ones(2, np.float32), y)
    longer = stagec.jit(lambda x, y: (compare(x, x * 1), compare(x, y)), dynamic={"x": "b > 3"})
    assert [bool(same) for same in longer(np.ones(4, np.float32), y)] == [True, False]


COUNTS = {
    "deviations": lambda x: (x.std(0, ddof=1), snp.var(x, ddof=2), stats.sem(x), snp.cov(x, rowvar=False)),
    "averages": lambda x: (nn.standardize(x, axis=0), nn.logmeanexp(x, axis=0), signal.detrend(x, axis=0)),
    "counters": lambda x: (snp.arange(x.shape[0], 0, -1, dtype=float) / snp.size(x), snp.polyint(x[:, 0])),
    "positions": lambda x: (
        snp.insert(x, 0, np.arange(3.0), axis=0),
        snp.delete(x, -1, axis=0),
    ),
}


@pytest.mark.parametrize("name", COUNTS)
def test_functions_that_count_an_open_axis_are_right_for_every_size(name):
    function = COUNTS[name]
    compiled = stagec.jit(function, dynamic={"x": "b, _"})
    for size in (3, 1, 2, 40):
        x = np.random.default_rng(size).standard_normal((size, 3)).astype(np.float32)
        for actual, expected in zip(compiled(x), function(snp.asarray(x)), strict=True):
            np.testing.assert_allclose(np.asarray(actual), np.asarray(expected), rtol=1e-4, atol=1e-5, strict=True)


WITHOUT_A_FORM = {
    "fft.fft": lambda x: snp.fft.fft(x),
    "fft.rfft": lambda x: snp.fft.rfft(x),
    "fft.ifft": lambda x: snp.fft.ifft2(x[:, None] * x),
    "the LU factorization, as of linalg.inv": lambda x: snp.linalg.inv(x[:, None] * x),
    "polyder": lambda x: snp.polyder(x),
    "delete": lambda x: snp.delete(x, slice(2)),
    "random.permutation": lambda x: random.permutation(random.key(0), x),
}


@pytest.mark.parametrize("name", WITHOUT_A_FORM)
def test_an_operation_without_a_form_is_named(name):
    with pytest.raises(stagec.errors.DimensionError, match=f"^{name}.* has no form [^\n]*\n *test_open_sizes.py"):
        stagec.jit(WITHOUT_A_FORM[name], dynamic={"x": "b"})(np.ones(7, np.float32))


@pytest.mark.parametrize("size", [1, 7, 3000])
def test_a_search_needs_no_bound(size):
    table = np.sort(np.random.default_rng(0).standard_normal(size)).astype(np.float32)
    wanted = np.float32([-9, -0.5, 0, table[0], table[-1], 9])
    opened = stagec.jit(lambda x: snp.searchsorted(x, wanted), dynamic={"x": "b"})
    np.testing.assert_array_equal(np.asarray(opened(table)), np.searchsorted(table, wanted))
    both = stagec.jit(lambda x, v: snp.searchsorted(x, v, side="right"), dynamic={"x": "b", "v": "m"})
    np.testing.assert_array_equal(np.asarray(both(table, wanted[1:])), np.searchsorted(table, wanted[1:], "right"))
    unique = stagec.jit(lambda x: snp.unique(x, size=6, fill_value=99), dynamic={"x": "b"})
    repeated = np.floor(table)
    expected = np.unique(repeated)[:6]
    np.testing.assert_array_equal(np.asarray(unique(repeated))[: len(expected)], expected)


SEARCHES = {
    "interp": lambda np, x: np.interp(x * 1.5 - 0.2, x, x * x),
    "interp period": lambda np, x: np.interp(x + 5, x, x * x, period=1.0),
    "digitize": lambda np, x: np.digitize(x, x[::-1]),
    "isin": lambda np, x: np.isin(np.floor(x * 9), np.floor(x * x * 9)),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_functions_that_search_take_tables_of_any_size(name):
    opened = stagec.jit(lambda x: SEARCHES[name](snp, x), dynamic={"x": "b"})
    for n in (3, 40, 2, 1):
        x = np.sort(np.random.default_rng(n).random(n, np.float32))
        expected = SEARCHES[name](np, x)
        found = np.asarray(opened(x))
        assert (found.shape, found.dtype.kind) == (expected.shape, expected.dtype.kind)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_windows_with_steps_cover_every_size():
    def pool(x):
        return lax.reduce_window(x, -np.inf, lax.max, (1, 2, 2), (1, 2, 2), "SAME")

    compiled = stagec.jit(pool, dynamic={"x": "b, h, w"})
    for shape in ((2, 4, 5), (1, 1, 2), (3, 7, 7)):
        x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
        np.testing.assert_array_equal(np.asarray(compiled(x)), np.asarray(pool(snp.asarray(x))), strict=True)


def test_a_mirrored_difference_names_the_operation():
    f = stagec.jit(lambda x: snp.pad(x, 1, mode="reflect", reflect_type="odd"), dynamic={"x": "b>=4"})
    with pytest.raises(stagec.errors.DimensionError, match=r"pad with mode='reflect'[^\n]*\n *test_open_sizes.py"):
        f(np.arange(5.0))


def test_functions_of_numpy_name_those_of_stagec():
    f = stagec.jit(lambda x: x / np.sqrt(x.shape[0]), dynamic={"x": "b"})
    with pytest.raises(stagec.errors.DimensionError, match=r"numpy\.sqrt [\s\S]*test_open_sizes[\s\S]*call \w+\.sqrt"):
        f(np.ones(4, np.float32))


def test_numbers_and_arrays_of_numpy_combine_with_sizes():
    def f(x):
        b = x.shape[0]
        assert np.int32(0) < b and not np.int32(0) >= b
        assert np.array([1]) != b
        return np.float32(0.5) * b + np.arange(3) * b, np.float64(3) / b + b / np.float32(2) + b ** np.float32(0.5)

    opened = stagec.jit(f, dynamic={"x": "b"})
    for actual, expected in zip(opened(np.ones(4, np.float32)), ([2, 6, 10], 0.75 + 2 + 2), strict=True):
        np.testing.assert_allclose(np.asarray(actual), expected)


@pytest.mark.parametrize("spec", ["f32[_,784]", "f32[...,784]"])
def test_an_exported_dimension_needs_a_name(spec):
    with pytest.raises(stagec.errors.DimensionError, match=r"which only `dynamic` has[\s\S]*a name such as b"):
        stagec.export(lambda x: x * 2)(spec)


def test_a_file_refuses_arrays_without_elements():
    loaded = stagec.load(stagec.export(lambda x: x * 2)("f32[b,4]").serialize())
    assert loaded(np.ones((3, 4), np.float32)).shape == (3, 4)
    with pytest.raises(stagec.errors.DimensionError, match="no program for arrays without elements"):
        loaded(np.ones((0, 4), np.float32))


@pytest.mark.parametrize(
    ("function", "name"),
    [(lambda x: lax.top_k(x.T, x.shape[0])[0], "top_k"), (lambda x: snp.pad(x, (0, x.shape[0])), "pad")],
    ids=["a number of results", "a width"],
)
def test_a_size_where_a_number_is_needed_names_the_operation(function, name):
    f = stagec.jit(function, dynamic={"x": "b,_"})
    with pytest.raises(stagec.errors.DimensionError, match=rf"^{name} has no form for open[\s\S]*test_open_sizes"):
        f(np.ones((4, 3), np.float32))


@pytest.mark.parametrize(("dynamic", "end"), [({"x": "b"}, "; or leave the dimensions static"), (None, "saved module")])
def test_what_the_compiler_refuses_says_that_a_static_dimension_may_help(dynamic, end, monkeypatch, tmp_path):
    refused = Attempt("plain", 0.1, False, (Diagnostic("error", "refused"),))
    monkeypatch.setattr(driver, "run", lambda *_, **__: (b"", refused))
    monkeypatch.setattr(driver, "_run_apart", lambda *_: (b"", refused))
    f = stagec.jit(lambda x: snp.sort(x), dynamic=dynamic)
    refusal = pytest.raises(stagec.errors.CompileError, match=rf"Fix: run [^\n]* and report the .*{end}$")
    with stagec.config.override(cache_dir=str(tmp_path), cpu_kernels=False), refusal:
        f(np.ones(4, np.float32))

"""Quantiles, histograms, covariance, sliding windows and products, against NumPy and JAX."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from differential import check, host

import stagec
import stagec.numpy as snp
from stagec import lax

RNG = np.random.default_rng(0)
X = RNG.normal(size=(4, 7)).astype(np.float32)
HOLES = np.where(RNG.random((4, 7)) < 0.3, np.float32(np.nan), X)
HOLES[0] = np.nan
N = RNG.integers(0, 6, (4, 7)).astype(np.int32)
Q = np.array([[0.0, 0.25], [0.6, 1.0]], np.float32)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("axis", [None, 1, (0, 2)], ids=str)
@pytest.mark.parametrize("method", ["linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf"])
def test_many_fractions_are_computed_like_single_ones(method, axis) -> None:
    x = np.random.default_rng(0).normal(size=(3, 7, 4)).astype(np.float32)
    x[0, 2, 1], x[1, :, 2], x[2, 3] = np.nan, np.nan, np.inf
    q = np.array([[0.11, 0.27, 0.52, 0.77], [0.93, 1, 0, 0.339]], np.float32)
    weights: dict[str, Any] = {"weights": np.abs(x)} if method == "inverted_cdf" else {}
    functions: list[Any] = [(snp.quantile, {}), (snp.nanquantile, {}), (snp.quantile, weights)]
    for function, extra in functions:
        call = lambda q, function=function, extra=extra: function(x, q, axis=axis, method=method, **extra)  # noqa: E731
        single = np.stack([np.asarray(call(f)) for f in q.ravel()])
        for found in (call(q), stagec.jit(call)(q)):
            assert found.shape == (2, 4, *single.shape[1:])
            np.testing.assert_allclose(np.asarray(found).reshape(single.shape), single, rtol=2e-5, atol=1e-6)


def test_a_thousand_fractions_take_as_many_operations_as_five() -> None:
    traces = [stagec.jit(snp.percentile).trace(np.ones(50), np.ones(n)) for n in (5, 1000)]
    counts = [len(t.jaxpr.graph.equations) for t in traces]  # type: ignore[attr-defined]
    assert counts[0] == counts[1]


def test_quantiles_agree_with_numpy() -> None:
    expressions: list[Any] = [
        lambda np, x, h, n: np.median(x),
        lambda np, x, h, n: np.median(x, axis=0, keepdims=True),
        lambda np, x, h, n: np.median(n, axis=1),
        lambda np, x, h, n: np.median(h, axis=1),
        lambda np, x, h, n: np.nanmedian(h, axis=1),
        lambda np, x, h, n: np.nanmedian(h),
        lambda np, x, h, n: np.percentile(x, 30, axis=1),
        lambda np, x, h, n: np.nanpercentile(h, 30, axis=0),
        lambda np, x, h, n: np.quantile(x, Q, axis=(0, 1), keepdims=True),
        lambda np, x, h, n: np.quantile(x, Q, axis=1, keepdims=True),
        lambda np, x, h, n: np.nanquantile(h, Q, axis=1),
    ]
    for method in ("linear", "lower", "higher", "midpoint", "nearest"):
        expressions.append(lambda np, x, h, n, m=method: np.quantile(x, 0.3, axis=1, method=m))
        expressions.append(lambda np, x, h, n, m=method: np.nanquantile(h, 0.35, axis=0, method=m))
    check(expressions, [X, HOLES, N])


def test_quantiles_take_a_traced_fraction() -> None:
    methods = ("linear", "lower", "higher", "midpoint", "nearest")
    results = stagec.jit(lambda x, q: [snp.quantile(x, q, axis=1, method=m) for m in methods])(X, Q[0])
    for method, result in zip(methods, results, strict=True):
        assert np.allclose(result, np.quantile(X, Q[0], axis=1, method=method), atol=1e-5), method


def test_unknown_methods_of_quantile_are_refused() -> None:
    with pytest.raises(NotImplementedError, match="hazen") as caught:
        snp.quantile(X, 0.5, method="hazen")
    assert "Fix: use one of linear" in str(caught.value)


@pytest.mark.parametrize("seed", range(12))
def test_equal_bins_hold_what_is_between_their_edges(seed):
    rng = np.random.default_rng(seed)
    bins, scale = int(rng.choice([1, 3, 64, 1000])), float(rng.choice([1e-20, 1, 1e6]))
    x = np.concatenate([rng.normal(size=500) * scale, np.linspace(-scale, scale, 200), [np.nan, np.inf, -np.inf]])
    x = x.astype(np.float32)
    limits = (-scale, 2 * scale)
    for function in (snp.histogram, stagec.jit(snp.histogram, static_argnums=(1, 2))):
        counts, edges = map(np.asarray, function(x, bins, limits))
        inside = x[(edges[0] <= x) & (x <= edges[-1])]
        found = np.minimum(np.searchsorted(edges, inside, "right") - 1, bins - 1)
        np.testing.assert_array_equal(counts, np.bincount(found, minlength=bins))


def test_counts_and_histograms_agree_with_numpy() -> None:
    edges = np.array([-1.0, -0.2, 0.4, 2.0], np.float32)
    weights = np.abs(X)
    check(
        [
            lambda np, x, n, e, w: np.histogram(x, 4),
            lambda np, x, n, e, w: np.histogram(n, 3),
            lambda np, x, n, e, w: np.histogram(x, e),
            lambda np, x, n, e, w: np.histogram(x, 5, range=(-1, 1)),
            lambda np, x, n, e, w: np.histogram(x, e, weights=w),
            lambda np, x, n, e, w: np.histogram(x, e, density=True),
            lambda np, x, n, e, w: np.histogram_bin_edges(n, 6),
            lambda np, x, n, e, w: np.histogram(x * 0 + 2, 2),
        ],
        [X, N, edges, weights],
    )
    flat = N.ravel()
    assert snp.bincount(flat).tolist() == np.bincount(flat).tolist()
    assert snp.bincount(flat, minlength=9).tolist() == np.bincount(flat, minlength=9).tolist()
    assert np.allclose(snp.bincount(flat, weights.ravel()), np.bincount(flat, weights.ravel()))
    assert stagec.jit(lambda x: snp.bincount(x, length=4))(flat).tolist() == np.bincount(flat)[:4].tolist()


def test_counting_needs_integers_and_under_jit_a_length() -> None:
    with pytest.raises(stagec.errors.DtypeError, match="bincount"):
        snp.bincount(X[0])
    with pytest.raises(stagec.errors.ConcretizationError, match="bincount"):
        stagec.jit(snp.bincount)(N.ravel())


def test_covariances_agree_with_numpy() -> None:
    counts = np.array([1, 2, 1, 3, 1, 1, 2], np.int32)
    weights = np.linspace(0.5, 1.5, 7).astype(np.float32)
    check(
        [
            lambda np, x, c, w: np.cov(x),
            lambda np, x, c, w: np.cov(x[0]),
            lambda np, x, c, w: np.cov(x[0], x[1], ddof=0),
            lambda np, x, c, w: np.cov(x, rowvar=False),
            lambda np, x, c, w: np.cov(x[:1], rowvar=False, ddof=0),
            lambda np, x, c, w: np.cov(x.T, x[:1], rowvar=False),
            lambda np, x, c, w: np.cov(x, bias=True),
            lambda np, x, c, w: np.cov(x, fweights=c),
            lambda np, x, c, w: np.cov(x, aweights=w),
            lambda np, x, c, w: np.cov(x, fweights=c, aweights=w),
            lambda np, x, c, w: np.cov(x + 1j * x[::-1]),
            lambda np, x, c, w: np.corrcoef(x),
            lambda np, x, c, w: np.corrcoef(x[0], x[1]),
        ],
        [X, counts, weights],
    )


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("shape", [(1, 6), (6, 1), (1, 1), (3, 2), (5,), (), (0, 3), (3, 0), (0,)], ids=str)
def test_covariances_of_few_observations_agree_with_numpy(shape) -> None:
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    pairs = [(x, None), (x, x)] + [(np.zeros((0, 3), np.float32), x)]
    for m, y in pairs:
        for rowvar in (True, False):
            try:
                expected = np.cov(m, y, rowvar=rowvar), np.corrcoef(m, y, rowvar=rowvar)
            except ValueError:
                continue
            found = snp.cov(m, y, rowvar=rowvar), snp.corrcoef(m, y, rowvar=rowvar)
            assert [f.shape for f in found] == [np.shape(e) for e in expected]
            np.testing.assert_allclose(found[0], expected[0], rtol=1e-5)


def test_sliding_products_agree_with_numpy() -> None:
    short, even = np.array([1, -2, 0.5], np.float32), np.array([1, 2, -1, 3], np.float32)
    expressions: list[Any] = []
    for mode in ("full", "same", "valid"):
        expressions += [
            lambda np, x, s, e, m=mode: np.convolve(x, s, m),
            lambda np, x, s, e, m=mode: np.convolve(e, x, m),
            lambda np, x, s, e, m=mode: np.correlate(x, s, m),
            lambda np, x, s, e, m=mode: np.correlate(x, e, m),
            lambda np, x, s, e, m=mode: np.correlate(s, x, m),
            lambda np, x, s, e, m=mode: np.correlate(e, x, m),
            lambda np, x, s, e, m=mode: np.correlate(x * 1j, s + 2j, m),
            lambda np, x, s, e, m=mode: np.correlate(s + 2j, x * 1j, m),
        ]
    check(expressions, [X[0], short, even])


def test_convolutions_agree_with_jax() -> None:
    jax = pytest.importorskip("jax")
    x = RNG.normal(size=(2, 9, 8, 4)).astype(np.float32)
    kernel = RNG.normal(size=(3, 2, 4, 6)).astype(np.float32)
    thin = RNG.normal(size=(3, 2, 1, 8)).astype(np.float32)
    channels_first = RNG.normal(size=(6, 9, 2, 3)).astype(np.float32)
    nhwc = ("NHWC", "HWIO", "NHWC")

    def convolutions(lib: Any, x: Any, k: Any, t: Any, c: Any) -> list[Any]:
        return [
            lib.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers=nhwc),
            lib.conv_general_dilated(x, k, (2, 3), "SAME_LOWER", dimension_numbers=nhwc),
            lib.conv_general_dilated(x, k, (1, 2), "VALID", rhs_dilation=(2, 1), dimension_numbers=nhwc),
            lib.conv_general_dilated(x, t, (1, 1), "SAME", dimension_numbers=nhwc, feature_group_count=4),
            lib.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers=nhwc, batch_group_count=2),
            lib.conv_transpose(x, k, (2, 3), "SAME", dimension_numbers=nhwc),
            lib.conv_transpose(x, k, (2, 1), "VALID", rhs_dilation=(1, 2)),
            lib.conv_transpose(x, k.transpose(0, 1, 3, 2), (2, 1), "SAME", transpose_kernel=True),
            lib.conv(x, c, (1, 1), "SAME"),
        ]

    expected = convolutions(jax.lax, x, kernel, thin, channels_first)
    eager = convolutions(lax, x, kernel, thin, channels_first)
    for i, (e, f) in enumerate(zip(expected, eager, strict=True)):
        assert e.shape == f.shape, i
        assert np.allclose(e, f, atol=1e-4), i


def test_windows_agree_with_jax() -> None:
    jax = pytest.importorskip("jax")
    x = RNG.normal(size=(6, 9)).astype(np.float32)

    def reductions(lib: Any, x: Any) -> list[Any]:
        return [
            lib.reduce_window(x, 0.0, lib.add, (2, 3), (1, 2), "SAME"),
            lib.reduce_window(x, -np.inf, lib.max, (2, 2), (2, 2), "VALID"),
            lib.reduce_window(x, np.inf, lib.min, (3, 1), (1, 1), [(1, 1), (0, 2)]),
            lib.reduce_window(x, 1.0, lib.mul, (2, 2), (1, 1), "VALID", (1, 2), (2, 1)),
            lib.reduce_window(x, 2.0, lib.max, (2, 2), (1, 1), "SAME"),
        ]

    compiled = stagec.jit(lambda x: reductions(lax, x))(x)
    for e, f, c in zip(reductions(jax.lax, x), reductions(lax, x), compiled, strict=True):
        assert np.allclose(e, f, atol=1e-5)
        assert np.allclose(e, host(c), atol=1e-5)


def test_convolution_errors_say_what_does_not_fit() -> None:
    x, kernel = np.ones((1, 3, 8, 8), np.float32), np.ones((4, 2, 3, 3), np.float32)
    with pytest.raises(stagec.errors.ShapeError, match=r"3 features.*takes 2") as caught:
        lax.conv(x, kernel, (1, 1), "SAME")
    assert "Fix:" in str(caught.value)
    with pytest.raises(stagec.errors.ShapeError, match="no padding named 'FULL'"):
        lax.conv(x, kernel, (1, 1), "FULL")
    with pytest.raises(stagec.errors.ShapeError, match="NHWW"):
        lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWW", "OIHW", "NCHW"))


@pytest.mark.parametrize("options", [{}, {"weights": np.zeros(0, np.float32)}, {"minlength": 2}])
def test_nothing_is_counted_in_no_bins(options: Any) -> None:
    nothing = np.zeros(0, np.uint8)
    np.testing.assert_array_equal(np.asarray(snp.bincount(nothing, **options)), np.bincount(nothing, **options))

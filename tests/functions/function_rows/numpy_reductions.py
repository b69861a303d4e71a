"""`stagec.numpy`: reductions, running sums, statistics."""

from __future__ import annotations

import functools

import numpy as np

from function_rows.drawing import Call, Draw, call
from function_rows.row import Row, plain


def _reduced(s: Draw, kinds: str, several: bool = True, empty: bool = True, masks: str = "", low: int = 0) -> Call:
    x = s.array(s.shape(low, empty=empty), s.kind(kinds), *((0.5, 2.0) if s.smooth else ()))
    options = {"axis": s.axis(x.ndim, several), "keepdims": s.chance(0.5)}
    if masks and s.chance(0.3):
        options["where"] = s.array(s.broadcast(x.shape), "bool")
        if masks == "initial":
            options["initial"] = 1
    return call(x, **options)


def reduction(
    names: str,
    kinds: str = "biufc",
    several: bool = True,
    empty: bool = True,
    masks: str = "",
    low: int = 0,
    **options,
) -> list[Row]:
    draw = functools.partial(_reduced, kinds=kinds, several=several, empty=empty, masks=masks, low=low)
    return [Row(f"numpy.{name}", draw, plain(getattr(np, name)), scaled=True, **options) for name in names.split()]


def _spread(s: Draw) -> Call:
    made = _reduced(s, "biufc", masks="where" if s.chance(0.3) else "")
    if s.smooth:  # without spread there is no slope
        x = s.array((3, *s.shape(0, 2, False)), s.kind("fc"))
        return call(x, axis=0)
    return call(*made.args, **made.kwargs, **({"ddof": 1} if s.chance(0.3) else {}))


def _spread_of_reals(s: Draw) -> Call:
    x = s.array((3, *s.shape(0, 2)), s.kind("iuf"))
    return call(x, axis=0, keepdims=s.chance(0.5))


def _running(s: Draw, kinds: str = "biufc", none: bool = True, empty: bool = True) -> Call:
    x = s.array(s.shape(1, 4, empty), s.kind(kinds), *((0.5, 2.0) if s.smooth else ()))
    return call(x, axis=s.axis(x.ndim, none=none))


def _narrow(function):
    """Sums in the dtype of integers, as in JAX; NumPy's are wide."""

    def run(x, axis):
        return function(x, axis, dtype=np.int32 if x.dtype == bool else x.dtype)

    return run


def _cumulative(s: Draw) -> Call:
    x = s.array(s.shape(1, 4), s.kind("fc") if s.chance(0.7) else np.dtype("int32"), edges=False)
    return call(x, axis=int(s.axis(x.ndim, none=False)), include_initial=s.chance(0.5))


def _diff(s: Draw) -> Call:
    x = s.array(s.shape(1, 4), s.kind("biufc"))
    axis = s.axis(x.ndim, none=False)
    options = {"prepend": 1} if s.chance(0.2) and x.dtype != bool else {}
    return call(x, s.whole(0, 2), axis, **options)


def _ediff1d(s: Draw) -> Call:
    x = s.array(s.shape(), s.kind("iuf"))
    return call(x, to_end=np.array([1, 2], x.dtype)) if s.chance(0.3) else call(x)


def _gradient(s: Draw) -> Call:
    x = s.array(tuple(n + 1 for n in s.shape(1, 3, False)), s.kind("fc"))
    return s.one_of(call(x), call(x, 2.0), call(x, axis=s.axis(x.ndim, none=False)))


def _trapezoid(s: Draw) -> Call:
    x = s.array(s.shape(1, 3, False), s.kind("f"))
    axis = s.axis(x.ndim, none=False)
    return s.one_of(
        call(x, axis=axis), call(x, dx=0.5, axis=axis), call(x, s.array((x.shape[axis],), x.dtype), axis=axis)
    )


def _average(s: Draw) -> Call:
    x = s.array(s.shape(empty=False), s.kind("iufc"))
    axis = s.axis(x.ndim)
    if s.chance(0.5):
        return call(x, axis=axis)
    return call(x, axis, s.array(x.shape, s.kind("f"), 0.5, 2.0), keepdims=s.chance(0.5))


METHODS = ("linear", "lower", "higher", "midpoint", "nearest")


def _quantile(s: Draw, scale: float) -> Call:
    x = s.array(s.shape(1, empty=False), s.kind("iuf"))
    q = s.array(s.shape(0, 1, False), x.dtype if x.dtype.kind == "f" else "float64" if s.wide else "float32", 0, scale)
    return call(
        x, q, axis=s.axis(x.ndim, True), keepdims=s.chance(0.5), method=s.one_of(*METHODS[: 1 if s.smooth else 5])
    )


def _quantiles(name: str):
    # NumPy takes q in the dtype of x; the position is computed in one that holds it.
    function = getattr(np, name)
    return lambda x, q, **options: function(x.astype(np.float64), q.astype(np.float64), **options)


def _covariance(s: Draw) -> Call:
    x = s.array((s.whole(1, 4), s.whole(2, 5)), s.kind("fc"), -2, 2)
    options = s.one_of({}, {"rowvar": False} if x.shape[0] > 1 else {}, {"ddof": 0}, {"bias": True})
    return call(x, **options)


def _correlation(s: Draw) -> Call:
    x = s.array((s.whole(2, 4), s.whole(3, 5)), s.kind("fc"), -2, 2)
    return call(x, rowvar=s.chance(0.5))


def _histogram(s: Draw) -> Call:
    x = s.array((s.whole(1, 9),), s.kind("iuf"), 0, 4)
    if s.chance(0.5):
        return call(x, s.whole(1, 5), range=(0.0, 4.5))
    return call(x, np.array([0.0, 0.75, 1.25, 4.5], s.kind("f")), density=s.chance(0.5))


def _edges(s: Draw) -> Call:
    return call(s.array((s.whole(1, 9),), s.kind("f"), 0, 4), s.whole(1, 5))


def _histogram2d(s: Draw) -> Call:
    n = s.whole(1, 9)
    return call(s.array((n,), "float32", 0, 4), s.array((n,), "float32", 0, 4), s.whole(1, 4), ((0.0, 4.0), (0.0, 4.5)))


def _histogramdd(s: Draw) -> Call:
    return call(s.array((s.whole(1, 9), 2), "float32", 0, 4), s.whole(1, 4), ((0.0, 4.0), (0.0, 4.5)))


def _counts(s: Draw) -> Call:
    n = s.whole(0, 6)
    options = {"weights": s.array((n,), s.kind("if"))} if s.chance(0.5) else {}
    return call(s.array((n,), s.kind("iu"), 0, 5), minlength=s.whole(0, 7), **options)


def _convolution(s: Draw) -> Call:
    kind = s.kind("iufc")
    a, b = (s.array((s.whole(1, 6),), kind, edges=False) for _ in range(2))
    return call(a, b, s.one_of("full", "same", "valid"))


def _over_axes(s: Draw) -> Call:
    x = s.array(s.shape(1, 3), s.kind("f"))
    return call(_sum, x, [s.axis(x.ndim, none=False)])


def _sum(x, axis):
    return x.sum(axis)


def _ends(v):
    return v[0] + v[-1]


def _along_axis(s: Draw) -> Call:
    x = s.array(s.shape(1, 3, False), s.kind("if"))
    return call(_ends, s.axis(x.ndim, none=False), x)


ROWS = [
    *reduction("sum prod", masks="initial", loose=4),
    *reduction("mean", masks="where", loose=4),
    *reduction("max min amax amin", "biuf", masks="initial"),
    Row(
        "numpy.minmax",
        functools.partial(_reduced, kinds="biuf", masks="initial"),
        lambda a, **options: (np.min(a, **options), np.max(a, **options)),
        scaled=True,
    ),
    *reduction("any all count_nonzero"),
    *reduction("nansum nanprod nanmean", loose=4),
    *reduction("nanvar", "biuf", loose=4),
    Row("numpy.nanstd", _spread_of_reals, np.nanstd, scaled=True, loose=8),
    *reduction("nanmax nanmin", "biuf", empty=False),
    *reduction("argmax argmin", several=False, empty=False),
    *reduction("nanargmax nanargmin", "biuf", several=False, empty=False),
    *reduction("ptp", "iuf", empty=False),
    *reduction("median nanmedian", "iuf", empty=False, low=1),
    *(Row(f"numpy.{n}", _spread, getattr(np, n), scaled=True, loose=8) for n in ("std", "var")),
    *(Row(f"numpy.{n}", _running, _narrow(getattr(np, n)), scaled=True, loose=4) for n in ("cumsum", "cumprod")),
    *(
        Row(f"numpy.{n}", functools.partial(_running, kinds="fc"), plain(getattr(np, n)), scaled=True, loose=4)
        for n in ("nancumsum", "nancumprod")
    ),
    *(
        # Sums of narrow integers are wide: the array API standard's, not JAX's.
        Row(f"numpy.{n}", _cumulative, getattr(np, n), scaled=True, loose=4, like_jax=False)
        for n in ("cumulative_sum", "cumulative_prod")
    ),
    Row("numpy.diff", _diff, np.diff, scaled=True),
    Row("numpy.ediff1d", _ediff1d, np.ediff1d, scaled=True),
    Row("numpy.gradient", _gradient, np.gradient, scaled=True),
    Row("numpy.trapezoid", _trapezoid, np.trapezoid, scaled=True),
    Row("numpy.average", _average, np.average, scaled=True, loose=4),
    Row("numpy.quantile", functools.partial(_quantile, scale=1), _quantiles("quantile"), scaled=True),
    Row("numpy.nanquantile", functools.partial(_quantile, scale=1), _quantiles("nanquantile"), scaled=True),
    Row("numpy.percentile", functools.partial(_quantile, scale=100), _quantiles("percentile"), scaled=True),
    Row("numpy.nanpercentile", functools.partial(_quantile, scale=100), _quantiles("nanpercentile"), scaled=True),
    Row("numpy.cov", _covariance, np.cov, scaled=True, loose=4),
    Row("numpy.corrcoef", _correlation, np.corrcoef, loose=8),
    Row("numpy.histogram", _histogram, np.histogram),
    Row("numpy.histogram_bin_edges", _edges, np.histogram_bin_edges),
    Row("numpy.histogram2d", _histogram2d, np.histogram2d, like_jax=False, note="counts are floats"),
    Row("numpy.histogramdd", _histogramdd, np.histogramdd, like_jax=False, note="counts are floats"),
    Row("numpy.bincount", _counts, np.bincount, concrete=True),
    Row("numpy.convolve", _convolution, np.convolve, scaled=True, loose=2),
    Row("numpy.correlate", _convolution, np.correlate, scaled=True, loose=2),
    Row("numpy.apply_over_axes", _over_axes, np.apply_over_axes, scaled=True),
    Row("numpy.apply_along_axis", _along_axis, np.apply_along_axis, scaled=True),
]

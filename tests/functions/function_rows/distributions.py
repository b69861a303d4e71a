"""`stagec.scipy.stats`."""

from __future__ import annotations

import numpy as np
from scipy import stats

import stagec.scipy.stats as ours
from function_rows.drawing import Call, Draw, call
from function_rows.row import Row
from function_rows.special_functions import double

# Ranges of the argument and of the shape parameters. What is `whole` counts.
CONTINUOUS = {
    "norm": ((-3, 3),),
    "cauchy": ((-3, 3),),
    "laplace": ((-3, 3),),
    "logistic": ((-3, 3),),
    "gumbel_l": ((-3, 3),),
    "gumbel_r": ((-3, 3),),
    "expon": ((0.1, 4),),
    "uniform": ((0.1, 0.9),),
    "gamma": ((0.2, 4), (0.5, 3)),
    "beta": ((0.1, 0.9), (0.5, 3), (0.5, 3)),
    "chi2": ((0.2, 4), (1, 5)),
    "pareto": ((1.1, 4), (0.5, 3)),
    "t": ((-3, 3), (1, 6)),
    "truncnorm": ((-0.9, 1.9), (-3, -1), (2, 4)),
    "gennorm": ((0.2, 3), (0.8, 2)),
    "vonmises": ((-3, 3), (0.5, 3)),
    "wrapcauchy": ((0.2, 6), (0.2, 0.8)),
}
DISCRETE = {
    "bernoulli": (1, (0.1, 0.9)),
    "binom": (6, (7.9, 8.0), (0.1, 0.9)),
    "betabinom": (6, (7.9, 8.0), (0.5, 3), (0.5, 3)),
    "geom": (6, (0.1, 0.9)),
    "nbinom": (6, (1, 5), (0.1, 0.9)),
    "poisson": (6, (0.5, 5)),
}
# How many of the parameters are whole.
WHOLE = {"binom": 1, "betabinom": 1} | dict.fromkeys(("bernoulli", "geom", "nbinom", "poisson"), 0)
UNIT = (0.05, 0.95)
LOCATED = set(CONTINUOUS) - {"gennorm", "vonmises", "wrapcauchy"}


# The incomplete beta function has no derivative by its parameters.
FIXED = {("beta", f): (1, 2) for f in ("cdf", "logcdf", "sf", "logsf")}


def functions(name: str) -> list[str]:
    return [
        f
        for f in ("logpdf", "pdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf", "logpmf", "pmf", "entropy")
        if hasattr(getattr(ours, name), f)
    ]


def _continuous(name: str, function: str):
    first, *shapes = CONTINUOUS[name]
    first = UNIT if function in ("ppf", "isf") else first

    def draw(s: Draw) -> Call:
        shape, kind = s.shape(), s.kind("f")
        args = [s.array(shape, kind, *first), *(s.array(s.broadcast(shape), kind, *r) for r in shapes)]
        if name in LOCATED and s.chance(0.3):
            args += [s.array((), kind, 0, 0.05), s.array((), kind, 1, 1.05)]
        return call(*args)

    return draw


def _discrete(name: str, function: str):
    most, *shapes = DISCRETE[name]

    def draw(s: Draw) -> Call:
        shape, kind = s.shape(), s.kind("f")
        args = [
            np.asarray(np.round(s.array(s.broadcast(shape), kind, *r)))
            if r == (7.9, 8.0)
            else s.array(s.broadcast(shape), kind, *r)
            for r in shapes
        ]
        if function == "entropy":
            return call(*args)
        first = s.array(shape, kind, *UNIT) if function == "ppf" else s.values.integers(0, most + 1, shape).astype(kind)
        return call(first, *args)

    return draw


def _simple(s: Draw) -> Call:
    x = s.array((s.whole(2, 4), *s.shape(0, 2, False)), s.kind("f"), -3, 3)
    return call(x.round(1) if not s.smooth else x, axis=0)


def _several_points(s: Draw) -> Call:
    kind, n = s.kind("f"), s.whole(1, 3)
    root = s.array((n, n), kind, -1, 1)
    return call(s.array((s.whole(2, 4), n), kind, -2, 2), s.array((n,), kind), (root @ root.T + np.eye(n)).astype(kind))


def _dirichlet(s: Draw) -> Call:
    kind, n = s.kind("f"), s.whole(2, 4)
    x = s.array((n,), kind, 0.2, 1)
    return call((x / x.sum()).astype(kind), s.array((n,), kind, 0.5, 3))


def _multinomial(s: Draw) -> Call:
    n = s.whole(2, 4)
    p = s.array((n,), "float32", 0.2, 1)
    counts = s.values.integers(0, 4, n).astype(p.dtype)
    return call(counts, np.asarray(counts.sum()), (p / p.sum()).astype(p.dtype))


def _multinomially(name: str):
    def oracle(counts, total, p):
        p = p.astype(np.float64)
        return getattr(stats.multinomial, name)(counts, total, p / p.sum())

    return oracle


def _mode(x, axis):
    return list(stats.mode(x, axis))


ROWS = [
    *(
        Row(
            f"scipy.stats.{name}.{f}",
            _continuous(name, f),
            double(getattr(getattr(stats, name), f)),
            loose=100,
            fixed=FIXED.get((name, f), ()),
            costly=name in ("gamma", "chi2", "beta", "t", "gennorm", "truncnorm", "vonmises"),
            like_jax=(name, f) != ("norm", "ppf"),  # JAX widens float32 under 64 bits
        )
        for name in CONTINUOUS
        for f in functions(name)
    ),
    *(
        Row(
            f"scipy.stats.{name}.{f}",
            _discrete(name, f),
            double(getattr(getattr(stats, name), f)),
            loose=100,
            costly=True,
            fixed=() if f in ("ppf", "entropy") else tuple(range(1 + WHOLE[name])),
        )
        for name in DISCRETE
        for f in functions(name)
    ),
    *(
        Row(
            f"scipy.stats.multivariate_normal.{f}",
            _several_points,
            double(getattr(stats.multivariate_normal, f)),
            loose=100,
        )
        for f in ("logpdf", "pdf")
    ),
    *(Row(f"scipy.stats.dirichlet.{f}", _dirichlet, None, loose=100, fixed=(0,)) for f in ("logpdf", "pdf")),
    *(
        Row(f"scipy.stats.multinomial.{f}", _multinomial, _multinomially(f), loose=100, fixed=(0, 1))
        for f in ("logpmf", "pmf")
    ),
    Row("scipy.stats.mode", _simple, _mode),
    Row("scipy.stats.rankdata", _simple, stats.rankdata),
    Row("scipy.stats.sem", _simple, stats.sem, loose=8),
]

"""`stagec.random`: draws from distributions by known keys, which are JAX's for the same keys."""

from __future__ import annotations

import numpy as np

from function_rows.drawing import Call, Draw, call
from function_rows.row import Row


def _key(s: Draw) -> np.ndarray:
    return np.array([0, s.values.integers(0, 2**31)], np.uint32)


def of_key(*names: str):
    """Draws that take no parameters but shape and dtype."""

    def draw(s: Draw) -> Call:
        return call(_key(s), s.shape(0, 2))

    return [Row(f"random.{name}", draw, loose=30) for name in names]


def of_parameters(name: str, *ranges: tuple[float, float], shaped: bool = True, **options) -> Row:
    """Draws whose parameters are arrays that broadcast."""

    def draw(s: Draw) -> Call:
        shape = s.shape(0, 2)
        parameters = [s.array(s.broadcast(shape), "float32", *r) for r in ranges]
        return call(_key(s), *parameters, shape=shape) if shaped else call(_key(s), *parameters)

    return Row(f"random.{name}", draw, **{"loose": 100.0, "costly": True, **options})


def _bits(s: Draw) -> Call:
    return call(_key(s), s.shape(0, 2), s.one_of("uint8", "uint16", "uint32"))


def _integers(s: Draw) -> Call:
    shape, kind = s.shape(0, 2), s.one_of("int8", "int32", "uint8", "uint32")
    return call(_key(s), shape, s.array(s.broadcast(shape), kind, 0, 5), s.array(s.broadcast(shape), kind, 6, 90), kind)


def _choice(s: Draw) -> Call:
    n = s.whole(2, 5)
    options = {"p": s.array((n,), "float32", 0.1, 1)} if s.chance(0.4) else {}
    return call(_key(s), s.array((n,), "float32"), (s.whole(1, n),), replace=s.chance(0.5), **options)


def _permutation(s: Draw) -> Call:
    return call(
        _key(s), s.array((s.whole(1, 5), s.whole(1, 3)), "float32"), axis=s.whole(0, 1), independent=s.chance(0.5)
    )


def _categorical(s: Draw) -> Call:
    return call(_key(s), s.array((*s.shape(0, 2, False), s.whole(2, 4)), "float32", -2, 2))


def _normals(s: Draw) -> Call:
    n = s.whole(1, 3)
    root = s.array((n, n), "float32", -1, 1)
    return call(_key(s), s.array((n,), "float32"), root @ root.T + np.eye(n, dtype=np.float32), s.shape(0, 1))


def _several(s: Draw) -> Call:
    return call(_key(s), s.array((s.whole(2, 4),), "float32", 0.5, 3), s.shape(0, 1))


def _multinomial(s: Draw) -> Call:
    p = s.array((s.whole(2, 4),), "float32", 0.5, 3)
    return call(_key(s), s.array((), "float32", 3, 8).round(), p / p.sum())


POSITIVE, UNIT = (0.5, 3.0), (0.2, 0.8)
# Draws by rejection: the derivative is that of the quantile of the draw.
REJECTION = {"derivative": "tests/random compares it with the distribution function's"}
ROWS = [
    *of_key("normal", "uniform", "exponential", "gumbel", "laplace", "logistic", "cauchy", "maxwell", "rademacher"),
    Row("random.bits", _bits),
    Row("random.randint", _integers),
    Row("random.choice", _choice),
    Row("random.permutation", _permutation),
    Row("random.categorical", _categorical),
    Row("random.multivariate_normal", _normals, loose=300, scaled=True, costly=True),
    Row("random.dirichlet", _several, loose=100, costly=True, **REJECTION),
    Row("random.multinomial", _multinomial, costly=True),
    Row("random.split", lambda s: call(_key(s), s.whole(1, 4))),
    Row("random.fold_in", lambda s: call(_key(s), s.array((), "uint32", 0, 100))),
    Row(
        "random.truncated_normal",
        lambda s: call(_key(s), s.array((), "float32", -2, -1), s.array((), "float32", 0, 2), s.shape(0, 2)),
        loose=100,
    ),
    Row("random.ball", lambda s: call(_key(s), s.whole(1, 3), 2, s.shape(0, 1)), loose=100),
    of_parameters("bernoulli", UNIT),
    of_parameters("beta", POSITIVE, POSITIVE, **REJECTION),
    of_parameters("binomial", (3, 9), UNIT),
    of_parameters("chisquare", POSITIVE, **REJECTION),
    of_parameters("double_sided_maxwell", POSITIVE, POSITIVE),
    of_parameters("f", (2, 5), (2, 5), **REJECTION),
    of_parameters("gamma", POSITIVE, **REJECTION),
    of_parameters("loggamma", POSITIVE, **REJECTION),
    of_parameters("generalized_normal", (1, 2), **REJECTION),
    of_parameters("geometric", UNIT),
    of_parameters("lognormal", POSITIVE),
    of_parameters("pareto", POSITIVE),
    of_parameters("poisson", (0.5, 5)),
    of_parameters("rayleigh", POSITIVE),
    of_parameters("t", (2, 5), **REJECTION),
    of_parameters("triangular", (0, 0.5), (0.5, 0.8), (0.9, 2)),
    of_parameters("wald", POSITIVE),
    of_parameters("weibull_min", POSITIVE, POSITIVE),
]

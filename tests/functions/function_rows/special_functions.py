"""`stagec.scipy.special`."""

from __future__ import annotations

import numpy as np
from scipy import special

from function_rows.drawing import Call, Draw, call
from function_rows.row import Row


def double(function):
    """SciPy's function of numbers of 64 bits, as it has no other accuracy in places."""

    def run(*args, **kwargs):
        wide = [
            a.astype({"f": np.float64, "c": np.complex128}.get(a.dtype.kind, a.dtype))
            if isinstance(a, np.ndarray)
            else a
            for a in args
        ]
        return function(*wide, **kwargs)

    return run


def reals(*ranges: tuple[float, float], kinds: str = "f"):
    """Arguments that broadcast, each from a range."""

    def draw(s: Draw) -> Call:
        shape, kind = s.shape(), s.kind(kinds)
        return call(*(s.array(shape if i == 0 else s.broadcast(shape), kind, *r) for i, r in enumerate(ranges)))

    return draw


def whole_first(low: int, high: int, *ranges: tuple[float, float]):
    """The first argument is an integer, in the dtype of the others."""

    def draw(s: Draw) -> Call:
        shape, kind = s.shape(), s.kind("f")
        return call(s.values.integers(low, high + 1, shape).astype(kind), *(s.array(shape, kind, *r) for r in ranges))

    return draw


LOOPS = "gammainc gammaincc betainc hyp1f1 hyp2f1 expi exp1 expn fresnel sici bessel_jn wofz dawsn spence".split()


def row(name: str, draw, oracle=None, **options) -> Row:
    options = {"loose": 60.0, "costly": name in LOOPS, **options}
    return Row(f"scipy.special.{name}", draw, double(oracle or getattr(special, name)), **options)


def _multigammaln(s: Draw) -> Call:
    return call(s.array(s.shape(), s.kind("f"), 2, 6), s.whole(1, 3))


def _exp1(s: Draw) -> Call:
    return call(s.array(s.shape(), s.kind("f"), 0.2, 5))


def _sums(s: Draw) -> Call:
    x = s.array(s.shape(1, 4, False), s.kind("f"), -4, 4)
    return call(x, axis=s.axis(x.ndim), keepdims=s.chance(0.5))


def _axis(s: Draw) -> Call:
    x = s.array(s.shape(1, 4, False), s.kind("f"), -4, 4)
    return call(x, axis=s.axis(x.ndim, none=False))


def _comb(s: Draw) -> Call:
    shape = s.shape()
    kind = s.kind("f")
    return call(s.array(shape, kind, 4, 8), s.values.integers(0, 4, shape).astype(kind))


def _harmonics(s: Draw) -> Call:
    shape = (s.whole(1, 4),)
    kind = s.kind("f")
    n = s.values.integers(0, 4, shape).astype(np.int32)
    m = (s.values.integers(0, 9, shape) % (n + 1)).astype(np.int32)
    return call(n, m, s.array(shape, kind, 0, 3), s.array(shape, kind, 0, 6), n_max=3)


def _harmonic(n, m, theta, phi, n_max):
    return special.sph_harm_y(n, m, theta, phi)


def _bessel(s: Draw) -> Call:
    return call(s.array((s.whole(1, 4),), s.kind("f"), 0.5, 6), v=s.whole(0, 4))


def _bessel_oracle(z, v):
    return np.stack([special.jv(k, z) for k in range(v + 1)])


POSITIVE = (0.3, 6.0)
ROWS = [
    *(row(n, reals(POSITIVE)) for n in ("gamma", "gammaln", "digamma", "psi", "entr", "factorial", "spence")),
    *(
        row(n, reals((-3, 3)))
        for n in ("erf", "erfc", "expit", "ndtr", "log_ndtr", "i0", "i0e", "i1", "i1e", "erfcx", "dawsn", "expi")
    ),
    *(row(n, reals((0.02, 0.98))) for n in ("logit", "ndtri")),
    row("erfcinv", reals((0.05, 1.95))),
    row("erfinv", reals((-0.9, 0.9))),
    row("gammasgn", reals((-4.9, 5))),
    row("loggamma", reals(POSITIVE)),
    row("exp1", _exp1),
    row("expn", whole_first(0, 6, (0.2, 4)), lambda n, x: special.expn(n.astype(int), x), fixed=(0,)),
    row("fresnel", reals((-4, 4))),
    row("sici", reals((0.3, 6))),
    row("wofz", reals((-3, 3), kinds="c")),
    row("beta", reals(POSITIVE, POSITIVE)),
    row("betaln", reals(POSITIVE, POSITIVE)),
    row("betainc", reals(POSITIVE, POSITIVE, (0.05, 0.95)), fixed=(0, 1)),
    row("gammainc", reals(POSITIVE, POSITIVE)),
    row("gammaincc", reals(POSITIVE, POSITIVE)),
    row("boxcox", reals(POSITIVE, (0.5, 2))),
    row("boxcox1p", reals(POSITIVE, (0.5, 2))),
    row("huber", reals(POSITIVE, (-6, 6))),
    row("xlogy", reals(POSITIVE, POSITIVE)),
    row("xlog1py", reals(POSITIVE, POSITIVE)),
    row("rel_entr", reals(POSITIVE, POSITIVE)),
    row("kl_div", reals(POSITIVE, POSITIVE)),
    row("owens_t", reals((-3, 3), (-2, 2)), like_jax=False, note="JAX widens float32 under 64 bits"),
    row("poch", whole_first(1, 4, (0.5, 4))),
    row(
        "polygamma",
        whole_first(1, 4, (0.5, 4)),
        lambda n, x: special.polygamma(n.astype(int), x),
        loose=200,
        fixed=(0,),
        like_jax=False,
        note="JAX wants n to be an integer",
    ),
    row("zeta", reals((1.5, 5), (0.5, 4)), loose=200, fixed=(0,)),
    row("comb", _comb, fixed=(1,)),
    row("hyp1f1", reals((0.5, 2), (2.5, 4), (-2, 2)), loose=300),
    row("hyp2f1", reals((0.5, 1.5), (0.5, 1.5), (2, 3), (-0.6, 0.6)), loose=300, fixed=(0, 1, 2)),
    row(
        "multigammaln",
        _multigammaln,
        lambda a, d: np.vectorize(lambda v: special.multigammaln(v, d), otypes=[float])(a) if a.size else a,
    ),
    row("logsumexp", _sums),
    row("softmax", _axis),
    row("log_softmax", _axis),
    row("sph_harm_y", _harmonics, _harmonic, like_jax=False, batched=False),
    row("bessel_jn", _bessel, _bessel_oracle, loose=1000, scaled=True),
    row("bernoulli", lambda s: call(s.whole(0, 10)), lambda n: special.bernoulli(max(n, 1))[: n + 1], static=True),
]

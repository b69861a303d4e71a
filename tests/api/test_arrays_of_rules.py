"""Rules of derivatives and batches that make arrays, or close over them, in jitted functions, loops and branches.

The arrays here are larger than what a traced function holds as a constant (`captured_constant_bytes`).
"""

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import lax

X = np.linspace(1, 2, 100, dtype="float32")
SCALE = np.linspace(0, 1, 100, dtype="float32")
ARRAYS = {"numpy": SCALE, "stagec": snp.asarray(SCALE)}


def with_jvp(scale):
    f = stagec.custom_jvp(lambda x: snp.sin(x) * scale)
    f.defjvp(lambda primals, tangents: (f(*primals), snp.cos(primals[0]) * scale * tangents[0]))
    return f


def with_vjp(scale):
    f = stagec.custom_vjp(lambda x: snp.sin(x) * scale)
    f.defvjp(lambda x: (snp.sin(x) * scale, x), lambda x, ct: (snp.cos(x) * scale * ct,))
    return f


def with_vmap(scale):
    f = stagec.custom_batching.custom_vmap(lambda x: snp.sin(x) * scale)
    f.def_vmap(lambda size, batched, x: (snp.sin(x) * scale, True))
    return f


def repeated(f):
    """A loop of one round, which is not unrolled."""
    return lambda x: lax.while_loop(lambda c: c[0] < 1, lambda c: (c[0] + 1, f(x)), (0, snp.zeros(x.shape)))[1]


PLACES = {
    "jit": stagec.jit,
    "jit in jit": lambda f: stagec.jit(stagec.jit(f)),
    "vmap of jit": lambda f: lambda x: stagec.vmap(stagec.jit(f))(x[None])[0],
    "scan": lambda f: lambda x: lax.scan(lambda c, _: (c + f(x), None), snp.zeros(x.shape), None, length=1)[0],
    "scan over x": lambda f: lambda x: lax.scan(lambda c, row: (c + f(row), None), snp.zeros(x.shape), x[None])[0],
    "while_loop": repeated,
    "cond": lambda f: lambda x: lax.cond(x.sum() > -1e9, f, snp.zeros_like, x),
    "checkpoint": stagec.checkpoint,
}


@pytest.mark.parametrize(("place", "array"), [*((place, "numpy") for place in PLACES), ("jit", "stagec")])
@pytest.mark.parametrize("rule", [with_jvp, with_vjp, with_vmap])
def test_rules_of_users_close_over_arrays(rule, place, array):
    f = PLACES[place](rule(ARRAYS[array]))
    expected = np.cos(X) * SCALE
    gradient = stagec.grad(lambda x: f(x).sum())
    for found in (gradient(X), stagec.jit(gradient)(X), stagec.vmap(gradient)(X[None])[0]):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(stagec.vmap(f)(X[None])[0], np.sin(X) * SCALE, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("place", ["jit", "scan", "while_loop", "cond", "checkpoint"])
@pytest.mark.parametrize("rule", [with_jvp, with_vjp])
def test_a_rule_that_closes_over_a_traced_value_is_an_error_that_names_it(rule, place):
    def outer(scale):
        return stagec.grad(lambda x: PLACES[place](rule(scale))(x).sum())(X)

    with pytest.raises(
        stagec.errors.UnsupportedError, match=r"float32\[100\] was used by a function that runs outside"
    ):
        stagec.jit(outer)(SCALE)


def matrix(dtype):
    rng = np.random.default_rng(0)
    drawn = rng.normal(size=(12, 12)) + (1j * rng.normal(size=(12, 12)) if dtype == "complex64" else 0)
    return (drawn @ drawn.conj().T / 12 + np.diag(np.arange(1, 13))).astype(dtype)


def size_of(x):
    return (abs(x) ** 2).sum()


FACTORIZATIONS = {
    "cholesky": lambda a: size_of(snp.linalg.cholesky(a)[6:]),
    "eigh": lambda a: snp.linalg.eigh(a)[0][3] + size_of(snp.linalg.eigh(a)[1][:, 3] * snp.arange(12)),
    "eig": lambda a: size_of(lax.linalg.eig(a, enable_eigvec_derivs=True)[2][3:]),
    "svd": lambda a: size_of(snp.linalg.svd(a)[0][:, 3] * snp.arange(12)),
    "qr": lambda a: size_of(snp.linalg.qr(a[:, :7])[1][:3]),
    "qr, all columns": lambda a: size_of(snp.linalg.qr(a[:, :7], mode="complete")[0][:, 8] * snp.arange(12)),
    "lu": lambda a: size_of(lax.linalg.lu(a)[0][6:]),
    "expm": lambda a: size_of(stagec.scipy.linalg.expm(a / 20)[3:]),
}


@pytest.mark.parametrize("place", ["jit", "while_loop"])
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize("name", FACTORIZATIONS)
def test_factorizations_have_derivatives_in_programs(name, dtype, place):
    given, f = matrix(dtype), FACTORIZATIONS[name]
    if place == "jit":
        inside = stagec.jit(f)
    else:
        loop = PLACES[place](lambda a: snp.full(a.shape, f(a)))
        inside = lambda a: loop(a)[0, 0]  # noqa: E731
    expected = stagec.grad(f)(given)
    np.testing.assert_allclose(stagec.grad(inside)(given), expected, rtol=2e-3, atol=2e-3)


def test_a_rule_that_closes_over_an_array_of_several_processes_is_an_error(monkeypatch):
    f = stagec.jit(with_jvp(snp.asarray(SCALE)))
    monkeypatch.setattr(type(snp.ones(1)), "local", property(lambda array: array))
    with pytest.raises(stagec.errors.UnsupportedError, match=r"an array of several processes float32\[100\] was used"):
        stagec.jit(stagec.grad(lambda x: f(x).sum())).lower(X)

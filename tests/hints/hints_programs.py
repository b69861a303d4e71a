"""Hints of compiled programs that are called with other arguments, and of pickling jitted functions."""

# ruff: noqa: E501

import pickle

import numpy as np

import stagec
import stagec.numpy as snp
from stagec import lax

V = snp.array([3.0, 1.0, 2.0])
SHORT = V[:2]


def scale(x, n=2):
    return x * n


def both(x, y):
    return x + y


def rest(*xs):
    return sum(xs)


def named(x, *, y):
    return x + y


def of_dict(d):
    return d["a"] * 2


def doubled(x):
    return 2 * x


def halved(x):
    return x / 2


def tripled(x):
    return 3 * x


kept = stagec.jit(tripled)
tripled = None
halved = stagec.jit(halved)
LOCAL = "define it with def at the top of a module; or pickle it by value, with cloudpickle.dumps"


def compiled(function, *args, **kwargs):
    return stagec.jit(function).lower(*args, **kwargs).compile()


def fixed():
    return stagec.jit(scale, static_argnames="n").lower(V, n=2).compile()


def loaded(function, *signatures):
    exported = stagec.export(function)
    stagec.save("function.stagec", {"f": [exported(*s) for s in signatures]})
    return stagec.load("function.stagec")


def wide(function):
    """A program of float64."""
    with stagec.enable_x64():
        return compiled(function, np.ones(3))


def in_64_bits():
    with stagec.enable_x64():
        return wide(doubled)(np.ones(3))


CASES = [
    (
        "compute on parts, as with lax.map, or in a narrower dtype; stagec.checkpoint keeps less for gradients",
        lambda: stagec.jit(lambda x: snp.zeros((10**6, 10**6)) + x)(1.0),
        lambda: stagec.jit(lambda x: lax.map(lambda i: (snp.zeros(10) + x + i).sum(), snp.arange(3)))(1.0),
    ),
    ("leave the others out; n is fixed in this program", lambda: fixed()(V, 2), lambda: fixed()(V)),
    ("leave the others out", lambda: compiled(doubled, V)(V, V), lambda: compiled(doubled, V)(V)),
    ("pass y by name", lambda: compiled(named, V, y=V)(V, V), lambda: compiled(named, V, y=V)(V, y=V)),
    ("leave it out; it takes x", lambda: compiled(doubled, V)(V, z=1), lambda: compiled(doubled, V)(V)),
    ("leave it out; it takes no arguments", lambda: compiled(lambda: V)(z=1), lambda: compiled(lambda: V)()),
    ("pass x once", lambda: compiled(both, V, V)(V, x=V), lambda: compiled(both, V, V)(V, V)),
    ("pass y=..., float32[3]", lambda: compiled(both, V, V)(V), lambda: compiled(both, V, V)(V, y=V)),
    ("compile it for this number of arguments too", lambda: compiled(rest, V, V)(V), lambda: compiled(rest, V)(V)),
    (
        "leave n out, or compile the function for this value too",
        lambda: fixed()(V, n=3),
        lambda: (fixed()(V), stagec.jit(scale, static_argnames="n").lower(V, n=3).compile()(V)),
    ),
    (
        "pass an array; static arguments are part of the program",
        lambda: compiled(doubled, V)("text"),
        lambda: compiled(doubled, V)(V),
    ),
    (
        "pass d like {'a': float32[3]}",
        lambda: compiled(of_dict, {"a": V})({"b": V}),
        lambda: compiled(of_dict, {"a": V})({"a": V}),
    ),
    (
        "call it outside of jit, or call the function that it was compiled from",
        lambda: stagec.jit(compiled(doubled, V))(V),
        lambda: (compiled(doubled, V)(V), stagec.jit(stagec.jit(doubled))(V)),
    ),
    ("compile it for this signature too", lambda: compiled(doubled, V)(SHORT), lambda: compiled(doubled, SHORT)(SHORT)),
    (
        "export it for these arguments too",
        lambda: loaded(both, (V, V), (SHORT, SHORT))(V, SHORT),
        lambda: loaded(both, (V, V), (SHORT, SHORT))(SHORT, SHORT),
    ),
    (
        "call it with 64-bit types enabled (STAGEC_ENABLE_X64=1, or stagec.enable_x64())",
        lambda: wide(doubled)(np.ones(3)),
        in_64_bits,
    ),
    (LOCAL, lambda: pickle.dumps(stagec.jit(lambda x: x)), lambda: pickle.loads(pickle.dumps(halved))(V)),
    (
        "give the jitted function the name of the function: tripled = stagec.jit(tripled); or pickle it by value, with cloudpickle.dumps",
        lambda: pickle.dumps(kept),
        lambda: pickle.loads(pickle.dumps(halved))(V),
    ),
]

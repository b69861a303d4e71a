"""Functions of each kind that transformations meet, written over a module: stagec or JAX.

Each takes the module and one pytree, which has at most six numbers. They are
smooth where they are evaluated, unless `SMOOTH` lacks them.
"""

from __future__ import annotations

import collections
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

Module = Any
Function = Callable[[Module, Any], Any]

VECTOR = np.array([0.7, -0.4, 1.3])
OTHER = np.array([0.25, 1.5, -0.75])
WEIGHTS = np.array([[0.5, -0.3, 0.8], [0.1, 0.9, -0.6], [-0.7, 0.2, 0.4]])
Pair = collections.namedtuple("Pair", ["first", "second"])

# name -> (function, argument)
FUNCTIONS: dict[str, tuple[Function, Any]] = {}
# Reverse mode does not go through these.
FORWARD_ONLY: set[str] = set()
# Forward mode does not go through these, unless reverse mode has gone first.
REVERSE_FIRST: set[str] = set()
# Their derivatives are not what differences give.
NOT_SMOOTH: set[str] = set()


def case(argument: Any, *groups: set[str]) -> Callable[[Function], Function]:
    def register(function: Function) -> Function:
        FUNCTIONS[function.__name__] = (function, argument)
        for group in groups:
            group.add(function.__name__)
        return function

    return register


# Elementwise and along axes


@case(VECTOR)
def elementwise_chain(m, x):
    np_ = m.numpy
    return np_.sin(x) * np_.exp(-x) + np_.log1p(x * x) / (2 - np_.tanh(x)) - x**3


@case(VECTOR)
def reductions(m, x):
    return [x.mean(), x.var(), x.prod(), x.max() * x.min(), m.nn.logsumexp(x)]


@case(VECTOR)
def softmax(m, x):
    return m.nn.softmax(x) * m.nn.log_softmax(2 * x)


@case(VECTOR)
def norm(m, x):
    return x / m.numpy.linalg.norm(x) + m.numpy.sqrt((x * x).sum() + 1)


@case(VECTOR)
def extremes(m, x):
    np_ = m.numpy
    return np_.maximum(x, 0.5 * x[::-1]) + np_.clip(x * x, 0.3, 1.5) + np_.abs(x) * np_.where(x > 0, x, 2.0)


@case(np.array([0.7, 0.0, -1.3]), NOT_SMOOTH)
def double_where(m, x):
    """The root never meets the zero, so its infinite slope does not."""
    positive = x > 0
    return m.numpy.where(positive, m.numpy.sqrt(m.numpy.where(positive, x, 1.0)), x * 0)


# Products and places


@case(VECTOR)
def matrix_product(m, x):
    np_ = m.numpy
    w = np_.asarray(WEIGHTS)
    hidden = np_.tanh(w @ x)
    return np_.einsum("ij,i,j->i", w, hidden, x) + np_.outer(x, hidden)[1]


@case(VECTOR)
def indexing(m, x):
    where = m.numpy.array([2, 0, 2, 9])
    read = x.at[where].get(mode="fill", fill_value=0.5)
    return [
        read * read,
        x[::-2] ** 2,
        x.at[where].get(mode="clip") * x[(x > 0).sum()],
        m.numpy.take(x, 1, mode="wrap") * x[1:],
    ]


@case(VECTOR)
def updates(m, x):
    where = m.numpy.array([2, 0, 2, 9])
    added = x.at[where].add(x[1] * m.numpy.arange(4.0), mode="drop")
    written = added.at[0].set(x[2] ** 2).at[1:].multiply(x[:2])
    return m.lax.dynamic_update_slice(written, (x[:1] * x[1:2]), (m.numpy.argmax(x),))


@case(VECTOR)
def sorting(m, x):
    return [m.numpy.sort(x * x) * OTHER, x[m.numpy.argsort(x)] ** 2, m.lax.top_k(x, 2)[0] * x[:2]]


@case(VECTOR)
def running(m, x):
    np_ = m.numpy
    return np_.cumsum(x * x) * np_.cumprod(x) + m.lax.cummax(x**2) + m.lax.cumsum(np_.sin(x), reverse=True)


@case(VECTOR)
def arrangement(m, x):
    np_ = m.numpy
    square = np_.stack([x, x * x, np_.roll(x, 1)])
    padded = np_.pad(square.T.reshape(9)[2:8].reshape(2, 3), 1)
    return np_.concatenate([padded.sum(0), np_.tile(x, 2) ** 2, np_.broadcast_to(x[:1], (2,)) * square[1:, 2]])


# Control flow


@case(VECTOR)
def choice(m, x):
    return m.lax.cond(x.sum() > 1, lambda v: m.numpy.sin(v) * x, lambda v: v**3, x * 2)


@case(VECTOR)
def switches(m, x):
    branches = [lambda v: v, lambda v: v * v, lambda v: m.numpy.exp(v) * x[0]]
    return m.lax.switch((x > 0).sum(), branches, x) + m.lax.switch(1, branches, x)


@case(VECTOR)
def scanned(m, x):
    def step(carry, row):
        n, state = carry
        state = m.numpy.sin(state) * row + x[0] * n
        return (n + 1, state), {"y": state * row, "n": n}

    (_, end), ys = m.lax.scan(step, (0, x[1]), x)
    return [end, ys]


@case(VECTOR)
def fori(m, x):
    return m.lax.fori_loop(0, 3, lambda i, c: m.numpy.sin(c) * (i + 1) + x, x * x)


@case(VECTOR, FORWARD_ONLY)
def while_loop(m, x):
    def body(c):
        return c[0] + 1, c[1] * 1.5 + x**2

    return m.lax.while_loop(lambda c: (c[0] < 6) & (c[1].sum() < 9), body, (0, m.numpy.sin(x)))[1]


@case(VECTOR)
def associative(m, x):
    def after(a, b):
        return b[0] * a[0], b[0] * a[1] + b[1]

    return m.lax.associative_scan(after, (m.numpy.sin(x), x))[1]


@case(VECTOR)
def mapped(m, x):
    return m.lax.map(lambda v: m.lax.cond(v > 0, lambda: v * x, lambda: m.numpy.exp(x) * v), x)


# Transformations inside the function


@case(VECTOR)
def nested_jit(m, x):
    @functools.partial(m.jit, static_argnums=1)
    def power(v, n):
        return power(v, n - 1) * v + x if n else v

    return power(x * 2, 3) + m.jit(lambda v, k: v * k)(x, k=x[::-1])


@case(VECTOR)
def inner_gradient(m, x):
    """The inner function closes over what the outer one is differentiated by."""
    slope = m.grad(lambda y: (m.numpy.sin(y) * x * y).sum())
    pushed = m.jvp(lambda y: y * y * x, (x,), (x[::-1],))[1]
    return slope(x * x) + slope(m.numpy.ones(3)) + pushed


@case(VECTOR)
def inner_batch(m, x):
    def of_one(v, w):
        return m.numpy.sin(v * w) * x + m.lax.psum(v * v, "i") - m.lax.axis_index("i") * v

    return m.vmap(of_one, in_axes=(0, None), axis_name="i")(x, x[0])


@case(VECTOR)
def own_forward_rule(m, x):
    @m.custom_jvp
    def f(a, b):
        return m.numpy.sin(a) * b

    f.defjvp(lambda p, t: (f(*p), m.numpy.cos(p[0]) * p[1] * t[0] + m.numpy.sin(p[0]) * t[1]))
    return f(x, x[0]) * x


@case(VECTOR, REVERSE_FIRST)
def own_backward_rule(m, x):
    @functools.partial(m.custom_vjp, nondiff_argnums=(0,))
    def f(function, a, b):
        return function(a) * b

    f.defvjp(
        lambda function, a, b: (function(a) * b, (a, b)),
        lambda function, kept, ct: (m.numpy.cos(kept[0]) * kept[1] * ct, function(kept[0]) * ct),
    )
    return f(m.numpy.sin, x, x[::-1]) * x


@case(VECTOR)
def checkpointed(m, x):
    def layer(v):
        return m.ad_checkpoint.checkpoint_name(m.numpy.sin(v), "kept") * x

    policy = m.checkpoint_policies.save_only_these_names("kept")
    inner = m.checkpoint(layer, policy=policy)
    return m.checkpoint(lambda v: inner(inner(v)) * v)(x)


@case(VECTOR, NOT_SMOOTH)
def stopped(m, x):
    return x * m.lax.stop_gradient(m.numpy.sin(x)) + m.numpy.floor(x) * x


@case(VECTOR, NOT_SMOOTH)
def narrowed(m, x):
    half = (x * x).astype("float32") * m.numpy.float32(1.5)
    return [half, half.astype(x.dtype) * x, (x > 0) * x]


# Arguments of other kinds


@case(np.array([0.7 + 0.2j, -0.4 - 0.9j, 1.3 + 0.5j]))
def complex_to_real(m, z):
    np_ = m.numpy
    return np_.abs(z) ** 2 + np_.real(z * z * (1 - 2j)) * np_.imag(z) + np_.angle(z) + np_.real(np_.exp(1j * z))


@case(np.array([0.7 + 0.2j, -0.4 - 0.9j]))
def complex_to_complex(m, z):
    return [z * z * (2 - 1j) + m.numpy.conj(z), m.numpy.sin(z) / (1 + z)]


@case({"n": np.array([2, 0, 1]), "x": VECTOR, "flag": np.array([True, False, True])})
def integers_beside_floats(m, p):
    n, x = p["n"], p["x"]
    return {"y": x[n] * n * x + m.numpy.where(p["flag"], x * x, n), "n": n + 1, "sum": (n.astype(x.dtype) * x).sum()}


@case({"pair": Pair(VECTOR, np.float64(0.6)), "rest": [(OTHER[:2], None), {}]})
def pytrees(m, p):
    a, b, (c, nothing) = p["pair"].first, p["pair"].second, p["rest"][0]
    assert nothing is None
    return {"r": Pair(a * b, (c * b**2, None)), "s": [m.tree.map(lambda v: v * a[0], p["rest"])]}

"""Calls outside `jit` beyond single functions: transformations, loops, empty arrays, many leaves, steps of a sampler.

Each makes a function without arguments for a library, which `outside` measures as it measures functions.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

Make = Callable[[Any, int], Callable[[], Any]]
CALLS: dict[str, Make] = {}


class _Names:
    """What calls are made of: a library's modules, and arrays of a size."""

    def __init__(self, library: Any, size: int) -> None:
        self.top = importlib.import_module(library.name)
        self.np, self.lax, self.nn, self.random = (library[name] for name in ("numpy", "lax", "nn", "random"))
        rng = np.random.default_rng(0)
        self.x, self.y = (self.np.asarray(rng.uniform(0.1, 0.9, size).astype(np.float32)) for _ in range(2))
        self.w = self.np.asarray(rng.uniform(-0.1, 0.1, (32, 32)).astype(np.float32))
        self.rows = self.np.asarray(rng.uniform(-0.1, 0.1, (64, 32)).astype(np.float32))
        self.empty = self.np.zeros((0,))
        self.leaves = [self.np.asarray(rng.uniform(size=4).astype(np.float32)) for _ in range(300)]

    def loss(self, x: Any) -> Any:
        return self.np.sum(self.np.sin(x) * self.np.exp(-x) + self.np.log(x))

    def density(self, q: Any) -> Any:
        return -0.5 * self.np.sum(q * q) - self.np.sum(self.np.log1p(self.np.exp(self.w @ q)))


def _call(name: str) -> Callable[[Callable[[_Names], Any]], Callable[[_Names], Any]]:
    """Register a function of the names: what it returns is called, if it can be, and else it is called itself."""

    def register(function: Callable[[_Names], Any]) -> Callable[[_Names], Any]:
        def make(library: Any, size: int) -> Callable[[], Any]:
            names = _Names(library, size)
            made = function(names)
            return made if callable(made) else lambda: function(names)

        CALLS[name] = make
        return function

    return register


_SIMPLE: dict[str, Callable[[_Names], Any]] = {
    "grad": lambda n: n.top.grad(n.loss)(n.x),
    "jvp": lambda n: n.top.jvp(n.loss, (n.x,), (n.y,)),
    "vjp": lambda n: n.top.vjp(n.loss, n.x)[1](n.np.float32(1.0)),
    "linearize": lambda n: n.top.linearize(n.loss, n.x)[1](n.y),
    "hessian": lambda n: n.top.hessian(lambda v: n.np.sum(n.np.tanh(n.w @ v)))(n.rows[0]),
    "jacrev": lambda n: n.top.jacrev(lambda v: n.np.tanh(n.w @ v))(n.rows[0]),
    "vmap": lambda n: n.top.vmap(lambda r: n.np.sum(n.np.tanh(r) * r))(n.rows),
    "vmap of grad": lambda n: n.top.vmap(n.top.grad(lambda r: n.np.sum(n.np.tanh(n.w @ r))))(n.rows),
    "fori_loop of 5 rounds": lambda n: n.lax.fori_loop(0, 5, lambda i, c: c * 0.9 + i, n.x),
    "fori_loop of 1000 rounds": lambda n: n.lax.fori_loop(0, 1000, lambda i, c: n.np.sin(c) + 1, n.x),
    "while_loop": lambda n: n.lax.while_loop(lambda c: c < 20, lambda c: c + 1, 0),
    "scan": lambda n: n.lax.scan(lambda c, v: (c + v, c * v), 0.0, n.x),
    "gradient of scan": lambda n: n.top.grad(
        lambda w: n.np.sum(n.lax.scan(lambda c, v: (n.np.tanh(c @ w + v), None), n.rows[0], n.rows[:8])[0])
    )(n.w),
    "cond": lambda n: n.lax.cond(n.x[0] > 0.5, n.np.sin, n.np.cos, n.x),
    "empty: sin": lambda n: n.np.sin(n.empty),
    "empty: sum": lambda n: n.np.sum(n.empty),
    "empty: concatenate": lambda n: n.np.concatenate([n.empty, n.x]),
    "empty: normal": lambda n: n.random.normal(n.random.key(0), (0,)),
    "300 leaves: map": lambda n: n.top.tree.map(lambda v, u: v * 0.9 + u, n.leaves, n.leaves),
    "300 leaves: stack": lambda n: n.np.stack(n.leaves),
    "300 leaves: concatenate": lambda n: n.np.concatenate(n.leaves),
    "300 leaves: gradient": lambda n: n.top.grad(lambda leaves: sum(n.np.sum(v * v) for v in leaves))(n.leaves),
    "sampler: draws": lambda n: _draws(n, n.random.key(0)),
    "sampler: U-turn": lambda n: n.np.dot(n.rows[0] - n.rows[1], n.rows[2]) > 0,
}
for _name, _function in _SIMPLE.items():
    _call(_name)(_function)


def _draws(n: _Names, key: Any) -> list[Any]:
    """What a step of a sampler draws: a momentum, a level, and a choice."""
    first, second, third = (n.random.split(key, 3)[i] for i in range(3))
    p, u = n.random.normal(first, (32,)), n.random.uniform(second)
    return [p, n.np.log(u) < 0.5 * n.np.sum(p * p), n.random.bernoulli(third)]


@_call("gradient of a jitted function")
def _jitted_gradient(n: _Names) -> Any:
    gradient = n.top.grad(n.top.jit(n.loss))
    return lambda: gradient(n.x)


@_call("vmap of a jitted function")
def _jitted_batch(n: _Names) -> Any:
    loss = n.top.jit(n.loss)
    return lambda: n.top.vmap(loss)(n.rows)


@_call("empty: jitted")
def _jitted_empty(n: _Names) -> Any:
    f = n.top.jit(lambda e: n.np.sin(e) * 2)
    return lambda: f(n.empty)


@_call("300 leaves: jitted")
def _jitted_leaves(n: _Names) -> Any:
    f = n.top.jit(lambda leaves: [v * 0.9 + 1 for v in leaves])
    return lambda: f(n.leaves)


# Options that a block overrides, and what a call may be in it.
_BLOCKS: dict[str, Callable[[Any], Any]] = {
    "enable_x64": lambda top: top.enable_x64(True),
    "default_matmul_precision": lambda top: top.default_matmul_precision("highest"),
    "default_device": lambda top: top.default_device(top.devices()[0]),
    "numpy_rank_promotion": lambda top: top.numpy_rank_promotion("warn"),
    "numpy_dtype_promotion": lambda top: top.numpy_dtype_promotion("strict"),
    "named_scope": lambda top: top.named_scope("step"),
    "set_mesh": lambda top: top.set_mesh(top.make_mesh((1,), ("x",))),
}


def _in_block(enter: Callable[[Any], Any], inside: bool) -> Callable[[_Names], Any]:
    def make(n: _Names) -> Any:
        function = n.top.jit(n.loss) if inside else lambda x: n.np.hypot(x, x)

        def call() -> Any:
            with enter(n.top):
                return [function(n.x) for _ in range(5)]

        return call

    return make


for _name, _enter in _BLOCKS.items():
    _call(f"{_name}: five calls of a jitted function")(_in_block(_enter, True))
    _call(f"{_name}: five calls of hypot")(_in_block(_enter, False))


@_call("300 leaves: compiled")
def _compiled_leaves(n: _Names) -> Any:
    f = n.top.jit(lambda leaves: [v * 0.9 + 1 for v in leaves]).lower(n.leaves).compile()
    return lambda: f(n.leaves)


@_call("300 leaves: donated")
def _donated_leaves(n: _Names) -> Any:
    f = n.top.jit(lambda leaves: [v * 0.9 + 1 for v in leaves], donate_argnums=0)
    leaves = [v + 0 for v in n.leaves]

    def call() -> Any:
        nonlocal leaves
        leaves = f(leaves)
        return leaves

    return call


@_call("sampler: leapfrog")
def _leapfrog(n: _Names) -> Any:
    slope = n.top.jit(n.top.value_and_grad(n.density))

    def step() -> list[Any]:
        q, p = n.rows[0], n.rows[1]
        value, g = slope(q)
        for _ in range(3):
            p = p + 0.05 * g
            q = q + 0.1 * p
            value, g = slope(q)
            p = p + 0.05 * g
        return [q, p, value - 0.5 * n.np.sum(p * p)]

    return step

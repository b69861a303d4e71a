"""Control flow under grad, jvp and vmap, in one another to any depth: against finite differences and JAX."""

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import lax
from stagec.api.derivatives import grad
from stagec.compiler.build import all_equations
from stagec.core.graph import trace_flat
from stagec.primitives.operand import aval_of
from stagec.transforms.batch import batch_front
from stagec.transforms.jvp import jvp_flat

_rng = np.random.default_rng(0)
X = _rng.normal(size=(5, 3)).astype(np.float32)
W = (0.5 * _rng.normal(size=(3, 3))).astype(np.float32)


# Programs of one array, to a scalar. `L` is `lax`, `N` NumPy's functions: stagec's or JAX's.


def choice(L, N, x):
    return L.cond(x.sum() > 0, lambda y: N.sin(y).sum(), lambda y: (y * N.exp(y)).sum(), x)


def choice_of_parts(L, N, x):
    """Results that depend on other operands in each branch, and on none."""
    a, b = L.cond(x[0, 0] > 0, lambda y: (y[0] * y[1], N.ones(3)), lambda y: (N.zeros(3), y[2] ** 3), x * 2)
    return (a * 3 + b * b).sum()


def switch(L, N, x):
    def branches(y):
        return [lambda: N.tanh(y).sum(), lambda: (y**3).sum(), lambda: N.ones(3).sum(), lambda: (y[0] * y[1]).sum()]

    return sum(L.switch(i, branches(x)) for i in range(4))


def recurrent(L, N, x):
    def step(c, row):
        h = N.tanh(N.asarray(W) @ c + row)
        return h, N.sin(h).sum()

    end, ys = L.scan(step, x[0], x)
    return end.sum() + (ys**2).sum()


def reversed_and_unrolled(L, N, x):
    def step(c, row):
        return c * row, c + row

    end, ys = L.scan(step, N.ones(3), x, reverse=True, unroll=2)
    return end.sum() + (ys * ys).sum()


def closed_over(L, N, x):
    w = N.sin(x[:3])

    def step(c, _):
        return N.tanh(w @ c) + x[0], None

    return (L.scan(step, x[1], None, length=4)[0] ** 2).sum()


def carries_take_turns(L, N, x):
    """The tangent reaches one carry after the other, and the counter none."""

    def step(c, row):
        n, a, b, d = c
        return (n + 1, b, d, N.sin(d) * row + n), a

    (_, a, b, d), ys = L.scan(step, (0, N.zeros(3), N.ones(3), N.ones(3)), x)
    return (a * b + d).sum() + (ys * ys).sum()


def no_steps(L, N, x):
    end, ys = L.scan(lambda c, row: (c * row, c), x[0], x[:0])
    return (end**2).sum() + ys.sum()


def fori(L, N, x):
    return L.fori_loop(1, 5, lambda i, c: N.sin(c) * i + x[0], x[1]).sum()


def rows(L, N, x):
    return (L.map(lambda row: N.exp(row) * row.sum(), x) ** 2).sum()


def associative(L, N, x):
    def after(a, b):
        return b[0] * a[0], b[0] * a[1] + b[1]

    _, h = L.associative_scan(after, (N.sin(x), x))
    return (h**2).sum()


def scan_in_scan(L, N, x):
    def outer(c, row):
        def inner(d, v):
            return N.sin(d) * v + c.sum(), d * v

        end, ys = L.scan(inner, row[0], row)
        return c * 0.5 + end, ys

    end, ys = L.scan(outer, x[0], x)
    return end.sum() + (ys**2).sum()


def choice_in_scan(L, N, x):
    def step(c, row):
        c = L.cond(row[0] > 0, lambda: N.sin(c) * row, lambda: c + row**2)
        return c, L.cond(c.sum() > 1, lambda v: v * 2, lambda v: v * v, c)

    end, ys = L.scan(step, x[0], x)
    return end.sum() + (ys**2).sum()


def scan_in_choice(L, N, x):
    def one(y):
        return L.scan(lambda c, r: (N.sin(c + r), c), y[0], y)[1].sum()

    return L.cond(x[0, 0] > -10, one, lambda y: (y**2).sum(), x)


def repeated_choice_of_loops(L, N, x):
    def body(i, c):
        return L.cond(i % 2 == 0, lambda v: L.fori_loop(0, 2, lambda j, u: N.sin(u) + x[0], v), lambda v: v * v, c)

    return L.fori_loop(0, 4, body, x[1]).sum()


PROGRAMS = [
    choice, choice_of_parts, switch, recurrent, reversed_and_unrolled, closed_over, carries_take_turns, no_steps,
    fori, rows, associative, scan_in_scan, choice_in_scan, scan_in_choice, repeated_choice_of_loops,
]  # fmt: skip


def counted(L, N, x):
    """A loop that ends when its value says so."""
    return L.while_loop(lambda c: (c[0] < 6) & (c[1].sum() < 20), lambda c: (c[0] + 1, c[1] * 1.5 + x[0] ** 2), (0, N.sin(x[1])))[1].sum()  # noqa: E501


def loop_in_scan(L, N, x):
    def step(c, row):
        return L.while_loop(lambda v: (v**2).sum() < 9, lambda v: v * 2 + N.cos(row), c), None

    return L.scan(step, x[0] * 0.1, x)[0].sum()


LOOPS = [counted, loop_in_scan]


def ours(program):
    return lambda x: program(lax, snp, x)


def theirs(program):
    jax = pytest.importorskip("jax")
    return lambda x: program(jax.lax, jax.numpy, x)


def leaves(result):
    return [v if hasattr(v, "aval") else snp.asarray(v) for v in stagec.tree.leaves(result)]


def jvp(function, x, t):
    """The value and the directional derivative of a function to one array."""
    (out,), (dot,) = jvp_flat(lambda v: leaves(function(v)), [x], [t])
    return out, dot


def vmap(function):
    def mapped(*xs):
        (out,) = batch_front(lambda *vs: leaves(function(*vs)), xs, [0] * len(xs), aval_of(xs[0]).shape[0])
        return out

    return mapped


def second(grad, function):
    """A derivative of the gradient."""
    return grad(lambda x: (grad(function)(x) ** 2).sum())


def close(a, b, tolerance=2e-4):
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=tolerance, atol=tolerance)


def directional_difference(function, x, t, step=1e-5):
    plus, minus = function(x + step * t), function(x - step * t)
    return (np.asarray(plus) - np.asarray(minus)) / (2 * step)


@pytest.mark.parametrize("program", PROGRAMS + LOOPS)
def test_forward_mode_matches_finite_differences_to_second_order(program):
    rng = np.random.default_rng(1)
    x, t, u = rng.normal(size=(3, 5, 3))
    with stagec.enable_x64():
        function = ours(program)
        _, dot = jvp(function, x, t)
        close(dot, directional_difference(function, x, t), 1e-5)

        def slope(v):
            return jvp(function, v, t)[1]

        close(jvp(slope, x, u)[1], directional_difference(slope, x, u), 1e-4)


@pytest.mark.parametrize("program", PROGRAMS)
def test_reverse_mode_agrees_with_forward_mode_to_second_order(program):
    rng = np.random.default_rng(2)
    x, t = rng.normal(size=(2, 5, 3))
    with stagec.enable_x64():
        function = ours(program)
        close((np.asarray(grad(function)(x)) * t).sum(), jvp(function, x, t)[1], 1e-9)

        def size(v):
            return (grad(function)(v) ** 2).sum()

        close((np.asarray(grad(size)(x)) * t).sum(), jvp(size, x, t)[1], 1e-9)


@pytest.mark.parametrize("program", PROGRAMS)
def test_gradients_are_those_of_jax_to_second_order(program):
    jax = pytest.importorskip("jax")
    close(grad(ours(program))(X), jax.grad(theirs(program))(X))
    close(second(grad, ours(program))(X), second(jax.grad, theirs(program))(X), 2e-3)


@pytest.mark.parametrize("program", PROGRAMS + LOOPS)
def test_a_batch_is_a_loop_over_its_elements(program):
    batch = np.random.default_rng(3).normal(size=(4, 5, 3)).astype(np.float32)
    close(vmap(ours(program))(batch), [ours(program)(x) for x in batch])


@pytest.mark.parametrize("program", PROGRAMS)
def test_transformations_compose_in_every_order(program):
    batch = np.random.default_rng(4).normal(size=(3, 5, 3)).astype(np.float32)
    function = ours(program)
    expected = np.stack([np.asarray(grad(function)(x)) for x in batch])
    close(vmap(grad(function))(batch), expected)
    close(grad(lambda b: vmap(function)(b).sum())(batch), expected)
    close(grad(lambda b: vmap(vmap(function))(b).sum())(batch[None]), expected[None])
    curvature = np.stack([np.asarray(second(grad, function)(x)) for x in batch])
    close(vmap(second(grad, function))(batch), curvature, 2e-3)


@pytest.mark.parametrize("part", range(3))
def test_compiled_derivatives_are_the_eager_ones(part):
    chosen = (PROGRAMS + LOOPS)[part::3]

    def everything(x, batch):
        found = []
        for program in chosen:
            function = stagec.jit(ours(program))
            found.append(jvp(function, x, snp.ones_like(x))[1])
            found.append(vmap(function)(batch))
            if program not in LOOPS:
                found += [grad(function)(x), vmap(grad(function))(batch), second(grad, function)(x)]
        return found

    batch = np.random.default_rng(5).normal(size=(2, 5, 3)).astype(np.float32)
    for a, b in zip(stagec.jit(everything)(X, batch), everything(snp.asarray(X), snp.asarray(batch))):
        close(a, b, 2e-3)

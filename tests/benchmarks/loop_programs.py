"""Loop programs of all kinds over time: recurrences that no vectorized NumPy expression replaces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Names(NamedTuple):
    """What a program may use of a library: the names that JAX has."""

    np: Any
    lax: Any
    grad: Any
    vmap: Any
    random: Any


class Program(NamedTuple):
    """One program.

    Attributes:
      name: how the table calls it.
      make: `names -> function`.
      operands: `tiny -> arrays`.
    """

    name: str
    make: Callable[[Names], Callable[..., Any]]
    operands: Callable[[bool], tuple[Any, ...]]


PROGRAMS: list[Program] = []


def program(name: str, operands: Callable[[bool], tuple[Any, ...]]) -> Callable[[Any], Any]:
    """Add the program that a function makes."""

    def add(make: Callable[[Names], Callable[..., Any]]) -> Any:
        PROGRAMS.append(Program(name, make, operands))
        return make

    return add


def numbers(*shape: int, dtype: Any = np.float64) -> Any:
    """The same numbers in every process."""
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(dtype)


def matrix(n: int) -> Callable[[bool], tuple[Any, ...]]:
    """A symmetric positive definite matrix."""

    def operands(tiny: bool) -> tuple[Any, ...]:
        size = 6 if tiny else n
        a = numbers(size, size)
        return (a @ a.T + size * np.eye(size),)

    return operands


def arrays(*shapes: tuple[int, ...], dtype: Any = np.float64) -> Callable[[bool], tuple[Any, ...]]:
    """Arrays of random numbers; of at most 6 along each axis if they are to be tiny."""
    return lambda tiny: tuple(numbers(*(min(n, 6) if tiny else n for n in s), dtype=dtype) for s in shapes)


# Dense factorizations and solvers.


@program("Cholesky 60, by columns", matrix(60))
def cholesky(x: Names) -> Any:
    def factor(a: Any) -> Any:
        n = a.shape[0]
        rows = x.np.arange(n)

        def column(j: Any, a: Any) -> Any:
            c = x.np.where(rows >= j, a[:, j] / x.np.sqrt(a[j, j]), 0.0)
            a = a.at[:, j].set(c)
            return a - x.np.where(rows[None, :] > j, x.np.outer(c, c), 0.0)

        return x.lax.fori_loop(0, n, column, a)

    return factor


@program("Cholesky 40, by elements", matrix(40))
def cholesky_elements(x: Names) -> Any:
    def factor(a: Any) -> Any:
        n = a.shape[0]

        def row(i: Any, low: Any) -> Any:
            def column(j: Any, low: Any) -> Any:
                s = x.lax.fori_loop(0, j, lambda k, s: s + low[i, k] * low[j, k], 0.0)
                return low.at[i, j].set((a[i, j] - s) / low[j, j])

            low = x.lax.fori_loop(0, i, column, low)
            s = x.lax.fori_loop(0, i, lambda k, s: s + low[i, k] * low[i, k], 0.0)
            return low.at[i, i].set(x.np.sqrt(a[i, i] - s))

        return x.lax.fori_loop(0, n, row, x.np.zeros_like(a))

    return factor


@program("LU 60", matrix(60))
def lu(x: Names) -> Any:
    def factor(a: Any) -> Any:
        n = a.shape[0]
        rows = x.np.arange(n)

        def step(k: Any, a: Any) -> Any:
            m = x.np.where(rows > k, a[:, k] / a[k, k], 0.0)
            a = a - m[:, None] * a[k][None, :]
            return a.at[:, k].add(m)

        return x.lax.fori_loop(0, n, step, a)

    return factor


@program("triangular solve 120", lambda tiny: (*matrix(120)(tiny), numbers(6 if tiny else 120)))
def triangular(x: Names) -> Any:
    def solve(a: Any, b: Any) -> Any:
        n = b.shape[0]
        return x.lax.fori_loop(0, n, lambda i, y: y.at[i].set((b[i] - x.np.dot(a[i], y)) / a[i, i]), x.np.zeros_like(b))

    return solve


@program("Gram-Schmidt 60x40", arrays((60, 40)))
def gram_schmidt(x: Names) -> Any:
    def orthogonal(a: Any) -> Any:
        columns = x.np.arange(a.shape[1])

        def step(k: Any, q: Any) -> Any:
            v = q[:, k] / x.np.sqrt(x.np.sum(q[:, k] ** 2))
            q = q.at[:, k].set(v)
            r = x.np.where(columns > k, v @ q, 0.0)
            return q - x.np.outer(v, r)

        return x.lax.fori_loop(0, a.shape[1], step, a)

    return orthogonal


@program("Gauss-Seidel 100x100, 5 sweeps", arrays((100, 100)))
def gauss_seidel(x: Names) -> Any:
    def sweep(a: Any) -> Any:
        n, m = a.shape

        def row(i: Any, a: Any) -> Any:
            def element(j: Any, a: Any) -> Any:
                return a.at[i, j].set((a[i - 1, j] + a[i, j - 1] + a[i, j] + a[i, j + 1] + a[i + 1, j]) * 0.2)

            return x.lax.fori_loop(1, m - 1, element, a)

        return x.lax.fori_loop(0, 5, lambda _, a: x.lax.fori_loop(1, n - 1, row, a), a)

    return sweep


@program("conjugate gradients 100, 50 steps", lambda tiny: (*matrix(100)(tiny), numbers(6 if tiny else 100)))
def conjugate_gradients(x: Names) -> Any:
    def solve(a: Any, b: Any) -> Any:
        def step(_: Any, state: Any) -> Any:
            y, r, p, rr = state
            ap = a @ p
            alpha = rr / (p @ ap + 1e-30)
            y, r = y + alpha * p, r - alpha * ap
            new = r @ r
            return y, r, r + new / (rr + 1e-30) * p, new

        return x.lax.fori_loop(0, 50, step, (x.np.zeros_like(b), b, b, b @ b))[0]

    return solve


@program("power iteration 80, 100 steps", matrix(80))
def power_iteration(x: Names) -> Any:
    def largest(a: Any) -> Any:
        def step(_: Any, v: Any) -> Any:
            w = a @ v
            return w / x.np.sqrt(w @ w)

        return x.lax.fori_loop(0, 100, step, x.np.ones(a.shape[0]))

    return largest


# Stencils.


@program("heat 1-D, 4000 points, 200 steps", arrays((4000,)))
def heat(x: Names) -> Any:
    def run(u: Any) -> Any:
        return x.lax.fori_loop(0, 200, lambda _, u: u.at[1:-1].set(u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])), u)

    return run


@program("Jacobi 2-D, 150x150, 50 steps", arrays((150, 150)))
def jacobi(x: Names) -> Any:
    def run(u: Any) -> Any:
        def step(_: Any, u: Any) -> Any:
            inside = 0.2 * (u[1:-1, 1:-1] + u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
            return u.at[1:-1, 1:-1].set(inside)

        return x.lax.fori_loop(0, 50, step, u)

    return run


@program("heat 3-D, 24 cubed, 30 steps", arrays((24, 24, 24)))
def heat3(x: Names) -> Any:
    def run(u: Any) -> Any:
        def step(_: Any, u: Any) -> Any:
            c = u[1:-1, 1:-1, 1:-1]
            new = c + 0.1 * (
                u[2:, 1:-1, 1:-1]
                + u[:-2, 1:-1, 1:-1]
                + u[1:-1, 2:, 1:-1]
                + u[1:-1, :-2, 1:-1]
                + u[1:-1, 1:-1, 2:]
                + u[1:-1, 1:-1, :-2]
                - 6 * c
            )
            return u.at[1:-1, 1:-1, 1:-1].set(new)

        return x.lax.fori_loop(0, 30, step, u)

    return run


@program("wave 2-D, periodic, 100x100, 50 steps", arrays((100, 100), dtype=np.float32))
def wave(x: Names) -> Any:
    def run(u: Any) -> Any:
        def step(_: Any, state: Any) -> Any:
            u, v = state
            around = x.np.roll(u, 1, 0) + x.np.roll(u, -1, 0) + x.np.roll(u, 1, 1) + x.np.roll(u, -1, 1)
            v = v + 0.1 * (around - 4 * u)
            return u + 0.1 * v, v

        return x.lax.fori_loop(0, 50, step, (u, u * 0))[0]

    return run


@program("alternating directions 60, 10 steps", arrays((60, 60)))
def alternating(x: Names) -> Any:
    def run(u: Any) -> Any:
        n = u.shape[0]

        def rows(u: Any) -> Any:
            def forward(j: Any, s: Any) -> Any:
                p, q = s
                d = 1.0 / (2.2 - p[:, j - 1])
                return p.at[:, j].set(d), q.at[:, j].set((u[:, j] + q[:, j - 1]) * d)

            zero = x.np.zeros_like(u)
            p, q = x.lax.fori_loop(1, n - 1, forward, (zero, zero.at[:, 0].set(1.0)))

            def back(k: Any, v: Any) -> Any:
                j = n - 2 - k
                return v.at[:, j].set(p[:, j] * v[:, j + 1] + q[:, j])

            return x.lax.fori_loop(0, n - 2, back, x.np.ones_like(u))

        return x.lax.fori_loop(0, 10, lambda _, u: rows(rows(u).T).T, u)

    return run


def _cells(tiny: bool) -> tuple[Any, ...]:
    n = 6 if tiny else 128
    return ((numbers(n, n) > 0).astype(np.int32),)


@program("game of life 128, 50 steps", _cells)
def life(x: Names) -> Any:
    def run(u: Any) -> Any:
        def step(_: Any, u: Any) -> Any:
            rows = u + x.np.roll(u, 1, 0) + x.np.roll(u, -1, 0)
            near = rows + x.np.roll(rows, 1, 1) + x.np.roll(rows, -1, 1) - u
            return ((near == 3) | ((near == 2) & (u == 1))).astype(u.dtype)

        return x.lax.fori_loop(0, 50, step, u)

    return run


# Filters and recurrences.


@program("recursive filter, 20000 samples", arrays((20000,)))
def recursive(x: Names) -> Any:
    def run(u: Any) -> Any:
        def step(state: Any, sample: Any) -> Any:
            a, b = state
            y = 0.2 * sample + 1.2 * a - 0.4 * b
            return (y, a), y

        return x.lax.scan(step, (0.0, 0.0), u)[1]

    return run


@program("recursive filter of 64 channels, 500 samples", arrays((500, 64), dtype=np.float32))
def channels(x: Names) -> Any:
    def run(u: Any) -> Any:
        return x.lax.scan(lambda h, s: (h * 0.9 + s * 0.1,) * 2, u[0] * 0, u)[1]

    return run


@program("Kalman filter, 4 states, 500 samples", arrays((500, 2)))
def kalman(x: Names) -> Any:
    def run(z: Any) -> Any:
        f = x.np.array([[1, 0, 0.1, 0], [0, 1, 0, 0.1], [0, 0, 1, 0], [0, 0, 0, 1.0]])
        h = x.np.array([[1.0, 0, 0, 0], [0, 1.0, 0, 0]])

        def step(state: Any, z: Any) -> Any:
            m, p = state
            m, p = f @ m, f @ p @ f.T + 0.01 * x.np.eye(4)
            s = h @ p @ h.T + 0.1 * x.np.eye(2)
            det = s[0, 0] * s[1, 1] - s[0, 1] * s[1, 0]
            inverse = x.np.stack([x.np.stack([s[1, 1], -s[0, 1]]), x.np.stack([-s[1, 0], s[0, 0]])]) / det
            gain = p @ h.T @ inverse
            m = m + gain @ (z - h @ m)
            return (m, p - gain @ h @ p), m

        return x.lax.scan(step, (x.np.zeros(4), x.np.eye(4)), z)[1]

    return run


@program("exponential moving averages, 5000", arrays((5000,)))
def averages(x: Names) -> Any:
    def run(u: Any) -> Any:
        def step(i: Any, s: Any) -> Any:
            y, out = s
            y = y * 0.99 + u[i] * 0.01
            return y, out.at[i].set(y)

        return x.lax.fori_loop(0, u.shape[0], step, (0.0, x.np.zeros_like(u)))[1]

    return run


# Dynamic programming and discrete algorithms.


def _words(tiny: bool) -> tuple[Any, ...]:
    n = 6 if tiny else 200
    draw = np.random.default_rng(1)
    return draw.integers(0, 4, n).astype(np.int32), draw.integers(0, 4, n).astype(np.int32)


@program("edit distance 200x200", _words)
def edit_distance(x: Names) -> Any:
    def run(a: Any, b: Any) -> Any:
        n, m = a.shape[0], b.shape[0]
        d = x.np.zeros((n + 1, m + 1), a.dtype)
        d = d.at[:, 0].set(x.np.arange(n + 1, dtype=a.dtype)).at[0].set(x.np.arange(m + 1, dtype=a.dtype))

        def row(i: Any, d: Any) -> Any:
            def cell(j: Any, d: Any) -> Any:
                change = d[i - 1, j - 1] + (a[i - 1] != b[j - 1]).astype(a.dtype)
                return d.at[i, j].set(x.np.minimum(x.np.minimum(d[i - 1, j], d[i, j - 1]) + 1, change))

            return x.lax.fori_loop(1, m + 1, cell, d)

        return x.lax.fori_loop(1, n + 1, row, d)

    return run


@program("shortest paths 100", lambda tiny: (np.abs(numbers(*((6, 6) if tiny else (100, 100)))) * 10,))
def shortest_paths(x: Names) -> Any:
    def run(d: Any) -> Any:
        return x.lax.fori_loop(0, d.shape[0], lambda k, d: x.np.minimum(d, d[:, k][:, None] + d[k][None, :]), d)

    return run


@program("knapsack, 100 items, 2000", lambda tiny: (np.arange(1, 7 if tiny else 101, dtype=np.int32) % 37 + 3,))
def knapsack(x: Names) -> Any:
    def run(w: Any) -> Any:
        room = x.np.arange(2000)

        def item(i: Any, best: Any) -> Any:
            taken = best[x.np.maximum(room - w[i], 0)] + (w[i] * 7) % 11
            return x.np.where(room >= w[i], x.np.maximum(best, taken), best)

        return x.lax.fori_loop(0, w.shape[0], item, x.np.zeros(2000, w.dtype))

    return run


@program("bubble sort 200", arrays((200,)))
def bubble(x: Names) -> Any:
    def run(u: Any) -> Any:
        n = u.shape[0]

        def one(j: Any, u: Any) -> Any:
            a, b = u[j], u[j + 1]
            return u.at[j].set(x.np.minimum(a, b)).at[j + 1].set(x.np.maximum(a, b))

        return x.lax.fori_loop(0, n - 1, lambda i, u: x.lax.fori_loop(0, n - 1 - i, one, u), u)

    return run


def _table(tiny: bool) -> tuple[Any, ...]:
    return np.sort(numbers(6 if tiny else 10000)), numbers(6 if tiny else 1000)


@program("binary search of 1000 keys", _table)
def binary_search(x: Names) -> Any:
    def run(table: Any, keys: Any) -> Any:
        def step(_: Any, s: Any) -> Any:
            low, high = s
            middle = (low + high) // 2
            right = table[middle] < keys
            return x.np.where(right, middle + 1, low), x.np.where(right, high, middle)

        zero = x.np.zeros(keys.shape, np.int32)
        return x.lax.fori_loop(0, 14, step, (zero, zero + (table.shape[0] - 1)))[0]

    return run


@program("sieve of 20000", lambda tiny: (np.int32(100 if tiny else 20000),))
def sieve(x: Names) -> Any:
    def run(limit: Any) -> Any:
        size = 20000
        flags = x.np.ones(size, bool)

        def outer(i: Any, flags: Any) -> Any:
            def strike(s: Any) -> Any:
                j, flags = s
                return j + i, flags.at[j].set(False)

            return x.lax.while_loop(lambda s: s[0] < limit, strike, (i * i, flags))[1]

        return x.lax.fori_loop(2, 142, outer, flags)

    return run


# Differential equations and particles.


@program("n-body 32, 50 steps", lambda tiny: (numbers(6 if tiny else 32, 3), numbers(6 if tiny else 32, 3) * 0.1))
def n_body(x: Names) -> Any:
    def run(position: Any, velocity: Any) -> Any:
        def step(_: Any, s: Any) -> Any:
            p, v = s
            d = p[None, :, :] - p[:, None, :]
            r = x.np.sum(d * d, -1) + 0.01
            a = x.np.sum(d / (r * x.np.sqrt(r))[:, :, None], 1)
            v = v + 0.001 * a
            return p + 0.001 * v, v

        return x.lax.fori_loop(0, 50, step, (position, velocity))[0]

    return run


@program("Lorenz, Runge-Kutta 4, 2000 steps", arrays((3,)))
def lorenz(x: Names) -> Any:
    def run(start: Any) -> Any:
        def slope(y: Any) -> Any:
            return x.np.stack([10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]])

        def step(y: Any, _: Any) -> Any:
            a = slope(y)
            b = slope(y + 0.005 * a)
            c = slope(y + 0.005 * b)
            d = slope(y + 0.01 * c)
            y = y + 0.01 / 6 * (a + 2 * b + 2 * c + d)
            return y, y

        return x.lax.scan(step, start * 0.1 + 1, None, length=2000)[1]

    return run


@program("pendulum, adaptive steps", arrays((2,)))
def pendulum(x: Names) -> Any:
    def run(start: Any) -> Any:
        def slope(a: Any, w: Any) -> Any:
            return w, -x.np.sin(a) - 0.1 * w

        def step(s: Any) -> Any:
            t, h, a, w, count = s
            k1, l1 = slope(a, w)
            k2, l2 = slope(a + h * k1, w + h * l1)
            a2, w2 = a + h / 2 * (k1 + k2), w + h / 2 * (l1 + l2)
            error = x.np.abs(h / 2 * (k2 - k1)) + x.np.abs(h / 2 * (l2 - l1)) + 1e-12
            ok = error < 1e-5
            h2 = h * x.np.clip(0.9 * x.np.sqrt(1e-5 / error), 0.2, 2.0)
            return (
                x.np.where(ok, t + h, t),
                h2,
                x.np.where(ok, a2, a),
                x.np.where(ok, w2, w),
                count + 1,
            )

        first = (0.0, 0.01, start[0] * 0 + 1.0, start[1] * 0, 0)
        return x.lax.while_loop(lambda s: (s[0] < 20.0) & (s[4] < 20000), step, first)[2]

    return run


@program("oscillators, batch of 256, 200 steps", arrays((256, 2), dtype=np.float32))
def oscillators(x: Names) -> Any:
    def one(y: Any) -> Any:
        def step(_: Any, y: Any) -> Any:
            p, v = y[0], y[1]
            v = v - 0.05 * p
            return x.np.stack([p + 0.05 * v, v])

        return x.lax.fori_loop(0, 200, step, y)

    return x.vmap(one)


# Optimization, learning, sampling.


@program("RNN of 64, 200 steps", arrays((200, 64), (64, 64), dtype=np.float32))
def rnn(x: Names) -> Any:
    def run(inputs: Any, w: Any) -> Any:
        def step(h: Any, u: Any) -> Any:
            h = x.np.tanh(h @ (w * 0.1) + u)
            return h, h

        return x.lax.scan(step, inputs[0] * 0, inputs)[1]

    return run


@program("RNN of 64, gradient, 100 steps", arrays((100, 64), (64, 64), dtype=np.float32))
def rnn_gradient(x: Names) -> Any:
    def loss(w: Any, inputs: Any) -> Any:
        def step(h: Any, u: Any) -> Any:
            h = x.np.tanh(h @ (w * 0.1) + u)
            return h, x.np.sum(h * h)

        return x.np.sum(x.lax.scan(step, inputs[0] * 0, inputs)[1])

    return lambda inputs, w: x.grad(loss)(w, inputs)


def _lstm_operands(tiny: bool) -> tuple[Any, ...]:
    n = 6 if tiny else 32
    return numbers(6 if tiny else 100, n, dtype=np.float32), numbers(2 * n, 4 * n, dtype=np.float32)


@program("LSTM of 32, 100 steps", _lstm_operands)
def lstm(x: Names) -> Any:
    def run(inputs: Any, w: Any) -> Any:
        def step(s: Any, u: Any) -> Any:
            h, c = s
            g = x.np.concatenate([u, h]) @ (w * 0.1)
            n = h.shape[0]
            i, f, o = (1 / (1 + x.np.exp(-g[k * n : (k + 1) * n])) for k in range(3))
            c = f * c + i * x.np.tanh(g[3 * n :])
            h = o * x.np.tanh(c)
            return (h, c), h

        zero = x.np.zeros(w.shape[1] // 4, inputs.dtype)
        return x.lax.scan(step, (zero, zero), inputs)[1]

    return run


@program("Newton's method for 1000 cube roots", lambda tiny: (np.abs(numbers(6 if tiny else 1000)) + 0.5,))
def newton(x: Names) -> Any:
    def run(a: Any) -> Any:
        def step(s: Any) -> Any:
            y, _ = s
            new = y - (y * y * y - a) / (3 * y * y)
            return new, x.np.max(x.np.abs(new - y))

        return x.lax.while_loop(lambda s: s[1] > 1e-12, step, (a, x.np.max(a)))[0]

    return run


@program("gradient descent with momentum, 500 steps", arrays((50, 20), (50,)))
def descent(x: Names) -> Any:
    def run(a: Any, b: Any) -> Any:
        def loss(w: Any) -> Any:
            return x.np.sum((a @ w - b) ** 2)

        def step(_: Any, s: Any) -> Any:
            w, m = s
            m = 0.9 * m - 1e-3 * x.grad(loss)(w)
            return w + m, m

        zero = x.np.zeros(a.shape[1])
        return x.lax.fori_loop(0, 500, step, (zero, zero))[0]

    return lambda a, b: run(a, b[: a.shape[0]])


@program("Monte Carlo, linear congruences, 100000 points", lambda tiny: (np.uint32(12345),))
def monte_carlo(x: Names) -> Any:
    def run(seed: Any) -> Any:
        def draw(s: Any) -> Any:
            s = s * np.uint32(1664525) + np.uint32(1013904223)
            return s, (s >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24)

        def step(_: Any, state: Any) -> Any:
            s, count = state
            s, a = draw(s)
            s, b = draw(s)
            return s, count + (a * a + b * b < 1).astype(np.int32)

        return x.lax.fori_loop(0, 100000, step, (seed, np.int32(0)))[1]

    return run


@program("Metropolis walk, 256 chains, 200 steps", arrays((200, 256), (200, 256)))
def metropolis(x: Names) -> Any:
    def run(moves: Any, chances: Any) -> Any:
        def step(p: Any, draw: Any) -> Any:
            move, chance = draw
            new = p + move
            ok = x.np.exp(0.5 * (p * p - new * new)) > x.np.abs(chance)
            p = x.np.where(ok, new, p)
            return p, p

        return x.np.mean(x.lax.scan(step, moves[0] * 0, (moves, chances))[1], 0)

    return run


def _plane(tiny: bool) -> tuple[Any, ...]:
    n = 6 if tiny else 64
    return np.linspace(-2, 1, n), np.linspace(-1, 1, n)


@program("Mandelbrot 64x64, 100 steps", _plane)
def mandelbrot(x: Names) -> Any:
    def run(re: Any, im: Any) -> Any:
        a, b = re[None, :] + im[:, None] * 0, im[:, None] + re[None, :] * 0

        def step(_: Any, s: Any) -> Any:
            u, v, count = s
            inside = u * u + v * v < 4
            return (
                x.np.where(inside, u * u - v * v + a, u),
                x.np.where(inside, 2 * u * v + b, v),
                count + inside.astype(np.int32),
            )

        return x.lax.fori_loop(0, 100, step, (a * 0, b * 0, x.np.zeros(a.shape, np.int32)))[2]

    return run

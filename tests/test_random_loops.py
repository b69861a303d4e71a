"""Random loops whose bodies update, swap, view and read shifted: kernels compute what NumPy does, step by step."""

import os
import random

import ml_dtypes  # noqa: F401 (names bfloat16)
import numpy as np
import pytest
from forming import without_failures

import stagec
import stagec.numpy as snp
from passes.kernels import cost
from passes.kernels.elements import RefusedError
from stagec import lax

FUZZ = int(os.environ.get("STAGEC_FUZZ", "0"))
START = int(os.environ.get("STAGEC_FUZZ_START", "1000"))
# Loops of one compiled program: all of them in one kernel, or each in its own.
WHOLE, APART = 2, 8


def clamped(start, size, n):
    """Where a dynamic slice begins: negative starts count from the end."""
    return min(max(start + size if start < 0 else start, 0), size - n)


class Numpy:
    """The steps of a loop done by NumPy, on copies."""

    xp = np

    @staticmethod
    def set(x, at, value):
        x = x.copy()
        x[at] = value
        return x

    @staticmethod
    def add(x, at, value):
        x = x.copy()
        np.add.at(x, at, value)
        return x

    @staticmethod
    def choose(test, yes, no, *operands):
        return (yes if test else no)(*operands)

    @staticmethod
    def repeat(low, high, body, state):
        for i in range(low, high):
            state = body(i, state)
        return state

    @staticmethod
    def until(test, body, state):
        while test(state):
            state = body(state)
        return state

    @staticmethod
    def cut(x, start, n):
        start = clamped(start, len(x), n)
        return x[start : start + n].copy()

    @staticmethod
    def put(x, start, part):
        start = clamped(start, len(x), len(part))
        x = x.copy()
        x[start : start + len(part)] = part
        return x

    @staticmethod
    def cast(x, like):
        return np.asarray(x).astype(like.dtype)


class Compiled:
    """The same steps, traced."""

    xp = snp
    set = staticmethod(lambda x, at, value: x.at[at].set(value))
    add = staticmethod(lambda x, at, value: x.at[at].add(value))
    choose = staticmethod(lambda test, yes, no, *operands: lax.cond(test, yes, no, *operands))
    repeat = staticmethod(lambda low, high, body, state: lax.fori_loop(low, high, body, state))
    until = staticmethod(lambda test, body, state: lax.while_loop(test, body, state))
    cut = staticmethod(lambda x, start, n: lax.dynamic_slice_in_dim(x, start, n))
    put = staticmethod(lambda x, start, part: lax.dynamic_update_slice_in_dim(x, part, start, 0))
    cast = staticmethod(lambda x, like: x.astype(like.dtype))


# How far from NumPy's numbers rounding leads.
TOLERANCES = {
    "float64": 1e-9,
    "complex128": 1e-9,
    "float32": 1e-3,
    "complex64": 1e-3,
    "float16": 3e-2,
    "bfloat16": 2e-1,
}
# Steps that compare what is computed: of few digits, the order of a sum may decide.
DECIDING = (9, 21, 23, 24, 34)
# Steps that compare, for which complex numbers have no order.
ORDERED = (*DECIDING, 13, 32)
DTYPES = ["float32", "float32", "float64", "float64", "float16", "bfloat16", "complex64", "complex128"]


def random_steps(rng, depth, without=()):
    """Steps on a matrix, two vectors, integers, booleans and a number."""
    found = []
    for _ in range(rng.randint(1, 5)):
        kind = rng.randint(0, 37)
        if kind in without:
            continue
        inner = [random_steps(rng, depth - 1, without) for _ in range(2)] if depth and kind in (22, 23, 24) else []
        found.append((kind, rng.randint(0, 3), rng.choice([1, 1, 2]), inner))
    return found


def body(o, steps, n, captured, i, state):
    """One round of a loop."""
    xp = o.xp
    a, v, u, m, b, s = state
    old_a, old_v = a, v
    for kind, c, d, inner in steps:
        j = (i * d + c) % n
        if kind == 0:
            a = o.set(a, (j, slice(None)), a[(j + 1) % n] * 0.5 + v)
        elif kind == 1:
            a = o.set(a, (slice(None), j), a[:, (j + 2) % n] * 0.5 - s)
        elif kind == 2:
            inside = (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2]) * 0.25
            a = o.set(a, (slice(1, n - 1), slice(1, n - 1)), inside)
        elif kind == 3:
            v = (a @ v) * 0.125
        elif kind == 4:
            s = s * 0.5 + xp.sum(a[j] * v) * 0.0625
        elif kind == 5:
            v = o.set(v, j, v[(j + 1) % n] + s)
        elif kind == 6:
            a = old_a * 0.5 + a * 0.25
        elif kind == 7:
            v = v[::-1] * 0.75 + old_v * 0.125
        elif kind == 8:
            a = a.T * 0.5 + a * 0.25
        elif kind == 9:
            v = xp.where(v > s, v * 0.5, v + 0.125)
        elif kind == 10:
            a = o.set(a, (j, (j + c) % n), a[(j + 1) % n, j] * 0.5 + 1)
        elif kind == 11:
            v = xp.roll(v, c) + a[:, j] * 0.125
        elif kind == 12:
            a = a - xp.outer(v, u) * 0.0625
        elif kind == 13:
            v = xp.maximum(v, xp.max(a, axis=0) * 0.125)
        elif kind == 14:
            v, u = u, v
        elif kind == 15:
            v, u = u * 0.5 + v * 0.25, v - u * 0.25
        elif kind == 16:
            v = o.set(v, slice(1, None), v[:-1] * 0.5 + u[1:])
        elif kind == 17:
            v = o.set(v, slice(None, -1), v[1:] * 0.5)
        elif kind == 18:
            m = o.set(m, j, m[(j + c) % n] + m[j])
        elif kind == 19:
            u = u + v[m % n] * 0.25
        elif kind == 20:
            v = o.add(v, m % n, u * 0.125)
        elif kind == 21:
            b = o.set(b, j, (v[j] > s) & b[(j + 1) % n])
        elif kind == 22 and inner:
            low = i if c else 0

            def again(k, state, inner=inner):
                return body(o, inner[0], n, captured, k, state)

            a, v, u, m, b, s = o.repeat(low, low + 2, again, (a, v, u, m, b, s))
        elif kind == 23 and inner:

            def yes(a, v, u, m, b, s, inner=inner):
                return body(o, inner[0], n, captured, i, (a, v, u, m, b, s))

            def no(a, v, u, m, b, s, inner=inner):
                return body(o, inner[1], n, captured, i, (a, v, u, m, b, s))

            a, v, u, m, b, s = o.choose(v[j] > s, yes, no, a, v, u, m, b, s)
        elif kind == 24 and inner:

            def more(state, inner=inner):
                return (state[0] + 1, body(o, inner[0], n, captured, i, state[1]))

            _, (a, v, u, m, b, s) = o.until(lambda t: (t[0] < 3) & (t[1][5] < 2), more, (0, (a, v, u, m, b, s)))
        elif kind == 25:
            u = xp.where(b, u, captured[j] * 0.5)
        elif kind == 26:
            a = a + captured[:, None] * 0.125
        elif kind == 27:
            v = o.put(v, i * d - 1, o.cut(v, i + c - 2, n // 2) * 0.5)
        elif kind == 28:
            a = o.put(a, i - 1, a[1:3] * 0.5)
        elif kind == 29:
            v = xp.concatenate([u[:2], v[2:] * 0.5])
        elif kind == 30:
            v = xp.pad(v[1:-1] * 0.5, 1)
        elif kind == 31:
            m = (m * 3 + c) % 17
        elif kind == 32:
            s = s * 0.25 + o.cast(xp.sum(m), v) * 0.015625 + xp.min(v) * 0.0625
        elif kind == 33:
            a = (a.reshape(-1)[::-1] * 0.5).reshape(n, n)
        elif kind == 34:
            m = o.cast(m // (c + 1), m)
            m = xp.where(b, m, o.cast(xp.argmax(v), m))
        elif kind == 35:
            a = xp.roll(a, c, 1) * 0.25 + xp.roll(a, -1, 0) * 0.5 - a.T * 0.125
        elif kind == 36:
            a = xp.pad(a[1:, : n - 2] * 0.5 + a[:-1, 2:], ((0, 1), (1, 1))) + xp.pad(
                a[:2] * 0.25, ((d, n - 2 - d), (0, 0))
            )
        elif kind == 37:
            v = o.cut(xp.concatenate([v * 0.5, xp.roll(u[::-1], d)]), j, n)
    return a, v, u, m, b, s


def random_loop(seed):
    """A random loop: the function of a way to do its steps, and what it begins with."""
    rng = random.Random(seed)
    dtype = np.dtype(rng.choice(DTYPES)).type
    n, rounds = rng.choice([4, 5, 8, 9, 17]), rng.choice([1, 2, 3, 6])
    kind, bits = np.dtype(dtype).kind, np.dtype(dtype).itemsize * 8
    steps = random_steps(rng, 2, ORDERED if kind == "c" else DECIDING if bits == 16 else ())
    integer = rng.choice([np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint32])
    counted, returned = rng.random() < 0.7, rng.random() < 0.3
    numbers = np.random.default_rng(seed)
    turn = 1 + 0.5j if kind == "c" else 1
    a, v, u, captured = ((numbers.normal(size=size) * turn).astype(dtype) for size in ((n, n), n, n, n))
    m = numbers.integers(0, 20, n).astype(integer)
    state = (a, v, u, m, numbers.random(n) < 0.5, dtype(0.3))

    def loop(o, captured, *state):
        if counted:
            found = o.repeat(0, rounds, lambda i, s: body(o, steps, n, captured, i, s), state)
        else:
            _, found = o.until(
                lambda t: t[0] < rounds, lambda t: (t[0] + 1, body(o, steps, n, captured, t[0], t[1])), (0, state)
            )
        return (*found, state[0] * 2, captured) if returned else found

    return loop, (captured, *state)


@pytest.fixture(autouse=True)
def failures(monkeypatch):
    with without_failures(monkeypatch):
        yield


@pytest.fixture
def outside(monkeypatch):
    """Loops stay with the host, as those do of which all cores share each round."""

    def refuse(*_):
        raise RefusedError("several cores share each round")

    monkeypatch.setattr(cost, "check_round", refuse)


def check(seeds, whole):
    loops = [random_loop(seed) for seed in seeds]

    def program(everything):
        found = [loop(Compiled, *operands) for (loop, _), operands in zip(loops, everything)]
        # A sort keeps the function from being one kernel: each loop gets its own.
        return found if whole else (found, snp.sort(everything[0][0]))

    with stagec.enable_x64(), np.errstate(all="ignore"):
        found = stagec.jit(program)([operands for _, operands in loops])
        for seed, (loop, operands), results in zip(seeds, loops, found if whole else found[0]):
            for number, (want, got) in enumerate(zip(loop(Numpy, *operands), results, strict=True)):
                tolerance = TOLERANCES[operands[0].dtype.name] if np.asarray(want).dtype.kind in "fVc" else 0
                got, want = (np.asarray(a).astype(np.complex128) for a in (got, want))
                message = f"loop {seed}, state {number}"
                np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance, err_msg=message)


@pytest.mark.parametrize("first", range(0, 24, WHOLE))
def test_functions_of_loops_compute_what_numpy_does(first):
    check(range(first, first + WHOLE), whole=True)


@pytest.mark.parametrize("first", range(100, 196, APART))
def test_loops_compute_what_numpy_does(first):
    check(range(first, first + APART), whole=False)


@pytest.mark.parametrize("seed", range(300, 306))
def test_bodies_of_loops_of_the_host_compute_what_numpy_does(seed, outside):
    check([seed], whole=False)


@pytest.mark.skipif(not FUZZ, reason="set STAGEC_FUZZ to a number of loops")
def test_many_loops_compute_what_numpy_does():
    first = START
    while first < START + FUZZ:
        check(range(first, first + WHOLE), whole=True)
        check(range(first + WHOLE, first + WHOLE + APART), whole=False)
        first += WHOLE + APART


@pytest.mark.skipif(not FUZZ, reason="set STAGEC_FUZZ to a number of loops")
def test_many_bodies_of_loops_of_the_host_compute_what_numpy_does(outside):
    for seed in range(START, START + FUZZ):
        check([seed], whole=False)


@pytest.mark.parametrize("seed", range(401, 404))
def test_loops_of_the_compilers_own_code_compute_what_numpy_does(seed):
    with stagec.config.override(cpu_kernels=False):
        check([seed], whole=False)

"""Persistent kernels: steps and rounds of loops in one dispatch, with the results of one dispatch each."""

import concurrent.futures
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from passes.kernels import cost
from passes.kernels.elements import RefusedError
from stagec import lax
from stagec.compiler import build, direct, log
from stagec.compiler.direct import joining, persistent
from stagec.compiler.direct.memory import Layout, MemoryRange
from stagec.compiler.direct.parts import LoopParts, Part
from stagec.compiler.direct.program import State

RNG = np.random.default_rng(0)
X = RNG.normal(size=71).astype(np.float32)
LARGE = RNG.normal(size=(300, 301)).astype(np.float32)
MANY = [RNG.normal(size=(7, 5)).astype(np.float32) for _ in range(40)]


@pytest.fixture
def outside(monkeypatch):
    """All loops are left to the host."""

    def refuse(*_):
        raise RefusedError("rounds are left to the host")

    monkeypatch.setattr(cost, "check_round", refuse)


@pytest.fixture
def made(monkeypatch):
    """The persistent kernels of the programs that are compiled."""
    found = []
    real = joining.joined

    def joined(*given):
        items = real(*given)
        found.extend(joining.kernels_of(items))
        return items

    monkeypatch.setattr(direct, "joined", joined)
    return found


@pytest.fixture(params=["local-sync", "local-task"])
def queue(request, monkeypatch):
    """The queue of all programs."""
    monkeypatch.setattr(build, "choose_driver", lambda graph, target: request.param)
    return request.param


def computed(function, given, joins):
    """The results of two calls of a new program, with persistent kernels or without."""
    with pytest.MonkeyPatch.context() as patch, stagec.config.override(enable_cache=False):
        if not joins:
            patch.setattr(direct, "joined", lambda items, *_: items)
        stagec.clear_caches()
        log.clear()
        compiled = stagec.jit(lambda *args: function(*args))
        results = [[np.asarray(r) for r in stagec.tree.leaves(compiled(*given))] for _ in range(2)]
        assert log.records("compile")[-1].fields["flags"] == "direct"
    stagec.clear_caches()
    return results


def compare(function, given):
    """Compare the bits with persistent kernels and without."""
    with np.errstate(all="ignore"):
        (first, second), (wanted, _) = (computed(function, given, joins) for joins in (True, False))
    for one, two, right in zip(first, second, wanted, strict=True):
        assert one.tobytes() == two.tobytes() == right.tobytes()


def turned(i, x):
    return x[::-1] * 0.5 + i


LOOPS = {
    "exchanged, even": lambda x: lax.fori_loop(0, 20, turned, x),
    "exchanged, odd": lambda x: lax.fori_loop(0, 21, turned, x),
    "three in turn": lambda x: lax.fori_loop(0, 11, lambda i, s: (s[1], s[2][::-1] + i, s[0]), (x, x * 2, x * 3)),
    "nothing but turns": lambda x: lax.fori_loop(
        0, 11, lambda i, s: (s[1], s[2], s[0], turned(i, s[3])), (x, x * 2, x * 3, x)
    ),
    "in place": lambda x: lax.fori_loop(0, 20, lambda i, x: snp.sin(x) * 1.5 + i * 0.25, x),
    "copied argument": lambda x: (lax.fori_loop(0, 20, turned, x), x * 2),
    "loops in loops": lambda x: lax.fori_loop(
        0, 5, lambda i, x: lax.fori_loop(0, 7, lambda j, y: y[::-1] * 0.5 + j * i, x) + lax.cumsum(x)[::-1], x
    ),
    "loops one after the other": lambda x: lax.fori_loop(0, 9, turned, snp.sort(lax.fori_loop(0, 13, turned, x)) * 2),
    "counts by three": lambda x: lax.while_loop(lambda s: s[0] <= 40, lambda s: (s[0] + 3, turned(*s)), (1, x))[1],
    "stacked": lambda x: lax.scan(lambda c, i: (turned(i, c), c.sum()), x, snp.arange(15.0)),
    "filled": lambda x: lax.fori_loop(
        0, 12, lambda i, s: (turned(i, s[0]), s[1].at[i].set(s[0])), (x, snp.ones((12, 71)))
    )[1],
    "numbers": lambda x: lax.fori_loop(
        0, 12, lambda i, x: turned(snp.where((i % 3 == 1) | ~(i > 4), -i, snp.maximum(i * 2 - 5, i & 6)) ^ 3, x), x
    ),
    "rows": lambda x: lax.fori_loop(
        0, 12, lambda i, m: m.at[i % 5].set(snp.sin(m[(i + 1) % 5])[::-1]), snp.outer(x[:5], x)
    ),
}


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.usefixtures("outside", "queue")
def test_loops_are_persistent_kernels_with_the_same_bits(name, made):
    compare(LOOPS[name], (X,))
    assert len(made) == 1


@pytest.mark.parametrize(
    "function",
    [
        lambda x: lax.while_loop(lambda s: (s * s).sum() < 1e8, lambda s: snp.exp(s[::-1]) + s, x),
        lambda x: lax.fori_loop(0, snp.int32(x[0] * 0 + 5), turned, x),
        lambda x: lax.fori_loop(0, 20, lambda i, s: (turned(i, s[0]), s[1] + i), (x, 0))[1] + snp.arange(5),
    ],
    ids=["ends by its state", "a bound from memory", "a number that is returned"],
)
@pytest.mark.usefixtures("outside", "queue")
def test_other_loops_are_left_to_the_host(function):
    compare(function, (X,))


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32", "float64", "complex64", "bool"])
def test_copies_and_fills_of_every_width(dtype, queue, outside):
    with stagec.enable_x64():
        x = (RNG.normal(size=(3, 29)) * 3).astype(dtype)

        def function(x):
            filled, zeros = snp.full((9, 131), np.ones((), dtype)), snp.zeros((7, 3, 29), dtype)

            def body(i, s):
                return s[0].at[i % 9, :29].set(s[1][i % 7, 0]), s[1].at[i % 7].set(x[::-1])

            return lax.fori_loop(0, 15, body, (filled, zeros)), x

        compare(function, (x,))


@pytest.mark.parametrize("queue", ["local-task"], indirect=True)
def test_steps_that_wait_for_one_another_are_one_dispatch(queue, made):
    def steps(x):
        for _ in range(4):
            x = lax.optimization_barrier(snp.sort(x @ x.T)[:, :301:1] @ snp.tile(x, (1, 1)))
            x = x / (1 + abs(x).max(0))
        return x, x.sum()

    compare(steps, (LARGE,))
    assert len(made) == 1 and made[0].workgroups > 1


@pytest.mark.parametrize("queue", ["local-task"], indirect=True)
def test_more_buffers_than_a_dispatch_has_are_divided(queue, made):
    def step(*xs):
        total = sum(lax.optimization_barrier(x[::-1] * 2) for x in xs)
        return [lax.optimization_barrier(snp.sort(x, 0)) + total for x in xs]

    compare(step, MANY)
    assert len(made) > 1 and all(len(kernel.slots) <= persistent.MOST_BUFFERS for kernel in made)


@pytest.mark.parametrize("queue", ["local-sync"], indirect=True)
def test_one_thread_needs_none_for_a_few_steps(queue, made):
    with stagec.config.override(enable_cache=False):
        stagec.jit(lambda x: snp.sort(snp.sort(x * 2)[::-1] * x))(X)
    assert made == []


@pytest.mark.parametrize("queue", ["local-task"], indirect=True)
def test_calls_at_the_same_time_have_counters_of_their_own(queue, outside):
    with stagec.config.override(enable_cache=False):
        f = stagec.jit(lambda x: lax.fori_loop(0, 40, turned, x))
        given = [X + i for i in range(12)]
        wanted = [np.asarray(f(x)) for x in given]
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            for _ in range(5):
                for right, found in zip(wanted, pool.map(lambda x: np.asarray(f(x)), given)):
                    np.testing.assert_array_equal(found, right)


PROGRAM = """
import hashlib, sys
import numpy as np
import stagec, stagec.numpy as snp
from stagec import lax
from stagec.compiler import build
build.choose_driver = lambda graph, target: "local-task"
x = np.random.default_rng(0).normal(size=(400, 1000)).astype(np.float32)

def step(i, x):
    around = snp.roll(x, 1, 0) + snp.roll(x, -1, 0) + snp.roll(x, 1, 1)
    return x + 0.1 * (around - 3 * x) / (1 + (x * x).sum())

with stagec.config.override(enable_cache=False):
    print(hashlib.sha256(np.asarray(stagec.jit(lambda x: lax.fori_loop(0, 30, step, x))(x)).tobytes()).hexdigest())
"""


def test_any_number_of_workers_computes_the_same_bits():
    found = {
        subprocess.run(
            [sys.executable, "-c", textwrap.dedent(PROGRAM)],
            env={**os.environ, "STAGEC_NUM_THREADS": str(threads)},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for threads in (1, 2, 3, 11)
    }
    assert len(found) == 1


@pytest.mark.parametrize("rounds", range(8))
def test_buffers_after_some_rounds(rounds):
    ranges = {n: MemoryRange(n, 0, 8) for n in range(3)}
    states = tuple(State(n, n, (n + 1) % 3, n, 8) for n in range(3))
    loop = LoopParts((), 0, (Part(0, (), 3),), states, (), rounds)
    moved = joining._moved([loop], Layout(ranges, {}, ()))
    assert {n: moved.get(n, n) for n in range(3)} == {n: (n + rounds) % 3 for n in range(3)}

"""Loops and conditionals around kernels, compiled directly."""

import random

import numpy as np
import pytest
import test_random_control_flow
import test_random_loops
from test_direct import QUEUES, both_ways, runs  # noqa: F401 (a fixture)

import stagec
import stagec.numpy as snp
from passes import bindings
from passes.kernels import cost
from passes.kernels.elements import RefusedError
from stagec import lax
from stagec.backends import Target
from stagec.compiler import build, driver, log
from stagec.compiler.direct import flow, host, memory, parts, reading
from stagec.compiler.direct.program import Copy
from stagec.compiler.flags import CompileOptions
from stagec.compiler.mlir import ir

RNG = np.random.default_rng(0)
X = RNG.normal(size=70).astype(np.float32)
ROWS = RNG.normal(size=(6, 50)).astype(np.float32)
LONG = flow.AHEAD * 2 + 5


@pytest.fixture(autouse=True)
def outside(monkeypatch):
    """Loops stay with the host, as those do of which all cores share each round."""

    def refuse(*_):
        raise RefusedError("several cores share each round")

    monkeypatch.setattr(cost, "check_round", refuse)


def positive(x, y):
    return lax.cond(y > 0, snp.sin, lambda x: x, x)


def counted(n, limit, x):
    """A loop that ends by its counter or by what it computes."""
    return lax.while_loop(
        lambda s: (s[0] < n) & ((s[1] * s[1]).sum() < limit), lambda s: (s[0] + 2, snp.exp(s[1] * 0.5) + s[1]), (0, x)
    )


def called_in_rounds(x):
    """Calls of Python in a round, in a branch, and after the loop, with the host's numbers."""

    def turned(x, i):
        return (np.asarray(x)[::-1] + np.asarray(i)).astype(np.float32)

    def turn(x, i):
        return stagec.pure_callback(turned, stagec.ShapeDtypeStruct(x.shape, "float32"), x, i)

    def step(i, x):
        y = turn(x * 2, i)
        return lax.cond(y[0] > 0.5, lambda y: y * 0.5 + 1, lambda y: turn(y, i * 100), y) + x

    x = lax.fori_loop(0, 5, step, x)
    return x, turn(x, 7), lax.while_loop(lambda s: s[0] < 2, lambda s: (s[0] + 1, turn(s[1], s[0])), (0, x))


def of_constants(y, x):
    """A branch that computes with constants alone, and results that are constants."""

    def constants(x):
        return snp.tanh(snp.cumsum(snp.sin(snp.arange(70.0) + 0.5))[::-1]), snp.arange(70)

    found, numbers = lax.cond(y > 0, constants, lambda x: (x * 2, snp.arange(70)), x)
    return found, numbers, snp.arange(7), snp.full((30, 40), 1.5), True


PROGRAMS = {
    "constants": (of_constants, (np.float32(1), X)),
    "other constants": (of_constants, (np.float32(-1), X)),
    "callbacks": (called_in_rounds, (X,)),
    "in place": (lambda x: lax.fori_loop(0, LONG, lambda i, x: snp.sin(x) * 1.5 + i * 0.25, x), (X,)),
    "exchanged": (lambda x, n: lax.fori_loop(0, n, lambda i, x: x[::-1] * 0.5 + i, x), (X, np.int32(7))),
    "no round": (lambda x, n: (lax.fori_loop(0, n, lambda i, x: x[::-1] * 0.5 + i, x), x), (X, np.int32(0))),
    "sums": (lambda x: lax.scan(lambda c, i: (snp.sin(c) + i, c.sum()), x, snp.arange(5.0)), (X,)),
    "stacked": (lambda x: lax.scan(lambda c, i: (snp.sin(c) + i, c), x, snp.arange(5.0)), (X,)),
    "ends by its state": (lambda x: lax.while_loop(lambda s: (s * s).sum() < 1e8, lambda s: snp.exp(s) + s, x), (X,)),
    "ends by both": (lambda n, x: counted(n, 1e4, x), (np.int32(50), X)),
    "yes": (positive, (X, np.float32(1))),
    "no": (positive, (X, np.float32(-1))),
    "updated": (lambda x: lax.fori_loop(0, 5, lambda i, x: x.at[i].set(snp.sin(x[i - 1])), x), (ROWS,)),
    "turns": (lambda x, y: lax.fori_loop(0, 5, lambda i, s: (s[1], s[2], s[0]), (x, y, x + y)), (X, X * 2)),
    "nested": (
        lambda x: lax.fori_loop(0, 5, lambda i, x: lax.fori_loop(0, i, lambda j, y: y[::-1] * 0.5 + j * i, x) + 1, x),
        (X,),
    ),
    "chosen in each round": (
        lambda x: lax.fori_loop(
            0, 5, lambda i, x: lax.switch(i % 3, [lambda x: x[::-1], lambda x: x, lambda x: x * x + i], x) * 0.5, x
        ),
        (X,),
    ),
    "chosen by what it computes": (
        lambda x: lax.fori_loop(0, 5, lambda i, x: lax.cond(x[i] > 0.3, lambda x: x[::-1], lambda x: x, x) * 0.5, x),
        (X,),
    ),
    "counters of 64 bits": (
        lambda n, x: lax.while_loop(
            lambda s: s[0] > -(2**40), lambda s: (s[0] - n, s[1] + (s[0] // 2**35).astype(int)), (n * 0, x)
        ),
        (np.int64(2**38), np.arange(9)),
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_both_ways_make_the_same_bits(name, runs):  # noqa: F811
    f, given = PROGRAMS[name]
    with stagec.enable_x64(name.startswith("counters")):
        both_ways(runs, f, given, *QUEUES)


@pytest.mark.parametrize("seed", [0, 1, 5, 8])
def test_both_ways_make_the_same_bits_of_random_loops(seed, runs):  # noqa: F811
    loop, operands = test_random_loops.random_loop(seed)
    with stagec.enable_x64(), np.errstate(all="ignore"):
        both_ways(runs, lambda *o: loop(test_random_loops.Compiled, *o), operands, QUEUES[seed % 2])


def test_gradients_of_random_loops_and_choices_are_the_evaluated_ones():
    rng = random.Random(19)
    count = rng.randint(2, 4)
    function = test_random_control_flow.random_function(rng, count, 3, set())
    x = np.random.default_rng(19).normal(size=(count, 3)).astype(np.float32)
    slope = stagec.grad(lambda x: sum((y * y).sum() for y in function(list(x))))
    log.clear()
    with stagec.config.override(enable_cache=False):
        np.testing.assert_allclose(stagec.jit(slope)(x), slope(snp.asarray(x)), rtol=1e-4, atol=1e-4)
    assert log.records("compile")[-1].fields["flags"] == "direct"


def test_what_is_not_covered_goes_the_long_way_and_says_why():
    for f, flags, reason in (
        (lambda x: lax.fori_loop(0, 3, lambda i, x: x * 2, x), "direct", None),
        (
            lambda x: lax.fori_loop(0, 3, lambda i, x: lax.rem(x, np.float32(0.7)), x),
            "direct",
            None,
        ),
    ):
        log.clear()
        with stagec.config.override(enable_cache=False):
            stagec.jit(f)(X[:20])
        (done,) = [r for r in log.records("compile") if r.message == "compiled"]
        told = [r.fields["reason"] for r in log.records("compile") if r.message == "through all phases"]
        assert (done.fields["flags"], told) == (flags, [reason] if reason else [])


def described(f, *args):
    """A program, and its host program."""
    module = stagec.jit(f).lower(*args).as_text("optimized")
    source = driver.prepared(module.encode(), Target.parse("cpu"), "f")
    flag_set, ready = next(driver.by_flag_set(source, Target.parse("cpu"), CompileOptions()))
    assert flag_set.direct
    found = reading.read(ir().Module.parse(ready.source, bindings.new_context()))
    return found, "\n".join(
        host._main(found, parts.parted(found, memory.assign_memory(found)), memory.assign_memory(found), True)
    )


def copies(found):
    """The copies that are made in rounds of a program's loops."""
    layout = memory.assign_memory(found)
    loops = [item for item in parts.parted(found, layout) if isinstance(item, parts.LoopParts)]
    commands = [c for part in parts.parts_of([*loops]) for c in part.commands]
    return sum(isinstance(c, Copy) for c in commands)


@pytest.mark.parametrize("name", ["in place", "exchanged", "stacked", "updated", "turns", "nested"])
def test_rounds_neither_copy_nor_allocate(name):
    found, text = described(PROGRAMS[name][0], *PROGRAMS[name][1])
    assert copies(found) == 0
    before, _, rounds = text.partition("^while")
    assert "allocator.allocate(" in before and "queue.alloca(" not in rounds and "allocator.allocate" not in rounds


def test_results_of_loops_are_not_looked_at_for_memory_that_they_share():
    # Looking at an address waits for the result.
    text = stagec.jit(lambda x: lax.fori_loop(0, 3, lambda i, x: x * 2 + i, x)).lower(X).as_text("optimized")
    found = driver.compile_module(text, Target.parse("cpu"))
    assert (found.flags, found.traits.may_alias) == ("direct", False)
    head, _, result = text.rpartition("return ")
    head = head.replace("-> tensor<70xf32> {", "-> (tensor<70xf32>, tensor<70xf32>) {", 1)
    result = result.replace(" : tensor<70xf32>", ", %arg0 : tensor<70xf32>, tensor<70xf32>")
    found = driver.compile_module(f"{head}return {result}", Target.parse("cpu"))
    assert (found.flags, found.traits.may_alias) == ("direct", True)


def test_a_bound_is_read_once():
    _, text = described(*(PROGRAMS["exchanged"][0], *PROGRAMS["exchanged"][1]))
    before, _, rounds = text.partition("^while")
    assert "@hal.buffer.load(" in before and "@hal.buffer.load(" not in rounds


def test_state_that_is_read_at_its_own_place_has_one_buffer_and_other_state_two():
    # A number of elements that fills vectors: costly code of other small arrays computes some elements twice.
    chosen = (PROGRAMS[name] for name in ("in place", "exchanged"))
    (one, _), (two, _) = (described(f, X[:64], *others) for f, (_, *others) in chosen)
    large = [[size for size in memory.assign_memory(p).allocated.values() if size >= X[:64].nbytes] for p in (one, two)]
    assert [len(sizes) for sizes in large] == [1, 2]


def address(x):
    return x._host().__array_interface__["data"][0]


def test_a_loops_state_is_in_a_donated_arguments_memory_unless_it_is_exchanged():
    for step, same in (
        (lambda i, x: snp.sin(x) + i, True),
        (lambda i, x: x.at[i].set(0), True),
        (lambda i, x: x[::-1], False),
    ):
        loop = stagec.jit(lambda x, step=step: lax.fori_loop(0, 3, step, x), donate_argnums=0)
        # It fills vectors: costly code of other small arrays computes some elements twice.
        x = stagec.jit(lambda x: x * 2)(X[:64] / 2)
        before = address(x)
        with stagec.config.override(enable_cache=False):
            found = loop(x)
        assert x.is_deleted() and (address(found) == before) is same
        with stagec.disable_jit():
            np.testing.assert_allclose(found, lax.fori_loop(0, 3, step, snp.asarray(X[:64])), rtol=1e-5)


def test_an_argument_that_is_needed_after_the_loop_is_not_written_to():
    x, y = stagec.jit(lambda x: x * 2)(X / 2), snp.asarray(X)
    with stagec.config.override(enable_cache=False):
        later = stagec.jit(lambda x: (lax.fori_loop(0, 3, lambda i, x: snp.sin(x), x), x * 2), donate_argnums=0)(x)
        kept = stagec.jit(lambda x: lax.fori_loop(0, 3, lambda i, x: x * 2, x))(y)
    np.testing.assert_array_equal(later[1], X * 2)
    np.testing.assert_array_equal(kept, X * 8)
    np.testing.assert_array_equal(y, X)


@pytest.mark.parametrize("queue", QUEUES)
def test_calls_leave_no_memory_behind(queue, monkeypatch):
    monkeypatch.setattr(build, "choose_driver", lambda graph, target: queue)
    size = 3000
    copied = stagec.jit(lambda x: x * 1)
    returned = stagec.ShapeDtypeStruct((size,), "float32")

    def turned(x):
        return np.asarray(x)[::-1]

    def called(i, x, y):
        y = stagec.pure_callback(turned, returned, y)
        return lax.cond(x[0] > 2, lambda x: stagec.pure_callback(turned, returned, x) + y, lambda x: x * 2, x)

    for f in (
        # What is used in rounds or in one branch alone.
        lambda x, y: lax.fori_loop(0, 3, lambda i, x: x[::-1] * 2 + y + i, x),
        lambda x, y: lax.cond(x[0] > 5, lambda: x * 2, lambda: y * 2),
        lambda x, y: lax.while_loop(lambda s: s.sum() < y.sum(), lambda s: s * 2, x),
        lambda x, y: lax.fori_loop(0, 3, lambda i, x: called(i, x, y), x),
    ):
        function, found = stagec.jit(f), []
        with stagec.config.override(enable_cache=False):
            for _ in range(6):
                given = [copied(np.ones(size, np.float32)) for _ in range(2)]
                function(*given).block_until_ready()
                del given
                found.append(stagec.memory_stats()["bytes_in_use"])
        assert found[-1] == found[2]

"""Evaluation by NumPy that can be stopped: what it computes, and when it stops."""

import os

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import lax
from stagec.api.program import evaluated
from stagec.runtime import evaluation
from stagec.runtime.evaluation import Evaluation, Stopped
from tests.benchmarks import loop_programs, loops

FUZZ = int(os.environ.get("STAGEC_FUZZ", "1")) > 1
NAMES, _ = loops.names_of("stagec")


def traced(function, *args):
    """The graph of a call, and its inputs."""
    with stagec.enable_x64():
        jitted = stagec.jit(function)
        trace = jitted.trace(*args)._trace
        program = jitted._settings.runnable(trace)
        inputs = [*program.hidden, *map(snp.asarray, stagec.tree.leaves(args))]
    return program.code.graph, [inputs[i] for i in program.used]


def never():
    return False


@pytest.mark.parametrize("program", loop_programs.PROGRAMS, ids=lambda p: p.name)
def test_loops_by_generated_code_have_the_bits_of_their_operations(program, monkeypatch):
    monkeypatch.setattr(evaluation, "_ROUNDS", 2)
    if program.name.startswith("Monte Carlo") and not FUZZ:  # 100,000 rounds, which take seconds one by one
        monkeypatch.setattr(lax, "fori_loop", lambda low, high, *rest, loop=lax.fori_loop: loop(low, 3000, *rest))
    graph, inputs = traced(program.make(NAMES), *program.operands(True))
    expected = evaluated(graph, inputs)
    found = Evaluation(never).run(graph, inputs)
    for a, b in zip(expected, found, strict=True):
        assert a.aval == b.aval
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


def test_code_is_generated_for_short_bodies_that_are_repeated():
    def body(i, x):
        return snp.sin(x) + i

    for n, rounds, generates in ((4, 20, True), (4, 3, False), (5000, 20, False)):
        graph, inputs = traced(lambda x, rounds=rounds: lax.fori_loop(0, rounds, body, x), np.ones(n, np.float32))
        np.testing.assert_array_equal(Evaluation(never).run(graph, inputs)[0], evaluated(graph, inputs)[0])
        (loop,) = [e for e in graph.equations if e.primitive.name == "scan"]
        assert (loop.params["graph"].derived[evaluation._generated].code is not None) == generates


def test_loops_by_generated_code_are_stopped_between_their_rounds():
    graph, inputs = traced(lambda n: lax.while_loop(lambda c: c < n, lambda c: c + 1, 0), 10**9)
    asked = iter(range(1000))
    with pytest.raises(Stopped):
        Evaluation(lambda: next(asked) == 999).run(graph, inputs)


def test_values_that_nothing_reads_any_more_are_freed():
    graph, _ = traced(lambda x: ((x + 1) * 2 - 3).sum(), np.ones(5, np.float32))
    assert [len(dead) for dead in evaluation._dying(graph)] == [1, 1, 1, 1]


def test_refused_values_stop_an_evaluation_wherever_they_are():
    def refuses(value):
        return bool(np.any(value == 7))

    programs = (
        lambda x: x,
        lambda x: x + 6 - 1,
        lambda x: snp.where(x > 0, x, 7),
        lambda x: lax.fori_loop(0, 20, lambda i, c: c + 1, x),
    )
    for function, x in zip(programs, (7, 1, 1, -5), strict=True):
        graph, inputs = traced(lambda x, f=function: f(x) * 1, np.int32(x))
        with pytest.raises(Stopped):
            Evaluation(never, refuses).run(graph, inputs)
        assert Evaluation(never).run(graph, inputs)


def test_results_are_aligned_and_of_their_own_memory():
    x = snp.arange(6)
    graph, _ = traced(lambda x: (x.reshape(2, 3).T, x.reshape(3, 2) * 1), x)
    made = Evaluation(never).run(graph, [x])
    for result in made:
        value = result.evaluated()
        assert value.ctypes.data % 64 == 0 and value.flags.c_contiguous
        assert not np.may_share_memory(value, x.evaluated())

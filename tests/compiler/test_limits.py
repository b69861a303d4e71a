"""Programs with a limit: exact where something is left of it, and soon at their end where nothing is."""

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import lax
from stagec.compiler.limits import limited
from stagec.control import bodies

UNLIMITED = 1 << 60


def newton(a):
    return lax.while_loop(
        lambda s: s[1] > 1e-6, lambda s: (y := 0.5 * (s[0] + a / s[0]), abs(y - s[0])), (a, snp.float32(1))
    )


def collatz(n):
    return lax.while_loop(
        lambda s: s[0] > 1, lambda s: (snp.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1), (n, 0)
    )


def counted(low, high):
    return lax.fori_loop(low, high, lambda i, x: x * 3 + i, low)


def in_steps(n):
    return lax.while_loop(lambda s: s[0] < s[2], lambda s: (s[0] + 3, s[1] + s[0], s[2]), (n - 9, n, n))


def both(a, n):
    return lax.fori_loop(0, n, lambda i, x: x + newton(a + x)[0] * i, a)


def in_scan(a):
    return lax.scan(lambda x, y: (newton(x + y)[0], x), a, snp.arange(1, 4, dtype=snp.float32))


def in_branch(n):
    return lax.cond(n > 3, lambda n: collatz(n)[1], lambda n: n, n)


def in_calls(a):
    root = stagec.custom_jvp(lambda a: newton(a)[0])
    root.defjvp(lambda primals, tangents: (root(*primals), tangents[0]))
    return stagec.checkpoint(lambda a: root(stagec.jit(newton)(a)[0]))(a)


def solved(a):
    return stagec.scipy.sparse.linalg.cg(lambda x: snp.array([2.0, 3.0]) * x + a * x[::-1], snp.ones(2))[0]


def lanes(a):
    return stagec.vmap(newton)(a * snp.arange(1, 4, dtype=snp.float32))


def gradient(a):
    return stagec.grad(lambda a: newton(a)[0])(a)


PROGRAMS = {
    "a condition": (newton, np.float32(7)),
    "integers": (collatz, np.int32(27)),
    "a bound": (counted, np.int32(-2), np.int32(9)),
    "a bound that is less": (counted, np.int32(5), np.int32(-3)),
    "a bound of eight bits": (counted, np.int8(-128), np.int8(127)),
    "a bound without sign": (counted, np.uint32(2**32 - 9), np.uint32(2**32 - 1)),
    "steps": (in_steps, np.int32(10)),
    "a loop in a counted one": (both, np.float32(2), np.int32(3)),
    "a loop in a scan": (in_scan, np.float32(5)),
    "a branch": (in_branch, np.int32(7)),
    "no loop in a branch": (in_branch, np.int32(3)),
    "calls": (in_calls, np.float32(3)),
    "conjugate gradients": (solved, np.float32(0.5)),
    "a batch": (lanes, np.float32(3)),
    "a gradient": (gradient, np.float32(3)),
}


def graph_of(function, *args):
    return stagec.make_graph(function)(*args).graph


def evaluated(graph, args):
    results = bodies.evaluate(graph, args)
    return [np.asarray(r) for r in results]


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_exact_where_something_is_left(name):
    function, *args = PROGRAMS[name]
    graph = graph_of(function, *args)
    with_limit = limited(graph)
    assert with_limit is not None
    expected = evaluated(graph, args)
    *results, left = evaluated(with_limit, [*args, np.int64(UNLIMITED)])
    for result, wanted in zip(results, expected, strict=True):
        np.testing.assert_array_equal(result, wanted, strict=True)
    used = UNLIMITED - int(left)
    enough = []
    for limit in {*range(-1, 40), *np.linspace(0, used + 1, 30, dtype=int).tolist(), used, used + 1}:
        *results, left = evaluated(with_limit, [*args, np.int64(limit)])
        if left > 0:
            enough.append(limit)
            assert left == limit - used
            for result, wanted in zip(results, expected, strict=True):
                np.testing.assert_array_equal(result, wanted, strict=True)
    assert min(enough) == used + 1


def endless(a):
    return lax.while_loop(lambda s: s[1] > 0, lambda s: (snp.sin(s[0]), s[1] + 1), (a, 1))[0]


def endless_inside(a):
    return lax.while_loop(lambda s: s[1] > 0, lambda s: (endless(s[0]), s[1] + 1), (a, 1))[0]


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (endless, (np.float32(1),)),
        (endless_inside, (np.float32(1),)),
        (lambda a: lax.scan(lambda x, _: (endless(x), None), a, None, length=50)[0], (np.float32(1),)),
        (counted, (np.int32(0), np.int32(2**31 - 1))),
        (both, (np.float32(1), np.int32(2**31 - 1))),
    ],
)
def test_a_loop_without_an_end_uses_its_limit_up(function, args):
    with_limit = limited(graph_of(function, *args))
    for limit in (0, 1, 100):
        *_, left = evaluated(with_limit, [*args, np.int64(limit)])
        assert -20 < left <= 0


def test_bounds_of_64_bits_do_not_overflow():
    low, high = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    with stagec.config.override(enable_x64=True):
        graph = graph_of(counted, np.int64(0), np.int64(0))
        with_limit = limited(graph)
        for first, last in [(high - 5, high), (low, low + 7), (high, low)]:
            args = [np.int64(first), np.int64(last)]
            expected = evaluated(graph, args)
            for limit in (100, UNLIMITED):
                result, left = evaluated(with_limit, [*args, np.int64(limit)])
                assert left > 0
                np.testing.assert_array_equal(result, expected[0])
        assert evaluated(with_limit, [np.int64(low), np.int64(high), np.int64(10)])[1] <= 0
        unsigned = limited(graph_of(counted, np.uint64(0), np.uint64(0)))
        args = [np.uint64(2**64 - 4), np.uint64(2**64 - 1)]
        assert evaluated(unsigned, [*args, np.int64(100)])[1] > 0


@pytest.mark.parametrize(
    "function",
    [
        lambda a: lax.fori_loop(0, 5, lambda i, x: snp.sin(x), a),
        lambda a: lax.while_loop(lambda s: s[1] < 5, lambda s: (snp.sin(s[0]), s[1] + 2), (a, 0)),
        lambda a: newton(stagec.pure_callback(np.sin, a, a)),
        # A loop in a condition.
        lambda a: lax.while_loop(lambda x: endless(x) > 0, snp.sin, a),
        # A round takes long.
        lambda a: endless(a * snp.ones((2500, 2500))),
    ],
)
def test_other_programs_take_no_limit(function):
    assert limited(graph_of(function, np.float32(1))) is None


def test_the_rounds_of_a_loop_with_a_bound_stay_as_they_are():
    (loop,) = [e for e in graph_of(counted, 0, 9).equations if e.primitive.name == "while"]
    (checked,) = [e for e in limited(graph_of(counted, 0, 9)).equations if e.primitive.name == "while"]
    assert str(checked.params["body"]) == str(loop.params["body"])
    assert [e.primitive.name for e in checked.params["cond"].equations] == ["lt"]

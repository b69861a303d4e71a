"""Control flow under grad, jvp and vmap, in one another to any depth: against finite differences and JAX."""

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import lax
from stagec.api.gradients import grad
from stagec.compiler.build import all_equations
from stagec.core.graph import prune
from stagec.core.recording import trace_flat
from stagec.core.zero import Linear
from stagec.primitives.operand import aval_of
from stagec.transforms.batch import batch_front
from stagec.transforms.jvp import jvp_flat
from stagec.transforms.transpose import transpose_graph

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
    return L.while_loop(
        lambda c: (c[0] < 6) & (c[1].sum() < 20), lambda c: (c[0] + 1, c[1] * 1.5 + x[0] ** 2), (0, N.sin(x[1]))
    )[1].sum()


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
    function = theirs(program)
    first, curvature = jax.jit(lambda x: (jax.grad(function)(x), second(jax.grad, function)(x)))(X)
    close(grad(ours(program))(X), first)
    close(second(grad, ours(program))(X), curvature, 2e-3)


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


_PARTS = [(PROGRAMS + LOOPS)[i::4] for i in range(4)]


@pytest.mark.parametrize("chosen", _PARTS)
def test_compiled_derivatives_are_the_eager_ones(chosen):
    def everything(x, batch):
        found = []
        for program in chosen:
            function = stagec.jit(ours(program))
            found.append(jvp(function, x, snp.ones_like(x))[1])
            if program in LOOPS:
                found.append(vmap(function)(batch))
            else:
                found += [vmap(grad(function))(batch), second(grad, function)(x)]
        return found

    batch = np.random.default_rng(5).normal(size=(2, 5, 3)).astype(np.float32)
    for a, b in zip(stagec.jit(everything)(X, batch), everything(snp.asarray(X), snp.asarray(batch))):
        close(a, b, 2e-3)


# Counts


def recorded(function, *args):
    """The graph of a function of arrays."""
    return trace_flat(lambda *xs: leaves(function(*xs)), [aval_of(snp.asarray(a)) for a in args])[0]


def size(graph):
    return len(list(all_equations(graph)))


def scans(graph):
    return [e for e in all_equations(graph) if e.primitive.name == "scan"]


def test_functions_run_once_for_every_transformation():
    calls = []

    def step(c, row):
        calls.append("step")
        return lax.cond(row[0] > 0, up, down, c * row), c

    def up(c):
        calls.append("up")
        return lax.while_loop(lambda v: v.sum() < 0, grow, c)

    def down(c):
        calls.append("down")
        return c * 2

    def grow(c):
        calls.append("grow")
        return c + 1

    def function(x):
        return lax.scan(step, x[0], x)[1].sum()

    for transformed in (
        lambda: jvp(function, X, X),
        lambda: vmap(function)(np.stack([X, -X])),
        lambda: jvp(lambda v: jvp(function, v, v)[1], X, X),
        lambda: jvp(lambda v: vmap(function)(snp.stack([v, -v])), X, X),
    ):
        calls.clear()
        transformed()
        assert sorted(calls) == ["down", "grow", "step", "up"]


def test_reverse_mode_runs_a_step_once_also_to_second_order():
    calls = []

    def step(c, row):
        calls.append(1)
        return snp.sin(c) * row, c

    def function(x):
        return lax.scan(step, x[0], x)[1].sum()

    grad(function)(X)
    assert len(calls) == 1
    second(grad, function)(X)
    assert len(calls) == 2


def test_the_graph_of_a_gradient_does_not_grow_with_the_number_of_steps():
    def sizes(n):
        rows = np.ones((n, 3), np.float32)
        return [size(recorded(d, rows)) for d in (grad(ours(recurrent)), lambda x: second(grad, ours(recurrent))(x))]

    assert sizes(10) == sizes(1000)


def test_the_graph_of_a_gradient_grows_in_proportion_to_the_function():
    def deep(n):
        def function(x):
            def step(c, row):
                for _ in range(n):
                    c = lax.cond(c.sum() > 0, lambda v: snp.sin(v) * v, lambda v: v * v, c)
                return c, None

            return lax.scan(step, x[0], x)[0].sum()

        return size(recorded(grad(function), X))

    first, second_, third = deep(2), deep(4), deep(6)
    assert third - second_ == second_ - first


def test_the_graph_of_a_gradient_grows_in_proportion_to_the_depth_of_loops():
    def nested(n):
        def function(x):
            def level(k, c):
                if k == 0:
                    return snp.sin(c) * c
                return lax.scan(lambda d, _: (level(k - 1, d), None), c, None, length=2)[0]

            return level(n, x[0]).sum()

        return size(recorded(grad(function), X))

    first, second_, third = nested(2), nested(3), nested(4)
    assert third - second_ == second_ - first


def residuals(step, *args):
    """Shapes of what a scan's known half keeps for its backward pass."""
    graph = recorded(grad(lambda *a: step(*a)), *args)
    forward, backward = scans(graph)
    return [v.aval.shape for v in forward.outputs[forward.params["num_carry"] :]], forward, backward


def test_a_scan_keeps_what_the_backward_pass_reads_and_nothing_else():
    """Backward reads cos(c) and the row, which is there already; not sin(c), not the sum, not the counter."""

    def function(x, rows):
        def step(c, row):
            n, h = c
            return (n + 1, snp.sin(h) * row + n + snp.exp(row).sum()), None

        return lax.scan(step, (0, x), rows)[0][1].sum()

    kept, forward, _ = residuals(function, X[0], X)
    assert kept == [(5, 3)]
    assert [v.aval.dtype.name for v in forward.outputs] == ["int32", "float32", "float32"]


def test_a_linear_scan_keeps_nothing():
    def function(x, rows):
        return lax.scan(lambda c, row: (c * 0.5 + row, None), x, rows)[0].sum()

    graph = recorded(grad(function), X[0], X)
    assert [len(e.outputs) for e in scans(graph)] == [1, 1]


def test_what_is_the_same_in_every_step_is_kept_once():
    """The weights, and what is computed from them alone, are operands of the backward scan: they are not stacked."""

    def function(x, w):
        def step(c, _):
            return snp.exp(w) @ c * snp.sin(w[0]), None

        return lax.scan(step, x, None, length=7)[0].sum()

    kept, _, backward = residuals(function, X[0], W)
    assert kept == []
    consts = [a.aval.shape for a in backward.inputs[: backward.params["num_consts"]]]
    assert sorted(consts) == [(3,), (3, 3)]


def test_a_result_of_a_step_serves_as_its_residual():
    """The derivative of exp is exp, which the scan returns anyway."""

    def function(x):
        def step(c, _):
            y = snp.exp(c)
            return y, y

        return lax.scan(step, x, None, length=2)[1].sum()

    kept, _, _ = residuals(function, X[0])
    assert kept == [(2, 3)]


def test_branches_share_their_residuals():
    """One slot serves both branches, and the operand that one of them reads needs none."""

    def function(x, y):
        return lax.cond(
            x.sum() > 0,
            lambda: snp.sin(x) * y,
            lambda: snp.cos(x),
        ).sum()

    graph = recorded(grad(function), X, X)
    forward, _ = [e for e in graph.equations if e.primitive.name == "cond"]
    assert [v.aval.shape for v in forward.outputs] == [(5, 3), (5, 3)]


def test_only_what_is_batched_is_batched():
    """Under vmap a counter stays one counter, a common predicate one predicate."""

    def function(x, flag):
        def step(c, row):
            n, h = c
            return (n + 1, lax.cond(flag > 0, lambda: h * row, lambda: h + n)), n

        (_, h), ns = lax.scan(step, (0, x[0]), x)
        return h.sum() + ns.sum()

    def mapped(xs, flag):
        (out,) = batch_front(lambda x: leaves(function(x, flag)), [xs], [0], 2)
        return out

    graph = recorded(mapped, np.stack([X, X]), np.float32(1))
    (scan,) = scans(graph)
    assert [v.aval.shape for v in scan.outputs] == [(), (2, 3), (5,)]
    assert [e.primitive.name for e in all_equations(graph)].count("cond") == 1


def test_residuals_that_nothing_reads_are_not_computed():
    """The gradient of the last state does not read what the rows' results would need."""

    def function(x):
        return lax.scan(lambda c, row: (c * 0.5 + row, snp.exp(c).sum()), x[0], x)[0].sum()

    graph, _ = prune(recorded(grad(function), X))
    forward = [e for e in scans(graph) if not e.params["reverse"]]
    assert not forward
    assert "exp" not in [e.primitive.name for e in all_equations(graph)]


def test_results_that_nothing_reads_are_shed_together_with_what_they_need():
    def function(x):
        def body(c):
            n, a, b, unread = c
            return n + 1, snp.sin(b), a, unread * b

        n, a, _, _ = lax.while_loop(lambda c: c[0] < 5, body, (0, x[0], x[1], x[2]))
        chosen, _ = lax.cond(n > 3, lambda: (a * 2, snp.exp(x)), lambda: (a, snp.cos(x)))
        return lax.scan(lambda c, row: ((c[0] + row, c[1] * row), snp.tan(row)), (chosen, x[0]), x)[0][0]

    graph, _ = prune(recorded(function, X))
    names = {e.primitive.name for e in all_equations(graph)}
    assert not names & {"exp", "cos", "tan"} and "sin" in names
    by_name = {
        e.primitive.name: len(e.outputs) for e in graph.equations if e.primitive.name in ("while", "cond", "scan")
    }
    assert by_name == {"while": 3, "cond": 1, "scan": 1}
    np.testing.assert_allclose(stagec.jit(function)(X), function(X), rtol=1e-6)


# The cases at the edges


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_the_batch_axis_may_be_any(axis):
    batch = np.random.default_rng(6).normal(size=(4, 5, 3)).astype(np.float32)
    moved = np.moveaxis(batch, 0, axis)
    for program in (recurrent, choice, counted):
        (found,) = batch_front(lambda x, p=program: leaves(ours(p)(x)), [moved], [axis], 4)
        close(found, [ours(program)(x) for x in batch])


def test_a_linear_loop_with_a_counter_is_transposed():
    """Inner products agree: the counter and the powers of two run forward, the rest runs back."""

    def function(x):
        def body(i, c):
            return c[0] * 2, c[1] * i + x * c[0]

        return lax.fori_loop(0, 4, body, (snp.float32(1), x))[1]

    x, y = X[0], X[1]
    (pulled,) = transpose_graph(recorded(function, x), [Linear(aval_of(x))], [y])
    close((np.asarray(pulled) * x).sum(), (np.asarray(function(x)) * y).sum())


@pytest.mark.parametrize("lanes", [[0, 3, 9], [5, 5, 5]])
def test_each_lane_of_a_while_loop_stops_at_its_own_time(lanes):
    def function(n, x):
        return lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * 2, c[2]), (0, x, x))[1]

    xs = np.array([1.0, np.inf, 3.0], np.float32)
    found = vmap(function)(np.array(lanes, np.int32), xs)
    np.testing.assert_array_equal(found, xs * 2.0 ** np.array(lanes))


def test_a_lane_that_is_done_is_not_harmed_by_further_steps():
    def function(n):
        return lax.while_loop(lambda c: c[0] > 0, lambda c: (c[0] - 1, 1 / c[0]), (n, snp.float32(0)))[1]

    found = vmap(function)(np.array([1.0, 4.0, 0.0], np.float32))
    np.testing.assert_array_equal(found, [1.0, 1.0, 0.0])
    found, dot = jvp(vmap(function), np.array([2.0, 1.0], np.float32), np.ones(2, np.float32))
    np.testing.assert_array_equal(dot, [-1.0, -1.0])


def test_lanes_take_their_own_branches():
    def function(i, x):
        return lax.switch(i, [lambda v: v, lambda v: v * 10, lambda v: snp.float32(7)], x)

    found = vmap(function)(np.array([2, 0, 1, 5, -1], np.int32), np.arange(1.0, 6.0, dtype=np.float32))
    np.testing.assert_array_equal(found, [7, 2, 30, 7, 5])


def test_a_while_loop_that_the_derivative_does_not_need_is_no_obstacle():
    def function(x):
        n, _last = lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2), (0, x))
        steps = lax.while_loop(lambda n: n < 10, lambda n: n * 2, 1)
        return x * n * steps

    assert float(grad(function)(1.0)) == 48.0
    assert float(stagec.jit(grad(function))(1.0)) == 48.0


def test_fori_loop_has_derivatives_with_known_and_with_traced_bounds():
    def power(n):
        return lambda x: lax.fori_loop(0, n, lambda i, c: c * x, 1.0)

    assert float(grad(power(3))(2.0)) == 12.0
    assert float(stagec.jit(grad(power(3)))(2.0)) == 12.0
    assert float(stagec.jit(lambda n, x: jvp(power(n), x, snp.float32(1))[1])(3, 2.0)) == 12.0
    assert float(stagec.jit(lambda n, x: grad(power(n))(x))(3, 2.0)) == 12.0


def test_rounds_after_the_end_of_a_lane_do_not_reach_its_derivative():
    def function(n):
        return lax.while_loop(lambda c: c[0] > 0, lambda c: (c[0] - 1, 1 / c[0] + c[1]), (n, 0 * n))[1]

    lanes = np.array([2.0, 1.0, 4.0], np.float32)
    expected = stagec.jit(vmap(grad(function)))(lanes)
    assert np.isfinite(expected).all()
    np.testing.assert_allclose(stagec.jit(grad(lambda n: vmap(function)(n).sum()))(lanes), expected, rtol=1e-6)


def test_nans_of_the_branch_not_taken_do_not_reach_the_gradient():
    def function(x):
        return lax.cond(x > 0, lambda v: snp.sqrt(v), lambda v: 0.0 * v, x)

    assert float(grad(function)(-1.0)) == 0.0
    assert float(stagec.jit(grad(function))(-1.0)) == 0.0


def test_nans_of_the_branches_that_other_lanes_take_do_not_reach_the_gradient():
    def function(x):
        return lax.cond(x > 0, snp.sqrt, lambda v: 0.0 * v, x)

    def switched(x):
        return lax.switch((x > 0).astype("int32") * 2, [lambda v: 0.0 * v, lambda v: 1 / v, snp.sqrt], x)

    x = np.array([0.0, 4.0, 0.0], np.float32)
    for f in (function, switched):
        total = lambda v, f=f: vmap(f)(v).sum()  # noqa: E731
        for found in (
            grad(total)(x),
            stagec.jit(grad(total))(x),
            vmap(grad(f))(x),
            jvp(vmap(f), x, np.ones_like(x))[1],
        ):
            np.testing.assert_array_equal(found, [0, 0.25, 0])
    _, push = stagec.linearize(function, np.float32(4))
    mapped = stagec.vmap(push)
    np.testing.assert_array_equal(stagec.linear_transpose(mapped, x)(x)[0], x / 4)


@pytest.mark.parametrize(
    "transformed",
    [
        lambda f: grad(lambda x: f(x)[1].sum()),
        lambda f: vmap(lambda x: f(x)[1]),
        lambda f: stagec.jit(vmap(lambda x: f(x)[1])),
        lambda f: lambda x: jvp(lambda v: f(v)[1], x, x),
        lambda f: vmap(grad(lambda x: f(x)[1].sum())),
    ],
)
def test_a_carry_that_changes_its_type_is_named_under_every_transformation(transformed):
    def step(c, row):
        return {"h": [c["h"][0], row.sum().astype("int32")], "n": c["n"] + 1}, row

    def function(x):
        return lax.scan(step, {"h": [x.sum(), x.sum()], "n": 0}, snp.ones((4, 2)))[0]["h"]

    with pytest.raises(stagec.errors.CarryError) as caught:
        transformed(function)(X)
    text = str(caught.value)
    assert "carry['h'][1]" in text and "taken as float32[]" in text and "returned as int32[]" in text
    assert "test_control_rules.py" in text

"""Arrays without elements leave compiled programs; what is computed from others stays in them."""

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import lax
from stagec.api.program import evaluated
from stagec.control.empty import has_empty, without_empty

X, E = np.linspace(0.5, 2, 4, dtype=np.float32), np.zeros((0, 4), np.float32)
N = np.zeros(0, np.int32)


@stagec.custom_jvp
def doubled(x, e):
    return x * 2, e


doubled.defjvp(lambda primals, tangents: (doubled(*primals), doubled(*tangents)))


def scanned(x, e):
    def step(carry, row):
        first, empty, count = carry
        return (first * row[0], empty + 1, count + 1), (empty * 2, first.sum(), row[1])

    return lax.scan(step, (x, e, 0), (snp.arange(3.0), snp.zeros((3, 0))))


PROGRAMS = {
    "elementwise": lambda x, e: (snp.sin(x), e * 2 + 1),
    "reductions": lambda x, e: (e.sum(0) + x, e.sum(1), snp.max(e, axis=0, initial=-1.0) * x, e.any(), e.prod() * x),
    "products": lambda x, e: (e.T @ e, e @ x, snp.outer(e[:, 0], x), x * 2),
    "large results": lambda x, e: snp.zeros((30, 0)) @ snp.zeros((0, 40)) + x[0],
    "joins": lambda x, e: (snp.concatenate([x, e[:, 0], x]), snp.concatenate([e, e]), snp.vstack([e, x])),
    "one array joined to nothing": lambda x, e: snp.concatenate([x * 2, e.ravel()]),
    "padding": lambda x, e: (snp.pad(e, ((1, 1), (0, 0)), constant_values=x[0]), snp.pad(e, ((0, 2), (1, 0)))),
    "updates": lambda x, e: (x.at[N].set(e[:, 0]), x.at[N].add(1.0), lax.dynamic_update_slice(x, e[:, 0], (1,))),
    "reads": lambda x, e: (x[N], x[:0], e[:, 1], snp.take(x, N) + 1, x[1:]),
    "sorts": lambda x, e: (snp.sort(e, 0), snp.cumsum(e, 0), snp.argsort(x)),
    "transforms": lambda x, e: (snp.fft.fft(e), stagec.nn.softmax(e), x - 1),
    "a scan that carries, reads and writes": scanned,
    "a scan of no rounds": lambda x, e: lax.scan(lambda c, row: (c + row, c * 2), x * 3, e),
    "a while loop": lambda x, e: lax.while_loop(lambda c: c[0].sum() < 100, lambda c: (c[0] * 1.5, c[1] + 1), (x, e)),
    "a branch": lambda x, e: lax.cond(x[0] > 0, lambda a, b: (a + 1, b * 2), lambda a, b: (a, b), x, e),
    "a call": lambda x, e: stagec.jit(lambda a, b: (a * 2, b, b.sum()))(x, e),
    "a custom rule": lambda x, e: doubled(x, e),
    "derivatives": lambda x, e: stagec.grad(lambda a, b: (a**2).sum() + (b**2).sum(), (0, 1))(x, e),
    "a derivative through a loop": lambda x, e: stagec.grad(lambda a: scanned(a, e)[0][0].sum())(x),
    "batches": lambda x, e: (stagec.vmap(lambda a: a * x)(e), stagec.vmap(lambda v: (e * v).sum() + v)(x)),
    "integers": lambda x, e: (N + 1, N.astype(bool).all(), snp.bincount(N, length=3), x.astype(int)),
    "results that are arguments": lambda x, e: (e, x, e),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_with_empty_arrays_are_compiled(name):
    jitted = stagec.jit(PROGRAMS[name])
    x, e = snp.asarray(X), snp.asarray(E)
    trace = jitted.trace(x, e)._trace
    runnable = jitted._settings.runnable(trace)
    assert not has_empty(runnable.code.graph)
    expected = evaluated(trace.graph, [*map(snp.asarray, trace.captured), x, e])
    found = stagec.tree.leaves(jitted(x, e))
    for a, b, aval in zip(found, expected, trace.graph.out_avals, strict=True):
        assert a.aval == aval
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=2e-6)


def test_graphs_without_empty_arrays_stay_as_they_are():
    graph = stagec.jit(lambda x: snp.sin(x)).trace(X)._trace.graph
    assert without_empty(graph) is graph


def test_donated_empty_arrays_are_deleted():
    e, x = snp.asarray(E), snp.asarray(X)
    first, second = stagec.jit(lambda e, x: (e + 1, x * 2), donate_argnums=(0, 1))(e, x)
    assert e.is_deleted() and x.is_deleted() and first.shape == E.shape and second.tolist() == (X * 2).tolist()

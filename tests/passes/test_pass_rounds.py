"""Loops of independent rounds become operations on the arrays of all rounds, with the same results; others stay."""

import numpy as np
import pytest
from pass_helpers import same_bits

import passes
import stagec
import stagec.numpy as snp
from passes.match import operations_in
from passes.numeric.interpreter import interpret
from stagec import lax

X = np.arange(20, dtype=np.int32).reshape(5, 4) - 7
F = X.astype(np.float32) / 4
NAN = F.copy()
NAN[2:4, 1] = -0.0, np.nan
W = np.arange(12, dtype=np.int32).reshape(3, 4) % 5 - 2
INDICES = np.array([3, -1, 0, 9, 2], np.int32)
FILTER = np.float32([1, 2, 3])


def rounds_of(f):
    """A function of matrices' rows, one round each."""
    return lambda x, *others: lax.map(lambda row: f(row, *others), x)


# What each computes has a form for all rounds.
INDEPENDENT = {
    "function": (rounds_of(snp.sin), F),
    "number with an array": (rounds_of(lambda t, x: t[0] * x[1] + 2), F, F),
    "clamp and selection": (rounds_of(lambda t: snp.where(t[0] > 0, lax.clamp(t[1], t, t[2]), -t)), X),
    "moves": (rounds_of(lambda t: snp.pad(t[1:].reshape(3, 1).T[:, ::-1], ((0, 1), (1, 0)))), X),
    "concatenation": (rounds_of(lambda t, w: snp.concatenate([t, w[0], t[:1]])), X, W),
    "reduction": (rounds_of(lambda t: t.reshape(2, 2).max(0)), F),
    "several arrays reduced": (rounds_of(lambda t: (t.argmax(), t.sum())), X),
    "sort": (rounds_of(lambda t: (snp.sort(t), snp.argsort(-t))), X),
    "matrix times row": (rounds_of(lambda t, w: w @ t), X, W),
    "row times matrix": (rounds_of(lambda t, w: t @ w.T), X, W),
    "row times row": (rounds_of(lambda t: t @ t), X),
    "outer product": (rounds_of(lambda t, w: snp.outer(w[0], t)), X, W),
    "products of batches": (
        rounds_of(lambda t, w: snp.einsum("bi,bj->bij", w[:, :2], snp.stack([t[:2], t[1:3], t[2:]]))),
        X,
        W,
    ),
    "rows of indices": (lambda x, i: lax.map(lambda k: lax.dynamic_slice(x, (k, 1), (2, 2)), i), X, INDICES),
    "elements at indices of each round": (
        lambda x, i: lax.map(lambda k: x[k + 1], i.reshape(5, 1) % snp.arange(1, 4)),
        X,
        INDICES,
    ),
    "elements of each row": (lambda x, i: lax.map(lambda t: t[i % 4], x), X, INDICES),
    "elements of each row at its own indices": (lambda x: lax.map(lambda t: t[t[1:] % 4] + t[t[0]], x), X),
    "columns of each matrix": (
        lambda x: lax.map(lambda t: t.reshape(2, 2)[:, t[2:] % 2].T, x),
        X,
    ),
    "part of each row": (lambda x: lax.map(lambda t: lax.dynamic_slice(t.reshape(2, 2), (t[0], 0), (1, 2)), x), X),
    "part of a row": (rounds_of(lambda t: lax.dynamic_slice(t, (1,), (2,))), X),
    "part of a row is replaced": (rounds_of(lambda t, w: lax.dynamic_update_slice(t, w[0, :2] + t[0], (1,))), X, W),
    "bits": (rounds_of(lambda t: lax.bitcast_convert_type(t, np.int32)), F),
    "transform": (rounds_of(lambda t: lax.fft(t, "RFFT", (4,)).real), F),
    "from the last": (lambda x: lax.scan(lambda c, t: (c + 2, t * c), 1, x, reverse=True), X),
    "every second row": (lambda x: lax.map(lambda i: x[2 * i] - i, snp.arange(3)), X),
    "columns": (lambda x: lax.fori_loop(0, 4, lambda i, s: s.at[:, i].set(x[:, 3 - i] * i), x), X),
    "rows in place": (lambda x: lax.fori_loop(1, 4, lambda i, s: s.at[i].set(s[i] * s[i, 0]), x), X),
    "fill": (lambda x: lax.fori_loop(0, 3, lambda i, s: s.at[i + 1].set(x[0]), x * 2), X),
    "sum of integers": (lambda x: lax.fori_loop(0, 5, lambda i, s: s + x[i] * i, x[0]), X),
    "maximum": (lambda x: lax.fori_loop(0, 5, lambda i, s: snp.maximum(x[i, 0] / 3, s), np.float32(-9)), F),
    "any": (lambda x: lax.fori_loop(0, 5, lambda i, s: s | (x[i].sum() > 30), False), X),
    "running sum of integers": (lambda x: lax.scan(lambda c, t: (c + t, (c, c + t)), 3, x[:, 0]), X),
    "running sum of integers from the last": (
        lambda x: lax.scan(lambda c, t: (c + t, (c, c + t)), 3, x[:, 1], reverse=True),
        X,
    ),
    "running product of integers": (lambda x: lax.scan(lambda c, t: (c * t, (c, t - c)), 3, x[:, 0]), X),
    "running maximum": (
        lambda x: lax.scan(lambda c, t: (snp.maximum(c, t), (c, t / 3)), np.float32(-np.inf), x[:, 1]),
        NAN,
    ),
    "running minimum": (lambda x: lax.scan(lambda c, t: (snp.minimum(c, t), c), np.float32(np.inf), x[:, 1]), NAN),
    "any so far": (lambda x: lax.scan(lambda c, t: (c | (t > 5), (c, t)), False, x[:, 1]), X),
    "odd so far": (lambda x: lax.scan(lambda c, t: (c ^ (t > 0), (c, t)), True, x[:, 1]), X),
    "sums of sums": (lambda x: lax.scan(lambda c, t: ((c[0] + c[1], c[1] + t), c), (1, 2), x[:, 1]), X),
    "index of a running sum": (lambda x: lax.scan(lambda c, t: (c + t * t, x[c % 5]), 1, x[:, 1]), X),
    "parts of a running sum": (
        lambda x: lax.fori_loop(1, 4, lambda i, s: (s[0] + x[i, 0], s[1].at[i].set(s[0] + x[i, 0])), (x[0, 1], x)),
        X,
    ),
    "running sum in place": (lambda x: lax.fori_loop(1, 20, lambda i, s: s.at[i].add(s[i - 1]), x.reshape(-1)), X),
    "running sum into an array": (
        lambda x: lax.fori_loop(1, 5, lambda i, s: s.at[i].set(s[i - 1] - x[i, 2]), x[:, 0]),
        X,
    ),
    "running product in place from the last": (
        lambda x: lax.fori_loop(0, 4, lambda i, s: s.at[3 - i].multiply(s[4 - i]), x[:, 1]),
        X,
    ),
    "running maximum in place": (
        lambda x: lax.fori_loop(1, 5, lambda i, s: s.at[i].set(snp.maximum(s[i - 1], s[i])), x[:, 1]),
        NAN,
    ),
    "blocks": (
        lambda x: lax.fori_loop(
            0,
            2,
            lambda i, s: lax.dynamic_update_slice(
                s, lax.dynamic_slice(x, (2 * i, 0), (2, 4)) * (i + 2), (2 * i + 1, 0)
            ),
            x,
        ),
        X,
    ),
    "blocks of columns from the last": (
        lambda x: lax.fori_loop(
            0,
            2,
            lambda i, s: lax.dynamic_update_slice(s, lax.dynamic_slice(x, (0, 2 * i), (5, 2)) * i, (0, 2 - 2 * i)),
            x,
        ),
        X,
    ),
    "blocks in place": (
        lambda x: lax.fori_loop(
            0, 2, lambda i, s: lax.dynamic_update_slice(s, -lax.dynamic_slice(s, (2 * i + 1, 0), (2, 4)), (2 * i, 0)), x
        ),
        X,
    ),
    "rows that follow": (lambda x: lax.fori_loop(0, 4, lambda i, s: s.at[i].set(s[i + 1] - s[i]), x), X),
    "rows that follow from the last": (
        lambda x: lax.fori_loop(0, 4, lambda i, s: s.at[4 - i].set(s[4 - i] - s[3 - i]), x),
        X,
    ),
    "row that stays": (lambda x: lax.fori_loop(1, 5, lambda i, s: s.at[i].set(s[0] * i + s[i]), x), X),
    "counted": (lambda x: lax.fori_loop(0, 5, lambda i, c: snp.where(x[i, 0] > 2, c + 1, c), 7), X),
    "largest of some": (
        lambda x: lax.fori_loop(
            0, 5, lambda i, c: lax.cond(x[i, 0] > 0, lambda: snp.maximum(c, x[i, 1]), lambda: c), F[0, 0]
        ),
        NAN,
    ),
    "elements one by one": (
        lambda x: lax.fori_loop(0, 5, lambda j, s: lax.fori_loop(0, 4, lambda i, t: t.at[j, i].add(i * j), s), x),
        X,
    ),
    "columns one by one": (
        lambda x: lax.fori_loop(0, 4, lambda j, s: lax.fori_loop(1, 5, lambda i, t: t.at[i, j].add(t[i - 1, j]), s), x),
        X,
    ),
    "product of matrices": (
        lambda x, w: lax.fori_loop(
            0,
            5,
            lambda i, s: lax.fori_loop(
                0, 3, lambda j, t: lax.fori_loop(0, 4, lambda k, u: u.at[i, j].add(x[i, k] * w[j, k]), t), s
            ),
            snp.zeros((5, 3), np.int32),
        ),
        X,
        W,
    ),
    "last round": (lambda x: lax.fori_loop(0, 5, lambda i, s: x[i] * 2, x[0]), X),
    "last round backwards": (lambda x: lax.scan(lambda c, t: (t, t * 2), x[0], x, reverse=True), X),
    "loop in a loop": (lambda x: lax.map(lambda t: lax.map(lambda e: e * 2 + t[0], t), x), X),
    "cheap choice": (lambda x: lax.map(lambda e: lax.cond(e > 0, lambda: e * 2, lambda: e - 1), x[0]), X),
}
# A loop in the body is one for all rounds.
NESTED = {
    "loop of numbers": (lambda x: lax.map(lambda a: lax.fori_loop(0, 20, lambda i, y: y * a % 7 + i, a), x[:, 0]), X),
    "loop over a row": (lambda x: lax.map(lambda t: lax.fori_loop(0, 4, lambda i, s: s * 3 - t[i], t[0]), x), X),
    "scan of a row": (lambda x: lax.map(lambda t: lax.scan(lambda c, e: (c * 2 + e, c), 1, t), x), X),
    "loops of two levels": (
        lambda x: lax.map(
            lambda a: lax.fori_loop(0, 9, lambda i, y: lax.fori_loop(0, i, lambda j, z: z * 3 - a, y), a), x[0]
        ),
        X,
    ),
    "matrix": (lambda x, w: lax.map(lambda t: lax.fori_loop(0, 30, lambda i, y: (w @ y)[:1] * t % 5, t), x), X, W),
    "length from outside": (
        lambda x, n: lax.map(lambda a: lax.fori_loop(0, n, lambda i, y: y * a % 7, a), x[0]),
        X,
        np.int32(5),
    ),
}
# A round depends on what another one left, or on more than the law knows.
DEPENDENT = {
    "recurrence": (lambda x: lax.scan(lambda c, t: (snp.sin(c) * t, c), F[0], x), F),
    "running sum": (lambda x: lax.scan(lambda c, t: (c + t, c), x[0], x), F),
    "running sums of rows": (lambda x: lax.scan(lambda c, t: (c + t, c), x[0], x), X),
    "running sum of what follows from it": (lambda x: lax.scan(lambda c, t: (c + t * (c > 4), c), 1, x[:, 1]), X),
    "doubled": (lambda x: lax.scan(lambda c, t: (c + c, c + t), 1, x[:, 1]), X),
    "one sum of two": (lambda x: lax.scan(lambda c, t: ((c[0] + c[1], c[1] + c[0]), (c, t)), (1, 2), x[:, 1]), X),
    "sums that need one another": (
        lambda x: lax.scan(lambda c, t: ((c[0] + c[1], c[1] + c[0] * t), c), (1, 2), x[:, 1]),
        X,
    ),
    "sum of floats": (lambda x: lax.fori_loop(0, 50, lambda i, s: s + x[i % 5], x[0]), F),
    "blocks that overlap": (
        lambda x: lax.fori_loop(
            0, 4, lambda i, s: lax.dynamic_update_slice(s, -lax.dynamic_slice(s, (i, 0), (2, 4)), (i, 0)), x
        ),
        X,
    ),
    "blocks that the one before wrote": (
        lambda x: lax.fori_loop(
            0, 2, lambda i, s: lax.dynamic_update_slice(s, -lax.dynamic_slice(s, (2 * i, 0), (2, 4)), (2 * i + 1, 0)), x
        ),
        X,
    ),
    "rows before and after": (lambda x: lax.fori_loop(1, 4, lambda i, s: s.at[i].set(s[i - 1] + s[i + 1]), x), X),
    "row that changes": (lambda x: lax.fori_loop(0, 5, lambda i, s: s.at[i].set(s[2] * i + s[i]), x), X),
    "counted until": (lambda x: lax.fori_loop(0, 5, lambda i, c: snp.where(c < 2, c + x[i, 0], c), 0), X),
    "row before": (lambda x: lax.fori_loop(1, 5, lambda i, s: s.at[i].set(snp.sin(s[i - 1])), x), F),
    "whole state": (lambda x: lax.fori_loop(0, 5, lambda i, s: s.at[i].set(snp.sin(s.sum(0))), x), F),
    "one row often": (lambda x, k: lax.fori_loop(0, 5, lambda i, s: s.at[k[i]].set(snp.sin(x[i])), x), F, INDICES),
    "condition of a row": (
        lambda x: lax.map(lambda a: lax.while_loop(lambda y: y < 50, lambda y: y * 2 + 9, a), x[0]),
        X,
    ),
    "large array": (
        lambda x: lax.map(lambda i: (snp.outer(x, x) * i).sum(), snp.arange(9)),
        np.arange(200, dtype=np.float32),
    ),
}


def simplified(f, arrays):
    module = stagec.jit(f).lower(*arrays).compiler_ir()
    read = arrays[: len(module.body.operations[0].operation.regions[0].blocks[0].arguments)]
    before = interpret(module, *read)
    passes.run(module, "forms,simplify")
    return module, before, interpret(module, *read)


@pytest.mark.parametrize("name", INDEPENDENT)
def test_independent_rounds_become_array_operations(name):
    f, *arrays = INDEPENDENT[name]
    module, before, after = simplified(f, arrays)
    assert not operations_in(module, "stablehlo.while"), str(module)
    for want, got in zip(before, after, strict=True):
        assert same_bits(want, got) or np.allclose(want, got, rtol=1e-6), (want, got)


@pytest.mark.parametrize("name", NESTED)
def test_loops_of_independent_rounds_run_at_once(name):
    f, *arrays = NESTED[name]
    module, before, after = simplified(f, [np.asarray(a) for a in arrays])
    loops = operations_in(module, "stablehlo.while")
    assert not any(operations_in(loop, "stablehlo.while") for loop in loops[name == "loops of two levels" :])
    assert all(same_bits(want, got) for want, got in zip(before, after, strict=True))
    with stagec.disable_jit():
        expected = stagec.tree.leaves(f(*map(snp.asarray, arrays)))
    for want, got in zip(expected, stagec.tree.leaves(stagec.jit(f)(*arrays)), strict=True):
        np.testing.assert_array_equal(np.asarray(want), np.asarray(got))


@pytest.mark.parametrize("name", DEPENDENT)
def test_rounds_that_depend_on_others_stay(name):
    f, *arrays = DEPENDENT[name]
    module, before, after = simplified(f, arrays)
    assert operations_in(module, "stablehlo.while")
    assert all(same_bits(want, got) for want, got in zip(before, after, strict=True))


@pytest.mark.parametrize(
    "name",
    [name for name in INDEPENDENT if "running" in name or "so far" in name]
    + ["sums of sums", "matrix times row", "rows of indices", "columns", "from the last", "loop in a loop"],
)
def test_array_operations_of_all_rounds_compute_what_numpy_does(name):
    f, *arrays = INDEPENDENT[name]
    with stagec.disable_jit():
        expected = f(*map(snp.asarray, arrays))
    for want, got in zip(stagec.tree.leaves(expected), stagec.tree.leaves(stagec.jit(f)(*arrays)), strict=True):
        np.testing.assert_array_equal(np.asarray(want), np.asarray(got))

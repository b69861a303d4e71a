"""Functions whose arrays are padded along open axes: operations take no notice of the padding."""

import shutil

import numpy as np
import pytest
from c_libraries import LEVEL, SANITIZERS, ran, written
from test_c_sizes import assert_close
from test_web import TARGET, ran as ran_in_node

import stagec
import stagec.numpy as snp
from stagec import lax, nn
from stagec.control.bodies import evaluate
from stagec.core import open_graph
from stagec.core.dims_values import symbols
from stagec.core.graph import Literal
from stagec.scipy.special import logsumexp
from stagec.standalone.padded import padded
from stagec.standalone.padded_steps import UnpaddedError

RNG = np.random.default_rng(0)


def reductions(x):
    found = [f(x) for f in (snp.sum, snp.prod, snp.max, snp.min, snp.argmax, snp.argmin, snp.mean, snp.std, snp.median)]
    return *found, (x > 0).all(), (x > 0).any(), snp.ptp(x), logsumexp(x), snp.quantile(x, 0.3)


def running(x):
    functions = (lax.cumsum, lax.cumprod, lax.cummax, lax.cummin)
    return [f(x, reverse=reverse) for f in functions for reverse in (False, True)]


def sorted_(x):
    return (
        snp.sort(x),
        snp.argsort(x),
        snp.sort(x)[::-1],
        snp.sort(x + x[::-1] * 1j),
        lax.top_k(x, 4),
        lax.sort_key_val(-x, x),
    )


def moved(x):
    ends = x[::-1], x[: x.shape[0] // 2], x[1:] - x[:-1], x[5], x[-1], x[::2], x[3:-2], x[-3:]
    return *ends, snp.concatenate([x, x * 2, x[:3]]), snp.roll(x, 1), snp.pad(x, (2, 3)), snp.pad(x, 1, mode="edge")


def looked_up(x, i):
    modes = [x.at[i].get(mode=mode) for mode in ("clip", "fill", "promise_in_bounds")]
    return x[i], modes, x.at[i].add(1.0), x.at[i].set(7.0), x.at[i].mul(2.0, mode="clip"), snp.zeros(5).at[i].add(x[0])


def looped(x):
    total = lax.fori_loop(0, x.shape[0], lambda i, s: s * 0.5 + x[i], 0.0)
    scans = [lax.scan(lambda c, r: (c * 0.5 + r, c), 0.0, x, reverse=reverse) for reverse in (False, True)]
    grown = lax.while_loop(lambda s: (s * s).sum() < 100.0, lambda s: s * 1.5 + 0.1, x)
    return total, scans, grown, lax.cond(x.sum() > 0, lambda: x.cumsum(), lambda: x[::-1])


def rows(x):
    return snp.sort(x, axis=1), snp.cumsum(x, axis=1)[:, ::-1], nn.softmax(x), x.sum(1), x / x.shape[1]


def distances(x, y):
    found = ((x[:, None] - y) ** 2).sum(-1)
    return found, snp.argmin(found, axis=1), x @ y.T


def matrices(x):
    square = x @ x
    return snp.tril(x), snp.trace(x), x.T - x, square, nn.softmax(square @ x)


def windows(x, k):
    means = lax.reduce_window(x, 0.0, lax.add, (3,), (1,), "SAME")
    return snp.convolve(x, k), means, lax.reduce_window(x, -np.inf, lax.max, (2,), (1,), "VALID")


def flat(x):
    return (
        x.reshape(-1),
        x.reshape(-1).cumsum(),
        x.reshape(-1, 2, 3),
        snp.repeat(x, 2, axis=0),
        snp.stack([x, x], axis=-1),
    )


def loss(x):
    return (nn.softmax(snp.sort(x)) * snp.cumsum(x)).sum()


# A function, and descriptions of its arguments.
PROGRAMS = {
    "reductions": (reductions, "f32[2 <= n <= 200]"),
    "integers": (lambda x: (snp.sort(x), x.max(), x.min(), x.sum(), (x ^ 3).any(), x // x.shape[0]), "i32[n <= 200]"),
    "running": (running, "f32[n <= 200]"),
    "sorted": (sorted_, "f32[4 <= n <= 200]"),
    "moved": (moved, "f32[9 <= n <= 200]"),
    "looked up": (looked_up, "f32[n <= 20]", "i32[k <= 10]"),
    "looped": (looped, "f32[n <= 20]"),
    "rows": (rows, "f32[b <= 10,n <= 20]"),
    "taken": (lambda x, i: snp.take_along_axis(x, i, axis=1), "f32[b <= 10,n <= 20]", "i32[b <= 10,n <= 20]"),
    "distances": (distances, "f32[b <= 10,3]", "f32[c <= 20,3]"),
    "matrices": (matrices, "f32[n <= 20,n]"),
    "windows": (windows, "f32[5 <= n <= 50]", "f32[3]"),
    "flat": (flat, "f32[n <= 20,6]"),
    "gradient": (stagec.value_and_grad(loss), "f32[n <= 50]"),
    "multiples": (lambda x: x[: x.shape[0] // 2].sum() + x[::2].max() * x.size, "f32[4*k,k <= 30]"),
}


def drawn(aval, padding=None):
    """An array of an aval, or of a larger one whose other elements would change results."""
    if padding is None:
        found = RNG.integers(-3, 9, aval.shape) if aval.dtype.kind == "i" else RNG.normal(size=aval.shape)
        return found.astype(aval.dtype)
    found = np.full(padding.shape, 10**6 if aval.dtype.kind == "i" else RNG.choice([np.nan, 1e9]), aval.dtype)
    found[tuple(map(slice, aval.shape))] = drawn(aval)
    return found


def numbers(values):
    return [np.asarray(v.value if isinstance(v, Literal) else v) for v in values]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_padding_changes_nothing(name):
    function, *descriptions = PROGRAMS[name]
    graph = stagec.export(function)(*descriptions)._runnable.code.graph
    found = symbols([aval.shape for aval in graph.in_avals])
    most = {symbol: int(symbol.upper) for symbol in found}
    program, room = padded(graph, most, name), open_graph.at(graph, most)
    for share in (0, 0.02, 0.3, 0.9, 1):
        sizes = {s: s.lower + round(share * (s.upper - s.lower)) for s in found}
        static = open_graph.at(graph, sizes)
        given = [drawn(*avals) for avals in zip(static.in_avals, room.in_avals)]
        own = [x[tuple(map(slice, aval.shape))] for x, aval in zip(given, static.in_avals)]
        made = numbers(evaluate(program, [*given, *[np.int32(n) for n in sizes.values()]]))
        for a, b, aval in zip(made, numbers(evaluate(static, own)), static.out_avals, strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_allclose(a[tuple(map(slice, aval.shape))], b, rtol=1e-4, atol=1e-4, err_msg=str(sizes))


@pytest.mark.parametrize(
    ("function", "description", "reason"),
    [
        (lambda x: x.reshape(-1), "f32[2,n <= 200]", "reshape moves elements among open axes"),
        (lambda x: snp.stack([x, x]), "f32[n <= 200]", "reshape moves elements among open axes"),
        (lambda x: x[1:], "f32[n <= 200]", "the size n - 1 may be 0"),
        (
            lambda x: snp.zeros(300 - x.shape[0]) + x.sum(),
            "f32[n <= 200]",
            "the size -n \\+ 300 may shrink where others grow",
        ),
    ],
)
def test_what_has_no_padded_form_says_so(function, description, reason):
    graph = stagec.export(function)(description)._runnable.code.graph
    most = dict.fromkeys(symbols([a.shape for a in graph.in_avals]), 200)
    with pytest.raises(UnpaddedError, match=reason):
        padded(graph, most, "")


def mixed(x):
    return snp.cumsum(x), snp.sort(x), nn.softmax(x), snp.prod(x / 2), x[::-1]


def attention(x, w):
    weights = nn.softmax(snp.einsum("bnd,bmd->bnm", x, x))
    return snp.einsum("bnm,bmd->bnd", weights, x) @ w, x.max((1, 2)), x


# And some sizes.
LIBRARIES = {
    "mixed": (mixed, ["f32[n <= 100000]"], [(1,), (16,), (17,), (1000,), (100000,)]),
    "attention": (attention, ["f32[b,n <= 300,4]", "f32[4,5]"], [(1, 1), (9, 40), (3, 300)]),
    "distances": (distances, ["f32[b <= 40,3]", "f32[c <= 50,3]"], [(1, 1), (40, 50), (17, 33)]),
}


def cases(name):
    function, descriptions, sizes = LIBRARIES[name]
    for values in sizes:
        exported = stagec.export(function)(*descriptions)
        known = dict(zip(symbols([a.shape for a in exported.in_avals]), values))
        yield values, [drawn(aval.at(known)) for aval in exported.in_avals]


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_library_has_code_for_some_sizes_and_those_below(name, tmp_path):
    function, descriptions, _ = LIBRARIES[name]
    exported = written(function, descriptions, tmp_path)
    for sizes, arguments in cases(name):
        found = ran(tmp_path, exported, arguments, SANITIZERS, sizes=sizes)
        assert_close(found, stagec.jit(function, target=LEVEL)(*arguments))


@pytest.mark.skipif(not shutil.which("node"), reason="there is no node here")
@pytest.mark.parametrize("name", LIBRARIES)
def test_so_has_a_module(name, tmp_path):
    function, descriptions, _ = LIBRARIES[name]
    exported = stagec.export(function, TARGET)(*descriptions)
    names = [symbol.name for symbol in symbols([a.shape for a in exported.in_avals])]
    for sizes, arguments in cases(name):
        found = ran_in_node(tmp_path, exported, arguments, True, **dict(zip(names, sizes)))
        assert_close(found, stagec.jit(function, target=TARGET)(*arguments))


def test_the_header_has_the_workspace_as_a_function_of_the_sizes(tmp_path):
    written(lambda x: snp.cumsum(x), ["f32[n <= 1000]"], tmp_path)
    header = (tmp_path / "f.h").read_text()
    assert "#define F_WORKSPACE_FOR(n) \\\n  ((n) <= 16 ? " in header
    assert "workspace: F_WORKSPACE bytes, or F_WORKSPACE_FOR these sizes, for the time of the call" in header


def test_operations_without_such_a_form_are_named(tmp_path):
    exported = stagec.export(lambda x: x.reshape(-1))("f32[2,n <= 1000]")
    with pytest.raises(stagec.errors.UnsupportedError, match="n may have 1000 values, where reshape moves") as caught:
        exported.to_c(tmp_path)
    assert "test_padded.py" in str(caught.value)

"""`jit(dynamic=...)`: one compile for every size, beside NumPy's evaluation of the same function."""

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import errors, lax, nn
from stagec.api import program

SIZES = (2, 1, 7, 64, 0)
W = np.random.default_rng(1).standard_normal((5, 3)).astype(np.float32)
K = np.random.default_rng(2).standard_normal((3, 3, 2, 4)).astype(np.float32)
TABLE = np.random.default_rng(3).standard_normal((9, 4)).astype(np.float32)
NHWC = ("NHWC", "HWIO", "NHWC")


def conv(x, k):
    return lax.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers=NHWC)


# Functions of an array of (b, 5), several in each program, since a compile takes a second.
FAMILIES = {
    "elementwise": lambda x: (
        x * 2 + 1,
        snp.tanh(x) + snp.exp(x) + snp.log1p(snp.abs(x)),
        lax.erf(x) + snp.sqrt(snp.abs(x)) + x**3,
        snp.clip(x, -1, 1).astype(snp.int32),
        snp.where(x > 0, x, 0),
        x / x.shape[0] + x.shape[0] * 2 + 1.5 * (2 * x.shape[0] + 1),
    ),
    "broadcasting": lambda x: (x[:, None] * x[None], x + x[:1], x.T + x[:, 0], snp.broadcast_to(x[:1], x.shape)),
    "reductions": lambda x: (x.sum(0), x.mean(), x.mean(1), x.std(0), x.prod(1), (x > 0).any(0)),
    "covariances": lambda x: (snp.cov(x, rowvar=False), snp.corrcoef(x, rowvar=False)),
    "extremes": lambda x: (snp.argmax(x, 1), x.max(1), snp.max(x, initial=-1.0), snp.sort(x, 1), lax.top_k(x, 2)),
    "products": lambda x: (x @ W, x @ x.T, x.T @ x, snp.einsum("ij,kj,k->i", x, x, x[:, 0])),
    "layers": lambda x: (
        nn.softmax(x),
        nn.softmax(x, axis=0),
        nn.logsumexp(x, axis=1),
        (x - x.mean(-1, keepdims=True)) / snp.sqrt(x.var(-1, keepdims=True) + 1e-5),
        nn.gelu(x),
    ),
    "shapes": lambda x: (
        x.reshape(-1),
        x.reshape(x.shape[0], 5, 1),
        x.ravel().reshape(5, -1),
        snp.concatenate([x, x * 2]),
        snp.stack([x, x + 1], 1),
        snp.pad(x, ((1, 2), (0, 1))),
        snp.tile(x, (2, 1)),
        snp.repeat(x, 2, axis=0),
    ),
    "parts": lambda x: (x[::2], x[::-1], x[:, 1:3], x[:3], x[-2:], snp.roll(x, 1, axis=0)),
    "indices": lambda x: (
        snp.asarray(TABLE)[(x[:, 0] * 3).astype(snp.int32)],
        x.at[snp.arange(x.shape[0]) // 2].add(1.0),
        snp.zeros((9, 5)).at[(x[:, 0] * 20).astype(snp.int32)].add(x),
        nn.one_hot((x[:, 0] * 3).astype(snp.int32), 4),
        snp.take_along_axis(x, snp.argsort(x, 1), 1),
    ),
    "counters": lambda x: (
        snp.arange(x.shape[0]),
        snp.eye(x.shape[0]),
        snp.arange(1, 2 * x.shape[0], 2),
        snp.tril(x @ x.T),
    ),
    "running": lambda x: (snp.cumsum(x, 0), snp.cumprod(x, 1), lax.cummax(x, 0, reverse=True), snp.argsort(x, 0)),
    "scan": lambda x: lax.scan(lambda c, v: (snp.tanh(c + v), c * v), snp.zeros(5), x),
    "loops": lambda x: (
        lax.while_loop(lambda c: c.max() < 10, lambda c: c + 1, x),
        lax.fori_loop(0, x.shape[0], lambda i, c: c + x[i], snp.zeros(5)),
        lax.cond(x.sum() > 0, lambda v: v * 2, lambda v: v - 1, x),
    ),
    "derivatives": lambda x: (
        stagec.grad(lambda w: snp.mean(snp.tanh(x @ w) ** 2))(W),
        stagec.grad(lambda x: snp.sum(nn.softmax(x) * x))(x),
        stagec.grad(lambda x: snp.sum(snp.concatenate([x, x * 2]) ** 2))(x),
        stagec.grad(lambda t: snp.sum(t[(x[:, 0] * 3).astype(snp.int32)] ** 2))(TABLE),
    ),
    "derivatives of loops": lambda x: (
        stagec.grad(lambda x: lax.scan(lambda c, v: (snp.tanh(c + v), None), snp.zeros(5), x)[0].sum())(x),
        stagec.grad(lambda x: (snp.cumsum(x, 0) ** 2).sum())(x),
    ),
    "branches": lambda x: (
        lax.cond(x.sum() > 0, lambda v: v, lambda v: -v, x),
        lax.switch(snp.argmax(x[0]), [lambda v: v, lambda v: v.T.T, lambda v: v + 1, lambda v: v, lambda v: -v], x),
    ),
    "associative": lambda x: (
        lax.associative_scan(snp.add, x),
        lax.associative_scan(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (x.T, x.T * 2), axis=1, reverse=True),
    ),
    "order": lambda x: (snp.argsort(x[:, 0]), snp.median(x, axis=0), snp.quantile(x, snp.array([0.1, 0.7]), axis=0)),
    "known indices": lambda x: (
        x[snp.array([0, -1])],
        x.at[np.array([-1, 0])].add(1.0),
        x[np.array([-1, 0]), np.array([1, -1])],
    ),
    "spaces and diagonals": lambda x: (
        snp.linspace(0, 1, x.shape[0]),
        snp.linspace(0, 1, x.shape[0], endpoint=False),
        snp.trace(x @ x.T),
        snp.diagonal(snp.concatenate([x, x, x, x, x]), -1),
        snp.diag(x[:, 0], 1),
    ),
    "batches": lambda x: (
        stagec.vmap(lambda v: snp.tanh(v @ W).sum())(x),
        stagec.vmap(stagec.grad(lambda v: snp.sum(v**3)))(x),
        stagec.jit(lambda v: v.sum(0) * 2)(x),
    ),
    "images": lambda x: (
        conv(snp.tile(x[:, :1, None, None], (1, 6, 6, 2)), K),
        lax.reduce_window(snp.tile(x[:, :, None], (1, 1, 4)), -snp.inf, lax.max, (1, 2, 2), (1, 2, 2), "VALID"),
    ),
}


# Functions of a fixed matrix, too, which loops and branches change.
WITH_A_FIXED_ARRAY = {
    "loops": lambda x, a: (
        x @ lax.fori_loop(0, 3, lambda i, c: c * 0.5 + c.T, a),
        x @ lax.while_loop(lambda c: c.max() > 0.5, lambda c: c * 0.5, a),
        x @ lax.cond(a.sum() > 0, lambda c: c, lambda c: -c, a),
        x * lax.switch(a[0, 0].astype(int), [lambda c: c, lambda c: c[::-1]], a)[0],
    ),
    "training": lambda x, a: lax.fori_loop(
        0, 3, lambda i, w: w - 0.01 * stagec.grad(lambda w: snp.mean((x @ w) ** 2))(w), a
    ),
    "states": lambda x, a: lax.scan(lambda h, v: (snp.tanh(h @ a + v), h), a[0], x),
    "a factorization": lambda x, a: x * snp.linalg.det(a),
}


def rounds(x, body, state):
    return lax.fori_loop(0, x.shape[0], lambda i, state: body(*state), state)


def test_a_loop_does_not_change_the_updated_array_that_it_starts_from():
    def function(x):
        y = x.at[0].set(1.0)
        return (
            lax.fori_loop(0, 3, lambda i, c: c.at[-1].add(2.0), y),
            y,
            lax.scan(lambda c, r: (c.at[-1].set(r), r), y, y),
        )

    compiled = stagec.jit(function, dynamic={"x": "b, _"})
    for size in (2, 1, 7):
        x = argument(size)
        for e, a in zip(*(stagec.tree.leaves(f(snp.asarray(x))) for f in (function, compiled)), strict=True):
            np.testing.assert_allclose(np.asarray(a), np.asarray(e), rtol=1e-6)


def test_states_that_a_loop_writes_without_reading_them_keep_their_size():
    def function(x):
        small, unsigned = x[:, 0], x.astype("uint32")
        return (
            lax.fori_loop(0, x.shape[0], lambda i, c: snp.ones(x.shape[0]), small),
            lax.fori_loop(0, x.shape[0], lambda i, c: small * i, small),
            rounds(x, lambda a, b: (b + 1, x), (x * 2, x)),
            rounds(x, lambda a, b: (b + 1, unsigned), rounds(x, lambda a, b: (b, unsigned), (unsigned * 2, unsigned))),
        )

    compiled = stagec.jit(function, dynamic={"x": "b, _"})
    for size in (2, 1, 7):
        x = np.abs(argument(size))
        for e, a in zip(*(stagec.tree.leaves(f(snp.asarray(x))) for f in (function, compiled)), strict=True):
            np.testing.assert_allclose(np.asarray(a), np.asarray(e), rtol=1e-5)


@pytest.mark.parametrize("name", WITH_A_FIXED_ARRAY)
def test_fixed_arrays_are_states_of_loops_and_branches(name):
    function = WITH_A_FIXED_ARRAY[name]
    compiled = stagec.jit(function, dynamic={"x": "b, _"})
    a = np.eye(5, dtype=np.float32) + 0.1 * np.arange(25, dtype=np.float32).reshape(5, 5)
    for size in (2, 1, 7):
        x = argument(size)
        expected = stagec.tree.leaves(function(snp.asarray(x), snp.asarray(a)))
        for e, r in zip(expected, stagec.tree.leaves(compiled(x, a)), strict=True):
            np.testing.assert_allclose(np.asarray(r), np.asarray(e), rtol=1e-3, atol=1e-3)


def argument(size):
    return np.random.default_rng(size).standard_normal((size, 5)).astype(np.float32)


@pytest.mark.parametrize("name", FAMILIES)
def test_one_program_is_right_for_every_size(name, monkeypatch):
    function = FAMILIES[name]
    compiles = []
    load = program.GraphCode.load
    monkeypatch.setattr(program.GraphCode, "load", lambda self: compiles.append(self) or load(self))
    compiled = stagec.jit(function, dynamic={"x": "b, _"})
    for size in SIZES:
        x = argument(size)
        try:
            expected = stagec.tree.leaves(function(snp.asarray(x)))
        except errors.StagecError as error:  # such as the maximum of nothing
            with pytest.raises(type(error)):
                compiled(x)
            continue
        actual = stagec.tree.leaves(compiled(x))
        for e, a in zip(expected, actual, strict=True):
            assert (e.shape, e.dtype, e.aval.weak_type) == (a.shape, a.dtype, a.aval.weak_type), size
            np.testing.assert_allclose(np.asarray(a), np.asarray(e), rtol=3e-4, atol=3e-4, err_msg=f"size {size}")
    assert sum("b" in str(code.graph.in_avals) for code in compiles) == 1


def test_large_products_are_right_for_every_size():
    rng = np.random.default_rng(0)
    first, second = (rng.standard_normal(shape).astype(np.float32) for shape in ((784, 256), (256, 300)))

    @stagec.jit(dynamic={"x": "b, _", "y": "b, _"})
    def f(x, y):
        return nn.relu(x @ first) @ second, x.T @ y, x @ y.T, stagec.grad(lambda w: ((x @ w) ** 2).sum())(first)

    for size in (1, 2, 7, 64, 300):
        x, y = (rng.standard_normal((size, 784)).astype(np.float32) for _ in range(2))
        expected = [np.maximum(x @ first, 0) @ second, x.T @ y, x @ y.T, 2 * x.T @ (x @ first)]
        for e, a in zip(expected, f(x, y)):
            np.testing.assert_allclose(np.asarray(a), e, rtol=1e-3, atol=1e-3 * np.abs(e).max())


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int8", "uint8", "int16"])
def test_floats_out_of_range_saturate_in_integers(dtype):
    def f(x):
        return x.astype(dtype), (x * 1e30).astype(dtype), (x * snp.nan).astype(dtype), x.astype("float16").astype(dtype)

    x = np.array([-1e30, -300.5, -1.5, -0.0, 0.9, 127.6, 255.5, 70000.0, 2.0**31, 2.0**32, np.inf], np.float32)
    for actual, expected in zip(stagec.jit(f, dynamic={"x": "b"})(x), f(snp.asarray(x)), strict=True):
        np.testing.assert_array_equal(np.asarray(actual), np.asarray(expected))


def test_donated_memory_is_used_again():
    f = stagec.jit(lambda x: x * 2 + 1, dynamic={"x": "b"}, donate_argnums=0)
    for size in (3, 1, 100):
        x = snp.full(size, 1.5)
        np.testing.assert_array_equal(np.asarray(f(x)), np.full(size, 4.0))
        assert x.is_deleted()


def test_a_size_that_keeps_threads_busy_and_one_that_does_not_share_a_program():
    f = stagec.jit(lambda x: snp.tanh(x) * snp.exp(-x * x), dynamic={"x": "b, _"})
    for size in (3, 3000, 4, 3000, 5000):
        x = np.linspace(-2, 2, size * 400, dtype=np.float32).reshape(size, 400)
        expected = np.tanh(x) * np.exp(-x * x)
        np.testing.assert_allclose(np.asarray(f(x)), expected, rtol=1e-4, atol=1e-5)


def test_arguments_are_as_they_were():
    @stagec.jit(dynamic={"x": "b, _", "i": "b"})
    def f(x, i):
        return snp.sort(x, 0), x.at[i].set(0.0), x.at[0].add(1.0), x.reshape(-1)

    for size in (1, 2, 33):
        x, i = argument(size), np.zeros(size, np.int32)
        kept = x.copy()
        results = [np.asarray(r) for r in f(x, i)]
        np.testing.assert_array_equal(x, kept)
        results[3][...] if not results[3].flags.writeable else results[3].fill(0)
        np.testing.assert_array_equal(x, kept)


def test_indices_out_of_range_read_and_write_within_the_array():
    @stagec.jit(dynamic={"x": "b, _", "i": "n"})
    def f(x, i):
        return x[i], x.at[i].add(1.0), x.at[i].get(mode="fill", fill_value=0), lax.dynamic_slice_in_dim(x, i[0], 1, 0)

    for size in (1, 3, 50):
        x, i = argument(size), np.array([0, size, -1, 10**6, -(10**6)], np.int32)
        for actual, expected in zip(f(x, i), f.__wrapped__(snp.asarray(x), snp.asarray(i))):
            np.testing.assert_allclose(np.asarray(actual), np.asarray(expected), rtol=1e-6)


def test_a_thousand_sizes_are_traced_once():
    traces = []

    @stagec.jit(dynamic={"x": "b, _"})
    def f(x):
        traces.append(x.shape)
        return snp.tanh(x) @ W

    for size in range(1, 1001):
        x = np.full((size, 5), 0.25, np.float32)
        assert f(x).shape == (size, 3)
    assert len(traces) == 1
    assert str(traces[0]) == "(b, 5)"


def test_a_tree_of_arguments_and_a_part_of_one_have_open_dimensions():
    f = stagec.jit(lambda batch, scale=1.0: batch["x"] @ W * scale + batch["y"][:, None], dynamic={"batch": "b, ..."})
    g = stagec.jit(lambda batch: batch["x"].sum() + batch["y"], dynamic={"batch['x']": "n, _"})
    for size in (3, 8):
        batch = {"x": argument(size), "y": np.ones(size, np.float32)}
        np.testing.assert_allclose(np.asarray(f(batch, scale=2.0)), batch["x"] @ W * 2 + 1, rtol=1e-5)
        assert g({"x": batch["x"], "y": np.ones(2, np.float32)}).shape == (2,)


def test_a_symbol_with_a_multiple_and_two_symbols():
    f = stagec.jit(lambda x, y: (x.reshape(-1, 4) @ y.T).sum(0), dynamic={"x": "4*b", "y": "n, _"})
    for b, n in ((1, 1), (2, 5), (6, 1)):
        x, y = np.arange(4 * b, dtype=np.float32), np.ones((n, 4), np.float32)
        np.testing.assert_allclose(np.asarray(f(x, y)), (x.reshape(-1, 4) @ y.T).sum(0), rtol=1e-6)
    with pytest.raises(errors.DimensionError, match=r"axis 0 of x has size 6, which is not 4\*b for any b"):
        f(np.zeros(6, np.float32), y)


def test_sizes_that_do_not_agree_are_an_error():
    f = stagec.jit(lambda x, y: x + y, dynamic={"x": "b", "y": "b"})
    f(np.zeros(3), np.zeros(3))
    with pytest.raises(errors.DimensionError, match="axis 0 of y has size 4, but its dimension is b, with b = 3"):
        f(np.zeros(3), np.zeros(4))
    with pytest.raises(errors.DimensionError, match="axis 0 of y has size 1"):  # it does not broadcast
        f(np.zeros(3), np.zeros(1))


def test_bounds_are_checked_at_the_call():
    f = stagec.jit(lambda x: x[:8].sum() if x.shape[0] >= 8 else x.sum(), dynamic={"x": "b >= 8"})
    assert float(f(np.ones(20))) == 8
    with pytest.raises(errors.DimensionError, match="axis 0 of x has size 7, so b = 7, but b >= 8"):
        f(np.ones(7))


def test_divisibility_that_the_function_implies_is_checked_at_the_call():
    f = stagec.jit(lambda x: x.reshape(-1, 4).sum(1), dynamic={"x": "b"})
    assert f(np.ones(12)).shape == (3,)
    with pytest.raises(errors.DimensionError) as raised:
        f(np.ones(6))
    assert "the size b/4, of test_open_calls.py" in str(raised.value)
    assert "is not a whole number for b = 6" in str(raised.value)
    assert "axis 0, dimension b" in str(raised.value)


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda x: sum(x[i] for i in range(x.shape[0])), "used as an integer"),
        (lambda x: x * 2 if x.shape[0] > 10 else x, "whether b > 10 depends on the size"),
        (lambda x: x if x.shape[0] == 3 else -x, "whether b == 3 depends on the size"),
        (lambda x: x + snp.ones(3), "do not broadcast"),
        (lambda x: snp.fft.fft(x), "has no form for open dimensions"),
    ],
)
def test_what_cannot_be_expressed_is_an_error_that_names_the_line(function, text):
    with pytest.raises(errors.ShapeError, match=text) as raised:
        stagec.jit(function, dynamic={"x": "b"})(np.ones(4, np.float32))
    assert "test_open_calls.py" in str(raised.value)
    assert "Fix:" in str(raised.value)


@pytest.mark.parametrize(
    ("dynamic", "text"),
    [
        ({"x": "b, _"}, "dynamic names 2 dimensions of x, which has 1"),
        ({"z": "b"}, "dynamic names 'z', which is no array among the arguments"),
        ({"x": "b +"}, "are not understood"),
        ("b", "is no table of arguments and dimensions"),
        ({"x": "7"}, "axis 0 of x has size 4, but its dimension is 7"),
    ],
)
def test_a_wrong_specification_is_an_error(dynamic, text):
    with pytest.raises(errors.DimensionError, match=text):
        stagec.jit(lambda x: x, dynamic=dynamic)(np.ones(4))


def test_under_another_trace_the_sizes_are_those_of_the_values():
    f = stagec.jit(lambda x: (x * x.shape[0]).sum(), dynamic={"x": "b"})
    np.testing.assert_allclose(np.asarray(stagec.grad(f)(np.ones(3, np.float32))), np.full(3, 3.0))
    np.testing.assert_allclose(np.asarray(stagec.vmap(f)(np.ones((2, 4), np.float32))), [16.0, 16.0])


def test_arrays_in_loops_and_branches_do_not_share_memory():
    def rows(x):
        return lax.scan(lambda c, r: (c + 1, (r + c, r * 2, r * 3)), 0.0, x)

    def written_and_read(x):
        y = x * 2
        return lax.fori_loop(0, x.shape[0], lambda i, c: c.at[i].set(-1.0), y) + y, y, x

    def two_of_one(x):
        return lax.fori_loop(
            0, x.shape[0], lambda i, c: (c[0].at[i].set(c[1][i] + 1), c[1].at[i].set(-x[i])), (x * 2, x * 2)
        )

    def swapped(x):
        return lax.fori_loop(0, 3, lambda i, c: (c[1].at[0].set(c[0][0] + 1), c[0].at[0].add(2.0)), (x, x))

    def repeated(x):
        return lax.fori_loop(0, 2, lambda i, c: (c[0] + 1, c[0], c[0]), (x, x, x))

    def given_back(x):
        y = lax.switch(snp.argmax(x[0]), [lambda v: v, lambda v: v.T.T, lambda v: -v, lambda v: v + 1, lambda v: v], x)
        return y.at[0].set(7.0), y, x

    def sorted_in_place(x):
        y = x + 1
        return lax.sort([y, x], dimension=0, num_keys=1), y, snp.sort(y, axis=0), x

    for function in (rows, written_and_read, two_of_one, swapped, repeated, given_back, sorted_in_place):
        compiled = stagec.jit(function, dynamic={"x": "b, _"})
        for size in (2, 9):
            x = argument(size)
            before = x.copy()
            actual, expected = compiled(x), function(snp.asarray(before))
            np.testing.assert_array_equal(x, before)
            for a, e in zip(stagec.tree.leaves(actual), stagec.tree.leaves(expected), strict=True):
                np.testing.assert_allclose(np.asarray(a), np.asarray(e), rtol=1e-6, err_msg=function.__name__)


# Not subnormal in float32, of which kernels and the compiler's code make zero in different places.
EDGES = np.array([0.0, -0.0, 1.0, -1.0, 0.5, 3e-38, 1e-8, 1e4, -1e9, 3e38, np.inf, -np.inf, np.nan])


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_functions_have_the_bits_that_they_have_for_known_shapes(dtype):
    def values(x, y):
        found = [f(x) for f in (snp.sin, snp.cos, snp.tan, snp.arctan, snp.cbrt, snp.log1p, snp.expm1, snp.sinh)]
        found += [snp.floor(x), snp.ceil(x), snp.tanh(x), lax.lgamma(x), lax.erf_inv(x), lax.reduce_precision(x, 5, 3)]
        return [*found, x**y, snp.arctan2(x, y), snp.fmod(x, y)]

    with stagec.config.override(enable_x64=dtype == "float64"):
        with np.errstate(over="ignore"):
            x, y = (v.ravel().astype(dtype) for v in np.meshgrid(EDGES, EDGES))
        known, opened = stagec.jit(values)(x, y), stagec.jit(values, dynamic={"x": "b", "y": "b"})(x, y)
        for k, o in zip(known, opened, strict=True):
            np.testing.assert_array_equal(np.asarray(o), np.asarray(k))


def test_integer_powers_of_arrays():
    x, y = np.arange(-4, 4, dtype=np.int32), np.array([0, 1, 2, 3, 31, -1, 0, 5], np.int32)
    powers = stagec.jit(lambda x, y: x**y, dynamic={"x": "b", "y": "b"})
    np.testing.assert_array_equal(np.asarray(powers(x, y)), np.asarray(stagec.jit(lambda x, y: x**y)(x, y)))


@pytest.mark.parametrize("dtype", ["uint32", "uint8", "int8", "bool"])
def test_integers_and_flags(dtype):
    def values(x):
        found = [x + x[:1], x * x, x.sum(), x.max(0), snp.sort(x, axis=0), x.astype("float32") * 2, x > x[0]]
        found += [snp.concatenate([x, x])[::2], snp.pad(x, ((1, 2), (0, 0))), x[snp.argmax(x, 0)], snp.cumsum(x, 0)]
        return [*found, x @ x.T, ~x if dtype == "bool" else x >> 1, lax.fori_loop(0, 3, lambda i, c: c + x, x)]

    opened = stagec.jit(values, dynamic={"x": "b, _"})
    for size in (1, 6):
        x = np.random.default_rng(size).integers(0, 2 if dtype == "bool" else 120, (size, 4)).astype(dtype)
        for actual, expected in zip(opened(x), stagec.jit(values)(x), strict=True):
            assert actual.dtype == expected.dtype
            np.testing.assert_array_equal(np.asarray(actual), np.asarray(expected))


def test_factorizations_of_matrices_of_known_shape():
    def values(x):
        a = x.T @ x + snp.eye(5)
        return snp.linalg.solve(a, snp.ones(5)), snp.linalg.cholesky(a), snp.linalg.det(a)

    for actual, expected in zip(stagec.jit(values, dynamic={"x": "b, _"})(argument(6)), values(argument(6))):
        np.testing.assert_allclose(np.asarray(actual), np.asarray(expected), rtol=1e-3)


def test_vulkan_runs_one_program_for_every_size(vulkan):
    def values(x):
        y, (carries, doubled) = lax.scan(lambda c, r: (c + r, (c, r * 2)), x[0], x)
        return snp.sin(x) * 2, nn.softmax(x), x @ x.T, snp.sort(x, 0), y, carries, doubled

    opened = stagec.jit(values, device=vulkan, dynamic={"x": "b, _"})
    for size in (1, 2, 9):
        for actual, expected in zip(opened(argument(size)), values(argument(size)), strict=True):
            np.testing.assert_allclose(np.asarray(actual), np.asarray(expected), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("target", ["cuda:sm_80", "rocm:gfx942", "vulkan:portable"])
def test_files_for_gpus_serve_every_size(target):
    exported = stagec.export(lambda x: nn.softmax(snp.sin(x) @ W), targets=[target])("f32[b,5]")
    assert [str(a) for a in exported.out_avals] == ["float32[b,3]"]
    assert len(exported.serialize()) > 1000

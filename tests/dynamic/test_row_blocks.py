"""Programs with an open number of independent rows: kernels for blocks of rows, to the bits of the static program."""

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import lax, nn

# Whole blocks, the rows that they leave, and no rows.
SIZES = (1, 2, 7, 8, 64, 67, 137, 300, 0)
RNG = np.random.default_rng(0)
W = RNG.standard_normal((20, 12)).astype(np.float32)
TABLE = RNG.standard_normal((9, 4)).astype(np.float32)
ROW = np.arange(20, dtype=np.float32)
NHWC = ("NHWC", "HWIO", "NHWC")
FILTER = RNG.standard_normal((3, 3, 1, 2)).astype(np.float32)

ROW_WISE = {
    "elementwise": lambda x: snp.tanh(x) * 2 + snp.exp(-x * x),
    "several results": lambda x: (x * 2, nn.softmax(x), x.sum(1), x.argmax(1), x > 0),
    "results and values between": lambda x: (snp.sort(x * 2, 1), (x * 2).max(1)),
    "normalization": lambda x: (x - x.mean(-1, keepdims=True)) / snp.sqrt(x.var(-1, keepdims=True) + 1e-5),
    "constants": lambda x: x * ROW + ROW[None] + snp.eye(20)[3],
    "counters along rows": lambda x: x + snp.arange(20) + nn.one_hot(x.argmax(1), 20),
    "parts": lambda x: (x[:, :3] * 2).reshape(-1, 3),
    "reversed rows": lambda x: x[:, ::-1] + 0 * x,
    "transposed": lambda x: x.reshape(x.shape[0], 4, 5).transpose(0, 2, 1) * 2,
    "padded": lambda x: snp.pad(x, ((0, 0), (1, 2))),
    "joined": lambda x: snp.concatenate([x, x * 2], 1),
    "outer products": lambda x: snp.einsum("bi,bj->bij", x, x),
    "sorted": lambda x: snp.sort(x, 1),
    "largest": lambda x: lax.top_k(x, 3),
    "bytes": lambda x: (snp.abs(x).astype(snp.uint8) * 2).astype(snp.uint8),
    "halves": lambda x: x.astype(snp.bfloat16) * 2,
    "booleans": lambda x: snp.where(x > 0, x, -x) > 1,
    "gradient": lambda x: stagec.grad(lambda v: snp.sum(nn.softmax(v) * v))(x),
    "images": lambda x: lax.conv_general_dilated(
        x.reshape(-1, 5, 4, 1), FILTER, (1, 1), "SAME", dimension_numbers=NHWC
    ),
}
OTHERS = {
    "counter of rows": lambda x: x + snp.arange(x.shape[0])[:, None],
    "reversed": lambda x: x[::-1] * 2,
    "rolled": lambda x: snp.roll(x, 1, axis=0),
    "shifted": lambda x: lax.pad(x, 0.0, ((1, -1, 0), (0, 0, 0))),
    "sorted columns": lambda x: snp.sort(x, 0),
    "sum": lambda x: x / x.sum(0),
    "pairs": lambda x: x @ x.T,
    "number of rows": lambda x: x * (x.shape[0] + x[:1].sum()),
    "number of rows alone": lambda x: x * x.shape[0] + 1,
    "constant rows": lambda x: (x * 2, snp.zeros(x.shape), snp.broadcast_to(ROW, x.shape)),
    "looked up": lambda x: snp.asarray(TABLE)[(x[:, 0] * 3).astype(snp.int32)],
}


def inputs(size):
    x = np.random.default_rng(size).standard_normal((size, 20)).astype(np.float32)
    if size > 6:
        x[3, 5], x[5, 2], x[6, 0] = np.nan, np.inf, -0.0
    return x


def has_row_blocks(compiled, *args):
    return "stream.dispatch.workgroup.id[2]" in compiled.lower(*args).as_text("kernels")


def assert_same_bits(function, compiled, x):
    found, expected = compiled(x), stagec.jit(function)(x)
    if not isinstance(expected, tuple):
        found, expected = (found,), (expected,)
    for a, b in zip(map(np.asarray, found), map(np.asarray, expected)):
        assert (a.shape, a.dtype, a.tobytes()) == (b.shape, b.dtype, b.tobytes()), len(x)


@pytest.mark.parametrize("name", ROW_WISE)
def test_blocks_of_rows_have_the_bits_of_the_static_program(name):
    compiled = stagec.jit(ROW_WISE[name], dynamic={"x": "b, _"})
    assert has_row_blocks(compiled, inputs(7))
    for size in SIZES:
        assert_same_bits(ROW_WISE[name], compiled, inputs(size))


@pytest.mark.parametrize("name", OTHERS)
def test_rows_that_read_other_rows_are_not_computed_in_blocks(name):
    compiled = stagec.jit(OTHERS[name], dynamic={"x": "b, _"})
    assert not has_row_blocks(compiled, inputs(7))
    for size in (2, 7, 67):
        x = inputs(size)
        np.testing.assert_allclose(np.asarray(compiled(x)), np.asarray(stagec.jit(OTHERS[name])(x)), 1e-5, 1e-5)


def test_products_of_rows_agree_with_numpy_for_every_rest():
    # A static program sums a product of few rows in another order.
    compiled = stagec.jit(lambda x: nn.relu(x @ W) @ W.T, dynamic={"x": "b, _"})
    assert has_row_blocks(compiled, inputs(7))
    for size in (*range(1, 20), 63, 64, 65, 75, 130, 300):
        x = np.random.default_rng(size).standard_normal((size, 20)).astype(np.float32)
        np.testing.assert_allclose(np.asarray(compiled(x)), np.maximum(x @ W, 0) @ W.T, 1e-4, 1e-4)


def test_products_of_each_row_with_itself_agree_with_numpy():
    # Their kernels have workgroups in three dimensions.
    def function(x):
        rows = x.reshape(x.shape[0], 5, 4)
        return snp.einsum("bij,bkj->bik", rows, rows)

    compiled = stagec.jit(function, dynamic={"x": "b, _"})
    assert has_row_blocks(compiled, inputs(7))
    for size in (1, 2, 3, 7, 11, 64, 75, 300):
        x = np.random.default_rng(size).standard_normal((size, 20)).astype(np.float32)
        rows = x.reshape(size, 5, 4)
        np.testing.assert_allclose(np.asarray(compiled(x)), rows @ rows.swapaxes(1, 2), 1e-4, 1e-4)


def test_weights_are_packed_once_for_blocks_of_rows():
    big = np.random.default_rng(1).standard_normal((300, 400)).astype(np.float32)
    weights = snp.asarray(big)
    compiled = stagec.jit(lambda x: x @ weights, dynamic={"x": "b, _"})
    for size in (1, 5, 64, 75):
        x = np.random.default_rng(size).standard_normal((size, 300)).astype(np.float32)
        np.testing.assert_allclose(np.asarray(compiled(x)), x @ big, 1e-3, 1e-3)


def test_a_donated_argument_does_not_change_the_results_of_blocks():
    def function(x):
        return nn.softmax(x) + x[:, ::-1]

    compiled = stagec.jit(function, dynamic={"x": "b, _"}, donate_argnums=0)
    for size in (1, 9, 67):
        expected = np.asarray(stagec.jit(function)(inputs(size)))
        assert np.asarray(compiled(snp.asarray(inputs(size)))).tobytes() == expected.tobytes()


def test_bounds_that_exclude_a_block_leave_it_out():
    compiled = stagec.jit(lambda x: nn.relu(x @ W), dynamic={"x": "b <= 5, _"})
    for size in (1, 4, 5):
        x = np.random.default_rng(size).standard_normal((size, 20)).astype(np.float32)
        np.testing.assert_allclose(np.asarray(compiled(x)), np.maximum(x @ W, 0), 1e-5, 1e-5)


def test_a_file_computes_blocks_of_rows():
    loaded = stagec.load(stagec.export(lambda x: nn.softmax(x * 2))("f32[b,20]").serialize())
    for size in (1, 7, 67, 300):
        expected = np.asarray(stagec.jit(lambda x: nn.softmax(x * 2))(inputs(size)))
        assert np.asarray(loaded(inputs(size))).tobytes() == expected.tobytes()


def test_two_arguments_share_their_rows():
    def function(x, y):
        return snp.where(x > y[:, None], x, y[:, None]), x.sum(1) * y

    compiled = stagec.jit(function, dynamic={"x": "b, _", "y": "b"})
    for size in (1, 7, 64, 137):
        x, y = inputs(size), np.linspace(-1, 1, size, dtype=np.float32)
        for a, b in zip(compiled(x, y), stagec.jit(function)(x, y)):
            assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


@pytest.mark.parametrize("columns", [64, 77, 100, 129, 784])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_of_columns_have_the_bits_of_the_static_program(columns, dtype):
    def function(x):
        return x.sum(0), x.reshape(x.shape[0], columns, 1).sum(0)

    with stagec.enable_x64():
        compiled = stagec.jit(function, dynamic={"x": "b, _"})
        assert "sums_of_columns" in compiled.lower(np.ones((3, columns), dtype)).as_text("kernels")
        # Static programs add up many rows in parts.
        for size in (1, 2, 7, 33, 0):
            x = np.random.default_rng(size).standard_normal((size, columns)).astype(dtype)
            if size > 2:
                x[1, 3], x[2, 0] = np.nan, np.inf
            for a, b in zip(compiled(x), stagec.jit(function)(x)):
                assert np.asarray(a).tobytes() == np.asarray(b).tobytes(), size


def test_sums_of_products_round_as_in_the_static_program():
    def function(x):
        return (x * x).sum(0), (x * snp.tanh(x)).mean(0)

    compiled = stagec.jit(function, dynamic={"x": "b, _"})
    for size in (1, 7, 64):
        x = np.random.default_rng(size).standard_normal((size, 100)).astype(np.float32)
        for a, b in zip(compiled(x), stagec.jit(function)(x)):
            np.testing.assert_allclose(np.asarray(a), np.asarray(b), 1e-6, 1e-6)
        assert np.asarray(compiled(x)[0]).tobytes() == np.asarray(stagec.jit(function)(x)[0]).tobytes()


@pytest.mark.parametrize("reduce", [lambda x: x.max(0), lambda x: x.prod(0), lambda x: x.sum((0, 1))])
def test_other_reductions_of_columns_are_left_to_the_compiler(reduce):
    compiled = stagec.jit(lambda x: reduce(x), dynamic={"x": "b, _"})
    x = np.random.default_rng(0).standard_normal((7, 40)).astype(np.float32)
    assert "sums_of_columns" not in compiled.lower(x).as_text("kernels")
    np.testing.assert_allclose(np.asarray(compiled(x)), np.asarray(stagec.jit(lambda x: reduce(x))(x)), 1e-5, 1e-5)

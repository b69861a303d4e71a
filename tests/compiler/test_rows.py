"""Kernels that work on the same rows are one, and give what NumPy gives."""

import re

import ml_dtypes
import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import lax, nn
from stagec.compiler import driver

SHAPES = [(64, 256), (33, 1000), (5, 7, 130), (2, 3, 40, 64), (1, 2048), (300, 3)]


@pytest.fixture(autouse=True)
def kernels_of_the_compiler():
    with stagec.config.override(straight_kernels=False):
        yield


def softmax(x, axis=-1):
    e = snp.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def normalized(x, axis=-1):
    centred = x - x.mean(axis, keepdims=True)
    return centred / snp.sqrt((centred**2).mean(axis, keepdims=True) + 1e-5)


def log_sum(x):
    largest = x.max(-1, keepdims=True)
    return snp.log(snp.exp(x - largest).sum(-1, keepdims=True)) + largest


def entropy(x):
    p = softmax(x)
    return -(p * snp.log(p + 1e-9)).sum(-1)


ROWS = {
    "softmax": softmax,
    "log_softmax": lambda x: nn.log_softmax(x, axis=-1),
    "normalized": normalized,
    "normalized and scaled": lambda x: normalized(x) * snp.arange(1, x.shape[-1] + 1) - 1,
    "log_sum": log_sum,
    "std": lambda x: x.std(-1),
    "unit rows": lambda x: x / snp.sqrt((x * x).sum(-1, keepdims=True)),
    "largest": lambda x: (x == x.max(-1, keepdims=True)).sum(-1),
    "deviation": lambda x: abs(x - x.mean(-1, keepdims=True)).max(-1),
    "entropy": entropy,
    "one after another": lambda x: softmax(normalized(x)).max(-1),
}


def flow(function, *shapes, target="cpu"):
    specs = [stagec.ShapeDtypeStruct(shape, "float32") for shape in shapes]
    return stagec.jit(function, target=target).lower(*specs).as_text("flow")


def kernels(*args, **options):
    return flow(*args, **options).count("flow.executable private")


@pytest.mark.parametrize("name", [*ROWS][: [*ROWS].index("entropy")])
def test_rows_are_done_by_one_kernel(name):
    assert [kernels(ROWS[name], shape) for shape in [(64, 256), (33, 1000), (2, 3, 40, 64)]] == [1] * 3


def test_a_chain_of_rows_is_not_all_one_kernel():
    def chain(x):
        for _ in range(4):
            x = normalized(1.5 * x)
        return x

    assert kernels(chain, (64, 256)) == 3
    # What is kept for one reduction would be computed again for another one behind it.
    assert flow(entropy, (64, 256)).count("math.exp") == flow(entropy, (64, 256)).count("math.log") == 1


def test_what_all_rows_share_is_read_by_the_same_kernel():
    assert kernels(lambda x, scale, shift: normalized(x) * scale + shift, (8, 32, 64), (64,), (64,)) == 1
    assert kernels(lambda x, row: normalized(x) * row, (32, 64), (32, 1)) == 1


def test_a_function_behind_a_barrier_is_computed_once():
    text = flow(softmax, (64, 256))
    assert text.count("math.exp") == 1
    both = re.search(r"(%\d+):2 = linalg.generic", text)
    assert both and f"ins({both[1]}#1, {both[1]}#0 :" in text


@pytest.mark.parametrize(
    "function",
    [
        pytest.param(lambda x: softmax(x, 0), id="columns"),
        pytest.param(lambda x: x.std(0), id="deviations of columns"),
        # Row i of the quotient needs the sums of all rows.
        pytest.param(lambda x: (c := x - x.mean(1, keepdims=True)) / (c * c).sum(1)[None, :], id="other rows"),
        pytest.param(lambda x: (c := x - x.mean(1, keepdims=True)).T / (c * c).sum(1), id="transposed"),
        pytest.param(lambda x: (softmax(x), snp.exp(x - x.max(1, keepdims=True))), id="read by two"),
        pytest.param(lambda x: lax.optimization_barrier(x - x.mean(1, keepdims=True)).sum(0), id="another axis"),
        pytest.param(lambda x: softmax(snp.tile(x, 100)), id="rows too long to keep"),
    ],
)
def test_kernels_stay_apart(function, monkeypatch):
    joined = kernels(function, (128, 128))
    monkeypatch.delitem(driver.IMPROVEMENTS, "dispatch-creation")
    assert kernels(function, (128, 128)) == joined > 1


def test_the_kernels_of_gpus_are_left_alone(monkeypatch):
    found = kernels(ROWS["std"], (64, 256), target="vulkan")
    monkeypatch.delitem(driver.IMPROVEMENTS, "dispatch-creation")
    assert kernels(ROWS["std"], (64, 256), target="vulkan") == found == 2


def test_rows_outside_a_loop_are_not_moved_into_it():
    def function(x):
        largest = x.max(1, keepdims=True)
        return lax.fori_loop(0, 3, lambda i, y: (x * y - largest).sum(1, keepdims=True), largest)

    x = np.linspace(-1, 1, 64, dtype=np.float32).reshape(4, 16)
    with stagec.disable_jit():
        expected = function(snp.asarray(x))
    np.testing.assert_allclose(stagec.jit(function)(x), expected, rtol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("name", ROWS)
def test_rows_hold_what_numpy_gives(name, dtype):
    random = np.random.default_rng(0)
    xs = [(3 * random.normal(size=shape)).astype(getattr(ml_dtypes, dtype, dtype)) for shape in SHAPES]
    with stagec.enable_x64():
        found = stagec.jit(lambda xs: [ROWS[name](x) for x in xs])(xs)
        expected = [ROWS[name](snp.asarray(x)) for x in xs]
    for got, want in zip(found, expected, strict=True):
        assert got.dtype == want.dtype
        got, want = (np.asarray(v) for v in (got, want))
        eps = float(ml_dtypes.finfo(want.dtype).eps) if want.dtype.kind != "i" else 0.0
        want = want.astype(np.float64)
        np.testing.assert_allclose(got.astype(np.float64), want, rtol=64 * eps, atol=64 * eps * max(1, abs(want).max()))


@pytest.mark.parametrize("size", [64, 130, 1000])
def test_nan_and_infinities_stay_in_their_rows(size):
    x = np.random.default_rng(0).normal(size=(12, size)).astype(np.float32)
    x[1, 0], x[4, -1], x[7, size // 2], x[9] = np.nan, np.inf, -np.inf, -np.inf
    for function in (softmax, normalized, log_sum):
        with stagec.disable_jit(), np.errstate(all="ignore"):
            expected = np.asarray(function(snp.asarray(x)))
        np.testing.assert_allclose(stagec.jit(function)(x), expected, rtol=1e-4, atol=1e-6)


def test_gradients_through_rows_are_those_of_differences():
    x = np.random.default_rng(0).normal(size=(6, 40))
    with stagec.enable_x64():
        for function in (softmax, normalized, log_sum, entropy):

            def loss(x, function=function):
                return (function(x) ** 2).sum()

            slope = stagec.jit(stagec.grad(loss))(x)
            direction = np.random.default_rng(1).normal(size=x.shape)
            near = [float(loss(snp.asarray(x + sign * 1e-5 * direction))) for sign in (1, -1)]
            np.testing.assert_allclose((np.asarray(slope) * direction).sum(), (near[0] - near[1]) / 2e-5, rtol=1e-5)

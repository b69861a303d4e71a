"""`dot_product_attention` against a plain computation in NumPy and against JAX."""

from __future__ import annotations

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import errors, nn

RNG = np.random.default_rng(0)


def operands(batch=2, queries=4, keys=5, heads=6, groups=3, size=8):
    shapes = [(batch, queries, heads, size), (batch, keys, groups, size), (batch, keys, groups, size)]
    return [RNG.normal(size=shape).astype(np.float32) for shape in shapes]


def plain(q, k, v, seen=True, bias=0.0):
    share = q.shape[2] // k.shape[2]
    k, v = k.repeat(share, 2), v.repeat(share, 2)
    scores = np.einsum("btnh,bsnh->bnts", q, k) / np.sqrt(q.shape[-1]) + bias
    weights = np.where(seen, np.exp(scores - scores.max()), 0)
    return np.einsum("bnts,bsnh->btnh", weights / weights.sum(-1, keepdims=True), v)


BIAS = RNG.normal(size=(2, 6, 4, 5)).astype(np.float32)
MASK = RNG.random((2, 1, 4, 5)) < 0.7
MASK[..., 0] = True
ROW, COLUMN = np.arange(4)[:, None], np.arange(5)
CASES = {
    "plain": ({}, {}),
    "bias": ({"bias": BIAS}, {"bias": BIAS}),
    "mask": ({"mask": MASK}, {"seen": MASK}),
    "causal": ({"is_causal": True}, {"seen": ROW >= COLUMN}),
    "window": ({"local_window_size": (1, 2)}, {"seen": (ROW <= COLUMN + 1) & (ROW >= COLUMN - 2)}),
    "symmetric window": ({"local_window_size": 1}, {"seen": abs(ROW - COLUMN) <= 1}),
    "key lengths": (
        {"key_value_seq_lengths": np.array([3, 5], np.int32)},
        {"seen": np.array([3, 5])[:, None, None, None] > COLUMN},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_attention_is_the_softmax_of_the_scores_times_the_values(name):
    given, expected = CASES[name]
    q, k, v = operands()
    np.testing.assert_allclose(
        np.asarray(nn.dot_product_attention(q, k, v, **given)), plain(q, k, v, **expected), 1e-4, 1e-5
    )


def test_all_options_together_are_those_of_jax():
    jax = pytest.importorskip("jax")
    q, k, v = operands()
    options = dict(
        bias=BIAS, mask=MASK, is_causal=True, scale=0.3, query_seq_lengths=np.array([2, 4], np.int32),
        key_value_seq_lengths=np.array([5, 3], np.int32), local_window_size=2, return_residual=True,
    )  # fmt: skip
    expected = jax.nn.dot_product_attention(q, k, v, **options)
    run = stagec.jit(lambda q, k, v: nn.dot_product_attention(q, k, v, **options))
    for actual in (nn.dot_product_attention(q, k, v, **options), run(q, k, v)):
        for a, e in zip(actual, expected):
            np.testing.assert_allclose(np.asarray(a), np.asarray(e), 1e-4, 1e-5)


def test_attention_works_without_a_batch_and_in_half_precision():
    q, k, v = (x[0] for x in operands())
    whole = nn.dot_product_attention(q, k, v)
    assert whole.shape == q.shape
    np.testing.assert_allclose(np.asarray(whole), plain(q[None], k[None], v[None])[0], 1e-4, 1e-5)
    half = nn.dot_product_attention(*(snp.asarray(x, "bfloat16") for x in (q, k, v)))
    assert half.dtype == "bfloat16"
    np.testing.assert_allclose(np.asarray(half).astype(np.float32), np.asarray(whole), 0.1, 0.05)


def test_attention_has_gradients_and_maps():
    q, k, v = operands(batch=3)
    alone = stagec.vmap(lambda q, k, v: nn.dot_product_attention(q, k, v, is_causal=True))(q, k, v)
    together = nn.dot_product_attention(q, k, v, is_causal=True)
    np.testing.assert_allclose(np.asarray(alone), np.asarray(together), 1e-5, 1e-6)
    with stagec.enable_x64():
        q, k, v = (x.astype(np.float64) for x in (q, k, v))
        f = lambda q: (nn.dot_product_attention(q, k, v, is_causal=True) ** 2).sum()  # noqa: E731
        direction = RNG.normal(size=q.shape)
        slope = (f(q + 1e-3 * direction) - f(q - 1e-3 * direction)) / 2e-3
        # Masked scores are summed in float32.
        np.testing.assert_allclose(float((stagec.grad(f)(q) * direction).sum()), float(slope), 1e-3)


def test_a_query_that_sees_nothing_gives_no_nan():
    q, k, v = operands()
    out = nn.dot_product_attention(q, k, v, mask=np.zeros((1, 1, 1, 1), bool))
    assert np.isfinite(np.asarray(out)).all()


def test_shapes_that_do_not_fit_are_refused():
    q, k, v = operands()
    with pytest.raises(errors.ShapeError, match="do not match"):
        nn.dot_product_attention(q, k, v[:, :3])
    with pytest.raises(errors.ShapeError, match="three axes"):
        nn.dot_product_attention(q[0, 0], k, v)
    with pytest.raises(errors.UnsupportedError, match="cudnn"):
        nn.dot_product_attention(q, k, v, implementation="cudnn")

"""`stagec.nn` against float64 formulas and against JAX's dtypes, eager and compiled."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import stagec
from stagec import errors, nn

X = np.array([[-30.0, -4.0, -2.9, -1.0, -0.5, -0.0], [0.0, 0.4, 1.0, 3.1, 6.5, 40.0]], np.float32)


def logistic(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def normal(x: Any) -> Any:
    return 0.5 * np.vectorize(math.erfc)(-x * math.sqrt(0.5))


def elu(x: Any, alpha: float = 1.0) -> Any:
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def log_shares(x: Any) -> Any:
    shifted = x - x.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


FORMULAS: dict[str, Any] = {
    "identity": lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "relu6": lambda x: np.clip(x, 0, 6),
    "sigmoid": logistic,
    "softplus": lambda x: np.logaddexp(x, 0),
    "sparse_plus": lambda x: np.where(x <= -1, 0, np.where(x >= 1, x, (x + 1) ** 2 / 4)),
    "sparse_sigmoid": lambda x: np.clip((x + 1) / 2, 0, 1),
    "squareplus": lambda x: (x + np.sqrt(x * x + 4)) / 2,
    "soft_sign": lambda x: x / (np.abs(x) + 1),
    "silu": lambda x: x * logistic(x),
    "swish": lambda x: x * logistic(x),
    "mish": lambda x: x * np.tanh(np.logaddexp(x, 0)),
    "log_sigmoid": lambda x: -np.logaddexp(-x, 0),
    "elu": elu,
    "leaky_relu": lambda x: np.where(x >= 0, x, 0.01 * x),
    "hard_tanh": lambda x: np.clip(x, -1, 1),
    "celu": elu,
    "selu": lambda x: 1.0507009873554805 * elu(x, 1.6732632423543772),
    "gelu": lambda x: x * 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "hard_sigmoid": lambda x: np.clip(x + 3, 0, 6) / 6,
    "hard_silu": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "hard_swish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "tanh": np.tanh,
    "glu": lambda x: x[:, :3] * logistic(x[:, 3:]),
    "softmax": lambda x: np.exp(log_shares(x)),
    "log_softmax": lambda x: log_shares(x),
    "standardize": lambda x: (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5),
    "logsumexp": lambda x: np.log(np.exp(x).sum()),
    "logmeanexp": lambda x: np.log(np.exp(x).mean()),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_values_follow_the_formula(name: str) -> None:
    actual = getattr(nn, name)(X)
    np.testing.assert_allclose(np.asarray(actual), FORMULAS[name](X.astype(np.float64)), rtol=2e-5, atol=2e-6)


def test_compiled_values_follow_the_formulas() -> None:
    outs = stagec.jit(lambda x: {name: getattr(nn, name)(x) for name in FORMULAS})(X)
    for name, formula in FORMULAS.items():
        np.testing.assert_allclose(
            np.asarray(outs[name]), formula(X.astype(np.float64)), rtol=5e-5, atol=5e-6, err_msg=name
        )


@pytest.mark.parametrize("name", FORMULAS)
def test_dtypes_are_those_of_jax(name: str) -> None:
    jax = pytest.importorskip("jax")
    for dtype in (np.float16, stagec.numpy.bfloat16.dtype, np.float32):
        expected = jax.eval_shape(getattr(jax.nn, name), X.astype(dtype)).dtype
        assert getattr(nn, name)(X.astype(dtype)).dtype == expected


def test_exact_gelu_uses_the_normal_distribution() -> None:
    actual = nn.gelu(X, approximate=False)
    np.testing.assert_allclose(np.asarray(actual), X * normal(X.astype(np.float64)), rtol=1e-6, atol=1e-12)


def test_relu_keeps_integers_and_nan() -> None:
    assert nn.relu(np.array([-2, 3], np.int32)).tolist() == [0, 3]
    assert np.isnan(np.asarray(nn.relu(np.float32(np.nan))))


def test_masked_elements_take_no_part_in_a_softmax() -> None:
    mask = np.array([True, False, True])
    x = np.array([1.0, 99.0, 2.0], np.float32)
    kept = np.exp([1.0, 2.0]) / np.exp([1.0, 2.0]).sum()
    np.testing.assert_allclose(np.asarray(nn.softmax(x, where=mask)), [kept[0], 0, kept[1]], rtol=1e-6)
    np.testing.assert_allclose(np.asarray(nn.log_softmax(x, where=mask))[[0, 2]], np.log(kept), rtol=1e-6)
    assert np.asarray(nn.log_softmax(x, where=mask))[1] == -np.inf


def test_standardize_takes_masks_statistics_and_algorithms() -> None:
    x = np.array([1.0, 2.0, 4.0, 100.0], np.float32)
    part = x[:3]
    expected = (part - part.mean()) / np.sqrt(part.var() + 1e-5)
    mask = np.array([True, True, True, False])
    for algorithm in ("fast", "stable"):
        actual = np.asarray(nn.standardize(x, where=mask, algorithm=algorithm))[:3]
        np.testing.assert_allclose(actual, expected, rtol=1e-5)
    np.testing.assert_allclose(np.asarray(nn.standardize(x, mean=0.0, variance=4.0, epsilon=0.0)), x / 2)
    with pytest.raises(errors.UnsupportedError, match="'fast' or 'stable'"):
        nn.standardize(x, algorithm="slow")


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_one_hot_puts_the_new_axis_where_it_is_told(axis: int) -> None:
    x = np.array([[0, 2], [1, 7]], np.int32)
    expected = np.moveaxis(np.eye(8)[x][..., :3], -1, axis)
    actual = nn.one_hot(x, 3, axis=axis)
    assert actual.dtype == np.float32
    np.testing.assert_array_equal(np.asarray(actual), expected)


def test_log1mexp_is_accurate_at_both_ends() -> None:
    x = np.array([1e-6, 0.1, 0.69, 0.7, 5.0, 40.0], np.float32)
    wide = x.astype(np.float64)
    expected = np.where(wide < 1, np.log(-np.expm1(-wide)), np.log1p(-np.exp(-wide)))
    np.testing.assert_allclose(np.asarray(nn.log1mexp(x)), expected, rtol=2e-6)


def test_glu_of_an_odd_axis_says_what_is_wrong() -> None:
    with pytest.raises(errors.ShapeError, match=r"axis 0 of float32\[3\] has odd size 3"):
        nn.glu(np.zeros(3, np.float32))


def test_activations_of_bools_and_unsigned_integers():
    bools = np.array([True, False])
    for f in (nn.relu, nn.hard_tanh):
        assert (np.asarray(f(bools)).dtype, f(bools).tolist()) == (np.int32, [1, 0])
    assert nn.hard_tanh(np.array([0, 7], np.uint8)).tolist() == [0, 1]

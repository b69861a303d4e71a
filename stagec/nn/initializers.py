"""Initial weights of neural networks, by the names of `jax.nn.initializers`.

An initializer is a function `(key, shape, dtype)`. Its numbers are those of JAX for the same key.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from stagec import numpy as snp, random
from stagec.core import dtypes, errors, location
from stagec.core.array import Array
from stagec.core.boundary import publish as _publish
from stagec.numpy.arguments import explicitly_split, requested_dtype
from stagec.primitives.axes import as_shape, canonical_axis
from stagec.random.keys import KeyLike
from stagec.typing import ArrayLike, DTypeLike


class Initializer(Protocol):
    """A function that returns initial weights.

    >>> from stagec import random
    >>> init: Initializer = normal(0.1)
    >>> init(random.key(0), (2, 3)).shape
    (2, 3)
    """

    def __call__(self, key: Any, shape: Sequence[int], dtype: DTypeLike = None, out_sharding: Any = None) -> Array:
        """Return weights of this shape and dtype, split along explicit axes of a mesh as `out_sharding` says."""


def _weights_dtype(asked: DTypeLike) -> Any:
    return dtypes.default_float() if asked is None else requested_dtype(asked, "an initializer")


def _initializer(name: str, default: DTypeLike, draw: Callable[[Any, tuple[int, ...], Any], Array]) -> Initializer:
    """The initializer of the weights that `draw` returns for a key, a shape and a dtype."""

    def init(key: Any, shape: Sequence[int], dtype: DTypeLike = None, out_sharding: Any = None) -> Array:
        drawn = draw(key, as_shape(shape, name), _weights_dtype(default if dtype is None else dtype))
        found: Array = drawn if out_sharding is None else explicitly_split(drawn, out_sharding, name)
        return found

    return init


def _weights(key: Any, shape: tuple[int, ...], scale: Any, column_axis: int, dtype: Any) -> Array:
    axis = canonical_axis(column_axis, len(shape), "orthogonal")
    columns = shape[axis]
    rows = math.prod(shape) // columns if columns else 0
    row_sizes = [n for i, n in enumerate(shape) if i != axis]
    found = random.orthogonal(key, rows, (), dtype, columns).reshape((*row_sizes, columns))
    return snp.array(scale, dtype) * snp.moveaxis(found, -1, axis)


def orthogonal(scale: ArrayLike = 1.0, column_axis: int = -1, dtype: DTypeLike = None) -> Initializer:
    """An initializer of matrices with orthonormal columns (or rows, if there are fewer), uniformly distributed.

    Args:
      scale: a factor of the weights.
      column_axis: the axis of the columns; the other axes together are the rows.

    >>> from stagec import random
    >>> w = orthogonal()(random.key(0), (3, 2))
    >>> abs(w.T @ w).round(4)
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """

    def draw(key: Any, shape: tuple[int, ...], dtype: Any) -> Array:
        if len(shape) < 2:
            raise location.error(
                errors.ShapeError,
                f"orthogonal: weights of shape {shape}",
                fix="give orthogonal weights two axes or more",
            )
        return _weights(key, shape, scale, column_axis, dtype)

    return _initializer("orthogonal", dtype, draw)


def delta_orthogonal(scale: ArrayLike = 1.0, column_axis: int = -1, dtype: DTypeLike = None) -> Initializer:
    """An initializer of convolutions: an orthogonal matrix at the center of the window, and zeros elsewhere.

    Source: Xiao et al., "Dynamical isometry and a mean field theory of CNNs" (2018).

    Args:
      scale: a factor of the weights.
      column_axis: the axis of the columns of the matrix.

    >>> from stagec import random
    >>> w = delta_orthogonal()(random.key(0), (3, 2, 2))
    >>> w[0]
    Array([[0., 0.],
           [0., 0.]], dtype=float32)
    """

    def draw(key: Any, shape: tuple[int, ...], dtype: Any) -> Array:
        if len(shape) not in (3, 4, 5) or shape[-1] < shape[-2]:
            raise location.error(
                errors.ShapeError,
                f"delta_orthogonal: weights of shape {shape}",
                fix="give a window of one to three axes, then inputs, and at least as many outputs",
            )
        center = tuple((n - 1) // 2 for n in shape[:-2])
        return snp.zeros(shape, dtype).at[center].set(_weights(key, shape[-2:], scale, column_axis, dtype))

    return _initializer("delta_orthogonal", dtype, draw)


__all__ = [
    "Initializer", "constant", "delta_orthogonal", "glorot_normal", "glorot_uniform", "he_normal", "he_uniform",
    "kaiming_normal", "kaiming_uniform", "lecun_normal", "lecun_uniform", "normal", "ones", "orthogonal",
    "truncated_normal", "uniform", "variance_scaling", "xavier_normal", "xavier_uniform", "zeros",
]  # fmt: skip

Axes = int | Sequence[int]


def zeros(key: KeyLike | None, shape: Sequence[int], dtype: DTypeLike = None) -> Array:
    """Zeros; the key is not used.

    >>> zeros(None, (2,))
    Array([0., 0.], dtype=float32)
    """
    return snp.zeros(shape, _weights_dtype(dtype))


def ones(key: KeyLike | None, shape: Sequence[int], dtype: DTypeLike = None) -> Array:
    """Ones; the key is not used.

    >>> ones(None, (2,))
    Array([1., 1.], dtype=float32)
    """
    return snp.ones(shape, _weights_dtype(dtype))


def constant(value: ArrayLike, dtype: DTypeLike = None) -> Initializer:
    """An initializer of one value, or of an array that broadcasts to the shape.

    >>> constant(3.0)(None, (2,))
    Array([3., 3.], dtype=float32)
    """
    return _initializer("constant", dtype, lambda key, shape, dtype: snp.full(shape, value, dtype))


def _times(numbers: Array, scale: ArrayLike) -> Array:
    return numbers * snp.array(scale, numbers.dtype)


def uniform(scale: ArrayLike = 1e-2, dtype: DTypeLike = None) -> Initializer:
    """An initializer of uniform numbers in [0, scale).

    >>> from stagec import random
    >>> bool((uniform(2.0)(random.key(0), (100,)) < 2).all())
    True
    """
    return _initializer("uniform", dtype, lambda key, *given: _times(random.uniform(key, *given), scale))


def normal(stddev: ArrayLike = 1e-2, dtype: DTypeLike = None) -> Initializer:
    """An initializer of normal numbers with this standard deviation.

    >>> from stagec import random
    >>> normal(0.1)(random.key(0), (3,)).shape
    (3,)
    """
    return _initializer("normal", dtype, lambda key, *given: _times(random.normal(key, *given), stddev))


def truncated_normal(
    stddev: ArrayLike = 1e-2, dtype: DTypeLike = None, lower: ArrayLike = -2.0, upper: ArrayLike = 2.0
) -> Initializer:
    """An initializer of normal numbers between two bounds.

    Args:
      stddev: the standard deviation before truncation; the bounds are multiples of it.

    >>> from stagec import random
    >>> bool((abs(truncated_normal(0.1)(random.key(0), (100,))) < 0.2).all())
    True
    """
    return _initializer(
        "truncated_normal",
        dtype,
        lambda key, *given: _times(random.truncated_normal(key, lower, upper, *given), stddev),
    )


def variance_scaling(
    scale: float,
    mode: str,
    distribution: str,
    in_axis: Axes = -2,
    out_axis: Axes = -1,
    batch_axis: Axes = (),
    dtype: DTypeLike = None,
) -> Initializer:
    """An initializer of numbers with mean 0 and variance `scale / n`.

    Args:
      scale: the scale of the variance.
      mode: how `n` is computed: the number of inputs of a unit (`"fan_in"`), that of its outputs (`"fan_out"`), or
        the arithmetic or geometric mean of both (`"fan_avg"`, `"fan_geo_avg"`).
      distribution: `"truncated_normal"` (at two standard deviations), `"normal"` or `"uniform"`; for complex
        dtypes the last is uniform in a disk.
      in_axis, out_axis: axes of the inputs and outputs. Axes that are neither these nor `batch_axis` are those of a
        window.
      batch_axis: axes that count as several sets of weights.

    >>> from stagec import random
    >>> weights = variance_scaling(1.0, "fan_in", "normal")(random.key(0), (100, 50))
    >>> bool(abs(weights.var() * 100 - 1) < 0.1)
    True
    """
    if mode not in _MODES:
        raise location.error(
            errors.UnsupportedError,
            f"variance_scaling: unknown mode {mode!r}",
            fix="use 'fan_in', 'fan_out', 'fan_avg' or 'fan_geo_avg'",
        )
    if distribution not in _DRAWS:
        raise location.error(
            errors.UnsupportedError,
            f"variance_scaling: unknown distribution {distribution!r}",
            fix="use 'truncated_normal', 'normal' or 'uniform'",
        )

    def draw(key: Any, shape: tuple[int, ...], dtype: Any) -> Array:
        variance = snp.array(scale / _MODES[mode](*_fans(shape, in_axis, out_axis, batch_axis)), dtype)
        return _DRAWS[distribution](key, shape, dtype, variance)

    return _initializer("variance_scaling", dtype, draw)


_MODES = {
    "fan_in": lambda fan_in, fan_out: fan_in,
    "fan_out": lambda fan_in, fan_out: fan_out,
    "fan_avg": lambda fan_in, fan_out: (fan_in + fan_out) / 2,
    "fan_geo_avg": lambda fan_in, fan_out: (fan_in * fan_out) ** 0.5,
}


def _fans(shape: tuple[int, ...], in_axis: Axes, out_axis: Axes, batch_axis: Axes) -> tuple[float, float]:
    """Return the numbers of inputs and of outputs of a unit."""

    def count(axes: Axes) -> int:
        listed = (axes,) if isinstance(axes, int) else tuple(axes)
        if any(not -len(shape) <= a < len(shape) for a in listed):
            raise location.error(
                errors.ShapeError,
                f"an initializer: weights of shape {shape} have no axis {next(a for a in listed)}",
                fix="give weights two axes or more, or name in_axis and out_axis",
            )
        return math.prod(shape[a] for a in listed)

    inputs, outputs, batches = count(in_axis), count(out_axis), count(batch_axis)
    window = math.prod(shape) / inputs / outputs / batches
    return inputs * window, outputs * window


def _truncated(key: Any, shape: tuple[int, ...], dtype: Any, variance: Array) -> Any:
    # The constants are standard deviations of normal numbers, real and complex, that are truncated at 2.
    if not dtypes.is_complex(dtype):
        deviation = snp.sqrt(variance) / snp.array(0.87962566103423978, dtype)
        return random.truncated_normal(key, -2, 2, shape, dtype) * deviation
    deviation = snp.sqrt(variance) / snp.array(0.95311164380491208, dtype)
    inside = 1 - snp.exp(snp.array(-4.0, dtype))
    return _polar(key, shape, dtype, lambda unit: snp.sqrt(-snp.log(1 - inside * unit))) * deviation


def _uniform(key: Any, shape: tuple[int, ...], dtype: Any, variance: Array) -> Any:
    if not dtypes.is_complex(dtype):
        return random.uniform(key, shape, dtype, -1) * snp.sqrt(3 * variance)
    return _polar(key, shape, dtype, lambda unit: snp.sqrt(2 * unit)) * snp.sqrt(variance)


def _polar(key: Any, shape: tuple[int, ...], dtype: Any, radius: Any) -> Any:
    """Draw complex numbers with uniform angles; `radius` maps a uniform number to the absolute value."""
    real = dtypes.real_dtype(dtype)
    keys = random.split(key)
    size = radius(random.uniform(keys[0], shape, real).astype(dtype))
    angle = 2 * math.pi * random.uniform(keys[1], shape, real).astype(dtype)
    return size * snp.exp(1j * angle)


_DRAWS: dict[str, Callable[..., Array]] = {
    "truncated_normal": _truncated,
    "normal": lambda key, shape, dtype, variance: random.normal(key, shape, dtype) * snp.sqrt(variance),
    "uniform": _uniform,
}


def glorot_uniform(
    in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: DTypeLike = None
) -> Initializer:
    """The uniform initializer of Glorot and Bengio (2010): variance 1 over the mean of inputs and outputs.

    >>> from stagec import random
    >>> glorot_uniform()(random.key(0), (2, 3)).shape
    (2, 3)
    """
    return variance_scaling(1.0, "fan_avg", "uniform", in_axis, out_axis, batch_axis, dtype)


def glorot_normal(
    in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: DTypeLike = None
) -> Initializer:
    """The truncated normal initializer of Glorot and Bengio (2010).

    >>> from stagec import random
    >>> glorot_normal()(random.key(0), (2, 3)).shape
    (2, 3)
    """
    return variance_scaling(1.0, "fan_avg", "truncated_normal", in_axis, out_axis, batch_axis, dtype)


def lecun_uniform(
    in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: DTypeLike = None
) -> Initializer:
    """The uniform initializer of LeCun et al. (1998): variance 1 over the number of inputs.

    >>> from stagec import random
    >>> lecun_uniform()(random.key(0), (2, 3)).shape
    (2, 3)
    """
    return variance_scaling(1.0, "fan_in", "uniform", in_axis, out_axis, batch_axis, dtype)


def lecun_normal(
    in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: DTypeLike = None
) -> Initializer:
    """The truncated normal initializer of LeCun et al. (1998).

    >>> from stagec import random
    >>> lecun_normal()(random.key(0), (2, 3)).shape
    (2, 3)
    """
    return variance_scaling(1.0, "fan_in", "truncated_normal", in_axis, out_axis, batch_axis, dtype)


def he_uniform(in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: DTypeLike = None) -> Initializer:
    """The uniform initializer of He et al. (2015): variance 2 over the number of inputs.

    >>> from stagec import random
    >>> he_uniform()(random.key(0), (2, 3)).shape
    (2, 3)
    """
    return variance_scaling(2.0, "fan_in", "uniform", in_axis, out_axis, batch_axis, dtype)


def he_normal(in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: DTypeLike = None) -> Initializer:
    """The truncated normal initializer of He et al. (2015).

    >>> from stagec import random
    >>> he_normal()(random.key(0), (2, 3)).shape
    (2, 3)
    """
    return variance_scaling(2.0, "fan_in", "truncated_normal", in_axis, out_axis, batch_axis, dtype)


xavier_uniform, xavier_normal = glorot_uniform, glorot_normal
kaiming_uniform, kaiming_normal = he_uniform, he_normal


_publish(globals())

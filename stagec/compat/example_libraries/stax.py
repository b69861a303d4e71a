"""`jax.example_libraries.stax`: a layer is a pair of functions, `init(key, input_shape)` and `apply(params, inputs)`.

`init` returns the output's shape and the parameters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import stagec.numpy as snp
from stagec import lax, nn, random
from stagec.core import location

__all__ = [
    "AvgPool", "BatchNorm", "Conv", "Conv1DTranspose", "ConvTranspose", "Dense", "Dropout", "Elu", "Exp", "FanInConcat",
    "FanInSum", "FanOut", "Flatten", "Gelu", "GeneralConv", "GeneralConvTranspose", "Identity", "LeakyRelu",
    "LogSoftmax", "MaxPool", "Relu", "Selu", "Sigmoid", "Softmax", "Softplus", "SumPool", "Tanh", "elementwise",
    "parallel", "serial", "shape_dependent",
]  # fmt: skip

Layer: TypeAlias = tuple[Callable[..., Any], Callable[..., Any]]


def _without_parameters(shape: Callable[[Any], Any], apply: Callable[[Any], Any]) -> Layer:
    return lambda rng, input_shape: (shape(input_shape), ()), lambda params, inputs, **kwargs: apply(inputs)


def Dense(
    out_dim: int,
    W_init: Callable[..., Any] = nn.initializers.glorot_normal(),  # noqa: B008
    b_init: Callable[..., Any] = nn.initializers.normal(),  # noqa: B008
) -> Layer:
    """`x @ W + b`."""

    def init(rng: Any, input_shape: Any) -> Any:
        first, second = random.split(rng)
        return (*input_shape[:-1], out_dim), (W_init(first, (input_shape[-1], out_dim)), b_init(second, (out_dim,)))

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return snp.dot(inputs, params[0]) + params[1]

    return init, apply


def _convolution(
    shape_of: Callable[..., Any],
    convolve: Callable[..., Any],
    dimension_numbers: Sequence[str],
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Any = "VALID",
    W_init: Callable[..., Any] | None = None,
    b_init: Callable[..., Any] = nn.initializers.normal(1e-6),  # noqa: B008
) -> Layer:
    """A convolution and a bias for each channel; it has no padding by default, and strides of 1."""
    inputs_spec, kernel_spec, out_spec = dimension_numbers
    steps = strides or (1,) * len(filter_shape)
    W_init = W_init or nn.initializers.glorot_normal(kernel_spec.index("I"), kernel_spec.index("O"))

    def init(rng: Any, input_shape: Any) -> Any:
        sizes = {"O": out_chan, "I": input_shape[inputs_spec.index("C")]}
        spatial = iter(filter_shape)
        kernel_shape = tuple([sizes[c] if c in sizes else next(spatial) for c in kernel_spec])
        bias_shape = tuple([out_chan if c == "C" else 1 for c in out_spec])
        first, second = random.split(rng)
        shape = shape_of(input_shape, kernel_shape, steps, padding, dimension_numbers)
        return shape, (W_init(first, kernel_shape), b_init(second, bias_shape))

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return convolve(inputs, params[0], steps, padding, dimension_numbers=dimension_numbers) + params[1]

    return init, apply


GeneralConv = partial(_convolution, lax.conv_general_shape_tuple, lax.conv_general_dilated)
Conv = partial(GeneralConv, ("NHWC", "HWIO", "NHWC"))
GeneralConvTranspose = partial(_convolution, lax.conv_transpose_shape_tuple, lax.conv_transpose)
Conv1DTranspose = partial(GeneralConvTranspose, ("NHC", "HIO", "NHC"))
ConvTranspose = partial(GeneralConvTranspose, ("NHWC", "HWIO", "NHWC"))


def _pooling(
    combine: Callable[..., Any],
    initial: float,
    is_mean: bool,
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Any = "VALID",
    spec: str | None = None,
) -> Layer:
    """A reduction of windows over the spatial axes; without `spec`, the batch comes first and the channels last."""
    spec = spec or f"N{'_' * len(window_shape)}C"

    def spread(sizes: Sequence[int]) -> tuple[int, ...]:
        rest = iter(sizes)
        return tuple([1 if c in "NC" else next(rest) for c in spec])

    dims, steps = spread(window_shape), spread(strides or (1,) * len(window_shape))

    def apply(inputs: Any) -> Any:
        out = lax.reduce_window(inputs, initial, combine, dims, steps, padding)
        if not is_mean:
            return out
        # Windows at an edge have fewer elements.
        ones = snp.ones([1 if c in "NC" else n for c, n in zip(spec, inputs.shape, strict=True)], inputs.dtype)
        return out / lax.reduce_window(ones, 0.0, lax.add, dims, steps, padding)

    return _without_parameters(lambda shape: lax.reduce_window_shape_tuple(shape, dims, steps, padding), apply)


MaxPool = partial(_pooling, lax.max, -math.inf, False)
SumPool = partial(_pooling, lax.add, 0.0, False)
AvgPool = partial(_pooling, lax.add, 0.0, True)


def BatchNorm(
    axis: int | Sequence[int] = (0, 1, 2),
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
    beta_init: Callable[..., Any] = nn.initializers.zeros,
    gamma_init: Callable[..., Any] = nn.initializers.ones,
) -> Layer:
    """Subtract the mean over the axes `axis`, divide by the standard deviation, then scale and shift."""
    axes = (axis,) if isinstance(axis, int) else tuple(axis)

    def init(rng: Any, input_shape: Any) -> Any:
        shape = tuple([n for i, n in enumerate(input_shape) if i not in axes])
        first, second = random.split(rng)
        return input_shape, (beta_init(first, shape) if center else (), gamma_init(second, shape) if scale else ())

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        beta, gamma = params
        out = nn.standardize(inputs, axes, epsilon=epsilon)
        out = out * snp.expand_dims(gamma, axes) if scale else out
        return out + snp.expand_dims(beta, axes) if center else out

    return init, apply


def elementwise(fun: Callable[..., Any], **fun_kwargs: Any) -> Layer:
    """A function of each element."""
    return _without_parameters(lambda shape: shape, lambda x: fun(x, **fun_kwargs))


Elu = elementwise(nn.elu)
Exp = elementwise(snp.exp)
Gelu = elementwise(nn.gelu)
Identity = elementwise(lambda x: x)
LeakyRelu = elementwise(nn.leaky_relu)
LogSoftmax = elementwise(nn.log_softmax, axis=-1)
Relu = elementwise(nn.relu)
Selu = elementwise(nn.selu)
Sigmoid = elementwise(nn.sigmoid)
Softmax = elementwise(nn.softmax, axis=-1)
Softplus = elementwise(nn.softplus)
Tanh = elementwise(snp.tanh)
Flatten = _without_parameters(lambda s: (s[0], math.prod(s[1:])), lambda x: x.reshape(x.shape[0], -1))
FanInSum = _without_parameters(lambda shapes: shapes[0], sum)


def FanOut(num: int) -> Layer:
    """The input, several times."""
    return _without_parameters(lambda shape: [shape] * num, lambda x: [x] * num)


def FanInConcat(axis: int = -1) -> Layer:
    """Inputs, joined along an axis."""

    def shape(shapes: Sequence[Any]) -> Any:
        place = axis % len(shapes[0])
        return (*shapes[0][:place], sum(s[place] for s in shapes), *shapes[0][place + 1 :])

    return _without_parameters(shape, lambda xs: snp.concatenate(xs, axis))


def Dropout(rate: float, mode: str = "train") -> Layer:
    """Keep each element with probability `rate`, and scale it; in other modes than `"train"`, keep all."""

    def apply(params: Any, inputs: Any, *, rng: Any = None, **kwargs: Any) -> Any:
        if mode != "train":
            return inputs
        if rng is None:
            raise location.error(ValueError, "Dropout: no key", fix="call apply(params, inputs, rng=key)")
        return snp.where(random.bernoulli(rng, rate, inputs.shape), inputs / rate, 0)

    return lambda rng, input_shape: (input_shape, ()), apply


def _keys(rng: Any, count: int) -> Any:
    return [None] * count if rng is None else random.split(rng, count)


def serial(*layers: Layer) -> Layer:
    """Layers, one after the other."""

    def init(rng: Any, input_shape: Any) -> Any:
        params = []
        for start, _ in layers:
            rng, key = random.split(rng)
            input_shape, made = start(key, input_shape)
            params.append(made)
        return input_shape, params

    def apply(params: Any, inputs: Any, *, rng: Any = None, **kwargs: Any) -> Any:
        for (_, run), mine, key in zip(layers, params, _keys(rng, len(layers)), strict=True):
            inputs = run(mine, inputs, rng=key, **kwargs)
        return inputs

    return init, apply


def parallel(*layers: Layer) -> Layer:
    """Layers, each with an input of its own."""

    def init(rng: Any, input_shape: Any) -> Any:
        found = [start(k, s) for (start, _), k, s in zip(layers, _keys(rng, len(layers)), input_shape, strict=True)]
        return tuple([shape for shape, _ in found]), tuple([made for _, made in found])

    def apply(params: Any, inputs: Any, *, rng: Any = None, **kwargs: Any) -> Any:
        parts = zip(layers, params, inputs, _keys(rng, len(layers)), strict=True)
        return [run(mine, x, rng=key, **kwargs) for (_, run), mine, x, key in parts]

    return init, apply


def shape_dependent(make_layer: Callable[[Any], Layer]) -> Layer:
    """A layer that is made for the shape of its input."""
    return (
        lambda rng, input_shape: make_layer(input_shape)[0](rng, input_shape),
        lambda params, inputs, **kwargs: make_layer(inputs.shape)[1](params, inputs, **kwargs),
    )

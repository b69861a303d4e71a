"""Rules for products, convolutions, Fourier transforms, and factorizations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from passes import attributes as attrs
from stagec import lax, numpy as snp, random
from stagec.foreign.custom_calls import target
from stagec.foreign.site import Site, Value, rule


@rule("dot_general")
def _dot_general(site: Site, x: Value, y: Value) -> Value:
    fields = site.dimension_numbers("dot_dimension_numbers")

    def axes(name: str) -> Sequence[int]:
        found: Sequence[int] = fields.get(name, ())
        return found

    numbers = (
        (axes("lhs_contracting_dimensions"), axes("rhs_contracting_dimensions")),
        (axes("lhs_batching_dimensions"), axes("rhs_batching_dimensions")),
    )
    return _product(x, y, numbers, site.dtype())


@rule("dot")
def _dot(site: Site, x: Value, y: Value) -> Value:
    return _product(x, y, (((len(x.shape) - 1,), (0,)), ((), ())), site.dtype())


def _product(x: Value, y: Value, numbers: Any, dtype: np.dtype[Any]) -> Value:
    if x.dtype != y.dtype:
        x, y = (lax.convert_element_type(v, dtype) for v in (x, y))
    return lax.dot_general(x, y, numbers, preferred_element_type=dtype)


@rule("einsum")
def _einsum(site: Site, x: Value, y: Value) -> Value:
    return snp.einsum(site.text("einsum_config"), x, y)


@rule("unary_einsum")
def _unary_einsum(site: Site, x: Value) -> Value:
    return snp.einsum(site.text("einsum_config"), x)


@rule("convolution", "dynamic_conv")
def _convolution(site: Site, x: Value, kernel: Value, given: Value = None) -> Value:
    specs = _convolution_numbers(site)
    spatial = len(x.shape) - 2
    ones = (1,) * spatial
    padding = site.pairs("padding", spatial)
    if given is not None:
        padding = [(int(low), int(high)) for low, high in site.known(given, "padding").reshape(-1, 2)]
    reversal = site.op.attributes["window_reversal"] if site.has("window_reversal") else ()
    reversed_axes = [axis for axis, flag in zip(specs.rhs_spec[2:], reversal) if flag]
    return lax.conv_general_dilated(
        x,
        lax.rev(kernel, reversed_axes) if reversed_axes else kernel,
        site.ints("window_strides", ones),
        padding,
        site.ints("lhs_dilation", ones),
        site.ints("rhs_dilation", ones),
        specs,
        site.integer("feature_group_count"),
        site.integer("batch_group_count"),
        preferred_element_type=site.dtype(),
    )


def _convolution_numbers(site: Site) -> Any:
    """The dimensions as axes: batch or output features, features, then space."""
    d = attrs.convolution_dimensions(site.op)
    return lax.ConvDimensionNumbers(
        (d.lhs_batch, d.lhs_feature, *d.lhs_spatial),
        (d.rhs_output, d.rhs_input, *d.rhs_spatial),
        (d.out_batch, d.out_feature, *d.out_spatial),
    )


@rule("fft")
def _fft(site: Site, x: Value) -> Value:
    return lax.fft(x, site.word("fft_type"), site.ints("fft_length"))


@rule("cholesky")
def _cholesky(site: Site, x: Value) -> Value:
    if site.boolean("lower", default=False):
        return lax.linalg.cholesky(hermitian(x, lower=True), symmetrize_input=False)
    factor = lax.linalg.cholesky(hermitian(x, lower=False), symmetrize_input=False)
    return adjoint(factor)


def hermitian(x: Value, *, lower: bool) -> Value:
    """Hermitian matrices from one of their triangles."""
    kept, strict = (snp.tril(x), snp.tril(x, -1)) if lower else (snp.triu(x), snp.triu(x, 1))
    return lax.add(kept, adjoint(strict))


def adjoint(x: Value) -> Value:
    """Matrices transposed and conjugated."""
    rank = len(x.shape)
    transposed = lax.transpose(x, (*range(rank - 2), rank - 1, rank - 2))
    return lax.conj(transposed) if np.issubdtype(x.dtype, np.complexfloating) else transposed


@rule("triangular_solve")
def _triangular_solve(site: Site, a: Value, b: Value) -> Value:
    transpose = site.word("transpose_a")
    if a.dtype.itemsize == 2:
        a, b = (lax.convert_element_type(v, np.float32) for v in (a, b))
    solved = lax.linalg.triangular_solve(
        a,
        b,
        left_side=site.boolean("left_side"),
        lower=site.boolean("lower"),
        transpose_a=transpose in ("TRANSPOSE", "ADJOINT"),
        conjugate_a=transpose == "ADJOINT",
        unit_diagonal=site.boolean("unit_diagonal"),
    )
    return lax.convert_element_type(solved, site.dtype())


@rule("chlo.ragged_dot")
def _ragged_dot(site: Site, x: Value, y: Value, sizes: Value) -> Value:
    fields = site.dimension_numbers("ragged_dot_dimension_numbers")
    numbers = lax.RaggedDotDimensionNumbers(
        dot_dimension_numbers=(
            (fields.get("lhs_contracting_dimensions", ()), fields.get("rhs_contracting_dimensions", ())),
            (fields.get("lhs_batching_dimensions", ()), fields.get("rhs_batching_dimensions", ())),
        ),
        lhs_ragged_dimensions=fields.get("lhs_ragged_dimensions", ()),
        rhs_group_dimensions=fields.get("rhs_group_dimensions", ()),
    )
    return lax.ragged_dot_general(x, y, sizes, numbers, preferred_element_type=site.dtype())


@rule("batch_norm_inference")
def _normalized(site: Site, x: Value, scale: Value, offset: Value, mean: Value, variance: Value) -> Value:
    along = _along_feature(site, x)
    epsilon = np.asarray(_number(site, "epsilon"), x.dtype)
    deviation = lax.sqrt(lax.add(along(variance), lax.full(x.shape, epsilon, x.dtype)))
    return lax.add(lax.mul(lax.div(lax.sub(x, along(mean)), deviation), along(scale)), along(offset))


def _along_feature(site: Site, x: Value) -> Any:
    return lambda v: lax.broadcast_in_dim(v, x.shape, (site.integer("feature_index"),))


def _number(site: Site, name: str) -> float:
    return float(site.op.attributes[name].value)


def _moments(site: Site, x: Value) -> tuple[Value, Value]:
    axes = tuple(i for i in range(len(x.shape)) if i != site.integer("feature_index"))
    mean = snp.mean(x, axes)
    centered = lax.sub(x, _along_feature(site, x)(mean))
    return mean, snp.mean(lax.mul(centered, centered), axes)


@rule("batch_norm_training")
def _batch_norm_training(site: Site, x: Value, scale: Value, offset: Value) -> list[Value]:
    mean, variance = _moments(site, x)
    return [_normalized(site, x, scale, offset, mean, variance), mean, variance]


@rule("batch_norm_grad")
def _batch_norm_grad(site: Site, x: Value, scale: Value, mean: Value, variance: Value, grad: Value) -> list[Value]:
    along = _along_feature(site, x)
    axes = tuple(i for i in range(len(x.shape)) if i != site.integer("feature_index"))
    count = np.asarray(np.prod([x.shape[i] for i in axes], dtype=np.int64), x.dtype)
    epsilon = lax.full(variance.shape, _number(site, "epsilon"), x.dtype)
    centered = lax.sub(x, along(mean))
    deviation = lax.sqrt(lax.add(variance, epsilon))
    grad_offset = snp.sum(grad, axes)
    grad_scale = lax.div(snp.sum(lax.mul(grad, centered), axes), deviation)
    factor = lax.div(lax.div(scale, deviation), lax.full(scale.shape, count, x.dtype))
    inner = lax.sub(
        lax.sub(lax.mul(lax.full(x.shape, count, x.dtype), grad), along(grad_offset)),
        lax.div(lax.mul(centered, along(lax.mul(grad_scale, deviation))), along(lax.add(variance, epsilon))),
    )
    return [lax.mul(along(factor), inner), grad_scale, grad_offset]


@rule("rng_bit_generator")
@target("stablehlo.dynamic_rng_bit_generator")
def _rng_bit_generator(site: Site, state: Value, shape: Value = None) -> list[Value]:
    algorithm = {"DEFAULT": 0, "THREE_FRY": 1, "PHILOX": 2}[site.word("rng_algorithm")]
    dtype = site.dtype(1)
    unsigned = np.dtype(f"uint{dtype.itemsize * 8}")
    new, bits = lax.rng_bit_generator(state, site.sizes(shape, 1), unsigned, lax.RandomAlgorithm(algorithm))
    return [new, bits if bits.dtype == dtype else lax.bitcast_convert_type(bits, dtype)]


@rule("rng")
def _rng(site: Site, a: Value, b: Value, shape: Value) -> Value:
    """Random numbers without a state: the same at each call, as StableHLO allows."""
    sizes = site.numbers(shape, "shape")
    key = random.key(0)
    if site.word("rng_distribution") == "NORMAL":
        drawn = random.normal(key, sizes, site.dtype())
        return snp.asarray(drawn * b + a, site.dtype())
    dtype = site.dtype()
    if dtype.kind in "iu":
        return random.randint(key, sizes, a, b, dtype)
    if dtype.kind == "b":
        return random.bernoulli(key, 0.5, sizes)
    return random.uniform(key, sizes, dtype) * (b - a) + a

"""Products, convolutions, reductions, and windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from passes import attributes as attrs, match, operations
from passes.numeric import elementwise
from passes.numeric.shapes import pad_array, result_dtype, result_shape

Array = np.ndarray
Combine = Callable[[list[Array]], list[Array]]


def _accumulator(result: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype in which products are added up: float32 for narrow floats, else that of the result."""
    return np.dtype(np.float32) if elementwise.is_narrow(result) else result


def dot_general(op: Any, x: Array, y: Array) -> Array:
    dims = attrs.dot_dimensions(op)
    dtype = result_dtype(op)
    work = _accumulator(dtype)
    lhs_free = [d for d in range(x.ndim) if d not in dims.lhs_batch and d not in dims.lhs_contract]
    rhs_free = [d for d in range(y.ndim) if d not in dims.rhs_batch and d not in dims.rhs_contract]
    batch = [x.shape[d] for d in dims.lhs_batch]
    inner = int(np.prod([x.shape[d] for d in dims.lhs_contract], dtype=np.int64))
    rows = [x.shape[d] for d in lhs_free]
    columns = [y.shape[d] for d in rhs_free]
    lhs = x.transpose([*dims.lhs_batch, *lhs_free, *dims.lhs_contract]).astype(work)
    rhs = y.transpose([*dims.rhs_batch, *dims.rhs_contract, *rhs_free]).astype(work)
    m, n = int(np.prod(rows, dtype=np.int64)), int(np.prod(columns, dtype=np.int64))
    product = np.matmul(lhs.reshape([*batch, m, inner]), rhs.reshape([*batch, inner, n]))
    return elementwise.convert(product.reshape([*batch, *rows, *columns]), dtype)


def convolution(op: Any, x: Array, kernel: Array) -> Array:
    """Convolution as a sum over kernel positions of strided products."""
    d = attrs.convolution_dimensions(op)
    rank = len(d.lhs_spatial)
    ones = (1,) * rank
    strides = attrs.ints(op, "window_strides", ones)
    lhs_dilation, rhs_dilation = attrs.ints(op, "lhs_dilation", ones), attrs.ints(op, "rhs_dilation", ones)
    padding = attrs.pairs(op, "padding", rank)
    flips = attrs.ints(op, "window_reversal", (0,) * rank)
    groups, batch_groups = attrs.integer(op, "feature_group_count"), attrs.integer(op, "batch_group_count")
    dtype = result_dtype(op)
    work = _accumulator(dtype)
    x = x.transpose([d.lhs_batch, d.lhs_feature, *d.lhs_spatial]).astype(work)
    kernel = kernel.transpose([d.rhs_output, d.rhs_input, *d.rhs_spatial]).astype(work)
    kernel = np.flip(kernel, tuple(2 + i for i, flip in enumerate(flips) if flip))
    low = [0, 0, *(p[0] for p in padding)]
    high = [0, 0, *(p[1] for p in padding)]
    x = pad_array(x, 0, low, high, [0, 0, *(k - 1 for k in lhs_dilation)])
    if batch_groups > 1:  # each group of batches has its own group of output features
        x = np.concatenate(np.split(x, batch_groups, axis=0), axis=1)
        groups = batch_groups
    out_spatial = [result_shape(op)[i] for i in d.out_spatial]
    batch, features, outputs = x.shape[0], x.shape[1] // groups, kernel.shape[0] // groups
    result = np.zeros([batch, groups, outputs, *out_spatial], work)
    for offset in np.ndindex(*kernel.shape[2:]):
        window = tuple(
            slice(k * dilation, k * dilation + max(0, (n - 1) * stride + 1), stride)
            for k, dilation, stride, n in zip(offset, rhs_dilation, strides, out_spatial)
        )
        part = x[(slice(None), slice(None)) + window].reshape([batch, groups, features, *out_spatial])
        weights = kernel[(slice(None), slice(None)) + offset].reshape([groups, outputs, features])
        result = result + np.einsum("bgf...,gof->bgo...", part, weights)
    result = result.reshape([batch, groups * outputs, *out_spatial])
    axes = [0] * (rank + 2)
    for position, where in enumerate([d.out_batch, d.out_feature, *d.out_spatial]):
        axes[where] = position
    return elementwise.convert(result.transpose(axes), dtype)


def _reduce_fast(name: str | None, x: Array, initial: Array, axes: tuple[int, ...]) -> Array | None:
    """The reduction by one NumPy call, for the ops that have one."""
    row = operations.of(name or "")
    if x.dtype.kind == "b":
        row = operations.of(row.of_booleans)
    function = row.ufunc
    if function is None:
        return None
    if x.dtype.kind == "b" or (x.dtype.kind in "iu" and x.dtype.isbuiltin == 1):
        return np.asarray(function.reduce(x, axis=axes, dtype=x.dtype, initial=initial[()]), x.dtype)
    # NumPy's extremes of floats do not tell zeros apart.
    if not row.chooses and x.dtype.kind in "fVc" and x.size > 64:
        wide: Any = np.complex128 if x.dtype.kind == "c" else np.float64
        return np.asarray(function(function.reduce(x.astype(wide), axis=axes), initial.astype(wide))).astype(x.dtype)
    return None


def reduce(op: Any, operands: list[Array], combine: Combine) -> tuple[Array, ...]:
    """Reduction over dimensions.

    Float sums of more than 64 elements go through float64; smaller ones, and
    bodies of more than one op, run element by element in index order.
    """
    count = len(operands) // 2
    inputs, initial = operands[:count], operands[count:]
    axes = attrs.ints(op, "dimensions")
    if count == 1:
        fast = _reduce_fast(match.single_op(op.operation.regions[0]), inputs[0], initial[0], axes)
        if fast is not None:
            return (fast,)
    kept = [d for d in range(inputs[0].ndim) if d not in axes]
    shape = [inputs[0].shape[d] for d in kept]
    flat = [x.transpose([*axes, *kept]).reshape([-1, *shape]) for x in inputs]
    state = initial
    for i in range(int(np.prod([inputs[0].shape[d] for d in axes], dtype=np.int64))):
        state = combine([*(np.broadcast_to(v, shape) for v in state), *(x[i] for x in flat)])
    return tuple(np.broadcast_to(v, shape) for v in state)


def reduce_window(op: Any, operands: list[Array], combine: Combine) -> tuple[Array, ...]:
    """Reduction over sliding windows, one offset within the windows at a time."""
    count = len(operands) // 2
    inputs, initial = operands[:count], operands[count:]
    rank = inputs[0].ndim
    ones = (1,) * rank
    window = attrs.ints(op, "window_dimensions")
    strides = attrs.ints(op, "window_strides", ones)
    base = attrs.ints(op, "base_dilations", ones)
    dilation = attrs.ints(op, "window_dilations", ones)
    padding = attrs.pairs(op, "padding", rank)
    low, high = [p[0] for p in padding], [p[1] for p in padding]
    padded = [pad_array(x, v, low, high, [k - 1 for k in base]) for x, v in zip(inputs, initial)]
    shape = result_shape(op)
    state = [np.broadcast_to(v, shape) for v in initial]
    for offset in np.ndindex(*window):
        where = tuple(
            slice(k * d, k * d + max(0, (n - 1) * s + 1), s) for k, d, s, n in zip(offset, dilation, strides, shape)
        )
        state = combine(state + [x[where] for x in padded])
    return tuple(state)


def select_and_scatter(op: Any, x: Array, source: Array, initial: Array, prefer: Combine, combine: Combine) -> Array:
    """For each window, combine the source's element with the element that `prefer` selects."""
    rank = x.ndim
    window = attrs.ints(op, "window_dimensions", (1,) * rank)
    strides = attrs.ints(op, "window_strides", (1,) * rank)
    padding = attrs.pairs(op, "padding", rank)
    result = np.full(x.shape, initial, x.dtype)
    for position in np.ndindex(*source.shape):
        best: tuple[int, ...] | None = None
        for offset in np.ndindex(*window):
            at = tuple(p * s + o - pad[0] for p, s, o, pad in zip(position, strides, offset, padding))
            if not all(0 <= i < n for i, n in zip(at, x.shape)):
                continue
            if best is None or not bool(prefer([x[best], x[at]])[0]):
                best = at
        if best is not None:
            result[best] = combine([result[best], source[position]])[0]
    return result


def fft(op: Any, x: Array) -> Array:
    kind, length = attrs.word(op, "fft_type"), attrs.ints(op, "fft_length")
    axes = tuple(range(x.ndim - len(length), x.ndim))
    fn: Any = {"FFT": np.fft.fftn, "IFFT": np.fft.ifftn, "RFFT": np.fft.rfftn, "IRFFT": np.fft.irfftn}[kind]
    return np.asarray(fn(x, s=length, axes=axes)).astype(result_dtype(op))


def cholesky(op: Any, a: Array) -> Array:
    lower = attrs.boolean(op, "lower")
    source = a if lower else np.conj(np.swapaxes(a, -1, -2))
    full = np.tril(source) + np.conj(np.swapaxes(np.tril(source, -1), -1, -2))
    factor = np.linalg.cholesky(full)
    return (factor if lower else np.conj(np.swapaxes(factor, -1, -2))).astype(a.dtype)


def triangular_solve(op: Any, a: Array, b: Array) -> Array:
    lower, left = attrs.boolean(op, "lower"), attrs.boolean(op, "left_side")
    a = np.tril(a) if lower else np.triu(a)
    if attrs.boolean(op, "unit_diagonal"):
        eye = np.eye(a.shape[-1], dtype=bool)
        a = np.where(eye, np.ones_like(a), a)
    mode = attrs.word(op, "transpose_a", "NO_TRANSPOSE")
    if mode != "NO_TRANSPOSE":
        a = np.swapaxes(a, -1, -2)
        a = np.conj(a) if mode == "ADJOINT" else a
    if left:
        return np.linalg.solve(a, b).astype(b.dtype)
    return np.swapaxes(np.linalg.solve(np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2)), -1, -2).astype(b.dtype)

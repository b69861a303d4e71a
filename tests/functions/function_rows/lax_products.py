"""`stagec.lax`: products, convolutions and windows."""

from __future__ import annotations

import numpy as np

from function_rows.drawing import Call, Draw, call
from function_rows.lax_arrays import padded
from function_rows.row import Row, found


def _dot(s: Draw) -> Call:
    kind, k = s.kind("iufc"), s.whole(0, 4)
    return call(s.array(s.one_of((k,), (s.whole(0, 3), k)), kind), s.array(s.one_of((k,), (k, s.whole(0, 3))), kind))


def _batch_matmul(s: Draw) -> Call:
    kind, k, batch = s.kind("iufc"), s.whole(0, 3), s.shape(1, 2)
    return call(s.array((*batch, s.whole(0, 3), k), kind), s.array((*batch, k, s.whole(0, 3)), kind))


def _dot_general(s: Draw) -> Call:
    kind, b, k, m = s.kind("iufc"), s.whole(1, 3), s.whole(0, 3), s.whole(1, 3)
    shapes = (k, b, s.whole(0, 3), m), (b, m, s.whole(0, 3), k)
    # A product that overflows alone need not when it is added in one step.
    left, right = (s.array(shape, kind, edges=False) for shape in shapes)
    return call(left, right, (((0, 3), (3, 1)), ((1,), (0,))))


def _contracted(left, right, numbers):
    return np.einsum("kbml,blnk->bmn", left, right)


def _convolution(s: Draw, general: bool = True) -> Call:
    kind, n, i, o = s.kind("f"), s.whole(1, 2), s.whole(1, 2), s.whole(1, 3)
    size, window = (s.whole(3, 5), s.whole(3, 5)), (s.whole(1, 3), s.whole(1, 3))
    x, w = s.array((n, i, *size), kind, -2, 2), s.array((o, i, *window), kind, -2, 2)
    strides, padding = (
        (s.whole(1, 2), s.whole(1, 2)),
        s.one_of("SAME", "VALID", [(1, 0), (2, 1)] if general else "SAME"),
    )
    if not general:
        return call(x, w, strides, padding)
    return call(
        x,
        w,
        strides,
        padding,
        rhs_dilation=(s.whole(1, 2), 1),
        lhs_dilation=None if isinstance(padding, str) else (1, s.whole(1, 2)),
    )


def _convolved(x, w, strides, padding, rhs_dilation=None, lhs_dilation=None):
    for axis, d in zip((2, 3), lhs_dilation or (1, 1)):
        x = padded(x, 0.0, [(0, 0, d - 1 if a == axis else 0) for a in range(4)])
    for axis, d in zip((2, 3), rhs_dilation or (1, 1)):
        w = padded(w, 0.0, [(0, 0, d - 1 if a == axis else 0) for a in range(4)])
    pads = []
    for n, k, stride in zip(x.shape[2:], w.shape[2:], strides):
        total = max((-(-n // stride) - 1) * stride + k - n, 0)
        pads.append((total // 2, total - total // 2) if padding == "SAME" else (0, 0))
    x = np.pad(x, [(0, 0), (0, 0), *(pads if isinstance(padding, str) else padding)])
    views = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], (2, 3))[:, :, :: strides[0], :: strides[1]]
    return np.einsum("nihwkl,oikl->nohw", views, w)


def _windows(s: Draw) -> Call:
    x = s.array(s.shape(1, 3, False), s.kind("f"), -3, 3)
    sizes = tuple(s.whole(1, n) for n in x.shape)
    return call(x, -np.inf, found("stagec.lax.max"), sizes, tuple(s.whole(1, 2) for _ in sizes), "VALID")


def _window_max(x, start, computation, sizes, strides, padding):
    views = np.lib.stride_tricks.sliding_window_view(x, sizes)
    return views[tuple(slice(None, None, k) for k in strides)].max(tuple(range(-len(sizes), 0)))


def _transposed(s: Draw) -> Call:
    kind, i, o = s.kind("f"), s.whole(1, 2), s.whole(1, 2)
    x, w = s.array((1, s.whole(2, 4), i), kind, -2, 2), s.array((s.whole(1, 3), i, o), kind, -2, 2)
    return call(x, w, (s.whole(1, 2),), "VALID", dimension_numbers=("NHC", "HIO", "NHC"))


def _conv_transposed(x, w, strides, padding, dimension_numbers):
    k, stride = w.shape[0], strides[0]
    length = (x.shape[1] - 1) * stride + max(k, stride)
    out = np.zeros((1, length, w.shape[2]), x.dtype)
    # The kernel is not flipped: lax.conv_transpose is a gradient only of a convolution with the flipped kernel.
    for position in range(x.shape[1]):
        for j in range(k):
            out[0, position * stride + k - 1 - j] += x[0, position] @ w[j]
    return out


def _patches(s: Draw) -> Call:
    x = s.array((1, s.whole(1, 2), s.whole(3, 5), s.whole(3, 5)), s.kind("f"), -2, 2)
    return call(x, (s.whole(1, 3), s.whole(1, 3)), (s.whole(1, 2), s.whole(1, 2)), "VALID")


def _patched(x, sizes, strides, padding):
    views = np.lib.stride_tricks.sliding_window_view(x, sizes, (2, 3))[:, :, :: strides[0], :: strides[1]]
    return views.transpose(0, 1, 4, 5, 2, 3).reshape(len(x), -1, *views.shape[2:4])


def _general(s: Draw) -> Call:
    kind = s.kind("f")
    x, w = s.array((1, 2, 4, 4), kind, -2, 2), s.array((2, 2, s.whole(1, 3), 2), kind, -2, 2)
    return call(x, w, (1, s.whole(1, 2)), [(1, 0), (0, 2)], None, None)


def _generally(x, w, strides, padding, lhs_dilation, rhs_dilation):
    return _convolved(x, w, strides, padding)


def _local(s: Draw) -> Call:
    kind, n, k, o = s.kind("f"), s.whole(3, 5), s.whole(1, 3), s.whole(1, 2)
    out = n - k + 1
    x, w = s.array((1, 2, n), kind, -2, 2), s.array((o, 2 * k, out), kind, -2, 2)
    return call(x, w, (1,), "VALID", (k,))


def _locally(x, w, strides, padding, sizes):
    views = np.lib.stride_tricks.sliding_window_view(x, sizes[0], 2)
    return np.einsum("nclk,ockl->nol", views, w.reshape(w.shape[0], x.shape[1], sizes[0], -1))


def _ragged(s: Draw) -> Call:
    kind, k, n = s.kind("f"), s.whole(1, 3), s.whole(1, 3)
    sizes = np.array([s.whole(0, 2) for _ in range(3)], np.int32)
    return call(s.array((int(sizes.sum()), k), kind, -2, 2), s.array((3, k, n), kind, -2, 2), sizes)


def _by_groups(left, right, sizes):
    return np.einsum("mk,mkn->mn", left, np.repeat(right, sizes, 0))


def row(name: str, draw, oracle, **options) -> Row:
    return Row(f"lax.{name}", draw, oracle, **options)


ROWS = [
    row("dot", _dot, np.dot, scaled=True, loose=4),
    row("batch_matmul", _batch_matmul, np.matmul, scaled=True, loose=4),
    row("dot_general", _dot_general, _contracted, scaled=True, loose=4),
    row("conv", lambda s: _convolution(s, False), _convolved, scaled=True, loose=4),
    row("conv_general_dilated", _convolution, _convolved, scaled=True, loose=4),
    row("reduce_window", _windows, _window_max, like_jax=False),
    row("conv_transpose", _transposed, _conv_transposed, scaled=True, loose=4),
    row("conv_general_dilated_patches", _patches, _patched, loose=4),
    row("conv_with_general_padding", _general, _generally, scaled=True, loose=4),
    row("conv_general_dilated_local", _local, _locally, scaled=True, loose=4),
    row("ragged_dot", _ragged, _by_groups, scaled=True, loose=4, batched=False),
]

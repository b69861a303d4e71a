"""Scaled dot-product attention."""

from __future__ import annotations

import math
from typing import Any, Literal, overload

import numpy as np

from stagec.core import dtypes, errors, location
from stagec.core.array import Array
from stagec.core.dtype_info import finfo
from stagec.nn.axes import logsumexp, softmax
from stagec.numpy.arguments import array_argument
from stagec.numpy.conditionals import where as choose
from stagec.numpy.creation import arange
from stagec.numpy.einsum import einsum
from stagec.numpy.promotion import broadcast_to_shape
from stagec.primitives.barrier import stop_gradient
from stagec.primitives.convert import convert_element_type
from stagec.primitives.operand import aval_of
from stagec.primitives.shape import reshape, transpose
from stagec.typing import ArrayLike


@overload
def dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    bias: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    query_seq_lengths: ArrayLike | None = None,
    key_value_seq_lengths: ArrayLike | None = None,
    local_window_size: int | tuple[int, int] | None = None,
    implementation: str | None = None,
    return_residual: Literal[False] = False,
) -> Array: ...
@overload
def dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    bias: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    query_seq_lengths: ArrayLike | None = None,
    key_value_seq_lengths: ArrayLike | None = None,
    local_window_size: int | tuple[int, int] | None = None,
    implementation: str | None = None,
    return_residual: Literal[True],
) -> tuple[Array, Array]: ...
def dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    bias: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    query_seq_lengths: ArrayLike | None = None,
    key_value_seq_lengths: ArrayLike | None = None,
    local_window_size: int | tuple[int, int] | None = None,
    implementation: str | None = None,
    return_residual: bool = False,
) -> Array | tuple[Array, Array]:
    """`softmax(scale * query @ key.T + bias) @ value` for each head.

    Shapes below are in terms of the batch size B, T queries, S keys, N heads of the queries, K heads of the keys, which
    divides N, and the head size H. The axis B may be left out everywhere.

    Args:
      query: shape (B, T, N, H).
      key, value: shape (B, S, K, H); each of their heads serves N / K heads of the queries.
      bias: added to the scores; broadcasts to (B, N, T, S).
      mask: bool, broadcasts to (B, N, T, S); where it is false, a query does not attend to a key.
      scale: the scale of the scores; by default `1 / sqrt(H)`.
      is_causal: mask the keys after the position of each query.
      query_seq_lengths, key_value_seq_lengths: shape (B,); positions beyond these lengths are padding.
      local_window_size: the number of keys before and after its position that a query attends to; a pair, or one number
        for both.
      implementation: None or `"xla"`, which mean the same.
      return_residual: return also the logarithm of the softmax's denominator, of shape (B, T, N).

    Source: Vaswani et al., "Attention is all you need" (2017); grouped heads: Ainslie et al. (2023).

    >>> import stagec.numpy as snp
    >>> x = snp.ones((5, 2, 4))
    >>> dot_product_attention(x, x, x, is_causal=True).shape
    (5, 2, 4)
    """
    if implementation not in (None, "xla"):
        raise location.error(
            errors.UnsupportedError,
            f"dot_product_attention: there is no implementation {implementation!r}",
            fix="leave implementation out",
        )
    given = array_argument(query, "query")
    q, k, v = (_with_batch(name, x) for name, x in (("query", given), ("key", key), ("value", value)))
    (batch, queries, heads, size), (_, keys, groups, _) = q.shape, k.shape
    fits = k.shape == v.shape and (batch, size) == (k.shape[0], k.shape[3]) and groups and heads % groups == 0
    if not fits or not q.dtype == k.dtype == v.dtype:
        raise location.error(
            errors.ShapeError,
            "dot_product_attention: query, key and value do not match",
            [(name, aval_of(x).long(), "") for name, x in (("query", q), ("key", k), ("value", v))],
            "give queries (B, T, N, H), and keys and values (B, S, K, H) of the same dtype; N must be a multiple of K",
        )
    full = (batch, heads, queries, keys)

    def grouped(x: Any, name: str) -> Array:
        """Broadcast an operand to the shape of the scores, with grouped heads."""
        return reshape(
            broadcast_to_shape(array_argument(x, name), full), (batch, groups, heads // groups, queries, keys)
        )

    q = reshape(q, (batch, queries, groups, heads // groups, size))
    wide = dtypes.promote_types(q.dtype, dtypes.float32)
    scores = einsum("btkgh,bskh->bkgts", q, k, preferred_element_type=wide)
    scores = scores * np.asarray(1 / math.sqrt(size) if scale is None else scale, wide)
    if bias is not None:
        scores = convert_element_type(scores + grouped(bias, "bias"), wide)
    masks = _masks(queries, keys, is_causal, local_window_size, query_seq_lengths, key_value_seq_lengths)
    if mask is not None:
        masks.append(grouped(mask, "mask"))
    for part in masks:
        # A finite number, so that a query whose keys are all masked gets the mean of the values instead of NaN.
        scores = choose(part, scores, np.asarray(-0.7 * float(finfo(wide).max), wide))
    scores = convert_element_type(scores, dtypes.float32)
    weights = convert_element_type(softmax(scores), k.dtype)
    out = reshape(einsum("bkgts,bskh->btkgh", weights, v), (batch, queries, heads, size))
    if query_seq_lengths is not None:
        real = arange(queries)[None, :] < array_argument(query_seq_lengths, "query_seq_lengths")[:, None]
        out = choose(real[:, :, None, None], out, np.zeros((), out.dtype))
    out = reshape(out, given.shape)
    if not return_residual:
        return out
    total = reshape(transpose(logsumexp(scores, axis=-1), (0, 3, 1, 2)), given.shape[:-1])
    return out, stop_gradient(convert_element_type(total, k.dtype))


def _with_batch(name: str, x: Any) -> Array:
    found = array_argument(x, name)
    if found.ndim not in (3, 4):
        raise location.error(
            errors.ShapeError,
            f"dot_product_attention: {name} is {aval_of(found).long()}",
            fix="give it three axes (positions, heads, numbers), or four with a batch in front",
        )
    return found[None] if found.ndim == 3 else found


def _masks(
    queries: int, keys: int, causal: bool, window: int | tuple[int, int] | None, query_lengths: Any, key_lengths: Any
) -> list[Any]:
    """Return masks of the keys that each query attends to; they broadcast to (B, K, G, T, S)."""
    row, column = arange(queries)[:, None], arange(keys)[None, :]
    found = []
    if causal:
        found.append(row >= column)
    if window is not None:
        before, after = (window, window) if isinstance(window, int) else window
        found += [row <= column + before, row >= column - after]
    if query_lengths is not None:
        lengths = array_argument(query_lengths, "query_seq_lengths")
        found.append(row < lengths[:, None, None, None, None])
    if key_lengths is not None:
        lengths = array_argument(key_lengths, "key_value_seq_lengths")
        found.append(column < lengths[:, None, None, None, None])
    return found

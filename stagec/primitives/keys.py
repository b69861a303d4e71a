"""Random keys from their words of 32 bits, and the words of keys."""

from __future__ import annotations

from typing import Any

import numpy as np

from stagec.core import dtypes
from stagec.core.aval import ShapedArray
from stagec.core.primitive import NOT_DIFFERENTIABLE, NOT_LINEAR, MultiplePrimitive, SinglePrimitive
from stagec.primitives.checks import check_dtype, elementwise_shape
from stagec.primitives.emitter import Emitter
from stagec.primitives.table import batch_elementwise, batch_elementwise_results, spread


def _wrap_shape(*words: ShapedArray) -> ShapedArray:
    for word in words:
        check_dtype("random_wrap", word.dtype, frozenset({dtypes.uint32}))
    return ShapedArray.of(elementwise_shape("random_wrap", words), dtypes.KEY)


def _wrap_eval(*words: Any) -> Any:
    keys = np.empty(np.broadcast_shapes(*map(np.shape, words)), dtypes.KEY)
    for i, word in enumerate(words):
        keys[dtypes.KEY.name][..., i] = word
    return keys


def _wrap_lower(cx: Any, *words: Any) -> Any:
    carried = cx.out_avals[0].update(dtype=dtypes.uint64)
    e = Emitter(cx)
    low, high = (e("convert", carried, word) for word in spread(cx, words))
    return e("or", carried, low, e("shift_left", carried, high, e.fill(32, carried)))


random_wrap_p = SinglePrimitive(
    "random_wrap",
    shape=_wrap_shape,
    eval=_wrap_eval,
    lower=_wrap_lower,
    jvp=NOT_DIFFERENTIABLE,
    transpose=NOT_LINEAR,
    batch=batch_elementwise,
)


def _unwrap_shape(keys: ShapedArray) -> list[ShapedArray]:
    check_dtype("random_unwrap", keys.dtype, frozenset({dtypes.KEY}))
    return [ShapedArray.of(keys.shape, dtypes.uint32)] * dtypes.KEY.words


def _unwrap_eval(keys: Any) -> list[Any]:
    words = keys[dtypes.KEY.name]
    return [np.ascontiguousarray(words[..., i]).reshape(np.shape(keys)) for i in range(dtypes.KEY.words)]


def _unwrap_lower(cx: Any, keys: Any) -> list[Any]:
    word = cx.out_avals[0]
    carried = word.update(dtype=dtypes.uint64)
    e = Emitter(cx)
    high = e("shift_right_logical", carried, keys, e.fill(32, carried))
    return [e("convert", word, keys), e("convert", word, high)]


random_unwrap_p = MultiplePrimitive(
    "random_unwrap",
    shape=_unwrap_shape,
    eval=_unwrap_eval,
    lower=_unwrap_lower,
    jvp=NOT_DIFFERENTIABLE,
    transpose=NOT_LINEAR,
    batch=batch_elementwise_results,
)

"""Random keys from their words of 32 bits, and the words of keys."""

from __future__ import annotations

from typing import Any

import numpy as np

from stagec.core import dtypes
from stagec.core.aval import ShapedArray
from stagec.core.primitive import NOT_DIFFERENTIABLE, NOT_LINEAR, MultiplePrimitive, SinglePrimitive
from stagec.primitives.checks import check_dtype, elementwise_shape
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
    low, high = (cx.emit("stablehlo.convert", [word], avals=[carried]) for word in spread(cx, words))
    high = cx.emit("stablehlo.shift_left", [high, cx.constant(32, carried)], avals=[carried])
    return cx.emit("stablehlo.or", [low, high], avals=[carried])


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
    carried = cx.out_avals[0].update(dtype=dtypes.uint64)
    high = cx.emit("stablehlo.shift_right_logical", [keys, cx.constant(32, carried)], avals=[carried])
    return [cx.emit("stablehlo.convert", [half], avals=cx.out_avals[:1]) for half in (keys, high)]


random_unwrap_p = MultiplePrimitive(
    "random_unwrap",
    shape=_unwrap_shape,
    eval=_unwrap_eval,
    lower=_unwrap_lower,
    jvp=NOT_DIFFERENTIABLE,
    transpose=NOT_LINEAR,
    batch=batch_elementwise_results,
)

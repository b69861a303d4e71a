"""Reductions over windows that slide along the axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stagec.core import dtypes
from stagec.core.aval import ShapedArray
from stagec.core.dims import maximum
from stagec.core.primitive import NOT_LINEAR, Primitive, SinglePrimitive
from stagec.primitives import window_rules as rules
from stagec.primitives.arithmetic import max_p, min_p, mul_p
from stagec.primitives.axes import as_int, dilated, shape_error
from stagec.primitives.broadcast import linear
from stagec.primitives.checks import HALF, check_dtype, i64_array, i64_pairs
from stagec.primitives.combining import pair_of
from stagec.primitives.logic import ORDERED
from stagec.primitives.padding import pad_p
from stagec.primitives.reduce import highest, lowest
from stagec.primitives.rules import add_p

__all__ = ["padtype_to_pads", "reduce_window_max_p", "reduce_window_min_p", "reduce_window_sum_p"]

Pairs = tuple[tuple[int, int], ...]
# `"SAME"`, `"VALID"`, or how many elements before and after, for each axis.
Padding = str | Sequence[tuple[int, int]]


def strided(size: int, window: int, stride: int) -> int:
    """The number of windows that fit."""
    found: int = maximum((size - window) // stride + 1, 0)
    return found


def padtype_to_pads(
    in_shape: Sequence[int], window_shape: Sequence[int], window_strides: Sequence[int], padding: Padding
) -> list[tuple[int, int]]:
    """The padding that `"SAME"`, `"SAME_LOWER"` or `"VALID"` stands for.

    Args:
      in_shape: sizes of the operand's axes.
      window_shape: sizes of the window, holes included.
      window_strides: how far the window moves.
      padding: one of the names.

    Raises:
      ShapeError: `padding` is another string.

    >>> padtype_to_pads((5,), (3,), (2,), "SAME")
    [(1, 1)]
    """
    kind = str(padding).upper()
    if kind == "VALID":
        return [(0, 0)] * len(in_shape)
    if kind not in ("SAME", "SAME_LOWER"):
        raise shape_error(
            "padding",
            f"there is no padding named {padding!r}",
            "use 'SAME', 'SAME_LOWER', 'VALID', or (low, high) for each axis",
        )
    out = []
    for size, window, stride in zip(in_shape, window_shape, window_strides):
        total = maximum((-(-size // stride) - 1) * stride + window - size, 0)
        low = total // 2 if kind == "SAME" else total - total // 2
        out.append((low, total - low))
    return out


def sizes(values: Any, rank: int, name: str, what: str) -> tuple[int, ...]:
    """`rank` positive integers; `None` is 1 for each."""
    if values is None:
        return (1,) * rank
    values = values if isinstance(values, (Sequence, np.ndarray)) else (values,)
    found = tuple([as_int(v, name, what) for v in values])
    if len(found) != rank or any(v < 1 for v in found):
        raise shape_error(
            name, f"{what} is {found} for {rank} axes", f"give one positive integer for each of {rank} axes"
        )
    return found


def window_shape(
    name: str,
    x: ShapedArray,
    window_dimensions: tuple[int, ...],
    window_strides: tuple[int, ...],
    padding: Pairs,
    base_dilation: tuple[int, ...],
    window_dilation: tuple[int, ...],
) -> tuple[int, ...]:
    out = []
    for size, window, stride, (low, high), base, dilation in zip(
        x.shape, window_dimensions, window_strides, padding, base_dilation, window_dilation
    ):
        total = dilated(size, base) + low + high
        # Without a cut, the size is -1, which code for JAX writes where it does not know a batch.
        if total < 0 and low + high < 0:
            raise shape_error(
                name,
                f"padding {padding} cuts more than {x.long()} has",
                "cut no more than the axis has: a pad is -size or more",
            )
        out.append(strided(total, dilated(window, dilation), stride))
    return tuple(out)


def padded(x: Any, value: Any, padding: Pairs, base_dilation: tuple[int, ...]) -> Any:
    """`x` with holes and edges of `value`; negative edges cut off."""
    config = tuple([(low, high, b - 1) for (low, high), b in zip(padding, base_dilation)])
    return pad_p.eval(x, value, padding_config=config)


def windows(
    x: Any, window_dimensions: tuple[int, ...], window_strides: tuple[int, ...], window_dilation: tuple[int, ...]
) -> Any:
    """A view with the window's axes after the operand's."""
    spans = [dilated(w, h) for w, h in zip(window_dimensions, window_dilation)]
    if any(n < s for n, s in zip(x.shape, spans)):
        outer = [strided(n, s, t) for n, s, t in zip(x.shape, spans, window_strides)]
        return np.empty((*outer, *window_dimensions), x.dtype)
    view = np.lib.stride_tricks.sliding_window_view(x, spans) if spans else x
    pick = [slice(None, None, s) for s in window_strides] + [slice(None, None, h) for h in window_dilation]
    return view[tuple(pick)]


def window_attributes(
    window_dimensions: tuple[int, ...],
    window_strides: tuple[int, ...],
    padding: Pairs,
    base_dilation: tuple[int, ...],
    window_dilation: tuple[int, ...],
) -> dict[str, str]:
    out = {
        "window_dimensions": i64_array(window_dimensions),
        "window_strides": i64_array(window_strides),
        "base_dilations": i64_array(base_dilation),
        "window_dilations": i64_array(window_dilation),
    }
    if any(low or high for low, high in padding):
        out["padding"] = i64_pairs(padding)
    return out


def window_reduction(
    name: str,
    *,
    accepts: frozenset[np.dtype[Any]],
    eval: np.ufunc,
    combine: Primitive,
    identity: Callable[[Any], Any],
    jvp: Any,
    transpose: Any = NOT_LINEAR,
) -> SinglePrimitive:
    """A row that combines the elements of each window, starting from `identity(dtype)`.

    Half-precision floats are combined in float32 and rounded once.
    """

    def shape(x: ShapedArray, **window: Any) -> ShapedArray:
        check_dtype(name, x.dtype, accepts)
        return x.update(shape=window_shape(name, x, **window))

    def evaluate(x: Any, *, padding: Pairs, base_dilation: tuple[int, ...], **window: Any) -> Any:
        dtype = x.dtype
        start = identity(dtype)
        if dtype in HALF:
            x = x.astype(np.float32)
        view = windows(padded(x, start, padding, base_dilation), **window)
        axes = tuple(range(x.ndim, 2 * x.ndim))
        # NumPy adds and multiplies small integers in a wider dtype by default.
        return eval.reduce(view, axis=axes, dtype=x.dtype).astype(dtype)

    def lower(cx: Any, x: Any, **window: Any) -> Any:
        (aval,), (out,) = cx.in_avals, cx.out_avals
        dtype = aval.dtype
        if aval.size == 0 or out.size == 0 or aval.ndim == 0:
            return x if aval.ndim == 0 else cx.constant(identity(dtype), out)
        work = np.dtype(np.float32) if dtype in HALF else dtype
        if work != dtype:
            x = cx.emit("stablehlo.convert", [x], avals=[aval.update(dtype=work)])
        scalar = ShapedArray.of((), work)
        region = cx.region([scalar, scalar], lambda a, b: [combine(a, b)])
        start, wide = cx.constant(identity(work), scalar), out.update(dtype=work)
        if cx.open_rules is not None:
            read = aval.update(dtype=work)
            y = cx.open_rules.window_reduction(cx, x, read, wide, combine.name, identity(work), **window)
            return cx.emit("stablehlo.convert", [y]) if work != dtype else y
        y = cx.emit("stablehlo.reduce_window", [x, start], window_attributes(**window), [wide], [region])
        return cx.emit("stablehlo.convert", [y]) if work != dtype else y

    return SinglePrimitive(
        name,
        shape=shape,
        eval=evaluate,
        lower=lower,
        jvp=jvp,
        transpose=transpose,
        batch=rules.window_batch,
        numpy_ns=1,
    )


reduce_window_sum_p: SinglePrimitive = window_reduction(
    "reduce_window_sum",
    accepts=dtypes.NUMERIC,
    eval=np.add,
    combine=add_p,
    identity=lambda d: 0,
    jvp=linear(),
    transpose=lambda ct, x, **window: rules.sum_transpose(reduce_window_sum_p, ct, x, **window),
)
reduce_window_prod_p = window_reduction(
    "reduce_window_prod",
    accepts=dtypes.NUMERIC,
    eval=np.multiply,
    combine=mul_p,
    identity=lambda d: 1,
    jvp=rules.window_jvp(pair_of(mul_p), lambda d: 1),
)
reduce_window_max_p = window_reduction(
    "reduce_window_max",
    accepts=ORDERED,
    eval=np.maximum,
    combine=max_p,
    identity=lowest,
    jvp=rules.window_jvp(rules.first_larger, lowest),
)
reduce_window_min_p = window_reduction(
    "reduce_window_min",
    accepts=ORDERED,
    eval=np.minimum,
    combine=min_p,
    identity=highest,
    jvp=rules.window_jvp(rules.first_smaller, highest),
)


def explicit_padding(
    in_shape: Sequence[int], window_shape: Sequence[int], strides: Sequence[int], padding: Padding, name: str
) -> Pairs:
    """Padding by name or by pairs, as pairs."""
    if isinstance(padding, str):
        padding = padtype_to_pads(in_shape, window_shape, strides, padding)
    fix = f"give (low, high) for each of {len(in_shape)} axes"
    rows: tuple[Any, ...] = tuple(padding) if hasattr(padding, "__iter__") else (padding,)
    if any(not hasattr(row, "__len__") or len(row) != 2 for row in rows):
        raise shape_error(name, f"padding must be a name or pairs of integers, got {padding!r}", fix)
    pairs = tuple([(as_int(low, name, "padding"), as_int(high, name, "padding")) for low, high in rows])
    if len(pairs) != len(in_shape):
        raise shape_error(name, f"padding {pairs} for {len(in_shape)} axes", fix)
    return pairs

"""Reductions, windows, and scans."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stagec import lax
from stagec.foreign.scatters import combine
from stagec.foreign.site import Site, Value, rule


def _pairwise(function: Callable[..., list[Value]]) -> Callable[[Any, Any], Any]:
    """A region of `2 n` scalars as a function of two tuples."""
    return lambda left, right: tuple(function(*left, *right))


def _widened(values: Sequence[Value], initial: Sequence[Value]) -> list[Value]:
    """Operands in the types that the reduction computes in: those of its initial values."""
    return [x if x.dtype == i.dtype else lax.convert_element_type(x, i.dtype) for x, i in zip(values, initial)]


@rule("reduce")
def _reduce(site: Site, *operands: Value) -> list[Value]:
    half = len(operands) // 2
    initial = operands[half:]
    values = _widened(operands[:half], initial)
    region, axes = site.region(), site.ints("dimensions")
    if half == 1:
        return [lax.reduce(values[0], initial[0], lambda a, b: region(a, b)[0], axes)]
    return list(lax.reduce(tuple(values), tuple(initial), _pairwise(region), axes))


class _Window:
    """The windows of `reduce_window` and `select_and_scatter`."""

    def __init__(self, site: Site, rank: int) -> None:
        ones = (1,) * rank
        self.sizes = site.ints("window_dimensions", ones)
        self.strides = site.ints("window_strides", ones)
        self.base = site.ints("base_dilations", ones)
        self.dilation = site.ints("window_dilations", ones)
        self.padding = site.pairs("padding", rank)

    def reduced(self, operand: Any, initial: Any, computation: Callable[..., Any]) -> Any:
        """`reduce_window` over these windows."""
        return lax.reduce_window(
            operand, initial, computation, self.sizes, self.strides, self.padding, self.base, self.dilation
        )


def taken(x: Value, positions: np.ndarray[Any, Any], axis: int) -> Value:
    """The elements at known positions along an axis."""
    kept = [i for i in range(len(x.shape)) if i != axis]
    numbers = lax.GatherDimensionNumbers(offset_dims=tuple(kept), collapsed_slice_dims=(axis,), start_index_map=(axis,))
    sizes = [1 if i == axis else n for i, n in enumerate(x.shape)]
    return lax.gather(x, positions[:, None].astype(np.int32), numbers, sizes, mode="clip")


@rule("reduce_window")
def _reduce_window(site: Site, *operands: Value) -> list[Value]:
    half = len(operands) // 2
    initial = operands[half:]
    values = _widened(operands[:half], initial)
    region = site.region()
    rank = len(values[0].shape)
    window = _Window(site, rank)
    if half == 1:
        return [window.reduced(values[0], initial[0], lambda a, b: region(a, b)[0])]
    return list(window.reduced(tuple(values), tuple(initial), _pairwise(region)))


@rule("select_and_scatter")
def _select_and_scatter(site: Site, x: Value, source: Value, initial: Value) -> Value:
    """Each window of `x` selects an element, with which its element of `source` is combined at that position."""
    window = _Window(site, len(x.shape))
    select = site.region(0)
    count = int(np.prod(x.shape, dtype=np.int64))
    # Positions in the padding are `count`, and are selected only if there is no other.
    positions = lax.reshape(lax.iota(np.int32, count), x.shape)
    nowhere = np.asarray(count, np.int32)

    def selected(left: Any, right: Any) -> Any:
        (a, i), (b, j) = left, right
        first = lax.bitwise_or(lax.eq(j, nowhere), lax.bitwise_and(lax.ne(i, nowhere), select(a, b)[0]))
        return lax.select(first, a, b), lax.select(first, i, j)

    _, chosen = window.reduced((x, positions), (np.zeros((), x.dtype), nowhere), selected)
    base = lax.full((count,), initial, x.dtype) if isinstance(initial, np.ndarray) else lax.broadcast(initial, (count,))
    numbers = lax.ScatterDimensionNumbers(
        update_window_dims=(), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,)
    )
    total = int(np.prod(source.shape, dtype=np.int64))
    flat = combine(site, 1, [base], lax.reshape(chosen, (total, 1)), [lax.reshape(source, (total,))], numbers)
    return lax.reshape(flat[0], x.shape)

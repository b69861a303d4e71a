"""Reductions, windows, and scans."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from stagec import lax
from stagec.foreign.custom_calls import target
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


class _Window(NamedTuple):
    """The windows of `reduce_window` and `select_and_scatter`."""

    sizes: Sequence[int]
    strides: Sequence[int]
    base: Sequence[int]
    dilation: Sequence[int]
    padding: Sequence[tuple[int, int]]

    @classmethod
    def of(cls, site: Site, rank: int) -> _Window:
        """The windows that attributes describe."""
        names = ("window_dimensions", "window_strides", "base_dilations", "window_dilations")
        sizes, strides, base, dilation = (site.ints(name, (1,) * rank) for name in names)
        return cls(sizes, strides, base, dilation, site.pairs("padding", rank))

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
    return _over_windows(_Window.of(site, len(operands[0].shape)), operands, site.region())


@target("stablehlo.dynamic_reduce_window")
def _dynamic_reduce_window(site: Site, *operands: Value) -> list[Value]:
    """A `reduce_window` whose windows are operands, as JAX writes it."""
    sizes, strides, base, dilation, padding = (site.numbers(v, "windows") for v in operands[-5:])
    window = _Window(sizes, strides, base, dilation, list(zip(padding[::2], padding[1::2])))
    computation = site.op.attributes["called_computations"][0].value
    return _over_windows(window, operands[:-5], site.function(computation))


def _over_windows(window: _Window, operands: Sequence[Value], region: Callable[..., list[Value]]) -> list[Value]:
    half = len(operands) // 2
    initial = operands[half:]
    values = _widened(operands[:half], initial)
    if half == 1:
        return [window.reduced(values[0], initial[0], lambda a, b: region(a, b)[0])]
    return list(window.reduced(tuple(values), tuple(initial), _pairwise(region)))


@rule("select_and_scatter")
def _select_and_scatter(site: Site, x: Value, source: Value, initial: Value) -> Value:
    """Each window of `x` selects an element, with which its element of `source` is combined at that position."""
    window = _Window.of(site, len(x.shape))
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

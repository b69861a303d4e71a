"""Operations that work along some axes: which parameters they have on parts that are divided along others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

from stagec.control.grid import Grid
from stagec.core.aval import ShapedArray
from stagec.core.graph import Equation, Graph
from stagec.core.primitive import Primitive
from stagec.primitives.cumulative import cumlogsumexp_p, cummax_p, cummin_p, cumprod_p, cumsum_p
from stagec.primitives.fft import fft_p
from stagec.primitives.joining import concatenate_p
from stagec.primitives.padding import pad_p
from stagec.primitives.shape import rev_p
from stagec.primitives.slicing import split_p
from stagec.primitives.sort import sort_p
from stagec.primitives.window import reduce_window_max_p, reduce_window_min_p, reduce_window_prod_p, reduce_window_sum_p

# For each axis of a value, the names of a mesh's axes that divide it.
Spec: TypeAlias = tuple[tuple[Any, ...], ...]
# A part of a value, and how it is divided.
Divided: TypeAlias = tuple[Any, Spec]
# `(params, whole, part, divided) -> params` for the parts: the shape of the first operand, that of its part, and the
# axes that are divided. None where the operation works along one of them.
Rule: TypeAlias = Callable[[dict[str, Any], tuple[int, ...], tuple[int, ...], list[int]], dict[str, Any] | None]


class Parts(Protocol):
    """What rules use of a `Partition`."""

    grid: Grid
    place: Any

    def run(self, e: Equation, values: Sequence[Any], specs: Sequence[Spec], **params: Any) -> list[Divided]: ...
    def moved(self, value: Any, spec: Spec, wanted: Spec) -> Divided: ...
    def index(self, names: Sequence[Any]) -> Any: ...
    def combined(self, value: Any, operation: str, names: Sequence[Any]) -> Any: ...
    def condition(self, e: Equation, specs: list[Spec], body: Graph) -> Graph: ...
    def report(self, e: Equation, avals: Sequence[ShapedArray]) -> None: ...
    def body(
        self, graph: Graph, specs: list[Spec], state: list[Spec] | None = None, trial: bool = False
    ) -> tuple[Graph, list[Spec]]: ...


def whole(ndim: int) -> Spec:
    """That of a value of so many axes that is not divided."""
    return ((),) * ndim


def part(aval: ShapedArray, spec: Spec, grid: Grid) -> ShapedArray:
    """The aval of a part."""
    return aval.update(shape=[n // grid.parts(names) for n, names in zip(aval.shape, spec)])


def joined(specs: Sequence[Spec], ndim: int) -> Spec:
    """For each axis, how the first value that is divided there is, unless its names divide another axis."""
    used: set[Any] = set()
    found = []
    for axis in range(ndim):
        names = next((s[axis] for s in specs if s[axis] and not used & set(s[axis])), ())
        used.update(names)
        found.append(names)
    return tuple(found)


def _along(name: str) -> Rule:
    """For rows whose parameter is the axis, or the axes, along which they work."""

    def rule(params: dict[str, Any], whole: Any, part: Any, divided: list[int]) -> dict[str, Any] | None:
        axes = params[name] if isinstance(params[name], tuple) else (params[name],)
        return None if {a % len(whole) for a in axes} & set(divided) else params

    return rule


def _pad(params: dict[str, Any], whole: Any, part: Any, divided: list[int]) -> dict[str, Any] | None:
    return None if any(tuple(params["padding_config"][i]) != (0, 0, 0) for i in divided) else params


def _windows(params: dict[str, Any], whole: Any, part: Any, divided: list[int]) -> dict[str, Any] | None:
    names = ("window_dimensions", "window_strides", "base_dilation", "window_dilation")
    plain = all(params[name][i] == 1 for name in names for i in divided)
    return params if plain and all(tuple(params["padding"][i]) == (0, 0) for i in divided) else None


BESIDE: dict[Primitive, Rule] = {
    **dict.fromkeys((cumlogsumexp_p, cummax_p, cummin_p, cumprod_p, cumsum_p, fft_p), _along("axis")),
    concatenate_p: _along("dimension"),
    pad_p: _pad,
    rev_p: _along("dimensions"),
    **dict.fromkeys((reduce_window_max_p, reduce_window_min_p, reduce_window_prod_p, reduce_window_sum_p), _windows),
    sort_p: _along("dimension"),
    split_p: _along("axis"),
}

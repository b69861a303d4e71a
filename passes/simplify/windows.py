"""Reductions over windows: padding becomes a part of them, and some are reductions, or need only one axis at a time."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Collection
from typing import Any

from passes import attributes as attrs, bindings, build, operations
from passes.analysis.identities import right_identity
from passes.match import SPLAT, dtype_of, is_splat, is_static, producer, rank_of, shape_of, sides, size_of, splat_of
from passes.patterns import laws_of, pattern
from passes.simplify.joins import same_number
from passes.simplify.monotone import FUNCTIONS, extreme_of_function
from passes.simplify.moves import elementwise, used_once
from passes.simplify.proven import exact_if_proven
from passes.simplify.reductions import changes_nothing, combination
from passes.simplify.sides import once, repeated

WINDOW = "stablehlo.reduce_window"

_IN_ANY_ORDER = operations.where(commutative=True, associative=True)
_IDEMPOTENT = operations.where(commutative=True, associative=True, idempotent=True)
# The share of combinations, with one read and write of each element, that is left where windows of one axis pay.
_WORTHWHILE = 0.7
# The most elements of a dimension whose cumulative reduction is a few operations.
_SHORT = 7
# The fewest elements that vectors of rows pay for.
_MANY = 1 << 12


@dataclasses.dataclass(frozen=True)
class _Window:
    """The attributes of a window, for each dimension."""

    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    base: tuple[int, ...]
    dilations: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, op: Any) -> _Window:
        rank = rank_of(op.inputs[0])
        ones = (1,) * rank
        return cls(
            attrs.ints(op, "window_dimensions"),
            attrs.ints(op, "window_strides", ones),
            attrs.ints(op, "base_dilations", ones),
            attrs.ints(op, "window_dilations", ones),
            tuple(attrs.pairs(op, "padding", rank)),
        )

    def is_single(self, d: int) -> bool:
        """Whether the windows along a dimension are its elements."""
        return self.sizes[d] == self.strides[d] == self.base[d] == 1 and self.padding[d] == (0, 0)

    def without(self, dims: Collection[int]) -> _Window:
        """The window of an array that lacks some dimensions."""
        fields = dataclasses.asdict(self).items()
        return _Window(**{name: tuple(v for d, v in enumerate(values) if d not in dims) for name, values in fields})

    def along(self, dims: Collection[int]) -> _Window:
        """The window along some dimensions, of single elements along the others."""

        def kept(values: tuple[Any, ...], single: Any) -> tuple[Any, ...]:
            return tuple(v if d in dims else single for d, v in enumerate(values))

        return _Window(
            kept(self.sizes, 1),
            kept(self.strides, 1),
            kept(self.base, 1),
            kept(self.dilations, 1),
            kept(self.padding, (0, 0)),
        )

    def result(self, shape: tuple[int, ...]) -> list[int]:
        """The shape of the result for an array of a shape."""
        return [max(0, room // stride + 1) for room, stride in zip(self._rooms(shape), self.strides)]

    def beyond(self, shape: tuple[int, ...]) -> list[int]:
        """The number of elements of an array of a shape, padded, that are after the last window."""
        return [room % stride for room, stride in zip(self._rooms(shape), self.strides)]

    def _rooms(self, shape: tuple[int, ...]) -> list[int]:
        """How far a window can be moved along each dimension."""
        return [
            max(0, (n - 1) * base + 1) + low + high - ((size - 1) * dilation + 1)
            for n, size, base, dilation, (low, high) in zip(shape, self.sizes, self.base, self.dilations, self.padding)
        ]

    def attributes(self) -> dict[str, Any]:
        """The attributes by their names."""
        found: dict[str, Any] = {
            "window_dimensions": build.i64_array(self.sizes),
            "window_strides": build.i64_array(self.strides),
            "base_dilations": build.i64_array(self.base),
            "window_dilations": build.i64_array(self.dilations),
        }
        if any(map(any, self.padding)):
            found["padding"] = build.pairs(self.padding)
        return found


def _windows(op: Any, value: Any, window: _Window) -> Any:
    """A copy of a reduction over windows of one array, for another array and other windows."""
    copy = op.operation.clone(ip=bindings.ir.InsertionPoint.current).operation
    copy.operands[0] = value
    for name in ("window_strides", "base_dilations", "window_dilations", "padding"):
        if name in copy.attributes:
            del copy.attributes[name]
    for name, attribute in window.attributes().items():
        copy.attributes[name] = attribute
    result = copy.results[0]
    result.set_type(build.tensor_type(window.result(shape_of(value)), result.type.element_type))
    return result


def _name(op: Any) -> str | None:
    """The name of the op that combines the elements of one static, real array with elements; None for others."""
    if len(op.inputs) != 1:
        return None
    name = combination(op)
    return name if name is not None and 0 not in (*shape_of(op.inputs[0]), *shape_of(op.operation.results[0])) else None


def _is_neutral(name: str, value: Any) -> bool:
    """Whether an initial value changes nothing when it is combined more than once."""
    number = splat_of(value)
    return number is not None and changes_nothing(name, number, number)


@pattern(WINDOW)
def window_of_one_element(op: Any) -> Any:
    """A reduction over windows of one element -> a slice, combined with the initial value. Exact."""
    name, window = _name(op), _Window.of(op)
    if name not in _IN_ANY_ORDER or any(n != 1 for n in (*window.sizes, *window.base)):
        return None
    if any(map(any, window.padding)):
        return None
    shape = shape_of(op.inputs[0])
    value = build.slice_(op.inputs[0], [0] * len(shape), shape, window.strides)
    return build.op(str(name), [build.broadcast_in_dim(op.init_values[0], shape_of(value), ()), value])


@pattern(WINDOW, of=("stablehlo.broadcast_in_dim", SPLAT))
def window_of_broadcast(op: Any) -> Any:
    """reduce_window(broadcast(x)) -> broadcast(reduce_window(x)) along dimensions whose windows are single elements.

    For maxima, minima, and, or: also along others that are not padded. Exact: equal windows are reduced once.
    """
    name = _name(op)
    if name is None:
        return None
    window, found = _Window.of(op), repeated(op.inputs[0])
    sure = name in _IDEMPOTENT
    dims = {d for d in found if window.is_single(d) or (sure and window.base[d] == 1 and window.padding[d] == (0, 0))}
    if not dims:
        return None
    shape, rest = shape_of(op.operation.results[0]), [d for d in range(rank_of(op.inputs[0])) if d not in dims]
    value = once(op.inputs[0], dims)
    if rest:
        return build.broadcast_in_dim(_windows(op, value, window.without(dims)), shape, rest)
    return build.broadcast_in_dim(build.op(name, [op.init_values[0], value]), shape, ())


@exact_if_proven(WINDOW, of=FUNCTIONS, assumes="nnan,nsz,afn")
def window_of_monotone(op: Any, exactly: bool) -> Any:
    """Maxima of f(x) over windows -> f of the maxima of x, where f never falls, such as max(x, 0); the same for minima.

    Exact as `extreme_of_monotone` is, where each window has elements that are not padding. Measured on a CPU for a
    convolution of 32 features, max(x, 0) and maxima of 2 x 2: 0.93 and 1.0 of the time.
    """
    found = extreme_of_function(op, exactly)
    if found is None or found.name != combination(op) or dtype_of(found.x) != dtype_of(op.inputs[0]):
        return None
    window = _Window.of(op)
    padded = any(max(sides) >= n for sides, n in zip(window.padding, window.sizes))
    if padded or {*window.base, *window.dilations} != {1} or _name(op) is None:
        return None
    reduced = _windows(op, found.x, window)
    return elementwise(found.function, shape_of(reduced), lambda _: reduced)


@pattern(WINDOW)
def window_of_everything(op: Any) -> Any:
    """A reduction over one window along some dimensions, and single elements along the others -> reduce.

    Exact apart from the order in which floats are combined. Measured on a CPU with AVX-512: 1.8 times as fast for
    64 x 64 elements.
    """
    name = _name(op)
    if name not in _IN_ANY_ORDER:
        return None
    window, shape = _Window.of(op), shape_of(op.inputs[0])
    found, dims = shape_of(op.operation.results[0]), []
    cuts = [(0, n) for n in shape]
    for d, n in enumerate(shape):
        if window.is_single(d):
            continue
        (low, high), size = window.padding[d], window.sizes[d]
        if found[d] != 1 or window.base[d] != 1 or (window.dilations[d] != 1 and size != 1) or min(low, high) < 0:
            return None
        begin, end = max(0, -low), min(n, size - low)
        if begin >= end or ((low or size - low > n) and not _is_neutral(str(name), op.init_values[0])):
            return None
        dims.append(d)
        cuts[d] = begin, end
    if not dims:
        return None
    value = build.slice_(op.inputs[0], *zip(*cuts))
    (reduced,) = build.reduce([str(name)], [value], [op.init_values[0]], dims)
    return build.reshape(reduced, found)


@pattern("stablehlo.slice", of=WINDOW, reorders=True)
def slice_of_windows(op: Any) -> Any:
    """A slice of half of the results of a reduce_window, or of less -> a reduce_window with fewer windows. Exact."""
    inner, result = producer(op.operand, WINDOW), op.operation.results[0]
    if (
        inner is None
        or not used_once(inner)
        or _name(inner) is None
        or not 0 < 2 * size_of(result) <= size_of(op.operand)
    ):
        return None
    window, shape, sizes = _Window.of(inner), shape_of(inner.inputs[0]), shape_of(result)
    cuts, parts = list(zip(*attrs.cut(op))), [(0, n) for n in shape]
    strides, padding = list(window.strides), list(window.padding)
    for d, (begin, _, step) in enumerate(cuts):
        if sizes[d] == shape_of(op.operand)[d]:
            continue
        if window.base[d] != 1 or min(padding[d]) < 0:
            return None
        low = padding[d][0] - begin * strides[d]
        strides[d] *= step
        reach = (sizes[d] - 1) * strides[d] + (window.sizes[d] - 1) * window.dilations[d] + 1
        high = reach - low - shape[d]
        parts[d] = max(0, -low), shape[d] - max(0, -high)
        padding[d] = max(0, low), max(0, high)
        if parts[d][0] >= parts[d][1]:
            return None
    changed = dataclasses.replace(window, strides=tuple(strides), padding=tuple(padding))
    return _windows(inner, build.slice_(inner.inputs[0], *zip(*parts)), changed)


@pattern("stablehlo.reverse", of=WINDOW, reorders=True)
def reverse_of_reversed_windows(op: Any) -> Any:
    """reverse(reduce_window(reverse(x))) -> reduce_window(x), padded at the other end, as `cumsum(x[::-1])[::-1]`.

    Exact apart from the order in which floats are combined.
    """
    inner = producer(op.operand, WINDOW)
    if inner is None or not used_once(inner) or _name(inner) not in _IN_ANY_ORDER:
        return None
    first, dims = producer(inner.inputs[0], "stablehlo.reverse"), set(attrs.ints(op, "dimensions"))
    if first is None or set(attrs.ints(first, "dimensions")) != dims:
        return None
    window = _Window.of(inner)
    ends = tuple(pair[::-1] if d in dims else pair for d, pair in enumerate(window.padding))
    changed = dataclasses.replace(window, padding=ends)
    # The last window ends where the padding does, so that the first one does when they are counted from there.
    if any(window.beyond(shape_of(first.operand))[d] for d in dims):
        return None
    return _windows(inner, first.operand, changed)


@pattern(WINDOW)
def window_along_one_axis(op: Any) -> Any:
    """reduce_window over several dimensions -> one along one of them, then along the others, if that combines less.

    Exact apart from the order in which floats are combined. Measured on a CPU with AVX-512, for sums and maxima of
    64 x 64 x 32 elements: 1.3 to 2 times as fast for windows of 4 x 4, 1.6 to 2.6 for 5 x 5, 4.2 to 6.5 for 9 x 9. For
    those of 3 x 3 it was 0.6 to 1.3, so they stay.
    """
    name, window = _name(op), _Window.of(op)
    if name not in _IN_ANY_ORDER or not _is_neutral(str(name), op.init_values[0]):
        return None
    kind = dtype_of(op.inputs[0])
    if name not in _IDEMPOTENT and kind.kind not in "iu" and kind.name not in ("float32", "float64"):
        return None  # sums of narrow floats would be rounded twice
    long = [d for d, n in enumerate(window.sizes) if n > 1]
    if len(long) < 2 or max(window.base) > 1 or any(min(ends) < 0 for ends in window.padding):
        return None
    first = max(long, key=lambda d: (window.strides[d], d))
    others = [d for d in range(len(window.sizes)) if d != first]
    half, rest = window.along([first]), window.along(others)
    shape = shape_of(op.inputs[0])
    between, result = math.prod(half.result(shape)), size_of(op.operation.results[0])
    amount = math.prod(window.sizes)
    work = between * (window.sizes[first] + 1) + result * (amount // window.sizes[first] + 1)
    if work > _WORTHWHILE * result * (amount + 1):
        return None
    return _windows(op, _windows(op, op.inputs[0], half), rest)


def _repeats(value: Any, first: Any, dim: int) -> bool:
    """Whether a value repeats `first`, which has one element along a dimension, along that."""
    maker = producer(value, "stablehlo.broadcast_in_dim")
    if maker is None or not is_static(maker.operand):
        return False
    dims = attrs.ints(maker, "broadcast_dimensions")
    shape, inner = shape_of(first), shape_of(maker.operand)
    kept = [d for d, n in zip(dims, inner) if n > 1]
    if kept != [d for d, n in enumerate(shape) if n > 1] or size_of(maker.operand) != size_of(first):
        return False
    return _before_reshapes(maker.operand) == _before_reshapes(first)


def _before_reshapes(value: Any) -> Any:
    while (maker := producer(value, "stablehlo.reshape")) is not None:
        value = maker.operand
    return value


@pattern("stablehlo.concatenate", of=tuple(_IN_ANY_ORDER))
def cumulative_after_first(op: Any) -> Any:
    """[a, a + cumsum(x)] -> cumsum([a, x]), and the same for other operations, and from the last element on.

    Exact apart from the order in which floats are combined. The law requires that nothing else reads what it replaces.
    """
    values, dim = list(op.operation.operands), attrs.integer(op, "dimension")
    if len(values) != 2:
        return None
    for first, rest in (values, values[::-1]):
        combined = producer(rest)
        if shape_of(first)[dim] == 1 and combined is not None and combined.operation.name in _IN_ANY_ORDER:
            for one, many in sides(combined):
                inner = producer(many, WINDOW)
                if inner is not None and used_once(inner) and used_once(combined) and _repeats(one, first, dim):
                    return _longer(inner, combined.operation.name, first, dim, first == values[0])
    return None


def _cumulative(n: int, dim: int, rank: int, forwards: bool) -> _Window:
    """The window of a cumulative reduction along a dimension of n elements, up to each one or from each one on."""
    ones, padding = (1,) * rank, (n - 1, 0) if forwards else (0, n - 1)
    along = [d == dim for d in range(rank)]
    return _Window(
        tuple(n if d else 1 for d in along), ones, ones, ones, tuple(padding if d else (0, 0) for d in along)
    )


@pattern(WINDOW)
def short_cumulative(op: Any) -> Any:
    """cumsum(x) -> [x_0, x_0 + x_1, ...] for many rows of a few elements, and the same for other operations.

    Exact apart from the order in which floats are combined. Kernels of elements have rows in their lanes.
    """
    name, window, shape = _name(op), _Window.of(op), shape_of(op.inputs[0])
    if (
        name is None
        or not 1 < shape[-1] <= _SHORT
        or size_of(op.inputs[0]) < _MANY
        or dtype_of(op.inputs[0]).itemsize < 4
    ):
        return None
    dim, n = len(shape) - 1, shape[-1]
    forwards = window.padding[-1] != (0, n - 1)
    if window != _cumulative(n, dim, len(shape), forwards) or not _is_neutral(name, op.init_values[0]):
        return None
    starts = range(n) if forwards else reversed(range(n))
    columns = [build.slice_(op.inputs[0], [*[0] * dim, i], [*shape[:-1], i + 1], [1] * len(shape)) for i in starts]
    if not is_splat(op.init_values[0], right_identity(name, dtype_of(op.inputs[0]))):
        first = build.broadcast_in_dim(op.init_values[0], shape_of(columns[0]), ())
        columns[0] = build.op(name, [first, columns[0]])
    found = list(itertools.accumulate(columns, lambda total, column: build.op(name, [total, column])))
    return build.concatenate(found if forwards else found[::-1], dim)


def _longer(op: Any, name: str, first: Any, dim: int, forwards: bool) -> Any:
    """A cumulative reduction of one element more, which comes first or last; None if the op is not cumulative."""
    n, rank = shape_of(op.operation.results[0])[dim], rank_of(first)
    # The first element is not combined with the initial value, and will be.
    if _name(op) != name or _Window.of(op) != _cumulative(n, dim, rank, forwards):
        return None
    if not is_splat(op.init_values[0], right_identity(name, dtype_of(first))):
        return None
    parts = [first, op.inputs[0]] if forwards else [op.inputs[0], first]
    return _windows(op, build.concatenate(parts, dim), _cumulative(n + 1, dim, rank, forwards))


@pattern(WINDOW, of="stablehlo.pad", reorders=True)
def window_of_pad(op: Any) -> Any:
    """reduce_window(pad(x, c)) -> reduce_window(x) with more padding, where c is the initial value. Exact."""
    name, inner = _name(op), producer(op.inputs[0], "stablehlo.pad")
    if name is None or inner is None or not is_static(inner.operand) or size_of(inner.operand) == 0:
        return None
    if not same_number(inner.padding_value, op.init_values[0]) or not _is_neutral(name, op.init_values[0]):
        return None
    padding, window = attrs.padding(inner), _Window.of(op)
    # The CPU backend has no code for dilated arrays, and for padding of dilated windows.
    if any(padding.interior) or min((*padding.low, *padding.high)) < 0 or max((*window.base, *window.dilations)) > 1:
        return None
    if any(min(ends) < 0 for ends in window.padding):
        return None
    ends = tuple((a + low, b + high) for (a, b), low, high in zip(window.padding, padding.low, padding.high))
    return _windows(op, inner.operand, dataclasses.replace(window, padding=ends))


PATTERNS = laws_of(globals())

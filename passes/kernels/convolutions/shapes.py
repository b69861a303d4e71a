"""Convolutions as kernels see them: pixels, a window, columns, and where each array's elements are."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from passes import attributes as attrs
from passes.kernels.products.shapes import computed_in
from passes.kernels.values import row_major
from passes.match import element_name, producer, shape_of

# Up to so many columns take vectors along the input features, of which there are at least so many.
FEW_COLUMNS, MANY_INPUTS = 4, 16
# Convolutions of operands that are dilated more than this multiply zeros.
MOST_PHASES = 4
_BARRIER, _TRANSPOSE = "stablehlo.optimization_barrier", "stablehlo.transpose"


@dataclasses.dataclass(frozen=True)
class Axis:
    """An axis that a kernel walks along.

    Attributes:
      extent: how many steps.
      first, second: how many elements apart they are in the two arrays that the axis belongs to.
    """

    extent: int
    first: int
    second: int


@dataclasses.dataclass(frozen=True)
class Part:
    """Pixels that see the same places of the window; but for dilated operands, all of them.

    Attributes:
      pixels: batch and spatial axes of the result; steps in the left operand, and in the result.
      window: the window's axes and the input features; steps in the left and in the right operand.
      lhs, rhs, result: where it begins in each array.
    """

    pixels: tuple[Axis, ...]
    window: tuple[Axis, ...]
    lhs: int = 0
    rhs: int = 0
    result: int = 0


@dataclasses.dataclass(frozen=True)
class Convolution:
    """`result[pixel, column] = sum over the window of lhs[pixel + place] * rhs[place, column]`.

    Attributes:
      parts: the pixels, and what each sees.
      groups: of features, or of a batch and features, that see each other only; steps in the left operand, and in the
        right one and the result.
      columns: output features of a group, which are contiguous in the result.
      apart: how many elements apart they are in the right operand.
      channelwise: whether each column has its own part of the left operand, which are contiguous too.
      lhs, rhs: elements of the operands in memory, the left one with its edges.
      kind: the operands' element type.
      element: what is computed in.
      result: the element type of the result.
    """

    parts: tuple[Part, ...]
    groups: Axis
    columns: int
    apart: int
    channelwise: bool
    lhs: int
    rhs: int
    kind: str
    element: str
    result: str

    @property
    def features(self) -> int:
        """Columns of all groups."""
        return self.columns * self.groups.extent


@dataclasses.dataclass(frozen=True)
class View:
    """A value whose axes are those of an array in another order.

    Attributes:
      value: the array.
      order: for each axis of the value, the array's axis in memory.
      copied: the array's axes in the order in which they are copied first; empty if it is read where it lies.
    """

    value: Any
    order: tuple[int, ...]
    copied: tuple[int, ...] = ()

    @property
    def memory(self) -> tuple[int, ...]:
        """The shape of what is read."""
        shape = tuple(shape_of(self.value))
        return tuple(shape[axis] for axis in self.copied) if self.copied else shape

    def with_last(self, axis: int) -> View:
        """The same value, in memory whose last axis is one of the value's."""
        place = self.order[axis]
        axes = [*(i for i in range(len(self.order)) if i != place), place]
        return View(self.value, tuple(axes.index(i) for i in self.order), tuple(axes))


def source(value: Any) -> View:
    """What a value is a transpose of; barriers keep the compiler from fusing, and mean nothing to a kernel."""
    order = tuple(range(len(shape_of(value))))
    while True:
        barrier, turned = producer(value, _BARRIER), producer(value, _TRANSPOSE)
        if barrier is not None and len(barrier.operation.operands) == 1:
            value = barrier.operation.operands[0]
        elif turned is not None:
            permutation = attrs.ints(turned, "permutation")
            order = tuple(permutation[axis] for axis in order)
            value = turned.operation.operands[0]
        else:
            return View(value, order)


@dataclasses.dataclass(frozen=True)
class Edges:
    """What is put around the left operand, and between its elements, along each of its axes in memory."""

    low: tuple[int, ...]
    high: tuple[int, ...]
    between: tuple[int, ...]

    @property
    def any(self) -> bool:
        """Whether there is something."""
        return any((*self.low, *self.high, *self.between))

    def shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape with them."""
        return tuple(
            low + high + size + max(0, size - 1) * between
            for size, low, high, between in zip(shape, self.low, self.high, self.between)
        )


@dataclasses.dataclass(frozen=True)
class Found:
    """A convolution, and the operands and the result that it is of."""

    convolution: Convolution
    lhs: View
    rhs: View
    edges: Edges


def read(op: Any) -> Found | None:
    """What a `stablehlo.convolution` is; None if kernels have no code for it."""
    (result,) = op.operation.results
    element = computed_in(op)
    if not element:
        return None
    dims = attrs.convolution_dimensions(op)
    rank = len(dims.lhs_spatial)
    if 0 in (*shape_of(op.lhs), *shape_of(op.rhs), *shape_of(result)) or dims.out_feature != rank + 1:
        return None
    out_shape = shape_of(result)
    batches, inputs = attrs.integer(op, "batch_group_count"), shape_of(op.rhs)[dims.rhs_input]
    groups = attrs.integer(op, "feature_group_count") * batches  # one of them is 1
    columns = out_shape[dims.out_feature] // groups

    lhs, rhs = source(op.lhs), source(op.rhs)
    last = len(rhs.order) - 1
    # Few columns are computed with vectors along the input features, if these are contiguous on both sides.
    along = columns <= FEW_COLUMNS and groups == 1 and inputs >= MANY_INPUTS
    along = along and rhs.order[dims.rhs_input] == lhs.order[dims.lhs_feature] == last
    # Groups of one column are vectors of groups, if these are contiguous.
    batch_extent = out_shape[dims.out_batch]
    grouped = dims.lhs_batch if batches > 1 else dims.lhs_feature
    single = columns == (batch_extent if batches > 1 else inputs) == 1
    if single and groups > FEW_COLUMNS and lhs.order[grouped] != last:
        lhs = lhs.with_last(grouped)
    if rhs.order[dims.rhs_output] != last and not along:
        rhs = View(op.rhs, tuple(range(rank + 2)))  # columns are contiguous in the transposed copy
        if dims.rhs_output != last:
            return None

    places = [_places(op, dims, i, shape_of(result)) for i in range(rank)]
    low, high, between = ([0] * (rank + 2) for _ in range(3))
    for axis, found in zip(dims.lhs_spatial, places):
        place = lhs.order[axis]
        low[place], high[place], between[place] = found.low, found.high, found.between
    edges = Edges(tuple(low), tuple(high), tuple(between))
    whole = edges.shape(lhs.memory)
    lhs_steps = [row_major(whole)[axis] for axis in lhs.order]
    rhs_steps = [row_major(shape_of(rhs.value))[axis] for axis in rhs.order]
    out_steps = row_major(out_shape)
    feature = lhs_steps[dims.lhs_feature]
    batch = Axis(batch_extent, lhs_steps[dims.lhs_batch], out_steps[dims.out_batch])
    features = Axis(inputs, feature, rhs_steps[dims.rhs_input])
    steps, first = [], 0
    for i, is_reversed in enumerate(attrs.ints(op, "window_reversal", (0,) * rank)):
        step = rhs_steps[dims.rhs_spatial[i]]
        if is_reversed:
            first, step = first + (shape_of(op.rhs)[dims.rhs_spatial[i]] - 1) * step, -step
        steps.append((lhs_steps[dims.lhs_spatial[i]], step, out_steps[dims.out_spatial[i]]))
    chosen = itertools.product(*(p.phases for p in places))
    parts = tuple(_part(batch, features, steps, first, phases) for phases in chosen)
    group_step = batch.extent * batch.first if batches > 1 else inputs * feature
    channelwise = groups > 1 and columns == group_step == 1
    if channelwise:
        columns, groups = groups, 1
    convolution = Convolution(
        *(parts, Axis(groups, group_step, columns), columns, rhs_steps[dims.rhs_output], channelwise),
        *(math.prod(whole), math.prod(rhs.memory), element_name(op.lhs), element, element_name(result)),
    )
    return Found(convolution, lhs, rhs, edges)


class Phase(NamedTuple):
    """Pixels along one spatial axis that see the same places of the window.

    Attributes:
      pixels, window: extents.
      steps: between two pixels and between two places, in elements of the left operand along the axis; the same for
        places in the right operand and pixels in the result.
      starts: of the left operand, the right one and the result.
    """

    pixels: int
    window: int
    steps: tuple[int, int, int, int]
    starts: tuple[int, int, int]


class Places(NamedTuple):
    """The phases of a spatial axis, and what is put around the left operand along it."""

    phases: tuple[Phase, ...]
    low: int
    high: int
    between: int


def _places(op: Any, dims: attrs.ConvolutionDimensions, i: int, out_shape: Sequence[int]) -> Places:
    """One spatial axis.

    Where the left operand is dilated by `d`, as in the gradient of a convolution with strides, most products would be
    with zeros. Pixel `d * y + f` sees places `p + d * j` of the window only, and element `y + j + shift` at each.
    """
    ones = (1,) * len(dims.lhs_spatial)
    step, apart = attrs.ints(op, "window_strides", ones)[i], attrs.ints(op, "rhs_dilation", ones)[i]
    dilation = attrs.ints(op, "lhs_dilation", ones)[i]
    low, high = attrs.pairs(op, "padding", len(ones))[i]
    size, window = shape_of(op.lhs)[dims.lhs_spatial[i]], shape_of(op.rhs)[dims.rhs_spatial[i]]
    pixels = out_shape[dims.out_spatial[i]]
    if dilation == 1 or dilation > MOST_PHASES or step != 1 or apart != 1:
        phase = Phase(pixels, window, (step, apart, 1, 1), (0, 0, 0))
        return Places((phase,), low, high, dilation - 1)
    found = []
    for f in range(min(dilation, pixels)):
        first = (low - f) % dilation
        shift = (f + first - low) // dilation
        places = max(0, -(-(window - first) // dilation))
        found.append(Phase(-(-(pixels - f) // dilation), places, (1, 1, dilation, dilation), (shift, first, f)))
    before = max(0, *(-phase.starts[0] for phase in found))
    after = max(0, *(phase.pixels + phase.window - 1 + phase.starts[0] - size for phase in found if phase.window), 0)
    moved = [phase._replace(starts=(phase.starts[0] + before, *phase.starts[1:])) for phase in found]
    # A phase without places reads nothing, wherever it would begin.
    return Places(tuple(moved), before, after, 0)


def _part(
    batch: Axis, features: Axis, steps: list[tuple[int, int, int]], first: int, chosen: tuple[Phase, ...]
) -> Part:
    pixels, window, starts = [batch], [features], [0, first, 0]
    for (lhs, rhs, out), phase in zip(steps, chosen):
        pixels.append(Axis(phase.pixels, lhs * phase.steps[0], out * phase.steps[3]))
        window.append(Axis(phase.window, lhs * phase.steps[1], rhs * phase.steps[2]))
        starts = [start + by * step for start, by, step in zip(starts, phase.starts, (lhs, rhs, out))]
    # The right operand is read in its own order.
    window.sort(key=lambda axis: -abs(axis.second))
    kept = tuple(axis for axis in pixels if axis.extent > 1) or (Axis(1, 0, 0),)
    return Part(kept, merged(window), *starts)


def merged(axes: Sequence[Axis]) -> tuple[Axis, ...]:
    """Axes, the outermost first; neighbours are one where their elements follow one another in both arrays."""
    found: list[Axis] = []
    for axis in axes:
        if axis.extent == 1:
            continue
        last = found[-1] if found else None
        inner = (axis.extent * axis.first, axis.extent * axis.second)
        if last is not None and (last.first, last.second) == inner:
            found[-1] = Axis(last.extent * axis.extent, axis.first, axis.second)
        else:
            found.append(axis)
    return tuple(found)

"""The shapes of convolutions: pixels, a window, columns, and the strides of each array."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from passes import attributes as attrs
from passes.analysis.strided import row_strides
from passes.kernels.products.shapes import computed_in
from passes.match import element_name, producer, shape_of

# Convolutions of at most FEW_COLUMNS run in vectors along the input features, if there are at least MANY_INPUTS.
FEW_COLUMNS, MANY_INPUTS = 4, 16
# Left operands that are dilated more than this are padded with zeros between elements.
MOST_PHASES = 4
_BARRIER, _TRANSPOSE = "stablehlo.optimization_barrier", "stablehlo.transpose"


@dataclasses.dataclass(frozen=True)
class Axis:
    """An axis that a kernel iterates over.

    Attributes:
      extent: its number of steps.
      first, second: its strides, in elements, in the two arrays that it belongs to.
    """

    extent: int
    first: int
    second: int


@dataclasses.dataclass(frozen=True)
class Part:
    """Pixels that read the same elements of the window: all pixels, unless the left operand is dilated.

    Attributes:
      pixels: batch and spatial axes of the result, with strides in the left operand and in the result.
      window: the window's axes and the input features, with strides in the left and in the right operand.
      lhs, rhs, result: its offset in each array.
    """

    pixels: tuple[Axis, ...]
    window: tuple[Axis, ...]
    lhs: int = 0
    rhs: int = 0
    result: int = 0


@dataclasses.dataclass(frozen=True)
class Convolution:
    """`result[pixel, column] = sum over offsets in the window of lhs[pixel + offset] * rhs[offset, column]`.

    Attributes:
      parts: the pixels, and the window elements that they read.
      groups: groups of features, or of batches and features, with strides in the left operand, and in the
        result.
      columns: output features of a group, which are contiguous in the result.
      column_stride: their stride in the right operand.
      channelwise: whether each column has its own part of the left operand, which are contiguous too.
      lhs, rhs: elements of the operands in memory, the left one with its edges.
      kind: the operands' element type.
      element: the type that is computed in.
      result: the element type of the result.
      group_rhs: the step from a group to the next in the right operand.
    """

    parts: tuple[Part, ...]
    groups: Axis
    columns: int
    column_stride: int
    channelwise: bool
    lhs: int
    rhs: int
    kind: str
    element: str
    result: str
    group_rhs: int

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
        """The same value, copied so that one of its axes is the last in memory."""
        last = self.order[axis]
        axes = [*(i for i in range(len(self.order)) if i != last), last]
        return View(self.value, tuple(axes.index(i) for i in self.order), tuple(axes))


def source(value: Any) -> View:
    """The array that a value is a transpose of, seen through barriers, which only keep the compiler from fusing."""
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
    """The zero padding around the left operand, and between its elements, along each of its axes in memory."""

    low: tuple[int, ...]
    high: tuple[int, ...]
    between: tuple[int, ...]

    @property
    def any(self) -> bool:
        """Whether there is any padding."""
        return any((*self.low, *self.high, *self.between))

    def shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The padded shape."""
        return tuple(
            low + high + size + max(0, size - 1) * between
            for size, low, high, between in zip(shape, self.low, self.high, self.between)
        )


@dataclasses.dataclass(frozen=True)
class Found:
    """A convolution, its operands, and the padding of the left one."""

    convolution: Convolution
    lhs: View
    rhs: View
    edges: Edges


def read(op: Any) -> Found | None:
    """The shapes of a `stablehlo.convolution`; None if kernels do not support it."""
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

    axes = [_spatial_axis(op, dims, i, shape_of(result)) for i in range(rank)]
    low, high, between = ([0] * (rank + 2) for _ in range(3))
    for axis, found in zip(dims.lhs_spatial, axes):
        position = lhs.order[axis]
        low[position], high[position], between[position] = found.low, found.high, found.between
    edges = Edges(tuple(low), tuple(high), tuple(between))
    whole = edges.shape(lhs.memory)
    lhs_steps = [row_strides(whole)[axis] for axis in lhs.order]
    rhs_steps = [row_strides(shape_of(rhs.value))[axis] for axis in rhs.order]
    out_steps = row_strides(out_shape)
    feature = lhs_steps[dims.lhs_feature]
    batch = Axis(batch_extent, lhs_steps[dims.lhs_batch], out_steps[dims.out_batch])
    features = Axis(inputs, feature, rhs_steps[dims.rhs_input])
    steps, first = [], 0
    for i, is_reversed in enumerate(attrs.ints(op, "window_reversal", (0,) * rank)):
        step = rhs_steps[dims.rhs_spatial[i]]
        if is_reversed:
            first, step = first + (shape_of(op.rhs)[dims.rhs_spatial[i]] - 1) * step, -step
        steps.append((lhs_steps[dims.lhs_spatial[i]], step, out_steps[dims.out_spatial[i]]))
    chosen = itertools.product(*(found.phases for found in axes))
    parts = tuple(_part(batch, features, steps, first, phases) for phases in chosen)
    group_step = batch.extent * batch.first if batches > 1 else inputs * feature
    channelwise = groups > 1 and columns == group_step == 1
    if channelwise:
        columns, groups = groups, 1
    convolution = Convolution(
        *(parts, Axis(groups, group_step, columns), columns, rhs_steps[dims.rhs_output], channelwise),
        *(math.prod(whole), math.prod(rhs.memory), element_name(op.lhs), element, element_name(result)),
        group_rhs=columns,
    )
    return Found(convolution, lhs, rhs, edges)


class Phase(NamedTuple):
    """Pixels along one spatial axis that read the same elements of the window.

    Attributes:
      pixels, window: extents.
      steps: the distance between two pixels, and between two window elements, in the left operand along the axis; the
        distance between two window elements in the right operand, and between two pixels in the result.
      starts: the first index in the left operand, the right one and the result.
    """

    pixels: int
    window: int
    steps: tuple[int, int, int, int]
    starts: tuple[int, int, int]


class SpatialAxis(NamedTuple):
    """The phases of a spatial axis, and the padding of the left operand along it."""

    phases: tuple[Phase, ...]
    low: int
    high: int
    between: int


def _spatial_axis(op: Any, dims: attrs.ConvolutionDimensions, i: int, out_shape: Sequence[int]) -> SpatialAxis:
    """One spatial axis.

    If the left operand is dilated by `d`, as in the gradient of a convolution with strides, most products would be
    with zeros. Pixel `d * y + f` needs only the window elements `p + d * j`, with element `y + j + shift` for each.
    """
    ones = (1,) * len(dims.lhs_spatial)
    step, window_dilation = attrs.ints(op, "window_strides", ones)[i], attrs.ints(op, "rhs_dilation", ones)[i]
    dilation = attrs.ints(op, "lhs_dilation", ones)[i]
    low, high = attrs.pairs(op, "padding", len(ones))[i]
    size, window = shape_of(op.lhs)[dims.lhs_spatial[i]], shape_of(op.rhs)[dims.rhs_spatial[i]]
    pixels = out_shape[dims.out_spatial[i]]
    if dilation == 1 or dilation > MOST_PHASES or step != 1 or window_dilation != 1:
        phase = Phase(pixels, window, (step, window_dilation, 1, 1), (0, 0, 0))
        return SpatialAxis((phase,), low, high, dilation - 1)
    found = []
    for f in range(min(dilation, pixels)):
        first = (low - f) % dilation
        shift = (f + first - low) // dilation
        elements = max(0, -(-(window - first) // dilation))
        found.append(Phase(-(-(pixels - f) // dilation), elements, (1, 1, dilation, dilation), (shift, first, f)))
    before = max(0, *(-phase.starts[0] for phase in found))
    after = max(0, *(phase.pixels + phase.window - 1 + phase.starts[0] - size for phase in found if phase.window), 0)
    moved = [phase._replace(starts=(phase.starts[0] + before, *phase.starts[1:])) for phase in found]
    # A phase without window elements reads nothing, so its start does not matter.
    return SpatialAxis(tuple(moved), before, after, 0)


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

"""The tiling of convolutions: the register tile of pixels and columns, by one cost model."""

from __future__ import annotations

import dataclasses
import math

from passes.kernels.convolutions.shapes import Axis, Convolution
from passes.kernels.processor import Processor


@dataclasses.dataclass(frozen=True)
class Tiling:
    """How a convolution is computed.

    Attributes:
      pixels: for each part, the register tile's extent along each axis of pixels.
      vectors: vectors of columns in the tile; 0 if vectors run along the input features.
      lanes: elements in a vector.
    """

    pixels: tuple[tuple[int, ...], ...]
    vectors: int
    lanes: int


def tiling(convolution: Convolution, processor: Processor) -> Tiling:
    """How to compute a convolution."""
    lanes, registers = processor.lanes(convolution.element), processor.registers
    if convolution.column_stride != 1:
        rows = max(1, (registers - 1 - convolution.columns) // convolution.columns)
        return Tiling(tuple(_pixels(part.pixels, rows) for part in convolution.parts), 0, lanes)
    most = -(-convolution.columns // lanes)
    best: tuple[float, tuple[tuple[int, ...], ...], int] | None = None
    for vectors in range(1, min(most, 6) + 1):
        rows = (registers - 1 - vectors) // vectors
        if convolution.channelwise:
            rows = (registers - 1 - vectors) // (vectors + 1)
        pixels = tuple(_pixels(part.pixels, max(1, min(rows, 28))) for part in convolution.parts)
        panels = -(-convolution.columns // (vectors * lanes))
        cost = sum(_cycles(part.pixels, size, vectors) for part, size in zip(convolution.parts, pixels)) * panels
        if best is None or cost < best[0] * 0.995:
            best = (cost, pixels, vectors)
    assert best is not None, "there is a tile of one vector"
    return Tiling(best[1], best[2], lanes)


def tiles_of(convolution: Convolution, how: Tiling) -> tuple[list[list[int]], int]:
    """For each part, how many tiles there are along each axis of pixels but the innermost; and how many of columns.

    A workgroup has the whole innermost axis of pixels, so that it has enough work.
    """
    width = how.vectors * how.lanes or convolution.columns
    tiles = [
        [-(-axis.extent // size) for axis, size in zip(part.pixels[:-1], sizes)]
        for part, sizes in zip(convolution.parts, how.pixels)
    ]
    return tiles, -(-convolution.columns // width)


def workgroups(convolution: Convolution, how: Tiling) -> int:
    """How many workgroups compute a group of features."""
    tiles, panels = tiles_of(convolution, how)
    return sum(map(math.prod, tiles)) * panels


def _pixels(axes: tuple[Axis, ...], rows: int) -> tuple[int, ...]:
    """A tile of up to `rows` pixels: along the axis first whose neighbours are nearest in the left operand."""
    found = [1] * len(axes)
    for i in sorted(range(len(axes)), key=lambda i: axes[i].first):
        extent = axes[i].extent
        most = rows // math.prod(found)
        if most < 2:
            break
        # Equal tiles instead of a short last one: 20 pixels are two tiles of 10, not tiles of 14 and 6.
        found[i] = -(-extent // -(-extent // most))
        if found[i] < extent:
            break
    return tuple(found)


def _cycles(axes: tuple[Axis, ...], pixels: tuple[int, ...], vectors: int) -> float:
    """Cycles for each term of the sums: two multiply-adds or two loads a cycle, and at least one's latency."""
    tiles = math.prod([-(-axis.extent // size) for axis, size in zip(axes, pixels)])
    rows = math.prod(pixels)
    return tiles * max(rows * vectors / 2, (rows + vectors) / 2 * 1.05, 4)

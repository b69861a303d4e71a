"""What the windows of a gather or scatter are, and which elements of the array they contain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from passes import attributes as attrs, build
from passes.analysis.strided import View, fitted, row_strides
from passes.match import dtype_of, shape_of
from passes.simplify.constants import computed

# Indices of more numbers are not computed.
MOST_INDICES = 1 << 18


def signed(indices: Any) -> Any:
    """The same numbers as int32 or int64, so that they can be compared with 0."""
    dtype = dtype_of(indices)
    if dtype in (np.int32, np.int64):
        return indices
    if dtype == np.uint64:
        indices = build.op("stablehlo.minimum", [indices, build.full(np.iinfo(np.int64).max, indices)])
    return build.convert(indices, np.int64 if dtype.itemsize >= 4 else np.int32)


class Windows(NamedTuple):
    """The roles of the axes of a gather or scatter.

    Attributes:
      shape: of the array.
      sizes: of a window, for each axis of the array.
      targets: the array's axis that each component of an index is for.
      along: the axis of the indices with their components; their rank if there is none.
      batches: for each batching axis of the array, the axis of the indices, `along` not counted.
      outer: the axes of the result, or of the updates, that belong to axes of the indices.
      axes: the axis of the result, or of the updates, for each axis of the array; -1 where it has none.
    """

    shape: tuple[int, ...]
    sizes: tuple[int, ...]
    targets: tuple[int, ...]
    along: int
    batches: dict[int, int]
    outer: tuple[int, ...]
    axes: tuple[int, ...]

    @classmethod
    def of(cls, op: Any) -> Windows:
        """The windows of a gather, or of a scatter of one array."""
        is_gather = op.operation.name == "stablehlo.gather"
        if is_gather:
            fields = attrs.dimension_numbers(op, "dimension_numbers")
            names = "offset_dims collapsed_slice_dims operand_batching_dims start_indices_batching_dims start_index_map"
        else:
            fields = attrs.dimension_numbers(op, "scatter_dimension_numbers")
            names = (
                "update_window_dims inserted_window_dims input_batching_dims scatter_indices_batching_dims "
                "scatter_dims_to_operand_dims"
            )
        inner, dropped, batching, outer_batching, targets = (tuple(fields.get(name, ())) for name in names.split())
        shape, along = shape_of(op.operation.operands[0]), fields.get("index_vector_dim", 0)
        moved = shape_of(op.operation.results[0] if is_gather else op.operation.operands[2])
        kept = [axis for axis in range(len(shape)) if axis not in dropped and axis not in batching]
        place = dict(zip(kept, inner))
        axes = tuple(place.get(axis, -1) for axis in range(len(shape)))
        if is_gather:
            sizes = attrs.ints(op, "slice_sizes")
        else:
            sizes = tuple(moved[axis] if axis >= 0 else 1 for axis in axes)
        batches = dict(zip(batching, [axis - (axis > along) for axis in outer_batching]))
        outer = tuple(axis for axis in range(len(moved)) if axis not in inner)
        return cls(shape, sizes, targets, along, batches, outer, axes)

    @property
    def limits(self) -> list[int]:
        """The largest start of a window in the array, for each component of an index."""
        return [self.shape[axis] - self.sizes[axis] for axis in self.targets]

    def starts(self, indices: Any) -> np.ndarray | None:
        """The starts of the windows as integers, components last, if they follow from constants; else None."""
        found = computed(indices, MOST_INDICES)
        if found is None or found.dtype.isbuiltin != 1:
            return None
        if found.dtype == np.uint64:
            found = np.minimum(found, np.iinfo(np.int64).max)
        wide = found.astype(np.int64)
        return wide[..., None] if self.along == wide.ndim else np.moveaxis(wide, self.along, -1)

    def positions(self, starts: np.ndarray) -> np.ndarray:
        """The numbers of the windows' first elements in the array, counted in row-major order.

        Args:
          starts: of windows in the array, components last.
        """
        strides = row_strides(self.shape)
        found = np.zeros(starts.shape[:-1], np.int64)
        for k, axis in enumerate(self.targets):
            found += starts[..., k] * strides[axis]
        for axis, at in self.batches.items():
            found += strides[axis] * np.arange(self.shape[axis]).reshape(
                [-1 if i == at else 1 for i in range(found.ndim)]
            )
        return found

    def view(self, positions: np.ndarray, shape: Sequence[int]) -> View | None:
        """The elements of the array that windows at `positions` contain, if they are at regular steps; else None.

        Args:
          shape: of the result, or of the updates.
        """
        found = fitted(positions)
        if found is None:
            return None
        steps, strides = [0] * len(shape), row_strides(self.shape)
        for axis, step in zip(self.outer, found.steps):
            steps[axis] = step
        for axis, at in enumerate(self.axes):
            if at >= 0:
                steps[at] = strides[axis]
        return View(found.start, tuple(steps), tuple(shape))

    def scalar_starts(self, indices: Any) -> list[Any]:
        """The start of the only window along each axis of the array, as numbers."""
        indices = signed(indices)
        column = [build.full(0, build.tensor_type((), indices.type.element_type))] * len(self.shape)
        flat = build.reshape(indices, (len(self.targets),)) if self.targets else indices
        for k, axis in enumerate(self.targets):
            column[axis] = build.reshape(build.slice_(flat, [k], [k + 1]), ())
        return column

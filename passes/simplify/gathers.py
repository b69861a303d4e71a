"""Gathers whose indices are known become slices, and the others gather fewer elements. Exact: indices are clamped."""

from __future__ import annotations

import itertools
from math import prod
from typing import Any

import numpy as np

from passes import build
from passes.analysis.strided import Box, View, box
from passes.match import dtype_of, shape_of, size_of, splat_of
from passes.patterns import laws_of, pattern
from passes.simplify.indexing import Windows
from passes.simplify.moves import is_static_op

_GATHER = "stablehlo.gather"
# A gather becomes at most so many slices.
_MOST_PIECES = 4


def _is_known(op: Any) -> bool:
    """Whether a gather has static shapes, and results."""
    return is_static_op(op) and size_of(op.operation.results[0]) > 0


def taken(x: Any, view: View, cut: Box) -> Any:
    """Return the elements of `x` that a view holds, by the slice that `cut` describes."""
    shape = shape_of(x)
    value = build.reshape(x, cut.form) if cut.form != shape else x
    if not cut.is_whole:
        value = build.slice_(value, cut.starts, cut.limits, cut.steps)
    sizes = [view.shape[d] for d in cut.dims]
    value = build.reshape(value, sizes) if shape_of(value) != tuple(sizes) else value
    if cut.reverse:
        value = build.reverse(value, cut.reverse)
    order = sorted(range(len(sizes)), key=lambda i: cut.dims[i])
    if order != list(range(len(sizes))):
        value = build.transpose(value, order)
    if size_of(value) != prod(view.shape):
        return build.broadcast_in_dim(value, view.shape, sorted(cut.dims))
    return build.reshape(value, view.shape) if shape_of(value) != view.shape else value


@pattern(_GATHER, of="stablehlo.constant")
def gather_of_splat(op: Any) -> Any:
    """gather from an array of equal numbers -> an array of them. Exact."""
    number = splat_of(op.operation.operands[0])
    if number is None or dtype_of(op.operation.operands[0]).kind == "c":
        return None
    return build.full(number, op.operation.results[0])


@pattern(_GATHER)
def gather_at_known_indices(op: Any) -> Any:
    """gather at constant or counted indices -> a slice, or a few slices joined. Exact.

    Windows must be at regular steps, as they are for rows, diagonals, rotations and blocks. The slice is reshaped,
    reversed, transposed or repeated.
    """
    if not _is_known(op):
        return None
    x, indices = op.operation.operands
    windows, shape = Windows.of(op), shape_of(op.operation.results[0])
    starts = windows.starts(indices)
    if starts is None:
        return None
    for axis, parts in _divisions(windows.positions(np.clip(starts, 0, windows.limits))):
        plans = [_plan(windows, part, shape, axis) for part in parts]
        if all(plan is not None for plan in plans):
            pieces = [taken(x, *plan) for plan in plans if plan is not None]
            return pieces[0] if len(pieces) == 1 else build.concatenate(pieces, windows.outer[axis])
    return None


def _plan(windows: Windows, positions: np.ndarray, shape: tuple[int, ...], axis: int) -> tuple[View, Box] | None:
    """Return how to take the windows at `positions`, a part along an axis of the indices of those of a result."""
    sizes = list(shape)
    if windows.outer:
        sizes[windows.outer[axis]] = positions.shape[axis]
    view = windows.view(positions, sizes)
    cut = box(windows.shape, view) if view is not None else None
    return (view, cut) if view is not None and cut is not None else None


def _divisions(positions: np.ndarray) -> list[tuple[int, list[np.ndarray]]]:
    """Return the ways to divide windows along an axis of the indices into few parts of equal steps, the best first."""
    found: list[tuple[int, list[np.ndarray]]] = [(0, [positions])]
    for axis, size in enumerate(positions.shape):
        bends = np.diff(np.moveaxis(positions, axis, 0), 2, axis=0)
        bends = np.flatnonzero(bends.any(tuple(range(1, bends.ndim)))) + 2
        ends = _ends(bends, size)
        if 1 < len(ends) - 1 <= min(_MOST_PIECES, 1 + size // 4):
            found.append((axis, [positions.take(range(a, b), axis) for a, b in itertools.pairwise(ends)]))
    return sorted(found, key=lambda division: len(division[1]))


def _ends(bends: np.ndarray, size: int) -> list[int]:
    """Return where parts of equal steps end, given the elements whose step is not that of the one before them."""

    def reached(start: int) -> int:
        later = bends[bends >= start + 2]
        return int(later[0]) if later.size else size

    ends = [0]
    while ends[-1] < size and len(ends) <= _MOST_PIECES + 1:
        start = ends[-1]
        # Two elements have any step: the second one may begin a longer part.
        alone = reached(start) == start + 2 < size and reached(start + 1) > start + 3
        ends.append(start + 1 if alone else reached(start))
    return ends


@pattern(_GATHER)
def gather_of_one_window(op: Any) -> Any:
    """gather with one index -> dynamic_slice. Exact: both clamp the start."""
    if not _is_known(op):
        return None
    x, indices = op.operation.operands
    windows, result = Windows.of(op), op.operation.results[0]
    if prod(shape_of(result)[axis] for axis in windows.outer) != 1:
        return None
    return build.reshape(build.dynamic_slice(x, windows.scalar_starts(indices), windows.sizes), shape_of(result))


PATTERNS = laws_of(globals())

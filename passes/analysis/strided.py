"""Arrays whose elements are taken in regular steps from another array, and how slices and transposes take them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from math import prod
from typing import NamedTuple

import numpy as np


class View(NamedTuple):
    """Which elements of a source an array holds.

    Element `i` is number `start + sum(i[d] * steps[d])` of the source, counted in row-major order.
    """

    start: int
    steps: tuple[int, ...]
    shape: tuple[int, ...]

    @property
    def is_injective(self) -> bool:
        """Whether no dimension repeats elements; two dimensions may still reach the same ones."""
        return all(step or size == 1 for step, size in zip(self.steps, self.shape))


def row_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """How far apart neighbors along each dimension are in row-major order.

    >>> row_strides((2, 3, 4))
    (12, 4, 1)
    """
    return tuple(prod(shape[d + 1 :]) for d in range(len(shape)))


def reshaped(steps: Sequence[int], source: Sequence[int], target: Sequence[int]) -> tuple[int, ...] | None:
    """The steps along the dimensions of another shape, if its elements are in regular steps as well; else None.

    >>> reshaped((12, 4, 1), (2, 3, 4), (6, 4)), reshaped((1, 2), (2, 3), (6,))
    ((4, 1), None)
    """
    found = [0] * len(target)
    for left, right in groups(source, target) or ():
        wide = [d for d in left if source[d] > 1]
        if any(steps[a] != steps[b] * source[b] for a, b in itertools.pairwise(wide)):
            return None
        step = steps[wide[-1]] if wide else 0
        for d in reversed(right):
            found[d] = step
            step *= target[d]
    return tuple(found)


def groups(first: Sequence[int], second: Sequence[int]) -> list[tuple[list[int], list[int]]] | None:
    """Match the dimensions of two shapes in the smallest runs of equal size; None if the shapes have no elements.

    >>> groups((2, 3, 1, 5), (6, 5))
    [([0, 1], [0]), ([2], []), ([3], [1])]
    """
    if 0 in first or prod(first) != prod(second):
        return None
    found: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(first) or j < len(second):
        if i < len(first) and first[i] == 1 and (j >= len(second) or second[j] != 1):
            found.append(([i], []))
            i += 1
            continue
        if j < len(second) and second[j] == 1 and (i >= len(first) or first[i] != 1):
            found.append(([], [j]))
            j += 1
            continue
        left, right = [i], [j]
        a, b = first[i], second[j]
        i, j = i + 1, j + 1
        while a != b:
            if a < b:
                a, i = a * first[i], i + 1
                left.append(i - 1)
            else:
                b, j = b * second[j], j + 1
                right.append(j - 1)
        found.append((left, right))
    return found


def fitted(positions: np.ndarray) -> View | None:
    """The view whose elements have these positions, or None; there is at least one.

    >>> fitted(np.array([[1, 4], [3, 6]]))
    View(start=1, steps=(2, 3), shape=(2, 2))
    """
    start = int(positions.flat[0])
    steps = [int(positions.take(1, d).flat[0]) - start if n > 1 else 0 for d, n in enumerate(positions.shape)]
    expected = np.full((), start, np.int64)
    for d, (n, step) in enumerate(zip(positions.shape, steps)):
        expected = expected + step * np.arange(n).reshape([-1 if i == d else 1 for i in range(positions.ndim)])
    return View(start, tuple(steps), positions.shape) if np.array_equal(positions, expected) else None


class Box(NamedTuple):
    """How to take a view of an array: reshape the array, slice it, and order what is left.

    Attributes:
      form: the shape to which the array is reshaped.
      starts, steps, sizes: of the slice.
      dims: the view's dimensions that the slice has, those of the largest steps first.
      reverse: which of `dims` count backwards, by their index there.
    """

    form: tuple[int, ...]
    starts: tuple[int, ...]
    steps: tuple[int, ...]
    sizes: tuple[int, ...]
    dims: tuple[int, ...]
    reverse: tuple[int, ...]

    @property
    def limits(self) -> tuple[int, ...]:
        """The ends of the slice."""
        return tuple(lo + (n - 1) * step + 1 for lo, n, step in zip(self.starts, self.sizes, self.steps))

    @property
    def is_whole(self) -> bool:
        """Whether the slice takes all elements."""
        return self.sizes == self.form

    @property
    def is_dense(self) -> bool:
        """Whether the slice skips no elements between others."""
        return all(step == 1 for step in self.steps)


def boxes(shape: Sequence[int], view: View) -> Iterator[Box]:
    """The ways to take a view of an array of this shape with one slice; those with the array's own dimensions first."""
    start, runs = view.start, []
    for d, (step, size) in enumerate(zip(view.steps, view.shape)):
        if size > 1 and step:
            start += min(step, 0) * (size - 1)
            runs.append((abs(step), size, d))
    runs.sort(key=lambda run: -run[0])
    dims = tuple(d for _, _, d in runs)
    reverse = tuple(i for i, d in enumerate(dims) if view.steps[d] < 0)
    pairs = [(step, size) for step, size, _ in runs]
    for form, parts in _forms(tuple(shape), pairs):
        cut = _cut(form, parts, start)
        if cut is not None:
            starts, steps, sizes = cut
            yield Box(form, starts, steps, sizes, dims, reverse)


def box(shape: Sequence[int], view: View) -> Box | None:
    """The first of `boxes`, or None."""
    return next(boxes(shape, view), None)


_Ints = tuple[int, ...]
_Runs = list[tuple[int, int]]


def _forms(shape: tuple[int, ...], runs: _Runs) -> Iterator[tuple[tuple[int, ...], _Runs]]:
    """Shapes of as many elements, and the steps and sizes to find in them."""
    merged = _merged(runs)
    rank, size = len(shape), prod(shape)
    yield shape, runs
    for d in range(rank - 2, -1, -1):
        yield (*shape[:d], prod(shape[d:])), merged
    for d in range(2, rank):
        yield (prod(shape[:d]), *shape[d:]), merged
    steps = {step for step, _ in runs}
    for strides in (steps | set(row_strides(shape)), steps):
        chain = [size, *sorted(strides - {size, 1}, reverse=True), 1]
        if all(a % b == 0 for a, b in itertools.pairwise(chain)):
            yield tuple(a // b for a, b in itertools.pairwise(chain)), runs


def _merged(runs: _Runs) -> _Runs:
    """Runs of which one continues where the other ends, as one."""
    found: _Runs = []
    for step, size in runs:
        if found and found[-1][0] == step * size:
            found[-1] = (step, size * found[-1][1])
        else:
            found.append((step, size))
    return found


def _cut(form: _Ints, runs: _Runs, start: int) -> tuple[_Ints, _Ints, _Ints] | None:
    """The starts, steps and sizes of a slice with these runs, none of which may reach into another dimension."""
    strides, starts = row_strides(form), [int(i) for i in np.unravel_index(start, form)]
    steps, sizes = [1] * len(form), [1] * len(form)
    for step, size in runs:
        d = next((d for d, stride in enumerate(strides) if form[d] > 1 and stride <= step), None)
        if d is None or step % strides[d] or sizes[d] != 1:
            return None
        steps[d], sizes[d] = step // strides[d], size
        if starts[d] + steps[d] * (size - 1) >= form[d]:
            return None
    return tuple(starts), tuple(steps), tuple(sizes)

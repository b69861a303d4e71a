"""Cases for reading and writing at places that are values: in range, out of range, negative, repeated."""

import numpy as np

from cases import Case, sample
from stagec.core import dtypes
from stagec.primitives.gather_parts import GatherDimensionNumbers
from stagec.primitives.scatter import ScatterDimensionNumbers

F = np.dtype("float32")
_DTYPES = sorted(dtypes.ORDINARY, key=lambda d: d.name)


def x(shape, dtype=F):
    return sample(shape, dtype)


def i(values, dtype="int32"):
    return np.asarray(values, dtype)


ROWS = GatherDimensionNumbers((1,), (0,), (0,))
POINTS = GatherDimensionNumbers((), (0, 1), (0, 1))
WINDOWS = GatherDimensionNumbers((1, 2), (), (0, 1))
BATCHED = GatherDimensionNumbers((), (1,), (1,), (0,), (0,))
MIDDLE = GatherDimensionNumbers((0, 2), (1,), (1,))
HINTS = {"indices_are_sorted": False, "unique_indices": False}


def gather(operand, indices, numbers, sizes, mode="clip", fill=None):
    params = dict(dimension_numbers=numbers, slice_sizes=sizes, mode=mode, fill_value=fill, **HINTS)
    return Case("gather", [operand, indices], params)


def scatter(name, operand, indices, updates, numbers, mode="fill", tolerance=4):
    params = dict(dimension_numbers=ScatterDimensionNumbers(*numbers), mode=mode, **HINTS)
    return Case(name, [operand, indices, updates], params, ulps=tolerance)


_SCATTERS = ("scatter", "scatter_add", "scatter_sub", "scatter_mul", "scatter_min", "scatter_max")
_RANGED = i([[3], [0], [9], [-1]])
_REPEATED = i([[3], [0], [3], [9], [-1]])


def _accepts(name, dtype):
    if name == "scatter":
        return True
    if dtype == dtypes.bool_:
        return False
    return name not in ("scatter_min", "scatter_max") or not dtypes.is_complex(dtype)


CASES = [
    *[gather(x((4, 3)), i([[1], [3], [9], [-2]]), ROWS, (1, 3), mode) for mode in ("clip", "fill")],
    gather(x((4, 3)), i([[1], [3]]), ROWS, (1, 3), "promise_in_bounds"),
    gather(x((4, 3)), i([[1], [7]], "uint8"), ROWS, (1, 3), "fill", 2.5),
    gather(x((4, 3)), i([[1], [2**32 - 1]], "uint32"), ROWS, (1, 3)),
    gather(x((4, 3)), i([[1], [-(2**40)]], "int64"), ROWS, (1, 3)),
    gather(x((4, 5)), i([[[0, 4], [3, 9]], [[-1, 0], [2, 2]]]), POINTS, (1, 1), "fill"),
    gather(x((4, 5)), i([[[0, 4], [3, 9]], [[-1, 0], [2, 2]]]), POINTS, (1, 1)),
    gather(x((4, 5)), i([[0, 1], [3, 4]]), WINDOWS, (2, 3)),
    gather(x((4, 5)), i([[0, 1], [3, 4]]), WINDOWS, (2, 3), "fill"),
    gather(x((3, 5)), i([[2], [9], [0]]), BATCHED, (1, 1), "fill"),
    gather(x((3, 5)), i([[2], [9], [0]]), BATCHED, (1, 1)),
    gather(x((2, 5, 3)), i([[4], [0]]), MIDDLE, (2, 1, 3)),
    *[gather(x((5,), d), i([[4], [7], [0]]), GatherDimensionNumbers((), (0,), (0,)), (1,), "fill") for d in _DTYPES],
    Case("dynamic_slice", [x((5, 4)), i(3), i(-2)], {"slice_sizes": (3, 2)}),
    Case("dynamic_slice", [x((5,), np.dtype("uint16")), i(1)], {"slice_sizes": (3,)}),
    Case("dynamic_update_slice", [x((5, 4)), x((3, 2)), i(3), i(-2)], {}),
    *[Case("dynamic_update_slice", [x((5,), d), x((2,), d), i(1)], {}) for d in _DTYPES],
    *[
        scatter(
            name,
            x((5,), d),
            _RANGED if name == "scatter" else _REPEATED,
            x((4 if name == "scatter" else 5,), d),
            ((), (0,), (0,)),
            mode,
        )
        for name in _SCATTERS
        for d in _DTYPES
        for mode in (("fill", "clip") if d == F else ("fill",))
        if _accepts(name, d) and not (mode == "clip" and name == "scatter")
    ],
    *[
        case
        for name in _SCATTERS
        for case in (
            # rows of a matrix
            scatter(name, x((4, 3)), i([[1], [3], [7]]), x((3, 3)), ((1,), (0,), (0,))),
            # columns, window first in the updates
            scatter(name, x((4, 3)), i([[2], [0], [-1]]), x((4, 3)), ((0,), (1,), (1,))),
            # points of a matrix, indices of rank 3
            scatter(name, x((4, 5)), i([[[0, 4], [3, 9]], [[-1, 0], [2, 2]]]), x((2, 2)), ((), (0, 1), (0, 1))),
            # windows smaller than the axes
            scatter(name, x((4, 5)), i([[0, 1], [3, 4]]), x((2, 2, 3)), ((1, 2), (), (0, 1))),
            # components in the other order
            scatter(name, x((4, 5)), i([[1, 3], [4, 0]]), x((2,)), ((), (0, 1), (1, 0))),
            # one index for each row
            scatter(name, x((3, 5)), i([[2], [9], [0]]), x((3,)), ((), (1,), (1,), (0,), (0,))),
            scatter(name, x((3, 5)), i([[2], [4], [0]]), x((3,)), ((), (1,), (1,), (0,), (0,)), "promise_in_bounds"),
            # a window on an axis without index
            scatter(name, x((4, 5)), i([[1], [2]]), x((2, 3)), ((1,), (0,), (0,))),
            # an axis of one element that has neither an index nor a window
            scatter(name, x((4, 1, 3)), i([[1], [7]]), x((2, 3)), ((1,), (0, 1), (0,))),
            # one index, no batch
            scatter(name, x((4, 5)), i([2]), x((5,)), ((0,), (0,), (0,))),
        )
    ],
]

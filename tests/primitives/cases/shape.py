"""Cases for the rows that move elements: every row, with sizes 0 and 1, negative padding, all dtypes once."""

import numpy as np

from cases import Case, sample
from stagec.core import dtypes

F = np.dtype("float32")
_DTYPES = sorted(dtypes.ORDINARY, key=lambda d: d.name)


def x(shape, dtype=F):
    return sample(shape, dtype)


CASES = [
    Case("broadcast_in_dim", [x((3,))], {"shape": (2, 3, 4), "broadcast_dimensions": (1,)}),
    Case("broadcast_in_dim", [x((3, 1))], {"shape": (3, 5), "broadcast_dimensions": (0, 1)}),
    Case("broadcast_in_dim", [x(())], {"shape": (2, 2), "broadcast_dimensions": ()}),
    Case("broadcast_in_dim", [x((2, 3))], {"shape": (2, 1, 3), "broadcast_dimensions": (0, 2)}),
    Case("reshape", [x((2, 6))], {"new_sizes": (3, 4)}),
    Case("reshape", [x(())], {"new_sizes": (1, 1)}),
    Case("squeeze", [x((1, 3, 1))], {"dimensions": (0, 2)}),
    Case("transpose", [x((2, 3, 4))], {"permutation": (2, 0, 1)}),
    Case("transpose", [x(())], {"permutation": ()}),
    Case("rev", [x((3, 4))], {"dimensions": (0, 1)}),
    Case("concatenate", [x((2, 3)), x((1, 3)), x((2, 3))], {"dimension": 0}),
    Case("concatenate", [x((2, 3)), x((2, 1))], {"dimension": 1}),
    Case("pad", [x((3,)), x(())], {"padding_config": ((1, 2, 0),)}),
    Case("pad", [x((3, 4)), x(())], {"padding_config": ((0, 1, 2), (-1, -1, 0))}),
    Case("pad", [x((5,)), x(())], {"padding_config": ((-1, 2, 1),)}),
    Case("pad", [x((5,)), x(())], {"padding_config": ((-2, -3, 1),)}),
    Case("slice", [x((5, 6))], {"start_indices": (1, 0), "limit_indices": (4, 6), "strides": (1, 2)}),
    Case("split", [x((6, 2))], {"sizes": (1, 2, 3), "axis": 0}),
    Case("iota", [], {"dtype": np.dtype("int32"), "shape": (2, 3), "dimension": 1}),
    *[Case("uninitialized", [], {"dtype": d, "shape": (2, 3)}) for d in _DTYPES],
    *[
        Case("dimension_size", [], {"size": 7, "dtype": d, "weak_type": False})
        for d in (np.dtype("int32"), np.dtype("float32"))
    ],
    *[Case("iota", [], {"dtype": d, "shape": (4,), "dimension": 0}) for d in _DTYPES if d != dtypes.bool_],
    *[Case("rev", [x((4,), d)], {"dimensions": (0,)}) for d in _DTYPES],
    *[Case("transpose", [x((2, 3), d)], {"permutation": (1, 0)}) for d in _DTYPES],
    *[Case("pad", [x((3,), d), x((), d)], {"padding_config": ((1, 0, 1),)}) for d in _DTYPES],
    *[Case("concatenate", [x((2,), d), x((1,), d)], {"dimension": 0}) for d in _DTYPES],
]

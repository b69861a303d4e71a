"""Cases for the rows that move elements: every row, with sizes 0 and 1, negative padding, all dtypes once."""

import numpy as np

from stagec.core import dtypes

from cases import Case, sample

F = np.dtype("float32")
_DTYPES = sorted(dtypes.ALL, key=lambda d: d.name)


def x(shape, dtype=F):
    return sample(shape, dtype)


CASES = [
    Case("broadcast_in_dim", [x((3,))], dict(shape=(2, 3, 4), broadcast_dimensions=(1,))),
    Case("broadcast_in_dim", [x((3, 1))], dict(shape=(3, 5), broadcast_dimensions=(0, 1))),
    Case("broadcast_in_dim", [x(())], dict(shape=(2, 2), broadcast_dimensions=())),
    Case("broadcast_in_dim", [x((2, 3))], dict(shape=(2, 1, 3), broadcast_dimensions=(0, 2))),
    Case("reshape", [x((2, 6))], dict(new_sizes=(3, 4))),
    Case("reshape", [x(())], dict(new_sizes=(1, 1))),
    Case("squeeze", [x((1, 3, 1))], dict(dimensions=(0, 2))),
    Case("transpose", [x((2, 3, 4))], dict(permutation=(2, 0, 1))),
    Case("transpose", [x(())], dict(permutation=())),
    Case("rev", [x((3, 4))], dict(dimensions=(0, 1))),
    Case("concatenate", [x((2, 3)), x((1, 3)), x((2, 3))], dict(dimension=0)),
    Case("concatenate", [x((2, 3)), x((2, 1))], dict(dimension=1)),
    Case("pad", [x((3,)), x(())], dict(padding_config=((1, 2, 0),))),
    Case("pad", [x((3, 4)), x(())], dict(padding_config=((0, 1, 2), (-1, -1, 0)))),
    Case("pad", [x((5,)), x(())], dict(padding_config=((-1, 2, 1),))),
    Case("pad", [x((5,)), x(())], dict(padding_config=((-2, -3, 1),))),
    Case("slice", [x((5, 6))], dict(start_indices=(1, 0), limit_indices=(4, 6), strides=(1, 2))),
    Case("split", [x((6, 2))], dict(sizes=(1, 2, 3), axis=0)),
    Case("iota", [], dict(dtype=np.dtype("int32"), shape=(2, 3), dimension=1)),
    *[Case("iota", [], dict(dtype=d, shape=(4,), dimension=0)) for d in _DTYPES if d != dtypes.bool_],
    *[Case("rev", [x((4,), d)], dict(dimensions=(0,))) for d in _DTYPES],
    *[Case("transpose", [x((2, 3), d)], dict(permutation=(1, 0))) for d in _DTYPES],
    *[Case("pad", [x((3,), d), x((), d)], dict(padding_config=((1, 0, 1),))) for d in _DTYPES],
    *[Case("concatenate", [x((2,), d), x((1,), d)], dict(dimension=0)) for d in _DTYPES],
]

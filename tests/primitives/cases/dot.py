"""Cases for the general product: every placement of axes, every dtype."""

import numpy as np

from cases import Case, sample
from stagec.core import dtypes

F = np.dtype("float32")
_DTYPES = sorted(dtypes.ORDINARY, key=lambda d: d.name)


def x(shape, dtype=F):
    return sample(shape, dtype)


def dot(left, right, contract, batch=((), ()), preferred=None, precision=None, tolerance=0):
    numbers = (contract, batch)
    params = {
        "dimension_numbers": numbers,
        "precision": precision,
        "preferred_element_type": None if preferred is None else np.dtype(preferred),
    }
    return Case("dot_general", [left, right], params, ulps=tolerance)


def small(shape, dtype):
    """Whole numbers, so that sums are exact in every dtype."""
    values = np.random.default_rng(sum(shape)).integers(0 if dtypes.is_unsigned(dtype) else -3, 4, shape)
    return values.astype(dtype)


CASES = [
    dot(small((3, 4), F), small((4, 5), F), ((1,), (0,))),
    dot(small((4,), F), small((4,), F), ((0,), (0,))),
    dot(small((2,), F), small((3,), F), ((), ())),
    dot(small((5, 2, 3), F), small((5, 3, 4), F), ((2,), (1,)), ((0,), (0,))),
    dot(small((2, 5, 3), F), small((3, 4, 5), F), ((2,), (0,)), ((1,), (2,))),
    dot(small((2, 3, 4), F), small((4, 3, 5), F), ((1, 2), (1, 0))),
    dot(small((3, 4), F), small((4, 5), F), ((1,), (0,)), precision="highest"),
    dot(x((3, 4)), x((4, 5)), ((1,), (0,)), tolerance=16),
    *[dot(small((3, 4), d), small((4, 2), d), ((1,), (0,))) for d in _DTYPES],
    *[dot(small((5, 2, 3), d), small((5, 3, 2), d), ((2,), (1,)), ((0,), (0,))) for d in _DTYPES],
    dot(small((3, 4), np.dtype("int8")), small((4, 5), np.dtype("int8")), ((1,), (0,)), preferred="int32"),
    dot(small((3, 4), dtypes.bfloat16), small((4, 5), dtypes.bfloat16), ((1,), (0,)), preferred="float32"),
    dot(small((3, 4), np.dtype("float16")), small((4, 5), np.dtype("float16")), ((1,), (0,)), preferred="float32"),
]

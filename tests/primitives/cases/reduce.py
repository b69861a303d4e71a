"""Reductions and running reductions."""

from __future__ import annotations

from typing import Any

import numpy as np

from cases import BOOL, COMPLEX, FLOATS, INTEGERS, Case, edges, sample
from stagec.core import dtypes
from stagec.core.aval import ShapedArray
from stagec.core.graph import Graph
from stagec.core.recording import trace_flat
from stagec.primitives import arithmetic as ar
from stagec.primitives.logic import gt, select

NUMERIC = [*INTEGERS, *FLOATS, *COMPLEX]
REAL = [BOOL, *INTEGERS, *FLOATS]
I32 = np.dtype(np.int32)


def with_edges(dtype: Any) -> Any:
    """A matrix of which one row holds the dtype's extremes."""
    row = edges(dtype)
    return np.stack([sample(row.shape, dtype, seed) for seed in (0, 1)] + [row])


def combining(function: Any, *kinds: Any) -> Graph:
    """The graph of a function of scalars."""
    avals = [ShapedArray.of((), np.dtype(k)) for k in kinds]
    return trace_flat(function, avals + avals)[0]


def _sums() -> list[Case]:
    out = []
    for d in NUMERIC:
        x = sample((5, 7), d, low=-2, high=2)
        for axes in ((0,), (0, 1), ()):
            out.append(Case("reduce_sum", [x], {"axes": axes}, ulps=4, atol=1e-5))
        out.append(Case("reduce_prod", [x], {"axes": (1,)}, ulps=8, atol=1e-5))
        for reverse in (False, True):
            params = {"axis": 1, "reverse": reverse}
            out.append(Case("cumsum", [x], params, ulps=4, atol=1e-5))
            out.append(Case("cumprod", [x], params, ulps=8, atol=1e-5))
        out.append(Case("cumsum", [x], {"axis": 0, "reverse": False}, ulps=4, atol=1e-5))
    # Rounding at every step would give 256 and 2048: half precision is summed in float32.
    out.append(Case("reduce_sum", [np.ones(600, dtypes.bfloat16)], {"axes": (0,)}))
    out.append(Case("reduce_sum", [np.ones(4097, np.float16)], {"axes": (0,)}))
    return out


def _extremes() -> list[Case]:
    out = []
    for d in REAL:
        x = with_edges(d)
        for name in ("reduce_max", "reduce_min"):
            out += [Case(name, [x], {"axes": axes}) for axes in ((0,), (1,), (0, 1))]
        for name in ("argmax", "argmin"):
            out += [Case(name, [x], {"axes": (a,), "index_dtype": I32}) for a in (0, 1)]
        for name in ("cummax", "cummin"):
            out += [Case(name, [x], {"axis": a, "reverse": r}) for a, r in ((0, False), (1, True))]
    ties = np.array([[1, 3, 3, 0, 0]], np.int16)
    out += [Case(n, [ties], {"axes": (1,), "index_dtype": np.dtype(np.int64)}) for n in ("argmax", "argmin")]
    return out


def _bits() -> list[Case]:
    names = ("reduce_and", "reduce_or", "reduce_xor")
    return [Case(n, [sample((4, 5), d, high=100)], {"axes": (1,)}) for n in names for d in [BOOL, *INTEGERS]]


def _logs() -> list[Case]:
    out = []
    for d in FLOATS:
        x = sample((3, 9), d, high=40)
        x[0, :3] = -np.inf, -np.inf, 1
        for axis, reverse in ((1, False), (0, True)):
            params = {"axis": axis, "reverse": reverse}
            out.append(Case("cumlogsumexp", [x], params, ulps=8, atol=1e-5))
    return out


def _general() -> list[Case]:
    farthest = combining(lambda a, b: [select(gt(ar.abs(a), ar.abs(b)), a, b)], np.float32)
    both = combining(lambda a, i, b, j: [select(gt(a, b), a, b), select(gt(a, b), i, j)], np.float32, np.int32)
    x, place = sample((5, 7), np.float32), np.arange(35, dtype=np.int32).reshape(5, 7)
    zero, none = np.zeros((), np.float32), np.zeros((), np.int32)
    return [
        Case("reduce", [x, zero], {"computation": farthest, "dimensions": (1,)}),
        Case("reduce", [x, zero], {"computation": farthest, "dimensions": (0, 1)}),
        Case("reduce", [x, place, zero - 9, none], {"computation": both, "dimensions": (0,)}),
    ]


def _empty() -> list[Case]:
    x = np.zeros((0, 3), np.float32)
    names = ("reduce_sum", "reduce_prod", "reduce_max", "reduce_min")
    return [Case(n, [x], {"axes": (0,)}) for n in names]


CASES = [*_sums(), *_extremes(), *_bits(), *_logs(), *_general(), *_empty()]

"""Sorting, on both sides of the length from which the network takes over."""

from __future__ import annotations

from typing import Any

import numpy as np

from cases import ALL, BOOL, FLOATS, INTEGERS, Case, edges, sample
from passes.legalize.sort_network import LONG

ONE_KEY = {"dimension": 0, "is_stable": True, "num_keys": 1}


def _rows(dtype: Any) -> Any:
    row = edges(dtype)
    # Values twice, in another order: ties, and several NaN.
    return np.stack([np.concatenate([row, row[::-1]]), np.concatenate([row[::-1], row])])


def _short() -> list[Case]:
    out = []
    for d in ALL:
        x = _rows(d)
        place = np.arange(x.size, dtype=np.int32).reshape(x.shape)
        out.append(Case("sort", [x[0]], ONE_KEY))
        out.append(Case("sort", [x, place], {**ONE_KEY, "dimension": 1}))
        first = sample(x.shape, np.int8, high=2)
        out.append(Case("sort", [first, x, place], {"dimension": 1, "is_stable": True, "num_keys": 2}))
    return out


def _long() -> list[Case]:
    out = []
    for d in ALL:
        n = LONG + 90
        x = sample((n,), d, low=-100, high=100)
        x[: edges(d).size] = edges(d)
        x[-edges(d).size :] = edges(d)
        out.append(Case("sort", [x, np.arange(n, dtype=np.int32)], ONE_KEY))
    matrix = sample((3, LONG + 1), np.int16, high=20)
    place = np.arange(matrix.size, dtype=np.float32).reshape(matrix.shape)
    out.append(Case("sort", [matrix, place], {"dimension": 1, "is_stable": True, "num_keys": 1}))
    out.append(Case("sort", [matrix.T.copy(), place.T.copy()], ONE_KEY))
    return out


def _largest() -> list[Case]:
    out = []
    for d in [BOOL, *INTEGERS, *FLOATS]:
        x = _rows(d)
        out += [Case("top_k", [x], {"k": k}) for k in (1, x.shape[1])]
    return out


CASES = [*_short(), *_long(), *_largest()]

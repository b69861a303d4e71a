"""Reductions by functions of the user's, in float64: their derivatives are written out."""

from __future__ import annotations

import numpy as np

from cases import Case, sample
from cases.reduce import combining
from cases.window import EVERYTHING
from stagec.primitives import arithmetic as ar
from stagec.primitives.logic import gt, select

F = np.float64
FARTHEST = combining(lambda a, b: [select(gt(ar.abs(a), ar.abs(b)), a, b)], F)
BOTH = combining(lambda a, i, b, j: [select(gt(a, b), a, b), select(gt(a, b), i, j)], F, np.int32)
PROBABLE = combining(lambda a, b: [ar.sub(ar.add(a, b), ar.mul(a, b))], F)

_X, _PLACE = sample((5, 7), F), np.arange(35, dtype=np.int32).reshape(5, 7)
_START, _NONE = np.array(0.25), np.zeros((), np.int32)

CASES = [
    Case("reduce", [_X, np.zeros(())], {"computation": FARTHEST, "dimensions": (1,)}),
    Case("reduce", [_X, np.zeros(())], {"computation": FARTHEST, "dimensions": (0, 1)}),
    Case("reduce", [_X, _START], {"computation": PROBABLE, "dimensions": (0,)}, ulps=512),
    Case("reduce", [_X, _PLACE, np.array(-9.0), _NONE], {"computation": BOTH, "dimensions": (0,)}),
    Case("reduce_window", [_X, _START], {"computation": PROBABLE, **EVERYTHING}, ulps=512),
    Case("reduce_window", [_X, _PLACE, np.array(-9.0), _NONE], {"computation": BOTH, **EVERYTHING}),
]

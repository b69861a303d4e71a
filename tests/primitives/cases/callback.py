"""Cases of the rows that call Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from cases import Case
from stagec.core import pytree
from stagec.core.aval import ShapedArray
from stagec.core.host import HostCallback

_X = np.array([[1.5, -2.0], [np.inf, 0.0]], np.float32)
_N = np.array(7, np.int32)


def _both(x: Any, n: Any) -> Any:
    return np.asarray(x) * 2, np.asarray(n) + 1


def _nothing(x: Any, n: Any) -> None:
    return None


def _case(name: str, function: Any, results: list[Any], **params: Any) -> Case:
    avals = [ShapedArray(a.shape, a.dtype) for a in (_X, _N)]
    out = tuple([ShapedArray(a.shape, a.dtype) for a in results])
    callback = HostCallback(name, function, avals, pytree.structure(((0, 1), {})), out)
    params = {"callback": callback, "result_avals": out, **params}
    return Case(name, [_X, _N], params, compiled="tests/api/test_callbacks.py does, with every dtype")


CASES = [
    _case("pure_callback", _both, [_X, _N], vmap_method=None),
    _case("io_callback", _both, [_X, _N], ordered=True),
    _case("io_callback", _nothing, [], ordered=False),
    _case("debug_callback", _nothing, [], ordered=False),
]

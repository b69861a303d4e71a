"""One expression evaluated by NumPy, eagerly, and compiled; compared in value and shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import stagec
import stagec.numpy as snp

Expression = Callable[..., Any]


def flat(result: Any) -> list[Any]:
    return [r for part in result for r in flat(part)] if isinstance(result, (list, tuple)) else [result]


def host(value: Any) -> Any:
    return value.numpy() if isinstance(value, stagec.Array) else np.asarray(value)


def difference(expected: Any, actual: Any, tolerance: float) -> str:
    """What differs between NumPy's result and ours, dtypes apart; nothing if they agree."""
    expected, actual = np.asarray(expected), host(actual)
    if expected.shape != actual.shape:
        return f"shape {actual.shape}, expected {expected.shape}"
    wide = np.complex128 if "c" in (expected.dtype.kind, actual.dtype.kind) else np.float64
    close = np.isclose(actual.astype(wide), expected.astype(wide), rtol=tolerance, atol=tolerance, equal_nan=True)
    return "" if close.all() else f"{actual.tolist()}, expected {expected.tolist()}"


def check(expressions: Sequence[Expression], arrays: Sequence[Any], tolerance: float = 1e-5) -> None:
    """Each expression is `f(namespace, *arrays)`; all of them are compiled as one program."""
    with np.errstate(all="ignore"):
        expected = [flat(f(np, *arrays)) for f in expressions]
    eager = [flat(f(snp, *arrays)) for f in expressions]
    compiled = stagec.jit(lambda *xs: [flat(f(snp, *xs)) for f in expressions])(*arrays)
    wrong = []
    for i, e in enumerate(expected):
        for how, results in (("eager", eager[i]), ("compiled", compiled[i])):
            texts = [difference(a, b, tolerance) for a, b in zip(e, results, strict=True)]
            # The first line of an expression's code finds it in the test.
            line = expressions[i].__code__.co_firstlineno
            wrong += [f"line {line}, {how}, result {k}: {t}" for k, t in enumerate(texts) if t]
    assert not wrong, "\n".join(wrong)

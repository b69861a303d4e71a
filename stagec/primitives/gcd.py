"""The greatest common divisor: Euclid's algorithm, as one row."""

from __future__ import annotations

from typing import Any

import numpy as np

from stagec.core import dtypes
from stagec.core.aval import ShapedArray
from stagec.core.primitive import NOT_DIFFERENTIABLE, NOT_LINEAR
from stagec.primitives import arithmetic, logic
from stagec.primitives.table import elementwise, spread


def _gcd_eval(x: Any, y: Any) -> Any:
    return np.gcd(x, y)


# The slowest operands are neighbours in Fibonacci's sequence: this many steps exhaust each width.
_STEPS = {8: 13, 16: 24, 32: 47, 64: 93}


def _gcd_lower(cx: Any, x: Any, y: Any) -> Any:
    (out,) = cx.out_avals
    counter = ShapedArray.of((), dtypes.int32)
    avals = [counter, out, out]
    steps = _STEPS[8 * out.dtype.itemsize]
    x, y = spread(cx, [x, y])

    def unfinished(i: Any, a: Any, b: Any) -> list[Any]:
        return [logic.lt(i, steps)]

    def step(i: Any, a: Any, b: Any) -> list[Any]:
        done = logic.eq(b, 0)
        remainder = arithmetic.rem(a, logic.select(done, a, b))
        return [arithmetic.add(i, 1), logic.select(done, a, b), logic.select(done, b, remainder)]

    start = cx.constant(np.zeros((), np.int32))
    results = cx.emit(
        "stablehlo.while", [start, x, y], avals=avals, regions=[cx.region(avals, unfinished), cx.region(avals, step)]
    )
    # At the end, since the least integer has no absolute value to begin with.
    return cx.emit("stablehlo.abs", [results[1]]) if dtypes.is_signed(out.dtype) else results[1]


gcd_p = elementwise(
    "gcd",
    numpy_ns=4,
    accepts=dtypes.INTEGER,
    eval=_gcd_eval,
    lower=_gcd_lower,
    jvp=NOT_DIFFERENTIABLE,
    transpose=NOT_LINEAR,
)

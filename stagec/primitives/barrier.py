"""Identities that say something to a transformation or to the compiler."""

from __future__ import annotations

from typing import Any

from stagec.core import dtypes
from stagec.core.primitive import NOT_DIFFERENTIABLE, NOT_LINEAR
from stagec.primitives.operand import Operand, as_operand
from stagec.primitives.table import elementwise

stop_gradient_p = elementwise(
    "stop_gradient",
    accepts=dtypes.ALL,
    eval=lambda x: x,
    lower=lambda cx, x: x,
    jvp=NOT_DIFFERENTIABLE,
    transpose=NOT_LINEAR,
)


def stop_gradient(x: Any) -> Operand:
    """`x` itself, which derivatives take for a constant."""
    return stop_gradient_p(as_operand(x))

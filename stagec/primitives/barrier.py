"""Identities that say something to a transformation or to the compiler."""

from __future__ import annotations

from typing import Any

from stagec.core import dtypes, pytree
from stagec.core.primitive import NOT_DIFFERENTIABLE, NOT_LINEAR
from stagec.primitives.operand import as_operand
from stagec.primitives.table import elementwise

stop_gradient_p = elementwise(
    "stop_gradient",
    accepts=dtypes.ALL,
    eval=lambda x: x,
    lower=lambda cx, x: x,
    jvp=NOT_DIFFERENTIABLE,
    transpose=NOT_LINEAR,
)


def stop_gradient(x: Any) -> Any:
    """`x` itself, a pytree, which derivatives take for a constant.

    >>> import stagec, stagec.numpy as snp
    >>> from stagec import lax
    >>> float(stagec.grad(lambda x: x * lax.stop_gradient(x))(3.0))
    3.0
    """
    return pytree.map_leaves(lambda leaf: stop_gradient_p(as_operand(leaf)), x)

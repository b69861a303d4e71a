"""Identities with a meaning for transformations or for the compiler."""

from __future__ import annotations

from typing import Any, overload

from stagec.core import dtypes, pytree
from stagec.core.array import Array
from stagec.core.callables import X
from stagec.core.primitive import NOT_DIFFERENTIABLE
from stagec.primitives.broadcast import linear
from stagec.primitives.operand import as_operand
from stagec.primitives.table import elementwise
from stagec.typing import ArrayLike

__all__ = ["optimization_barrier", "optimization_barrier_p", "stop_gradient", "stop_gradient_p"]

stop_gradient_p = elementwise(
    "stop_gradient",
    accepts=dtypes.ELEMENTS,
    eval=lambda x: x,
    lower=lambda cx, x: x,
    jvp=NOT_DIFFERENTIABLE,
    # In a graph that is linear already, it is the identity.
    transpose=lambda ct, x: [ct],
)


@overload
def stop_gradient(x: ArrayLike) -> Array: ...
@overload
def stop_gradient(x: X) -> X: ...
def stop_gradient(x: Any) -> Any:
    """`x` itself, a pytree, which is a constant to derivatives.

    >>> import stagec, stagec.numpy as snp
    >>> from stagec import lax
    >>> float(stagec.grad(lambda x: x * lax.stop_gradient(x))(3.0))
    3.0
    """
    return pytree.map_leaves(lambda leaf: stop_gradient_p(as_operand(leaf)), x)


optimization_barrier_p = elementwise(
    "optimization_barrier",
    accepts=dtypes.ELEMENTS,
    eval=lambda x: x,
    # One barrier for each value: the compiler treats the two sides of a barrier as different memory, and the pass
    # that protects one side from in-place updates of the other looks at one value at a time.
    lower="stablehlo.optimization_barrier",
    jvp=linear(),
    transpose=lambda ct, x: [ct],
)


def optimization_barrier(operand: X, /) -> X:
    """The same values, which the compiler neither computes together nor merges with what is computed before.

    Args:
      operand: a pytree of arrays.

    Returns:
      The pytree; outside of compiled functions, nothing else happens.

    >>> optimization_barrier({"a": 1.0})
    {'a': Array(1., dtype=float32, weak_type=True)}
    """
    out: X = pytree.map_leaves(lambda x: optimization_barrier_p(as_operand(x)), operand)
    return out

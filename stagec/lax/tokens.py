"""What `jax.lax` has for effects and placement; on one device, most of it is the identity."""

from __future__ import annotations

from typing import Any

from stagec.core import errors, location, pytree
from stagec.core.array import Array
from stagec.core.callables import X
from stagec.numpy.arguments import array_argument
from stagec.numpy.creation import zeros
from stagec.primitives.operand import as_operand, aval_of
from stagec.typing import ArrayLike

__all__ = ["after_all", "create_token", "dce_sink", "stage", "with_sharding_constraint"]


def create_token(_: Any = None) -> Array:
    """A value without content. Effects are in order without one; it is an array of no elements.

    >>> create_token().size
    0
    """
    return zeros((0,), bool)


def after_all(*operands: Array) -> Array:
    """One token of several.

    >>> after_all(create_token(), create_token()).size
    0
    """
    for token in operands:
        aval = aval_of(as_operand(token))
        if aval.shape != (0,) or aval.dtype != bool:
            raise location.error(
                errors.ArgumentTypeError,
                f"after_all: {aval.long()} is not a token",
                fix="pass tokens, which create_token makes",
            )
    return create_token()


def stage(x: ArrayLike, /) -> Array:
    """A number or an array as an array, or as a traced value.

    >>> stage(2.0)
    Array(2., dtype=float32, weak_type=True)
    """
    return array_argument(x, "stage")


def dce_sink(val: Any, *, prevent_mlir_dce: bool = False) -> None:
    """Take values that nothing else uses. What computes them is left out of programs all the same.

    Args:
      val: pytree of arrays.
      prevent_mlir_dce: accepted for compatibility, and ignored.
    """
    for leaf in pytree.leaves(val):
        as_operand(leaf)


def with_sharding_constraint(x: X, shardings: Any) -> X:
    """`x` itself: on one device there is one way to lay out an array.

    Args:
      x: pytree of arrays.
      shardings: what is asked for; not looked at, but None is refused, as in JAX.
    """
    if shardings is None:
        raise location.error(
            ValueError,
            "with_sharding_constraint: None is no sharding",
            fix="leave the call out, or pass a device",
        )
    found: X = pytree.map_leaves(lambda leaf: array_argument(leaf, "with_sharding_constraint"), x)
    return found

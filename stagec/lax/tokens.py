"""What `jax.lax` has for effects and placement."""

from __future__ import annotations

from typing import Any

from stagec.core import errors, location, pytree
from stagec.core.array import Array
from stagec.core.callables import X
from stagec.core.trace import Tracer
from stagec.numpy.arguments import array_argument, constrained
from stagec.numpy.creation import zeros
from stagec.primitives.operand import as_operand, aval_of
from stagec.runtime.sharding import NamedSharding, as_sharding
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
    """`x`, split among devices.

    Args:
      x: pytree of arrays.
      shardings: a `NamedSharding`, a `PartitionSpec` for the mesh in force, or a device; or a pytree prefix of these.

    An axis of a traced array that is not a multiple of the parts that it would be split into stays whole.

    Raises:
      ShapeError: such an axis of an array that is not traced.

    >>> import stagec, stagec.numpy as snp
    >>> from stagec.sharding import NamedSharding, PartitionSpec as P
    >>> rows = NamedSharding(stagec.make_mesh((1,), ("x",)), P("x"))
    >>> with_sharding_constraint(snp.ones(4), rows).sharding.spec
    P('x',)
    """
    if shardings is None:
        raise location.error(
            ValueError,
            "with_sharding_constraint: None is no sharding",
            fix="leave the call out, or pass a sharding",
        )
    leaves, tree = pytree.flatten(x)
    wanted = pytree.broadcast_prefix(shardings, x)
    found: X = tree.unflatten([_constrained(v, s) for v, s in zip(leaves, wanted)])
    return found


def _constrained(value: Any, sharding: Any) -> Any:
    target = as_sharding(sharding, "with_sharding_constraint")
    if isinstance(value, Tracer) and isinstance(target, NamedSharding) and len(target.spec) <= value.ndim:
        target = target.dividing(value.shape)
    return constrained(value, target, "with_sharding_constraint")

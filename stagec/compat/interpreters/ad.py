"""`jax.interpreters.ad`: rules for derivatives of primitives that users define."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stagec.compat.primitive import Primitive, jvps as primitive_jvps, transposes as primitive_transposes
from stagec.core.zero import Linear as UndefinedPrimal, Zero, is_linear as is_undefined_primal, is_zero
from stagec.primitives.broadcast import instantiate as instantiate_zeros

__all__ = [
    "UndefinedPrimal",
    "Zero",
    "deflinear",
    "deflinear2",
    "instantiate_zeros",
    "is_undefined_primal",
    "primitive_jvps",
    "primitive_transposes",
]


def deflinear2(primitive: Primitive, transpose_rule: Callable[..., Any]) -> None:
    """Declare that a primitive is linear in all operands.

    Args:
      transpose_rule: `(cotangent, *operands, **params) -> cotangents`.
    """

    def jvp(primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
        assert not all(map(is_zero, tangents)), "a rule is for operands that are differentiated"
        return primitive.bind(*primals, **params), primitive.bind(*map(instantiate_zeros, tangents), **params)

    primitive_jvps[primitive] = jvp
    primitive_transposes[primitive] = transpose_rule


def deflinear(primitive: Primitive, transpose_rule: Callable[..., Any]) -> None:
    """As `deflinear2`, with a rule that gets the cotangent alone."""
    deflinear2(primitive, lambda ct, *operands, **params: transpose_rule(ct, **params))

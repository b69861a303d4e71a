"""`jax.interpreters.ad`: rules for derivatives of primitives that users define."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from stagec.compat.primitive import Primitive, jvps as primitive_jvps, transposes as primitive_transposes
from stagec.core.zero import Linear as UndefinedPrimal, Zero, is_linear as is_undefined_primal, is_zero, zero_of
from stagec.primitives.broadcast import instantiate as instantiate_zeros, zeros as zeros_like_aval
from stagec.primitives.rules import add_p as add_jaxvals_p
from stagec.transforms.jvp import JvpTrace as JVPTrace, JvpTracer as JVPTracer

__all__ = [
    "JVPTrace", "JVPTracer", "UndefinedPrimal", "Zero", "add_jaxvals", "add_jaxvals_p", "add_tangents", "defbilinear",
    "defjvp", "defjvp2", "deflinear", "deflinear2", "instantiate_zeros", "is_undefined_primal", "primitive_jvps",
    "primitive_transposes", "zeros_like_aval",
]  # fmt: skip


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


def add_jaxvals(x: Any, y: Any) -> Any:
    """The sum of two arrays of one type."""
    return add_jaxvals_p.bind(x, y)


def add_tangents(x: Any, y: Any) -> Any:
    """The sum of two tangents, each of which may be a `Zero`."""
    if is_zero(x) or is_zero(y):
        return y if is_zero(x) else x
    return add_jaxvals(x, y)


def defjvp(primitive: Primitive, *jvprules: Callable[..., Any] | None) -> None:
    """Give a primitive with one result a rule for each operand.

    Args:
      jvprules: `(tangent, *operands, **params) -> tangent of the result`; None where it does not depend on the operand.
    """
    shortened = [rule and functools.partial(_without_result, rule) for rule in jvprules]
    defjvp2(primitive, *shortened)


def _without_result(rule: Callable[..., Any], tangent: Any, result: Any, *primals: Any, **params: Any) -> Any:
    return rule(tangent, *primals, **params)


def defjvp2(primitive: Primitive, *jvprules: Callable[..., Any] | None) -> None:
    """As `defjvp`, with rules `(tangent, result, *operands, **params) -> tangent`."""

    def jvp(primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
        out = primitive.bind(*primals, **params)
        rules = [(rule, t) for rule, t in zip(jvprules, tangents, strict=True) if rule is not None and not is_zero(t)]
        parts = [rule(t, out, *primals, **params) for rule, t in rules]
        return out, functools.reduce(add_tangents, parts, zero_of(out.aval))

    primitive_jvps[primitive] = jvp


def defbilinear(prim: Primitive, lhs_rule: Callable[..., Any], rhs_rule: Callable[..., Any]) -> None:
    """Declare that a primitive is linear in each of its two operands.

    Args:
      lhs_rule, rhs_rule: `(cotangent, x, y, **params) -> cotangent`, of which one operand has no value.
    """
    defjvp(
        prim, lambda t, x, y, **params: prim.bind(t, y, **params), lambda t, x, y, **params: prim.bind(x, t, **params)
    )

    def transpose(ct: Any, x: Any, y: Any, **params: Any) -> list[Any]:
        if is_undefined_primal(x):
            return [ct if is_zero(ct) else lhs_rule(ct, x, y, **params), None]
        return [None, ct if is_zero(ct) else rhs_rule(ct, x, y, **params)]

    primitive_transposes[prim] = transpose

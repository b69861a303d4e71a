"""Derivatives and transposes that families of rows share, and the rows that sum and negate them: `add` and `neg`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stagec.core import dtypes, errors, location
from stagec.core.dtypes import NUMERIC
from stagec.core.primitive import MissingRule, Primitive, SinglePrimitive
from stagec.core.zero import Linear, is_linear, is_zero, zero_of
from stagec.primitives.broadcast import linear, reduce_sum_p, spread_to
from stagec.primitives.operand import aval_of
from stagec.primitives.table import computed_in_float32, elementwise

__all__ = ["add_p", "neg_p"]

Contribution = Callable[..., Any]


def no_rule(primitive: Primitive, what: str, why: MissingRule) -> errors.StagecError:
    """The error for a primitive that a transformation cannot handle."""
    return location.error(
        errors.UnsupportedError,
        f"{primitive} cannot be {what}: {why}",
        fix=why.fix
        or "use stagec.lax.stop_gradient on its operands, or give the function around it a rule with stagec.custom_jvp",
    )


def _sum(terms: Sequence[Any]) -> Any:
    total = terms[0]
    for t in terms[1:]:
        total = add_p(total, t)
    return total


def each(*contributions: Contribution | None, result: bool = False) -> Callable[..., Any]:
    """A jvp rule from what each operand adds to the tangent.

    Args:
      contributions: `(*primals, tangent, **params) -> tangent of the result` for each operand; None where the
        result does not depend on it smoothly. The last one serves all further operands.
      result: pass the result first.
    """

    def rule(primitive: Primitive, primals: Sequence[Any], tangents: Sequence[Any], params: dict[str, Any]) -> Any:
        out = primitive(*primals, **params)
        aval = aval_of(out)
        terms = []
        for i, t in enumerate(tangents):
            f = contributions[min(i, len(contributions) - 1)]
            if f is None or is_zero(t):
                continue
            terms.append(f(out, *primals, t, **params) if result else f(*primals, t, **params))
        if not terms:
            return out, zero_of(aval)
        if any(aval_of(t).shape == aval.shape for t in terms):
            return out, _sum(terms)
        return out, spread_to(_sum(terms), aval.shape)

    return rule


def bilinear(primitive: Primitive, primals: Sequence[Any], tangents: Sequence[Any], params: dict[str, Any]) -> Any:
    """The jvp rule of a row of two operands that is linear in each of them."""
    rule = each(
        lambda x, y, t, **params: primitive(t, y, **params), lambda x, y, t, **params: primitive(x, t, **params)
    )
    return rule(primitive, primals, tangents, params)


def unbroadcast(ct: Any, operand: Linear) -> Any:
    """A cotangent summed to the shape of an operand, which may have been a scalar that was broadcast."""
    if operand.aval.shape == aval_of(ct).shape:
        return ct
    return reduce_sum_p(ct, axes=tuple(range(aval_of(ct).ndim)))


def cotangents(*rules: Callable[..., Any] | None) -> Callable[..., list[Any]]:
    """A transpose rule from a rule for each operand: `(ct, *operands, **params) -> cotangent`, where it is linear."""

    def rule(ct: Any, *operands: Any, **params: Any) -> list[Any]:
        out: list[Any] = []
        for i, operand in enumerate(operands):
            f = rules[min(i, len(rules) - 1)]
            if not is_linear(operand) or f is None:
                out.append(None)
            else:
                out.append(unbroadcast(f(ct, *operands, **params), operand))
        return out

    return rule


# The rows that derivatives are summed and negated with.


def _neg_lower(cx: Any, x: Any) -> Any:
    (aval,) = cx.in_avals
    if not dtypes.is_unsigned(aval.dtype):
        return cx.emit("stablehlo.negate", [x])
    return cx.emit("stablehlo.subtract", [cx.constant(0, aval), x])


neg_p: SinglePrimitive = elementwise(
    "neg",
    accepts=NUMERIC,
    eval=np.negative,
    lower=_neg_lower,
    jvp=linear(),
    transpose=cotangents(lambda ct, x: neg_p(ct)),
)
add_p = elementwise(
    "add",
    accepts=NUMERIC,
    eval=computed_in_float32(np.add),
    lower="stablehlo.add",
    jvp=each(lambda x, y, t: t),
    transpose=cotangents(lambda ct, x, y: ct),
)

"""How rows say their derivatives, transposes and batched forms, and the rules that families share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stagec.core import errors, location
from stagec.core.aval import ShapedArray
from stagec.core.primitive import Absent, Primitive
from stagec.core.zero import Linear, is_linear, is_zero, zero_of
from stagec.primitives.operand import aval_of, literal

Contribution = Callable[..., Any]


def no_rule(primitive: Primitive, what: str, why: Absent) -> errors.StagecError:
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
        total = Primitive.registry["add"](total, t)
    return total


def spread_to(x: Any, shape: tuple[int, ...]) -> Any:
    """An operand of rank 0 with the shape of what it is combined with."""
    if aval_of(x).shape == shape:
        return x
    return Primitive.registry["broadcast_in_dim"](x, shape=shape, broadcast_dimensions=())


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


def linear(*positions: int) -> Callable[..., Any]:
    """The jvp rule of a row that is linear in the operands at `positions` together; in all of them by default."""

    def rule(primitive: Primitive, primals: Sequence[Any], tangents: Sequence[Any], params: dict[str, Any]) -> Any:
        out = primitive(*primals, **params)
        places = positions or range(len(primals))
        if all(is_zero(tangents[i]) for i in places):
            return out, zero_of(aval_of(out))
        operands = list(primals)
        for i in places:
            operands[i] = instantiate(tangents[i])
        return out, primitive(*operands, **params)

    return rule


def zeros(aval: ShapedArray) -> Any:
    """An array of zeros."""
    return spread_to(literal(0, aval.dtype), aval.shape)


def instantiate(tangent: Any) -> Any:
    """A tangent as a value."""
    return zeros(tangent.aval) if is_zero(tangent) else tangent


def fit(ct: Any, operand: Linear) -> Any:
    """A cotangent with the shape of an operand, which may have been of rank 0 beside larger ones."""
    if operand.aval.shape == aval_of(ct).shape:
        return ct
    return Primitive.registry["reduce_sum"](ct, axes=tuple(range(aval_of(ct).ndim)))


def cotangents(*rules: Callable[..., Any] | None) -> Callable[..., list[Any]]:
    """A transpose rule from what each operand gets: `(ct, *operands, **params) -> cotangent`, where it is linear."""

    def rule(ct: Any, *operands: Any, **params: Any) -> list[Any]:
        out: list[Any] = []
        for i, operand in enumerate(operands):
            f = rules[min(i, len(rules) - 1)]
            if not is_linear(operand) or f is None:
                out.append(None)
            else:
                out.append(fit(f(ct, *operands, **params), operand))
        return out

    return rule


# Batching. A rule is `(primitive, args, dims, size, params) -> (results, dims)`; a dim is an axis or None.


def to_front(x: Any, dim: int | None, size: int | None = None) -> Any:
    """An operand with its batch axis first; without one, and with a size, repeated along a new one."""
    aval = aval_of(x)
    if dim is None:
        if size is None:
            return x
        shape = (size, *aval.shape)
        axes = tuple(range(1, len(shape)))
        return Primitive.registry["broadcast_in_dim"](x, shape=shape, broadcast_dimensions=axes)
    if dim == 0:
        return x
    order = (dim, *[i for i in range(aval.ndim) if i != dim])
    return Primitive.registry["transpose"](x, permutation=order)


def batch_elementwise(
    primitive: Primitive, args: Sequence[Any], dims: Sequence[int | None], size: int, params: dict[str, Any]
) -> tuple[Any, int]:
    """Operands of one shape; those of rank 0 go with any."""
    ranks = [aval_of(a).ndim - (d is not None) for a, d in zip(args, dims)]
    rank = max(ranks)
    batched = {d for a, d, r in zip(args, dims, ranks) if r == rank}
    if len(batched) == 1 and all(r == rank or d is None for d, r in zip(dims, ranks)):
        return primitive(*args, **params), batched.pop()  # type: ignore[return-value]
    shape: tuple[int, ...] = ()
    for a, d, r in zip(args, dims, ranks):
        if r == rank:
            full = aval_of(a).shape
            shape = full if d is None else tuple(n for i, n in enumerate(full) if i != d)
            break
    ready = []
    for a, d, r in zip(args, dims, ranks):
        if r == rank:
            ready.append(to_front(a, d, size))
        elif d is None:
            ready.append(a)
        else:
            whole = (size, *shape)
            ready.append(Primitive.registry["broadcast_in_dim"](a, shape=whole, broadcast_dimensions=(0,)))
    return primitive(*ready, **params), 0

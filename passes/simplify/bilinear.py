"""Laws of products and convolutions alike: both are linear in each operand. And sums and chains of products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from passes import attributes as attrs, build
from passes.match import is_integer, producer, rank_of, shape_of, sides as operands_of, size_of, splat_of
from passes.patterns import laws_of
from passes.simplify.moves import is_static_op, rebuilt, used_once
from passes.simplify.proven import exact_if_proven
from passes.simplify.sides import (
    DOT,
    Side,
    either_side,
    has_elements,
    in_order,
    is_wide_real,
    multiplications,
    once,
    product,
    repeated,
    sides,
)

_BILINEAR = (DOT, "stablehlo.convolution")
_MULTIPLY = "stablehlo.multiply"
# Changing the order of a chain of products must save more than this share of its multiplications.
_WORTHWHILE = 0.75


def _maker(value: Any) -> Any | None:
    """The product or convolution that makes a value, if nothing else reads it."""
    inner = producer(value)
    if inner is None or inner.operation.name not in _BILINEAR or not used_once(inner) or not is_static_op(inner):
        return None
    return inner


def _again(op: Any, lhs: Any, rhs: Any) -> Any:
    """A copy of a product or a convolution, with operands of the same shapes."""
    return rebuilt(op, [lhs, rhs], shape_of(op.operation.results[0]))


def _with(op: Any, number: int, value: Any) -> Any:
    """A copy of a product or a convolution, with another left operand if `number` is 0, else another right one."""
    return _again(op, op.lhs, value) if number else _again(op, value, op.rhs)


def _sum(value: Any, dims: Sequence[int]) -> Any:
    """The sum of an array along some dimensions."""
    zero = build.full(0, build.tensor_type((), value.type.element_type))
    (found,) = build.reduce(["stablehlo.add"], [value], [zero], dims)
    return found


def _scaled(value: Any) -> tuple[Any, Any] | None:
    """The array and the factor of `x * s` for one number s, if nothing else reads that; the factor has rank 0."""
    maker = producer(value, _MULTIPLY)
    if maker is None or not used_once(maker) or not is_static_op(maker):
        return None
    for x, factor in operands_of(maker):
        if _is_number(factor):
            return x, factor
    return None


def _is_number(value: Any) -> bool:
    """Whether an array repeats one number, known or not."""
    found = repeated(value)
    return bool(found) and len(found) == sum(n != 1 for n in shape_of(value))


def _number(factor: Any) -> Any:
    """The number that an array repeats, as an array of rank 0."""
    return once(factor, range(rank_of(factor)))


def _times(value: Any, number: Any) -> Any:
    return build.op(_MULTIPLY, [value, build.broadcast_in_dim(number, shape_of(value), ())])


@exact_if_proven(*_BILINEAR, of=_MULTIPLY, assumes="reassoc")
def product_of_scaled(op: Any, exactly: bool) -> Any:
    """dot(s * x, y) -> s * dot(x, y), where the result is smaller than x, and dot(s * x, t * y) -> dot(x, (s * t) * y).

    The same for convolutions. Exact for integers; differs by rounding, and where a product overflows.
    """
    result = op.operation.results[0]
    if not is_wide_real(op) or (exactly and not is_integer(result)) or not rank_of(result):
        return None
    first, second = _scaled(op.lhs), _scaled(op.rhs)
    if first is not None and second is not None:
        operands = [first[0], second[0]]
        factor = build.op(_MULTIPLY, [_number(first[1]), _number(second[1])])
        if size_of(result) < min(map(size_of, operands)):
            return _times(_again(op, *operands), factor)
        small = int(size_of(op.rhs) < size_of(op.lhs))
        operands[small] = _times(operands[small], factor)
        return _again(op, *operands)
    for number, found in enumerate((first, second)):
        if found is not None and size_of(result) < size_of(found[0]):
            return _times(_with(op, number, found[0]), _number(found[1]))
    return None


@exact_if_proven(_MULTIPLY, of=_BILINEAR, assumes="reassoc")
def scaled_product(op: Any, exactly: bool) -> Any:
    """dot(s * x, y) * t -> dot(x, y) * (s * t), and the same for convolutions.

    Exact for integers; differs by rounding, and where a product overflows.
    """
    if exactly and not is_integer(op.lhs):
        return None
    for value, factor in operands_of(op):
        inner = _maker(value)
        if inner is None or not is_wide_real(inner) or not _is_number(factor):
            continue
        for number, operand in enumerate((inner.lhs, inner.rhs)):
            found = _scaled(operand)
            if found is not None:
                together = build.op(_MULTIPLY, [_number(found[1]), _number(factor)])
                return _times(_with(inner, number, found[0]), together)
    return None


@exact_if_proven(DOT, of=DOT, assumes="reassoc,nnan")
def chain_of_dots(op: Any, exactly: bool) -> Any:
    """dot(dot(a, b), c) -> dot(a, dot(b, c)), where that needs fewer multiplications, and the other way around.

    Exact for integers; differs by rounding, and where a sum overflows.
    """
    if not is_wide_real(op) or (exactly and not is_integer(op.operation.results[0])):
        return None
    for number, outer, other in either_side(op):
        inner = _maker(outer.value)
        if inner is None or inner.operation.name != DOT or not is_wide_real(inner) or outer.batch:
            continue
        if attrs.copied(inner).get("precision_config") != attrs.copied(op).get("precision_config"):
            continue
        made = _reordered(op, inner, outer, other, number)
        if made is not None:
            return made
    return None


def _reordered(op: Any, inner: Any, outer: Side, other: Side, number: int) -> Any:
    """The chain in its other order; None if that is no cheaper, or has its dimensions in another order.

    Args:
      op: the outer product.
      inner: the inner product.
      outer: the side of the outer product that the inner one makes.
      other: the other side of the outer product.
      number: 0 if `outer` is the left side, else 1.
    """
    left, right = sides(inner)
    if left.batch:
        return None
    origin = [(0, d) for d in left.free] + [(1, d) for d in right.free]
    summed = [origin[d] for d in outer.contract]
    near = {which for which, _ in summed}
    # The neighbour of `other` in the chain: the right factor of a left product, the left factor of a right one.
    if near != {1 - number}:
        return None
    near_side, far = in_order(number, right, left)
    mine = tuple(d for _, d in summed)
    # The first product: of the neighbour and the other operand.
    rest = [d for d in range(rank_of(near_side.value)) if d not in mine]
    extra = other.size(other.free)
    work = near_side.size(rest) * extra * other.size(other.contract)
    work += (
        far.size(far.free)
        * near_side.size([d for d in rest if d not in near_side.contract])
        * extra
        * far.size(far.contract)
    )
    if work >= _WORTHWHILE * (multiplications(op) + multiplications(inner)):
        return None
    value = product(op, *in_order(number, near_side._replace(contract=mine), other))
    # Its dimensions: those of the neighbour that are left, and the other operand's free ones, in the order of sides.
    before = 0 if number == 0 else len(other.free)
    contract = tuple(before + rest.index(d) for d in near_side.contract)
    second = Side(value, (), contract)
    return product(op, *in_order(number, far, second))


@exact_if_proven(DOT, of=("stablehlo.broadcast_in_dim", "stablehlo.constant"), assumes="reassoc,nsz,nnan")
def dot_of_repeated_terms(op: Any, exactly: bool) -> Any:
    """dot(broadcast(x), y) -> dot(x, sum(y)), where x is repeated along a dimension that is summed over.

    Exact for integers and, apart from the order of the sums, for ones; else differs by rounding, in the sign of zero,
    and where the sum overflows.
    """
    if not is_wide_real(op) or not has_elements(op):
        return None
    for number, one, other in either_side(op):
        found = repeated(one.value) & set(one.contract)
        partner = dict(zip(one.contract, other.contract))
        found -= {d for d in found if partner[d] in repeated(other.value)}
        if not found:
            continue
        is_whole = len(found) == rank_of(one.value)
        is_one = is_whole and splat_of(one.value) == 1
        if exactly and not is_integer(op.operation.results[0]) and not is_one:
            continue
        summed = [partner[d] for d in found]
        sums = _sum(other.value, sorted(summed))
        if is_one:
            return sums
        if is_whole:
            return _times(sums, once(one.value, found))
        return product(op, *in_order(number, one.of(once(one.value, found), found), other.of(sums, summed)))
    return None


PATTERNS = laws_of(globals())

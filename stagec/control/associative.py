"""`associative_scan`: partial results of an associative operation, computed in pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stagec.control import bodies
from stagec.control.scan import scan
from stagec.core import errors, location, pytree
from stagec.core.callables import R
from stagec.core.dims import is_open
from stagec.core.functions import Role, call, check_callable
from stagec.primitives.axes import canonical_axis
from stagec.primitives.broadcast import moveaxis_to_front
from stagec.primitives.combining import paired
from stagec.primitives.convert import as_array
from stagec.primitives.joining import concatenate
from stagec.primitives.operand import aval_of
from stagec.primitives.shape import expand_dims, reshape, rev, squeeze, transpose
from stagec.primitives.slicing import slice_in_dim


def associative_scan(fn: Callable[[Any, Any], R], elems: Any, reverse: bool = False, axis: int = 0) -> R:
    """All partial results of an associative operation along an axis, in a number of steps that grows with log(n).

    Args:
      fn: `(a, b) -> c` on trees like `elems`, element by element along the axis;
        it is called on parts of several sizes.
      elems: pytree whose leaves have the same size along `axis`.
      reverse: accumulate from the end.
      axis: which axis; a negative one is counted from the end of the first leaf, as in JAX.

    Raises:
      ShapeError: the sizes along the axis differ.

    >>> import operator, stagec.numpy as snp
    >>> from stagec import lax
    >>> lax.associative_scan(operator.add, snp.arange(5))
    Array([ 0,  1,  3,  6, 10], dtype=int32)
    """
    check_callable("associative_scan", "stagec.lax.associative_scan(f, x)", fn)
    leaves, tree = bodies.flatten(elems, "associative_scan: elems")
    if not leaves:
        return elems
    # As in JAX, an axis counted from the end is counted in the first leaf, and is the same axis of every leaf.
    axis = canonical_axis(axis, aval_of(leaves[0]).ndim, "associative_scan")
    sizes = [aval_of(leaf).shape[canonical_axis(axis, aval_of(leaf).ndim, "associative_scan")] for leaf in leaves]
    if len(set(sizes)) > 1:
        raise location.error(
            errors.ShapeError,
            f"associative_scan: sizes along axis {axis} differ: {', '.join(str(n) for n in sizes)}",
            [
                (f"elems{pytree.keystr(path)}", aval_of(leaf).long(), "")
                for path, leaf in zip(pytree.leaf_paths(tree), leaves)
            ],
            "slice the leaves to one size",
        )

    def combine(a: list[Any], b: list[Any]) -> list[Any]:
        pair = [tree.unflatten(a), tree.unflatten(b)]
        result = call(fn, pair, Role("associative_scan: fn", ("a", "b")))
        out, structure = bodies.flatten(result, "associative_scan: result")
        if structure != tree:
            raise location.error(
                errors.PytreeError,
                f"associative_scan: {location.of_function(fn)} must return the structure of elems",
                [("elems", str(tree), ""), ("returned", str(structure), "")],
                "return the containers of elems",
            )
        return out

    def part(values: list[Any], start: int, stop: int | None) -> list[Any]:
        return [slice_in_dim(v, start, stop, axis=axis) for v in values]

    def in_turn(values: list[Any]) -> list[Any]:
        """The partial results by a loop: the number of steps above is part of the program."""

        def step(before: list[Any], given: list[Any]) -> tuple[list[Any], list[Any]]:
            now = combine(before, [expand_dims(v, (axis,)) for v in given])
            return now, [squeeze(v, (axis,)) for v in now]

        first = part(values, 0, 1)
        _, rest = scan(step, first, [moveaxis_to_front(v, axis) for v in part(values, 1, None)])
        order = [*range(1, axis + 1), 0]
        rows = [transpose(v, (*order, *range(axis + 1, aval_of(v).ndim))) for v in rest]
        return [concatenate([a, b], axis) for a, b in zip(first, rows)]

    arrays = [as_array(leaf) for leaf in leaves]
    if reverse:
        arrays = [rev(a, (axis,)) for a in arrays]
    results = in_turn(arrays) if is_open(sizes[0]) else paired(combine, arrays, axis, _interleave)
    return tree.unflatten([rev(r, (axis,)) for r in results] if reverse else results)


def _interleave(a: Any, b: Any, axis: int) -> Any:
    """a[0], b[0], a[1], b[1], ...; `a` may be longer by one."""
    shape, count = list(b.aval.shape), b.aval.shape[axis]
    longer = a.aval.shape[axis] > count
    head = slice_in_dim(a, 0, count, 1, axis) if longer else a
    shape[axis] = 2 * count
    both = reshape(concatenate([expand_dims(v, (axis + 1,)) for v in (head, b)], axis + 1), shape)
    return concatenate([both, slice_in_dim(a, count, None, 1, axis)], axis) if longer else both

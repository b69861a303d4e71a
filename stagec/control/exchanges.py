"""Collective operations that move values among the elements of a batch, composed of gathers and sums."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stagec.control.collective import AxisName, Groups, Members, check_cast, psum
from stagec.control.collective_rows import ppermute_p
from stagec.core import errors, location, pytree
from stagec.core.axis import typed_axes
from stagec.core.callables import X
from stagec.primitives import logic, shape, slicing
from stagec.primitives.axes import canonical_axis, canonical_index
from stagec.primitives.broadcast import zeros
from stagec.primitives.operand import as_operand, aval_of
from stagec.transforms.varying import varies

__all__ = ["all_to_all", "pbroadcast", "pcast", "ppermute", "pshuffle", "psum_scatter", "pswapaxes"]


def _each(x: X, one: Callable[[Any], Any]) -> X:
    return pytree.map_leaves(lambda leaf: one(as_operand(leaf)), x)


def ppermute(x: X, axis_name: AxisName, perm: Sequence[tuple[int, int]]) -> X:
    """The value of another element of a batch, in each of them.

    Args:
      x: pytree of arrays.
      axis_name: the name that `vmap(..., axis_name=...)` gives to the batch.
      perm: pairs of a source and a destination, none twice. What is no destination gets zeros.

    >>> import stagec, stagec.numpy as snp
    >>> from stagec import lax
    >>> stagec.vmap(lambda x: lax.ppermute(x, "i", [(0, 1), (1, 2)]), axis_name="i")(snp.array([5, 6, 7]))
    Array([0, 5, 6], dtype=int32)
    """
    members = Members("ppermute", axis_name)
    size = members.size
    pairs = [(int(s), int(d)) for s, d in perm]
    sources, destinations = ([p[i] for p in pairs] for i in (0, 1))
    inside = all(0 <= i < size for i in [*sources, *destinations])
    if not inside or any(len(set(n)) < len(n) for n in (sources, destinations)):
        raise location.error(
            ValueError,
            f"ppermute: perm={pairs} repeats an element or leaves the batch of {size}",
            fix=f"pass pairs of numbers from 0 to {size - 1}, each source and each destination once",
        )
    perm_of = [-1] * size
    for source, there in pairs:
        perm_of[there] = source
    if len(members.names) == 1:
        row = functools.partial(ppermute_p, axis_name=members.names[0], perm=tuple(perm_of))
        return _each(x, lambda value: row(value))
    table, reached = np.maximum(perm_of, 0).astype(np.int32), np.array(perm_of) >= 0

    def one(value: Any) -> Any:
        index = members.index()
        source = slicing.dynamic_index_in_dim(as_operand(table), index, 0, False)
        found = slicing.dynamic_index_in_dim(members.gathered(value), source, 0, False)
        if reached.all():
            return found
        there = slicing.dynamic_index_in_dim(as_operand(reached), index, 0, False)
        return logic.select(there, found, zeros(aval_of(found)))

    return _each(x, one)


def pshuffle(x: X, axis_name: AxisName, perm: Sequence[int]) -> X:
    """The values of a batch in another order: element `i` gets that of `perm[i]`.

    >>> import stagec, stagec.numpy as snp
    >>> from stagec import lax
    >>> stagec.vmap(lambda x: lax.pshuffle(x, "i", [2, 0, 1]), axis_name="i")(snp.array([5, 6, 7]))
    Array([7, 5, 6], dtype=int32)
    """
    size = Members("pshuffle", axis_name).size
    if sorted(perm) != list(range(size)):
        raise location.error(
            ValueError,
            f"pshuffle: perm={list(perm)} is no order of a batch of {size}",
            fix=f"pass the numbers from 0 to {size - 1} in another order",
        )
    return ppermute(x, axis_name, list(zip(perm, range(size))))


def pbroadcast(x: X, axis_name: AxisName, source: int) -> X:
    """The value of one element of a batch, in each of them.

    >>> import stagec, stagec.numpy as snp
    >>> from stagec import lax
    >>> stagec.vmap(lambda x: lax.pbroadcast(x, "i", 1), axis_name="i")(snp.array([5, 6, 7]))
    Array([6, 6, 6], dtype=int32)
    """
    members = Members("pbroadcast", axis_name)
    number = canonical_index(source, members.size, "pbroadcast", f"the batch {axis_name!r}")
    return _each(x, lambda value: members.varied(slicing.index_in_dim(members.gathered(value), number, 0, False)))


def all_to_all(
    x: X,
    axis_name: AxisName,
    split_axis: int,
    concat_axis: int,
    *,
    axis_index_groups: Groups = None,
    tiled: bool = False,
) -> X:
    """Exchange an axis of the values with the axis of a batch: element `i` gets the parts with number `i` of all.

    Args:
      split_axis: the axis that is taken apart, as long as the batch; if `tiled`, a multiple of it.
      concat_axis: where the parts are stacked; if `tiled`, along which they are joined.

    >>> import stagec, stagec.numpy as snp
    >>> from stagec import lax
    >>> stagec.vmap(lambda x: lax.all_to_all(x, "i", 0, 0), axis_name="i")(snp.array([[1, 2], [3, 4]]))
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    members = Members("all_to_all", axis_name, axis_index_groups)

    def one(value: Any) -> Any:
        rank = aval_of(value).ndim
        split = canonical_axis(split_axis, rank, "all_to_all")
        found = _part(members.gathered(value), members, split + 1, "all_to_all", tiled)
        # The parts are numbered by the first axis.
        position = canonical_axis(concat_axis, rank, "all_to_all")
        order = [*range(1, position + 1), 0, *range(position + 1, aval_of(found).ndim)]
        found = shape.transpose(found, order)
        if not tiled:
            return found
        sizes = list(aval_of(found).shape)
        return shape.reshape(found, (*sizes[:position], sizes[position] * sizes[position + 1], *sizes[position + 2 :]))

    return _each(x, one)


def pswapaxes(x: X, axis_name: AxisName, axis: int, *, axis_index_groups: Groups = None) -> X:
    """Exchange an axis of the values, as long as the batch, with the axis of the batch."""
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)


def psum_scatter(
    x: X,
    axis_name: AxisName,
    *,
    scatter_dimension: int = 0,
    axis_index_groups: Groups = None,
    tiled: bool = False,
) -> X:
    """The sum over all elements of a batch, of which element `i` gets the part with number `i`.

    Args:
      scatter_dimension: the axis of the sum that is taken apart, as long as the batch; if `tiled`, a multiple of it.

    >>> import stagec, stagec.numpy as snp
    >>> from stagec import lax
    >>> stagec.vmap(lambda x: lax.psum_scatter(x, "i"), axis_name="i")(snp.array([[1, 2], [3, 4]]))
    Array([4, 6], dtype=int32)
    """
    members = Members("psum_scatter", axis_name, axis_index_groups)

    def one(value: Any) -> Any:
        axis = canonical_axis(scatter_dimension, aval_of(value).ndim, "psum_scatter")
        total = psum(value, axis_name, axis_index_groups=axis_index_groups)
        return _part(total, members, axis, "psum_scatter", tiled)

    return _each(x, one)


def _part(value: Any, members: Members, axis: int, name: str, tiled: bool) -> Any:
    """The part of an axis that belongs to an element of the batch."""
    length, size = aval_of(value).shape[axis], members.size
    if length % size if tiled else length != size:
        raise location.error(
            errors.ShapeError,
            f"{name}: an axis of size {length} does not fit a batch of {size}",
            fix=f"take apart an axis of size {size}, or a multiple of it with tiled=True",
        )
    found = members.own_part(value, axis)
    return found if tiled else shape.squeeze(found, (axis,))


def pcast(x: X, axis_name: AxisName, *, to: str) -> X:
    """`x`, which from here on counts as another kind of value along an axis of `shard_map`.

    Under `vmap`, where values have no such type, it is `x` itself.

    Args:
      to: `"varying"` for one that differs, so that its gradient inside of `shard_map` is not summed; `"unreduced"` for
        a value that differs as the terms of a sum; `"reduced"` for one that is the same as one whose cotangent has a
        term for each device.

    Raises:
      ValueError: the value is the same for `"unreduced"`, or differs for `"reduced"`.
    """
    check_cast("pcast", to, ("varying", "reduced", "unreduced"))
    if not isinstance(axis_name, (str, tuple)):
        raise location.error(
            TypeError, f"pcast: axis_name is {errors.brief(axis_name)}", fix="pass a name, or a tuple of names"
        )
    members = Members("pcast", axis_name)
    typed = [n for n in members.names if n in typed_axes()]
    if to == "varying":
        return _each(x, members.varied) if typed else x
    for n in typed:
        for leaf in pytree.leaves(x):
            if varies(leaf, n) is (to == "reduced"):
                raise location.error(
                    ValueError,
                    f"pcast: to={to!r} of a value that {'differs' if to == 'reduced' else 'is the same'} along {n!r}",
                    fix="sum it with psum first" if to == "reduced" else "pass to='reduced', or 'varying' first",
                )
    return x

"""Collective operations among the elements of a batch."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any, TypeAlias

import numpy as np

from stagec.control.collective_rows import all_gather_p, axis_index_p, own_part_p, pmax_p, pmin_p, psum_p, pvary_p
from stagec.core import dtypes, errors, location, pytree
from stagec.core.array import Array
from stagec.core.axis import as_names, axis_length, typed_axes
from stagec.core.callables import X
from stagec.core.primitive import Primitive
from stagec.primitives import arithmetic, joining, reduce, shape, slicing
from stagec.primitives.convert import as_array, convert_element_type
from stagec.primitives.operand import Operand, as_operand, aval_of, literal

__all__ = ["all_gather", "axis_index", "axis_size", "pmax", "pmean", "pmin", "psum"]

# A name of a batch's axis, or a tuple of names.
AxisName: TypeAlias = Hashable
# Numbers of elements that are one another's company; all together by default.
Groups: TypeAlias = Sequence[Sequence[int]] | None


class Members:
    """The elements of a batch that take part in an operation together.

    Args:
      what: the operation, for errors.
      axis_name: a name, or several, whose last counts fastest.
      groups: the numbers of the elements of each group, where not all take part together.

    Attributes:
      size: how many there are.
    """

    def __init__(self, what: str, axis_name: Any, groups: Groups = None) -> None:
        self.names = as_names(axis_name)
        self._sizes = [axis_length(name) for name in self.names]
        count = math.prod(self._sizes)
        self._groups = None if groups is None else [list(group) for group in groups]
        self.size = count if self._groups is None else len(self._groups[0]) if self._groups else 0
        if self._groups is not None and (
            sorted(i for group in self._groups for i in group) != list(range(count))
            or any(len(group) != self.size for group in self._groups)
        ):
            raise location.error(
                ValueError,
                f"{what}: axis_index_groups={errors.brief(groups)} do not divide an axis of {count}",
                fix=f"give groups of one size that have each number from 0 to {count - 1} once",
            )

    def index(self) -> Any:
        """The number of this element among its company."""
        index = axis_index(self.names)
        return index if self._groups is None else _entry(self._positions, index)

    @property
    def _positions(self) -> np.ndarray[Any, Any]:
        assert self._groups is not None, "there are groups"
        found = np.zeros(math.prod(self._sizes), np.int32)
        for group in self._groups:
            found[group] = np.arange(self.size)
        return found

    def gathered(self, value: Any) -> Any:
        """The values of all members, along a new first axis."""
        found = value
        for name, size in zip(reversed(self.names), reversed(self._sizes)):
            found = all_gather_p(found, axis_name=name, size=size)
        if len(self.names) != 1:
            found = shape.reshape(found, (math.prod(self._sizes), *aval_of(value).shape))
        if self._groups is None:
            return found
        companies = np.zeros((math.prod(self._sizes), self.size), np.int32)
        for group in self._groups:
            companies[group] = group
        mine = _entry(companies, axis_index(self.names))
        rows = [slicing.dynamic_index_in_dim(found, slicing.index_in_dim(mine, j, 0, False)) for j in range(self.size)]
        return joining.concatenate(rows, 0)

    def own_part(self, value: Any, axis: int) -> Any:
        """The part of an axis that belongs to this element of its company."""
        if self._groups is None:
            for name, count in zip(self.names, self._sizes):
                value = own_part_p(value, axis_name=name, axis=axis, count=count)
            return value
        width = aval_of(value).shape[axis] // self.size
        return slicing.dynamic_slice_in_dim(value, self.index() * width, width, axis)

    def varied(self, value: Any) -> Any:
        """A value that is the same for all members as one that may differ: so JAX types what it gathers."""
        typed = typed_axes()
        for name in self.names:
            if name in typed:
                value = pvary_p(value, axis_name=name)
        return value


def _entry(table: np.ndarray[Any, Any], index: Any) -> Any:
    return slicing.dynamic_index_in_dim(as_operand(table), index, 0, False)


def _over_axes(what: str, primitive: Primitive, x: Any, axis_name: Any, groups: Groups, over: Any) -> Any:
    """Apply a row over each named axis to each leaf; `over` combines the values of a group."""
    members = Members(what, axis_name, groups)

    def one(leaf: Any) -> Any:
        value = as_operand(leaf, what)
        if dtypes.is_bool(aval_of(value).dtype) and primitive is psum_p:
            value = convert_element_type(value, np.dtype(np.int32))
        if groups is not None:
            return as_array(over(members.gathered(value), (0,)))
        for name in members.names:
            value = primitive(value, axis_name=name)
        return as_array(value)

    return pytree.map_leaves(one, x)


def psum(x: X, axis_name: AxisName, *, axis_index_groups: Groups = None) -> X:
    """The sum over all elements of a batch that `vmap(..., axis_name=...)` maps.

    Args:
      x: pytree of arrays. A Python number gives a number: `psum(1, name)` is the axis's length.
      axis_name: a name, or a tuple of names.
      axis_index_groups: lists of elements' numbers, of one length, each of which is summed by itself.

    Raises:
      NameError: no `vmap` in force has that name.

    >>> import stagec, stagec.numpy as snp
    >>> from stagec import lax
    >>> stagec.vmap(lambda x: x / lax.psum(x, "i"), axis_name="i")(snp.array([1.0, 3.0]))
    Array([0.25, 0.75], dtype=float32)
    """
    if isinstance(x, (int, float, complex)) and not isinstance(x, np.generic):
        total: Any = x * Members("psum", axis_name, axis_index_groups).size
        return total
    return _over_axes("psum", psum_p, x, axis_name, axis_index_groups, reduce.reduce_sum)


def pmean(x: X, axis_name: AxisName, *, axis_index_groups: Groups = None) -> X:
    """The mean over all elements of a batch; arguments as those of `psum`."""
    count = psum(1, axis_name, axis_index_groups=axis_index_groups)

    def one(total: Any) -> Any:
        aval = aval_of(as_operand(total))
        if not dtypes.is_inexact(aval.dtype):
            total = convert_element_type(total, dtypes.canonicalize(float))
        return arithmetic.div(total, count)

    return pytree.map_leaves(one, psum(x, axis_name, axis_index_groups=axis_index_groups))


def pmax(x: X, axis_name: AxisName, *, axis_index_groups: Groups = None) -> X:
    """The largest over all elements of a batch; arguments as those of `psum`. It has no derivative."""
    return _over_axes("pmax", pmax_p, x, axis_name, axis_index_groups, reduce.reduce_max)


def pmin(x: X, axis_name: AxisName, *, axis_index_groups: Groups = None) -> X:
    """The smallest over all elements of a batch; arguments as those of `psum`. It has no derivative."""
    return _over_axes("pmin", pmin_p, x, axis_name, axis_index_groups, reduce.reduce_min)


def all_gather(
    x: X,
    axis_name: AxisName,
    *,
    axis_index_groups: Groups = None,
    axis: int = 0,
    tiled: bool = False,
    to: str = "varying",
) -> X:
    """All elements of a batch, in each of them.

    Args:
      x: pytree of arrays.
      axis: where the batch's axis goes.
      tiled: join the elements along `axis` rather than stack them.
      to: whether the result counts inside of `shard_map` as different along the axis: `"varying"`, or as the same:
        `"invarying"`, `"reduced"`.
    """
    check_cast("all_gather", to, ("varying", "invarying", "reduced"))
    members = Members("all_gather", axis_name, axis_index_groups)

    def one(leaf: Any) -> Operand:
        value = as_operand(leaf, "all_gather")
        rank = aval_of(value).ndim + (not tiled)
        position = axis + rank if axis < 0 else axis
        if not 0 <= position < rank:
            raise location.error(
                errors.AxisError,
                f"all_gather: axis {axis} of {rank} axes",
                fix=f"give an axis from {-rank} to {rank - 1}",
            )
        out = members.gathered(value)
        out = members.varied(out) if to == "varying" else out
        count = aval_of(out).ndim
        order = [*range(1, position + 1), 0, *range(position + 1, count)]
        out = shape.transpose(out, order) if position else out
        if tiled:
            full = list(aval_of(value).shape)
            full[position] *= members.size
            out = shape.reshape(out, full)
        return out

    return pytree.map_leaves(one, x)


def check_cast(what: str, to: str, known: Sequence[str]) -> None:
    """Check `to`, the kind of value that an operation is to return."""
    if to not in known:
        raise location.error(ValueError, f"{what}: to is {to!r}", fix=f"pass {' or '.join(map(repr, known))} for it")


def axis_index(axis_name: AxisName) -> Array:
    """The position of this element in the batch.

    >>> import stagec, stagec.numpy as snp
    >>> from stagec import lax
    >>> stagec.vmap(lambda x: lax.axis_index("i") * x, axis_name="i")(snp.array([5, 7]))
    Array([0, 7], dtype=int32)
    """
    index: Any = None
    for name in as_names(axis_name):
        size = axis_length(name)
        one = axis_index_p(axis_name=name)
        index = one if index is None else arithmetic.add(arithmetic.mul(index, size), one)
    return as_array(literal(0, np.dtype(np.int32))) if index is None else index


def axis_size(axis_name: AxisName) -> int:
    """The length of a named axis."""
    return psum(1, axis_name)

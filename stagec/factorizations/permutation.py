"""The permutation that results from exchanging rows by pivots."""

from __future__ import annotations

from typing import Any

import numpy as np

from stagec.control.loops import fori_loop
from stagec.core import dtypes, errors, location
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.primitive import NOT_DIFFERENTIABLE, NOT_LINEAR, SinglePrimitive
from stagec.factorizations.row import each_of, lowering
from stagec.factorizations.vectors import at, exchanged
from stagec.numpy.creation import arange
from stagec.primitives.axes import as_int
from stagec.primitives.broadcast import in_front
from stagec.primitives.operand import Operand, as_operand, aval_of
from stagec.typing import ArrayLike


def _shape(pivots: ShapedArray, *, size: int) -> ShapedArray:
    return ShapedArray.of((*pivots.shape[:-1], size), dtypes.int32)


def _eval(pivots: Any, *, size: int) -> Any:
    order = np.empty((*pivots.shape[:-1], size), np.int32)
    order[...] = np.arange(size)
    for index in np.ndindex(*pivots.shape[:-1]):
        rows = order[index]
        for i, j in enumerate(pivots[index]):
            rows[[i, j]] = rows[[j, i]]
    return order


def _algorithm(pivots: Array, *, size: int) -> Operand:
    def step(i: Any, order: Any) -> Any:
        return exchanged(order, i, at(pivots, i))

    return fori_loop(0, aval_of(pivots).shape[0], step, arange(size, dtype="int32"))


lu_pivots_to_permutation_p = SinglePrimitive(
    "lu_pivots_to_permutation",
    shape=_shape,
    eval=_eval,
    lower=lowering(each_of(_algorithm, _shape, multiple=False, ranks=(1,)), _shape, multiple=False),
    jvp=NOT_DIFFERENTIABLE,
    transpose=NOT_LINEAR,
    batch=in_front(),
)
lu_pivots_to_permutation_p.matrix_ranks = (1,)


def lu_pivots_to_permutation(pivots: ArrayLike, permutation_size: int) -> Array:
    """The permutation of `permutation_size` rows that results from exchanging row i with row `pivots[i]`, for each i.

    >>> import stagec.numpy as snp
    >>> lu_pivots_to_permutation(snp.array([2, 2, 2]), 3)
    Array([2, 0, 1], dtype=int32)
    """
    pivots, permutation_size = (
        as_operand(pivots),
        as_int(permutation_size, "lu_pivots_to_permutation", "permutation_size"),
    )
    aval = aval_of(pivots)
    if not dtypes.is_integer(aval.dtype) or not aval.ndim or aval.shape[-1] > permutation_size:
        raise location.error(
            errors.ShapeError,
            f"lu_pivots_to_permutation: {aval.long()} are not pivots of {permutation_size} rows",
            fix="pass integers, at most one for each row",
        )
    return lu_pivots_to_permutation_p(pivots, size=permutation_size)

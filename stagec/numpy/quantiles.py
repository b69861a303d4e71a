"""Medians, quantiles and percentiles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from stagec.core import dtypes, errors, location
from stagec.core.array import Array, Axis
from stagec.core.dims import is_open
from stagec.core.graph import Literal
from stagec.numpy.arguments import array_argument, is_traced, refuse_out
from stagec.numpy.manipulation import moveaxis
from stagec.numpy.promotion import broadcast_to_shape, promote_inexact
from stagec.numpy.reductions import strong, with_axes
from stagec.numpy.selection import take, take_along_axis
from stagec.primitives import arithmetic as ar
from stagec.primitives.axes import canonical_axes
from stagec.primitives.checks import HALF
from stagec.primitives.cumulative import cumsum
from stagec.primitives.iota import broadcasted_iota
from stagec.primitives.joining import concatenate
from stagec.primitives.logic import bitwise_and, bitwise_or, eq, gt, lt, ne, select
from stagec.primitives.operand import aval_of, literal
from stagec.primitives.reduce import reduce_or, reduce_sum
from stagec.primitives.shape import broadcast_in_dim, reshape, transpose
from stagec.primitives.slicing import index_in_dim
from stagec.primitives.sort import sort
from stagec.typing import ArrayLike

__all__ = ["median", "nanmedian", "nanpercentile", "nanquantile", "percentile", "quantile"]

# More fractions than these are computed as one array, with indices into the sorted elements.
_FEW = 4
METHODS = ("linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf")


def quantile(
    a: ArrayLike,
    q: ArrayLike | Sequence[float],
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
) -> Array:
    """The values below which the fractions `q` of the elements along `axis` lie.

    Args:
      a: a real array.
      q: fractions between 0 and 1: a number or an array, whose axes come first in the result.
      axis: an axis, or several; all by default.
      overwrite_input: accepted; arrays are immutable.
      method: `linear`, `lower`, `higher`, `midpoint` or `nearest`, for fractions between two elements; or
        `inverted_cdf`, the first element at which the cumulative fraction reaches `q`.
      keepdims: keep reduced axes, with size 1.
      weights: the weight of each element, for `inverted_cdf`: of the shape of `a`, or of rank 1 along one axis.

    Returns:
      An array with the axes of `q`, then those of `a` that are kept; NaN where an element is NaN.

    Raises:
      UnsupportedError: `method` is unknown, or does not accept `weights`.
      ShapeError: there are no elements, or `weights` do not fit.

    >>> import stagec.numpy as snp
    >>> float(snp.quantile(snp.array([1.0, 2.0, 4.0]), 0.5))
    2.0
    """
    return _quantile("quantile", a, q, axis, out, method, keepdims, weights, skip_nan=False)


def nanquantile(
    a: ArrayLike,
    q: ArrayLike | Sequence[float],
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
) -> Array:
    """`quantile` that ignores NaN; NaN if all elements are NaN.

    >>> import stagec.numpy as snp
    >>> float(snp.nanquantile(snp.array([1.0, snp.nan, 3.0]), 0.5))
    2.0
    """
    return _quantile("nanquantile", a, q, axis, out, method, keepdims, weights, skip_nan=True)


def percentile(
    a: ArrayLike,
    q: ArrayLike | Sequence[float],
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
) -> Array:
    """`quantile` with `q` in percent.

    >>> import stagec.numpy as snp
    >>> float(snp.percentile(snp.array([1.0, 2.0, 4.0]), 50))
    2.0
    """
    return _quantile("percentile", a, q, axis, out, method, keepdims, weights, skip_nan=False, percent=True)


def nanpercentile(
    a: ArrayLike,
    q: ArrayLike | Sequence[float],
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
) -> Array:
    """`nanquantile` with `q` in percent.

    >>> import stagec.numpy as snp
    >>> float(snp.nanpercentile(snp.array([1.0, snp.nan, 3.0]), 50))
    2.0
    """
    return _quantile("nanpercentile", a, q, axis, out, method, keepdims, weights, skip_nan=True, percent=True)


def median(
    a: ArrayLike, axis: Axis = None, out: None = None, overwrite_input: bool = False, keepdims: bool = False
) -> Array:
    """The median along `axis`: the middle element, or the mean of the two middle ones.

    >>> import stagec.numpy as snp
    >>> float(snp.median(snp.array([5.0, 1.0, 2.0, 4.0])))
    3.0
    """
    return _quantile("median", a, 0.5, axis, out, "midpoint", keepdims, None, skip_nan=False)


def nanmedian(
    a: ArrayLike, axis: Axis = None, out: None = None, overwrite_input: bool = False, keepdims: bool = False
) -> Array:
    """`median` that ignores NaN; NaN if all elements are NaN.

    >>> import stagec.numpy as snp
    >>> float(snp.nanmedian(snp.array([5.0, snp.nan, 1.0])))
    3.0
    """
    return _quantile("nanmedian", a, 0.5, axis, out, "midpoint", keepdims, None, skip_nan=True)


def _levels(name: str, q: Any) -> Any:
    found = np.asarray(q) if isinstance(q, (list, tuple)) and not is_traced(*q) else q
    dtype = aval_of(array_argument(found, f"{name}'s q")).dtype
    if dtypes.is_complex(dtype):
        raise location.error(errors.DtypeError, f"{name}: q must be real, got {dtype.name}", fix="give real numbers")
    return found


def _hundredth(q: Any) -> Any:
    if isinstance(q, (int, float, np.ndarray, np.generic)):
        return np.asarray(q, np.float64) / 100
    (values,) = promote_inexact(array_argument(q, "percentile's q"))
    return ar.div(values, literal(100, aval_of(values).dtype))


def _unsupported(name: str, what: str, fix: str) -> errors.UnsupportedError:
    return location.error(errors.UnsupportedError, f"{name}: {what}", fix=fix)


def _quantile(
    name: str, a: Any, q: Any, axis: Axis, out: None, method: str, keepdims: bool, weights: Any, skip_nan: bool,
    percent: bool = False,
) -> Array:  # fmt: skip
    refuse_out(out, name)
    q = _levels(name, q)
    if percent:
        q = _hundredth(q)
    if method not in METHODS:
        raise _unsupported(name, f"method {method!r} is not supported", f"use one of {', '.join(METHODS)}")
    if weights is not None and method != "inverted_cdf":
        raise _unsupported(name, f"method {method!r} does not take weights", "pass method='inverted_cdf'")
    (x,) = promote_inexact(array_argument(a, name))
    dtype = aval_of(x).dtype
    if dtypes.is_complex(dtype):
        raise location.error(
            errors.DtypeError, f"{name} does not accept {dtype.name}", fix="take the real part, x.real"
        )
    work = np.dtype(np.float32) if dtype in HALF else dtype
    x = strong(x, work)
    axes = canonical_axes(axis, aval_of(x).ndim, name)
    kept = [i for i in range(aval_of(x).ndim) if i not in axes]
    shape = aval_of(x).shape
    count = math.prod([shape[i] for i in axes])
    kept_shape = tuple([shape[i] for i in kept])
    rows = reshape(transpose(x, (*kept, *axes)), (*kept_shape, count))
    if count == 0:
        raise location.error(
            errors.ShapeError, f"{name}: {aval_of(x).long()} has no elements", fix="check x.size first"
        )
    last = len(kept_shape)
    nan = ne(rows, rows)
    fractions = None if weights is not None else _concrete(q)
    if weights is not None:
        amounts = _broadcast_weights(name, weights, shape, axes, work)
        amounts = reshape(transpose(amounts, (*kept, *axes)), (*kept_shape, count))
        values = strong(array_argument(q, f"{name}'s q"), work)
        q_shape = aval_of(values).shape
        found = _weighted(rows, amounts, reshape(values, (math.prod(q_shape),)), nan, skip_nan)
    elif fractions is not None and not skip_nan and not is_open(count):
        rows = sort(rows, last)
        q_shape = fractions.shape
        bad = reduce_or(nan, (last,))
        if fractions.size > _FEW:
            between = _between_many(rows, fractions.ravel(), count, method)
            found = select(_along_last(bad, fractions.size), literal(math.nan, work), between)
        else:
            flat = _between_few(rows, fractions.ravel(), count, method)
            found = [select(bad, literal(math.nan, work), v) for v in flat]
    else:
        rows = sort(rows, last)
        values = strong(array_argument(q, f"{name}'s q"), work)
        q_shape = aval_of(values).shape
        size = math.prod(q_shape)
        numbers = ar.sub(literal(count, work), reduce_sum(strong(nan, work), (last,)))
        if not skip_nan:
            numbers = select(reduce_or(nan, (last,)), literal(math.nan, work), numbers)
        values = reshape(values, (size,))
        if size > _FEW:
            each = broadcast_in_dim(values, (*kept_shape, size), (last,))
            found = _between(rows, each, _along_last(numbers, size), method)
        else:
            found = [_between(rows, index_in_dim(values, i, 0, False), numbers, method) for i in range(size)]
    whole = reduced_shape(kept_shape, axes, keepdims)
    if not isinstance(found, list):
        return reshape(strong(moveaxis(found, -1, 0), dtype), (*q_shape, *whole))
    results = [strong(with_axes(v, axes, keepdims), dtype) for v in found]
    return results[0] if q_shape == () else _stack(results, q_shape, whole, dtype)


def _along_last(x: Array, size: int) -> Array:
    """Repeat an array along a new last axis."""
    return broadcast_in_dim(x, (*aval_of(x).shape, size), tuple(range(aval_of(x).ndim)))


def reduced_shape(kept_shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool) -> tuple[int, ...]:
    """The shape of a reduced array."""
    out = list(kept_shape)
    for i in sorted(axes) if keepdims else ():
        out.insert(i, 1)
    return tuple(out)


def _stack(results: list[Any], q_shape: tuple[int, ...], whole: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    from_rank = range(1, 1 + len(whole))
    if not results:
        return broadcast_in_dim(literal(0, dtype), (*q_shape, *whole), ())
    rows = [broadcast_in_dim(r, (1, *whole), tuple(from_rank)) for r in results]
    joined = rows[0] if len(rows) == 1 else concatenate(rows, 0)
    return reshape(joined, (*q_shape, *whole))


def _broadcast_weights(
    name: str, weights: Any, shape: tuple[int, ...], axes: tuple[int, ...], dtype: np.dtype[Any]
) -> Array:
    """Broadcast weights to the shape of the array."""
    given = strong(array_argument(weights, f"{name}'s weights"), dtype)
    if aval_of(given).shape == shape:
        return given
    if len(axes) == 1 and aval_of(given).shape == (shape[axes[0]],):
        return broadcast_in_dim(given, shape, axes)
    raise location.error(
        errors.ShapeError,
        f"{name}: weights are {aval_of(given).long()}, the array has shape {shape}",
        fix="give a weight for each element, or for each position along one axis",
    )


def _weighted(rows: Array, amounts: Array, fractions: Array, nan: Array, skip_nan: bool) -> Any:
    """Return the first element of each row at which the cumulative weight reaches each fraction of the total."""
    shape, dtype = aval_of(rows).shape, aval_of(rows).dtype
    last = len(shape) - 1
    zero = literal(0, dtype)
    amounts = select(nan, zero, amounts) if skip_nan else amounts
    rows, amounts = sort([rows, amounts], last, num_keys=1)
    reached = cumsum(amounts, last)
    total = index_in_dim(reached, shape[last] - 1, last, False)
    bad = eq(reduce_sum(strong(ne(nan, True), dtype), (last,)), zero) if skip_nan else reduce_or(nan, (last,))
    # Leading elements without weight are no result for any fraction, not even 0.
    reached = select(eq(reached, zero), literal(-math.inf, dtype), reached)
    count = aval_of(fractions).size
    if count > _FEW:
        wanted = ar.mul(broadcast_in_dim(fractions, (*shape[:-1], count), (last,)), _along_last(total, count))
        pairs = (*shape[:-1], count, shape[last])
        sums = broadcast_in_dim(reached, pairs, (*range(last), last + 1))
        below = lt(sums, broadcast_in_dim(wanted, pairs, tuple(range(last + 1))))
        position = ar.min(reduce_sum(strong(below, dtypes.int32), (last + 1,)), shape[last] - 1)
        return select(_along_last(bad, count), literal(math.nan, dtype), _pick(rows, position, last))
    flat = []
    for i in range(count):
        wanted = ar.mul(broadcast_to_shape(index_in_dim(fractions, i, 0, False), shape[:-1]), total)
        below = lt(reached, broadcast_in_dim(wanted, shape, tuple(range(last))))
        position = ar.min(reduce_sum(strong(below, dtypes.int32), (last,)), shape[last] - 1)
        flat.append(select(bad, literal(math.nan, dtype), _pick(rows, position, last)))
    return flat


def _concrete(q: Any) -> np.ndarray[Any, Any] | None:
    """Return the fractions as an array, if they are not traced."""
    if is_traced(q):
        return None
    if isinstance(q, (list, tuple)):
        array_argument(q, "q")
    return np.asarray(q.value if isinstance(q, Literal) else q, np.float64)


def _places(
    fractions: np.ndarray[Any, Any], count: int, method: str
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The positions of the two elements that each fraction is between, and the weight of the second one."""
    position = np.nan_to_num(fractions * (count - 1))
    low, high = np.floor(position), np.ceil(position)
    weight = np.full_like(position, 0.5) if method == "midpoint" else position - low
    if method == "inverted_cdf":
        low = high = np.ceil(np.nan_to_num(fractions) * count - 1)
    elif method == "nearest":
        low = high = np.rint(position)
    elif method in ("lower", "higher"):
        low = high = low if method == "lower" else high
    weight = np.where(low == high, 0, weight)
    low, high = (np.clip(v, 0, count - 1).astype(np.int32) for v in (low, high))
    return low, high, weight


def _between_few(rows: Array, fractions: np.ndarray[Any, Any], count: int, method: str) -> list[Any]:
    last, dtype = aval_of(rows).ndim - 1, aval_of(rows).dtype

    def one(fraction: float, low: int, high: int, weight: float) -> Any:
        if math.isnan(fraction):
            return broadcast_to_shape(literal(math.nan, dtype), aval_of(rows).shape[:-1])
        below = index_in_dim(rows, low, last, False)
        if low == high:
            return below
        above = index_in_dim(rows, high, last, False)
        return ar.add(ar.mul(below, literal(1 - weight, dtype)), ar.mul(above, literal(weight, dtype)))

    return [one(*given) for given in zip(*(v.tolist() for v in (fractions, *_places(fractions, count, method))))]


def _between_many(rows: Array, fractions: np.ndarray[Any, Any], count: int, method: str) -> Array:
    """The same for an array of fractions, along the last axis."""
    last, dtype = aval_of(rows).ndim - 1, aval_of(rows).dtype
    low, high, weight = _places(fractions, count, method)
    below, above = (take(rows, v, axis=last) for v in (low, high))
    shares = [array_argument(v.astype(dtype), "weight") for v in (1 - weight, weight)]
    below_share, above_share = (broadcast_to_shape(v, aval_of(below).shape) for v in shares)
    mixed = ar.add(ar.mul(below, below_share), ar.mul(above, above_share))
    # Interpolating an infinity with itself would give NaN.
    out = select(ne(above_share, literal(0, dtype)), mixed, below)
    missing = broadcast_to_shape(array_argument(np.isnan(fractions), "missing"), aval_of(below).shape)
    return select(missing, literal(math.nan, dtype), out)


def _between(rows: Array, fraction: Array, numbers: Array, method: str) -> Array:
    """Return the quantile at a traced fraction, of rows with `numbers` elements that are not NaN."""
    last, dtype = aval_of(rows).ndim - 1, aval_of(rows).dtype
    zero, half, one = literal(0, dtype), literal(0.5, dtype), literal(1, dtype)
    top = ar.max(ar.sub(numbers, one), zero)
    position = ar.mul(broadcast_to_shape(fraction, aval_of(top).shape), top)
    low, high = ar.floor(position), ar.ceil(position)
    weight = ar.sub(position, low)
    ends = [low, high]
    if method == "inverted_cdf":
        ends = [ar.ceil(ar.sub(ar.mul(broadcast_to_shape(fraction, aval_of(numbers).shape), numbers), one))]
    elif method == "nearest":
        odd = ne(ar.mul(ar.floor(ar.mul(low, half)), literal(2, dtype)), low)
        # Ties go to the even position.
        ends = [select(bitwise_or(gt(weight, half), bitwise_and(eq(weight, half), odd)), high, low)]
    elif method in ("lower", "higher"):
        ends = [low if method == "lower" else high]
    ends = [ar.min(ar.max(v, zero), top) for v in ends]
    found = [_pick(rows, v, last) for v in ends]
    if len(found) == 1:
        (out,) = found
    elif method == "midpoint":
        out = ar.mul(ar.add(*found), half)
    else:
        rest = ar.sub(broadcast_to_shape(one, aval_of(weight).shape), weight)
        # Interpolating an infinity with itself would give NaN.
        out = select(ne(*ends), ar.add(ar.mul(found[0], rest), ar.mul(found[1], weight)), found[0])
    nan = literal(math.nan, dtype)
    return select(ne(numbers, numbers), nan, select(eq(numbers, zero), nan, out))


def _pick(rows: Array, position: Array, last: int) -> Array:
    """The elements at a position of each row, or at several."""
    if aval_of(position).ndim > last:
        return take_along_axis(rows, strong(position, dtypes.int32), last)
    shape, dtype = aval_of(rows).shape, aval_of(rows).dtype
    index = broadcasted_iota(dtypes.int32, shape, last)
    wanted = broadcast_in_dim(strong(position, dtypes.int32), shape, tuple(range(last)))
    return reduce_sum(select(eq(index, wanted), rows, literal(0, dtype)), (last,))

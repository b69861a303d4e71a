"""Counts, histograms, covariance, convolution and correlation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stagec.core import dims, dtypes, errors, location
from stagec.core.array import Array
from stagec.numpy import reductions as rd
from stagec.numpy.arguments import array_argument, concrete, requested_dtype_of
from stagec.numpy.averages import mean
from stagec.numpy.conditionals import where
from stagec.numpy.promotion import promote_inexact
from stagec.numpy.reductions import strong
from stagec.numpy.sorting import searchsorted
from stagec.primitives import arithmetic as ar
from stagec.primitives.axes import as_int, as_shape, shape_error
from stagec.primitives.complex import complex as make_complex, conj, imag, real
from stagec.primitives.conv import conv_general_dilated
from stagec.primitives.convert import convert_element_type
from stagec.primitives.dot import dot_general
from stagec.primitives.gather_parts import ScatterDimensionNumbers
from stagec.primitives.iota import broadcasted_iota, full
from stagec.primitives.joining import concatenate
from stagec.primitives.logic import clamp, eq, select
from stagec.primitives.operand import aval_of, literal
from stagec.primitives.precision import PrecisionLike
from stagec.primitives.scatter import scatter_add
from stagec.primitives.shape import broadcast_in_dim, expand_dims, reshape, rev, transpose
from stagec.primitives.slicing import slice_in_dim
from stagec.typing import ArrayLike, DTypeLike

__all__ = ["bincount", "convolve", "corrcoef", "correlate", "cov", "histogram", "histogram_bin_edges"]


def totals(indices: Any, amounts: Any, length: int) -> Array:
    """Sum the `amounts` of each index; indices outside `0..length-1` are dropped."""
    if not length:
        return full((0,), 0, aval_of(amounts).dtype)
    numbers = ScatterDimensionNumbers(
        update_window_dims=(), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,)
    )
    zeros = full((length,), 0, aval_of(amounts).dtype)
    return scatter_add(zeros, expand_dims(indices, (1,)), amounts, numbers, mode="drop")


def bincount(x: ArrayLike, weights: ArrayLike | None = None, minlength: int = 0, *, length: int | None = None) -> Array:
    """How often each non-negative integer occurs, or the sums of its weights.

    Args:
      x: integers, of rank 1; negative ones count as 0.
      weights: an array of the shape of `x`.
      minlength: smallest length of the result.
      length: length of the result, which `jit` needs; larger integers are left out.

    Raises:
      DtypeError: `x` is not of integers.
      ConcretizationError: `x` is traced and `length` is missing.

    >>> import stagec.numpy as snp
    >>> snp.bincount(snp.array([0, 2, 2]))
    Array([1, 0, 2], dtype=int32)
    """
    values = array_argument(x, "bincount")
    if not dtypes.is_integer(aval_of(values).dtype) and not dtypes.is_bool(aval_of(values).dtype):
        raise location.error(
            errors.DtypeError,
            f"bincount does not accept {aval_of(values).dtype.name}",
            fix="count integers; convert with astype(int)",
        )
    if aval_of(values).ndim != 1:
        raise shape_error("bincount", f"x must have rank 1, got {aval_of(values).long()}", "flatten it with x.ravel()")
    values = strong(values, dtypes.int32 if dtypes.is_bool(aval_of(values).dtype) else None)
    if length is None:
        found = concrete(values, "bincount", "x", "give the size of the result, length=")
        length = max(minlength, int(found.max()) + 1 if found.size else 0)
    else:
        length = max(as_shape((length,), "bincount")[0], minlength)
    if weights is None:
        amounts = full(aval_of(values).shape, 1, dtypes.default_int())
    else:
        amounts = strong(array_argument(weights, "bincount's weights"))
        if aval_of(amounts).shape != aval_of(values).shape:
            raise shape_error(
                "bincount",
                f"weights {aval_of(amounts).long()} for {aval_of(values).long()}",
                "give one weight for each element",
            )
    if dtypes.is_signed(aval_of(values).dtype):
        values = ar.max(values, literal(0, aval_of(values).dtype))
    return totals(values, amounts, length)


def edges_of(name: str, x: Any, bins: Any, range: Any) -> Array:
    """Return the edges of the bins that `bins` and `range` describe for the elements of `x`."""
    if not is_count(bins):
        (edges,) = promote_inexact(array_argument(bins, f"{name}'s bins"))
        if aval_of(edges).ndim != 1:
            raise shape_error(name, f"bins are {aval_of(edges).long()}", "give a number of bins, or edges of rank 1")
        return strong(edges, dtypes.to_inexact(aval_of(x).dtype))
    count = as_int(bins, name, "bins")
    if count < 1:
        raise shape_error(name, f"bins={count}", "give a number of bins of 1 or more")
    dtype = dtypes.to_inexact(aval_of(x).dtype)
    if range is None:
        if aval_of(x).size:
            low, high = strong(rd.min(x), dtype), strong(rd.max(x), dtype)
        else:
            low, high = literal(0, dtype), literal(1, dtype)
    else:
        low, high = (strong(array_argument(v, f"{name}'s range"), dtype) for v in range)
    half = literal(0.5, dtype)
    flat = eq(low, high)
    low, high = select(flat, ar.sub(low, half), low), select(flat, ar.add(high, half), high)
    step = ar.div(ar.sub(high, low), literal(count, dtype))
    rise = ar.mul(strong(broadcasted_iota(dtypes.int32, (count,), 0), dtype), step)
    inner = ar.add(rise, broadcast_in_dim(low, (count,), ()))
    return concatenate([inner, reshape(high, (1,))], 0)


def histogram_bin_edges(
    a: ArrayLike,
    bins: ArrayLike | Sequence[ArrayLike] = 10,
    range: Sequence[ArrayLike] | None = None,
    weights: ArrayLike | None = None,
) -> Array:
    """The edges of `bins` equal bins from the smallest to the largest element.

    Args:
      a: an array.
      bins: the number of bins, or the edges themselves.
      range: `(low, high)` instead of the smallest and largest element.
      weights: accepted; they do not change the edges.

    >>> import stagec.numpy as snp
    >>> snp.histogram_bin_edges(snp.array([0.0, 4.0]), 2)
    Array([0., 2., 4.], dtype=float32)
    """
    return edges_of("histogram_bin_edges", array_argument(a, "histogram_bin_edges"), bins, range)


def histogram(
    a: ArrayLike,
    bins: ArrayLike | Sequence[ArrayLike] = 10,
    range: Sequence[ArrayLike] | None = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> tuple[Array, Array]:
    """How many elements are in each bin.

    Args:
      a: an array.
      bins: the number of equal bins, or their edges; the last bin is closed on both sides.
      range: `(low, high)` instead of the smallest and largest element.
      weights: the weight of each element.
      density: divide by the total and by the widths of the bins.

    Returns:
      Counts, as floats, and edges.

    >>> import stagec.numpy as snp
    >>> snp.histogram(snp.array([0.0, 1.0, 4.0]), 2)[0]
    Array([2., 1.], dtype=float32)
    """
    x = array_argument(a, "histogram")
    edges = edges_of("histogram", x, bins, range)
    # The edges have this dtype already.
    flat = strong(reshape(x, (aval_of(x).size,)), aval_of(edges).dtype)
    dtype, n = aval_of(flat).dtype, aval_of(edges).size
    if weights is None:
        amounts = full(aval_of(flat).shape, 1, dtype)
    else:
        (amounts,) = promote_inexact(array_argument(weights, "histogram's weights"))
        amounts = strong(reshape(amounts, (aval_of(flat).size,)))
    counts = totals(bin_indices(edges, flat, is_count(bins)), amounts, n - 1)
    if density:
        widths = ar.sub(slice_in_dim(edges, 1, n), slice_in_dim(edges, 0, n - 1))
        counts = ar.div(ar.div(counts, strong(widths, aval_of(counts).dtype)), rd.sum(counts))
    return counts, edges


# Up to this many bins, rounding moves a number by less than a bin from the one that its distance tells.
_MOST_BY_DISTANCE = 1 << 16


def bin_indices(edges: Any, flat: Any, equal: bool) -> Any:
    """Return the bin of each number, or an index past the last bin for numbers in none.

    Args:
      equal: whether all bins are as wide, so that a number's distance from the first edge tells its bin, or the one
        beside it.
    """
    n = edges.size
    first, last = edges[0], edges[n - 1]
    if equal and n <= _MOST_BY_DISTANCE:
        place = clamp(0.0, (flat - first) * ((n - 1) / (last - first)), float(n - 2))
        guess = convert_element_type(place, dtypes.int32)
        before, after = flat < edges[guess], (flat >= edges[guess + 1]) & (guess < n - 2)
        index = guess - before + after
    else:
        index = clamp(0, searchsorted(edges, flat, "right") - 1, n - 2)
    return where((flat >= first) & (flat <= last), index, n)


def is_count(bins: Any) -> bool:
    """Whether bins are given by their number, so that all are as wide."""
    return isinstance(bins, (int, np.integer)) or (hasattr(bins, "ndim") and bins.ndim == 0)


def cov(
    m: ArrayLike,
    y: ArrayLike | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: ArrayLike | None = None,
    aweights: ArrayLike | None = None,
    dtype: DTypeLike = None,
) -> Array:
    """The covariance matrix of variables.

    Args:
      m: observations; each row is a variable.
      y: more variables, of the same form.
      rowvar: set to False if each column is a variable.
      bias: divide by the number of observations, not by one less.
      ddof: subtracted from the number of observations to divide by, instead of 1 or 0.
      fweights: how often each observation occurred.
      aweights: the weight of each observation.
      dtype: dtype of the result.

    Raises:
      ShapeError: an argument has more than two axes, or weights do not fit.

    >>> import stagec.numpy as snp
    >>> float(snp.cov(snp.array([1.0, 2.0, 3.0])))
    1.0
    """
    parts = [array_argument(m, "cov")] + ([] if y is None else [array_argument(y, "cov's y")])
    parts = promote_inexact(*parts)
    if dtype is not None:
        parts = [strong(p, requested_dtype_of("an inexact", dtype, "cov")) for p in parts]
    rows = []
    for i, p in enumerate(parts):
        rank = aval_of(p).ndim
        if rank > 2:
            raise shape_error("cov", f"{aval_of(p).long()} has more than two axes", "give a row for each variable")
        p = reshape(p, (1, aval_of(p).size)) if rank < 2 else p
        # As in NumPy, a single row of `y` is one variable whatever `rowvar` says.
        is_row = rank < 2 or (i > 0 and aval_of(p).shape[0] == 1)
        rows.append(p if rowvar or is_row else transpose(p, (1, 0)))
    # As in NumPy, nothing is computed of `y` where `m` has no variables.
    x = strong(concatenate(rows if aval_of(rows[0]).shape[0] != 0 else rows[:1], 0))
    variables, n = aval_of(x).shape
    kind = aval_of(x).dtype
    ddof = (0 if bias else 1) if ddof is None else ddof
    weights = None
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        if given is None:
            continue
        w = strong(array_argument(given, f"cov's {name}"), dtypes.real_dtype(kind))
        if aval_of(w).shape != (n,):
            raise shape_error(
                "cov", f"{name} {aval_of(w).long()} for {n} observations", "give one weight for each observation"
            )
        weights = w if weights is None else ar.mul(weights, w)
    width = dtypes.real_dtype(kind)
    if weights is None:
        center = mean(x, 1, keepdims=True)
        weighted = gap = ar.sub(x, broadcast_in_dim(center, (variables, n), (0, 1)))
        freedom: Any = literal(n - ddof if n != 0 else 0, width)
    else:
        total = rd.sum(weights)
        spread = broadcast_in_dim(strong(weights, kind), (variables, n), (1,))
        center = ar.div(rd.sum(ar.mul(x, spread), 1, keepdims=True), strong(total, kind))
        gap = ar.sub(x, broadcast_in_dim(center, (variables, n), (0, 1)))
        weighted = ar.mul(gap, spread)
        loss: Any = literal(ddof, width)
        if aweights is not None and ddof:
            second = strong(array_argument(aweights, "cov's aweights"), width)
            loss = ar.mul(loss, ar.div(rd.sum(ar.mul(weights, second)), total))
        freedom = ar.sub(total, loss)
    other = conj(weighted) if dtypes.is_complex(kind) else weighted
    products = dot_general(gap, other, (((1,), (1,)), ((), ())))
    out = ar.div(products, strong(freedom, kind))
    return reshape(out, ()) if dims.equal(variables, 1) else out


def corrcoef(x: ArrayLike, y: ArrayLike | None = None, rowvar: bool = True, dtype: DTypeLike = None) -> Array:
    """The correlation matrix of variables; arguments as for `cov`.

    >>> import stagec.numpy as snp
    >>> snp.corrcoef(snp.array([[1.0, 2.0], [2.0, 4.0]])).shape
    (2, 2)
    """
    if dtype is not None:
        dtype = requested_dtype_of("an inexact", dtype, "corrcoef")
    c = cov(x, y, rowvar, dtype=dtype)
    if aval_of(c).ndim == 0:
        return ar.div(c, c)
    n = aval_of(c).shape[0]
    kind = aval_of(c).dtype
    diagonal = eq(broadcasted_iota(dtypes.int32, (n, n), 0), broadcasted_iota(dtypes.int32, (n, n), 1))
    scale = ar.sqrt(rd.sum(select(diagonal, c, literal(0, kind)), 1))
    c = ar.div(c, broadcast_in_dim(scale, (n, n), (0,)))
    c = ar.div(c, broadcast_in_dim(scale, (n, n), (1,)))
    if dtypes.is_complex(kind):
        part = dtypes.real_dtype(kind)
        low, high = literal(-1, part), literal(1, part)
        return make_complex(clamp(low, real(c), high), clamp(low, imag(c), high))
    return clamp(literal(-1, kind), c, literal(1, kind))


def _slide(name: str, a: Any, v: Any, mode: str, correlated: bool, preferred_element_type: Any) -> Array:
    x, kernel = promote_inexact(array_argument(a, name), array_argument(v, name))
    m, n = aval_of(x).size, aval_of(kernel).size
    if aval_of(x).ndim != 1 or aval_of(kernel).ndim != 1 or not m or not n:
        raise shape_error(
            name,
            f"operands are {aval_of(x).long()} and {aval_of(kernel).long()}",
            "pass vectors that are not empty; x.ravel() flattens",
        )
    if mode not in ("full", "same", "valid"):
        raise shape_error(name, f"there is no mode {mode!r}", "use mode='full', 'same' or 'valid'")
    swapped = m < n
    if correlated and dtypes.is_complex(aval_of(kernel).dtype):
        kernel = conj(kernel)
    if swapped:
        # The longer array is the operand; the result of a correlation is reversed then.
        x, kernel, m, n = kernel, x, n, m
    if not correlated:
        kernel = rev(kernel, (0,))
    pads = {"valid": (0, 0), "same": (n // 2, n - n // 2 - 1), "full": (n - 1, n - 1)}[mode]
    out = conv_general_dilated(
        reshape(x, (1, 1, m)), reshape(kernel, (1, 1, n)), (1,), [pads], preferred_element_type=preferred_element_type
    )
    out = reshape(out, (aval_of(out).size,))
    return strong(rev(out, (0,)) if correlated and swapped else out)


def convolve(
    a: ArrayLike,
    v: ArrayLike,
    mode: str = "full",
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike = None,
) -> Array:
    """The discrete convolution of two arrays of rank 1.

    Args:
      a, v: arrays; integers are computed as floats.
      mode: `"full"`, `"same"` (the length of the longer one), or `"valid"` (only full overlap).
      precision: accepted; products are always computed in full precision.
      preferred_element_type: dtype of the result.

    Raises:
      ShapeError: an array is empty or does not have rank 1.

    >>> import stagec.numpy as snp
    >>> snp.convolve(snp.array([1.0, 2.0]), snp.array([1.0, 1.0]))
    Array([1., 3., 2.], dtype=float32)
    """
    return _slide("convolve", a, v, mode, False, preferred_element_type)


def correlate(
    a: ArrayLike,
    v: ArrayLike,
    mode: str = "valid",
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike = None,
) -> Array:
    """The cross-correlation of two arrays of rank 1; the second one is conjugated. Arguments as for `convolve`.

    >>> import stagec.numpy as snp
    >>> snp.correlate(snp.array([1.0, 2.0, 3.0]), snp.array([0.0, 1.0]))
    Array([2., 3.], dtype=float32)
    """
    return _slide("correlate", a, v, mode, True, preferred_element_type)

"""More matrices of special structure, by the names of `scipy.linalg`: of convolutions, Fiedler's, and inverses."""

from __future__ import annotations

import math

import numpy as np

from stagec.core import location
from stagec.core.array import Array
from stagec.numpy.arguments import array_argument, from_numpy, requested_dtype
from stagec.numpy.conditionals import where
from stagec.numpy.padding import pad
from stagec.numpy.promotion import promote_inexact
from stagec.primitives.axes import as_int, shape_error
from stagec.primitives.operand import aval_of
from stagec.scipy.special_matrices import lower_pascal, pascal
from stagec.typing import ArrayLike

__all__ = ["convolution_matrix", "fiedler", "fiedler_companion", "invhilbert", "invpascal"]


def convolution_matrix(a: ArrayLike, n: int, mode: str = "full") -> Array:
    """The matrix whose product with a vector of `n` elements is the convolution with `a`.

    Args:
      a: vectors, along the last axis.
      mode: `"full"`, `"same"` (as many rows as the longer one has elements) or `"valid"` (full overlap only).

    >>> import stagec.numpy as snp
    >>> convolution_matrix(snp.array([1, 2]), 2)
    Array([[1, 0],
           [2, 1],
           [0, 2]], dtype=int32)
    """
    x = array_argument(a, "a")
    count = as_int(n, "convolution_matrix", "n")
    if not aval_of(x).ndim or not aval_of(x).shape[-1] or count < 1:
        raise shape_error(
            "convolution_matrix", f"{aval_of(x).long()}, n={count}", "pass a vector that is not empty, and a positive n"
        )
    if mode not in ("full", "same", "valid"):
        raise location.error(
            ValueError, f"convolution_matrix: mode is {mode!r}", fix="pass 'full', 'same' or 'valid' to it"
        )
    m = aval_of(x).shape[-1]
    cut = 0 if mode == "full" else min(m, count) - 1
    first = cut // 2 if mode == "same" else cut
    last = cut - first if mode == "same" else cut
    rows = np.arange(first, m + count - 1 - last)
    # Zeros on both sides of the vector, and windows into it.
    wide = pad(x, [(0, 0)] * (aval_of(x).ndim - 1) + [(count - 1, count - 1)])
    return wide[..., rows[:, None] - np.arange(count) + count - 1]


def fiedler(a: ArrayLike) -> Array:
    """The symmetric matrices of the absolute differences of the elements of vectors.

    >>> import stagec.numpy as snp
    >>> fiedler(snp.array([1, 4, 6]))
    Array([[0, 3, 5],
           [3, 0, 2],
           [5, 2, 0]], dtype=int32)
    """
    x = array_argument(a, "a")
    x = x if aval_of(x).ndim else x[None]
    return abs(x[..., :, None] - x[..., None, :])


def fiedler_companion(a: ArrayLike) -> Array:
    """Fiedler's matrix of five diagonals whose eigenvalues are the roots of the polynomial with these coefficients.

    Args:
      a: coefficients along the last axis, the highest power first.

    >>> import stagec.numpy as snp
    >>> fiedler_companion(snp.array([1.0, -3.0, 2.0]))
    Array([[ 3., -2.],
           [ 1.,  0.]], dtype=float32)
    """
    (x,) = promote_inexact(array_argument(a, "a"))
    shape = aval_of(x).shape
    if not shape or not shape[-1]:
        raise shape_error("fiedler_companion", f"{aval_of(x).long()}", "pass one coefficient or more")
    n = shape[-1] - 1
    # The index of the coefficient of each element; 0 for none.
    which, unit = np.zeros((n, n), int), np.zeros((n, n))
    for i in range(n):
        if i % 2:
            unit[i, max(i - 2, 0)] = 1
            continue
        for j, k in ((max(i - 1, 0), i + 1), (i + 1, i + 2)):
            if j < n:
                which[i, j] = k
        if i + 2 < n:
            unit[i, i + 2] = 1
    scaled = -x / x[..., :1]
    return where(which > 0, scaled[..., which], unit.astype(aval_of(x).dtype))


def invhilbert(n: int) -> Array:
    """The inverse of Hilbert's matrix, whose elements are integers.

    >>> invhilbert(2)
    Array([[ 4., -6.],
           [-6., 12.]], dtype=float32)
    """
    count = as_int(n, "invhilbert", "n")
    # Of rows and columns: (-1)**i (n + i)! / (i!**2 (n - i - 1)!).
    factors = [(-1) ** i * count * math.comb(count + i, i) * math.comb(count - 1, i) for i in range(count)]
    bits = np.array([factor.bit_length() for factor in factors])
    signs = np.array([math.inf if factor > 0 else -math.inf for factor in factors])
    found = np.multiply.outer(signs, signs)
    # The other elements have more than the 1,024 bits of the largest float.
    for i, j in np.argwhere(np.add.outer(bits, bits) < 1032 + int(2 * count).bit_length()).tolist():
        found[i, j] = _as_float(factors[i] * factors[j] // (i + j + 1))
    return from_numpy(found, requested_dtype(float, "invhilbert"))


def _as_float(number: int) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def invpascal(n: int, kind: str | None = None) -> Array:
    """The inverse of Pascal's matrix, whose elements are integers.

    Args:
      kind: `"symmetric"`, which is the default, `"lower"` or `"upper"`.

    >>> invpascal(2, "lower")
    Array([[ 1.,  0.],
           [-1.,  1.]], dtype=float32)
    """
    count = as_int(n, "invpascal", "n")
    signs = (-1.0) ** np.arange(count)
    pascal(1, kind)  # refuses an unknown kind
    low = signs[:, None] * lower_pascal(count) * signs + 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        found = {"lower": low, "upper": low.T}.get(kind or "", low.T @ low)
    return from_numpy(found, requested_dtype(float, "invpascal"))

"""Matrices of special structure, by the names of `scipy.linalg`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stagec.core import location
from stagec.core.array import Array
from stagec.numpy.arguments import array_argument, from_numpy, requested_dtype, requested_dtype_of
from stagec.numpy.creation import arange, zeros, zeros_like
from stagec.numpy.joining import concatenate
from stagec.numpy.manipulation import atleast_1d, broadcast_to, flip
from stagec.numpy.padding import pad
from stagec.numpy.promotion import promote_dtypes
from stagec.primitives.axes import as_int, as_shape, shape_error
from stagec.primitives.operand import aval_of
from stagec.primitives.shape import reshape
from stagec.typing import ArrayLike, DTypeLike

__all__ = [
    "block_diag", "circulant", "companion", "dft", "hadamard", "hankel", "helmert", "hilbert", "leslie", "pascal",
    "toeplitz",
]  # fmt: skip


def _lines(*vectors: Any) -> list[Array]:
    """Convert vectors to one dtype, with the same leading axes."""
    found = [atleast_1d(v) for v in promote_dtypes(*vectors)]
    batch = np.broadcast_shapes(*[v.shape[:-1] for v in found])
    return [broadcast_to(v, (*batch, v.shape[-1])) for v in found]


def toeplitz(c: ArrayLike, r: ArrayLike | None = None) -> Array:
    """The matrix of constant diagonals with a first column and a first row.

    Args:
      c: the column, along the last axis; other axes are batch axes.
      r: the row, whose first element is ignored; by default the conjugate of `c`.

    >>> import stagec.numpy as snp
    >>> toeplitz(snp.array([1, 2, 3]), snp.array([1, 7]))
    Array([[1, 7],
           [2, 1],
           [3, 2]], dtype=int32)
    """
    c = array_argument(c, "c")
    c, r = _lines(c, c.conj() if r is None else array_argument(r, "r"))
    m, n = c.shape[-1], r.shape[-1]
    if not m or not n:
        return zeros((*c.shape[:-1], m, n), c.dtype)
    line = concatenate([flip(c, -1), r[..., 1:]], -1)
    return line[..., np.arange(m)[::-1, None] + np.arange(n)]


def hankel(c: ArrayLike, r: ArrayLike | None = None) -> Array:
    """The matrix of constant antidiagonals with a first column and a last row.

    Args:
      c: the column, along the last axis; other axes are batch axes.
      r: the row, whose first element is ignored; by default zeros.

    >>> import stagec.numpy as snp
    >>> hankel(snp.array([1, 2, 3]))
    Array([[1, 2, 3],
           [2, 3, 0],
           [3, 0, 0]], dtype=int32)
    """
    c = array_argument(c, "c")
    c, r = _lines(c, zeros_like(c) if r is None else array_argument(r, "r"))
    m, n = c.shape[-1], r.shape[-1]
    if not m or not n:
        return zeros((*c.shape[:-1], m, n), c.dtype)
    return concatenate([c, r[..., 1:]], -1)[..., np.arange(m)[:, None] + np.arange(n)]


def circulant(c: ArrayLike) -> Array:
    """The matrix whose columns are a vector, each rotated by one element more.

    >>> import stagec.numpy as snp
    >>> circulant(snp.array([1, 2, 3]))
    Array([[1, 3, 2],
           [2, 1, 3],
           [3, 2, 1]], dtype=int32)
    """
    (c,) = _lines(array_argument(c, "c"))
    n = c.shape[-1]
    return c[..., (np.arange(n)[:, None] - np.arange(n)) % n] if n else zeros((*c.shape[:-1], 0, 0), c.dtype)


def block_diag(*arrs: ArrayLike) -> Array:
    """Matrices along the diagonal of a larger one; vectors are rows.

    >>> import stagec.numpy as snp
    >>> block_diag(snp.ones((1, 2)), snp.ones((2, 1)))
    Array([[1., 1., 0.],
           [0., 0., 1.],
           [0., 0., 1.]], dtype=float32)
    """
    parts = promote_dtypes(*[array_argument(a, "*arrs") for a in arrs or (zeros((1, 0)),)])
    blocks = []
    for part in parts:
        aval = aval_of(part)
        if aval.ndim > 2:
            raise shape_error("block_diag", f"{aval.long()} is no matrix", "pass arrays with at most two axes")
        blocks.append(reshape(part, (1,) * (2 - aval.ndim) + aval.shape))
    widths = [aval_of(b).shape[1] for b in blocks]
    ends = np.cumsum([0, *widths])
    rows = [pad(b, ((0, 0), (int(s), int(ends[-1] - s - w)))) for b, s, w in zip(blocks, ends, widths)]
    return concatenate(rows, 0)


def companion(a: ArrayLike) -> Array:
    """The matrix whose eigenvalues are the roots of the polynomial with these coefficients, the highest power first.

    >>> import stagec.numpy as snp
    >>> companion(snp.array([1.0, -3.0, 2.0]))
    Array([[ 3., -2.],
           [ 1.,  0.]], dtype=float32)
    """
    (a,) = _lines(array_argument(a, "a"))
    n = a.shape[-1]
    if n < 2:
        raise location.error(ValueError, "companion: a polynomial of no degree", fix="pass two coefficients or more")
    top = (-a[..., 1:] / a[..., :1])[..., None, :]
    below = np.eye(n - 2, n - 1, dtype=top.dtype)
    return concatenate([top, broadcast_to(from_numpy(below), (*a.shape[:-1], *below.shape))], -2)


def hilbert(n: int) -> Array:
    """The matrix of the elements 1 / (i + j + 1).

    >>> hilbert(2).round(3)
    Array([[1.   , 0.5  ],
           [0.5  , 0.333]], dtype=float32)
    """
    (size,) = as_shape((n,), "hilbert")
    index = arange(1, size + 1)
    return 1 / (index[:, None] + index[None, :] - 1)


def dft(n: int, scale: str | None = None, *, dtype: DTypeLike = None) -> Array:
    """The matrix of the discrete Fourier transform.

    Args:
      scale: None, `"sqrtn"` or `"n"`: what it is divided by.
      dtype: complex64, or complex128 with 64-bit types.

    >>> dft(2).real
    Array([[ 1.,  1.],
           [ 1., -1.]], dtype=float32)
    """
    count = as_int(n, "dft", "n")
    if scale not in (None, "sqrtn", "n"):
        raise location.error(ValueError, f"dft: scale is {scale!r}", fix="pass None, 'sqrtn' or 'n'")
    index = np.arange(count)
    divisor = {None: 1.0, "sqrtn": math.sqrt(count or 1), "n": count or 1}[scale]
    found = np.exp(-2j * np.pi * (index[:, None] * index % (count or 1)) / (count or 1)) / divisor
    return from_numpy(found, requested_dtype_of("a complex", complex if dtype is None else dtype, "dft"))


def hadamard(n: int, dtype: DTypeLike = int) -> Array:
    """Hadamard's matrix of a power of two, by Sylvester's construction.

    >>> hadamard(2)
    Array([[ 1,  1],
           [ 1, -1]], dtype=int32)
    """
    count = as_int(n, "hadamard", "n")
    if count < 1 or count & (count - 1):
        raise location.error(ValueError, f"hadamard: {count} is not a power of two", fix="pass 1, 2, 4, 8, ...")
    found = np.ones((1, 1))
    while len(found) < count:
        found = np.block([[found, found], [found, -found]])
    return from_numpy(found, requested_dtype(dtype, "hadamard"))


def pascal(n: int, kind: str | None = None) -> Array:
    """Pascal's triangle as a matrix.

    Args:
      kind: `"symmetric"`, which is the default, `"lower"` or `"upper"`.

    >>> pascal(3, "lower")
    Array([[1., 0., 0.],
           [1., 1., 0.],
           [1., 2., 1.]], dtype=float32)
    """
    count = as_int(n, "pascal", "n")
    kind = kind or "symmetric"
    if kind not in ("symmetric", "lower", "upper"):
        raise location.error(ValueError, f"pascal: kind is {kind!r}", fix="pass 'symmetric', 'lower' or 'upper'")
    found = binomials(count) if kind == "symmetric" else lower_pascal(count)
    return from_numpy(found.T if kind == "upper" else found, requested_dtype(float, "pascal"))


def binomials(count: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The symmetric matrix of Pascal's: `i + j` choose `i`, exact up to 2**53."""
    found = np.ones((count, count))
    with np.errstate(over="ignore"):
        for i in range(1, count):
            np.cumsum(found[i - 1], out=found[i])
    return found


def lower_pascal(count: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Pascal's triangle: `i` choose `j`, exact up to 2**53."""
    i, j = np.indices((count, count))
    return np.where(i >= j, binomials(count)[i - j, j], 0)


def helmert(n: int, full: bool = False) -> Array:
    """Helmert's matrix, whose rows are orthonormal and, but for the first, sum to zero.

    Args:
      full: keep the first row.

    >>> helmert(2).round(4)
    Array([[ 0.7071, -0.7071]], dtype=float32)
    """
    count = as_int(n, "helmert", "n")
    found = np.tril(np.ones((count, count)), -1) - np.diag(np.arange(count))
    found[:1] = 1
    index = np.arange(count)
    norms = np.sqrt(index * (index + 1.0))
    norms[:1] = math.sqrt(count)
    found = found / norms[:, None]
    return from_numpy(found if full else found[1:], requested_dtype(float, "helmert"))


def leslie(f: ArrayLike, s: ArrayLike) -> Array:
    """Leslie's matrix of fecundities and of survival coefficients, one less.

    >>> import stagec.numpy as snp
    >>> leslie(snp.array([1.0, 2.0]), snp.array([0.5]))
    Array([[1. , 2. ],
           [0.5, 0. ]], dtype=float32)
    """
    f, s = _lines(array_argument(f, "f"), array_argument(s, "s"))
    if s.shape[-1] != f.shape[-1] - 1:
        what = f"s must have one element less than f, got {aval_of(f).long()} for f and {aval_of(s).long()} for s"
        raise shape_error("leslie", what, "leave the last coefficient of survival out, or add a fecundity")
    below = s[..., None] * np.eye(s.shape[-1], f.shape[-1], dtype=s.dtype)
    return concatenate([f[..., None, :], below], -2)

"""The discrete Fourier transform over products with small matrices, for any length.

A length is split into factors (Cooley and Tukey, 1965): transforms of the factors are products with matrices
of at most `_LARGEST` rows, with a multiplication by roots of unity in between. A length that has a large prime
factor becomes a convolution of a length that has none (Bluestein, 1970). Real and imaginary parts are separate arrays.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from stagec.primitives import arithmetic as ar
from stagec.primitives.dot import dot_general
from stagec.primitives.joining import concatenate, pad
from stagec.primitives.operand import Operand, aval_of, literal
from stagec.primitives.shape import broadcast_in_dim, reshape, transpose
from stagec.primitives.slicing import slice_in_dim

# Rows of the largest matrix where there are several. More rows mean fewer passes over memory and more arithmetic.
_LARGEST = 32
# Rows of a matrix that is the only one, by the bytes of a real number.
_WHOLE = {4: 64, 8: 50}
# A number with all prime factors that fit into it.
_SMOOTH = math.lcm(*range(2, _LARGEST + 1))
# A prime length below this is a product with one matrix rather than a convolution.
_DIRECT = 128


class Parts(NamedTuple):
    """Complex numbers as two arrays of one shape."""

    real: Operand
    imag: Operand


def transform(x: Parts, n: int) -> Parts:
    """The transform of length `n` along the last axis, with the kernel exp(-2 pi i j k / n) and no scale."""
    factor = n if n <= _WHOLE[aval_of(x.real).dtype.itemsize] else _factor(n)
    if factor == n:
        return _product(x, n)
    if factor == 1:
        return _convolution(x, n)
    cofactor = n // factor
    lead = aval_of(x.real).shape[:-1]
    columns = Parts(*(reshape(p, (*lead, factor, cofactor)) for p in x))
    # Along the slow axis, which ends up last; then the roots; then along the fast one, which is turned to be last.
    slow = _product(_last_two_swapped(columns), factor)
    turned = _times_roots(_last_two_swapped(slow), factor, cofactor)
    fast = transform(turned, cofactor)
    return Parts(*(reshape(p, (*lead, n)) for p in _last_two_swapped(fast)))


def _factor(n: int) -> int:
    """The matrix to begin with: a divisor, `n` itself, or 1 where there is none that is small."""
    smooth = math.gcd(n, _SMOOTH ** n.bit_length())
    if smooth > 1:
        return _factors(smooth)[0]
    if n <= _DIRECT:
        return n
    # Only large prime factors are left; one for which a product is small enough is split off.
    for divisor in range(_LARGEST + 1, _DIRECT + 1):
        if n % divisor == 0:
            return divisor
    return 1


@functools.cache
def _factors(n: int) -> tuple[int, ...]:
    """As few matrices as have the product `n`, whose prime factors are small; of those the smallest."""
    if n <= _LARGEST:
        return (n,)
    found = [(d, *_factors(n // d)) for d in range(_LARGEST, 1, -1) if n % d == 0]
    return min(found, key=lambda factors: (len(factors), sum(factors)))


def roots_of_unity(exponents: Any, n: int, dtype: Any) -> tuple[Any, Any]:
    """The parts of exp(-2 pi i e / n) for an array of integers e.

    Angles are brought to an eighth of a turn in integers, so that large exponents lose no digits.
    """
    eighths = 8 * (np.asarray(exponents, np.int64) % n)
    octant = eighths // n
    # The distance to the next multiple of a quarter turn, at most an eighth.
    angle = (eighths - n * (octant + octant % 2)) * (np.pi / (4 * n))
    quarter = (octant + 1) // 2 % 4
    cosine, sine = _cosine_and_sine(angle)
    real = np.choose(quarter, [cosine, -sine, -cosine, sine])
    imag = np.choose(quarter, [sine, cosine, -sine, -cosine])
    return real.astype(dtype), -imag.astype(dtype)


def _cosine_and_sine(angle: Any) -> tuple[Any, Any]:
    """Those of angles up to an eighth of a turn, by Taylor's series, within 1 unit in the last place.

    Sums and products have the same bits everywhere; NumPy's functions depend on the processor.
    """
    square = angle * angle
    odd = even = 0.0
    for k in range(9, 0, -1):
        odd = odd * square + (-1) ** k / math.factorial(2 * k + 1)
        even = even * square + (-1) ** (k + 1) / math.factorial(2 * k + 2)
    near = 1 - square / 2
    return near + ((1 - near) - square / 2 + square * square * even), angle + angle * square * odd


def _product(x: Parts, n: int) -> Parts:
    """The transform as one product of the rows of both parts with cosines and sines."""
    dtype = aval_of(x.real).dtype
    index = np.arange(n)
    cosines, sines = roots_of_unity(index[:, None] * index, n, dtype)
    rank = aval_of(x.real).ndim
    both = concatenate([reshape(p, (1, *aval_of(p).shape)) for p in x], 0)
    numbers = (((rank,), (0,)), ((), ()))
    turned = dot_general(both, np.concatenate([cosines, sines], 1), numbers)
    rr, ri, ir, ii = (
        reshape(
            slice_in_dim(slice_in_dim(turned, part, part + 1, axis=0), start, start + n, axis=rank),
            aval_of(x.real).shape,
        )
        for part in (0, 1)
        for start in (0, n)
    )
    return Parts(ar.sub(rr, ii), ar.add(ri, ir))


def _last_two_swapped(x: Parts) -> Parts:
    rank = aval_of(x.real).ndim
    order = (*range(rank - 2), rank - 1, rank - 2)
    return Parts(*(transpose(p, order) for p in x))


def _multiplied(x: Parts, y: Parts) -> Parts:
    real = ar.sub(ar.mul(x.real, y.real), ar.mul(x.imag, y.imag))
    return Parts(real, ar.add(ar.mul(x.real, y.imag), ar.mul(x.imag, y.real)))


def _times_roots(x: Parts, rows: int, columns: int) -> Parts:
    """Each element times exp(-2 pi i row column / (rows columns)), from two tables with few entries."""
    shape, dtype = aval_of(x.real).shape, aval_of(x.real).dtype
    n, fine = rows * columns, 1
    while fine * fine < columns:
        fine *= 2
    coarse = -(-columns // fine)
    row = np.arange(rows)[:, None]
    near, far = (
        Parts(*roots_of_unity(row * column, n, dtype)) for column in (np.arange(fine), fine * np.arange(coarse))
    )
    if coarse == 1:
        table = Parts(*(p[:, :columns] for p in near))
    else:
        grid = (rows, coarse, fine)
        product = _multiplied(
            Parts(*(broadcast_in_dim(p, grid, (0, 2)) for p in near)),
            Parts(*(broadcast_in_dim(p, grid, (0, 1)) for p in far)),
        )
        table = Parts(*(slice_in_dim(reshape(p, (rows, coarse * fine)), 0, columns, axis=1) for p in product))
    rank = len(shape)
    return _multiplied(x, Parts(*(broadcast_in_dim(p, shape, (rank - 2, rank - 1)) for p in table)))


def _convolution(x: Parts, n: int) -> Parts:
    """Bluestein: j k = (j^2 + k^2 - (k - j)^2) / 2, so the transform is a convolution with a chirp."""
    shape, dtype = aval_of(x.real).shape, aval_of(x.real).dtype
    size = 1
    while size < 2 * n - 1:
        size *= 2
    # The square modulo the period, in integers: no angle loses digits.
    square = np.arange(n, dtype=object) ** 2 % (2 * n)
    real, imag = roots_of_unity(square.astype(np.int64), 2 * n, np.float64)
    conjugate = np.zeros(size, np.complex128)
    conjugate[:n] = real - 1j * imag
    conjugate[size - n + 1 :] = conjugate[1:n][::-1]
    spectrum = np.fft.fft(conjugate) / size
    spread = Parts(*(broadcast_in_dim(p.astype(dtype), shape, (len(shape) - 1,)) for p in (real, imag)))
    rank = len(shape)
    filled = Parts(
        *(pad(p, literal(0, dtype), [(0, 0, 0)] * (rank - 1) + [(0, size - n, 0)]) for p in _multiplied(x, spread))
    )
    forward = transform(filled, size)
    kernel = Parts(spectrum.real.astype(dtype), spectrum.imag.astype(dtype))
    full = aval_of(forward.real).shape
    product = _multiplied(forward, Parts(*(broadcast_in_dim(p, full, (rank - 1,)) for p in kernel)))
    # The inverse transform: the parts are swapped before and after.
    back = transform(Parts(product.imag, product.real), size)
    found = Parts(*(slice_in_dim(p, 0, n, axis=rank - 1) for p in (back.imag, back.real)))
    return _multiplied(found, spread)

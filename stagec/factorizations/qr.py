"""The QR factorization by Householder reflections."""

from __future__ import annotations

from typing import Any

import numpy as np

from stagec.control.loops import fori_loop
from stagec.core import dtypes, errors, location
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.dtype_info import finfo
from stagec.core.primitive import MissingRule, MultiplePrimitive, SinglePrimitive
from stagec.factorizations.lapack import of_large
from stagec.factorizations.lu import solve_matrix
from stagec.factorizations.row import adjoint, each_matrix, factorization, matrix_argument, panels
from stagec.factorizations.triangular import triangular_solve
from stagec.factorizations.vectors import at, put, squared
from stagec.numpy.conditionals import where
from stagec.numpy.creation import arange, eye
from stagec.numpy.diagonals import tril, triu
from stagec.numpy.padding import pad
from stagec.numpy.rounding import conj
from stagec.primitives import arithmetic as ar
from stagec.primitives.broadcast import zeros
from stagec.primitives.joining import concatenate
from stagec.primitives.operand import Operand, as_operand, aval_of, promote_weak_scalars
from stagec.primitives.slicing import dynamic_slice_in_dim, dynamic_update_slice_in_dim
from stagec.typing import ArrayLike

# Up to _WHOLE columns are reflected one by one, more in panels of _PANEL columns.
_WHOLE, _PANEL = 128, 32


# Packed form, as in LAPACK: R on and above the diagonal; below it, the reflections' vectors without their first 1.


def _packed_shape(a: ShapedArray) -> list[ShapedArray]:
    *lead, m, n = a.shape
    return [a.strip_weak_type(), ShapedArray.of((*lead, min(m, n)), a.dtype)]


def _packed_eval(a: Any) -> list[Any]:
    out = _packed_shape(ShapedArray.of(a.shape, a.dtype))
    if 0 in a.shape:
        return [a.copy(), np.zeros(out[1].shape, a.dtype)]
    geqrf = of_large("geqrf", a)
    if geqrf is not None:
        return each_matrix(lambda a: geqrf(a)[:2], a, out=out)
    packed, scales = np.linalg.qr(a, "raw")
    return [np.ascontiguousarray(packed.swapaxes(-1, -2)).astype(a.dtype), scales.astype(a.dtype)]


def packed(a: Any) -> tuple[Operand, Operand]:
    """Factorize one matrix: return the packed form and the scales of the reflections."""
    m, n = aval_of(a).shape
    count = min(m, n)
    if count <= _WHOLE:
        return _reflected(a, 0, count)
    width = panels(count, _PANEL) * _PANEL
    # Columns to the right of the last panel are reflected with the panels.
    extra = max(width - n, 0)
    whole = pad(a, ((0, 0), (0, extra))) if extra else a
    columns = arange(max(n, width))

    def panel(p: Any, state: Any) -> Any:
        a, scales = state
        start = p * _PANEL
        found, scale = _reflected(dynamic_slice_in_dim(a, start, _PANEL, 1), start, count)
        vectors = unit_vectors(found, start)
        change = vectors @ (adjoint(block_triangle(vectors, scale)) @ (adjoint(vectors) @ a))
        a = where(columns >= start + _PANEL, a - change, a)
        a = dynamic_update_slice_in_dim(a, found, start, 1)
        return a, dynamic_update_slice_in_dim(scales, scale, start, 0)

    found, scales = fori_loop(0, width // _PANEL, panel, (whole, zeros(ShapedArray.of((width,), aval_of(a).dtype))))
    return found[:, :n], scales[:count]


def _reflected(a: Any, start: Any, count: int) -> tuple[Operand, Operand]:
    """Factorize the columns of a panel, which begins at column `start`, up to column `count` of the matrix."""
    m, width = aval_of(a).shape
    rows = arange(m)
    columns = arange(width)

    def eliminate(c: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        a, scales = state
        j = start + c
        column = at(a, c, 1)
        vector, scale, beta = reflector(column, j)
        # R is multiplied by the adjoint of the reflection.
        change = (conj(scale) * vector)[:, None] * (conj(vector)[None, :] @ a)
        done = j < count
        stored = where(rows == j, beta, where(rows > j, vector, column))
        a = where(done & (columns > c), a - change, where(done & (columns == c), stored[:, None], a))
        return a, put(scales, where(done, scale, 0), c)

    steps = min(width, count)
    return fori_loop(0, steps, eliminate, (a, zeros(ShapedArray.of((steps,), aval_of(a).dtype))))


def reflector(column: Any, j: Any) -> tuple[Any, Any, Any]:
    """Return v, t and the element of row j after the reflection 1 - t v v^H that zeroes a vector below row j.

    The sign of the element is LAPACK's, so that `head - beta` does not cancel. t is 0 if there is nothing to zero.
    """
    rows = arange(aval_of(column).shape[0])
    x = where(rows >= j, column, 0)
    # Scaled, so that no square overflows. The divisor is a normal number, as subnormal ones have few digits.
    largest, least = abs(x).max(keepdims=True), float(finfo(aval_of(column).dtype).tiny)
    unit = where(largest < least, least, largest)
    x = x / unit
    head, tail = at(x, j, keepdims=True), where(rows > j, x, 0)
    below = squared(tail).sum(keepdims=True)
    length = ar.sqrt(squared(head) + below)
    beta = where(head.real > 0, -length, length)
    idle = below == 0
    if dtypes.is_complex(aval_of(column).dtype):
        idle = idle & (head.imag == 0)
    vector = where(rows == j, 1, tail / where(idle, 1, head - beta))
    scale = where(idle, 0, (beta - head) / where(idle, 1, beta))
    return vector, scale, where(idle, at(column, j, keepdims=True), beta * unit)


def unit_vectors(found: Any, start: Any) -> Array:
    """Return the reflections' vectors of packed columns that begin at column `start`, with their ones."""
    m, width = aval_of(found).shape
    rows, columns = arange(m)[:, None], start + arange(width)
    return where(rows > columns, found, where(rows == columns, 1, 0))


def block_triangle(vectors: Any, scales: Any) -> Array:
    """Return the triangle T of a product of reflections, H1 H2 ... = 1 - V T V^H.

    Source: Schreiber and Van Loan, "A storage-efficient WY representation" (1989).
    """
    count = aval_of(scales).shape[0]
    columns = arange(count)
    gram = adjoint(vectors) @ vectors

    def column(j: Any, triangle: Array) -> Array:
        scale = at(scales, j, keepdims=True)
        before = where((columns < j)[:, None], at(gram, j, 1, True), 0)
        found = where((columns == j)[:, None], scale, -scale * (triangle @ before))
        return put(triangle, found, j, 1)

    return fori_loop(0, count, column, zeros(aval_of(gram)))


packed_qr_p = factorization(
    MultiplePrimitive,
    "geqrf",
    shape=_packed_shape,
    eval=_packed_eval,
    algorithm=lambda a: packed(a),
    jvp=MissingRule("its reflections are not a smooth function of the matrix", "differentiate qr"),
)


# Products of reflections


def _product_eval(a: Any, scales: Any) -> Any:
    m, k = a.shape[-2:]
    orgqr = of_large("orgqr", a, "ungqr")
    if orgqr is not None:
        out = [ShapedArray.of(a.shape, a.dtype)]
        return each_matrix(lambda a, scales: orgqr(a, scales)[0], a, scales, out=out, ranks=(2, 1))[0]
    return reflections_eval(a, scales, np.broadcast_to(np.eye(m, k, dtype=a.dtype), a.shape), False)


def reflections_eval(a: Any, scales: Any, c: Any, transpose: bool) -> Any:
    """Multiply NumPy matrices from the left by the product of the reflections of packed ones.

    Args:
      transpose: multiply by the adjoint of the product.
    """

    ormqr = of_large("ormqr", a, "unmqr") if c.size else None
    adjoint_of_product = "C" if a.dtype.kind == "c" else "T"

    def one(a: Any, scales: Any, c: Any) -> Any:
        if ormqr is not None:
            return ormqr("L", adjoint_of_product if transpose else "N", a[:, : scales.shape[0]], scales, c)[0]
        q = np.array(c)
        count = scales.shape[0]
        for j in range(count) if transpose else reversed(range(count)):
            v = np.concatenate([np.ones(1, a.dtype), a[j + 1 :, j]])
            scale = scales[j].conj() if transpose else scales[j]
            q[j:] -= np.multiply.outer(scale * v, v.conj() @ q[j:])
        return q

    return each_matrix(one, a, scales, c, out=[ShapedArray.of(c.shape, a.dtype)], ranks=(2, 1))[0]


def product(a: Any, scales: Any) -> Operand:
    """Return the first columns of the product of reflections, as many as the packed matrix has."""
    m, width = aval_of(a).shape
    return apply_reflections(a, scales, eye(m, width, dtype=aval_of(a).dtype))


def apply_reflections(a: Any, scales: Any, c: Any, transpose: bool = False) -> Operand:
    """Multiply a matrix from the left by the product of the reflections of a packed one, or by its adjoint."""
    count = aval_of(scales).shape[0]
    vectors = unit_vectors(a[:, :count], 0)
    if count <= _WHOLE:
        scales = conj(scales) if transpose else scales

        def reflect(i: Any, c: Any) -> Any:
            j = i if transpose else count - 1 - i
            v = at(vectors, j, 1, True)
            return c - at(scales, j, keepdims=True) * v * (adjoint(v) @ c)

        return fori_loop(0, count, reflect, c)
    total = panels(count, _PANEL)
    extra = total * _PANEL - count
    if extra:
        vectors, scales = pad(vectors, ((0, 0), (0, extra))), pad(scales, (0, extra))

    def panel(i: Any, c: Any) -> Any:
        start = (i if transpose else total - 1 - i) * _PANEL
        v = dynamic_slice_in_dim(vectors, start, _PANEL, 1)
        t = block_triangle(v, dynamic_slice_in_dim(scales, start, _PANEL, 0))
        return c - v @ ((adjoint(t) if transpose else t) @ (adjoint(v) @ c))

    return fori_loop(0, total, panel, c)


householder_product_p = factorization(
    SinglePrimitive,
    "householder_product",
    shape=lambda a, scales: a.strip_weak_type(),
    eval=_product_eval,
    algorithm=product,
    jvp=MissingRule("the rule is not implemented", "differentiate qr"),
    ranks=(2, 1),
    numpy_ns=5,
)


def householder_product(a: ArrayLike, taus: ArrayLike) -> Array:
    """The first columns of the product of Householder reflections.

    Args:
      a: matrices, whose columns have the reflections' vectors below the diagonal.
      taus: the scales of the reflections.

    >>> import stagec.numpy as snp
    >>> householder_product(snp.array([[1.0], [1.0]]), snp.array([1.0]))
    Array([[ 0.],
           [-1.]], dtype=float32)
    """
    a, taus = promote_weak_scalars(a, taus)
    a = matrix_argument("householder_product", a)
    shape, given = aval_of(a).shape, aval_of(taus).shape
    if given[:-1] != shape[:-2] or not given or given[-1] > shape[-1] or shape[-1] > shape[-2]:
        raise location.error(
            errors.ShapeError,
            f"householder_product: {aval_of(a).long()} and {aval_of(taus).long()} do not match",
            fix="pass one scale for each column, and no more columns than rows",
        )
    return householder_product_p(a, taus)


# The factorization


def _shape(a: ShapedArray, *, full_matrices: bool) -> list[ShapedArray]:
    *lead, m, n = a.shape
    k = m if full_matrices else min(m, n)
    return [ShapedArray.of((*lead, m, k), a.dtype), ShapedArray.of((*lead, k, n), a.dtype)]


def _eval(a: Any, *, full_matrices: bool) -> list[Any]:
    # NumPy would compute in float64.
    geqrf = of_large("geqrf", a, least=1) if a.dtype in (dtypes.float32, dtypes.complex64) else None
    if geqrf is not None:
        out = _shape(ShapedArray.of(a.shape, a.dtype), full_matrices=full_matrices)
        n, columns = a.shape[-1], out[0].shape[-1]
        orgqr = of_large("orgqr", out[0], "ungqr", least=1)

        def one(a: Any) -> tuple[Any, Any]:
            found, scales, *_ = geqrf(a)
            left = np.pad(found, ((0, 0), (0, columns - n))) if columns > n else found[:, :columns]
            return orgqr(left, scales)[0], np.triu(found[:columns])

        return each_matrix(one, a, out=out)
    return [r.astype(a.dtype) for r in np.linalg.qr(a, "complete" if full_matrices else "reduced")]


def _algorithm(a: Array, *, full_matrices: bool) -> list[Operand]:
    m, n = aval_of(a).shape
    found, scales = packed(a)
    k = m if full_matrices else min(m, n)
    left = pad(found, ((0, 0), (0, k - n))) if k > n else found[:, :k]
    return [product(left, scales), triu(found[:k])]


def _jvp(primitive: Any, primals: Any, tangents: Any, params: dict[str, Any]) -> Any:
    q, r = primitive(*primals, **params)
    (a_dot,) = tangents
    *_, m, n = aval_of(a_dot).shape
    if m < n:
        # The first columns determine Q, and the other columns of R are Q* times those of a.
        q_dot, r_dot = _tangents(q, r[..., :m], a_dot[..., :m])
        remaining = adjoint(q) @ a_dot[..., m:] + adjoint(q_dot) @ (q @ r[..., m:])
        return [q, r], [q_dot, concatenate([r_dot, remaining], aval_of(r).ndim - 1)]
    q_dot, r_dot = _tangents(q[..., :n], r[..., :n, :], a_dot)
    if aval_of(q).shape[-1] == n:
        return [q, r], [q_dot, r_dot]
    below = zeros(aval_of(r).update(shape=(*aval_of(r).shape[:-2], m - n, n)))
    return [q, r], [
        concatenate([q_dot, _complement_tangents(q, q_dot)], aval_of(q).ndim - 1),
        concatenate([r_dot, below], aval_of(r).ndim - 2),
    ]


def _tangents(q: Any, r: Array, a_dot: Array) -> tuple[Any, Any]:
    """Return the tangents of Q and R of a matrix with no more columns than rows, where Q has as many columns."""
    scaled = triangular_solve(r, a_dot, lower=False)
    inner = adjoint(q) @ scaled
    below = tril(inner, -1)
    omega = below - adjoint(below)
    if aval_of(inner).dtype.kind == "c":
        # The diagonal of R stays real: an imaginary part there changes the phases of Q.
        diagonal = inner * eye(aval_of(r).shape[-1], dtype=aval_of(inner).dtype)
        omega = omega + (diagonal - conj(diagonal)) / 2
    return q @ (omega - inner) + scaled, (inner - omega) @ r


def _complement_tangents(q: Any, q_dot: Array) -> Any:
    """Return the tangents of the columns of Q beyond the rows of R, given those of the others.

    As a product of n reflections, Q = I - Y T Y*. So Q - I is determined by its first n rows and columns, the square A:
    with Z = C A^-1 for the rows C below A, its other columns are the first n columns times Z*.
    """
    n = aval_of(q_dot).shape[-1]
    square = q[..., :n, :n] - eye(n, dtype=aval_of(q).dtype)
    first = concatenate([square, q[..., n:, :n]], aval_of(q).ndim - 2)
    z = adjoint(solve_matrix(adjoint(square), adjoint(q[..., n:, :n])))
    change = q_dot[..., n:, :] - z @ q_dot[..., :n, :]
    return q_dot @ adjoint(z) + first @ solve_matrix(adjoint(square), adjoint(change))


qr_p = factorization(MultiplePrimitive, "qr", shape=_shape, eval=_eval, algorithm=_algorithm, jvp=_jvp)


def qr_factors(x: Any, full_matrices: bool = True) -> tuple[Operand, Operand]:
    """Factorize x = Q R, with orthonormal columns in Q and an upper triangle R.

    Args:
      full_matrices: Q is square; otherwise it has as many columns as R has rows.

    >>> import stagec.numpy as snp
    >>> q, r = qr_factors(snp.array([[3.0, 1.0], [4.0, 2.0]]))
    >>> (q @ r).round(5)
    Array([[3., 1.],
           [4., 2.]], dtype=float32)
    """
    q, r = qr_p(matrix_argument("qr", as_operand(x)), full_matrices=bool(full_matrices))
    return q, r

"""Sylvester equations, square roots and functions of complex triangular matrices, column by column."""

from __future__ import annotations

from typing import Any

import numpy as np

from stagec.control.loops import fori_loop
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.primitive import MissingRule, SinglePrimitive
from stagec.factorizations.row import diagonal, each_matrix, factorization
from stagec.factorizations.vectors import at, put
from stagec.numpy.conditionals import where
from stagec.numpy.creation import arange
from stagec.primitives import arithmetic as ar
from stagec.primitives.broadcast import zeros
from stagec.primitives.operand import aval_of

_NO_RULE = MissingRule("the rule is not implemented", "differentiate eigvals, or eigh")


def _column(x: Array, j: Any) -> Array:
    return at(x, j, 1)


def _dot(x: Array, y: Array) -> Array:
    return (x[None, :] @ y[:, None])[0, 0]


def _ratio(x: Array, y: Array) -> Array:
    """Divide, with 0 / 0 = 0."""
    return where((x == 0) & (y == 0), 0, x / where((x == 0) & (y == 0), 1, y))


# A X + X B = C.


def _sylvester_eval(a: Any, b: Any, c: Any) -> Any:
    def one(a: Any, b: Any, c: Any) -> Any:
        x = np.zeros_like(c)
        for j in range(len(b)):
            right = c[:, j] - x[:, :j] @ b[:j, j]
            for i in reversed(range(len(a))):
                x[i, j] = (right[i] - a[i, i + 1 :] @ x[i + 1 :, j]) / (a[i, i] + b[j, j])
        return x

    return each_matrix(one, a, b, c, out=[ShapedArray.of(c.shape, c.dtype)])[0]


def _sylvester(a: Array, b: Array, c: Array) -> Array:
    m, n = aval_of(c).shape
    rows, columns = arange(m), arange(n)

    def column(j: Any, x: Array) -> Array:
        before = where(columns < j, _column(b, j), 0)
        right = _column(c, j) - (x @ before[:, None])[:, 0]
        last = at(_column(b, j), j)

        def row(i: Any, found: Any) -> Any:
            k = m - 1 - i
            line = at(a, k)
            remaining = at(right, k) - _dot(where(rows > k, line, 0), found)
            return put(found, remaining / (at(line, k) + last), k)

        return put(x, fori_loop(0, m, row, zeros(aval_of(right))), j, 1)

    return fori_loop(0, n, column, zeros(aval_of(c)))


sylvester_p = factorization(
    SinglePrimitive,
    "triangular_sylvester",
    shape=lambda a, b, c: c.strip_weak_type(),
    eval=_sylvester_eval,
    algorithm=_sylvester,
    jvp=_NO_RULE,
    numpy_ns=5,
)


# The square root. Source: Björck and Hammarling, "A Schur method for the square root of a matrix" (1983).


def _root_eval(t: Any) -> Any:
    def one(t: Any) -> Any:
        r = np.diag(np.sqrt(np.diagonal(t)))
        for j in range(len(t)):
            for i in reversed(range(j)):
                remaining, divisor = t[i, j] - r[i, i + 1 : j] @ r[i + 1 : j, j], r[i, i] + r[j, j]
                r[i, j] = 0 if remaining == 0 and divisor == 0 else remaining / divisor
        return r

    return each_matrix(one, t, out=[ShapedArray.of(t.shape, t.dtype)])[0]


def _root(t: Array) -> Array:
    n = aval_of(t).shape[-1]
    positions = arange(n)
    main = ar.sqrt(diagonal(t))

    def column(j: Any, r: Array) -> Array:
        given, last = _column(t, j), at(main, j)

        def row(i: Any, found: Any) -> Any:
            k = j - 1 - i
            line = where((positions > k) & (positions < j), at(r, k), 0)
            return put(found, _ratio(at(given, k) - _dot(line, found), at(main, k) + last), k)

        found = fori_loop(0, j, row, where(positions == j, main, 0))
        return put(r, found, j, 1)

    return fori_loop(0, n, column, zeros(aval_of(t)))


triangular_root_p = factorization(
    SinglePrimitive,
    "triangular_sqrt",
    shape=lambda t: t.strip_weak_type(),
    eval=_root_eval,
    algorithm=_root,
    jvp=_NO_RULE,
    numpy_ns=5,
)


# Any function, given its values at the eigenvalues. Source: Parlett, "A recurrence among the elements of functions of
# triangular matrices" (1976).


def _function_eval(t: Any, values: Any) -> Any:
    def one(t: Any, values: Any) -> Any:
        f = np.diag(values)
        for j in range(len(t)):
            for i in reversed(range(j)):
                inner = slice(i + 1, j)
                remaining = t[i, j] * (f[j, j] - f[i, i]) + t[i, inner] @ f[inner, j] - f[i, inner] @ t[inner, j]
                gap = t[j, j] - t[i, i]
                f[i, j] = remaining / (gap if gap != 0 else 1)
        return f

    return each_matrix(one, t, values, out=[ShapedArray.of(t.shape, t.dtype)], ranks=(2, 1))[0]


def _function(t: Array, values: Any) -> Array:
    n = aval_of(t).shape[-1]
    positions = arange(n)
    main = diagonal(t)

    def column(j: Any, f: Array) -> Array:
        given = _column(t, j)

        def row(i: Any, found: Any) -> Any:
            k = j - 1 - i
            inner = (positions > k) & (positions < j)
            remaining = at(given, k) * (at(values, j) - at(values, k))
            remaining = remaining + _dot(where(inner, at(t, k), 0), found) - _dot(where(inner, at(f, k), 0), given)
            gap = at(main, j) - at(main, k)
            return put(found, remaining / where(gap == 0, 1, gap), k)

        found = fori_loop(0, j, row, where(positions == j, values, 0))
        return put(f, found, j, 1)

    return fori_loop(0, n, column, zeros(aval_of(t)))


triangular_function_p = factorization(
    SinglePrimitive,
    "triangular_function",
    shape=lambda t, values: t.strip_weak_type(),
    eval=_function_eval,
    algorithm=_function,
    jvp=_NO_RULE,
    ranks=(2, 1),
    numpy_ns=5,
)

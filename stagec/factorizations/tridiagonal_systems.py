"""The solution of tridiagonal systems by elimination with partial pivoting."""

from __future__ import annotations

from typing import Any

import numpy as np

from stagec.control.loops import fori_loop
from stagec.core import errors, location
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.dtype_info import finfo
from stagec.core.primitive import SinglePrimitive
from stagec.core.zero import is_zero
from stagec.factorizations.row import factorization
from stagec.factorizations.vectors import at, put
from stagec.numpy.conditionals import where
from stagec.numpy.creation import zeros_like
from stagec.numpy.padding import pad
from stagec.primitives import arithmetic as ar
from stagec.primitives.broadcast import instantiate, zeros
from stagec.primitives.checks import same_dtype
from stagec.primitives.convert import convert_element_type
from stagec.primitives.operand import Operand, aval_of, check_matrix, promote_weak_scalars
from stagec.primitives.slicing import slice_in_dim
from stagec.typing import ArrayLike


def _shape(dl: ShapedArray, d: ShapedArray, du: ShapedArray, b: ShapedArray, **params: bool) -> ShapedArray:
    return b.strip_weak_type()


def _size(x: Any) -> Any:
    """Return the magnitude by which pivots are chosen."""
    return abs(x.real) + abs(x.imag) if np.iscomplexobj(x) else abs(x)


def _eval(dl: Any, d: Any, du: Any, b: Any, *, perturb: bool) -> Any:
    m = d.shape[-1]
    u0, u1, u2 = np.array(d), np.zeros_like(d), np.zeros_like(d)
    x = np.array(b)
    if not m:
        return x
    with np.errstate(all="ignore"):
        u1[..., :-1] = du[..., :-1]
        for i in range(m - 1):
            # Rows i and i + 1 from column i on; the one with the larger first element becomes the pivot row.
            first = [u0[..., i], u1[..., i], 0 * u0[..., i]]
            second = [dl[..., i + 1], d[..., i + 1], u1[..., i + 1]]
            swap = _size(second[0]) > _size(first[0])
            one = [np.where(swap, s, f) for f, s in zip(first, second)]
            two = [np.where(swap, f, s) for f, s in zip(first, second)]
            ratio = np.where(one[0] == 0, 0, two[0] / one[0])
            u0[..., i], u1[..., i], u2[..., i] = one
            u0[..., i + 1], u1[..., i + 1] = two[1] - ratio * one[1], two[2] - ratio * one[2]
            wide = swap[..., None]
            top, low = np.where(wide, x[..., i + 1, :], x[..., i, :]), np.where(wide, x[..., i, :], x[..., i + 1, :])
            x[..., i, :], x[..., i + 1, :] = top, low - ratio[..., None] * top
        if perturb:
            largest = np.maximum(np.maximum(_size(u0), _size(u1)), _size(u2)).max(-1, keepdims=True)
            least = np.finfo(d.dtype).eps * np.where(largest > 0, largest, 1)
            u0 = np.where(_size(u0) < least, np.where(u0.real < 0, -least, least), u0)
        for i in reversed(range(m)):
            if i + 1 < m:
                x[..., i, :] -= u1[..., i, None] * x[..., i + 1, :]
            if i + 2 < m:
                x[..., i, :] -= u2[..., i, None] * x[..., i + 2, :]
            x[..., i, :] /= u0[..., i, None]
        return np.where((u0 == 0).any(-1)[..., None, None], np.nan, x).astype(b.dtype)


def _magnitude(x: Array) -> Array:
    return abs(x.real) + abs(x.imag) if aval_of(x).dtype.kind == "c" else abs(x)


def _algorithm(dl: Array, d: Array, du: Array, b: Array, *, perturb: bool) -> Array:
    m = aval_of(d).shape[0]
    # A further row of zeros, so that the last two rows are no special case.
    lower, right = pad(dl[1:], ((0, 1),)), pad(du[:-1], ((0, 1),))
    empty = zeros(aval_of(d))

    def eliminate(i: Any, state: Any) -> Any:
        u0, u1, u2, x = state
        a, c = at(u0, i), at(u1, i)
        low, e, f = at(lower, i), at(u0, i + 1), at(right, i + 1)
        swap = _magnitude(low) > _magnitude(a)
        head, ahead, beyond = where(swap, low, a), where(swap, e, c), where(swap, f, 0)
        ratio = where(head == 0, 0, where(swap, a, low) / where(head == 0, 1, head))
        below = where(swap, c, e) - ratio * ahead
        after = where(swap, 0, f) - ratio * beyond
        above, under = at(x, i), at(x, i + 1)
        top = where(swap, under, above)
        x = put(put(x, top, i), where(swap, above, under) - ratio * top, i + 1)
        u0, u1 = put(put(u0, head, i), below, i + 1), put(put(u1, ahead, i), after, i + 1)
        return u0, u1, put(u2, beyond, i), x

    u0, u1, u2, x = fori_loop(0, m - 1, eliminate, (d, right, empty, b))
    if perturb:
        largest = ar.max(ar.max(_magnitude(u0), _magnitude(u1)), _magnitude(u2)).max()
        least = float(finfo(aval_of(d).dtype).eps) * where(largest > 0, largest, 1)
        least = where(u0.real < 0, -least, least).astype(aval_of(d).dtype)
        u0 = where(_magnitude(u0) < abs(least), least, u0)
    # Two further rows of zeros after the last.
    solved = zeros(aval_of(b).update(shape=(m + 2, *aval_of(b).shape[1:])))

    def substitute(k: Any, solved: Array) -> Array:
        i = m - 1 - k
        remaining = at(x, i) - at(u1, i) * at(solved, i + 1) - at(u2, i) * at(solved, i + 2)
        return put(solved, remaining / at(u0, i), i)

    return where((u0 == 0).any(), np.nan, fori_loop(0, m, substitute, solved)[:m])


def tridiagonal_product(below: Any, d: Any, above: Any, x: Any) -> Operand:
    """Multiply tridiagonal matrices by dense ones."""
    edges = [(0, 0)] * (aval_of(x).ndim - 2)
    found = d[..., None] * x
    found = found + pad(below[..., None] * x[..., :-1, :], (*edges, (1, 0), (0, 0)))
    return found + pad(above[..., None] * x[..., 1:, :], (*edges, (0, 1), (0, 0)))


def _jvp(primitive: Any, primals: Any, tangents: Any, params: dict[str, Any]) -> Any:
    *diagonals, _ = primals
    *changes, b_dot = tangents
    x = primitive(*primals, **params)
    total = instantiate(b_dot)
    if not all(map(is_zero, changes)):
        dl, d, du = (zeros_like(p) if is_zero(c) else c for p, c in zip(diagonals, changes))
        total = total - tridiagonal_product(dl[..., 1:], d, du[..., :-1], x)
    return x, primitive(*diagonals, total, **params)


def _transpose(ct: Array, dl: Array, d: Array, du: Array, b: Array, **params: Any) -> list[Any]:
    check_matrix(dl, d, du)
    edges = [(0, 0)] * (aval_of(d).ndim - 1)
    lower = pad(slice_in_dim(du, 0, -1, axis=-1), (*edges, (1, 0)))
    upper = pad(slice_in_dim(dl, 1, None, axis=-1), (*edges, (0, 1)))
    return [None, None, None, tridiagonal_solve_p(lower, d, upper, ct, **params)]


tridiagonal_solve_p = factorization(
    SinglePrimitive,
    "tridiagonal_solve",
    shape=_shape,
    eval=_eval,
    algorithm=_algorithm,
    jvp=_jvp,
    transpose=_transpose,
    ranks=(1, 1, 1, 2),
)


def tridiagonal_solve(
    dl: ArrayLike, d: ArrayLike, du: ArrayLike, b: ArrayLike, *, perturb_singular: bool = False
) -> Array:
    """Solve systems of equations with tridiagonal matrices.

    Args:
      dl: the diagonal below the main one, `(..., m)`; its first element is ignored.
      d: the main diagonal.
      du: the diagonal above it; its last element is ignored.
      b: right-hand sides, `(..., m, k)`.
      perturb_singular: replace pivots of zero by a rounding error of the largest element; otherwise, the solution of a
        singular system is NaN.

    >>> import stagec.numpy as snp
    >>> diagonals = [snp.array([0.0, 1.0]), snp.array([2.0, 2.0]), snp.array([1.0, 0.0])]
    >>> tridiagonal_solve(*diagonals, snp.array([[4.0], [5.0]]))
    Array([[1.],
           [2.]], dtype=float32)
    """
    dl, d, du, b = promote_weak_scalars(dl, d, du, b)
    shapes = [aval_of(x).shape for x in (dl, d, du)]
    if len(set(shapes)) > 1 or not shapes[0] or aval_of(b).shape[:-1] != shapes[0]:
        listed = ", ".join(aval_of(x).long() for x in (dl, d, du, b))
        raise location.error(
            errors.ShapeError,
            f"tridiagonal_solve: {listed} do not match",
            fix="pass three arrays of one shape, and right-hand sides with one further axis",
        )
    same_dtype("tridiagonal_solve", tuple(map(aval_of, (dl, d, du, b))))
    strong = [convert_element_type(x, aval_of(x).dtype) if aval_of(x).weak_type else x for x in (dl, d, du, b)]
    return tridiagonal_solve_p(*strong, perturb=bool(perturb_singular))

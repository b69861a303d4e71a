"""Functions of whole matrices: the exponential, and the polar decomposition."""

from __future__ import annotations

import math
from typing import Any, Literal, overload

import numpy as np

from stagec.control.loops import fori_loop
from stagec.core import dtypes, location
from stagec.core.array import Array
from stagec.factorizations.halley import qdwh
from stagec.numpy import decompositions, systems
from stagec.numpy.arguments import array_argument
from stagec.numpy.conditionals import where
from stagec.numpy.creation import eye
from stagec.numpy.promotion import promote_inexact
from stagec.numpy.rounding import ceil, conj
from stagec.primitives import arithmetic as ar
from stagec.primitives.axes import shape_error
from stagec.primitives.broadcast import instantiate
from stagec.primitives.operand import aval_of
from stagec.primitives.transcendental import log
from stagec.transforms.jvp import jvp_flat
from stagec.typing import ArrayLike

__all__ = ["expm", "expm_frechet", "polar"]

# Coefficients of the Pade approximants, and the norm up to which they are accurate to rounding.
# Source: Higham, "The scaling and squaring method for the matrix exponential revisited" (2005).
_SINGLE = (17297280, 8648640, 1995840, 277200, 25200, 1512, 56, 1), 3.925724783138660
_DOUBLE = (
    64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600,
    670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1,
), 5.371920351148152  # fmt: skip


def expm(A: ArrayLike, *, upper_triangular: bool = False, max_squarings: int = 16) -> Array:
    """The exponential of square matrices, by scaling and squaring of a Pade approximant.

    Args:
      upper_triangular: accepted for compatibility, and ignored.
      max_squarings: matrices that need more squarings give NaN.

    >>> import stagec.numpy as snp
    >>> expm(snp.array([[0.0, 1.0], [0.0, 0.0]]))
    Array([[1., 1.],
           [0., 1.]], dtype=float32)
    """
    a = systems.inexact_matrix("expm", A, square=True)
    aval = aval_of(a)
    n = aval.shape[-1]
    real = dtypes.real_dtype(aval.dtype)
    coefficients, theta = _SINGLE if real == dtypes.float32 else _DOUBLE
    if not n:
        return a
    size = abs(a).sum(-2).max(-1)
    squarings = ceil(ar.max(log(where(size > 0, size, 1) / theta) / math.log(2.0), 0 * size))
    # The results of matrices that are too large are NaN in any case.
    usable = squarings <= max_squarings
    squarings = where(usable, squarings, 0)
    scaled = a / (2.0**squarings)[..., None, None].astype(aval.dtype)
    square = scaled @ scaled
    scale = [c / coefficients[0] for c in coefficients]
    power = eye(n, dtype=aval.dtype)
    even, odd = power * scale[0], power * scale[1]
    for i in range(2, len(scale), 2):
        power = square if i == 2 else power @ square
        even, odd = even + power * scale[i], odd + power * scale[i + 1]
    odd = scaled @ odd
    found = systems.solve(even - odd, even + odd)

    def squared(i: Any, x: Array) -> Array:
        return where((i < squarings)[..., None, None], x @ x, x)

    found = fori_loop(0, int(max_squarings), squared, found)
    return where(usable[..., None, None], found, np.nan)


@overload
def expm_frechet(
    A: ArrayLike, E: ArrayLike, *, method: str | None = None, compute_expm: Literal[True] = True
) -> tuple[Array, Array]: ...
@overload
def expm_frechet(A: ArrayLike, E: ArrayLike, *, method: str | None = None, compute_expm: Literal[False]) -> Array: ...
def expm_frechet(
    A: ArrayLike, E: ArrayLike, *, method: str | None = None, compute_expm: bool = True
) -> Array | tuple[Array, Array]:
    """The exponential of square matrices, and its derivative in a direction.

    Args:
      E: the direction, of the shape of `A`.
      method: accepted for compatibility, and ignored.
      compute_expm: return the exponential too.

    >>> import stagec.numpy as snp
    >>> expm_frechet(snp.zeros((2, 2)), snp.eye(2), compute_expm=False)
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    a, e = promote_inexact(systems.inexact_matrix("expm_frechet", A, square=True), array_argument(E, "E"))
    if aval_of(a).shape != aval_of(e).shape:
        raise shape_error(
            "expm_frechet",
            f"{aval_of(a).long()} and {aval_of(e).long()} have different shapes",
            "pass a direction of the shape of A",
        )
    (found,), (change,) = jvp_flat(lambda x: [expm(x)], [a], [e])
    return (found, instantiate(change)) if compute_expm else instantiate(change)


def polar(
    a: ArrayLike,
    side: str = "right",
    *,
    method: str = "svd",
    eps: float | None = None,
    max_iterations: int | None = None,
) -> tuple[Array, Array]:
    """A matrix as U P, with orthonormal columns or rows in U and a positive semidefinite P; or, from the left, as P U.

    Args:
      side: `"right"` or `"left"`.
      method: `"svd"`, or `"qdwh"` for the iteration of `stagec.lax.linalg.qdwh`, of one matrix with at least as many
        rows as columns (from the left: columns as rows); of others, the result is that of `"svd"`.
      eps, max_iterations: those of the iteration.

    >>> import stagec.numpy as snp
    >>> u, p = polar(snp.array([[0.0, -2.0], [3.0, 0.0]]))
    >>> p.round(4)
    Array([[3., 0.],
           [0., 2.]], dtype=float32)
    """
    if side not in ("right", "left") or method not in ("svd", "qdwh"):
        raise location.error(
            ValueError,
            f"polar: side is {side!r}, method is {method!r}",
            fix="pass 'right' or 'left', and 'svd' or 'qdwh'",
        )
    if method == "qdwh":
        x = systems.inexact_matrix("polar", a)
        x = x if side == "right" else conj(x).mT
        shape = aval_of(x).shape
        if len(shape) == 2 and shape[0] >= shape[1] > 0:
            u, p, _, _ = qdwh(x, eps=eps, max_iterations=max_iterations)
            return (u if side == "right" else conj(u).mT), p
    u, s, vh = decompositions.svd(a, full_matrices=False)
    s = s.astype(aval_of(u).dtype)
    if side == "right":
        return u @ vh, (conj(vh).mT * s[..., None, :]) @ vh
    return u @ vh, (u * s[..., None, :]) @ conj(u).mT

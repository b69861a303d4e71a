"""Products of matrices whose elements share scales by blocks."""

from __future__ import annotations

from typing import Any

from stagec.core.array import Array
from stagec.numpy.arguments import array_argument, requested_dtype
from stagec.numpy.repetition import repeat
from stagec.primitives.axes import shape_error
from stagec.primitives.convert import convert_element_type
from stagec.primitives.dot import dot_general
from stagec.primitives.operand import aval_of
from stagec.typing import ArrayLike, DTypeLike


def scaled_dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    *,
    lhs_scale: ArrayLike | None = None,
    rhs_scale: ArrayLike | None = None,
    dimension_numbers: Any = None,
    preferred_element_type: DTypeLike = None,
) -> Array:
    """The product of `lhs * lhs_scale` and `rhs * rhs_scale`, whose scales are repeated along shorter axes.

    Args:
      lhs, rhs: matrices, or stacks of them.
      lhs_scale, rhs_scale: of the rank of what they scale; None for none.
      dimension_numbers: as in `dot_general`; by default, of the matrix product.
      preferred_element_type: the dtype of the scaled operands and of the result; bfloat16 by default.

    >>> import stagec.numpy as snp
    >>> scaled_dot(snp.ones((1, 4)), snp.ones((4, 1)), lhs_scale=snp.array([[1.0, 10.0]])).tolist()
    [[22.0]]
    """
    first, second = array_argument(lhs, "lhs"), array_argument(rhs, "rhs")
    rank = aval_of(first).ndim
    if rank < 2 or aval_of(second).ndim < 2:
        raise shape_error(
            "scaled_dot", f"{aval_of(first).long()} and {aval_of(second).long()}", "pass matrices, or stacks of them"
        )
    if dimension_numbers is None:
        stack = tuple(range(rank - 2))
        dimension_numbers = (((rank - 1,), (rank - 2,)), (stack, stack))
    dtype = requested_dtype("bfloat16" if preferred_element_type is None else preferred_element_type, "scaled_dot")
    first, second = scaled("scaled_dot", first, lhs_scale, dtype), scaled("scaled_dot", second, rhs_scale, dtype)
    return dot_general(first, second, dimension_numbers, preferred_element_type=dtype)


def scaled(name: str, x: Any, scale: Any, dtype: Any) -> Array:
    """An array of a dtype times scales, each of which serves several neighbours along an axis."""
    found = convert_element_type(x, dtype)
    if scale is None:
        return found
    given = array_argument(scale, name)
    sizes, parts = aval_of(found).shape, aval_of(given).shape
    if len(sizes) != len(parts) or any(not p or s % p for s, p in zip(sizes, parts)):
        raise shape_error(
            name,
            f"scales {aval_of(given).long()} of {aval_of(found).long()}",
            "pass scales with as many axes, whose sizes divide those of what they scale",
        )
    factors = convert_element_type(given, dtype)
    for axis, (size, part) in enumerate(zip(sizes, parts)):
        if size != part:
            factors = repeat(factors, size // part, axis)
    return found * factors


def scaled_matmul(
    lhs: ArrayLike,
    rhs: ArrayLike,
    lhs_scales: ArrayLike,
    rhs_scales: ArrayLike,
    preferred_element_type: DTypeLike = "float32",
) -> Array:
    """Products of stacks of matrices and of transposes, whose elements share scales by blocks of a row.

    Args:
      lhs: `(b, m, k)`.
      rhs: `(b, n, k)`.
      lhs_scales, rhs_scales: `(b, m, j)` and `(b, n, j)`, where `j` divides `k`.
      preferred_element_type: the dtype of the result. Products are of float32.

    >>> import stagec.numpy as snp
    >>> half = snp.array([[[0.5]]])
    >>> scaled_matmul(snp.array([[[1, 2, 3]]]), snp.array([[[4, 5, 6]]]), half, half)
    Array([[[8.]]], dtype=float32)
    """
    arrays = [array_argument(x, "scaled_matmul") for x in (lhs, rhs, lhs_scales, rhs_scales)]
    avals = [aval_of(x) for x in arrays]
    shapes = [a.shape for a in avals]
    fits = all(len(s) == 3 and s[0] == shapes[0][0] for s in shapes)
    if not fits or any(shapes[i][1] != shapes[i + 2][1] or shapes[2 * i][2] != shapes[2 * i + 1][2] for i in (0, 1)):
        raise shape_error(
            "scaled_matmul",
            f"{', '.join(a.long() for a in avals)} do not match",
            "pass (b, m, k), (b, n, k), and scales (b, m, j) and (b, n, j)",
        )
    wanted = requested_dtype(preferred_element_type, "scaled_matmul")
    single = requested_dtype("float32", "scaled_matmul")
    first, second = (scaled("scaled_matmul", arrays[i], arrays[i + 2], single) for i in (0, 1))
    return convert_element_type(dot_general(first, second, (((2,), (2,)), ((0,), (0,)))), wanted)

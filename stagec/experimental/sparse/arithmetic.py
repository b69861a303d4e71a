"""Sums and products of sparse arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import stagec.numpy as snp
from stagec.core import errors, location
from stagec.experimental.sparse import coordinates
from stagec.experimental.sparse.arrangement import bcoo_transpose
from stagec.experimental.sparse.common import each, outside, unsupported
from stagec.experimental.sparse.coordinates import for_each
from stagec.experimental.sparse.layout import bcoo_update_layout
from stagec.primitives.axes import canonical_axes
from stagec.primitives.dot import dot_general as dense_dot_general

__all__ = [
    "bcoo_dot_general", "bcoo_dot_general_sampled", "bcoo_multiply_dense", "bcoo_multiply_sparse",
    "bcoo_reduce_sum",
]  # fmt: skip


def is_sparse(x: Any) -> bool:
    """Whether an operand is sparse."""
    return hasattr(x, "indices")


def bcoo_multiply_dense(sp_mat: Any, v: Any) -> Any:
    """The data of the product with a dense array, element by element; the array is broadcast."""
    dense = snp.asarray(v)
    dense = dense.reshape(*(1,) * (sp_mat.ndim - dense.ndim), *dense.shape)
    batch = sp_mat.shape[: sp_mat.n_batch]
    if dense.ndim != sp_mat.ndim or snp.broadcast_shapes(dense.shape, sp_mat.shape) != sp_mat.shape:
        raise location.error(
            errors.ShapeError,
            f"bcoo_multiply_dense: {dense.aval.long()} does not broadcast to {sp_mat.shape}",
            fix="multiply by an array of that shape, or of shape 1 along axes",
        )
    dense = snp.broadcast_to(dense, (*batch, *dense.shape[sp_mat.n_batch :]))

    def times(data: Any, indices: Any, x: Any) -> Any:
        wide = snp.asarray([n != 1 for n in x.shape[: sp_mat.n_sparse]], indices.dtype)
        return data * coordinates.extract(indices * wide, x)

    return each(sp_mat, times, dense)


def bcoo_multiply_sparse(lhs: Any, rhs: Any) -> Any:
    """The product of two sparse arrays of one shape, element by element."""
    _check_same("bcoo_multiply_sparse", lhs, rhs)
    one, other = bcoo_update_layout(lhs, n_dense=0), bcoo_update_layout(rhs, n_dense=0)
    n_batch = min(one.n_batch, other.n_batch)
    one, other = bcoo_update_layout(one, n_batch=n_batch), bcoo_update_layout(other, n_batch=n_batch)

    def times(data: Any, indices: Any, others: Any, other_indices: Any) -> Any:
        return data * coordinates.at_other(indices, others, other_indices)

    return one._with(each(one, times, other.data, other.indices))


def add(lhs: Any, rhs: Any) -> Any:
    """The sum of two sparse arrays of one shape: the entries of both."""
    _check_same("add", lhs, rhs)
    n_batch, n_dense = min(lhs.n_batch, rhs.n_batch), min(lhs.n_dense, rhs.n_dense)
    parts = [bcoo_update_layout(m, n_batch=n_batch, n_dense=n_dense) for m in (lhs, rhs)]
    data = snp.concatenate([m.data for m in parts], n_batch)
    return lhs._made(data, snp.concatenate([m.indices for m in parts], n_batch), lhs.shape)


def _check_same(name: str, lhs: Any, rhs: Any) -> None:
    if lhs.shape != rhs.shape:
        raise location.error(
            errors.ShapeError,
            f"{name}: sparse arrays of shapes {lhs.shape} and {rhs.shape}",
            fix="give arrays of one shape; bcoo_broadcast_in_dim repeats one",
        )


def bcoo_reduce_sum(mat: Any, *, axes: Sequence[int]) -> Any:
    """A sum over axes: its entries may have the same indices."""
    chosen = set(canonical_axes(tuple(axes), mat.ndim, "bcoo_reduce_sum"))
    n, end = mat.n_batch, mat.n_batch + mat.n_sparse
    dense = tuple(a - mat.n_sparse + 1 for a in chosen if a >= end)
    data = masked(mat).sum(dense) if dense else masked(mat)
    kept = [i for i in range(mat.n_sparse) if n + i not in chosen]
    indices = outside(mat)[..., np.asarray(kept, int)]
    batch = [a for a in range(n) if a not in chosen]
    order = [*batch, *sorted(a for a in chosen if a < n), n]
    merged = math.prod(mat.data.shape[a] for a in order[len(batch) :])
    sizes = [mat.shape[a] for a in batch]
    data = snp.transpose(data, [*order, *range(n + 1, data.ndim)]).reshape(*sizes, merged, *data.shape[n + 1 :])
    indices = snp.transpose(indices, [*order, n + 1]).reshape(*sizes, merged, len(kept))
    return mat._made(data, indices, [size for a, size in enumerate(mat.shape) if a not in chosen])


def masked(mat: Any) -> Any:
    """The data, with zeros where an entry is no element."""
    return each(mat, lambda data, indices: coordinates.masked(data, indices, mat.sparse_shape))


def bcoo_dot_general(
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: None = None,
) -> Any:
    """`lax.dot_general` of arrays of which one is sparse, or both are; the result is sparse where both are."""
    (left, right), (left_batch, right_batch) = [[list(axes) for axes in pair] for pair in dimension_numbers]
    options = dict(precision=precision, preferred_element_type=preferred_element_type)
    lhs, rhs = (m if is_sparse(m) else snp.asarray(m) for m in (lhs, rhs))
    for ours, theirs in ((left, right), (left_batch, right_batch)):
        sizes = [tuple([m.shape[i] for i in axes]) for m, axes in ((lhs, ours), (rhs, theirs))]
        if sizes[0] != sizes[1]:
            raise location.error(
                errors.ShapeError,
                f"a product of shapes {lhs.shape} and {rhs.shape}: axes {tuple(ours)} of the first have sizes "
                f"{sizes[0]}, axes {tuple(theirs)} of the second {sizes[1]}",
                fix="give both the same sizes there; transpose one if its axes are in another order",
            )
    if is_sparse(lhs) and is_sparse(rhs):
        return _dot_sparse(lhs, rhs, ((left, right), (left_batch, right_batch)))
    if is_sparse(lhs):
        return _dot_dense(lhs, rhs, ((left, right), (left_batch, right_batch)), options)
    if is_sparse(rhs):
        found = _dot_dense(rhs, lhs, ((right, left), (right_batch, left_batch)), options)
        first = len(left_batch) + rhs.ndim - len(right) - len(right_batch)
        order = [*range(len(left_batch)), *range(first, found.ndim), *range(len(left_batch), first)]
        return snp.transpose(found, order)
    return dense_dot_general(lhs, rhs, dimension_numbers, **options)


def _dot_dense(lhs: Any, rhs: Any, numbers: Any, options: dict[str, Any]) -> Any:
    (left, right), (left_batch, right_batch) = numbers
    n = lhs.n_batch
    partner = dict(zip([*left, *left_batch], [*right, *right_batch]))
    mapped = sorted(partner[i] for i in range(n) if i in partner)
    inner_rhs = {j: k for k, j in enumerate(j for j in range(rhs.ndim) if j not in mapped)}

    def renumbered(ours: Sequence[int], theirs: Sequence[int]) -> tuple[list[int], list[int]]:
        pairs = [(i - n, inner_rhs[j]) for i, j in zip(ours, theirs) if i >= n]
        return [i for i, _ in pairs], [j for _, j in pairs]

    inner: Any = renumbered(left, right), renumbered(left_batch, right_batch)

    def function(data: Any, indices: Any, x: Any) -> Any:
        return coordinates.dot_dense(data, indices, x, lhs.shape[n:], inner, **options)

    for i in reversed(range(n)):
        # The axes of outer batches are gone where this one is mapped.
        outer = [partner[k] for k in range(i) if k in partner]
        place = partner[i] - sum(j < partner[i] for j in outer) if i in partner else None
        function = for_each(1, function, (0, 0, place))
    found = function(lhs.data, lhs.indices, rhs)
    # Axes in front are those of the batch; those that are contracted are summed, and the others put in order.
    inner_batch = [i for i in left_batch if i >= n]
    rest = [i for i in range(n, lhs.ndim) if i not in left and i not in left_batch]
    have = [i for i in range(n) if i not in left] + inner_batch + rest
    found = found.sum(tuple(i for i in range(n) if i in left)) if any(i < n for i in left) else found
    wanted = [*left_batch, *[i for i in range(lhs.ndim) if i not in left and i not in left_batch]]
    return snp.transpose(found, [*[have.index(i) for i in wanted], *range(len(have), found.ndim)])


def _dot_sparse(lhs: Any, rhs: Any, numbers: Any) -> Any:
    (left, right), (left_batch, right_batch) = numbers
    one, other = (bcoo_update_layout(m, n_batch=0, n_dense=0) for m in (lhs, rhs))
    parts = (one.data, one.indices), (other.data, other.indices)
    data, indices = coordinates.dot_sparse(*parts, (one.shape, other.shape), numbers)
    sizes = [lhs.shape[i] for i in left_batch]
    sizes += [size for i, size in enumerate(lhs.shape) if i not in (*left, *left_batch)]
    sizes += [size for i, size in enumerate(rhs.shape) if i not in (*right, *right_batch)]
    return lhs._made(data, indices, sizes)


def bcoo_dot_general_sampled(A: Any, B: Any, indices: Any, *, dimension_numbers: Any) -> Any:
    """The elements of a product of dense arrays at indices."""
    dense = dense_dot_general(A, B, dimension_numbers)
    return for_each(indices.ndim - 2, coordinates.extract)(indices, dense)


def matmul(left: Any, right: Any) -> Any:
    """`left @ right`, of which one is sparse, or both are."""
    if not left.ndim or not right.ndim:
        raise location.error(errors.ShapeError, "matmul: an operand has no axes", fix="use * to multiply by a number")
    batch = max(min(left.ndim, right.ndim) - 2, 0)
    if batch and left.shape[:-2] != right.shape[:-2]:
        raise unsupported(
            f"matmul: batches of shapes {left.shape[:-2]} and {right.shape[:-2]}",
            "give both the same batch, or one none",
        )
    axes = list(range(batch))
    numbers = (([left.ndim - 1], [max(right.ndim - 2, 0)]), (axes, axes))
    found = bcoo_dot_general(left, right, dimension_numbers=numbers)
    if batch or right.ndim <= 2:
        return found
    # The axes of the right array's batch come first.
    k, rest = left.ndim - 1, right.ndim - 2
    order = [*range(k, k + rest), *range(k), k + rest]
    return bcoo_transpose(found, permutation=order) if is_sparse(found) else snp.transpose(found, order)

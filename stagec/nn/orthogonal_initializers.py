"""Initial weights that are orthogonal matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from stagec import numpy as snp, random
from stagec.core import errors, location
from stagec.core.array import Array
from stagec.nn.initializer import Initializer, weights_dtype
from stagec.primitives.axes import as_shape, canonical_axis
from stagec.typing import ArrayLike, DTypeLike


def _weights(key: Any, shape: tuple[int, ...], scale: Any, column_axis: int, dtype: Any) -> Array:
    axis = canonical_axis(column_axis, len(shape), "orthogonal")
    columns = shape[axis]
    rows = math.prod(shape) // columns if columns else 0
    row_sizes = [n for i, n in enumerate(shape) if i != axis]
    found = random.orthogonal(key, rows, (), dtype, columns).reshape((*row_sizes, columns))
    return snp.array(scale, dtype) * snp.moveaxis(found, -1, axis)


def orthogonal(scale: ArrayLike = 1.0, column_axis: int = -1, dtype: DTypeLike = None) -> Initializer:
    """An initializer of matrices with orthonormal columns (or rows, if there are fewer), uniformly distributed.

    Args:
      scale: a factor of the weights.
      column_axis: the axis of the columns; the other axes together are the rows.

    >>> from stagec import random
    >>> w = orthogonal()(random.key(0), (3, 2))
    >>> abs(w.T @ w).round(4)
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    default = dtype

    def init(key: Any, shape: Sequence[int], dtype: DTypeLike = None) -> Array:
        sizes = as_shape(shape, "orthogonal")
        if len(sizes) < 2:
            raise location.error(
                errors.ShapeError,
                f"orthogonal: weights of shape {sizes}",
                fix="give orthogonal weights two axes or more",
            )
        return _weights(key, sizes, scale, column_axis, weights_dtype(dtype, default))

    return init


def delta_orthogonal(scale: ArrayLike = 1.0, column_axis: int = -1, dtype: DTypeLike = None) -> Initializer:
    """An initializer of convolutions: an orthogonal matrix at the center of the window, and zeros elsewhere.

    Source: Xiao et al., "Dynamical isometry and a mean field theory of CNNs" (2018).

    Args:
      scale: a factor of the weights.
      column_axis: the axis of the columns of the matrix.

    >>> from stagec import random
    >>> w = delta_orthogonal()(random.key(0), (3, 2, 2))
    >>> w[0]
    Array([[0., 0.],
           [0., 0.]], dtype=float32)
    """
    default = dtype

    def init(key: Any, shape: Sequence[int], dtype: DTypeLike = None) -> Array:
        sizes, wanted = as_shape(shape, "delta_orthogonal"), weights_dtype(dtype, default)
        if len(sizes) not in (3, 4, 5) or sizes[-1] < sizes[-2]:
            raise location.error(
                errors.ShapeError,
                f"delta_orthogonal: weights of shape {sizes}",
                fix="give a window of one to three axes, then inputs, and at least as many outputs",
            )
        center = tuple((n - 1) // 2 for n in sizes[:-2])
        matrix = _weights(key, sizes[-2:], scale, column_axis, wanted)
        return snp.zeros(sizes, wanted).at[center].set(matrix)

    return init

"""Sparse arrays from nothing but a shape."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import stagec.numpy as snp
from stagec import random
from stagec.core import dtypes, errors, location
from stagec.experimental.sparse.bcoo import BCOO
from stagec.experimental.sparse.bcsr import BCSR
from stagec.experimental.sparse.coordinates import for_each
from stagec.experimental.sparse.layout import bcoo_sort_indices
from stagec.experimental.sparse.matrices import COO, CSC, CSR

__all__ = ["empty", "eye", "random_bcoo"]


def _in_format(mat: BCOO, sparse_format: str) -> Any:
    formats: dict[str, Callable[[BCOO], Any]] = {
        "bcoo": lambda m: m,
        "bcsr": BCSR.from_bcoo,
        "coo": COO._from_bcoo,
        "csr": CSR._from_bcoo,
        "csc": CSC._from_bcoo,
    }
    if sparse_format not in formats:
        raise location.error(
            errors.UnsupportedError, f"sparse: format {sparse_format!r}", fix=f"use one of {', '.join(formats)}"
        )
    return formats[sparse_format](mat)


def empty(
    shape: Sequence[int],
    dtype: Any = None,
    index_dtype: Any = np.int32,
    sparse_format: str = "bcoo",
    *,
    n_batch: int = 0,
    n_dense: int = 0,
    nse: int = 0,
) -> Any:
    """A sparse array without elements; with `nse`, it has entries that are none.

    >>> from stagec.experimental import sparse
    >>> sparse.empty((2, 3)).todense().tolist()
    [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    sizes = tuple(shape)
    sparse = sizes[n_batch : len(sizes) - n_dense]
    data = snp.zeros((*sizes[:n_batch], nse, *sizes[len(sizes) - n_dense :]), dtype or dtypes.default_float())
    indices = snp.broadcast_to(snp.asarray(sparse, index_dtype), (*sizes[:n_batch], nse, len(sparse)))
    return _in_format(BCOO((data, indices), shape=sizes, indices_sorted=True, unique_indices=True), sparse_format)


def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: Any = None,
    index_dtype: Any = np.int32,
    sparse_format: str = "bcoo",
) -> Any:
    """A sparse matrix with ones along a diagonal.

    >>> from stagec.experimental import sparse
    >>> sparse.eye(2, 3, 1).todense().tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    columns = N if M is None else M
    rows = np.arange(max(-k, 0), min(N, columns - k))
    data = snp.ones(len(rows), dtype or dtypes.default_float())
    mat = BCOO(
        (data, np.stack([rows, rows + k], -1).astype(index_dtype)),
        shape=(N, columns),
        indices_sorted=True,
        unique_indices=True,
    )
    return _in_format(mat, sparse_format)


def random_bcoo(
    key: Any,
    shape: Sequence[int],
    *,
    dtype: Any = None,
    indices_dtype: Any = None,
    nse: float = 0.2,
    n_batch: int = 0,
    n_dense: int = 0,
    unique_indices: bool = True,
    sorted_indices: bool = False,
    generator: Callable[..., Any] = random.uniform,
    **kwds: Any,
) -> BCOO:
    """A sparse array with random elements at random places. The places are not those that JAX draws.

    Args:
      nse: how many entries, or, below 1, which part of the elements has one.
      generator: `(key, shape, dtype, **kwds) -> array`, which draws the elements.
    """
    sizes = tuple(shape)
    batch, sparse, dense = sizes[:n_batch], sizes[n_batch : len(sizes) - n_dense], sizes[len(sizes) - n_dense :]
    total = math.prod(sparse)
    count = min(int(nse if nse >= 1 else math.ceil(nse * total)), total if unique_indices else math.inf)
    of_data, of_places = random.split(key)
    keys = random.split(of_places, batch) if batch else of_places

    def draw(key: Any) -> Any:
        flat = random.choice(key, total, (int(count),), replace=not unique_indices)
        return snp.stack(snp.unravel_index(flat, sparse), -1) if sparse else snp.zeros((int(count), 0), int)

    indices = for_each(n_batch, draw)(keys).astype(indices_dtype or np.int32)
    data = generator(of_data, (*batch, int(count), *dense), dtype or dtypes.default_float(), **kwds)
    mat = BCOO((data, indices), shape=sizes, unique_indices=unique_indices)
    return bcoo_sort_indices(mat) if sorted_indices else mat

"""Hints of sparse arrays."""

import numpy as np

import stagec.numpy as snp
from stagec.experimental import sparse

X = np.eye(2, 3, dtype=np.float32)
M = sparse.BCOO.fromdense(X)
BATCH = sparse.BCOO.fromdense(np.stack([X, X]), n_batch=1)


def made(function, *args):
    return sparse.sparsify(function)(*args)


def scipys(**kwargs):
    import scipy.sparse

    return sparse.BCOO.from_scipy_sparse(scipy.sparse.csr_matrix(X), **kwargs)


CASES = [
    (
        "give both the same sizes there; transpose one if its axes are in another order",
        lambda: M @ np.ones(M.shape[1] + 1, np.float32),
        lambda: M @ np.ones(M.shape[1], np.float32),
    ),
    ("use * to multiply by a number", lambda: M @ 2.0, lambda: M * 2.0),
    (
        "give both the same batch, or one none",
        lambda: BATCH @ snp.ones((3, 3, 2)),
        lambda: (BATCH @ snp.ones((2, 3, 2)), BATCH @ snp.ones((3, 2))),
    ),
    (
        "give arrays of one shape; bcoo_broadcast_in_dim repeats one",
        lambda: M + M[:1],
        lambda: (M + M, M + sparse.bcoo_broadcast_in_dim(M[:1], shape=(2, 3), broadcast_dimensions=(0, 1))),
    ),
    (
        "multiply by an array of that shape, or of shape 1 along axes",
        lambda: M * snp.ones((1, 2, 3)),
        lambda: (M * snp.ones((2, 3)), M * snp.ones((2, 1))),
    ),
    ("give an index that the axis has", lambda: M[2], lambda: M[1]),
    ("give at most one part for each axis, and ... once", lambda: M[0, 0, 0], lambda: (M[0, 0], M[..., 0])),
    (
        "index m.todense(), or m.data and m.indices",
        lambda: M[np.array([0])],
        lambda: (M.todense()[np.array([0])], M.data[:1], M.indices[:1]),
    ),
    (
        "name axes of size 1",
        lambda: sparse.bcoo_squeeze(M, dimensions=(0,)),
        lambda: sparse.bcoo_squeeze(M[:1], dimensions=(0,)),
    ),
    (
        "make them one kind first, as with m.update_layout(n_batch=0, n_dense=0)",
        lambda: BATCH.reshape(3, 4),
        lambda: BATCH.update_layout(n_batch=0, n_dense=0).reshape(3, 4),
    ),
    (
        "make them one kind first, as with m.update_layout(n_batch=0, n_dense=0)",
        lambda: BATCH.T,
        lambda: BATCH.update_layout(n_batch=0, n_dense=0).T,
    ),
    ("give as many elements", lambda: M.reshape((5,)), lambda: M.reshape((6,))),
    ("name each axis once", lambda: M.transpose((0, 0)), lambda: M.transpose((1, 0))),
    (
        "transpose the array first",
        lambda: sparse.bcoo_broadcast_in_dim(M, shape=(3, 2), broadcast_dimensions=(1, 0)),
        lambda: sparse.bcoo_broadcast_in_dim(M.T, shape=(3, 2), broadcast_dimensions=(0, 1)),
    ),
    (
        "give arrays that differ in axis 0 alone",
        lambda: sparse.bcoo_concatenate([M, M[:, :2]], dimension=0),
        lambda: sparse.bcoo_concatenate([M, M[:1]], dimension=0),
    ),
    ("use update_layout", lambda: scipys(n_batch=1), lambda: scipys().update_layout(n_batch=1, on_inefficient=None)),
    (
        "data is (*batch, nse, *dense), indices (*batch, nse, n_sparse), shape (*batch, *sparse, *dense)",
        lambda: sparse.BCOO((np.ones(3), np.zeros((2, 2), int)), shape=(3, 3)),
        lambda: sparse.BCOO((np.ones(2), np.zeros((2, 2), int)), shape=(3, 3)),
    ),
    (
        "data is (*batch, nse, *dense), indices (*batch, nse), indptr (*batch, rows + 1)",
        lambda: sparse.BCSR((np.ones(3), np.zeros(3, int), np.zeros(3, int)), shape=(3, 3)),
        lambda: sparse.BCSR((np.ones(3), np.arange(3), np.arange(4)), shape=(3, 3)),
    ),
    (
        "give (rows, columns) as the shape, an array with a row and one with a column for each value; "
        "in CSR, indptr has rows + 1 elements in place of the rows, in CSC columns + 1 in place of the columns",
        lambda: sparse.CSR((np.ones(2), np.zeros(2, int), np.zeros(3, int)), shape=(3, 3)),
        lambda: sparse.CSR((np.ones(2), np.zeros(2, int), np.arange(3)), shape=(2, 3)),
    ),
    (
        "give a vector of the dtype of data",
        lambda: sparse.linalg.spsolve(np.ones(2, np.float32), np.arange(2), np.arange(3), np.arange(2)),
        lambda: sparse.linalg.spsolve(np.ones(2, np.float32), np.arange(2), np.arange(3), np.ones(2, np.float32)),
    ),
    ("divide by other.todense()", lambda: M / M, lambda: M / (M.todense() + 1)),
    (
        "give one with two of them",
        lambda: sparse.BCSR.from_bcoo(M.update_layout(n_dense=1, on_inefficient=None)),
        lambda: sparse.BCSR.from_bcoo(M),
    ),
    (
        "pass on_inefficient='warn' or None",
        lambda: M.update_layout(n_batch=1),
        lambda: M.update_layout(n_batch=1, on_inefficient=None),
    ),
    (
        "give numbers of 0 or more, whose sum is at most the number of axes",
        lambda: M.update_layout(n_batch=3),
        lambda: M.update_layout(n_batch=0, n_dense=0),
    ),
    (
        "make them all sparse, or all dense",
        lambda: made(lambda x, y: snp.concatenate([x, y]), M, X),
        lambda: (
            made(lambda x, y: snp.concatenate([x, y]), M, M),
            made(lambda x, y: snp.concatenate([sparse.todense(x), y]), M, X),
        ),
    ),
    ("divide by sparse.todense(x)", lambda: made(lambda x: 1 / x, M), lambda: made(lambda x: 1 / sparse.todense(x), M)),
    (
        "compute with sparse.todense(x)",
        lambda: made(lambda x: x**-1, M),
        lambda: made(lambda x: sparse.todense(x) ** -1, M),
    ),
    (
        "call sparse.todense(x), and compute with the dense array",
        lambda: made(snp.cos, M),
        lambda: made(lambda x: snp.cos(sparse.todense(x)), M),
    ),
    (
        "use one of bcoo, bcsr, coo, csr, csc",
        lambda: sparse.eye(3, sparse_format="dia"),
        lambda: [sparse.eye(3, sparse_format=f) for f in ("bcoo", "csc")],
    ),
]

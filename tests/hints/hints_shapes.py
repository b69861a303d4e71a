"""Hints of operations on shapes, slices and windows."""

import operator

import numpy as np
from hints_lax import P, V, X, stepped

import stagec
import stagec.numpy as snp
from stagec import lax

BIG = snp.ones(4096)

CASES = [
    # Shapes.
    (
        "cut no more than the axis has: a pad is -size or more",
        lambda: lax.pad(V, 0.0, [(-9, 0, 0)]),
        lambda: lax.pad(V, 0.0, [(-3, 0, 0)]),
    ),
    (
        "give (low, high, interior) for each axis, interior not negative",
        lambda: lax.pad(X, 0.0, [(1, 1, 0)]),
        lambda: lax.pad(X, 0.0, [(1, 1, 0), (1, 1, 0)]),
    ),
    (
        "pass one element of it, as in value[0]",
        lambda: lax.pad(V, V, [(1, 1, 0)]),
        lambda: lax.pad(V, V[0], [(1, 1, 0)]),
    ),
    *[
        (
            f"put the arrays into brackets, as in {join.__name__}([a, b])",
            lambda join=join: join(X, X),
            lambda join=join: join([X, X]),
        )
        for join in (snp.concatenate, snp.stack, snp.vstack, snp.hstack, snp.dstack)
    ],
    (
        "put the arrays into brackets, as in concatenate([a, b])",
        lambda: stagec.jit(lambda a, b: lax.concatenate(a, b))(X, X),
        lambda: stagec.jit(lambda a, b: lax.concatenate([a, b], 0))(X, X),
    ),
    (
        "sizes and axes are Python integers; join several arrays with snp.stack([a, b])",
        lambda: snp.sum(X, X),
        lambda: snp.sum(snp.stack([X, X])),
    ),
    (
        "pass dtype=x.dtype for the dtype of an array; put several arrays into brackets, as in f([a, b])",
        lambda: snp.array(X, X),
        lambda: (snp.array(X, dtype=X.dtype), snp.array([X, X])),
    ),
    (
        "pass a name, such as 'float32'; several sizes, axes or numbers go into one tuple, as in zeros((2, 3))",
        lambda: snp.zeros(2, 3),
        lambda: (snp.zeros(2, "float32"), snp.zeros((2, 3)), snp.sum(X, (0, 1)), snp.array((1, 2, 3))),
    ),
    (
        "pass the sizes as one tuple, as in reshape(x, (2, 3))",
        lambda: snp.reshape(X, 3, 2),
        lambda: snp.reshape(X, (3, 2)),
    ),
    ("use x.reshape(shape) for another shape", lambda: X.view(3, 2), lambda: X.reshape((3, 2))),
    (
        "pass the arrays one by one, as in f(a, b) or f(*arrays)",
        lambda: snp.einsum("ij,kj", [X, X]),
        lambda: (snp.einsum("ij,kj", X, X), snp.einsum("ij,kj", *[X, X])),
    ),
    (
        "pass the arrays one by one, as in f(a, b) or f(*arrays)",
        lambda: snp.meshgrid([V, V[:2]]),
        lambda: snp.meshgrid(V, V[:2]),
    ),
    (
        "write the subscripts first, as in einsum('ij,jk->ik', a, b)",
        lambda: snp.einsum(X, X, "ij,kj"),
        lambda: snp.einsum("ij,kj->ik", X, X),
    ),
    ("pass one or more arrays", lambda: lax.concatenate([], 0), lambda: lax.concatenate([V], 0)),
    (
        "all sizes but that of axis 0 must agree; slice or pad one of them",
        lambda: lax.concatenate([X, snp.ones((2, 2))], 0),
        lambda: (
            lax.concatenate([X[:, :2], snp.ones((2, 2))], 0),
            lax.concatenate([X, snp.pad(snp.ones((2, 2)), ((0, 0), (0, 1)))], 0),
        ),
    ),
    (
        "give two cases for a bool; select among more by an int32",
        lambda: lax.select_n(V > 1, V, V, V),
        lambda: (lax.select_n(V > 1, V, V), lax.select_n(P, V, V, V)),
    ),
    ("name each of the 2 axes once", lambda: lax.transpose(X, (0, 0)), lambda: lax.transpose(X, (1, 0))),
    ("give a stop_dimension after the start_dimension", lambda: lax.collapse(X, 1, 1), lambda: lax.collapse(X, 0, 2)),
    (
        "name axes of size 1 only; index others, as in x[0], or reduce over them",
        lambda: lax.squeeze(X, (0,)),
        lambda: (lax.squeeze(X[None], (0,)), X[0], X.sum(0)),
    ),
    (
        "keep the number of elements; -1 stands for the size that fits",
        lambda: lax.reshape(X, (4,)),
        lambda: (lax.reshape(X, (6,)), X.reshape(-1)),
    ),
    (
        "name distinct dimensions, along which the operand's size is 1 or that of the result",
        lambda: lax.broadcast_in_dim(V, (3, 2), (1,)),
        lambda: (lax.broadcast_in_dim(V, (3, 2), (0,)), lax.broadcast_in_dim(V[:1], (3, 2), (1,))),
    ),
    (
        "name the result's axis that each axis of the operand becomes",
        lambda: lax.broadcast_in_dim(X, (2, 3), (0,)),
        lambda: lax.broadcast_in_dim(X, (2, 3), (0, 1)),
    ),
    # Reductions and sorting.
    (
        "reduce over an axis that has elements",
        lambda: lax.argmax(snp.ones((0, 3)), 0, np.int32),
        lambda: lax.argmax(snp.ones((0, 3)), 1, np.int32),
    ),
    (
        "give one initial value for each",
        lambda: lax.reduce((V, V), (0.0,), lambda a, b: a, (0,)),
        lambda: lax.reduce((V, V), (0.0, 0.0), lambda a, b: (a[0] + b[0], a[1] + b[1]), (0,)),
    ),
    (
        "pass operands of one shape, and numbers as initial values",
        lambda: lax.reduce((V, V[:2]), (0.0, 0.0), lambda a, b: (a[0] * b[0] + a[0], a[1]), (0,)),
        lambda: lax.reduce((V, V), (0.0, 0.0), lambda a, b: (a[0] * b[0] + a[0], a[1] + b[1]), (0,)),
    ),
    (
        "return one scalar of the operand's dtype for each operand",
        lambda: lax.reduce(V, 0.0, lambda a, b: (a + b > 0) | True, (0,)),
        lambda: lax.reduce(V, 0.0, lambda a, b: a * b + a, (0,)),
    ),
    (
        "combine with plain numbers only, or apply the array to the operand beforehand",
        lambda: lax.reduce(
            V, 0.0, lambda a, b: a + b * snp.ones(2000).sum() * X.at[0, 0].set(1).sum() + BIG.sum(), (0,)
        ),
        lambda: (lax.reduce(V, 0.0, lambda a, b: 2 * a + b, (0,)), lax.reduce(V * BIG.sum(), 0.0, operator.add, (0,))),
    ),
    (
        "give k from 0 to the size of the axis",
        lambda: snp.top_k(V, 4, mode="smallest"),
        lambda: (snp.top_k(V, 0, mode="smallest"), snp.top_k(V, 3, mode="smallest")),
    ),
    ("give k from 0 to the size of the last axis", lambda: lax.top_k(V, 4), lambda: (lax.top_k(V, 0), lax.top_k(V, 3))),
    ("pass at least one array", lambda: lax.sort(()), lambda: lax.sort((V,))),
    (
        "give num_keys from 1 to the number of operands",
        lambda: lax.sort((V, V), num_keys=3),
        lambda: (lax.sort((V, V), num_keys=1), lax.sort((V, V), num_keys=2)),
    ),
    ("broadcast them to one shape", lambda: lax.sort((V, V[:2])), lambda: lax.sort((V, snp.broadcast_to(V[:1], (3,))))),
    # Rules that do not exist.
    (
        "use lax.stop_gradient on its operands, or give the function around it a rule with stagec.custom_jvp",
        lambda: stagec.grad(lambda x: lax.nextafter(x, 2.0))(1.0),
        lambda: (
            stagec.grad(lambda x: x * lax.nextafter(lax.stop_gradient(x), 2.0))(1.0),
            stagec.grad(stepped)(1.0, 2.0),
        ),
    ),
    (
        "use lax.stop_gradient on it, if it is a constant",
        lambda: stagec.grad(lambda a: lax.zeta(a, 2.0))(3.0),
        lambda: stagec.grad(lambda a: a * lax.zeta(lax.stop_gradient(a), 2.0))(3.0),
    ),
    # Slices.
    (
        "convert them with astype(int)",
        lambda: lax.dynamic_slice(V, (1.0,), (1,)),
        lambda: lax.dynamic_slice(V, (snp.array(1.0).astype(int),), (1,)),
    ),
    (
        "give one start index for each axis",
        lambda: lax.dynamic_slice(X, (0,), (1, 1)),
        lambda: lax.dynamic_slice(X, (0, 0), (1, 1)),
    ),
    ("pass a tuple of integers", lambda: lax.dynamic_slice(V, 0, (1,)), lambda: lax.dynamic_slice(V, (0,), (1,))),
    (
        "pass an update of the operand's rank, no larger than it",
        lambda: lax.dynamic_update_slice(V, X, (0,)),
        lambda: lax.dynamic_update_slice(V, X[0, :2], (0,)),
    ),
    (
        "give one size for each axis, at most the operand's",
        lambda: lax.dynamic_slice(V, (0,), (4,)),
        lambda: lax.dynamic_slice(V, (0,), (3,)),
    ),
    ("give sizes that add up to the size of the axis", lambda: lax.split(V, (1, 1)), lambda: lax.split(V, (1, 2))),
    (
        "keep 0 <= start <= limit <= size and strides positive; x[start:stop] clips",
        lambda: lax.slice(V, (0,), (9,)),
        lambda: (lax.slice(V, (0,), (3,)), V[0:9]),
    ),
    (
        "give 2 of each; these are (0,), (1,) and (1,)",
        lambda: lax.slice(X, (0,), (1,)),
        lambda: lax.slice(X, (0, 0), (1, 1)),
    ),
    # Windows.
    (
        "give (low, high) for each of 1 axes",
        lambda: lax.reduce_window(V, 0.0, lax.add, (2,), padding=((0, 0), (0, 0))),
        lambda: lax.reduce_window(V, 0.0, lax.add, (2,), padding=((0, 0),)),
    ),
    (
        "pass one element of it, as in value[0]",
        lambda: lax.reduce_window(V, V, lambda a, b: a * b + a, (2,)),
        lambda: lax.reduce_window(V, V[0], lambda a, b: a + b * 2, (2,)),
    ),
    (
        "give one initial value for each",
        lambda: lax.reduce_window((V, V), 0.0, lambda a, b: a, (2,)),
        lambda: [
            lax.reduce_window(V, 0.0, lambda a, b: a, (2,)),
            lax.reduce_window((V, V), (0.0, 0.0), lambda a, b: a, (2,)),
        ],
    ),
    (
        "pass operands of one shape, such as broadcast ones",
        lambda: lax.reduce_window((X, V), (0.0, 0.0), lambda a, b: a, (2, 2)),
        lambda: lax.reduce_window((X, snp.broadcast_to(V[:1], X.shape)), (0.0, 0.0), lambda a, b: a, (2, 2)),
    ),
    (
        "cut no more than the axis has: a pad is -size or more",
        lambda: lax.reduce_window(V, 0.0, lax.add, (2,), padding=((-9, 0),)),
        lambda: lax.reduce_window(V, 0.0, lax.add, (2,), padding=((-1, 0),)),
    ),
    (
        "give one positive integer for each of 1 axes",
        lambda: lax.reduce_window(V, 0.0, lax.add, (2,), (0,)),
        lambda: lax.reduce_window(V, 0.0, lax.add, (2,), (1,)),
    ),
    (
        "use 'SAME', 'SAME_LOWER', 'VALID', or (low, high) for each axis",
        lambda: lax.reduce_window(V, 0.0, lax.add, (2,), padding="BEST"),
        lambda: [
            lax.reduce_window(V, 0.0, lax.add, (2,), padding=p) for p in ("SAME", "SAME_LOWER", "VALID", ((0, 1),))
        ],
    ),
]

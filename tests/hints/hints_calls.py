"""Hints about functions and numbers that other functions are called with."""

import numpy as np
from hints_lax import PUT_ROWS, V, X

import stagec
import stagec.numpy as snp
from stagec import image, lax, random


def cube(x, n=3):
    return x**n


def rows_read(numbers):
    return lax.gather(X, np.array([[0]]), numbers, (1, 3))


CASES = [
    # Functions.
    (
        "name some of x, n",
        lambda: stagec.custom_jvp(cube, nondiff_argnames=("m",)),
        lambda: stagec.custom_jvp(cube, nondiff_argnames=("n",)),
    ),
    (
        "define it as a function of i, carry",
        lambda: lax.fori_loop(0, 3, lambda x: x, 0.0),
        lambda: lax.fori_loop(0, 3, lambda i, carry: carry, 0.0),
    ),
    (
        "define it as a function of operand_0, operand_1",
        lambda: lax.cond(True, lambda x: x, lambda x, y: y, 1.0, 2.0),
        lambda: lax.cond(True, lambda x, y: x, lambda x, y: y, 1.0, 2.0),
    ),
    (
        "pass its arguments after the functions",
        lambda: lax.cond(True, lambda x: x, lambda x: -x),
        lambda: lax.cond(True, lambda x: x, lambda x: -x, 1.0),
    ),
    (
        "pass the function itself, as in lax.scan(f, init, xs), not its result",
        lambda: lax.scan(3.0, 0.0, V),
        lambda: lax.scan(lambda c, x: (c, x), 0.0, V),
    ),
    (
        "pass the function itself, as in lax.switch(i, [f, g], x), not its result",
        lambda: lax.switch(0, 3.0),
        lambda: lax.switch(0, [snp.sin, snp.cos], V),
    ),
    (
        "return the containers of elems",
        lambda: lax.associative_scan(lambda a, b: (a, b), V),
        lambda: lax.associative_scan(lambda a, b: a + b, V),
    ),
    (
        "pass one cotangent with the structure of the result, such as a tuple for a tuple",
        lambda: stagec.vjp(lambda x: (x, x), 1.0)[1](1.0, 2.0),
        lambda: stagec.vjp(lambda x: (x, x), 1.0)[1]((1.0, 2.0)),
    ),
    (
        "close over one of the two, or use stagec.vjp, which differentiates functions that are not linear",
        lambda: stagec.linear_transpose(lambda x: x * x, V)(V),
        lambda: (stagec.linear_transpose(lambda x: x * V, V)(V), stagec.vjp(lambda x: x * x, V)[1](V)),
    ),
    (
        "pass at least one array in xs",
        lambda: lax.map(lambda x: x, ()),
        lambda: lax.map(lambda x: x, (V,)),
    ),
    (
        "give a positive integer; None or 0 goes through the rows one by one",
        lambda: lax.map(snp.sin, V, batch_size=-1),
        lambda: [lax.map(snp.sin, V, batch_size=n) for n in (2, 0, None)],
    ),
    # Operations.
    (
        "pass lax.GatherDimensionNumbers(...)",
        lambda: rows_read(None),
        lambda: rows_read(lax.GatherDimensionNumbers((1,), (0,), (0,))),
    ),
    (
        "pass lax.ScatterDimensionNumbers(...)",
        lambda: lax.scatter(X, np.array([[0]]), X[:1], None),
        lambda: lax.scatter(X, np.array([[0]]), X[:1], PUT_ROWS),
    ),
    (
        "pass one number, or use snp.full, which broadcasts",
        lambda: lax.full((2, 3), V),
        lambda: (lax.full((2, 3), 1.0), snp.full((2, 3), V)),
    ),
    (
        "pass the arrays to choose from after which",
        lambda: lax.select_n(V > 1),
        lambda: lax.select_n(V > 1, V, V),
    ),
    (
        "give one number of each for each axis in spatial_dims",
        lambda: image.scale_and_translate(X, (4, 3), (0,), V, V, "linear"),
        lambda: image.scale_and_translate(X, (4, 3), (0,), V[:1], V[:1], "linear"),
    ),
    ("pass a number for start", lambda: snp.arange(None, 3), lambda: snp.arange(0, 3)),
    (
        "append a component of 0, as snp.cross does",
        lambda: snp.linalg.cross(X, X[:, :2]),
        lambda: (snp.linalg.cross(X, snp.pad(X[:, :2], ((0, 0), (0, 1)))), snp.cross(X, X[:, :2])),
    ),
    ("give numbers of 0 or more", lambda: snp.repeat(V, -1), lambda: snp.repeat(V, 0)),
    (
        "pass a vector of edges; stagec.vmap maps over several",
        lambda: snp.digitize(V, X),
        lambda: (snp.digitize(V, X[0]), stagec.vmap(snp.digitize, in_axes=(None, 0))(V, X)),
    ),
    (
        "use one of 'scan', 'scan_unrolled', 'sort', 'compare_all', or leave method out",
        lambda: snp.searchsorted(V, V, method="best"),
        lambda: [snp.searchsorted(V, V, method=m) for m in ("scan", "scan_unrolled", "sort", "compare_all")],
    ),
    (
        "use 'largest' or 'smallest'",
        lambda: snp.top_k(V, 1, mode="last"),
        lambda: (snp.top_k(V, 1, mode="largest"), snp.top_k(V, 1, mode="smallest")),
    ),
    (
        "use 'exact' or 'approximate'",
        lambda: random.gamma(random.key(0), 2.0, method="quick"),
        lambda: [random.gamma(random.key(0), 2.0, method=m) for m in ("exact", "approximate")],
    ),
    (
        "take fewer, or pass replace=True",
        lambda: random.choice(random.key(0), 3, (4,), replace=False),
        lambda: (random.choice(random.key(0), 3, (3,), replace=False), random.choice(random.key(0), 3, (4,))),
    ),
    (
        "choose from one element at least",
        lambda: random.choice(random.key(0), 0, (4,)),
        lambda: random.choice(random.key(0), 1, (4,)),
    ),
    (
        "use mode='low' or mode='high'",
        lambda: random.gumbel(random.key(0), (2,), mode="best"),
        lambda: [random.gumbel(random.key(0), (2,), mode=m) for m in ("low", "high")],
    ),
    (
        "count from 0, or leave allow_negative_indices out",
        lambda: lax.dynamic_slice(V, (-1,), (1,), allow_negative_indices=False),
        lambda: (lax.dynamic_slice(V, (2,), (1,), allow_negative_indices=False), lax.dynamic_slice(V, (-1,), (1,))),
    ),
    (
        "leave one of the two out",
        lambda: random.key(0, impl="threefry2x32", dtype=random.key_dtype()),
        lambda: (random.key(0, impl="threefry2x32"), random.key(0, dtype=random.key_dtype())),
    ),
]

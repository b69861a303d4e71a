"""Hints of `stagec.numpy`: reductions, sorting, statistics, padding and positions."""

import math

from hints_numpy import EMPTY, C, M, P, V, X

import stagec
import stagec.numpy as snp

CASES = [
    # Mapping.
    (
        "give an axis from -2 to 1",
        lambda: snp.apply_along_axis(snp.sum, 5, X),
        lambda: [snp.apply_along_axis(snp.sum, i, X) for i in range(-2, 2)],
    ),
    (
        "give an array with axes",
        lambda: snp.apply_along_axis(snp.sum, 0, V[0]),
        lambda: snp.apply_along_axis(snp.sum, 0, V),
    ),
    (
        "return arrays with the axes of the signature",
        lambda: snp.vectorize(lambda x: x.sum(), signature="(n)->(n)")(V),
        lambda: snp.vectorize(lambda x: x * 2, signature="(n)->(n)")(V),
    ),
    (
        "return a tuple with as many arrays as the signature names",
        lambda: snp.vectorize(lambda x: x, signature="(n)->(n),(n)")(V),
        lambda: snp.vectorize(lambda x: (x, x), signature="(n)->(n),(n)")(V),
    ),
    (
        "reshape one of them; axes are matched from the last, and only size 1 stretches",
        lambda: snp.vectorize(lambda x, y: x + y)(V, V[:2]),
        lambda: snp.vectorize(lambda x, y: x + y)(V, V[:1]),
    ),
    (
        "pass arrays whose axes of one name have one size",
        lambda: snp.vectorize(snp.dot, signature="(n),(n)->()")(V, V[:2]),
        lambda: snp.vectorize(snp.dot, signature="(n),(n)->()")(V, V),
    ),
    (
        "pass an array with at least 1 axes",
        lambda: snp.vectorize(snp.sum, signature="(n)->()")(1.0),
        lambda: snp.vectorize(snp.sum, signature="(n)->()")(V),
    ),
    (
        'write it like "(m,n),(n)->(m)"',
        lambda: snp.vectorize(snp.dot, signature="m,n")(V, V),
        lambda: snp.vectorize(snp.dot, signature="(m,n),(n)->(m)")(M, V),
    ),
    (
        "give as many arguments as the signature names, or exclude some",
        lambda: snp.vectorize(lambda x, y: x, signature="(n)->(n)")(V, 1),
        lambda: snp.vectorize(lambda x, y: x, signature="(n)->(n)", excluded={1})(V, 1),
    ),
    (
        "give positions from 0, and names",
        lambda: snp.vectorize(abs, excluded={-1})(V),
        lambda: snp.vectorize(lambda x, p: x, excluded={0, "p"})(V, p=1),
    ),
    (
        "pad or reshape it first, so that the bytes of the last axis are a multiple of the new dtype's size",
        lambda: V.astype("float16").view("float32"),
        lambda: (
            snp.pad(V.astype("float16"), (0, 1)).view("float32"),
            X.astype("float16").reshape(3, 2).view("float32"),
        ),
    ),
    # Padding.
    ("give positions from -3 to 2", lambda: snp.delete(V, 5), lambda: [snp.delete(V, i) for i in range(-3, 3)]),
    ("give positions from -3 to 3", lambda: snp.insert(V, 5, 0), lambda: [snp.insert(V, i, 0) for i in range(-3, 4)]),
    (
        "use reflect_type='even' or 'odd'",
        lambda: snp.pad(V, 1, mode="reflect", reflect_type="best"),
        lambda: [snp.pad(V, 1, mode="reflect", reflect_type=t) for t in ("even", "odd")],
    ),
    ("pad with mode='constant'", lambda: snp.pad(EMPTY, 1, mode="edge"), lambda: snp.pad(EMPTY, 1, mode="constant")),
    (
        "give one number, one pair, or a pair for each axis",
        lambda: snp.pad(X, ((1, 1), (1, 1), (1, 1))),
        lambda: (snp.pad(X, 1), snp.pad(X, (1, 2)), snp.pad(X, ((1, 1), (2, 2)))),
    ),
    ("widths are integers; use // instead of / to compute them", lambda: snp.pad(V, 3 / 2), lambda: snp.pad(V, 3 // 2)),
    (
        "its options are constant_values",
        lambda: snp.pad(V, 1, mode="constant", end_values=1),
        lambda: snp.pad(V, 1, mode="constant", constant_values=1),
    ),
    (
        "use one of constant, edge, empty, linear_ramp, maximum, mean, median, minimum, reflect, symmetric, wrap",
        lambda: snp.pad(V, 1, mode="best"),
        lambda: [
            snp.pad(V, 1, mode=m)
            for m in "constant edge empty linear_ramp maximum mean median minimum reflect symmetric wrap".split()
        ],
    ),
    ("cut with a slice, as in x[1:]", lambda: snp.pad(V, -1), lambda: V[1:-1]),
    # Positions.
    (
        "use snp.diag_indices(n), with the smallest size",
        lambda: snp.diag_indices_from(X),
        lambda: X[snp.diag_indices(2)],
    ),
    (
        "use snp.tril_indices(n, k, m), with the sizes of two axes",
        lambda: snp.tril_indices_from(P),
        lambda: snp.tril_indices(2, 0, 3),
    ),
    (
        "use snp.triu_indices(n, k, m), with the sizes of two axes",
        lambda: snp.triu_indices_from(P),
        lambda: snp.triu_indices(2, 0, 3),
    ),
    ("flatten it with x.ravel()", lambda: snp.ix_(X), lambda: snp.ix_(P.ravel())),
    (
        "use order='C' or order='F'",
        lambda: snp.ravel_multi_index((P,), (3,), order="K"),
        lambda: [snp.ravel_multi_index((P,), (3,), order=o) for o in "CF"],
    ),
    (
        "use mode='raise', 'clip' or 'wrap'",
        lambda: snp.ravel_multi_index((P,), (3,), mode="best"),
        lambda: [snp.ravel_multi_index((P,), (3,), mode=m) for m in ("raise", "clip", "wrap")],
    ),
    (
        "use mode='clip' or mode='wrap'",
        lambda: snp.ravel_multi_index((P,), (2,)),
        lambda: [snp.ravel_multi_index((P,), (2,), mode=m) for m in ("clip", "wrap")],
    ),
    (
        "give one array of indices for each size in dims",
        lambda: snp.ravel_multi_index((P,), (3, 3)),
        lambda: snp.ravel_multi_index((P, P), (3, 3)),
    ),
    ("use snp.atleast_1d(x)", lambda: snp.nonzero(V[0]), lambda: snp.nonzero(snp.atleast_1d(V[0]))),
    (
        "use mode='clip', 'wrap' or 'fill'",
        lambda: snp.take(V, P, mode="best"),
        lambda: [snp.take(V, P, mode=m) for m in ("clip", "wrap", "fill")],
    ),
    (
        "use mode='clip', 'wrap' or 'fill'",
        lambda: snp.take(V, P, mode="raise"),
        lambda: [snp.take(V, P, mode=m) for m in ("clip", "wrap", "fill")],
    ),
    # Broadcasting.
    (
        "reshape one operand; axes are matched from the last, and only size 1 stretches",
        lambda: V + snp.ones(2),
        lambda: V[:, None] + snp.ones(2),
    ),
    (
        "add an axis with operand[:, None], so that rows are matched instead of columns",
        lambda: snp.ones((3, 4)) + V,
        lambda: snp.ones((3, 4)) + V[:, None],
    ),
    (
        "reshape one of them; axes are matched from the last, and only size 1 stretches",
        lambda: snp.broadcast_shapes((2,), (3,)),
        lambda: snp.broadcast_shapes((2, 1), (3,)),
    ),
    # Quantiles and reductions.
    ("take the real part, x.real", lambda: snp.median(C), lambda: snp.median(C.real)),
    (
        "use one of linear, lower, higher, midpoint, nearest, inverted_cdf",
        lambda: snp.quantile(V, 0.5, method="hazen"),
        lambda: [snp.quantile(V, 0.5, method=m) for m in "linear lower higher midpoint nearest inverted_cdf".split()],
    ),
    (
        "pass method='inverted_cdf'",
        lambda: snp.quantile(V, 0.5, weights=V),
        lambda: snp.quantile(V, 0.5, weights=V, method="inverted_cdf"),
    ),
    (
        "give a weight for each element, or for each position along one axis",
        lambda: snp.quantile(V, 0.5, weights=V[:2], method="inverted_cdf"),
        lambda: snp.quantile(V, 0.5, weights=V, method="inverted_cdf"),
    ),
    (
        "pass initial=, or reduce over axes that have elements",
        lambda: snp.max(EMPTY),
        lambda: (snp.max(EMPTY, initial=0), snp.max(EMPTY, axis=1)),
    ),
    (
        "pass initial=, the result where no element is selected",
        lambda: snp.max(V, where=V > 1),
        lambda: snp.max(V, where=V > 1, initial=0),
    ),
    (
        "broadcast the array first, snp.broadcast_to(x, mask.shape)",
        lambda: snp.sum(V, where=X > 0),
        lambda: snp.sum(snp.broadcast_to(V, X.shape), where=X > 0),
    ),
    (
        "give one number, or one for each entry of the axis",
        lambda: snp.repeat(V, [1, 2]),
        lambda: (snp.repeat(V, 2), snp.repeat(V, [1, 2, 3])),
    ),
    # Running sums and differences.
    (
        "give one coordinate for each sample",
        lambda: snp.gradient(V, snp.ones(2)),
        lambda: snp.gradient(V, snp.arange(3.0)),
    ),
    (
        "give two samples or more, or name other axes with axis=",
        lambda: snp.gradient(snp.ones((1, 3))),
        lambda: (snp.gradient(V), snp.gradient(snp.ones((1, 3)), axis=1)),
    ),
    (
        "give one distance, or one for each axis",
        lambda: snp.gradient(M, 1.0, 1.0, 1.0),
        lambda: (snp.gradient(M, 1.0), snp.gradient(M, 1.0, 1.0)),
    ),
    ("use edge_order=1", lambda: snp.gradient(V, edge_order=2), lambda: snp.gradient(V, edge_order=1)),
    ("give n of 0 or more", lambda: snp.diff(V, -1), lambda: snp.diff(V, 0)),
    ("name the axis to run along, axis=0", lambda: snp.cumulative_sum(X), lambda: snp.cumulative_sum(X, axis=0)),
    # Sets and sorting.
    (
        "check x.size first, or pass fill_value=",
        lambda: snp.unique(EMPTY, size=2),
        lambda: snp.unique(EMPTY, size=2, fill_value=0),
    ),
    (
        "pass a sorted vector, and side='left' or 'right'",
        lambda: snp.searchsorted(X, 1.0),
        lambda: [snp.searchsorted(V.sort(), 1.0, side=s) for s in ("left", "right")],
    ),
    ("give kth from -3 to 2", lambda: snp.partition(V, 5), lambda: [snp.partition(V, k) for k in range(-3, 3)]),
    ("pass at least one key", lambda: snp.lexsort([]), lambda: snp.lexsort([V])),
    ("leave them out; every sort is stable", lambda: snp.sort(V, kind="stable"), lambda: snp.sort(V)),
    # Statistics.
    (
        "use mode='full', 'same' or 'valid'",
        lambda: snp.convolve(V, V, "best"),
        lambda: [snp.convolve(V, V, m) for m in ("full", "same", "valid")],
    ),
    (
        "pass vectors that are not empty; x.ravel() flattens",
        lambda: snp.convolve(X, V),
        lambda: snp.convolve(X.ravel(), V),
    ),
    ("give one weight for each observation", lambda: snp.cov(V, aweights=V[:2]), lambda: snp.cov(V, aweights=V)),
    ("give a row for each variable", lambda: snp.cov(snp.ones((2, 2, 2))), lambda: snp.cov(snp.ones((4, 2)))),
    ("give a number of bins of 1 or more", lambda: snp.histogram(V, 0), lambda: snp.histogram(V, 1)),
    (
        "give a number of bins, or edges of rank 1",
        lambda: snp.histogram(V, X),
        lambda: (snp.histogram(V, 3), snp.histogram(V, snp.array([0.0, 2.0]))),
    ),
    ("give one weight for each element", lambda: snp.bincount(P, weights=V[:2]), lambda: snp.bincount(P, weights=V)),
    ("flatten it with x.ravel()", lambda: snp.bincount(X.astype(int)), lambda: snp.bincount(X.astype(int).ravel())),
    ("count integers; convert with astype(int)", lambda: snp.bincount(V), lambda: snp.bincount(V.astype(int))),
    # Values.
    (
        "pass numbers, arrays, or nested lists of them",
        lambda: snp.array(object()),
        lambda: (snp.array(1), snp.array(V), snp.array([[1], [2]])),
    ),
    (
        "give every row the same length, as by padding short rows",
        lambda: snp.array([[1, 2], [3]]),
        lambda: snp.array([[1, 2], [3, 0]]),
    ),
    (
        "give every row the same length, as by padding short rows",
        lambda: snp.sum([[1, 2], [3]]),
        lambda: snp.sum(snp.array([[1, 2], [3, 0]])),
    ),
    (
        "give every row the same length, as by padding short rows",
        lambda: stagec.jit(lambda x: snp.array([[x, x], [x]]))(1),
        lambda: stagec.jit(lambda x: snp.array([[x, x], [x, 0]]))(1),
    ),
    (
        "keep values that are not numbers outside of arrays; write nan for a missing number",
        lambda: snp.array([1.0, None]),
        lambda: snp.array([1.0, math.nan]),
    ),
    (
        "write it as a float, or use a wider dtype",
        lambda: snp.array([300], "int8"),
        lambda: (snp.array([300.0]), snp.array([300], "int16")),
    ),
    (
        "use a signed dtype, such as int32",
        lambda: snp.uint8(-1),
        lambda: snp.int32(-1),
    ),
    (
        "leave order out; arrays are transposed with x.T",
        lambda: snp.array([[1, 2]], order="F"),
        lambda: snp.array([[1, 2]]).T,
    ),
]

"""Wrong calls of NumPy's functions."""

import numpy as np
from data import B, F, N, V


def with_ranks_that_differ(j):
    with j.numpy_rank_promotion("raise"):
        return j.numpy.asarray(F) + j.numpy.asarray(V)


def with_dtypes_that_differ(j):
    with j.numpy_dtype_promotion("strict"):
        return j.numpy.asarray(N) + j.numpy.asarray(V)


CALLS = {
    "arange complex": (lambda j: j.numpy.arange(3j), "arange: the bounds must be real numbers, got 3j"),
    "arange step zero": (lambda j: j.numpy.arange(0, 3, 0), "arange: step must not be zero"),
    "arange string": (lambda j: j.numpy.arange("a"), "arange: the bounds must be real numbers, got 'a'"),
    "arange none": (lambda j: j.numpy.arange(None), "arange: start is None"),
    "arange vector": (lambda j: j.numpy.arange(N), "arange: the bounds must be real numbers, got array([0, 1, 2],"),
    "np reshape": (lambda j: j.numpy.reshape(F, (4,)), "reshape: cannot reshape array of size 6 into shape (4,)"),
    "np reshape order": (lambda j: j.numpy.reshape(F, (6,), order="K"), "reshape: order is 'K'"),
    "np reshape list arg": (
        lambda j: j.numpy.reshape([[1, 2]], (2,)),
        "a: expected an array or a number, got list: [[1, 2]]",
    ),
    "np reshape float": (
        lambda j: j.numpy.reshape(F, (6.0,)),
        "reshape: each size of a shape must be an integer, got float: 6.0",
    ),
    "np concatenate empty": (lambda j: j.numpy.concatenate([]), "concatenate: need at least one array to join"),
    "np concatenate axis": (
        lambda j: j.numpy.concatenate([V, V], axis=1),
        "concatenate: axis 1 is out of bounds for array of dimension 1",
    ),
    "np concatenate scalar": (
        lambda j: j.numpy.concatenate([1.0, 2.0]),
        "concatenate: arrays of rank 0 cannot be joined",
    ),
    "np stack shapes": (
        lambda j: j.numpy.stack([V, F]),
        "stack: all input arrays must have the same shape, got float32[3],",
    ),
    "np stack empty": (lambda j: j.numpy.stack([]), "stack: need at least one array to join"),
    "np take float": (lambda j: j.numpy.take(V, 0.5), "take does not accept float32"),
    "np take axis": (lambda j: j.numpy.take(V, 0, axis=1), "take: axis 1 is out of bounds for array of dimension 1"),
    "np take mode": (
        lambda j: j.numpy.take(V, 0, mode="raise"),
        "take: mode='raise' is not supported, compiled code cannot raise",
    ),
    "np take mode2": (lambda j: j.numpy.take(V, 0, mode="foo"), "take: mode is 'foo'"),
    "np take list": (lambda j: j.numpy.take([1, 2], 0), "a: expected an array or a number, got list: [1, 2]"),
    "take_along_axis float": (lambda j: j.numpy.take_along_axis(V, V, 0), "take_along_axis does not accept float32"),
    "einsum output": (
        lambda j: j.numpy.einsum("ij->k", F),
        "einsum: label 'k' of the result 'k' is repeated or not in any operand",
    ),
    "einsum count": (lambda j: j.numpy.einsum("ij,jk", F), "einsum: 'ij,jk' names 2 operands, got 1"),
    "einsum sizes": (lambda j: j.numpy.einsum("ij,ij", F, F.T), "einsum: label 'i' of 'ij,ij' has sizes 2 and 3"),
    "einsum repeated out": (
        lambda j: j.numpy.einsum("ij->ii", F),
        "einsum: label 'i' of the result 'ii' is repeated or not in any operand",
    ),
    "linspace num negative": (
        lambda j: j.numpy.linspace(0, 1, -1),
        "linspace: number of samples, -1, must not be negative",
    ),
    "linspace num float": (lambda j: j.numpy.linspace(0, 1, 2.5), "linspace: num must be an integer, got float: 2.5"),
    "linspace axis": (
        lambda j: j.numpy.linspace(V, V, 3, axis=3),
        "linspace: axis 3 is out of bounds for array of dimension 2",
    ),
    "np pad mode": (lambda j: j.numpy.pad(V, 1, mode="foo"), "pad: unknown mode 'foo'"),
    "np pad width": (lambda j: j.numpy.pad(V, ((1, 1), (1, 1))), "pad: pad_width ((1, 1), (1, 1)) does not fit 1 axes"),
    "np pad negative": (lambda j: j.numpy.pad(V, -1), "pad: pad_width can't contain negative values"),
    "np pad kwargs": (
        lambda j: j.numpy.pad(V, 1, mode="edge", constant_values=1),
        "pad: mode 'edge' has no option constant_values",
    ),
    "split uneven": (lambda j: j.numpy.split(V, 2), "split: an axis of size 3 is not divided into 2 equal parts"),
    "hsplit scalar": (
        lambda j: j.numpy.hsplit(np.float32(1), 1),
        "split: axis 0 is out of bounds for array of dimension 0",
    ),
    "where shapes": (
        lambda j: j.numpy.where(B, V, V[:2]),
        "where: bool[3] and float32[3] and float32[2] do not broadcast (axis",
    ),
    "where one": (lambda j: j.numpy.where(B, V), "where takes a condition and two choices, or a condition alone"),
    "clip shapes": (
        lambda j: j.numpy.clip(V, N[:2], 1),
        "clip: float32[3] and float32[2] do not broadcast (axis -1: 3 vs 2)",
    ),
    "clip complex bound": (lambda j: j.numpy.clip(V, 1j, 2), "clip does not accept complex64"),
    "matmul sizes": (
        lambda j: j.numpy.matmul(F, F),
        "matmul: float32[2,3] and float32[2,3] do not match (last axis of the",
    ),
    "matmul scalar": (lambda j: j.numpy.matmul(F, 2.0), "matmul: float32[] has no axes"),
    "matmul batch": (
        lambda j: j.numpy.matmul(np.ones((2, 3, 4)), np.ones((3, 4, 5))),
        "matmul: leading axes (2,) of the first and (3,) of the second do not",
    ),
    "np dot sizes": (
        lambda j: j.numpy.dot(V, F),
        "dot: axes (0,) of the first have sizes (3,), axes (0,) of the second",
    ),
    "tensordot sizes": (
        lambda j: j.numpy.tensordot(F, F, 1),
        "tensordot: axes (1,) of the first have sizes (3,), axes (0,) of the",
    ),
    "tensordot counts": (
        lambda j: j.numpy.tensordot(F, F, ((0, 1), (0,))),
        "tensordot: axes (0, 1) of the first have sizes (2, 3), axes (0,) of",
    ),
    "tensordot too many": (lambda j: j.numpy.tensordot(F, F, 3), "tensordot: axes=3 exceeds the rank of float32[2,3]"),
    "tensordot repeated": (
        lambda j: j.numpy.tensordot(F, F, ((0, 0), (0, 0))),
        "tensordot: duplicate value in axes (0, 0)",
    ),
    "vdot sizes": (
        lambda j: j.numpy.vdot(V, V[:2]),
        "vdot: axes (0,) of the first have sizes (3,), axes (0,) of the second",
    ),
    "searchsorted side": (
        lambda j: j.numpy.searchsorted(V, V, side="middle"),
        "searchsorted: a is float32[3], side is 'middle'",
    ),
    "searchsorted rank": (lambda j: j.numpy.searchsorted(F, V), "searchsorted: a is float32[2,3], side is 'left'"),
    "searchsorted method": (lambda j: j.numpy.searchsorted(V, V, method="foo"), "searchsorted: method='foo'"),
    "bincount float": (lambda j: j.numpy.bincount(V), "bincount does not accept float32"),
    "bincount weights": (lambda j: j.numpy.bincount(N, weights=V[:2]), "bincount: weights float32[2] for int32[3]"),
    "digitize rank": (lambda j: j.numpy.digitize(V, F), "digitize: bins is float32[2,3]"),
    "sum axis": (lambda j: j.numpy.sum(V, axis=1), "sum: axis 1 is out of bounds for array of dimension 1"),
    "sum axis float": (lambda j: j.numpy.sum(F, axis=0.5), "sum: an axis must be an integer, got float: 0.5"),
    "sum where": (lambda j: j.numpy.sum(V, where=B[:2]), "sum: where of shape (2,) does not broadcast to float32[3]"),
    "max empty": (lambda j: j.numpy.max(V[:0]), "max: zero-size array to reduction operation which has no identity:"),
    "max where": (
        lambda j: j.numpy.max(V, where=B),
        "max: reduction has no identity, so a where mask needs an initial value",
    ),
    "argmax empty": (lambda j: j.numpy.argmax(V[:0]), "argmax: attempt to get argmax of an empty sequence"),
    "sum out": (lambda j: j.numpy.sum(V, out=V), "sum: out= is not supported, arrays are immutable"),
    "add out": (lambda j: j.numpy.sum(V, dtype="foo"), "foo is not a dtype that stagec arrays can have"),
    "broadcast_to": (lambda j: j.numpy.broadcast_to(F, (3,)), "broadcast_to: float32[2,3] does not broadcast to (3,)"),
    "broadcast_shapes": (
        lambda j: j.lax.broadcast_shapes((2,), (3,)),
        "shapes (2,), (3,) do not broadcast (axis -1: 2 vs 3)",
    ),
    "np add shapes": (
        lambda j: j.numpy.add(V, V[:2]),
        "add: float32[3] and float32[2] do not broadcast (axis -1: 3 vs 2)",
    ),
    "np add strings": (lambda j: j.numpy.add(V, "a"), "operand 1: expected an array or a number, got str: 'a'"),
    "np add list": (
        lambda j: j.numpy.add(V, [1, 2, 3]),
        "operand 1: expected an array or a number, got list: [1, 2, 3]",
    ),
    "moveaxis": (
        lambda j: j.numpy.moveaxis(F, 0, (0, 1)),
        "moveaxis: source 0 and destination (0, 1) differ in length",
    ),
    "roll": (lambda j: j.numpy.roll(F, (1, 2, 3), (0, 1)), "roll: 3 shifts do not fit 2 axes"),
    "repeat negative": (lambda j: j.numpy.repeat(V, -1), "repeat: repeats has a negative number, -1"),
    "repeat float": (lambda j: j.numpy.repeat(V, 1.5), "repeat: repeats must be integers, got float64"),
    "tile negative": (lambda j: j.numpy.tile(V, -1), "tile: shape (-1,) has a negative size"),
    "rot90": (lambda j: j.numpy.rot90(V), "rot90: axis 1 is out of bounds for array of dimension 1"),
    "eye negative": (lambda j: j.numpy.eye(-1), "eye: shape (-1, -1) has a negative size"),
    "zeros dtype": (lambda j: j.numpy.zeros(1, "foo"), "foo is not a dtype that stagec arrays can have"),
    "full shape": (
        lambda j: j.numpy.full((2,), V),
        "broadcast_in_dim: float32[3] does not broadcast to (2,) along (0,)",
    ),
    "tri": (lambda j: j.numpy.tri(-1), "tri: shape (-1, -1) has a negative size"),
    "cross sizes": (
        lambda j: j.numpy.cross(np.ones(4), np.ones(4)),
        "cross: vectors have length 2 or 3, got float32[4]",
    ),
    "quantile method": (lambda j: j.numpy.quantile(V, 0.5, method="foo"), "quantile: method 'foo' is not supported"),
    "histogram bins": (lambda j: j.numpy.histogram(V, bins=-1), "histogram: bins=-1"),
    "interp xp": (lambda j: j.numpy.interp(V, V, V[:2]), "interp: xp is float32[3], fp is float32[2]"),
    "convolve rank": (lambda j: j.numpy.convolve(F, V), "convolve: operands are float32[2,3] and float32[3]"),
    "convolve mode": (lambda j: j.scipy.signal.convolve(V, V, mode="foo"), "convolve: unknown mode 'foo'"),
    "ravel_multi_index": (
        lambda j: j.numpy.ravel_multi_index((N,), (3, 3)),
        "ravel_multi_index: 1 index arrays for 2 axes",
    ),
    "choose mode": (lambda j: j.numpy.choose(N, [V, V, V], mode="foo"), "choose: mode is 'foo'"),
    "piecewise": (lambda j: j.numpy.piecewise(V, [B], [1, 2, 3]), "piecewise: 3 functions for 1 conditions"),
    "meshgrid indexing": (lambda j: j.numpy.meshgrid(V, V, indexing="zz"), "meshgrid: indexing is 'zz'"),
    "partition kth": (lambda j: j.numpy.partition(V, 5), "partition: kth=5 is out of bounds for axis 0 of float32[3]"),
    "unique axis": (lambda j: j.numpy.unique(V, axis=1), "unique: axis 1 is out of bounds for array of dimension 1"),
    "nonzero size": (lambda j: j.numpy.nonzero(V, size=-1), "nonzero: shape (-1,) has a negative size"),
    "gradient size": (lambda j: j.numpy.gradient(V[:1]), "gradient: axis 0 of float32[1] has 1 samples"),
    "diff n": (lambda j: j.numpy.diff(V, n=-1), "diff: n must not be negative, got -1"),
    "vander": (lambda j: j.numpy.vander(F), "vander: a vector is needed, got float32[2,3]"),
    "vectorize signature": (
        lambda j: j.numpy.vectorize(lambda x: x, signature="(n)")(V),
        "vectorize: '(n)' is not a signature",
    ),
    "index too many": (
        lambda j: j.numpy.asarray(V)[0, 0],
        "Too many indices: array is 1-dimensional, but 2 were indexed",
    ),
    "index float": (
        lambda j: j.numpy.asarray(V)[0.5],
        "Indexer must have integer or boolean type, got indexer with type float",
    ),
    "index string": (
        lambda j: j.numpy.asarray(V)["a"],
        "Indexer must have integer or boolean type, got indexer with type str",
    ),
    "index list": (
        lambda j: j.numpy.asarray(V)[[0, 1]],
        "Using a non-tuple sequence for multidimensional indexing is not",
    ),
    "index bool size": (
        lambda j: j.numpy.asarray(V)[B[:2]],
        "boolean index did not match shape of indexed array in index 0: got",
    ),
    "setitem": (
        lambda j: j.numpy.asarray(V).__setitem__(0, 1),
        "arrays are immutable: x[index] = value is not supported",
    ),
    "at set shape": (
        lambda j: j.numpy.asarray(V).at[0].set(V),
        "values of shape (3,) do not broadcast to the indexed shape ()",
    ),
    "at mode": (lambda j: j.numpy.asarray(V).at[0].set(1.0, mode="foo"), "unknown gather/scatter mode 'foo'"),
    "rank promotion": (with_ranks_that_differ, "add: float32[2,3] and float32[3] differ in their number of axes"),
    "dtype promotion": (with_dtypes_that_differ, "int32, float32 are not promoted with numpy_dtype_promotion='strict'"),
    "left_shift": (lambda j: j.numpy.left_shift(V, 1), "left_shift does not accept float32"),
    "mod complex": (lambda j: j.numpy.mod(V * 1j, 2), "remainder does not accept complex64"),
    "array ragged": (
        lambda j: j.numpy.array([[1, 2], [3]]),
        "array: nested lists do not form an array: rows differ in length",
    ),
    "array object": (
        lambda j: j.numpy.array([object()]),
        "array: an element of the list is neither a number nor an array:",
    ),
    "array ndmin string": (lambda j: j.numpy.array("abc"), "<U3 is not a dtype that stagec arrays can have"),
    "linalg inv": (lambda j: j.numpy.linalg.inv(F), "inv: expected square matrices, got float32[2,3]"),
    "linalg solve": (
        lambda j: j.numpy.linalg.solve(np.eye(2, dtype=np.float32), V),
        "solve: float32[2,2] and float32[3] do not match",
    ),
    "linalg norm ord": (lambda j: j.numpy.linalg.norm(F, ord="foo"), "norm: 'foo' is not an order of a matrix norm"),
    "linalg norm axis": (
        lambda j: j.numpy.linalg.norm(V, axis=1),
        "norm: axis 1 is out of bounds for array of dimension 1",
    ),
    "linalg qr mode": (lambda j: j.numpy.linalg.qr(F, mode="foo"), "qr: 'foo' is not a mode"),
    "linalg matrix_power": (
        lambda j: j.numpy.linalg.matrix_power(F[:, :2], 1.5),
        "matrix_power: n must be an integer, got float: 1.5",
    ),
    "fft n": (lambda j: j.numpy.fft.fft(V, n=0), "fft: invalid number of data points (0)"),
    "fft norm": (lambda j: j.numpy.fft.fft(V, norm="foo"), "fft: there is no norm 'foo'"),
    "cross axis": (
        lambda j: j.numpy.linalg.cross(F, F[:, :2]),
        "cross: the vectors along axis -1 of float32[2,3] and float32[2,2] do",
    ),
    "mean where": (lambda j: j.numpy.mean(V, where=B[:2]), "sum: where of shape (2,) does not broadcast to float32[3]"),
    "average weights": (
        lambda j: j.numpy.average(F, weights=V[:2]),
        "average: weights float32[2] do not fit float32[2,3]",
    ),
    "delete": (lambda j: j.numpy.delete(V, 9), "delete: an index is out of bounds for axis 0 with size 3"),
    "fill_diagonal inplace": (lambda j: j.numpy.fill_diagonal(F, 0), "fill_diagonal: arrays are immutable"),
    "histogram2d": (lambda j: j.numpy.histogram2d(V, V[:2]), "histogram2d: x is float32[3], y is float32[2]"),
    "polyfit": (lambda j: j.numpy.polyfit(V, V[:2], 1), "polyfit: float32[3] and float32[2]"),
    "lexsort": (
        lambda j: j.numpy.lexsort((V, V[:2])),
        "sort: operands have different shapes: float32[2], float32[3], int32[3]",
    ),
    "setdiff1d": (lambda j: j.numpy.setdiff1d(V, V, size=-1), "size: shape (-1,) has a negative size"),
    "take fill": (lambda j: j.numpy.asarray(V).at[0].get(mode="fill", fill_value=V), "get: fill_value has shape (3,)"),
    "tril_indices": (lambda j: j.numpy.tril_indices(-1), "tril_indices: shape (-1, -1) has a negative size"),
}

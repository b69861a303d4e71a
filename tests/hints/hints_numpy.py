"""Hints of `stagec.numpy`: the advice, what is wrong, and what the advice makes of it."""

import math

import stagec
import stagec.numpy as snp

X = snp.ones((2, 3))
V = snp.array([3.0, 1.0, 2.0])
P = snp.array([2, 0, 1])
M = snp.ones((3, 3))
C = snp.array([1 + 2j, 3j])
B = snp.array([True, False])
EMPTY = snp.ones((0, 3))

CASES = [
    # Arguments.
    (
        "compare the arguments with help(snp.permute_dims): (a, axes); if they fit, it is a fault of stagec",
        lambda: snp.transpose(X, 1),
        lambda: snp.transpose(X, (1, 0)),
    ),
    (
        "use vmap for a batch",
        lambda: snp.fill_diagonal(X[None], 1, inplace=False),
        lambda: stagec.vmap(lambda x: snp.fill_diagonal(x, 1, inplace=False))(X[None]),
    ),
    ("give the number of columns, 0 or more", lambda: snp.vander(V, -1), lambda: snp.vander(V, 0)),
    ("give positions as integers", lambda: snp.delete(V, 1.0), lambda: snp.delete(V, 1)),
    ("give real numbers", lambda: snp.quantile(V, 1j), lambda: snp.quantile(V, 0.5)),
    ("pass inplace=False and use the result", lambda: snp.put(V, 0, 1), lambda: snp.put(V, P, V, inplace=False)),
    (
        "give the size of the result, size=, or call nonzero outside of jit",
        lambda: stagec.jit(snp.nonzero)(V),
        lambda: (stagec.jit(lambda x: snp.nonzero(x, size=2))(V), snp.nonzero(V)),
    ),
    (
        "give the size of the result, size=, or call unique outside of jit",
        lambda: stagec.jit(snp.unique)(V),
        lambda: (stagec.jit(lambda x: snp.unique(x, size=2))(V), snp.unique(V)),
    ),
    (
        "give the size of the result, length=, or call bincount outside of jit",
        lambda: stagec.jit(snp.bincount)(P),
        lambda: (stagec.jit(lambda x: snp.bincount(x, length=3))(P), snp.bincount(P)),
    ),
    (
        "give the size of the result, total_repeat_length=, or call repeat outside of jit",
        lambda: stagec.jit(snp.repeat)(V, P),
        lambda: (stagec.jit(lambda x, n: snp.repeat(x, n, total_repeat_length=3))(V, P), snp.repeat(V, P)),
    ),
    (
        "use mode='clip' or mode='wrap', or call choose outside of jit",
        lambda: stagec.jit(lambda i: snp.choose(i, [V, V, V]))(P),
        lambda: (stagec.jit(lambda i: snp.choose(i, [V, V, V], mode="clip"))(P), snp.choose(P, [V, V, V])),
    ),
    (
        "use mode='clip' or mode='wrap', or call ravel_multi_index outside of jit",
        lambda: stagec.jit(lambda i: snp.ravel_multi_index((i,), (3,)))(P),
        lambda: (
            stagec.jit(lambda i: snp.ravel_multi_index((i,), (3,), mode="wrap"))(P),
            snp.ravel_multi_index((P,), (3,)),
        ),
    ),
    ("call trim_zeros outside of jit", lambda: stagec.jit(snp.trim_zeros)(V), lambda: snp.trim_zeros(V)),
    (
        "use the returned array; under jit, memory is reused by donate_argnums",
        lambda: snp.mean(V, out=V),
        lambda: (snp.mean(V), stagec.jit(lambda x: x + 1, donate_argnums=0)(V + 1)),
    ),
    (
        'pass a number, or left="extrapolate"',
        lambda: snp.interp(1.0, V, V, left="nearest"),
        lambda: (snp.interp(1.0, V, V, left=0.0), snp.interp(1.0, V, V, left="extrapolate")),
    ),
    (
        "leave copy out; a copy is made where one is needed",
        lambda: snp.asarray([1, 2], copy=False),
        lambda: snp.asarray([1, 2]),
    ),
    (
        "pass assume_unique_indices=True, or call delete outside of jit",
        lambda: stagec.jit(snp.delete)(V, P[:2]),
        lambda: (stagec.jit(lambda x, i: snp.delete(x, i, assume_unique_indices=True))(V, P[:2]), snp.delete(V, P[:2])),
    ),
    # Dtypes.
    (
        "compare it, where != 0, or convert it with astype(bool)",
        lambda: snp.sum(V, where=P),
        lambda: (snp.sum(V, where=P != 0), snp.sum(V, where=P.astype(bool))),
    ),
    (
        "take the parts of x and xp with real() and imag() first; fp may be complex",
        lambda: snp.interp(V * 1j, V, V),
        lambda: snp.interp(snp.imag(V * 1j), P.sort(), V + 1j),
    ),
    (
        "leave dtype out, or pass an inexact dtype; convert the result with astype",
        lambda: snp.std(V, dtype=int),
        lambda: (snp.std(V), snp.std(V, dtype="float16"), snp.std(V).astype(int)),
    ),
    ("take the parts with real() and imag() first", lambda: snp.floor_divide(C, 2), lambda: snp.real(C) // 2),
    ("take the parts with real() and imag() first", lambda: snp.isposinf(C), lambda: snp.isposinf(snp.real(C))),
    ("take the parts with real() and imag() first", lambda: snp.frexp(C), lambda: snp.frexp(snp.imag(C))),
    (
        "use logical_xor, or convert with astype(int)",
        lambda: B - B,
        lambda: (snp.logical_xor(B, B), B.astype(int) - B),
    ),
    ("use logical_not, or convert with astype(int)", lambda: -B, lambda: (snp.logical_not(B), -B.astype(int))),
    ("convert with astype(int)", lambda: snp.sign(B), lambda: snp.sign(B.astype(int))),
    ("convert with astype(int)", lambda: snp.gcd(V, V), lambda: snp.gcd(V.astype(int), V.astype(int))),
    (
        "convert with astype(int), or reinterpret the bits with x.view('uint32')",
        lambda: V & V,
        lambda: (V.astype(int) & 1, V.view("uint32") & 1),
    ),
    ("take abs(x) first", lambda: snp.spacing(C), lambda: snp.spacing(abs(C))),
    ("convert it with astype(int)", lambda: snp.ldexp(V, V), lambda: snp.ldexp(V, V.astype(int))),
    ("scale the parts, x.real and x.imag", lambda: snp.ldexp(C, 1), lambda: snp.ldexp(C.real, 1)),
    ("round the parts, x.real and x.imag", lambda: snp.floor(C), lambda: snp.floor(C.real)),
    (
        "give fewer digits",
        lambda: long_round(-19),
        lambda: long_round(-18),
    ),
    # Updates and choices.
    (
        "pass a number, or an array that broadcasts to x[index]",
        lambda: X.at[0].set(snp.ones(2)),
        lambda: (X.at[0].set(7), X.at[0].set(V)),
    ),
    (
        "give weights the shape of the array, or name the axis that they run along",
        lambda: snp.average(X, weights=V),
        lambda: (snp.average(X, weights=X), snp.average(X, axis=1, weights=V)),
    ),
    (
        "give one function for each condition, and at most one more as the default",
        lambda: snp.piecewise(V, [V > 1], [1, 2, 3]),
        lambda: snp.piecewise(V, [V > 1], [1, 2]),
    ),
    (
        "give one choice for each condition, and at least one",
        lambda: snp.select([V > 1], [V, V]),
        lambda: snp.select([V > 1], [V]),
    ),
    (
        "write where(condition, x, y), or where(condition) with size and fill_value",
        lambda: snp.where(V > 1, V),
        lambda: (snp.where(V > 1, V, 0), snp.where(V > 1, size=2, fill_value=0)),
    ),
    (
        "use mode='clip' or mode='wrap'",
        lambda: snp.choose(P + 1, [V, V, V]),
        lambda: snp.choose(P, [V, V], mode="wrap"),
    ),
    (
        "use mode='raise', 'clip' or 'wrap'",
        lambda: snp.choose(P, [V, V, V], mode="best"),
        lambda: [snp.choose(P, [V, V, V], mode=m) for m in ("raise", "clip", "wrap")],
    ),
    ("check x.size first", lambda: EMPTY[snp.array([0])], lambda: EMPTY[snp.array([0])] if EMPTY.size else None),
    ("check x.size first", lambda: snp.argmax(EMPTY), lambda: snp.argmax(EMPTY) if EMPTY.size else None),
    ("check x.size first", lambda: snp.median(EMPTY), lambda: snp.median(EMPTY) if EMPTY.size else None),
    (
        "check the size of the axis first",
        lambda: snp.take(EMPTY, P, axis=0),
        lambda: snp.take(EMPTY, P, axis=0) if EMPTY.shape[0] else None,
    ),
    (
        "add axes to the indices, as with indices[:, None]",
        lambda: snp.take_along_axis(M, P, axis=0),
        lambda: snp.take_along_axis(M, P[:, None], axis=0),
    ),
    (
        "flatten it with condition.ravel()",
        lambda: snp.compress(M > 0, V),
        lambda: snp.compress((V[None] > 0).ravel(), V),
    ),
    # Creation.
    ("flatten it with x.ravel()", lambda: snp.meshgrid(X, V), lambda: snp.meshgrid(X.ravel(), V)),
    ("flatten it with x.ravel()", lambda: snp.vander(X), lambda: snp.vander(X.ravel())),
    (
        "use indexing='xy' or indexing='ij'",
        lambda: snp.meshgrid(V, V, indexing="yx"),
        lambda: [snp.meshgrid(V, V, indexing=i) for i in ("xy", "ij")],
    ),
    ("pass a step other than 0", lambda: snp.arange(0, 3, 0), lambda: snp.arange(0, 3, 1)),
    (
        "make the argument static with static_argnames, or use snp.arange(size) * step + start with a static size",
        lambda: stagec.jit(lambda n: snp.arange(n))(3),
        lambda: (
            stagec.jit(lambda n: snp.arange(n), static_argnames="n")(3),
            stagec.jit(lambda step, start: snp.arange(3) * step + start)(2, 1),
        ),
    ),
    ("give num of 0 or more", lambda: snp.linspace(0, 1, -1), lambda: snp.linspace(0, 1, 0)),
    # Diagonals.
    (
        "fill each square block of rows, x[:n], and concatenate",
        lambda: snp.fill_diagonal(snp.ones((6, 3)), 0, True, inplace=False),
        lambda: snp.concatenate([snp.fill_diagonal(b, 0, inplace=False) for b in snp.split(snp.ones((6, 3)), 2)]),
    ),
    (
        "add an axis with x[None]",
        lambda: snp.fill_diagonal(V, 0, inplace=False),
        lambda: snp.fill_diagonal(V[None], 0, inplace=False),
    ),
    ("add an axis with x[None]", lambda: snp.tril(snp.ones(())), lambda: snp.tril(snp.ones(3)[None])),
    (
        "use snp.diagonal, which takes any rank of 2 or more",
        lambda: snp.diag(snp.ones((2, 2, 2))),
        lambda: snp.diagonal(snp.ones((2, 2, 2))),
    ),
    ("use snp.diag, which makes a matrix of a vector", lambda: snp.diagonal(V), lambda: snp.diag(V)),
    # Einstein sums.
    (
        "use different labels, or slice one operand; axes of one label agree in size or have size 1",
        lambda: snp.einsum("i,i", V, snp.ones(2)),
        lambda: (snp.einsum("i,j", V, snp.ones(2)), snp.einsum("i,i", V[:2], snp.ones(2))),
    ),
    ("pass an array for each term", lambda: snp.einsum("i"), lambda: snp.einsum("i", V)),
    (
        "name each label of the result once, and only labels of operands",
        lambda: snp.einsum("i->ij", V),
        lambda: snp.einsum("i->i", V),
    ),
    ("use one label for each axis", lambda: snp.einsum("ij", V), lambda: snp.einsum("ij", X)),
    (
        "write it once, before the labels of the result",
        lambda: snp.einsum("i->i->", V),
        lambda: snp.einsum("i->", V),
    ),
    (
        "write one term for each operand, with commas between",
        lambda: snp.einsum("i", V, V),
        lambda: snp.einsum("i,i", V, V),
    ),
    # Indices.
    ("bounds are integers; use // instead of / to compute them", lambda: V[: 3 / 2], lambda: V[: 3 // 2]),
    ("leave the step out, or use -1 to reverse", lambda: V[::0], lambda: (V[::], V[::-1])),
    (
        "stagec.lax.dynamic_slice(x, start, sizes) takes a traced start; sizes must be static",
        lambda: stagec.jit(lambda x, i: x[i : i + 2])(V, 1),
        lambda: stagec.jit(lambda x, i: stagec.lax.dynamic_slice(x, (i,), (2,)))(V, 1),
    ),
    ("the array has shape (3,); use at most 1 index, None adds an axis", lambda: V[0, 0], lambda: (V[0], V[0, None])),
    (
        "the array has shape (2, 3); use at most 2 indices, None adds an axis",
        lambda: X[0, 0, 0],
        lambda: (X[0, 0], X[0, 0, None]),
    ),
    (
        "the array has shape (); use no index but () and ..., None adds an axis",
        lambda: V[0][0],
        lambda: (V[0][()], V[0][...], V[0][None]),
    ),
    ("write the other ones as ':'", lambda: snp.ones((1, 1, 1))[..., 0, ...], lambda: snp.ones((1, 1, 1))[..., 0, :]),
    (
        "snp.where(mask, x, other) keeps the shape; snp.nonzero(mask, size=n) fixes it",
        lambda: stagec.jit(lambda x: x[x > 1])(V),
        lambda: (stagec.jit(lambda x: snp.where(x > 1, x, 0))(V), stagec.jit(lambda x: snp.nonzero(x > 1, size=2))(V)),
    ),
    ("a mask has the sizes of the axes that it stands for", lambda: X[V > 1], lambda: X[:, V > 1]),
    (
        "use astype(int), or // instead of / where it is computed",
        lambda: V[V],
        lambda: (V[(V / 2).astype(int)], V[4 // 2]),
    ),
    ("index with integers, slices, masks or None", lambda: V["a"], lambda: (V[0], V[:1], V[V > 1], V[None])),
    (
        "x[snp.array(rows)] reads rows, x[tuple(index)] goes along several axes",
        lambda: X[[0, 1]],
        lambda: (X[snp.array([0, 1])], X[tuple(x for x in [0, 1])]),
    ),
    ("use x.item() for its value", lambda: list(V[0]), lambda: V[0].item()),
    # Interpolation.
    (
        "pass a vector of coefficients, the highest power first",
        lambda: snp.polyval(X, 1.0),
        lambda: snp.polyval(X[0], 1.0),
    ),
    ("pass two vectors of one size, which is not 0", lambda: snp.interp(0.5, V, V[:2]), lambda: snp.interp(0.5, V, V)),
    # Joining.
    ("use snp.array_split, which allows a remainder", lambda: snp.split(V, 2), lambda: snp.array_split(V, 2)),
    ("nest all lists to one depth", lambda: snp.block([V, [V]]), lambda: snp.block([[V], [V]])),
    ("leave the empty list out", lambda: snp.block([[V], []]), lambda: snp.block([[V]])),
    (
        "use snp.concatenate for arrays whose sizes differ along one axis",
        lambda: snp.stack([V, V[:2]]),
        lambda: snp.concatenate([V, V[:2]]),
    ),
    (
        "use snp.stack, or reshape them with x.reshape(1)",
        lambda: snp.concatenate([V[0], V[1]]),
        lambda: (snp.stack([V[0], V[1]]), snp.concatenate([V[0].reshape(1), V])),
    ),
    ("pass one or more arrays", lambda: snp.concatenate([]), lambda: snp.concatenate([V])),
    ("pass a list of arrays", lambda: snp.stack(V[0]), lambda: snp.stack([V[0]])),
    # Linear algebra.
    ("use snp.outer, which flattens its arguments", lambda: snp.linalg.outer(X, V), lambda: snp.outer(X, V)),
    (
        "reshape it; only the first and the last may be vectors",
        lambda: snp.linalg.multi_dot([M, V, M]),
        lambda: (snp.linalg.multi_dot([M, V.reshape(3, 1), V.reshape(1, 3)]), snp.linalg.multi_dot([V, M, V])),
    ),
    ("pass two or more arrays", lambda: snp.linalg.multi_dot([M]), lambda: snp.linalg.multi_dot([M, M])),
    (
        "take a.mT @ a, or a part of it whose last two axes agree",
        lambda: snp.linalg.matrix_power(X, 2),
        lambda: (snp.linalg.matrix_power(X.mT @ X, 2), snp.linalg.matrix_power(X[:, :2], 2)),
    ),
    (
        "name one axis for vectors, two for matrices",
        lambda: snp.linalg.norm(snp.ones((2, 2, 2)), axis=(0, 1, 2)),
        lambda: (snp.linalg.norm(snp.ones((2, 2, 2)), axis=0), snp.linalg.norm(snp.ones((2, 2, 2)), axis=(0, 1))),
    ),
    (
        "name one or two axes with axis=",
        lambda: snp.linalg.norm(snp.ones((2, 2, 2)), 1),
        lambda: (snp.linalg.norm(snp.ones((2, 2, 2)), 1, axis=0), snp.linalg.norm(snp.ones((2, 2, 2)), 1, axis=(0, 1))),
    ),
    (
        "use 'fro', 'nuc', 1, -1, 2, -2, inf or -inf",
        lambda: snp.linalg.norm(M, 7),
        lambda: [snp.linalg.norm(M, o) for o in ("fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf)],
    ),
    (
        "use a number, or inf and -inf",
        lambda: snp.linalg.norm(V, "fro"),
        lambda: [snp.linalg.norm(V, o) for o in (3, math.inf, -math.inf)],
    ),
    (
        "name the axis of the vectors with axis=",
        lambda: snp.cross(snp.ones((3, 4)), snp.ones((3, 4))),
        lambda: snp.cross(snp.ones((3, 4)), snp.ones((3, 4)), axis=0),
    ),
    (
        "use axes=0, 1 or 2, up to the smaller rank",
        lambda: snp.tensordot(M, M, 3),
        lambda: [snp.tensordot(M, M, n) for n in (0, 1, 2)],
    ),
    (
        "slice one to the other's size, or choose another axis=",
        lambda: snp.vecdot(V, V[:2]),
        lambda: (snp.vecdot(V[:2], V[:2]), snp.vecdot(X, snp.ones((2, 1)), axis=0)),
    ),
    (
        "axes before the last two are matched from the last, and only size 1 stretches",
        lambda: snp.ones((2, 2, 3)) @ snp.ones((3, 3, 2)),
        lambda: snp.ones((1, 2, 3)) @ snp.ones((3, 3, 2)),
    ),
    ("use * for products with scalars", lambda: V @ 2.0, lambda: V * 2.0),
    # Manipulation.
    (
        "give one shift for each axis, or one for all",
        lambda: snp.roll(X, (1, 2, 3), (0, 1)),
        lambda: (snp.roll(X, (1, 2), (0, 1)), snp.roll(X, 1, (0, 1))),
    ),
    (
        "only axes of size 1 stretch, and new axes come first; reshape it, as with x[:, None]",
        lambda: snp.broadcast_to(V, (3, 2)),
        lambda: snp.broadcast_to(V[:, None], (3, 2)),
    ),
    (
        "name as many destinations as sources",
        lambda: snp.moveaxis(X, (0, 1), (0,)),
        lambda: snp.moveaxis(X, (0, 1), (1, 0)),
    ),
    ("add one with x[:, None]", lambda: snp.matrix_transpose(V), lambda: snp.matrix_transpose(V[:, None])),
    ("the known sizes must divide 6; 4 does not", lambda: X.reshape(4, -1), lambda: X.reshape(3, -1)),
    ("use -1 for one size at most", lambda: X.reshape(-1, -1), lambda: X.reshape(-1, 2)),
    ("use order='C' or order='F'", lambda: X.ravel("Q"), lambda: (X.ravel("C"), X.ravel("F"))),
]


def wide(value):
    with stagec.enable_x64():
        assert snp.array([value << 32]).dtype == "int64"


def long_round(digits):
    with stagec.enable_x64():
        return snp.round(snp.array([1]), digits)

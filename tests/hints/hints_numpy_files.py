"""Hints of the bits, histograms, files, brackets and ufuncs of `stagec.numpy`, each provoked and followed."""

import numpy as np

import stagec.numpy as snp

V = snp.array([3.0, 1.0, 2.0])
P = snp.array([2, 0, 1])
M = snp.ones((3, 3))
BYTES = snp.array([1, 2], "uint8")
DIGITS = snp.frompyfunc(lambda x, y: 10 * x + y, 2, 1)


def _objects():
    np.save("objects.npy", np.array([None]))
    return "objects.npy"


def _numbers():
    snp.save("numbers.npy", V)
    return snp.load("numbers.npy"), np.load(_objects(), allow_pickle=True)


CASES = [
    (
        "save np.asarray(x).view('uint8'), and view what was read as the dtype",
        lambda: snp.save("small.npy", V.astype("int4")),
        lambda: (
            snp.save("small.npy", np.asarray(V.astype("int4")).view("uint8")),
            snp.asarray(np.load("small.npy").view(snp.dtype("int4"))),
        ),
    ),
    ("compare it with 0 first, as in x != 0", lambda: snp.packbits(V), lambda: snp.packbits(V != 0)),
    ("convert it with astype('uint8')", lambda: snp.unpackbits(P), lambda: snp.unpackbits(P.astype("uint8"))),
    (
        "use bitorder='big' or bitorder='little'",
        lambda: snp.packbits(P, bitorder="small"),
        lambda: (snp.packbits(P, bitorder="big"), snp.unpackbits(BYTES, bitorder="little")),
    ),
    (
        'begin with an axis, as in "-1"; with "axis,rank" or "axis,rank,position"; or with "r" or "c"',
        lambda: snp.r_["rows", V],
        lambda: (snp.r_["-1", V], snp.r_["0,2", V], snp.r_["0,2,0", V], snp.r_["r", V], snp.r_["c", V]),
    ),
    (
        "leave it out; read a file that you trust with np.load(file, allow_pickle=True)",
        lambda: snp.load(_objects(), allow_pickle=True),
        _numbers,
    ),
    (
        "save arrays of numbers; read a file that you trust with np.load(file, allow_pickle=True)",
        lambda: snp.load(_objects()),
        _numbers,
    ),
    (
        "pass two vectors of one size",
        lambda: snp.histogram2d(V, P[:2]),
        lambda: snp.histogram2d(V, P),
    ),
    (
        "give one of each for each coordinate",
        lambda: snp.histogramdd(M, [2]),
        lambda: snp.histogramdd(M, [2, 2, 2], [(0, 1), None, (0, 2)]),
    ),
    (
        "keep the axis, or remove it",
        lambda: snp.apply_over_axes(lambda a, axis: a[None], M, 0),
        lambda: (snp.apply_over_axes(snp.cumsum, M, 0), snp.apply_over_axes(snp.sum, M, 0)),
    ),
    ("leave inplace out and use the result", lambda: V.byteswap(True), lambda: V.byteswap()),
    (
        "pass a mask of the array's shape, and at least one value",
        lambda: snp.place(V, P[:2], V, inplace=False),
        lambda: snp.place(V, P, V, inplace=False),
    ),
    (
        "give indices from 0 to 2",
        lambda: snp.add.reduceat(V, np.array([3])),
        lambda: snp.add.reduceat(V, np.array([0, 2])),
    ),
    (
        "pass initial=, the value to begin with",
        lambda: snp.subtract.reduce(V[:0]),
        lambda: snp.subtract.reduce(V[:0], initial=1.0),
    ),
    (
        "call the function itself",
        lambda: snp.frompyfunc(lambda x: x, 1, 1).reduce(V),
        lambda: snp.frompyfunc(lambda x: x, 1, 1)(V),
    ),
    ("pass as many arrays as nin says", lambda: DIGITS(V), lambda: DIGITS(V, V)),
    ("use an index from 0 to 0", lambda: V.addressable_data(1), lambda: V.addressable_data(0)),
]

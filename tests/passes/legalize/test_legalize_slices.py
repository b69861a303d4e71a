"""Gather, scatter and sort of parts of arrays, which the compiler merges with the slices before them."""

from __future__ import annotations

import numpy as np
import pytest

import stagec
import stagec.lax as lax
import stagec.numpy as snp
from stagec.core import pytree

PADDED = [(0, 0, 1), (-1, 1, 0)]

# Each gets a matrix of 4 rows and 8 columns, and the places 1, 0, 1, 3.
CASES = {
    "gather of a slice with a step": lambda x, i: (x[0, ::2][i], x[:, ::2][i], (x[:, 1::2] * 2).T[i]),
    "take": lambda x, i: (snp.take(x[0, ::2], i), snp.take_along_axis(x[:, ::2], i[:, None], 1)),
    "gather of a column": lambda x, i: (x[:, 1][i], x[:, 2:3][i], (x * 2)[:, 1][i], x.reshape(4, 2, 4)[:, :, 3][i]),
    "gather of a column of a turned array": lambda x, i: snp.take(snp.squeeze(x.T[:, :, None][:1]), i),
    "reverse of a part": lambda x, i: (
        (lambda y: (y[:, :, 1][::-1], y[:, :, 1][:, ::-1], y.transpose(1, 2, 0)[:, 1:2][::-1]))(x.reshape(2, 2, 8)),
        x[:, 1][::-1],
        x.T[1][::-1],
        lax.dynamic_slice(x.reshape(2, 2, 8), (0, 0, i[0]), (2, 2, 1))[:, :, 0].T[::-1],
    ),
    "gather of a column at an index": lambda x, i: lax.dynamic_slice(x, (0, i[0]), (4, 1))[:, 0][i],
    "element with more axes": lambda x, i: [
        (v, v * row, v * snp.arange(8.0), (v * 2).sum())
        for row in (x[0],)
        for v in (row[-1:][:, None], row[-1].reshape(1, 1), row[2:3][None], x[1:2, :1].reshape(1, 1, 1))
    ],
    "element at an index with more axes": lambda x, i: (lambda v: (v, v * snp.arange(8.0)))(
        lax.dynamic_slice(x[0], (i[0],), (1,))[:, None]
    ),
    "sort and interpolate a column": lambda x, i: (snp.sort(x[:, 1]), snp.interp(x[:, 0], snp.arange(4), x[:, 1])),
    "sort of a slice with a step": lambda x, i: snp.sort(x[:, ::2], axis=0),
    "sort of a scatter": lambda x, i: (snp.sort(x.at[i].set(1), axis=0), snp.sort(x.at[i].set(2), axis=1)),
    "sort of a pad": lambda x, i: [snp.sort(lax.pad(x, np.float32(9), PADDED), axis=k) for k in (0, 1)],
    "sort of a part, both used": lambda x, i: (lambda h: (snp.sort(h[1:], axis=0), h, h[1:]))(x * 2),
    "scatter to one element": lambda x, i: (
        (x[0] * 2)[:1].at[i].add(3),
        x[1, :1].at[i].max(3),
        x[:1, :1].at[:, i].set(1),
    ),
    "scatter to one row": lambda x, i: ((x * 2)[:1].at[i].add(3), x[:1].at[i].min(3), x[:1].at[i].set(x)),
}


@pytest.mark.parametrize("name", CASES)
def test_parts_of_arrays(name):
    f = CASES[name]
    x, i = np.random.default_rng(0).integers(-9, 9, (4, 8)).astype(np.float32), np.array([1, 0, 1, 3], np.int32)
    expected, _ = pytree.flatten(f(snp.asarray(x), snp.asarray(i)))
    actual, _ = pytree.flatten(stagec.jit(f)(x, i))
    for want, got in zip(expected, actual, strict=True):
        np.testing.assert_array_equal(np.asarray(got), np.asarray(want), err_msg=name)


@pytest.mark.parametrize("target", ["cuda:sm_80", "vulkan"])
def test_elements_of_parts_compile_for_other_targets(target):
    def all_cases(x, i):
        return [f(x, i) for name, f in CASES.items() if name.startswith(("gather", "reverse", "element"))]

    specs = stagec.ShapeDtypeStruct((4, 8), "float32"), stagec.ShapeDtypeStruct((4,), "int32")
    assert stagec.export(all_cases, target)(*specs).serialize()


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_one_64_bit_index_serves_two_scatters(dtype):
    def f(x, i):
        return snp.cumsum(x.at[i].add(1), 1).at[i].add(2), (x * 2).at[:, i].set(1)

    with stagec.config.override(enable_x64=True):
        x, i = np.arange(24.0).reshape(4, 6), np.array([[1, 2, 3], [0, 1, 9]], dtype)
        expected = f(snp.asarray(x), snp.asarray(i))
        for want, got in zip(expected, stagec.jit(f)(x, i), strict=True):
            assert got.dtype == np.float64
            np.testing.assert_array_equal(np.asarray(got), np.asarray(want))
